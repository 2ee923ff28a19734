"""Figures that stand on nothing: an error, or a note on the surface that shows the figure.

Each test is an input that gave a plausible figure without a word. A further one is a row of a table where there is one.
"""

from __future__ import annotations

import pytest

import raglift as rl
from raglift.adapters.functions import reranker_stage
from raglift.errors import ConfigurationError
from raglift.storage.rankings.read import read_run
from raglift.storage.rankings.scoring import score_files
from raglift.testing.fakes import FakeRetriever
from raglift.types.rankings import Ranking

TEXTS = ("The lamp is lit.", "The fog comes in.", "The horn is loud.", "The ferry is late.")
CANDIDATES = Ranking.of([*((rl.Chunk(text), None) for text in TEXTS)])
QUESTIONS = tuple(f"When is the lamp lit, {number}?" for number in range(4))
DATA = rl.Dataset.from_dict({question: [TEXTS[0]] for question in QUESTIONS}, name="tower")
SYSTEM = FakeRetriever(dict.fromkeys(QUESTIONS, TEXTS))


# Returns of reranking functions that can be read in two ways.


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        pytest.param([(0, 0.1), (1, 0.9), (2, 0.5)], "scores that rise", id="pairs in the order of the candidates"),
        pytest.param(set(TEXTS), "a set, which has no order", id="a set of texts"),
        pytest.param(dict.fromkeys(TEXTS, 1.0), "dict", id="a mapping"),
    ],
)
def test_a_reranking_that_can_be_read_in_two_ways_is_refused(returned, found):
    stage = reranker_stage(lambda query, texts: returned)
    with pytest.raises(ConfigurationError, match=found):
        stage.reranker.rerank_one("q", CANDIDATES)


def test_indices_instead_of_scores_are_refused():
    with pytest.raises(ConfigurationError, match=r"returned the numbers 0 to 3 for each query .* indices"):
        rl.evaluate(SYSTEM, DATA, reranker=lambda query, texts: [3, 2, 1, 0], candidates=4)


# Rankings and labels of ids that have nothing in common.


QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n"


@pytest.fixture
def files(tmp_path):
    """Return a function that writes a run and the qrels, and returns their paths."""

    def write(run: str, qrels: str = QRELS):
        (tmp_path / "run.trec").write_text(run)
        (tmp_path / "qrels.txt").write_text(qrels)
        return tmp_path / "run.trec", tmp_path / "qrels.txt"

    return write


OTHER_IDS = "q1 Q0 doc-1 1 0.9 t\nq2 Q0 doc-3 1 0.8 t\n"
NO_ID = r"no id of the rankings, as 'doc-1', is among the labels, as 'd1'"


def test_rankings_without_a_labelled_id_are_said_to_have_none(files):
    run, qrels = files(OTHER_IDS)
    found = score_files(run, qrels)
    assert NO_ID in str(found)
    scored = rl.score_rankings(read_run(run), {"q1": {"d1": 1}, "q2": {"d3": 1}})
    assert any(NO_ID in note for note in scored.notes)
    assert NO_ID in str(scored)


def test_rankings_and_labels_without_a_common_query_are_refused():
    with pytest.raises(ConfigurationError, match=r"found no question in common: rankings of questions as '1'"):
        rl.score_rankings({"1": ["d1"]}, {"q1": ["d1"]})


# Ranks against scores.


def test_a_rank_column_that_contradicts_the_scores_is_noted(files):
    run, qrels = files("q1 Q0 d1 1 0.1 t\nq1 Q0 d2 2 0.9 t\nq2 Q0 d3 1 0.5 t\nq2 Q0 d4 2 0.4 t\n")
    assert list(read_run(run)["q1"]) == ["d2", "d1"]
    expected = 'for 1 of 2 queries the rank column contradicts the scores, as for "q1"; the scores count, more first'
    assert expected in str(score_files(run, qrels))


# Systems that answered few queries, or none.


# Comparisons.
