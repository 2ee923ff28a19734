"""Upper bounds: the recall that the chunks of an index allow, and the best score of a reranker on the candidates."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from raglift.errors import ConfigurationError
from raglift.matching.coverage import Choices, Interval, characters_needed, covered_length, fewest_intervals, is_enough
from raglift.matching.match import match_rankings
from raglift.matching.overlap import PassageMatch, match_passage
from raglift.matching.rule import MatchRule, Text
from raglift.metrics.computing import compute, rankings_by_stage
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.session_prefixes import match_run
from raglift.types.labels import PEOPLE, LabelSources, Passage, Query
from raglift.types.rankings import Inventory, Ranking
from raglift.utilities.display import lines_text

if TYPE_CHECKING:
    from raglift.matching.matches import MatchTable
    from raglift.results.evaluation import Evaluation
    from raglift.types.rankings import StageInfo

    _Curve: TypeAlias = NDArray[np.int64]


# The matches of an evaluation's stages: cached from the run, or matched again after loading.


def rule_of(evaluation: Evaluation) -> MatchRule:
    """Return the rule by which hits were matched."""
    return MatchRule(**evaluation.run.spec["match"])


def match_tables_of(evaluation: Evaluation) -> tuple[MatchTable, ...]:
    """Return what matched, for each stage; of a loaded evaluation it is matched once, and kept."""
    return evaluation.match_table or evaluation.once("match tables", lambda: _match_tables(evaluation))


def _match_tables(evaluation: Evaluation) -> tuple[MatchTable, ...]:
    rankings = rankings_by_stage(evaluation.run)
    return tuple(match_run(evaluation.run, rankings, evaluation.dataset.queries, rule_of(evaluation)))


def depth_of(evaluation: Evaluation, k: int | None) -> int:
    """Return a depth to look at: the one asked for, else the deepest that was scored."""
    candidates = int(evaluation.run.spec["candidates"])
    if k is None:
        return max((metric.k for metric in evaluation.scores.metrics if metric.k), default=candidates)
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= candidates:
        raise ConfigurationError(
            f"k: found {k!r}; expected an integer from 1 to {candidates}, the number of candidates"
        )
    return k


def overlaps_by_query(judged: MatchTable) -> dict[int, Overlaps]:
    """Return, for each query, which rank covers which part of which passage."""
    found: dict[int, dict[tuple[int, int], list[tuple[int, PassageMatch]]]] = defaultdict(lambda: defaultdict(list))
    overlaps = judged.overlaps
    place = overlaps.fact - judged.facts.first_of_query(overlaps.query)
    covered = (overlaps.start, overlaps.end, overlaps.normalized_start, overlaps.normalized_end)
    columns = (overlaps.query, place, overlaps.passage, overlaps.rank, overlaps.direction, *covered)
    for (query, fact, passage, rank, direction, start, end, first, last), relevant in zip(
        np.stack(columns, axis=1).tolist(), overlaps.relevant.tolist(), strict=True
    ):
        match = PassageMatch(direction, start, end, first, last, relevant)
        found[query][fact, passage].append((rank, match))
    return dict(found)


# The maximum number of facts of a query that any k of the given chunks can satisfy: an upper bound for every retriever
# over these chunks and every reranker of these candidates.


MOST_CHOICES = 4096
"""The most choices of k among chunks that bear on each other that are all tried: enough for 14 chunks at any k, for 29
at k = 3."""

_MOST_INTERVALS = 1000


@dataclass(frozen=True)
class Alternative:
    """One way to satisfy a fact: chunks that together cover enough of a passage.

    Where a single matching chunk is enough (containment, ids), `needed` is 1 and each chunk covers `(0, 1)`.
    """

    needed: int
    """How many characters of the passage must be covered; 1 or more."""
    covers: tuple[tuple[int, int, int], ...]
    """(chunk, start, end) of each stretch that a chunk covers; a chunk is any integer that stands for it."""
    text: str = ""
    """The normalized text of the passage, whose blanks count as covered between covered parts."""

    @classmethod
    def any_of(cls, chunks: Iterable[int]) -> Alternative:
        """Return the alternative that each one of some chunks satisfies alone."""
        return cls(1, tuple((chunk, 0, 1) for chunk in chunks))


Requirement: TypeAlias = "Sequence[Alternative]"
"""The alternatives of one fact; none for a fact that nothing can satisfy."""


@dataclass(frozen=True)
class Best:
    """The upper bound."""

    facts: int
    """The most facts that k chunks can satisfy; where it is not exact, never less than that."""
    exact: bool
    """False for an upper bound, shown as ≤."""


def best_facts(requirements: Sequence[Requirement], k: int) -> Best:
    """Return the most facts that k chunks can satisfy together.

    Facts that share no chunk, not even by way of others, do not bear on each other: the chunks are shared out among
    such groups in the best way. Within a group every choice of k chunks is tried where there are few enough; otherwise
    there is a lower and an upper bound (`_bounds`), and where these differ the upper one is returned.
    """
    return best_facts_at(requirements, (k,))[0]


def best_facts_at(requirements: Sequence[Requirement], ks: Sequence[int]) -> list[Best]:
    """Return `best_facts` for each of several k."""
    touched = sum(any(each.covers for each in fact) for fact in requirements)
    if touched <= min(ks, default=0) and touched == sum(map(_by_one_chunk, requirements)):
        return [Best(touched, exact=True) for _ in ks]  # nothing to choose: by far the most queries
    deepest = max(ks, default=0)
    least = most = np.zeros(deepest + 1, dtype=np.int64)
    for group in _groups(requirements):
        low, high = _of_group(group, deepest)
        least, most = _shared_out(least, low), _shared_out(most, high)
    return [Best(int(most[k]), bool(least[k] == most[k])) for k in ks]


def _by_one_chunk(requirement: Requirement) -> bool:
    """Whether a single stretch is enough for a fact."""
    return any(end - start >= each.needed for each in requirement for _, start, end in each.covers)


def _shared_out(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the best sum when 0, 1, 2, … chunks are shared out among two groups."""
    sums = first[:, None] + second[None, :]
    regressed = np.fliplr(sums)
    size = len(first)
    return np.array([regressed.diagonal(size - 1 - k).max() for k in range(size)], dtype=np.int64)


def _groups(requirements: Sequence[Requirement]) -> list[list[list[Alternative]]]:
    """Return the facts that can be satisfied, in groups that share no chunk."""
    groups: list[tuple[set[int], list[list[Alternative]]]] = []
    for requirement in requirements:
        possible = [each for each in requirement if _covered(each.covers, each.text) >= each.needed]
        if not possible:
            continue
        chunks = {chunk for each in possible for chunk, _, _ in each.covers}
        facts = [possible]
        for group in [group for group in groups if not group[0].isdisjoint(chunks)]:
            groups.remove(group)
            chunks |= group[0]
            facts = group[1] + facts
        groups.append((chunks, facts))
    return [_without_duplicates(facts) for _, facts in groups]


def _without_duplicates(facts: list[list[Alternative]]) -> list[list[Alternative]]:
    """Keep one of the chunks that cover exactly the same: a second one adds nothing."""
    covers: dict[int, list[tuple[int, int, int]]] = {}
    alternatives = [each for fact in facts for each in fact]
    for number, each in enumerate(alternatives):
        for chunk, start, end in each.covers:
            covers.setdefault(chunk, []).append((number, start, end))
    kept = set({tuple(sorted(of)): chunk for chunk, of in covers.items()}.values())
    return [
        [replace(each, covers=tuple(cover for cover in each.covers if cover[0] in kept)) for each in fact]
        for fact in facts
    ]


def _of_group(facts: list[list[Alternative]], deepest: int) -> tuple[_Curve, _Curve]:
    """Return the most facts that 0, 1, 2, … chunks satisfy: at least, and at most."""
    chunks = sorted({chunk for fact in facts for each in fact for chunk, _, _ in each.covers})
    least, most = _bounds(facts, len(chunks), deepest)
    trial = _Trial(facts, chunks)
    for k in range(min(len(chunks), deepest) + 1):
        if least[k] < most[k] and math.comb(len(chunks), k) <= MOST_CHOICES:
            least[k] = most[k] = trial.best(k)
    return np.maximum.accumulate(least), most


class _Trial:
    """Every choice of so many chunks, tried."""

    def __init__(self, facts: list[list[Alternative]], chunks: list[int]) -> None:
        self._row = {chunk: row for row, chunk in enumerate(chunks)}
        self._facts = [[self._passage(each) for each in fact] for fact in facts]

    def _passage(self, alternative: Alternative) -> Choices:
        covers = [(self._row[chunk], start, end) for chunk, start, end in alternative.covers]
        return Choices(covers, len(self._row), alternative.needed, alternative.text)

    def best(self, k: int) -> int:
        """Return the most facts that a choice of k chunks satisfies."""
        choices = np.array(list(combinations(range(len(self._row)), k)), dtype=np.int64)
        satisfied = np.zeros(len(choices), dtype=np.int64)
        for fact in self._facts:
            satisfied += np.logical_or.reduce([passage.are_enough(choices) for passage in fact])
        return int(satisfied.max())


def _covered(covers: Iterable[tuple[int, int, int]], text: str) -> int:
    return covered_length([(start, end) for _, start, end in covers], text)


def _bounds(facts: list[list[Alternative]], chunks: int, deepest: int) -> tuple[_Curve, _Curve]:
    """Return a lower and an upper bound of the most facts that 0, 1, 2, … chunks satisfy.

    Alone, each fact needs at least so many chunks (`fewest`). At most: no fact that needs more than k can be had; and
    as a chunk helps only those facts whose passages it covers (`helps`), k chunks make at most as many pairs of a chunk
    and a fact that it helps as the k largest `helps` add up to, while each satisfied fact takes part in `fewest` pairs.
    At least: the facts that need fewest, each by chunks of its own; and all facts, with all chunks.
    """
    ks = np.arange(deepest + 1)
    counted = sorted(min(_fewest_chunks(each, deepest) for each in fact) for fact in facts)
    fewest = np.array([count for count, _ in counted])
    helped: dict[int, set[int]] = {}
    for number, fact in enumerate(facts):
        for chunk in {chunk for each in fact for chunk, _, _ in each.covers}:
            helped.setdefault(chunk, set()).add(number)
    helps = np.sort([len(of) for of in helped.values()])[::-1]
    pairs = np.concatenate(([0], np.cumsum(helps)))[np.minimum(ks, len(helps))]
    alone = np.searchsorted(fewest, ks, side="right")
    most = np.minimum(alone, np.searchsorted(np.cumsum(fewest), pairs, side="right"))
    reached = np.cumsum([count if is_exact else chunks for count, is_exact in counted])
    least = np.where(ks >= chunks, len(facts), np.searchsorted(reached, ks, side="right"))
    return least.astype(np.int64), most.astype(np.int64)


def _fewest_chunks(alternative: Alternative, at_most: int) -> tuple[int, bool]:
    """Return the fewest chunks that satisfy an alternative, and whether that is exact; else it is too small.

    More than `at_most` is `at_most + 1`.
    """
    covers: dict[int, list[Interval]] = {}
    for chunk, start, end in alternative.covers:
        covers.setdefault(chunk, []).append((start, end))
    stretches = list(covers.values())
    if len(stretches) <= _MOST_INTERVALS and all(len(of_chunk) == 1 for of_chunk in stretches):
        single = [of_chunk[0] for of_chunk in stretches]
        return fewest_intervals(single, alternative.needed, at_most, alternative.text), True
    lengths = sorted((covered_length(of_chunk, alternative.text) for of_chunk in stretches), reverse=True)
    if lengths[0] >= alternative.needed:
        return 1, True
    blanks = alternative.text.count(" ")
    return int(np.searchsorted(np.cumsum(lengths), alternative.needed - blanks)) + 1, False


# The parts of passages that each fact of a query needs, in the form that `best_facts` takes.


Overlaps: TypeAlias = "Mapping[tuple[int, int], Sequence[tuple[int, PassageMatch]]]"
"""For each (fact of the query, alternative), the chunks, as integers, that cover a part of it."""


def requirements_of(query: Query, overlaps: Overlaps, rule: MatchRule) -> list[list[Alternative]]:
    """Return the alternatives of each fact, with the chunks that contribute to them."""
    text = Text(rule)
    return [
        [
            _alternative(passage.text, overlaps.get((place, number), ()), rule, text)
            for number, passage in enumerate(fact.passages)
        ]
        for place, fact in enumerate(query.facts)
    ]


def _alternative(
    label: str | None, found: Sequence[tuple[int, PassageMatch]], rule: MatchRule, text: Text
) -> Alternative:
    if label is None or not rule.by_coverage:
        return Alternative.any_of(dict.fromkeys(chunk for chunk, overlap in found if overlap.relevant))
    covers = tuple((chunk, overlap.normalized_start, overlap.normalized_end) for chunk, overlap in found)
    return Alternative(characters_needed(text(label), rule), covers, text(label))


# Which facts the chunks of an index can satisfy.


def serves(inventory: Inventory, rule: MatchRule) -> bool:
    """Whether the chunks that overlap passages include every chunk of the index that a rule could match."""
    if rule.mode == "fuzzy" or rule.minimum_length < inventory.minimum_length:
        return False
    return rule.unicode_folding == inventory.unicode_folding


def attainable_facts(
    queries: Sequence[Query], inventory: Inventory | None, rule: MatchRule
) -> NDArray[np.bool_] | None:
    """Return, for each fact of the labelled queries, whether all chunks together satisfy it.

    None if that is not known: the chunks are not, or the rule matches chunks that were not searched for (it is fuzzy,
    or folds texts in another way, or lets shorter chunks match).
    """
    found = attainable_passages(queries, inventory, rule)
    if found is None:
        return None
    counts = [len(fact.passages) for query in queries if query.is_labelled for fact in query.facts]
    attainable = np.zeros(len(counts), dtype=np.bool_)
    np.logical_or.at(attainable, np.repeat(np.arange(len(counts)), counts), found)
    return attainable


def attainable_passages(
    queries: Sequence[Query], inventory: Inventory | None, rule: MatchRule
) -> NDArray[np.bool_] | None:
    """Return, for each passage of the labelled queries, whether all chunks together satisfy it; None if not known."""
    if inventory is None or not serves(inventory, rule):
        return None
    facts = [fact for query in queries if query.is_labelled for fact in query.facts]
    first = np.cumsum([0, *(len(fact.passages) for fact in facts)])
    text = Text(rule)
    overlaps: dict[tuple[int, int], list[PassageMatch]] = defaultdict(list)
    for _, fact, alternative, number in inventory.touches:
        overlap = match_passage(inventory.touching[number], facts[fact].passages[alternative], rule, text)
        if overlap is not None:
            overlaps[fact, alternative].append(overlap)
    attainable = np.zeros(int(first[-1]), dtype=np.bool_)
    for (fact, alternative), found in overlaps.items():
        attainable[first[fact] + alternative] = _satisfied(facts[fact].passages[alternative], found, rule, text)
    return attainable


def _satisfied(passage: Passage, overlaps: Iterable[PassageMatch], rule: MatchRule, text: Text) -> bool:
    if passage.text is None or not rule.by_coverage:
        return True
    return is_enough(
        [(overlap.normalized_start, overlap.normalized_end) for overlap in overlaps], text(passage.text), rule
    )


# The score of a perfect reranker on the same candidates.


_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Headroom:
    """Recall and NDCG of a perfect reranker over the candidates that the first stage returned.

    If a later stage adds or rewrites hits, a question has the higher figure of these and of its candidates.
    """

    k: int
    """The depth."""
    recall: NDArray[np.float64]
    """For each query in dataset order; NaN for one without labels, 0 for one that failed."""
    ndcg: NDArray[np.float64]
    """Likewise, with linear gain against all labels."""
    exact: NDArray[np.bool_]
    """Whether both are exact for the query; else they are upper bounds, shown as ≤."""
    label_sources: LabelSources = PEOPLE
    """Label provenance: who made the labels."""
    stage: str = ""
    """The stage whose hits some question has higher figures by; empty if none has."""

    @property
    def sentence(self) -> str:
        """What a perfect reranker would score."""
        most = "" if self.is_exact else "≤ "
        figures = f"Recall@{self.k} {most}{self.mean_recall:.3f}, NDCG@{self.k} {most}{self.mean_ndcg:.3f}"
        if math.isnan(self.mean_recall):
            return "no question is labelled"
        hits = f", or of the hits of {self.stage}," if self.stage else ""
        return f"A perfect order of these candidates{hits} would reach {figures}"

    def __str__(self) -> str:
        return lines_text([self.sentence, *([str(self.label_sources)] if self.label_sources.by_model else [])])

    @property
    def mean_recall(self) -> float:
        """The mean over labelled queries."""
        return _mean(self.recall)

    @property
    def mean_ndcg(self) -> float:
        """The mean over labelled queries."""
        return _mean(self.ndcg)

    @property
    def is_exact(self) -> bool:
        """Whether both means are exact; else they are upper bounds."""
        return bool(self.exact.all())


def headroom(evaluation: Evaluation, k: int | None = None) -> Headroom:
    """Return recall and NDCG of a perfect reranker over the same candidates.

    Recall@k is that of the k candidates that satisfy most facts. NDCG@k is bounded by placing each fact with its best
    grade at the earliest free position at which enough candidates can have come before, better grades first. A ranking
    is made in that order and scored; if it attains the bound, as it does when each candidate proves one fact, the bound
    is exact. Of hits that a later stage adds or rewrites the same is computed, and the higher figure of each question
    counts, so that none is below what was reached.

    Args:
        evaluation: the evaluation.
        k: the depth; by default the deepest that was scored.

    Raises:
        ConfigurationError: k is not a depth of the run.
    """
    k = depth_of(evaluation, k)
    # The reranker may have got more than the deployed system returns
    place = 0 if evaluation.candidates is None else evaluation.scores.stages.index(evaluation.candidates)
    recall, ndcg, exact = _of_stage(evaluation, place, k)
    later = [place for place, stage in enumerate(evaluation.run.stages) if _has_other_hits(stage)]
    stage = ""
    if later:
        other_recall, other_ndcg, other_exact = _of_stage(evaluation, later[-1], k)
        if (other_recall > recall).any() or (other_ndcg > ndcg).any():
            stage = evaluation.scores.stages[later[-1]]
            recall, ndcg = np.fmax(recall, other_recall), np.fmax(ndcg, other_ndcg)
            exact &= other_exact
    return Headroom(k, recall, ndcg, exact, evaluation.label_sources, stage)


def _has_other_hits(stage: StageInfo) -> bool:
    return stage.changed_hits is not None and bool(stage.changed_hits.not_candidates)


def _of_stage(
    evaluation: Evaluation, place: int, k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return recall and NDCG of each query if the hits of a stage are ordered perfectly, and whether both are exact."""
    retrieved = match_tables_of(evaluation)[place]
    if "filled" in evaluation.run.spec:  # no reranker gets the hits that fill prompts
        retrieved = retrieved.cut(np.minimum(retrieved.hits, int(evaluation.run.spec["candidates"])))
    overlaps = overlaps_by_query(retrieved)
    rule, queries = rule_of(evaluation), evaluation.dataset.queries
    recall, ndcg = np.full(len(queries), np.nan), np.full(len(queries), np.nan)
    exact = np.ones(len(queries), dtype=np.bool_)
    rankings = []
    for number, (query, trace) in enumerate(zip(queries, evaluation.run.traces, strict=True)):
        failed = trace.error is not None
        candidates = Ranking() if failed or not trace.stages else trace.stages[place].ranking
        order: list[int] = []
        if query.is_labelled:
            needs = requirements_of(query, {} if failed else overlaps.get(number, {}), rule)
            best = best_facts(needs, k)
            recall[number], exact[number] = best.facts / len(query.facts), best.exact
            ndcg[number], order = _best_ndcg(query, needs, k)
        rankings.append(Ranking.of((candidates[rank - 1].chunk, None) for rank in order))
    (judged,) = match_rankings(queries, [rankings], rule)
    reached = compute(judged, NDCG @ k)
    exact &= np.isnan(ndcg) | (reached >= ndcg - _TOLERANCE)
    return recall, ndcg, exact


def _best_ndcg(query: Query, needs: list[list[Alternative]], k: int) -> tuple[float, list[int]]:
    """Return a bound of NDCG@k, and the ranks of the candidates in the order in which it places their facts."""
    possible = [ways for place, of_fact in enumerate(needs) if (ways := _ways(query, place, of_fact))]
    # The best grade, and the fewest candidates that satisfy the fact at all: at least as good as any one alternative
    placed = sorted(
        ((max(grade for grade, _ in ways), min(len(c) for _, c in ways), ways) for ways in possible),
        key=lambda fact: (-fact[0], fact[1]),
    )
    last = max((earliest for _, earliest, _ in placed), default=0) + len(placed)  # k may be a billion
    free = list(range(1, min(k, last) + 1))
    gained, order = 0.0, dict[int, None]()
    for grade, earliest, ways in placed:
        position = next((place for place in free if place >= earliest), None)
        if position is not None:
            free.remove(position)
            gained += grade / np.log2(position + 1)
        order |= dict.fromkeys(max(ways, key=lambda way: (way[0], -len(way[1])))[1])
    ideals = sorted((fact.ideal_grade for fact in query.facts), reverse=True)[:k]
    ideal = sum(grade / np.log2(position + 1) for position, grade in enumerate(ideals, start=1))
    return float(gained / ideal), list(order)


def _ways(query: Query, place: int, alternatives: list[Alternative]) -> list[tuple[int, list[int]]]:
    """Return the grade and the fewest candidates of each alternative that the candidates satisfy."""
    ways = []
    for passage, alternative in zip(query.facts[place].passages, alternatives, strict=True):
        longest = sorted(alternative.covers, key=lambda cover: cover[1] - cover[2])
        many = len(longest)
        fewest = next((n for n in range(1, many + 1) if best_facts([[alternative]], n).facts), None)
        if fewest is not None:
            ways.append((passage.grade, [rank for rank, _, _ in longest[:fewest]]))
    return ways


def _mean(values: NDArray[np.float64]) -> float:
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if len(counted) else float("nan")
