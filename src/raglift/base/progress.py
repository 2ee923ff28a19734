"""Progress with a rate: a bar on a terminal, otherwise a line every few seconds.

Work inside other work (one model inside a sweep) is shown below it in the same display, and goes away when it is
done.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raglift.base.display import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.progress import Progress


_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BETWEEN_STATUS_LINES = 30.0
"""Of work that takes long, where nobody asked for lines and there is no terminal."""
_is_quiet: ContextVar[bool] = ContextVar("raglift progress quiet", default=False)


@dataclass
class _State:
    """What is shown now; one display a process, as there is one terminal."""

    display: Progress | None = None
    status: str = ""
    listeners: list[Callable[[str, int], None]] = field(default_factory=list)


_state = _State()


def is_shown(show: bool | None) -> bool:
    """Whether progress is to be shown.

    Args:
        show: True for always, False for never, None for when standard error is a terminal or `RAGLIFT_PROGRESS=1`
            is set.
    """
    if sys.stderr is None:
        return False
    if show is not None:
        return show
    return _is_terminal() or os.environ.get("RAGLIFT_PROGRESS") == "1"


@contextmanager
def quiet() -> Iterator[None]:
    """Show no progress of what the block calls, whatever was asked: where drawing it would be timed with the work."""
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


@contextmanager
def track(
    label: str, total: int, unit: str, *, show: bool | None = None, live: bool = True
) -> Iterator[Callable[[int], None]]:
    """Show how far a piece of work is, on standard error, and how fast it goes.

    Args:
        label: what is being done, as “embed”.
        total: how many units there are.
        unit: what is counted, as “chunks”.
        show: as for `is_shown`.
        live: draw a bar on a terminal, from a thread of its own; False writes lines there too, and only when it is
            told of finished units.

    Yields:
        A function to call with the number of units just finished.
    """
    if not is_shown(show) or total == 0 or _is_quiet.get():
        yield lambda count: _tell(unit, count)
    elif _is_terminal() and live:
        with _bar(label, total, unit) as advance:
            yield advance
    else:
        yield _lines(label, total, unit)


def notice(text: str, *, show: bool | None = None) -> None:
    """Say in one line on standard error what is being waited for.

    Args:
        text: the line.
        show: as for `track`.
    """
    if not is_shown(show):
        return
    line = one_line(text)
    if _state.display is not None:
        _state.display.console.print(line, markup=False, highlight=False)
    else:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


@contextmanager
def listen(listener: Callable[[str, int], None]) -> Iterator[None]:
    """Call a function with the unit and the count whenever any tracked work advances, shown or not."""
    _state.listeners.append(listener)
    try:
        yield
    finally:
        _state.listeners.remove(listener)


@contextmanager
def show_status(*, show: bool | None = None) -> Iterator[Callable[[str], None]]:
    """Keep one line of text above the bars of the work inside; elsewhere than on a terminal, a line now and then.

    Args:
        show: as for `track`, but None also writes a line every half a minute where standard error is no terminal, and
            the first after five seconds, unless `RAGLIFT_PROGRESS=0` is set: work that takes long is not silent.

    Yields:
        A function to call with the text whenever it changes.
    """
    if not is_shown(show):
        may_tell = show is None and sys.stderr is not None and os.environ.get("RAGLIFT_PROGRESS") != "0"
        first = time.perf_counter() + _SECONDS_BETWEEN_LINES
        yield _status_lines(_SECONDS_BETWEEN_STATUS_LINES, first) if may_tell else lambda _text: None
    elif _is_terminal():
        with _display() as display:
            try:
                yield lambda text: _set_status(display, text)
            finally:
                _state.status = ""
    else:
        yield _status_lines(_SECONDS_BETWEEN_LINES, time.perf_counter())


def _set_status(display: Progress, text: str) -> None:
    _state.status = text
    display.refresh()


def _tell(unit: str, count: int) -> None:
    if _is_quiet.get():
        return
    for listener in _state.listeners:
        listener(unit, count)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def _display() -> Iterator[Progress]:
    """Yield the display that is there, or one of our own until the end of the block."""
    if _state.display is not None:
        yield _state.display
        return
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Display(Progress):
        """Bars, below a line of text where there is one."""

        def get_renderables(self) -> Iterable[RenderableType]:
            if _state.status:
                yield Text(_state.status)
            yield self.make_tasks_table(self.tasks)

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Display(*columns, console=Console(stderr=True), transient=False) as display:
        _state.display = display
        try:
            yield display
        finally:
            _state.display = None


@contextmanager
def _bar(label: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    inner = _state.display is not None
    started = time.perf_counter()
    done = 0
    with _display() as progress:
        task = progress.add_task(label, total=total, rate="")

        def advance(count: int) -> None:
            nonlocal done
            done += count
            progress.update(task, advance=count, rate=f"{_rate(done, started)} {unit}/s")
            _tell(unit, count)

        try:
            yield advance
        finally:
            if inner:
                progress.remove_task(task)


def _lines(label: str, total: int, unit: str) -> Callable[[int], None]:
    started = last = time.perf_counter()
    done = 0

    def advance(count: int) -> None:
        nonlocal done, last
        done += count
        now = time.perf_counter()
        if done >= total or now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            sys.stderr.write(f"{label}: {done:,}/{total:,} {unit} ({_rate(done, started)}/s)\n")
            sys.stderr.flush()
        _tell(unit, count)

    return advance


def _status_lines(seconds: float, first: float) -> Callable[[str], None]:
    """Return what writes a text, the first not before a time on the clock, and then one in so many seconds."""
    due, shown = first, ""

    def show(text: str) -> None:
        nonlocal due, shown
        now = time.perf_counter()
        if now >= due and text != shown:
            due, shown = now + seconds, text
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    return show


def _rate(done: int, started: float) -> str:
    rate = done / max(time.perf_counter() - started, 1e-9)
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
