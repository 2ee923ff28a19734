"""Progress with a rate: rich's bar on a terminal, otherwise a line every few seconds.

Work inside other work (one model inside a sweep) is shown below it in the same display, and goes away when it is
done. Steps of a command are numbered: `retrieve 2 of 3: 120/312 queries (38%), 14/s, about 14 s left`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from raglift.utilities.display import one_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_TO_ESTIMATE = 2.0
_SECONDS_BETWEEN_STATUS_LINES = 10.0
"""Of slow work, where nobody asked for lines and there is no terminal."""
_is_quiet: ContextVar[bool] = ContextVar("raglift progress quiet", default=False)


@dataclass
class _Steps:
    """The steps of a piece of work, and the one that it is at."""

    total: int
    known: list[str] = field(default_factory=list)
    """The steps so far, each once: a few queries may go through them ahead of the others."""
    name: str = ""
    """Of the step that is under way; empty between two."""


_steps: ContextVar[_Steps | None] = ContextVar("raglift progress steps", default=None)


@dataclass
class _State:
    """What is shown now; one display a process, as there is one terminal."""

    display: Progress | None = None
    status: str = ""
    reports_slow_work: bool = False
    """Whether slow work writes lines, where there is no terminal and nobody asked."""
    step_bar: TaskID | None = None
    """The bar of the step under way, for the work that comes next in it."""


_state = _State()


def is_shown(show: bool | None) -> bool:
    """Whether progress is to be shown.

    Args:
        show: True for always, False for never, None for when standard error is a terminal or `RAGLIFT_PROGRESS=1`
            is set.
    """
    if sys.stderr is None:
        return False
    return show if show is not None else _is_terminal() or os.environ.get("RAGLIFT_PROGRESS") == "1"


@contextmanager
def quiet() -> Iterator[None]:
    """Show no progress of what the block calls, whatever was asked: where drawing it would be timed with the work."""
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


@contextmanager
def show_progress_if_slow(enabled: bool = True) -> Iterator[None]:
    """Write lines of all work in the block that takes longer than a few seconds, if there is no terminal.

    Work with `show=None` is meant, and nothing is written if `RAGLIFT_PROGRESS=0` is set. For the command line: a
    library does not write to standard error unasked.
    """
    before, _state.reports_slow_work = _state.reports_slow_work, enabled
    try:
        yield
    finally:
        _state.reports_slow_work = before


@contextmanager
def steps(total: int) -> Iterator[None]:
    """Number the steps in the block, “2 of 3”; within steps that are numbered already, these are parts of them."""
    if _steps.get() is not None:
        yield
        return
    token = _steps.set(_Steps(total))
    try:
        yield
    finally:
        _steps.reset(token)


@contextmanager
def step(name: str, *, show: bool | None = None) -> Iterator[None]:
    """Say which step the tracked work in the block belongs to; on a terminal, something moves from the start."""
    current = _steps.get()
    if current is None:
        yield
        return
    current.name = name
    if name not in current.known:
        current.known.append(name)
    try:
        if is_shown(show) and _is_terminal() and not _is_quiet.get():
            with _step_bar(name):
                yield
        else:
            yield
    finally:
        current.name = ""


@contextmanager
def track(
    label: str, total: int, unit: str, *, show: bool | None = None, live: bool = True
) -> Iterator[Callable[[int], None]]:
    """Show how far a piece of work is, on standard error, and how fast it goes.

    Args:
        label: what is being done, such as “embed”.
        total: how many units there are.
        unit: what is counted, such as “chunks”.
        show: as for `is_shown`.
        live: draw a bar on a terminal, from a thread of its own; False writes lines there too, and only when units
            are finished.

    Yields:
        A function to call with the number of units just finished.
    """
    is_visible = is_shown(show)
    only_if_slow = not is_visible and _state.reports_slow_work and _may_report(show)
    if not (is_visible or only_if_slow) or total == 0 or _is_quiet.get():
        yield lambda _count: None
    elif _is_terminal() and live:
        with _bar(label, total, unit) as advance:
            yield advance
    else:
        yield _lines(label, total, unit, only_if_slow=only_if_slow)


def notice(text: str, *, show: bool | None = None, is_slow: bool = False) -> None:
    """Say in one line on standard error what is being waited for; of slow work, as `show_status` does."""
    if not is_shown(show) and not (is_slow and _may_report(show)):
        return
    if _state.display is not None:
        _state.display.console.print(one_line(text), markup=False, highlight=False)
    else:
        _write_line(one_line(text))


@contextmanager
def show_status(*, show: bool | None = None) -> Iterator[Callable[[str], None]]:
    """Keep one line of text above the bars of the work inside; without a terminal, a line now and then.

    Args:
        show: as for `track`, but None also writes a line every ten seconds if standard error is no terminal, and
            the first after five seconds, unless `RAGLIFT_PROGRESS=0` is set: slow work is not silent.

    Yields:
        A function to call with the text whenever it changes.
    """
    if not is_shown(show):
        first = time.perf_counter() + _SECONDS_BETWEEN_LINES
        with show_progress_if_slow(False):  # the text says how far all of it is
            yield _status_lines(_SECONDS_BETWEEN_STATUS_LINES, first) if _may_report(show) else lambda _text: None
    elif _is_terminal():
        with _display():
            try:
                yield partial(setattr, _state, "status")  # drawn when the display is drawn next, ten times a second
            finally:
                _state.status = ""
    else:
        yield _status_lines(_SECONDS_BETWEEN_LINES, time.perf_counter())


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _may_report(show: bool | None) -> bool:
    """Whether slow work may write lines that nobody asked for."""
    return show is None and sys.stderr is not None and os.environ.get("RAGLIFT_PROGRESS") != "0"


@contextmanager
def _display() -> Iterator[Progress]:
    """Yield the display that is open, or a new one until the end of the block."""
    if _state.display is not None:
        yield _state.display
        return
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
    from rich.text import Text

    class Display(Progress):
        """Bars, below the line of status if there is one."""

        def get_renderables(self) -> Iterable[RenderableType]:
            if _state.status:
                yield Text(_state.status)
            yield self.make_tasks_table(self.tasks)

    columns = (
        SpinnerColumn(finished_text=" "),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[left]}"),
    )
    with Display(*columns, console=Console(stderr=True)) as display:
        _state.display = display
        try:
            yield display
        finally:
            _state.display = None


@contextmanager
def _step_bar(name: str) -> Iterator[None]:
    """Show a bar that moves, while nothing is counted yet: models are loaded and libraries imported."""
    inner = _state.display is not None
    with _display() as progress:
        _state.step_bar = task = progress.add_task(_label(name), total=None, rate="", left="")
        try:
            yield
        finally:
            _state.step_bar = None
            if inner or progress.tasks[progress.task_ids.index(task)].total is None:
                progress.remove_task(task)


@contextmanager
def _bar(label: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    inner, of_step = _state.display is not None, _state.step_bar
    pace = _Pace(total, time.perf_counter())
    with _display() as progress:
        if of_step is None:
            task = progress.add_task(_label(label), total=total, rate="", left="")
        else:
            task, _state.step_bar = of_step, None  # work inside of this has a bar of its own
            progress.reset(task, total=total, description=_label(label), rate="", left="")

        def advance(count: int) -> None:
            pace.add(count)
            progress.update(task, advance=count, rate=f"{pace.rate} {unit}/s", left=pace.left)

        try:
            yield advance
        finally:
            if of_step is not None:
                _state.step_bar = of_step
            elif inner:
                progress.remove_task(task)


def _lines(label: str, total: int, unit: str, *, only_if_slow: bool) -> Callable[[int], None]:
    last = time.perf_counter()
    label, pace, has_written = _label(label), _Pace(total, time.perf_counter()), False

    def advance(count: int) -> None:
        nonlocal last, has_written
        pace.add(count)
        now, done = time.perf_counter(), pace.done
        is_last = done >= total and (has_written or not only_if_slow)
        if is_last or now - last >= _SECONDS_BETWEEN_LINES:
            last, has_written = now, True
            left = f", {pace.left}" if pace.left else ""
            _write_line(f"{label}: {done:,}/{total:,} {unit} ({done / total:.0%}), {pace.rate}/s{left}")

    return advance


@dataclass
class _Pace:
    """How fast a piece of work goes, and how long the rest of it takes once that can be told."""

    total: int
    started: float
    done: int = 0
    first: tuple[float, int] | None = None
    """When the first units were finished, and how many: until then models were loaded as well."""

    def add(self, count: int) -> None:
        """Count units that were just finished."""
        self.done += count
        if self.first is None:
            self.first = (time.perf_counter(), self.done)

    @property
    def rate(self) -> str:
        """Units a second."""
        return _rate(self.done, self.started)

    @property
    def left(self) -> str:
        """The time left, by the pace since the first units; empty before that is known, and at the end."""
        if self.first is None or self.done >= self.total:
            return ""
        since, before = self.first
        seconds = time.perf_counter() - since
        if self.done == before or seconds < _SECONDS_TO_ESTIMATE:
            return ""
        return _time_left(seconds / (self.done - before) * (self.total - self.done))


def _label(label: str) -> str:
    """Return what is being done, with the step that it belongs to: `retrieve 2 of 3, embed queries`."""
    current = _steps.get()
    if current is None or not current.name or current.total < 2:
        return label
    number = f"{current.name} {min(current.known.index(current.name) + 1, current.total)} of {current.total}"
    return number if label == current.name else f"{number}, {label}"


def _time_left(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"about {minutes} min left" if minutes > 1 else f"about {seconds:.0f} s left"


def _status_lines(seconds: float, first: float) -> Callable[[str], None]:
    """Return what writes a text, the first not before a time on the clock, and then one in so many seconds."""
    due, last = first, ""

    def show(text: str) -> None:
        nonlocal due, last
        now = time.perf_counter()
        if now >= due and text != last:
            due, last = now + seconds, text
            _write_line(text)

    return show


def _write_line(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _rate(done: int, started: float) -> str:
    rate = done / max(time.perf_counter() - started, 1e-9)
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
