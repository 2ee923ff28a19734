"""Metrics under every profile as text, Markdown and HTML, with untrusted text escaped."""

from __future__ import annotations

from raglift.metrics.profiles.registry import PROFILES
from raglift.records.dataset import Dataset
from raglift.records.documents import Chunk
from raglift.records.labels import Fact, Passage, Query
from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeRetriever


def evaluated(wanted: str, found: str, *, names: dict[str, str] | None = None, **options: object) -> Evaluation:
    names = names or {}
    facts = tuple(Fact((Passage(chunk_id=names.get(one, one)),)) for one in wanted)
    hits = [Chunk(f"text of {one}", id=names.get(one, one)) for one in found]
    query = Query("q", "which?", facts)
    return evaluate(FakeRetriever({"which?": hits}), Dataset((query,)), **{"ks": (5,), **options})  # type: ignore[arg-type]


def test_the_ranking_is_compact_and_says_what_each_hit_is_for() -> None:
    lines = str(evaluated("AC", "AXYZWAB", ks=(10,)).explain_metrics("q")).splitlines()
    first = lines.index("The ranking")
    assert lines[first + 1 : first + 7] == [
        "  fact 1: chunk A (grade 1), found at rank 1",
        "  fact 2: chunk C (grade 1), not found",
        "  rank 1: A  fact 1",
        "  ranks 2–5: X, Y, Z, …  not relevant",
        "  rank 6: A  fact 1 (again)",
        "  rank 7: B  not relevant",
    ]


def test_many_facts_are_counted() -> None:
    text = str(evaluated("ABCDEFGHIJ", "AJX", ks=(10,)).explain_metrics("q"))
    assert "  fact 8: chunk H (grade 1), not found\n  and 2 more facts, 1 of them found\n" in text


def test_values_that_agree_are_in_one_line_and_the_others_in_a_table() -> None:
    text = str(evaluated("A", "A").explain_metrics("q", metrics=["rr@5", "precision@5", "ndcg@5"]))
    assert "- All profiles agree on RR@5 1.0000, NDCG@5 1.0000." in text
    (row,) = [line.split() for line in text.splitlines() if line.startswith("Precision@5 ")]
    assert row == ["Precision@5", "0.2000", "=", "1.0000", "=", "1.0000", "1.0000"]


def test_what_cannot_be_scored_agrees_on_no_figure() -> None:
    text = str(evaluated("A", "A").explain_metrics("q", metrics=["rr@5", "span_recall@5"]))
    assert "- All profiles agree on RR@5 1.0000.\n- No profile has a value of SpanRecall@5 for this query." in text


def test_depths_with_one_reason_share_a_text_with_the_numbers_of_the_deepest() -> None:
    text = str(evaluated("ABC", "AXB", metrics=["ap"], ks=(1, 3, 5)).explain_metrics("q"))
    said = " ".join(text.split())
    assert "AP@5, by default: (1/1 + 2/3) / 3 facts = 0.5556" in said
    assert said.count("ragas: Divides by the relevant hits that came back") == 1
    assert "Here: (1/1 + 2/3) / 2 relevant hits that came back = 0.8333." in said
    assert "autorag (@3, @5): Each group" in said


def test_a_depth_above_the_deepest_brings_its_own_default() -> None:
    text = " ".join(str(evaluated("A", "ABXYZ", metrics=["precision"], ks=(5, 6)).explain_metrics("q")).split())
    assert "Precision@6, by default: 1 relevant hit / 6 (k) = 0.1667" in text
    assert "ragas (@6): " in text


def test_markdown_and_html_say_the_same_and_nothing_in_them_is_markup() -> None:
    names = {"A": "<b>[x](http://y)|"}
    found = evaluated("AB", "AX", names=names).explain_metrics()
    markdown, page = found.to_markdown(), found._repr_html_()
    for said in (PROFILES["ragas"].differences["precision"], "not relevant", "1 relevant hit / 5", "llamaindex"):
        assert said in markdown
        assert said in page
    assert "<b>" not in markdown + page
    assert "[x](http" not in markdown
    assert "Chosen: of 1 labelled query" in str(found)


def test_control_characters_of_ids_stay_on_their_line() -> None:
    text = str(evaluated("A", "A", names={"A": "a\nb\x1b[31m"}).explain_metrics("q"))
    assert "\x1b" not in text
    assert "rank 1: a" in text
