"""Evaluations as text: the table, the notes, and texts that would rather be markup."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from raglift.analysis.records import Note
from raglift.metrics.computing import Scores
from raglift.rendering.document import Detail
from raglift.rendering.terminal import print_document
from raglift.report.views.evaluation import evaluation_view
from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Run, StageInfo, StageTrace, Trace

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
island: fake + fake
3 questions, 2 of them labelled, 2 facts; 5 candidates; match by containment

The reranker made no clear difference: MRR@1 went from 0.500 to 1.000; with 2 questions this may be
chance.

metric    before           after [95%]               lift [95%]      p
───────────────────────────────────────────────────────────────────────────────────────
MRR@1      0.500  1.000 [0.342, 1.000]  +0.500 [−1.000, +1.000]  1.000  not significant
Recall@1   0.500  1.000 [0.342, 1.000]  +0.500 [−1.000, +1.000]  1.000  exploratory

Where recall was lost
Next: ask harder questions: all 2 facts are in the top 1.
A perfect order of these candidates would reach Recall@1 1.000, NDCG@1 1.000.
Outcome of each fact
outcome          facts  share  questions  for example
─────────────────────────────────────────────────────
found by rank 1      2   100%          2

! only 2 labelled questions: below 30, intervals and p-values are unreliable
- 1 question excluded from all averages: no labels
- equal scores at ranks 1 and 2, where the order alone decides which counts: 2 of 3 questions
  (rerank)
- rerank: returned at most 2 hits: no fair lift at a deeper k"""


def shown(evaluation, detail=Detail.SUMMARY, **settings):
    console = Console(file=io.StringIO(), **settings)
    print_document(evaluation_view(evaluation, detail=detail), detail, console=console)
    return console.file.getvalue()


def test_the_text_of_an_evaluation(evaluation):
    assert str(evaluation) == GOLDEN
    assert evaluation.to_text(details=False) == GOLDEN


@pytest.mark.slow
def test_the_details_hold_every_metric_and_every_setting(evaluation):
    details = evaluation.to_text()
    assert details.startswith(GOLDEN.partition("\n! only")[0].rstrip())
    row = next(line for line in details.splitlines() if line.startswith("MRR@3"))
    assert row.split()[:3] == ["MRR@3", "0.750", "1.000†"]
    assert "† The metric looks deeper than the stage returned, so it cannot be compared." in details
    assert "\n  Reranker: fake (1 texts)\n" in details


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_number_is_broken_and_no_line_is_wider_than_the_terminal(ranked, width):
    both = ranked(
        [2, 3, 1, 5, 1, None] * 6, reranked=[1, 1, 2, 2, 1, 1] * 6, ks=(1, 3, 10), metrics=("rr", "recall", "ndcg")
    )
    lines = shown(both, width=width, force_terminal=True, color_system=None).splitlines()
    assert max(map(len, lines)) <= width
    row = next(line for line in lines if line.startswith("NDCG@10"))
    assert re.fullmatch(r"NDCG@10 +0\.\d{3}.* +0\.\d{3}.* +\+0\.\d{3}.* +\d\.\d{3} +\w+.*", row)


def test_piped_it_is_the_same_plain_text(evaluation):
    piped = shown(evaluation)
    assert "\x1b" not in piped
    assert [line.rstrip() for line in piped.splitlines()] == GOLDEN.splitlines()


@pytest.mark.slow
def test_on_a_terminal_a_significant_gain_and_a_loss_have_different_colours_and_no_others(ranked):
    colours = []
    for before, after, lift in ([2] * 30, [1] * 30, r"\+"), ([1] * 30, [2] * 30, "−"):
        told = shown(ranked(before, reranked=after), force_terminal=True, color_system="256", width=120)
        (colour,) = set(re.findall(rf"\x1b\[1;([\d;]+)m *{lift}0\.500[^\x1b]*\x1b\[0m", told))
        colours.append(colour)
    assert len(set(colours)) == 2
    chance = shown(ranked([2, 1, 2, 3], reranked=[1, 2, 1, 3]), force_terminal=True, color_system="256", width=120)
    assert not any(colour in chance for colour in colours)


def test_one_stage_has_no_lift_column():
    text = str(evaluate(FakeRetriever(RESULTS), DATA, ks=(1,), metrics=["mrr"]))
    assert re.split(" {2,}", text.splitlines()[5]) == ["metric", "mean [95%]", "questions"]
    assert "lift" not in text
    assert "before" not in text


def test_three_stages_have_a_column_each():
    rerankers = [FakeReranker({}), FakeReranker({f"so {ROWLOCK}": 1.0})]
    text = evaluate(FakeRetriever(RESULTS), DATA, reranker=rerankers, ks=(1,), metrics=["mrr"]).to_text()
    all_metrics = text.partition("Every metric at every depth\n")[2].splitlines()
    assert all_metrics[0].split() == ["before", "after"]
    assert all_metrics[1].split()[:4] == ["metric", "(retrieve)", "rerank", "(rerank-2)"]
    assert all_metrics[3].split()[:5] == ["MRR@1", "0.500", "0.500", "1.000", "+0.500"]


def test_no_labels_are_dashes_and_not_nan():
    data = Dataset((Query("q", "How deep is it?"),))
    text = str(evaluate(FakeRetriever({}), data, reranker=FakeReranker({}), ks=(1,), metrics=["mrr"]))
    assert "nan" not in text
    assert [line.split() for line in text.splitlines() if line.startswith("MRR")] == [["MRR@1", "–", "–", "–", "–"]]


HOSTILE = ["[red]alarm[/red]", "[/bold]", ":smile:", "\\[x]", "{x} %s"]


def hostile(text):
    """An evaluation whose every text is hostile: the dataset's name, stages, systems, notes."""
    stages = (StageInfo(text, text), StageInfo(f"{text}-2", text))
    ranking = evaluate(FakeRetriever(RESULTS), DATA).run.traces[0].stages[0].ranking
    traces = (Trace("q", tuple(StageTrace(stage.name, ranking, 0.0) for stage in stages)),)
    run = Run(stages, traces, {"candidates": 1, "match": {"mode": "containment"}})
    (metric,) = evaluate(FakeRetriever(RESULTS), DATA, ks=(1,), metrics=["mrr"]).scores.metrics
    scores = Scores(("q",), (text, f"{text}-2"), (metric,), np.array([[[0.25]], [[0.5]]]))
    data = Dataset((Query("q", text),), name=text)
    return Evaluation(run, data, scores, remarks=(Note(text), Note(f"a note of {text}")))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_shown_as_they_are(text):
    told = shown(hostile(text), force_terminal=True, color_system=None, width=300)
    assert told.startswith(f"{text}: ")
    assert f"- a note of {text}" in told
    assert "+0.250" in told


@pytest.mark.parametrize("text", ["\x1b[31m", "\x9b2J", "\r", "\x00", "\ud800"], ids=ascii)
def test_control_characters_are_not_obeyed(text):
    told = shown(hostile(f"<{text}>"), force_terminal=True, color_system=None, width=300)
    assert text not in told
    assert "�" in told
    told.encode("utf-8")


def test_metrics_that_were_asked_for_are_on_the_first_screen(ranked):
    evaluation = ranked([1, 2, 0], metrics=("ndcg", "f1", "map"))
    names = [line.split()[0] for line in shown(evaluation).splitlines() if re.match(r"\w+@3 ", line)]
    assert names[-3:] == ["NDCG@3", "F1@3", "MAP@3"]
