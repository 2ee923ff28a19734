"""Progress with a rate: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["quiet", "track"]

_SECONDS_BETWEEN_LINES = 5.0
_is_quiet: ContextVar[bool] = ContextVar("raglift progress quiet", default=False)


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
        show: True for always, False for never, None for when standard error is a terminal or
            `RAGLIFT_PROGRESS=1` is set.
        live: draw a bar on a terminal, from a thread of its own; False writes lines there too, and only when it is
            told of finished units.

    Yields:
        A function to call with the number of units just finished.
    """
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if show is None:
        show = terminal or os.environ.get("RAGLIFT_PROGRESS") == "1"
    if not show or total == 0 or _is_quiet.get():
        yield lambda _count: None
    elif terminal and live:
        with _bar(label, total, unit) as advance:
            yield advance
    else:
        yield _lines(label, total, unit)


@contextmanager
def _bar(label: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    started = time.perf_counter()
    done = 0
    with Progress(*columns, console=Console(stderr=True), transient=False) as progress:
        task = progress.add_task(label, total=total, rate="")

        def advance(count: int) -> None:
            nonlocal done
            done += count
            progress.update(task, advance=count, rate=f"{_rate(done, started)} {unit}/s")

        yield advance


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

    return advance


def _rate(done: int, started: float) -> str:
    rate = done / max(time.perf_counter() - started, 1e-9)
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
