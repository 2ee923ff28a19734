"""What an index loses: the facts and hits that exact search finds over the same vectors, and it does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.filters import filter_faults
from raglift.analysis.paired_statistics import method_of, method_text, verdict
from raglift.analysis.upper_bound import match_tables_of, rule_of
from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings
from raglift.metrics.measure import first_satisfactions
from raglift.records.labels import PEOPLE, LabelSources
from raglift.records.rankings import Ranking
from raglift.rendering.presenting import Presentable
from raglift.stats.paired_tests import holm, paired_differences

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from raglift.analysis.records import EvaluationRecord, Method
    from raglift.matching.matches import MatchTable
    from raglift.records.rankings import IndexCost
    from raglift.stats.paired_tests import PairedDifference


COMPRESSION, INDEX, TOGETHER = STEPS = ("compression", "index", "together")
"""From the model's own vectors to those that the index holds; from exact search over these to the index; and both."""


# Facts: at which rank exact search and the index satisfy each.


@dataclass(frozen=True, eq=False)
class ExactRanks:
    """The rank at which each fact of the labelled queries is satisfied; 0 for never."""

    stage: str
    """The stage that is compared."""
    depth: int
    """How many hits the index and exact search were asked for."""
    full: NDArray[np.int64]
    """By exact search over the model's own vectors."""
    held: NDArray[np.int64]
    """By exact search over the vectors as the index holds them."""
    index: NDArray[np.int64]
    """By the index."""
    query: NDArray[np.int64]
    """Whose each fact is: an index into the queries."""
    known: NDArray[np.bool_]
    """Whether exact search was asked the fact's query: one that failed was not."""


def exact_ranks(evaluation: EvaluationRecord) -> ExactRanks | None:
    """Return at which rank exact search and the index satisfy each fact; None where exact search was not asked.

    Args:
        evaluation: the evaluation.
    """
    mark = evaluation.run.spec.get("exact")
    traces = evaluation.run.traces
    if not mark or mark["stage"] not in evaluation.scores.stages or not any(trace.exact for trace in traces):
        return None
    rankings = [
        [Ranking() if trace.exact is None else getattr(trace.exact, name) for trace in traces]
        for name in ("full", "held")
    ]
    full, held = match_rankings(evaluation.dataset.queries, rankings, rule_of(evaluation))
    stage = match_tables_of(evaluation)[evaluation.scores.stages.index(mark["stage"])]
    asked = np.array([trace.exact is not None for trace in traces], dtype=np.bool_)
    query = stage.facts.query
    return ExactRanks(mark["stage"], int(mark["k"]), _ranks(full), _ranks(held), _ranks(stage), query, asked[query])


def _ranks(table: MatchTable) -> NDArray[np.int64]:
    first = first_satisfactions(table)
    ranks = np.zeros(len(table.facts.query), dtype=np.int64)
    ranks[first.fact] = first.rank
    return ranks


def by_rank(ranks: NDArray[np.int64], k: int) -> NDArray[np.bool_]:
    """Return which facts are satisfied by a rank."""
    return (ranks > 0) & (ranks <= k)


def lost_facts(evaluation: EvaluationRecord, k: int) -> dict[tuple[str, str | None], NDArray[np.bool_]]:
    """Return which facts the filter, the index and compression lose, as outcomes of a failure analysis.

    Where rerankers follow, a fact is lost if it is not among the candidates; else if it is not among the first k hits.
    `lost_by_filter`: exact search among the matching chunks finds it, and the index does not, for a query whose filter
    was not applied as it should be. `lost_by_index`: exact search over the vectors as the index holds them finds it,
    and the index does not. `lost_by_compression`: only exact search over the model's own vectors finds it.

    Args:
        evaluation: the evaluation.
        k: the depth at which a fact counts as found.
    """
    ranks = exact_ranks(evaluation)
    if ranks is None:
        return {}
    is_last = ranks.stage == evaluation.scores.stages[-1]
    depth = min(k, ranks.depth) if is_last else ranks.depth
    full, held, found = (by_rank(one, depth) & ranks.known for one in (ranks.full, ranks.held, ranks.index))
    outcomes: dict[tuple[str, str | None], NDArray[np.bool_]] = {}
    faulty = filter_faults(evaluation.run, evaluation.dataset.queries)
    if faulty:
        misfiltered = np.array([query.id in faulty for query in evaluation.dataset.queries], dtype=np.bool_)[
            ranks.query
        ]
        outcomes["lost_by_filter", None] = (full | held) & ~found & misfiltered
    outcomes["lost_by_index", None] = held & ~found
    outcomes["lost_by_compression", None] = full & ~found
    return outcomes


# How much is lost, in facts and in hits.


@dataclass(frozen=True)
class IndexStep:
    """What one step from exact search to the index changes."""

    step: str
    """`compression`, `index`, or `together` for both."""
    before: int
    """Facts that are found before it."""
    after: int
    """Facts that are found after it."""
    lost: int
    """Facts that are found before it and not after it."""
    gained: int
    """Facts that are found after it and not before it."""
    query_ids: tuple[str, ...]
    """The queries that lose a fact, in dataset order."""
    hits_lost: int
    """Of the first k hits before it, how many are not among those after it; equal texts stand for each other."""
    hits: int
    """How many hits there are before it."""
    difference: PairedDifference
    """Of recall, query by query: after minus before."""
    p: float
    """The p-value of the difference, corrected for the steps by Holm; 1 where there is nothing to test."""
    verdict: str
    """`better`, `worse`, `not significant` or `too skewed to decide`."""

    @property
    def overlap(self) -> float:
        """The share of the hits that are kept; NaN without hits. Range [0, 1]."""
        return 1.0 - self.hits_lost / self.hits if self.hits else float("nan")


@dataclass(frozen=True)
class IndexLosses(Presentable):
    """What an index loses against exact search over the same vectors, before any reranker."""

    index: str
    """The index and its dimensions, as `hnsw(ef=128), 128 dimensions`; the system where it is the user's own."""
    stage: str
    """The stage that was compared."""
    k: int
    """At which depth."""
    source: str
    """Where exact search has its vectors from: `own`, `read out` or `embedded again`."""
    facts: int
    """All facts of the labelled queries that did not fail."""
    queries: int
    """How many queries they are of."""
    steps: tuple[IndexStep, ...]
    """Compression, the index, and both together."""
    cost: IndexCost | None
    """Build time, bytes and queries a second; None where they are not known."""
    method: Method
    """How differences were tested."""
    label_sources: LabelSources = PEOPLE
    """Label provenance: who made the labels."""

    def step(self, name: str) -> IndexStep:
        """Return a step by its name.

        Raises:
            ConfigurationError: there is none of that name.
        """
        for one in self.steps:
            if one.step == name:
                return one
        raise ConfigurationError(f"step: found {name!r}; expected one of {', '.join(STEPS)}")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per step: facts before, after, lost, gained; hits lost, overlap; difference, interval, p."""
        import pandas as pd

        rows = [
            {
                "step": one.step,
                "facts_before": one.before,
                "facts_after": one.after,
                "facts_lost": one.lost,
                "facts_gained": one.gained,
                "hits": one.hits,
                "hits_lost": one.hits_lost,
                "overlap": one.overlap,
                "difference": one.difference.mean,
                "low": one.difference.low,
                "high": one.difference.high,
                "p": one.p,
                "verdict": one.verdict,
            }
            for one in self.steps
        ]
        return pd.DataFrame(rows)


def index_losses(
    evaluation: EvaluationRecord, k: int | None = None, *, seed: int = 0, confidence: float = 0.95
) -> IndexLosses:
    """Return what the index of an evaluation loses against exact search.

    Args:
        evaluation: the evaluation.
        k: the depth; by default the deepest that was scored or, where rerankers follow, that of their candidates.
        seed: of the permutation tests.
        confidence: how often intervals hold the true value.

    Raises:
        ConfigurationError: exact search was not asked; k is not a depth of the run; or an argument is out of range.
    """
    method = method_of(seed, confidence)
    ranks = exact_ranks(evaluation)
    if ranks is None:
        raise ConfigurationError(
            "index_losses: found no exact search in this run; expected one: name another index than flat for raglift's "
            "own retrievers, or evaluate a vector store with exact=True"
        )
    k = _depth(evaluation, ranks, k)
    found = {name: by_rank(getattr(ranks, name), k) & ranks.known for name in ("full", "held", "index")}
    counted = np.bincount(ranks.query[ranks.known], minlength=len(evaluation.dataset.queries))
    asked = np.flatnonzero(counted)
    recall = {
        name: np.bincount(ranks.query[of_facts], minlength=len(counted))[asked] / counted[asked]
        for name, of_facts in found.items()
    }
    pairs = {COMPRESSION: ("full", "held"), INDEX: ("held", "index"), TOGETHER: ("full", "index")}
    matrix = np.stack([recall[after] - recall[before] for before, after in pairs.values()], axis=1)
    differences = paired_differences(matrix, seed=method.seed, confidence=method.confidence, bounds=[1.0] * len(pairs))
    corrected = holm([one.p for one in differences])
    hits = _hits(evaluation, ranks.stage, k)
    steps = []
    for (step, (before, after)), difference, p in zip(pairs.items(), differences, corrected.tolist(), strict=True):
        lost = found[before] & ~found[after]
        steps.append(
            IndexStep(
                step=step,
                before=int(found[before].sum()),
                after=int(found[after].sum()),
                lost=int(lost.sum()),
                gained=int((found[after] & ~found[before]).sum()),
                query_ids=tuple(evaluation.dataset.queries[one].id for one in np.unique(ranks.query[lost]).tolist()),
                hits_lost=_lost_hits(hits[before], hits[after]),
                hits=sum(one.total() for one in hits[before]),
                difference=difference,
                p=p,
                verdict=verdict(difference, p, method),
            )
        )
    cost = None if evaluation.run.cost is None else evaluation.run.cost.index
    stage = next(one for one in evaluation.run.stages if one.name == ranks.stage)
    said = method_text(differences, None, "corrected for the steps by Holm")
    return IndexLosses(
        index=cost.index if cost is not None and cost.index else stage.system,
        stage=ranks.stage,
        k=k,
        source=evaluation.run.spec["exact"]["source"],
        facts=int(ranks.known.sum()),
        queries=len(asked),
        steps=tuple(steps),
        cost=cost,
        method=replace(method, text=said),
        label_sources=evaluation.label_sources,
    )


def _depth(evaluation: EvaluationRecord, ranks: ExactRanks, k: int | None) -> int:
    if k is None:
        scored = max((metric.k for metric in evaluation.scores.metrics if metric.k), default=ranks.depth)
        is_last = ranks.stage == evaluation.scores.stages[-1]
        return min(scored, ranks.depth) if is_last else ranks.depth
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= ranks.depth:
        raise ConfigurationError(
            f"k: found {k!r}; expected an integer from 1 to {ranks.depth}, for which index and exact search were asked"
        )
    return k


def _hits(evaluation: EvaluationRecord, stage: str, k: int) -> dict[str, list[Counter[str]]]:
    """Return the texts of the first k hits of each query that did not fail."""
    found: dict[str, list[Counter[str]]] = {"full": [], "held": [], "index": []}
    for trace in evaluation.run.traces:
        if trace.exact is None:
            continue
        own = next((done.ranking for done in trace.stages if done.stage == stage), Ranking())
        for name, ranking in (("full", trace.exact.full), ("held", trace.exact.held), ("index", own)):
            found[name].append(Counter(hit.chunk.text for hit in ranking.hits[:k]))
    return found


def _lost_hits(before: list[Counter[str]], after: list[Counter[str]]) -> int:
    return sum((one - other).total() for one, other in zip(before, after, strict=True))
