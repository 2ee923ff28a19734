"""What the reader of a comparison is warned of."""

import dataclasses

import numpy as np
import pytest

from raglift.adapters.stages import RetrieveStage
from raglift.analysis.truncation import read_in_part_notes
from raglift.results.comparison import compare
from raglift.running.passes import stage_infos
from raglift.types.rankings import Ranking, StageTrace


def warnings(*systems, **options):
    return compare(list(systems), primary="rr@3", **options).warnings


@pytest.mark.slow
def test_there_is_nothing_to_warn_of_where_all_is_alike(ranked):
    assert warnings(ranked([1, 2] * 15), ranked([2, 1] * 15)) == ()


@pytest.mark.slow
@pytest.mark.parametrize(("count", "text"), [(29, "only 29 labelled questions"), (1, "only 1 labelled question")])
def test_fewer_than_thirty_queries(ranked, count, text):
    (warning,) = warnings(ranked([1] * count), ranked([2] * count))
    assert warning.startswith(text)


@pytest.mark.slow
@pytest.mark.parametrize(("queries", "can_be_checked"), [(39, False), (40, True)])
def test_the_best_of_many_on_the_queries_that_chose_it(ranked, queries, can_be_checked):
    systems = {"a": ranked([2] * queries), "b": ranked([1] * queries), "c": ranked([3] * queries)}
    (warning,) = compare(systems, primary="rr@3", baseline="a").warnings
    assert warning.startswith("b was picked as the best of 3 on these same questions")
    assert ("recommend()" in warning) == can_be_checked


@pytest.mark.slow
def test_failures_that_differ(ranked):
    down = RuntimeError("down")
    systems = {"a": ranked([1] * 30), "b": ranked([down, down, *[1] * 28]), "c": ranked([down, *[1] * 29])}
    found = compare(systems, primary="rr@3").warnings
    assert "not the same number of questions failed and count 0: 2 of b; 1 of c; 0 of a" in found
    assert warnings(ranked([down, *[1] * 29]), ranked([down, *[1] * 29])) == ()


@pytest.mark.slow
def test_hits_of_the_same_chunks_that_are_longer_are_another_prompt(ranked):
    """What systems of different chunks are told is in test_fairness.py."""
    short = ranked([1] * 30, chunks=["nothing to the point, line 1", "nothing to the point, line 2"])

    def longer(times):
        run = short.run
        chunk = run.traces[0].stages[0].ranking[1].chunk
        long = dataclasses.replace(chunk, text=chunk.text * times)
        ranking = Ranking.of([(long, None)] * 3)
        traces = [dataclasses.replace(t, stages=(StageTrace("retrieve", ranking, 0.0),)) for t in run.traces]
        return dataclasses.replace(short, run=dataclasses.replace(run, traces=tuple(traces)))

    (warning,) = warnings(short, longer(60), names=["short", "long"])
    assert warning == (
        "not like for like: hits are 1,680 characters long in long and 34 in short, on average, so the same k is not "
        "the same amount of text; compare by what is read too, e.g. recall_area@tokens(2000)"
    )
    assert warnings(longer(2), longer(2)) == ()
    assert warnings(longer(4), longer(5)) == ()


def test_candidates_that_differ(ranked):
    (warning,) = warnings(ranked([1] * 30), ranked([1] * 30, candidates=5), names=["deep", "flat"])
    assert warning == "not the same number of candidates were asked for: 6 of deep; 5 of flat"


def test_a_system_that_returns_fewer_hits_than_the_primary_metric_looks_at(ranked):
    (warning,) = warnings(ranked([1, 2, 3] * 10), ranked([1, 2, 3] * 10, top_n=2), names=["whole", "cut"])
    assert warning.startswith("cut: returned fewer hits than MRR@3 looks at")


def test_chunks_that_were_truncated_are_passed_on_in_the_words_of_the_evaluation(ranked):
    class Index:
        read_in_part, distinct = 7, 10

    class Dense:
        index = Index()

    infos, _ = stage_infos([RetrieveStage(Dense(), "dense")], [], [])
    assert infos[0].chunks_read_in_part == ((7, 10),)
    whole = ranked([1] * 30)
    cut = dataclasses.replace(whole, run=dataclasses.replace(whole.run, stages=infos))
    (note,) = read_in_part_notes(cut.run)
    assert warnings(ranked([1] * 30), cut, cut, baseline="a", names=["a", "b", "c"])[1:] == (f"b, c: {note}",)


def test_queries_that_a_profile_leaves_out_of_one_system(ranked):
    """AutoRAG's conventions leave a query out whose retrieval came back empty."""
    whole = ranked([1, 2] * 20, profile="autorag")
    values = whole.scores.values.copy()
    values[:, :, :4] = np.nan
    empty = dataclasses.replace(whole, scores=dataclasses.replace(whole.scores, values=values))
    (warning,) = warnings(whole, empty, names=["whole", "empty"])
    assert warning == "not the same number of questions have a value: 40 of whole; 36 of empty"


@pytest.mark.slow
def test_a_higher_mean_from_fewer_wins_is_told(ranked):
    """Fifteen queries are lost by a little, and ten are won by much."""
    base, other = [2] * 15 + [None] * 10, [3] * 15 + [1] * 10
    found = compare({"a": ranked(base), "b": ranked(other)}, primary="rr@3")
    assert found.row("b").verdict == "better"
    told = "b has the higher mean MRR@3 than a, and loses more questions (15) than it wins (10): it wins by more"
    assert told in " ".join(str(found).split())
