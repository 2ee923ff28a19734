"""Labels about texts as ids of chunks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import raglift as rl
from raglift.matching.match import inventory_of
from raglift.matching.rule import MatchRule
from raglift.results.evaluation import Evaluation
from raglift.storage.rankings.export_labels import IdLabels, labels_of
from raglift.testing.fakes import FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Inventory

LAMP = "The lamp was lit at dusk by the keeper."
FOG = "The fog came in from the open sea at night."
TEXT = f"{LAMP} {FOG}"
SAYS_LAMP, SAYS_FOG = Chunk(LAMP, id="lamp"), Chunk(FOG, id="fog")
SAYS_BOTH, SAYS_NOTHING = Chunk(TEXT, id="both"), Chunk("The boat lies at the pier.", id="boat")


def fact(*passages: str | tuple[str, int]) -> Fact:
    return Fact(tuple(Passage(each) if isinstance(each, str) else Passage(each[0], grade=each[1]) for each in passages))


def evaluated(
    facts: list[Fact], hits: list[Chunk], *, irrelevant: tuple[Passage, ...] = (), **options: Any
) -> Evaluation:
    query = Query("q1", "Who?", tuple(facts), judged_irrelevant=irrelevant)
    return rl.evaluate(FakeRetriever({"Who?": hits}), Dataset((query,)), depth="deep", candidates=9, ks=(3,), **options)


def exported(facts: list[Fact], hits: list[Chunk], **options: Any) -> IdLabels:
    return labels_of(evaluated(facts, hits, **options))


def test_a_text_becomes_the_ids_of_all_chunks_that_hold_it_with_the_highest_grade() -> None:
    labels = exported([fact((LAMP, 2)), fact((FOG, 3))], [SAYS_LAMP, SAYS_NOTHING, SAYS_BOTH])
    assert labels.grades == {"q1": {"lamp": 2, "both": 3}}
    assert labels.differing == ("q1",)


def test_facts_and_ids_that_go_one_to_one_differ_in_nothing() -> None:
    labels = exported([fact((LAMP, 2)), fact(FOG)], [SAYS_FOG, SAYS_NOTHING, SAYS_LAMP])
    assert labels.grades == {"q1": {"lamp": 2, "fog": 1}}
    assert (labels.differing, labels.unfound) == ((), 0)
    assert labels.of_this_run


def test_a_fact_that_no_known_chunk_proves_has_an_id_of_its_own_with_its_ideal_grade() -> None:
    labels = exported([fact(LAMP), fact((FOG, 1), ("The sea is calm today.", 3))], [SAYS_LAMP])
    assert labels.grades == {"q1": {"lamp": 1, "raglift-unfound:q1:2": 3}}
    assert (labels.unfound, labels.differing) == (1, ())


def test_a_worse_alternative_alone_makes_the_ideal_poorer() -> None:
    labels = exported([fact((LAMP, 1), (FOG, 3))], [SAYS_LAMP])
    assert labels.grades == {"q1": {"lamp": 1}}
    assert labels.differing


def test_what_was_judged_irrelevant_has_the_grade_0_unless_it_proves_something() -> None:
    unwanted = (Passage(SAYS_NOTHING.text), Passage(FOG), Passage(chunk_id="x7"))
    labels = exported([fact(FOG)], [SAYS_NOTHING, SAYS_FOG], irrelevant=unwanted)
    assert labels.grades == {"q1": {"fog": 1, "x7": 0, "boat": 0}}
    assert labels.irrelevant == 2


def test_ids_that_labels_name_are_told_of_whether_or_not_they_came_back() -> None:
    either = Fact((Passage(chunk_id="a", grade=2), Passage(chunk_id="b")))
    labels = exported([either, Fact((Passage(chunk_id="c"),))], [Chunk("x", id="a")])
    assert labels.grades == {"q1": {"a": 2, "b": 1, "c": 1}}
    assert not labels.of_this_run
    assert labels.differing


def test_chunks_of_the_index_count_that_never_came_back() -> None:
    evaluation = evaluated([fact(LAMP), fact(FOG)], [SAYS_NOTHING])
    assert labels_of(evaluation).unfound == 2
    chunks = [Chunk(LAMP, id="l", doc_id="d", start=0, end=len(LAMP)), Chunk("The rest of it is here.", id="r")]
    inventory = inventory_of(evaluation.dataset.queries, chunks, [Document("d", TEXT)], MatchRule())
    labels = labels_of(replace(evaluation, run=replace(evaluation.run, inventory=inventory)))
    assert labels.grades == {"q1": {"l": 1, "raglift-unfound:q1:2": 1}}
    assert not labels.of_this_run
    assert labels_of(replace(evaluation, run=replace(evaluation.run, inventory=Inventory(2)))).unfound == 2


def test_queries_without_labels_are_left_out() -> None:
    labels = labels_of(
        rl.evaluate(
            FakeRetriever({}),
            Dataset((Query("q1", "?"), Query("q2", "??", (fact(LAMP),), answerable=False))),
            ks=(1,),
        )
    )
    assert (labels.grades, labels.unlabelled) == ({}, ("q1", "q2"))


def test_by_coverage_what_proves_a_fact_alone_stands_for_it() -> None:
    most, rest = Chunk(TEXT[:60], id="most"), Chunk(TEXT[55:], id="rest")
    labels = exported([fact(TEXT)], [most, rest], match="coverage")
    assert labels.grades == {"q1": {"most": 1}}
    assert labels.differing


def test_by_coverage_what_proves_a_fact_only_together_stands_for_it_together() -> None:
    parts = [Chunk(TEXT[start : start + 28], id=f"p{start}") for start in (0, 28, 56)]
    rule = MatchRule("coverage", threshold=0.9)
    labels = exported([fact((TEXT, 2))], parts, match=rule)
    assert labels.grades == {"q1": {"p0": 2, "p28": 2, "p56": 2}}
    assert labels.differing
    labels = exported([fact((TEXT, 2))], parts[:2], match=rule)
    assert labels.grades == {"q1": {"raglift-unfound:q1:1": 2}}
    assert labels.differing


def test_by_coverage_a_small_part_that_is_enough_is_no_relevant_hit_here() -> None:
    """It covers fewer than 20 characters: Precision does not count it, though it proves the fact."""
    text = "It was in July, 1805, at noon."
    passage = Passage(text, doc_id="d", start=0, end=len(text))
    hit = Chunk(text[:18], id="a", doc_id="d", start=0, end=18)
    labels = exported([Fact((passage,))], [hit], match="coverage")
    assert labels.grades == {"q1": {"a": 1}}
    assert labels.differing


def test_ids_that_recur_are_told() -> None:
    labels = exported([fact(LAMP)], [SAYS_LAMP, SAYS_NOTHING, Chunk("Something else.", id="boat")])
    assert labels.differing
    labels = exported([fact(LAMP)], [SAYS_LAMP, Chunk("Something else.", id="lamp")])
    assert labels.differing
