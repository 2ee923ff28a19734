"""Prompts are filled: behind the hits of a run come more, until a query's texts come to a budget of tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.prompt_measures import scale_of_labels
from raglift.running.depth import PROBES, difference
from raglift.types.rankings import Ranking, Run, Trace
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.text.tokens import TokenCounts
    from raglift.types.documents import Chunk
    from raglift.types.labels import Query

MOST_HITS = 1000
"""No query is asked for more hits to fill its prompt."""
_ROUNDS = 2
"""So often are queries asked deeper whose prompts are not full."""
_SPARE = 1.5
"""So many times the hits are asked for that fill a prompt if they are of mean length."""
_SAMPLE = 10_000


@dataclass(frozen=True)
class Prompt:
    """How much is read of each query's hits."""

    tokens: int
    """The budget."""
    characters: float
    """As much in characters: the tokens times the mean characters of a token in the labelled passages."""
    total: int | None = None
    """How many chunks the index has; None if that is not known."""
    needed: int | None = None
    """How many hits fill it by the lengths of these chunks: half as many again as of mean length, but no more than of
    the shortest ones. None if they are not known."""

    @classmethod
    def of(
        cls, tokens: int, queries: Sequence[Query], counter: TokenCounts, chunks: Sequence[Chunk] | None = None
    ) -> Prompt:
        """Return the prompt of so many tokens.

        Raises:
            MissingDependency: tiktoken is not installed.
            ConfigurationError: the encoding can be neither found nor downloaded.
        """
        characters = tokens * scale_of_labels(queries, counter)
        if not chunks:
            return cls(tokens, characters)
        step = math.ceil(len(chunks) / _SAMPLE)
        lengths = np.sort([len(chunks[place].text) for place in range(0, len(chunks), step)])
        of_shortest = int(np.searchsorted(np.cumsum(lengths), characters)) + 1
        needed = min(MOST_HITS, len(chunks), of_shortest, _of_mean(float(lengths.mean()), characters))
        return cls(tokens, characters, len(chunks), needed)

    def needed_after(self, rankings: Sequence[Ranking]) -> int:
        """Return how many hits fill it, by the lengths of those that came: enough for each of the rankings."""
        lengths = [(len(ranking), length_of(ranking)) for ranking in rankings if ranking.hits]
        needed = [hits + _of_mean(length / hits, self.characters - length) for hits, length in lengths]
        return min(MOST_HITS, self.total or MOST_HITS, max(needed, default=1))

    def is_full(self, ranking: Ranking) -> bool:
        """Whether the texts of a ranking fill it, or there is no other chunk."""
        return length_of(ranking) >= self.characters or len(ranking) == self.total


def _of_mean(mean: float, characters: float) -> int:
    return math.ceil(_SPARE * characters / mean) if mean > 0 else MOST_HITS


def length_of(ranking: Ranking) -> int:
    """Return how many characters the hits' texts have together."""
    return sum(len(hit.chunk.text) for hit in ranking.hits)


@dataclass(frozen=True)
class Filling:
    """The traces of a run whose prompts were filled as far as it could be done."""

    traces: tuple[Trace, ...]
    """Of all queries: what they had, and behind it more hits."""
    deepest: int
    """How many hits were asked for where more came; 0 if no more came."""
    example: str = ""
    """Where a query has other first hits when it is asked for more, so that it keeps those that it had."""


def fill(
    run: Run,
    queries: Sequence[Query],
    prompt: Prompt,
    depth: int,
    ask: Callable[[Sequence[Query], int], Sequence[Trace]],
) -> Filling:
    """Ask for more hits where they do not fill the prompt, and more may come.

    What comes back counts where it begins with the hits that there were; else these alone stay. If that is so of the
    first few queries, the others are not asked.

    Args:
        run: of a system of one stage.
        queries: of the dataset.
        prompt: what is to be filled.
        depth: how many hits each query was asked for.
        ask: returns the traces of some queries, asked for so many hits.
    """
    traces, deepest, example = list(run.traces), 0, ""
    settled: set[int] = set()
    for _ in range(_ROUNDS):
        open_ = [
            place for place, trace in enumerate(traces) if place not in settled and _may_grow(trace, prompt, depth)
        ]
        needed = prompt.needed_after([traces[place].stages[0].ranking for place in open_])
        if needed <= depth:
            break
        for places in (open_[:PROBES], open_[PROBES:]):
            if places and places == open_[PROBES:] and settled.issuperset(open_[:PROBES]):
                return Filling(tuple(traces), deepest, example)
            for place, deeper in zip(places, ask([queries[place] for place in places], needed), strict=True):
                before = traces[place].stages[0]
                if deeper.error is not None:
                    settled.add(place)
                elif other := difference(queries[place], before.ranking.hits, deeper.stages[0].ranking):
                    settled.add(place)
                    example = example or other
                else:
                    deepest = needed
                    traces[place] = replace(traces[place], stages=(replace(before, ranking=deeper.stages[0].ranking),))
        depth = needed
    return Filling(tuple(traces), deepest, example)


def _may_grow(trace: Trace, prompt: Prompt, depth: int) -> bool:
    if trace.error is not None or not trace.stages:
        return False
    ranking = trace.stages[0].ranking
    return len(ranking) >= depth and not prompt.is_full(ranking)


def without_filling(run: Run) -> tuple[Trace, ...]:
    """Return the traces of a run without the hits that fill prompts behind its candidates."""
    if "filled" not in run.spec:
        return run.traces
    most = int(run.spec["candidates"])
    return tuple(
        replace(
            trace,
            stages=tuple(replace(stage, ranking=Ranking(stage.ranking.hits[:most])) for stage in trace.stages),
        )
        for trace in run.traces
    )


def unfilled_note(run: Run, queries: Sequence[Query], prompt: Prompt, why: str) -> list[str]:
    """Return for how many labelled queries what is read ends before the budget does; nothing if it is none.

    Args:
        run: what came back.
        queries: of the dataset.
        prompt: the budget.
        why: what kept prompts from being filled.
    """
    count = sum(
        query.is_labelled and trace.error is None and not prompt.is_full(trace.stages[-1].ranking)
        for query, trace in zip(queries, run.traces, strict=True)
    )
    if not count:
        return []
    size = f"{prompt.tokens:,} tokens ({round(prompt.characters):,} characters)"
    return [f"{run.stages[-1].name}: the hits of {counted(count, 'question')} come to fewer than {size}: {why}"]
