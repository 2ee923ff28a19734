"""Lines about labels, hits and figures, as the walkthrough prints them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from raglift.base.display import printable
from raglift.metrics.rank_measures import HitRate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from raglift.matching.matches import MatchTable
    from raglift.records.documents import Chunk
    from raglift.records.labels import Query
    from raglift.records.metric import Metric
    from raglift.records.rankings import Hit, Ranking

_FEWEST_WORDS = 24
"""Characters of a chunk that are worth a place next to the rest."""


@dataclass(frozen=True)
class StageHits:
    """What one stage of the system made of the question."""

    system: str
    """What did the work: class, model, settings that matter."""
    score_name: str
    """What its scores are: `cosine`, or `score` on a scale of the stage's own."""
    ranking: Ranking
    """Its hits, best first."""
    labels: Mapping[int, tuple[int, ...]]
    """For each rank whose hit matches any: the numbers of the question's labels (its facts), from 1."""


def labels_by_rank(judged: MatchTable) -> dict[int, tuple[int, ...]]:
    """Return, for each rank of one question's hits that matches any label, the numbers of these labels from 1."""
    found: dict[int, set[int]] = {}
    for rank, fact in zip(judged.matches.rank.tolist(), judged.matches.fact.tolist(), strict=True):
        found.setdefault(rank, set()).add(fact + 1)
    return {rank: tuple(sorted(numbers)) for rank, numbers in found.items()}


def say(console: Console, text: str, *, wrap: bool = False) -> None:
    """Print text that may come from a corpus: no markup is read in it, and no control character gets through."""
    console.print(printable(text), markup=False, highlight=False, soft_wrap=not wrap)


def label_lines(query: Query, length: int) -> Iterator[str]:
    """Yield one line per passage of a question's labels."""
    for number, fact in enumerate(query.facts, start=1):
        for alternative, passage in enumerate(fact.passages):
            name = "     or: " if alternative else f"label {number}: "
            yield f"  {name}{_shortened(passage.text or f'chunk {passage.chunk_id}', length)}"


def hit_lines(stage: StageHits, first: StageHits, k: int, width: int) -> Iterator[str]:
    """Yield a line per hit: rank, the rank it had at first, score, location, words, and which labels it matches.

    Text that does not fit next to the rest gets its own line.

    Args:
        stage: whose hits.
        first: the first stage; for that stage itself no earlier ranks are shown.
        k: how many hits at most.
        width: of a line, at most.
    """
    hits = stage.ranking.hits[:k]
    earlier = {hit.chunk.id: hit.rank for hit in first.ranking}
    places = max((len(_place_of(hit.chunk)) for hit in hits), default=0)
    for hit in hits:
        was = "" if stage is first else f" (was {earlier.get(hit.chunk.id, '–'):>2})"
        begin = f"{hit.rank:>3}{was}  {stage.score_name} {_score(hit)}  {_place_of(hit.chunk):<{places}}  "
        matched = "".join(f" ← label {number}" for number in stage.labels.get(hit.rank, ()))
        available = width - cell_len(begin) - len(matched)
        if available >= _FEWEST_WORDS:
            yield f"{begin}{_shortened(hit.chunk.text, available)}{matched}"
        else:
            yield f"{begin.rstrip()}{matched}"
            yield f"{'':6}{_shortened(hit.chunk.text, max(width - 6, _FEWEST_WORDS))}"


def figures(metric: Metric, values: Sequence[float], *, decimals: int | None = None) -> str:
    """Return a metric's values from stage to stage; of one question as the tutorial prints them by default."""
    # One question is hit or not, the rest with two decimals
    places = decimals if decimals is not None else 0 if metric.name == HitRate.name else 2
    return " → ".join("–" if math.isnan(value) else f"{value:.{places}f}" for value in values)


def _shortened(text: str, length: int) -> str:
    """Return a text on one line, cut where it would take more columns than a length."""
    line = printable(" ".join(text.split()))
    return line if cell_len(line) <= length else set_cell_size(line[: 4 * length], length - 1).rstrip() + "…"


def _place_of(chunk: Chunk) -> str:
    """Return the document and the characters of a chunk, as far as they are known."""
    known = chunk.start is not None and chunk.end is not None
    offsets = f"{chunk.start:,}–{chunk.end:,}" if known else ""
    return " ".join(filter(None, [chunk.doc_id, offsets]))


def _score(hit: Hit) -> str:
    return f"{'–':>8}" if hit.score is None else f"{hit.score:8.4f}"
