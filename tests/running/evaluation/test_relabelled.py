"""rescore(labels=): a run under other labels of its queries."""

from dataclasses import replace

import numpy as np
import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore
from raglift.testing.fakes import FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage

METRICS = {"metrics": ("rr", "recall"), "ks": (1, 3)}


def moved(evaluation, number=0, text="nothing to the point, line 2"):
    """Return the evaluation's dataset with another fact for one query."""
    queries = list(evaluation.dataset.queries)
    queries[number] = replace(queries[number], facts=(Fact((Passage(text),)),))
    return Dataset(tuple(queries), name="theirs")


def test_a_run_under_other_labels_has_the_scores_of_an_evaluation_with_them(ranked):
    first = ranked([2, 1, None])
    labels = moved(first)
    again = rescore(first, labels=labels, **METRICS)
    table = {
        query.text: [hit.chunk for hit in trace.stages[0].ranking]
        for query, trace in zip(labels, first.run.traces, strict=True)
    }
    direct = evaluate(FakeRetriever(table), labels, depth="deep", candidates=6, **METRICS)
    np.testing.assert_array_equal(again.scores.values, direct.scores.values)
    assert (
        again.scores.of("retrieve", "rr@3").tolist()
        == pytest.approx([1 / 3, 1, 0])
        != first.scores.of("retrieve", "rr@3").tolist()
    )
    assert again.dataset.queries == labels.queries
    assert again.dataset.name == "stones (labels: theirs)"
    assert again.run.spec["dataset"]["hash"] == direct.run.spec["dataset"]["hash"]
    assert first.dataset.name == "stones"  # the first is as it was


def test_compare_refuses_to_mix_labels(ranked):
    first = ranked([2, 1, None])
    again = rescore(first, labels=moved(first), **METRICS)
    with pytest.raises(ConfigurationError, match="the labels of 1 question differ"):
        rl.compare({"old": first, "new": again})
    assert rl.compare({"a": again, "b": rescore(ranked([1, 1, 1]), labels=moved(first), **METRICS)}).notes == ()


def test_documents_are_not_said_to_differ_where_a_rescored_run_may_hold_none(ranked):
    first = ranked([2, 1, None])
    labels = moved(first)
    held = replace(labels, documents=(Document("d", "text"),))
    again = rescore(first, labels=held, **METRICS)
    assert again.dataset.documents == held.documents
    assert rl.compare({"a": again, "b": rescore(first, labels=labels, **METRICS)}).notes == ()


def test_queries_that_only_one_side_has_are_counted(ranked):
    first = ranked([1, 1, 1])
    some = [first.dataset.queries[0], replace(first.dataset.queries[1], id="other", text="Other?")]
    again = rescore(first, labels=some, **METRICS)
    assert again.scores.n("retrieve", "rr@1") == 1
    assert [query.is_labelled for query in again.dataset] == [True, False, False]
    assert "2 questions of the run not among the labels: unlabelled" in again.notes
    assert "1 question of the labels not in the run: ignored" in again.notes
    assert again.dataset.name == "stones (labels: other labels)"


def test_labels_are_replaced_and_not_piled_up(ranked, tmp_path):
    first = ranked([1, 1, 1])
    fewer = rescore(first, labels=first.dataset.queries[:1], **METRICS)
    saved = rl.load_evaluation(fewer.save(tmp_path / "fewer"))
    assert rescore(saved, **METRICS).notes == fewer.notes
    back = rescore(saved, labels=first.dataset, **METRICS)
    assert back.notes == first.notes
    assert back.dataset.name == "stones (labels: stones)"
    np.testing.assert_array_equal(back.scores.values, first.scores.values)


def test_what_the_chunks_allow_is_known_only_while_no_fact_changes(ranked):
    first = ranked([2, None], chunks=["nothing to the point, line 2"])
    assert first.failure_analysis().chunks_known
    assert rescore(first, labels=list(first.dataset), **METRICS).failure_analysis().chunks_known
    again = rescore(first, labels=moved(first), **METRICS)
    assert not again.failure_analysis().chunks_known
    with pytest.raises(ConfigurationError, match="does not list its chunks"):
        rescore(first, labels=moved(first), metrics=("span_precision_omega",))


def test_labels_of_other_queries_are_refused_by_name(ranked):
    first = ranked([1, 1])
    one, two = first.dataset.queries
    for labels, message in (
        ([replace(one, text="Another question?"), two], "another text under the id: q0000"),
        ([one, one], "an id more than once: q0000"),
        ([replace(one, id="x")], r"none of the run's questions \(x, …\)"),
        ([], r"none of the run's questions \(no question\)"),
        ("labels.jsonl", "found a str"),
        (["q0000"], "found a list"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            rescore(first, labels=labels, **METRICS)
