"""The queries one by one, gathered from what was measured."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from raglift.comparison.same_queries import check_same_rule, shared_queries
from raglift.diagnosis import fates_of
from raglift.diagnosis.rejudged import depth_of, judgements_of, rule_of
from raglift.errors import ConfigurationError
from raglift.matching import PassageMatch, Text, covering_characters
from raglift.metrics import title
from raglift.report.page.drill_down import DrillDown, QueryDetail, ShownChunk, ShownHit, ShownMatch, View, ViewDetail
from raglift.report.page.room import ROOM, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from raglift.matching import Judgements, MatchRule
    from raglift.records import Chunk, Evaluation, Hit, Metric, Query, Ranking

__all__ = ["drill_down"]


def drill_down(
    systems: Mapping[str, Evaluation],
    *,
    left: tuple[str, str],
    right: tuple[str, str],
    primary: Metric,
    shown: int | None = None,
    room: int = ROOM,
) -> DrillDown:
    """Return the queries that all systems were asked, with what each stage of each system returned and what matched.

    What has no room is left out, and said in the notes: hits that match nothing below a depth, then the ends of texts.
    A hit that matches anything is always there.

    Args:
        systems: what was measured, by name; of one system the name is not shown.
        left: the system and stage that are shown at first as `before`.
        right: those that are shown at first as `after`.
        primary: the metric that decides; its depth is where a fact counts as found.
        shown: down to which rank hits that match nothing are shown; by default as far as there is room.
        room: how many bytes `packed` may come to in the page.

    Raises:
        ConfigurationError: systems that are no fair comparison, or a system, stage or metric that is not there.
    """
    check_same_rule(systems)
    shared = shared_queries(systems, _known(left[0], systems, "system"))
    # What a loaded evaluation matched is found again once, not for every question asked of it
    measured = {name: replace(one, judgements=judgements_of(one)) for name, one in systems.items()}
    first = measured[left[0]]
    metrics = [each for each in first.scores.metrics if all(each in one.scores.metrics for one in systems.values())]
    k = primary.k or min(depth_of(one, None) for one in measured.values())
    answers = [_Answers(name, one, shared.places[name].tolist(), metrics, k) for name, one in measured.items()]
    chunks = _Chunks(hit.chunk for one in answers for ranking in one.rankings() for hit in ranking)
    names = [(one.system, stage) for one in answers for stage in one.stages]
    whole = DrillDown(
        views=tuple(
            View("" if len(answers) == 1 else one.system, stage, _title(one.system, stage, one.stages, len(answers)))
            for one in answers
            for stage in one.stages
        ),
        systems=tuple(measured),
        left=names.index(_known(left, names, "view")),
        right=names.index(_known(right, names, "view")),
        metrics=tuple(title(metric) for metric in metrics),
        primary=metrics.index(_known(primary, metrics, "metric")),
        k=k,
        match=_in_words(rule_of(first)),
        chunks=chunks.shown(),
        queries=tuple(
            _detail(number, query, answers, chunks, rule_of(first)) for number, query in enumerate(shared.queries)
        ),
        notes=shared.notes,
    )
    return within(whole, shown, room)


_Known = TypeVar("_Known")


def _known(wanted: _Known, known: Iterable[_Known], what: str) -> _Known:
    names = list(known)
    if wanted not in names:
        raise ConfigurationError(f"{what}: found {wanted}; expected one of {', '.join(map(str, names))}")
    return wanted


def _detail(number: int, query: Query, answers: Sequence[_Answers], chunks: _Chunks, rule: MatchRule) -> QueryDetail:
    marker = _Marker(query, chunks, rule)
    return QueryDetail(
        id=query.id,
        text=query.text,
        tags=query.tags,
        answerable=query.answerable,
        facts=tuple(fact.passages for fact in query.facts),
        views=tuple(one.view(number, stage, marker) for one in answers for stage in range(len(one.stages))),
        fates=tuple(one.fates_of(number) for one in answers),
    )


class _Answers:
    """What one system answered: the shared queries, by their number."""

    def __init__(
        self, system: str, evaluation: Evaluation, places: Sequence[int], metrics: Sequence[Metric], k: int
    ) -> None:
        scores = evaluation.scores
        self.system, self.stages = system, scores.stages
        self._evaluation, self._places = evaluation, places
        self._judgements = evaluation.judgements
        self._matches = [_matches(judged) for judged in evaluation.judgements]
        self._values = (
            scores.values[:, [scores.metrics.index(metric) for metric in metrics]].transpose(0, 2, 1).tolist()
        )
        fates = fates_of(evaluation, k)
        self._outcomes = [fates.outcomes[number][0] for number in fates.fate.tolist()]
        self._ranks = fates.ranks.tolist()
        self._bounds = np.searchsorted(fates.query, np.arange(len(evaluation.dataset) + 1)).tolist()

    def rankings(self) -> Iterator[Ranking]:
        """Yield every ranking of the shared queries."""
        for judged in self._judgements:
            yield from (judged.rankings[place] for place in self._places)

    def fates_of(self, number: int) -> tuple[str, ...]:
        """Return what became of each fact of a query; nothing for one without labels."""
        return tuple(self._outcomes[self._facts(number)])

    def view(self, number: int, stage: int, marker: _Marker) -> ViewDetail:
        """Return what one stage returned for a query."""
        place = self._places[number]
        hits = self._judgements[stage].rankings[place].hits
        matches = self._matches[stage].get(place, {})
        return ViewDetail(
            hits=tuple(marker.shown(hit, matches.get(hit.rank, ())) for hit in hits),
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


def _matches(judged: Judgements) -> Mapping[int, Mapping[int, Sequence[_Match]]]:
    """Return everything that one stage's hits cover, by query and rank."""
    pieces, satisfied = judged.pieces, judged.satisfied
    news = set(zip(satisfied.fact.tolist(), satisfied.passage.tolist(), satisfied.rank.tolist(), strict=True))
    names = ("query", "rank", "fact", "passage", "direction", "start", "end", "relevant")
    columns = [getattr(pieces, name).tolist() for name in names]
    first_facts = judged.facts.first_of_query(pieces.query).tolist()
    found: dict[int, dict[int, list[_Match]]] = defaultdict(lambda: defaultdict(list))
    for query, rank, fact, passage, direction, start, end, relevant, first in zip(*columns, first_facts, strict=True):
        match = PassageMatch(direction, start, end, relevant)
        found[query][rank].append((fact - first, passage, match, (fact, passage, rank) in news))
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


class _Marker:
    """Marks in chunks what matched of one query's passages, each pair of chunk and passage once for all views."""

    def __init__(self, query: Query, chunks: _Chunks, rule: MatchRule) -> None:
        self._query, self._chunks, self._rule, self._text = query, chunks, rule, Text(rule)
        self._known: dict[tuple[int, int, int], tuple[int, int]] = {}

    def shown(self, hit: Hit, found: Sequence[_Match]) -> ShownHit:
        """Return a hit with its matches, and the characters of its chunk that matched."""
        number = self._chunks.number(hit.chunk)
        return ShownHit(hit.rank, number, hit.score, tuple(self._marked(number, *match) for match in found))

    def _marked(self, number: int, fact: int, alternative: int, match: PassageMatch, satisfies: bool) -> ShownMatch:
        passage = self._query.facts[fact].passages[alternative]
        span = self._known.get((number, fact, alternative))
        if span is None:
            span = covering_characters(self._chunks[number], passage, match, self._rule, self._text)
            self._known[number, fact, alternative] = span
        covered = None if passage.text is None else (match.end - match.start) / max(len(passage.text), 1)
        return ShownMatch(fact, alternative, match.direction, match.relevant, satisfies, covered, *span)


def _title(system: str, stage: str, stages: Sequence[str], systems: int) -> str:
    """Return what to call a stage: of one system by its place, of several by the system too."""
    if systems > 1:
        return system if len(stages) == 1 else f"{system}: {stage}"
    if len(stages) == 1:
        return stage
    place = {stages[0]: "before", stages[-1]: "after"}.get(stage)
    return f"{place} ({stage})" if place else stage


_RULES = {
    "containment": "containment: one hit that contains a passage, or lies inside it, proves the fact",
    "coverage": "coverage: the hits so far must together cover {share:.0%} of a passage's characters",
    "fuzzy": "fuzzy: one hit that nearly contains a passage, or nearly lies inside it, proves the fact; "
    "the texts must be {share:.0%} alike",
}


def _in_words(rule: MatchRule) -> str:
    return _RULES[rule.mode].format(share=rule.threshold)
