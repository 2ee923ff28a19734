"""Evaluations as text: the table, the notes, and texts that would rather be markup."""

import dataclasses
import io
import re

import numpy as np
import pytest
from rich.console import Console

from raglift.metrics.computing import Scores
from raglift.metrics.parsing import as_metric
from raglift.records.dataset import Dataset
from raglift.records.documents import Chunk
from raglift.records.labels import Fact, Passage, Query
from raglift.records.rankings import Run, StageInfo, StageTrace, Trace
from raglift.report.terminal.evaluation import evaluation_text, print_evaluation
from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeReranker, FakeRetriever

ROWLOCK = "the rowlock is made of bronze"
KEEPER = "the keeper was called Halvard"
DATA = Dataset(
    (
        Query("boat", "What is the boat made of?", (Fact((Passage(ROWLOCK),)),)),
        Query("keeper", "Who kept the light?", (Fact((Passage(KEEPER),)),)),
        Query("depth", "How deep is it?"),
    ),
    name="island",
)
RESULTS = {
    "What is the boat made of?": ["x", f"so {ROWLOCK}", "y"],
    "Who kept the light?": [f"so {KEEPER}", "z", "w"],
    "How deep is it?": ["x", "y", "z"],
}


@pytest.fixture
def evaluation():
    """Two labelled queries and one without labels; the reranker keeps two hits and moves the boat's up."""
    reranker = FakeReranker({f"so {ROWLOCK}": 1.0}, top_n=2)
    return evaluate(FakeRetriever(RESULTS), DATA, reranker=reranker, ks=(1, 3), candidates=5, metrics=["mrr", "recall"])


GOLDEN = """\
island: 3 queries, 5 candidates, match by containment
  retrieve: fake (3 queries)
  rerank: fake (1 texts)
metric     before (retrieve)   after (rerank)      lift   n
───────────────────────────────────────────────────────────
MRR@1                 0.5000           1.0000   +0.5000   2
MRR@3                 0.7500          1.0000†         –   2

Recall@1              0.5000           1.0000   +0.5000   2
Recall@3              1.0000          1.0000†         –   2
Lift in MRR@1 +0.500 [-1.000, +1.000], p 1.0000 (n = 2); more: print(evaluation.reranker_lift())

MRR over k, 1 to 5
  retrieve  0.5000 ▁▅▅▅▅ 0.7500
  rerank    1.0000 ██ 1.0000 at 2

Where recall was lost, at k = 3: 2 facts
  found by rank 3       2  100.0 %
A perfect reranker over the same candidates: Recall@3 1.0000, NDCG@3 1.0000

! 1 query without labels and left out of every mean
! rerank: returned at most 2 hits: no fair lift at a deeper k
† k is deeper than the stage returned"""


def shown(evaluation, **settings):
    console = Console(file=io.StringIO(), **settings)
    print_evaluation(evaluation, console)
    return console.file.getvalue()


def test_the_text_of_an_evaluation(evaluation):
    assert evaluation_text(evaluation) == GOLDEN
    assert str(evaluation) == GOLDEN


def test_piped_it_is_the_same_plain_text(evaluation):
    piped = shown(evaluation)
    assert "\x1b" not in piped
    assert [line.rstrip() for line in piped.splitlines()] == GOLDEN.splitlines()


def test_in_a_notebook_the_text_is_returned_and_not_displayed(evaluation, monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert str(evaluation) == GOLDEN


@pytest.mark.parametrize("name", ["FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM"])
def test_the_text_has_no_colours_whatever_the_terminal(evaluation, monkeypatch, name):
    monkeypatch.setenv(name, "1")
    assert str(evaluation) == GOLDEN


def test_on_a_terminal_a_gain_and_a_loss_have_different_colours():
    results = {**RESULTS, "Who kept the light?": [f"so {KEEPER}", "z"]}
    colours = []
    for moved, lift in ((f"so {ROWLOCK}", "+"), ("z", "-")):
        evaluation = evaluate(
            FakeRetriever(results), DATA, reranker=FakeReranker({moved: 1.0}), ks=(1,), metrics=["mrr"]
        )
        told = shown(evaluation, force_terminal=True, color_system="256", width=120)
        (colour,) = re.findall(rf"\x1b\[1;([\d;]+)m\{lift}0\.5000\x1b\[0m", told)
        colours.append(colour)
    assert len(set(colours)) == 2


def test_no_color_is_respected(evaluation, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    told = shown(evaluation, force_terminal=True, width=120)
    assert not re.search(r"\x1b\[[\d;]*3\d", told)
    assert "+0.5000" in told


def test_a_loss_is_shown_with_its_sign():
    results = {**RESULTS, "Who kept the light?": [f"so {KEEPER}", "z"]}
    reranker = FakeReranker({"z": 2.0, "x": 2.0})
    evaluation = evaluate(FakeRetriever(results), DATA, reranker=reranker, ks=(1,), metrics=["mrr"])
    assert "-0.5000" in str(evaluation)


def test_one_stage_has_no_lift_column():
    text = str(evaluate(FakeRetriever(RESULTS), DATA, ks=(1,), metrics=["mrr"]))
    assert text.splitlines()[2].split() == ["metric", "retrieve", "n"]
    assert "lift" not in text
    assert "before" not in text


def test_three_stages_have_a_column_each():
    rerankers = [FakeReranker({}), FakeReranker({f"so {ROWLOCK}": 1.0})]
    text = str(evaluate(FakeRetriever(RESULTS), DATA, reranker=rerankers, ks=(1,), metrics=["mrr"]))
    assert re.split(" {2,}", text.splitlines()[4]) == [
        "metric",
        "before (retrieve)",
        "rerank",
        "after (rerank-2)",
        "lift",
        "n",
    ]
    assert text.splitlines()[6].split() == ["MRR@1", "0.5000", "0.5000", "1.0000", "+0.5000", "2"]


def test_no_labels_are_dashes_and_not_nan():
    data = Dataset((Query("q", "How deep is it?"),))
    text = str(evaluate(FakeRetriever({}), data, reranker=FakeReranker({}), ks=(1,), metrics=["mrr"]))
    assert "nan" not in text
    assert [line.split() for line in text.splitlines() if line.startswith("MRR")] == [["MRR@1", "–", "–", "–", "0"]]


def test_another_profile_is_named():
    text = str(evaluate(FakeRetriever(RESULTS), DATA, ks=(1,), profile="tutorial"))
    assert text.startswith("island: 3 queries, 10 candidates, match by containment, tutorial conventions")


def test_each_mean_is_shown_with_its_own_n():
    """Under autorag's conventions a query that came back empty is left out of that stage's mean."""
    evaluation = evaluate(
        FakeRetriever(RESULTS),
        DATA,
        reranker=lambda query, texts: [] if "boat" in query else [1.0] * len(texts),
        ks=(1,),
        metrics=["mrr"],
        profile="autorag",
    )
    counts = {evaluation.scores.n(stage, evaluation.scores.metrics[0]) for stage in ("retrieve", "rerank")}
    row = next(line for line in str(evaluation).splitlines() if line.startswith("MRR"))
    assert row.split()[-1] == ("2/1" if counts == {1, 2} else "2")


HOSTILE = [
    "[red]alarm[/red]",
    "[/bold]",
    "[link=file:///etc]x[/link]",
    ":smile:",
    "[",
    "\\[x]",
    "[[x]]",
    "{x} %s",
]


def hostile(text):
    """An evaluation whose every text is hostile: the dataset's name, stages, systems, notes."""
    stages = (StageInfo(text, text), StageInfo(f"{text}-2", text))
    ranking = evaluate(FakeRetriever(RESULTS), DATA).run.traces[0].stages[0].ranking
    traces = (Trace("q", tuple(StageTrace(stage.name, ranking, 0.0) for stage in stages)),)
    run = Run(stages, traces, {"candidates": 1, "match": {"mode": "containment"}})
    (metric,) = evaluate(FakeRetriever(RESULTS), DATA, ks=(1,), metrics=["mrr"]).scores.metrics
    scores = Scores(("q",), (text, f"{text}-2"), (metric,), np.array([[[0.25]], [[0.5]]]))
    data = Dataset((Query("q", text),), name=text)
    return Evaluation(run, data, scores, notes=(text, f"a note of {text}"), profile=text)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("terminal", [False, True])
def test_hostile_texts_are_shown_as_they_are(text, terminal):
    told = shown(hostile(text), force_terminal=terminal, color_system=None, width=300)
    assert f"{text}: 1 query, 1 candidate, match by containment, {text} conventions" in told
    assert f"before ({text})" in told
    assert f"after ({text}-2)" in told
    assert f"! a note of {text}" in told
    assert "+0.2500" in told


@pytest.mark.parametrize("text", ["\x1b[31m", "\x1b]8;;http://x\x07", "\x9b2J", "\r", "\x00", "\ud800"], ids=ascii)
def test_control_characters_are_not_obeyed(text):
    told = shown(hostile(f"<{text}>"), force_terminal=True, color_system=None, width=300)
    assert text not in told
    assert "�" in told
    told.encode("utf-8")


def test_long_notes_are_not_cut(evaluation):
    long = "a long story " * 40 + "with an end"
    told = str(dataclasses.replace(evaluation, notes=(long,)))
    assert long in " ".join(told.split())


def test_the_chunks_are_no_part_of_it(evaluation):
    assert Chunk(f"so {ROWLOCK}").text not in str(evaluation)


def test_a_cost_has_no_colour():
    reranker = FakeReranker({f"so {ROWLOCK}": 1.0})
    evaluation = evaluate(FakeRetriever(RESULTS), DATA, reranker=reranker, ks=(1,), metrics=["mrr", "context_tokens"])
    lines = shown(evaluation, force_terminal=True, color_system="standard", width=120).splitlines()
    cost = next(line for line in lines if "ContextTokens@1" in line)
    assert "\x1b[" in next(line for line in lines if "MRR@1" in line)
    assert "\x1b[" not in cost
    assert re.search(r"\+\d\.\d ", cost)


@pytest.mark.slow
def test_the_lift_in_the_metric_that_decides_is_shown_with_its_interval_and_p(ranked):
    before, after = [2, 3, 1, 5, 1, None] * 6, [1, 1, 2, 2, 1, 1] * 6
    both = ranked(before, reranked=after, metrics=["ndcg", "mrr"])
    lift = both.reranker_lift("ndcg@3").row().difference
    line = next(line for line in str(both).splitlines() if line.startswith("Lift in"))
    assert line == (
        f"Lift in NDCG@3 {lift.mean:+.3f} [{lift.low:+.3f}, {lift.high:+.3f}], p {lift.p:.4f} (n = 36); "
        "more: print(evaluation.reranker_lift())"
    )
    cut = str(ranked(before, reranked=after, metrics=["ndcg"], top_n=2))  # no fair pair at 3
    assert "Lift in NDCG@1 " in cut
    assert "Lift in MRR@3 " in str(ranked(before, reranked=after, metrics=["mrr"]))
    assert "Lift in" not in str(ranked(before, reranked=after, metrics=["context_tokens"]))
    assert "Lift in" not in str(ranked(before, metrics=["ndcg"]))
    deeper = ranked(before, reranked=after, metrics=["ndcg"], ks=(1, 10, 20), candidates=20)
    assert "Lift in NDCG@10 " in str(deeper)
    assert deeper.reranker_lift().primary == as_metric("ndcg@10")
