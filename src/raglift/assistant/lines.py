"""Lines about hits and figures, as the assistant and the walkthrough print them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from raglift.metrics import HitRate
from raglift.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from raglift.assistant.records import StageHits
    from raglift.records import Chunk, Hit, Metric, Query

__all__ = ["figures", "heading", "hit_lines", "label_lines", "place_of", "say", "shortened"]

_FEWEST_WORDS = 24
"""Characters of a chunk that are worth a place beside the rest."""


def say(console: Console, text: str, *, wrap: bool = False) -> None:
    """Print text that may come from a corpus: no markup is read in it, and no control character gets through."""
    console.print(printable(text), markup=False, highlight=False, soft_wrap=not wrap)


def heading(console: Console, text: str) -> None:
    """Print a line that stands out."""
    console.print(f"\n{printable(text)}", style="bold", markup=False, highlight=False, soft_wrap=True)


def shortened(text: str, length: int) -> str:
    """Return a text on one line, cut where it would take more columns than a length."""
    line = printable(" ".join(text.split()))
    return line if cell_len(line) <= length else set_cell_size(line[: 4 * length], length - 1).rstrip() + "…"


def place_of(chunk: Chunk) -> str:
    """Return the document and the characters of a chunk, as far as they are known."""
    known = chunk.start is not None and chunk.end is not None
    offsets = f"{chunk.start:,}–{chunk.end:,}" if known else ""
    return " ".join(filter(None, [chunk.doc_id, offsets]))


def label_lines(query: Query, length: int) -> Iterator[str]:
    """Yield one line a passage of a question's labels."""
    for number, fact in enumerate(query.facts, start=1):
        for alternative, passage in enumerate(fact.passages):
            name = "     or: " if alternative else f"label {number}: "
            yield f"  {name}{shortened(passage.text or f'chunk {passage.chunk_id}', length)}"


def hit_lines(stage: StageHits, first: StageHits, k: int, width: int) -> Iterator[str]:
    """Yield a line a hit: rank, the rank it had at first, score, place, words, and which labels it matches.

    Where there is no room for words beside the rest, they are a line of their own.

    Args:
        stage: whose hits.
        first: the first stage; for that stage itself no earlier ranks are shown.
        k: how many hits at most.
        width: of a line, at most.
    """
    hits = stage.ranking.hits[:k]
    earlier = {hit.chunk.id: hit.rank for hit in first.ranking}
    places = max((len(place_of(hit.chunk)) for hit in hits), default=0)
    for hit in hits:
        was = "" if stage is first else f" (was {earlier.get(hit.chunk.id, '–'):>2})"
        begin = f"{hit.rank:>3}{was}  {stage.score_name} {_score(hit)}  {place_of(hit.chunk):<{places}}  "
        matched = "".join(f" ← label {number}" for number in stage.labels.get(hit.rank, ()))
        room = width - cell_len(begin) - len(matched)
        if room >= _FEWEST_WORDS:
            yield f"{begin}{shortened(hit.chunk.text, room)}{matched}"
        else:
            yield f"{begin.rstrip()}{matched}"
            yield f"{'':6}{shortened(hit.chunk.text, max(width - 6, _FEWEST_WORDS))}"


def _score(hit: Hit) -> str:
    return f"{'–':>8}" if hit.score is None else f"{hit.score:8.4f}"


def figures(metric: Metric, values: Sequence[float], *, decimals: int | None = None) -> str:
    """Return a metric's values from stage to stage; of one question as the tutorial prints them unless told."""
    # One question is hit or not, the rest with two decimals
    places = decimals if decimals is not None else 0 if metric.name == HitRate.name else 2
    return " → ".join("–" if math.isnan(value) else f"{value:.{places}f}" for value in values)
