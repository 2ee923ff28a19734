"""How many hits each stage is asked for: as many as the deployed system returns, or as many as there are candidates.

A system as deployed is asked with its own settings. To try another reranker on it, or to look deeper, its stages are
asked for `candidates` hits instead. That measures the same system only if its first hits stay the same, which holds for
exact search and not for a fusion, a diversified search or a reranker that sees more candidates; so a few queries are
asked both ways first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.running.execution import run_stages
from raglift.types.rankings import CANDIDATES, Hit, Ranking, StageTrace, Trace
from raglift.utilities.cache import bypassed
from raglift.utilities.display import counted, shorten

if TYPE_CHECKING:
    from raglift.adapters.policy import Policy
    from raglift.adapters.stages import Stage
    from raglift.matching.provenance import Provenance
    from raglift.types.labels import Query

_SEED = 0
PROBES = 3
"""So many queries are asked at both depths."""
_SHOWN = 60


@dataclass(frozen=True)
class Probe:
    """What a few queries showed of a system that was asked both ways."""

    queries: int
    """How many were answered both ways, and so compared."""
    returned: int
    """The most hits that the deployed system returned."""
    deepest: int
    """The most that it returned at the greater depth."""
    asked: int = 0
    """The greater depth."""
    example: str = ""
    """Where the two rank otherwise: the query, the rank, and what is there; empty if they do not."""

    @property
    def agrees(self) -> bool:
        """Whether the first hits at the greater depth were those of the deployed system, for each query."""
        return self.queries > 0 and not self.example

    @property
    def is_deeper(self) -> bool:
        """Whether more hits came back at the greater depth."""
        return self.deepest > self.returned

    def note(self, name: str) -> str:
        """Return what readers of the figures must know of the depth."""
        asked = f"asked for {counted(self.asked, 'hit')}"
        if self.example:
            return (
                f"{name}: {asked}, the system does not begin with the hits that it returns as deployed: "
                f"{self.example}; so figures at more hits than it returns would be of another system"
            )
        if not self.queries:
            return f"{name}: {asked}, no question tried was answered both ways: whether it ranks alike is not known"
        returns = f"returns {counted(self.returned, 'hit')} as deployed"
        return f"{name}: {returns}; {asked}, it began with the same for the {counted(self.queries, 'question')} tried"


def probe(
    deployed: Sequence[Stage],
    deep: Sequence[Stage],
    queries: Sequence[Query],
    *,
    k: int,
    candidates: int | Callable[[Sequence[Trace]], int],
    policy: Policy,
    provenance: Provenance,
    is_timed: bool = False,
) -> Probe:
    """Ask a few seeded queries of a system as deployed, and at a greater depth.

    Args:
        deployed: its stages with their own settings.
        deep: its stages with their depths raised.
        queries: of the dataset.
        k: how many hits the deployed system is asked for where it has no depth of its own.
        candidates: the greater depth; or what tells it by the deployed answers, and the system is asked no deeper
            where it is none.
        policy: concurrency, timeout and retries.
        provenance: resolves the document of every hit.
        is_timed: whether the run after it is.
    """
    calm = replace(policy, on_error="keep", progress=False)
    chosen = _chosen(queries)
    # What a cache learned here would make a run that is timed look faster than it is
    with bypassed() if is_timed else nullcontext():
        deployed_rankings = run_stages(deployed, chosen, k, calm, provenance)
        returned = max((len(one.stages[-1].ranking) for one in deployed_rankings if one.error is None), default=0)
        if not isinstance(candidates, int):
            candidates = candidates(deployed_rankings)
            if candidates <= returned:
                return Probe(sum(one.error is None for one in deployed_rankings), returned, returned, candidates)
        more = run_stages(deep, chosen, candidates, calm, provenance)
    compared, returned, deepest, example = 0, 0, 0, ""
    for query, left, right in zip(chosen, deployed_rankings, more, strict=True):
        if left.error is None and right.error is None:
            compared += 1
            before, after = left.stages[-1].ranking, right.stages[-1].ranking
            returned, deepest = max(returned, len(before)), max(deepest, len(after))
            example = example or difference(query, before.hits[:candidates], after)
    return Probe(compared, returned, deepest, candidates, example)


def deployed_and_candidates(
    deployed: Sequence[Trace], deep: Sequence[Trace], queries: Sequence[Query]
) -> tuple[Trace, ...]:
    """Return the traces of a system as deployed, each followed by what it retrieves at the greater depth."""
    joined = []
    for query, ranking, more in zip(queries, deployed, deep, strict=True):
        if ranking.error is not None or more.error is not None:
            retries = ranking.retries + more.retries
            joined.append(Trace(query.id, ranking.stages, ranking.error or more.error, retries=retries))
        else:
            seconds = sum(stage.seconds for stage in more.stages)
            retries = sum(stage.retries for stage in more.stages)
            last = StageTrace(CANDIDATES, more.stages[-1].ranking, seconds, retries)
            joined.append(Trace(query.id, (*ranking.stages, last)))
    return tuple(joined)


def _chosen(queries: Sequence[Query]) -> list[Query]:
    places = np.random.default_rng(_SEED).permutation(len(queries))[:PROBES]
    return [queries[place] for place in sorted(places.tolist())]


def difference(query: Query, deployed: Sequence[Hit], deep: Ranking) -> str:
    """Return the first rank at which a deeper ranking has another hit; "" if it begins with the deployed ones."""
    for rank, hit in enumerate(deployed, start=1):
        other = deep[rank - 1].chunk if rank <= len(deep) else None
        if other is None or (other.text, other.doc_id) != (hit.chunk.text, hit.chunk.doc_id):
            found = "nothing" if other is None else repr(shorten(other.text, _SHOWN))
            text = repr(shorten(hit.chunk.text, _SHOWN))
            return f"for question {query.id}, hit {rank} is {found} instead of {text}"
    return ""
