"""Progress with a rate: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["notice", "track"]

_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def track(label: str, total: int, unit: str, *, show: bool | None = None) -> Iterator[Callable[[int], None]]:
    """Show how far a piece of work is, on standard error, and how fast it goes.

    Args:
        label: what is being done, as “embed”.
        total: how many units there are.
        unit: what is counted, as “chunks”.
        show: True for always, False for never, None for when standard error is a terminal or
            `RAGLIFT_PROGRESS=1` is set.

    Yields:
        A function to call with the number of units just finished.
    """
    if not _is_shown(show) or total == 0:
        yield lambda _count: None
    elif _on_terminal():
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
    if _is_shown(show):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _is_shown(show: bool | None) -> bool:
    if sys.stderr is None:
        return False
    return show if show is not None else _on_terminal() or os.environ.get("RAGLIFT_PROGRESS") == "1"


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


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
