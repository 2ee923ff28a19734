"""Who is paired with whom: queries by id, with the same text and labels."""

import dataclasses

import pytest

from raglift.errors import ConfigurationError
from raglift.metrics.rank_measures import RR
from raglift.results.comparison import compare
from raglift.results.evaluation import load_evaluation
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore
from raglift.testing.fakes import FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Annotator, Fact, Passage, Query

TEXTS = {f"q{number}": f"the answer to question {number} is long enough" for number in range(5)}


def query(key, text=None, **changed):
    return dataclasses.replace(Query(key, f"What is {key}?", (Fact((Passage(text or TEXTS[key]),)),)), **changed)


def measured(*queries, documents=()):
    table = {one.text: ["nothing to the point", *([TEXTS[one.id]] if one.id in TEXTS else [])] for one in queries}
    return evaluate(FakeRetriever(table), Dataset(queries, documents), metrics=["rr"], ks=(3,))


def test_queries_are_paired_by_id_whatever_their_order():
    first = measured(query("q0"), query("q1", text="a text that is never found at all"), query("q2"))
    second = measured(query("q2"), query("q0"), query("q1", text="a text that is never found at all"))
    comparison = compare([first, second], primary="rr@3")
    assert comparison.query_ids == ("q0", "q1", "q2")
    (_, row) = comparison.of(RR @ 3)
    assert (row.difference.wins, row.difference.ties, row.difference.losses) == (0, 3, 0)
    assert comparison.notes == ()


def test_a_subset_is_compared_on_what_all_share_and_says_so():
    whole = measured(*map(query, TEXTS))
    part = measured(query("q3"), query("q1"))
    other = measured(query("q1"), query("q3"), query("q4"))
    comparison = compare({"whole": whole, "part": part, "other": other}, primary="rr@3")
    assert comparison.query_ids == ("q1", "q3")
    assert comparison.row("whole").n == comparison.row("part").n == 2
    assert comparison.notes == (
        "part was not asked 3 questions of whole: q0, q2, q4",
        "other was not asked 2 questions of whole: q0, q2",
        "compared on the 2 questions that all systems answered",
    )
    turned = compare({"part": part, "whole": whole}, primary="rr@3")
    assert turned.query_ids == ("q3", "q1")
    assert turned.notes == (
        "part was not asked 3 questions of whole: q0, q2, q4",
        "compared on the 2 questions that all systems answered",
    )


def test_no_query_that_all_share():
    systems = {
        "a": measured(query("q0"), query("q1")),
        "b": measured(query("q0")),
        "c": measured(query("q1")),
    }
    with pytest.raises(ConfigurationError, match="found no question that all systems answered"):
        compare(systems, primary="rr@3")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            query("q1", text="another answer that is long enough"),
            "the labels of 1 question differ between 'a' and 'b': f",
        ),
        (query("q1", answerable=False), "the labels of 1 question differ between 'a' and 'b': found q1"),
        (query("q1", facts=()), "the labels of 1 question differ"),
        (query("q1", text="What was it?"), "the labels of 1 question"),
        (dataclasses.replace(query("q1"), text="What was q1?"), "the text of 1 question differs between 'a' and 'b'"),
    ],
)
def test_changed_labels_are_no_fair_pair(changed, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        compare({"a": measured(query("q0"), query("q1")), "b": measured(query("q0"), changed)}, primary="rr@3")
    assert "labels by people" not in str(caught.value)  # of both, so that it would tell nothing


def test_other_tags_and_other_documents_are_noted():
    first = measured(query("q0", tags=("easy",)))
    tagged = measured(query("q0", tags=("hard",)))
    assert compare({"a": first, "b": tagged}, primary="rr@3").notes == (
        "tags differ between a and b: those of a are used",
    )
    documents = measured(query("q0", tags=("easy",)), documents=(Document("d", "another text altogether"),))
    assert compare({"a": first, "b": documents}, primary="rr@3").notes == (
        "the documents of the dataset differ between a and b; questions and labels do not",
    )


def test_labels_of_another_version_of_the_documents_lead_to_the_update_of_labels(tmp_path):
    old, new = (Document("d", f"{words} {TEXTS['q0']}") for words in ("Once", "Now"))
    places = [Passage(TEXTS["q0"], "d", len(words), len(words) + len(TEXTS["q0"])) for words in ("Once ", "Now ")]
    first, second = (query("q0", facts=(Fact((place,)),)) for place in places)
    runs = {"a": measured(first, documents=(old,)), "b": measured(second, documents=(new,))}
    saved = {name: load_evaluation(run.save(tmp_path / name)) for name, run in runs.items()}
    for systems in (runs, saved):
        with pytest.raises(ConfigurationError, match="the labels of 1 question differ") as caught:
            compare(systems, primary="rr@3")
        assert "raglift labels update OLD NEW" in str(caught.value)
        assert "--runs BEFORE AFTER" in str(caught.value)
    # Over the same documents, or unknown ones, it is no matter of versions
    corrected = measured(query("q0", text="Once the answer"), documents=(old,))
    for other in (corrected, measured(query("q0", text="Once the answer"))):
        with pytest.raises(ConfigurationError) as caught:
            compare({"a": runs["a"], "b": other}, primary="rr@3")
        assert "labels update" not in str(caught.value)


def test_a_run_over_other_documents_is_noted_also_where_it_was_scored_again():
    old, new = (measured(query("q0"), documents=(Document("d", words),)) for words in ("once", "now"))
    again = rescore(old, labels=new.dataset, metrics=["rr"], ks=[3])
    (note,) = compare({"a": again, "b": new}, primary="rr@3").notes
    assert note == "the documents of the dataset differ between a and b; questions and labels do not"
    assert (
        compare({"a": rescore(new, labels=new.dataset, metrics=["rr"], ks=[3]), "b": new}, primary="rr@3").notes == ()
    )


def test_questions_that_updated_labels_lack_are_left_out():
    whole = measured(query("q0"), query("q1"), documents=(Document("d", "once"),))
    waiting = measured(query("q0"), documents=(Document("d", "now"),))
    comparison = compare({"a": whole, "b": waiting}, primary="rr@3")
    assert comparison.query_ids == ("q0",)
    assert "the documents of the dataset differ between a and b" in comparison.notes


JUDGE = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")


def judged(key, annotator=JUDGE, **changed):
    return query(key, **{"facts": (Fact((Passage(TEXTS[key], annotator=annotator),)),)} | changed)


def test_the_same_labels_of_another_judge_are_compared_and_noted():
    comparison = compare({"a": measured(query("q0")), "b": measured(judged("q0"))}, primary="rr@3")
    assert comparison.notes == (
        (
            "the labels are the same, but not who gave them: 'a': labels by people; "
            "'b': labels: 1 passage judged by openai:gpt-4o-mini (relevance@3f9a1c07)"
        ),
    )
    later = judged("q0", dataclasses.replace(JUDGE, date="2026-11-22"))
    assert compare([measured(judged("q0")), measured(later)], primary="rr@3").notes == ()


def test_other_labels_of_another_judge_are_refused_by_name():
    other = judged("q0", facts=(Fact((Passage("something else altogether", annotator=JUDGE),)),))
    with pytest.raises(ConfigurationError, match=r"labels of 1 question differ") as caught:
        compare({"a": measured(query("q0")), "b": measured(other)}, primary="rr@3")
    assert "('a': labels by people; 'b': labels: 1 passage judged by openai:gpt-4o-mini" in str(caught.value)


def test_evaluations_without_a_query_in_common_are_of_different_datasets():
    with pytest.raises(ConfigurationError, match=r"'a' and 'b' share no query id: found .*q0.* and .*q1.*; expected"):
        compare({"a": measured(query("q0")), "b": measured(query("q1"))}, primary="rr@3")


def test_other_judgements_of_what_is_irrelevant_are_noted():
    wrong = (Passage("nothing to the point", grade=0),)
    first, second = measured(query("q0")), measured(query("q0", judged_irrelevant=wrong))
    found = compare({"a": first, "b": second}, primary="rr@3")
    assert "what was judged irrelevant differs between a and b: do not compare their Judged@k" in found.notes
