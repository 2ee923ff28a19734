"""The data of the query browser, collected from the results."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from raglift.analysis.outcomes import fact_outcomes
from raglift.analysis.shared_queries import check_same_rule, shared_queries
from raglift.analysis.upper_bound import depth_of, match_tables_of, rule_of
from raglift.errors import ConfigurationError
from raglift.matching.overlap import PassageMatch, covering_characters
from raglift.matching.rule import Text
from raglift.metrics.computing import title
from raglift.metrics.registry import MEASURES
from raglift.report.format import rule_in_words, table_metrics
from raglift.report.page.query_browser import (
    CAPABILITIES,
    DrillDown,
    QueryDetail,
    ShownChunk,
    ShownHit,
    ShownMatch,
    View,
    ViewDetail,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from raglift.analysis.records import EvaluationRecord
    from raglift.matching.matches import MatchTable
    from raglift.matching.rule import MatchRule
    from raglift.records.documents import Chunk
    from raglift.records.labels import Passage, Query
    from raglift.records.metric import Metric
    from raglift.records.rankings import Hit, Ranking


def drill_down(
    systems: Mapping[str, EvaluationRecord],
    *,
    left: tuple[str, str],
    right: tuple[str, str],
    primary: Metric,
    shown: int | None = None,
    room: int = CAPABILITIES,
) -> DrillDown:
    """Return the queries that all systems were asked, with what each stage of each system returned and what matched.

    What exceeds the size budget is left out and mentioned in the notes: first hits below a depth that match nothing,
    then the ends of texts. A hit with a match is always included.

    Args:
        systems: what was measured, by name; of one system the name is not shown.
        left: the system and stage that are shown at first as `before`.
        right: those that are shown at first as `after`.
        primary: the metric that decides; its depth is where a fact counts as found.
        shown: down to which rank hits that match nothing are shown; by default as far as the size budget allows.
        room: the maximum size of `packed` in the page, in bytes.

    Raises:
        ConfigurationError: systems that cannot be compared fairly, or a system, stage or metric that is not there.
    """
    check_same_rule(systems)
    shared = shared_queries(systems, _known(left[0], systems, "system"))
    # What a loaded evaluation matched is found again once, not for every question asked of it
    measured = {name: replace(one, match_table=match_tables_of(one)) for name, one in systems.items()}
    rule, scored = rule_of(measured[left[0]]), measured[left[0]].scores.metrics
    shared_metrics = [metric for metric in scored if all(metric in one.scores.metrics for one in measured.values())]
    metrics = [metric for metric in shared_metrics if metric == primary or metric in table_metrics(shared_metrics)]
    decides = metrics.index(_known(primary, metrics, "metric"))
    k = primary.k or min(depth_of(one, None) for one in measured.values())
    answers = [_Answers(name, one, shared.places[name].tolist(), metrics, k) for name, one in measured.items()]
    names = [(one.system, stage) for one in answers for stage in one.stages]
    chunks = _Chunks(hit.chunk for one in answers for ranking in one.rankings() for hit in ranking)
    spans = _spans(answers, shared.queries, chunks, rule)
    whole = DrillDown(
        views=_views(answers),
        systems=tuple(measured),
        left=names.index(_known(left, names, "view")),
        right=names.index(_known(right, names, "view")),
        metrics=tuple(title(metric) for metric in metrics),
        primary=decides,
        k=k,
        match=rule_in_words(rule),
        chunks=chunks.shown(),
        queries=tuple(_detail(number, query, answers, chunks, spans) for number, query in enumerate(shared.queries)),
        notes=shared.notes,
        neutral=tuple(number for number, metric in enumerate(metrics) if _is_neutral(metric)),
    )
    return within(whole, shown, room)


def _is_neutral(metric: Metric) -> bool:
    measure = MEASURES[metric.name]
    return measure.is_cost or not measure.is_earned


_Known = TypeVar("_Known")


def _known(wanted: _Known, known: Iterable[_Known], what: str) -> _Known:
    names = list(known)
    if wanted not in names:
        raise ConfigurationError(f"{what}: found {wanted}; expected one of {', '.join(map(str, names))}")
    return wanted


def _detail(number: int, query: Query, answers: Sequence[_Answers], chunks: _Chunks, spans: _Spans) -> QueryDetail:
    return QueryDetail(
        id=query.id,
        text=query.text,
        tags=query.tags,
        answerable=query.answerable,
        facts=tuple(fact.passages for fact in query.facts),
        views=tuple(
            one.view(number, query, stage, chunks, spans) for one in answers for stage in range(len(one.stages))
        ),
        all_outcomes=tuple(one.fact_outcomes(number) for one in answers),
    )


class _Answers:
    """What one system answered: the shared queries, by their number."""

    def __init__(
        self, system: str, evaluation: EvaluationRecord, places: Sequence[int], metrics: Sequence[Metric], k: int
    ) -> None:
        scores = evaluation.scores
        self.system, self.stages = system, scores.stages
        self._evaluation, self._places = evaluation, places
        self._judgements = evaluation.match_table
        self._matches = [_matches(judged) for judged in evaluation.match_table]
        self._values = (
            scores.values[:, [scores.metrics.index(metric) for metric in metrics]].transpose(0, 2, 1).tolist()
        )
        all_outcomes = fact_outcomes(evaluation, k)
        self._outcomes = [all_outcomes.outcomes[number][0] for number in all_outcomes.outcome_of_fact.tolist()]
        self._ranks = all_outcomes.ranks.tolist()
        self._bounds = np.searchsorted(all_outcomes.query, np.arange(len(evaluation.dataset) + 1)).tolist()

    def rankings(self) -> Iterator[Ranking]:
        """Yield every ranking of the shared queries."""
        for judged in self._judgements:
            yield from (judged.rankings[place] for place in self._places)

    def fact_outcomes(self, number: int) -> tuple[str, ...]:
        """Return the outcome of each fact of a query; nothing for one without labels."""
        return tuple(self._outcomes[self._facts(number)])

    def found(self, number: int) -> Iterator[tuple[Chunk, _Match]]:
        """Yield each match of a query, at any stage, with the chunk of its hit."""
        place = self._places[number]
        for judged, matches in zip(self._judgements, self._matches, strict=True):
            hits = judged.rankings[place].hits
            for rank, found in matches.get(place, {}).items():
                yield from ((hits[rank - 1].chunk, match) for match in found)

    def view(self, number: int, query: Query, stage: int, chunks: _Chunks, spans: _Spans) -> ViewDetail:
        """Return what one stage returned for a query."""
        place = self._places[number]
        hits = self._judgements[stage].rankings[place].hits
        matches = self._matches[stage].get(place, {})
        return ViewDetail(
            hits=tuple(_shown(hit, chunks.number(hit.chunk), query, matches.get(hit.rank, ()), spans) for hit in hits),
            returned=len(hits),
            values=tuple(self._values[stage][place]),
            facts=tuple(rank or None for rank in self._ranks[stage][self._facts(number)]),
            error=self._evaluation.run.traces[place].error,
        )

    def _facts(self, number: int) -> slice:
        """Return the rows of the facts of a query; none of one without labels."""
        place = self._places[number]
        return slice(self._bounds[place], self._bounds[place + 1])


_Match = tuple[int, int, PassageMatch, bool]
"""The fact of its query, the alternative, what of the passage is covered, and whether the fact is satisfied with it."""


def _matches(judged: MatchTable) -> Mapping[int, Mapping[int, Sequence[_Match]]]:
    """Return everything that one stage's hits cover, by query and rank."""
    overlaps, satisfied = judged.overlaps, judged.satisfied
    news = set(zip(satisfied.fact.tolist(), satisfied.passage.tolist(), satisfied.rank.tolist(), strict=True))
    columns = [getattr(overlaps, name).tolist() for name in ("query", "rank", "fact", "passage", *PassageMatch._fields)]
    first_facts = judged.facts.first_of_query(overlaps.query).tolist()
    found: dict[int, dict[int, list[_Match]]] = defaultdict(lambda: defaultdict(list))
    for query, rank, fact, passage, *match, first in zip(*columns, first_facts, strict=True):
        satisfies = (fact, passage, rank) in news
        found[query][rank].append((fact - first, passage, PassageMatch(*match), satisfies))
    return found


class _Chunks:
    """Every distinct chunk once: those of a document together and in its order, so that overlaps are packed well."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        objects = {id(chunk): chunk for chunk in chunks}
        distinct = {(one.doc_id or "", one.start, one.end, one.text): one for one in objects.values()}
        self._chunks = [distinct[key] for key in sorted(distinct, key=_in_order)]
        numbers = {(one.doc_id or "", one.start, one.end, one.text): place for place, one in enumerate(self._chunks)}
        self._numbers = {name: numbers[one.doc_id or "", one.start, one.end, one.text] for name, one in objects.items()}

    def number(self, chunk: Chunk) -> int:
        """Return the number of a chunk, which must be one of those given, not an equal one."""
        return self._numbers[id(chunk)]

    def __getitem__(self, number: int) -> Chunk:
        return self._chunks[number]

    def shown(self) -> tuple[ShownChunk, ...]:
        """Return them all."""
        return tuple(ShownChunk(one.doc_id or "", one.start, one.end, one.text, 0) for one in self._chunks)


def _in_order(key: tuple[str, int | None, int | None, str]) -> tuple[str, int, int, str]:
    document, start, end, text = key
    return document, -1 if start is None else start, -1 if end is None else end, text


_Spans = dict[tuple[int, "Passage"], tuple[float | None, int, int]]
"""For each chunk, by number, and passage that it covers a part of: what share of the passage it covers, None for a
chunk-id label, and the characters of the chunk that do."""


def _spans(answers: Sequence[_Answers], queries: Sequence[Query], chunks: _Chunks, rule: MatchRule) -> _Spans:
    """Return where in each chunk what matched is: chunk after chunk, so that each is normalized once."""
    wanted: dict[int, dict[Passage, PassageMatch]] = defaultdict(dict)
    for one in answers:
        for number, query in enumerate(queries):
            for chunk, (fact, alternative, covered, _) in one.found(number):
                wanted[chunks.number(chunk)][query.facts[fact].passages[alternative]] = covered
    spans: _Spans = {}
    for number, passages in wanted.items():
        text = Text(rule)
        for passage, covered in passages.items():
            length = None if passage.text is None else len(text(passage.text))
            share = (covered.normalized_end - covered.normalized_start) / length if length else None
            spans[number, passage] = share, *covering_characters(chunks[number], passage, covered, rule, text)
    return spans


def _shown(hit: Hit, number: int, query: Query, found: Sequence[_Match], spans: _Spans) -> ShownHit:
    matches = []
    for fact, alternative, match, satisfies in found:
        share, *span = spans[number, query.facts[fact].passages[alternative]]
        matches.append(ShownMatch(fact, alternative, match.direction, match.relevant, satisfies, share, *span))
    return ShownHit(hit.rank, number, hit.score, tuple(matches))


def _views(answers: Sequence[_Answers]) -> tuple[View, ...]:
    alone = len(answers) == 1
    return tuple(
        View("" if alone else one.system, stage, _stage_title(stage, one.stages) if alone else _title(one, stage))
        for one in answers
        for stage in one.stages
    )


def _title(answers: _Answers, stage: str) -> str:
    return answers.system if len(answers.stages) == 1 else f"{answers.system}: {stage}"


def _stage_title(stage: str, stages: Sequence[str]) -> str:
    """Return what to call a stage of the only system there is."""
    place = {stages[0]: "before", stages[-1]: "after"}.get(stage) if len(stages) > 1 else None
    return f"{place} ({stage})" if place else stage
