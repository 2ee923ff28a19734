"""Diagnoses as text: what a reader sees, and that untrusted text stays on its line."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from raglift.analysis import Explanation, FailureAnalysis
from raglift.analysis.explanation import ExplainedHit, Overlap
from raglift.analysis.outcomes import OutcomeFacts
from raglift.metrics import RR, ContextTokens, Recall, tokens
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Hit


def breakdown(*losses: OutcomeFacts, facts: int, made: tuple[OutcomeFacts, ...] = ()) -> FailureAnalysis:
    return FailureAnalysis(5, facts, losses, made, chunks_known=True)


def explanation(query: Query, *hits: ExplainedHit, error: str | None = None) -> Explanation:
    return Explanation(query, "rerank", "containment", error, (RR @ 5, Recall @ 5), (0.5, math.nan), hits)


QUERY = Query(
    "q", "Who kept the light?", (Fact((Passage("the keeper " * 9, "tower", 3, 102), Passage(chunk_id="c9"))),)
)


def test_ends_are_lined_up_with_shares_and_queries_and_empty_ones_are_left_out() -> None:
    text = str(
        breakdown(
            OutcomeFacts("failed", None, 0, ()),
            OutcomeFacts("found", None, 1500, ("a",)),
            OutcomeFacts("below_k", None, 0, ()),
            OutcomeFacts("dropped", "rerank", 400, ("a", "b", "c", "d", "e")),
            OutcomeFacts("not_attainable", None, 100, ("f",)),
            facts=2000,
        )
    )
    first = "1,500 of 2,000 facts (75%) are found in the top 5; most of the rest (400) are dropped by rerank."
    assert text.splitlines()[2] == first
    rows = [re.split(" {2,}", line.strip()) for line in text.splitlines()[6:]]
    assert rows == [
        ["found by rank 5", "1,500", "75.0%", "1"],
        ["dropped by rerank", "400", "20.0%", "5", "a, b, c"],
        ["lost in chunking", "100", "5.0%", "1", "f"],
    ]


def test_what_a_later_stage_made_findable_is_said_below() -> None:
    made = (OutcomeFacts("made_findable", "expand", 2, ("a", "b")),)
    text = str(breakdown(OutcomeFacts("found", None, 2, ("a", "b")), facts=2, made=made))
    assert text.splitlines()[-1] == "- 2 facts of these only since expand, no candidate held them: a, b."


def test_an_explanation_names_the_facts_the_hits_and_the_values() -> None:
    overlaps = (
        Overlap(1, 1, 2, "chunk contains passage", 0, 99, 99, counts=True, satisfies=True, share=1.0),
        Overlap(1, 2, 1, "same id", 0, 0, 0, counts=True, satisfies=False, share=0.0),
    )
    found = ExplainedHit(Hit(Chunk("so the\nkeeper…", doc_id="tower", start=3, end=105), 2, 0.25), overlaps, (0.5, 0.0))
    other = ExplainedHit(Hit(Chunk("else"), 1), (), (0.0, 0.0))
    lines = str(explanation(QUERY, other, found)).splitlines()
    assert lines == [
        "q: Who kept the light?",
        "stage rerank, match by containment",
        "",
        "1 of 2 hits matches a label.",
        "",
        "metric     k = 5",
        "────────────────",
        "RR         0.500",
        "Recall  left out",
        "",
        "What the answer needs",
        "  fact 1: tower 3–102 “the keeper the keeper the keeper the keeper the keeper the …” (grade 1)",
        "    or chunk c9 (grade 1)",
        "",
        "Hits that match a label",
        "  rank 2: tower 3–105, score 0.2500 “so the keeper…”",
        "    fact 1: chunk contains passage, characters 0–99 of 99 (100%) → satisfied, grade 2",
        "    fact 1, alternative 2: same id",
        "    earned: RR@5 +0.500",
    ]


def test_where_no_hit_matches_the_first_ones_are_named_with_their_ids_if_labels_are_ids() -> None:
    hits = [ExplainedHit(Hit(Chunk(f"text {n}", id=f"C{n}", doc_id="tower"), n), (), (0.0, 0.0)) for n in range(1, 9)]
    lines = str(explanation(QUERY, *hits)).splitlines()
    named = [line for line in lines if line.startswith("  rank ")]
    assert named == [f"  rank {n}: tower “text {n}”, id C{n}" for n in range(1, 6)]
    by_text = replace(QUERY, facts=(Fact((Passage("the keeper", "tower", 3, 13),)),))
    assert "id C1" not in str(explanation(by_text, *hits))


def test_the_metrics_of_one_measure_share_a_line_where_there_are_many() -> None:
    metrics = (RR @ 1, RR @ 5, Recall @ 1, Recall @ 5, Recall @ tokens(100), ContextTokens @ 5)
    overlap = Overlap(1, 1, 2, "chunk contains passage", 0, 99, 99, counts=True, satisfies=True, share=1.0)
    found = ExplainedHit(Hit(Chunk("so"), 2), (overlap,), (0.0, 0.5, 0.0, 1.0, 1.0, 1200.0))
    nothing = ExplainedHit(Hit(Chunk("or"), 3), (overlap,), (0.0,) * 6)
    values = (0.0, 0.5, math.nan, 1.0, 1.0, 1200.0)
    text = str(Explanation(QUERY, "rerank", "containment", None, metrics, values, (found, nothing)))
    lines = text.splitlines()
    first = lines.index("    earned:")
    assert lines[first + 1 : first + 4] == [
        "      RR@5 +0.500",
        "      Recall@5 +1.000, @tokens(100) +1.000",
        "      cost: ContextTokens@5 +1,200",
    ]
    assert "    earned: nothing" in lines
    rows = [line.split() for line in lines[lines.index("") + 3 :][:6]]
    assert rows[0] == ["metric", "k", "=", "1", "k", "=", "5", "tokens(100)"]
    assert rows[2:5] == [
        ["RR", "0.000", "0.500"],
        ["Recall", "left", "out", "1.000", "1.000"],
        ["ContextTokens", "1,200"],
    ]


def test_control_characters_of_questions_chunks_and_errors_do_not_reach_the_terminal() -> None:
    query = Query("q\x1b[2J", "Who?\x1b[31m", (Fact((Passage("a\x1b]0;b\x07"),)),))
    overlap = Overlap(1, 1, 1, "same id", 0, 0, 0, counts=True, satisfies=True, share=0.0)
    hit = ExplainedHit(Hit(Chunk("\x9b31m text", doc_id="d\x1b"), 1), (overlap,), (0.0, 0.0))
    text = str(explanation(query, hit, error="no \x1b[0m index"))
    losses = str(breakdown(OutcomeFacts("dropped", "re\x1brank", 1, ("q\x1b",)), facts=1))
    assert not {"\x1b", "\x07", "\x9b"} & set(text + losses)


def test_queries_without_labels_are_told_from_those_without_an_answer() -> None:
    assert "! The question is excluded from all averages: it has no labels that count." in str(
        explanation(Query("q", "?"))
    )
    assert "not answerable" in str(explanation(Query("q", "?", answerable=False)))
