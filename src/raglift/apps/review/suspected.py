"""Suspected labels in a review: the label and the passage that speaks against it, and what a person decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from raglift.apps.review.evidence import same_place
from raglift.auditing.label_suspects import SUSPECT_KINDS
from raglift.errors import ConfigurationError
from raglift.records.labels import Fact, Passage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.auditing.label_suspects import Suspect
    from raglift.records.labels import Query


@dataclass(frozen=True)
class Case:
    """A label that is suspected, and what speaks against it."""

    suspect: Suspect
    passages: tuple[Passage, ...]
    """Those of the fact, as they were when the review began; those that a model chose are a person's once decided."""
    other: Passage
    """The passage that is preferred to them, or says the same."""


@dataclass(frozen=True)
class Verdict:
    """What a person decided: whether the label is evidence, and whether the other passage is."""

    label: bool
    other: bool


def cases_of(suspects: Sequence[Suspect], queries: Sequence[Query]) -> Mapping[str, tuple[Case, ...]]:
    """Return the suspects of each query as cases, the queries by the strongest evidence.

    Args:
        suspects: by evidence, the strongest first.
        queries: with the labels that are suspected.
    """
    by_id = {query.id: query for query in queries}
    found: dict[str, list[Case]] = {}
    for one in suspects:
        passages = tuple(replace(each, annotator=None) for each in by_id[one.query_id].facts[one.fact].passages)
        placed = tuple(each for each in passages if each.start is not None)
        grade = max(each.grade for each in placed)
        other = Passage(one.other_text, one.other_doc, one.other_start, one.other_end, grade=grade)
        found.setdefault(one.query_id, []).append(Case(one, placed, other))
    return {query_id: tuple(cases) for query_id, cases in found.items()}


def verdict_of(query: Query, case: Case) -> Verdict | None:
    """Return what the labels of a query say of a case; None while nothing was decided about the other passage."""
    number = _fact_of(query, case.passages)
    label = number is not None
    known = range(len(query.facts)) if number is None else (number,)
    if any(_is_among(case.other, query.facts[each].passages) for each in known):
        return Verdict(label, other=True)
    return Verdict(label, other=False) if _is_among(case.other, query.judged_irrelevant) else None


def decide(query: Query, case: Case, verdict: Verdict) -> Query:
    """Return the query with a decision about a suspected label in its labels.

    What is evidence is in the fact, and what is not is among the passages judged irrelevant. A fact of which nothing is
    left is removed.

    Args:
        query: with its labels.
        case: the suspected label.
        verdict: what was decided.

    Raises:
        ConfigurationError: the question is marked as one without an answer; or the other passage is to be no evidence,
            and is evidence of another fact.
    """
    if not query.answerable:
        raise ConfigurationError(
            "the question: found it marked as one without an answer; expected one with an answer: mark it as "
            "answerable first"
        )
    number = _fact_of(query, case.passages)
    if number is None:
        number = _fact_of(query, (case.other,))
    elsewhere = [
        place for place, fact in enumerate(query.facts) if place != number and _is_among(case.other, fact.passages)
    ]
    if elsewhere and not verdict.other:
        raise ConfigurationError(
            f"the other passage: found it among the evidence of fact {elsewhere[0] + 1}; expected it nowhere if it "
            "does not help: remove it there first"
        )
    decided = (*case.passages, case.other)
    kept = () if number is None else query.facts[number].passages
    passages = (
        *(case.passages if verdict.label else ()),
        *(one for one in kept if not _is_among(one, decided)),
        *((case.other,) if verdict.other else ()),
    )
    facts = list(query.facts)
    if number is None:
        facts += [Fact(passages)] if passages else []
    else:
        facts[number : number + 1] = [replace(facts[number], passages=passages)] if passages else []
    wrong = (*(() if verdict.label else case.passages), *(() if verdict.other else (case.other,)))
    known = [one for fact in facts for one in fact.passages]
    irrelevant = (
        *(one for one in query.judged_irrelevant if not _is_among(one, decided)),
        *(replace(one, grade=0, partial=False) for one in wrong if not _is_among(one, known)),
    )
    return replace(query, facts=tuple(facts), judged_irrelevant=irrelevant)


def described(query: Query, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Return the cases of a query as the page reads them."""
    found = []
    for case in cases:
        verdict, number = verdict_of(query, case), _fact_of(query, case.passages)
        found.append(
            {
                "kind": case.suspect.kind,
                "why": SUSPECT_KINDS[case.suspect.kind],
                "evidence": case.suspect.evidence,
                "ranks": list(case.suspect.ranks.items()),
                "fact": number,
                "label": [_shown(one) for one in case.passages],
                "other": _shown(case.other),
                "verdict": None if verdict is None else {"label": verdict.label, "other": verdict.other},
            }
        )
    return found


def _shown(passage: Passage) -> dict[str, Any]:
    return {"document": passage.doc_id, "start": passage.start, "end": passage.end, "text": passage.text}


def _fact_of(query: Query, passages: Sequence[Passage]) -> int | None:
    """Return which fact of a query has one of some passages; the first of several."""
    numbers = (
        number
        for number, fact in enumerate(query.facts)
        if any(_is_among(passage, fact.passages) for passage in passages)
    )
    return next(numbers, None)


def _is_among(passage: Passage, others: Sequence[Passage]) -> bool:
    return any(same_place(passage, other) for other in others)
