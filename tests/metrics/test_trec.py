"""Every measure of trec_eval against its own code, which pytrec_eval runs: value by value, query by query."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.matching.by_id import match_ids
from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse
from raglift.metrics.registry import MEASURES
from raglift.storage.rankings.scoring import metric_of

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]


NAMES = (
    *("ap", "bin_g", "bpref", "eleven_point_avg", "g", "gm_bpref", "gm_map", "hit_rate", "inf_ap", "iprec", "ndcg"),
    *("ndcg_rel", "precision", "r_precision", "r_precision_mult", "rbp_residual", "recall", "relative_precision"),
    *("rndcg", "rr", "set_ap", "set_f", "set_precision", "set_relative_precision", "unjudged", "utility", "yaap"),
)
"""The names of trec_eval's measures in raglift."""


def drawn(seed: int, *, queries: int, ids: int, levels: int) -> tuple[Run, Qrels]:
    """Return a run and qrels: ties, unjudged documents, grades from −1 to 3, and queries with nothing relevant."""
    random_ = random.Random(seed)  # noqa: S311
    pool = [f"d{number}" for number in range(ids)]
    run, qrels = {}, {}
    for number in range(queries):
        hits = random_.sample(pool, random_.randint(1, ids))
        run[f"q{number}"] = {id_: random_.randint(0, levels) / 7 for id_ in hits}
        judged = random_.sample(pool, random_.randint(1, ids))
        qrels[f"q{number}"] = {id_: random_.choice((-1, 0, 0, 1, 1, 2, 3)) for id_ in judged}
        qrels[f"q{number}"][judged[0]] = random_.choice((0, 1))  # with nothing but −1, trec_eval reads foreign memory
    return run, qrels


def ranked(hits: Mapping[str, float]) -> list[str]:
    """Return ids as trec_eval ranks them: by score in 32 bits, then id, both descending."""
    return sorted(hits, key=lambda id_: (np.float32(hits[id_]), id_.encode()), reverse=True)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    queries=st.integers(1, 6),
    ids=st.integers(1, 60),
    levels=st.sampled_from([0, 3, 1000]),
)
def test_every_value_is_that_of_trec_eval(seed: int, queries: int, ids: int, levels: int) -> None:
    run, qrels = drawn(seed, queries=queries, ids=ids, levels=levels)
    measures = pytrec_eval.supported_measures - {"runid", "relstring"}
    found = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    match_table = match_ids({query: ranked(hits) for query, hits in run.items()}, qrels)
    for name in found["q0"]:
        if name.startswith("num_"):
            continue
        metric = metric_of(name)
        values = compute(match_table, metric)
        if MEASURES[metric.name].mean == "geometric":
            values = np.log(np.maximum(values, 1e-5))
        expected = [found[query][name] for query in qrels]
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12, err_msg=name)


LABELS = {"q1": {"a": 2, "b": 0, "c": 1, "d": 0}, "q2": {"e": 1, "f": 0}}
FOUND = {"q1": ["b", "a", "x", "c"], "q2": ["y", "z"]}


@pytest.mark.parametrize(
    ("metric", "by_hand"),
    [
        ("unjudged@5", [1 / 5, 2 / 5]),
        ("unj@2", [0, 1]),
        # 0.9^4 + 0.1 · 0.9² for x at rank 3; 0.9² + 0.1 (1 + 0.9) for y and z
        ("rbp_residual", [0.9**4 + 0.1 * 0.9**2, 0.9**2 + 0.1 * 1.9]),
        ("rbp_resid(p=0.5)@2", [0, 1]),
        # a is of grade 2, the highest of q1: 1 at rank 2; c 1/2 at rank 4
        ("rbp(gain=graded,p=0.9)", [0.1 * (0.9 + 0.9**3 / 2), 0]),
        ("yaap", [math.log((1 + 1 / 2 + 2 / 4) / (1 + 2 - 1 / 2 - 2 / 4)), math.log(1 / 2)]),
        ("utility(found=2,other=-0.5)", [2 * 2 - 0.5 * 2, -1]),
        ("set_f(x=3)", [4 * (1 / 2) / (3 * (1 / 2) + 1), 0]),
        # 0.5 · 2 = 1 document in both; 0.2 · 2 = 0.4 is 1 with 0.9 added and 0 rounded, from which every rank counts
        ("iprec(recall=0.5)", [1 / 2, 0]),
        ("iprec(recall=0.2,rounding=nearest)", [1 / 2, 0]),
        ("bpref", [(0 + 0) / 2 + (1 - 1 / 2) / 2 + (1 - 1 / 2) / 2, 0]),
        ("bpref@2", [(1 - 1 / 2) / 2, 0]),
    ],
)
def test_worked_values_of_what_pytrec_eval_does_not_print(metric: str, by_hand: list[float]) -> None:
    assert rl.score_rankings(FOUND, LABELS, [metric]).of(metric).tolist() == pytest.approx(by_hand)


def test_recall_is_rounded_otherwise_by_the_two_versions() -> None:
    labels = {"q": dict.fromkeys("abcde", 1)}
    found = {"q": ["a", *"vwxyz", "b"]}
    values = {rounding: f"iprec(recall=0.26,rounding={rounding})" for rounding in ("up", "nearest")}  # 1.3 documents
    scores = rl.score_rankings(found, labels, list(values.values()))
    assert scores.mean(values["up"]) == pytest.approx(2 / 7)
    assert scores.mean(values["nearest"]) == 1


def test_a_geometric_mean_is_of_values_that_are_at_least_a_little() -> None:
    scores = rl.score_rankings(FOUND, LABELS, ["gm_map", "map", "gm_bpref"])
    of_first = scores.of("gm_map")[0]
    assert scores.of("gm_map").tolist() == scores.of("map").tolist() == [1 / 2, 0]
    assert scores.mean("gm_map") == pytest.approx(math.sqrt(of_first * 1e-5))
    assert scores.mean("gm_bpref") == pytest.approx(math.sqrt(scores.of("gm_bpref")[0] * 1e-5))


@pytest.mark.parametrize("metric", ["bpref", "gm_bpref", "infAP@10"])
def test_labels_that_say_of_nothing_that_it_is_irrelevant_are_refused(metric: str) -> None:
    name = str(parse(metric))
    with pytest.raises(ConfigurationError) as error:
        rl.score_rankings(FOUND, {"q1": {"a": 2, "c": 1}}, [metric])
    assert str(error.value).startswith(f"{name}: found labels that say of nothing that it is irrelevant; expected some")
    dataset = rl.Dataset.from_dict({"Who keeps the lamp?": ["The keeper trims the lamp at dusk."]})
    with pytest.raises(ConfigurationError, match="grade of 0 in qrels or `judged_irrelevant`"):
        rl.evaluate(lambda query: [], dataset, metrics=[metric])


def test_each_is_an_ordinary_metric_of_an_evaluation() -> None:
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Chunk
    from raglift.types.labels import Fact, Passage, Query

    facts = (Fact((Passage("the lamp is lit at dusk"),)), Fact((Passage("herring is salted"),)))
    irrelevant = (Passage("the boat brings letters"), Passage("tar and rope are stored"))
    dataset = Dataset((Query("q", "?", facts, judged_irrelevant=irrelevant),))
    texts = ["the boat brings letters", "the lamp is lit at dusk", "nobody judged this one", "herring is salted"]
    names = sorted(NAMES)
    evaluation = rl.evaluate(lambda query: [Chunk(text) for text in texts], dataset, metrics=names, ks=(4,))
    ids = rl.score_rankings(
        {"q": texts}, {"q": {**dict.fromkeys(texts[1::2], 1), texts[0]: 0, "tar": 0}}, ids_of(names)
    )
    for metric in ids.metrics:
        assert evaluation.scores.mean("retrieve", metric) == pytest.approx(ids.mean(metric)), metric
    table = evaluation.to_frame()
    assert set(table["metric"]) >= {"Bpref", "GMAP", "InfAP", "RNDCG"}


def ids_of(names: list[str]) -> list[str]:
    return [f"{name}@4" if MEASURES[name].takes_k else name for name in names]


def test_geometric_means_are_not_compared_query_by_query() -> None:
    dataset = rl.Dataset.from_dict({"one?": ["the lamp"], "two?": ["the boat"]})
    first = rl.evaluate(lambda query: ["the lamp", "the boat"], dataset, metrics=["gm_map", "ndcg"], ks=(2,))
    second = rl.evaluate(lambda query: ["the boat"], dataset, metrics=["gm_map", "ndcg"], ks=(2,))
    found = rl.compare({"first": first, "second": second})
    assert [str(row.metric) for row in found.rows] == ["ndcg@2", "ndcg@2"]
    assert any("geometric means" in note and "gm_map@2" in note for note in found.notes)
    with pytest.raises(ConfigurationError, match="mean over queries is geometric"):
        rl.compare({"first": first, "second": second}, primary="gm_map@2")
    row = next(line for line in first.to_text().splitlines() if line.startswith("GMAP@2"))
    assert row.split()[1] == f"{first.scores.mean('retrieve', 'gm_map@2'):.3f}"
