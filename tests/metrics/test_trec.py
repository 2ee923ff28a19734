"""The measures that trec_eval has too against its own code, which pytrec_eval runs: value by value, query by query."""

from __future__ import annotations

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
from raglift.storage.rankings.scoring import metric_of

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]
MEASURES = {
    "map",
    "map_cut",
    "P",
    "recall",
    "set_recall",
    "Rprec",
    "recip_rank",
    "ndcg",
    "ndcg_cut",
    "success",
    "bpref",
}


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


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    queries=st.integers(1, 6),
    ids=st.integers(1, 60),
    levels=st.sampled_from([0, 3, 1000]),
)
def test_every_value_is_that_of_trec_eval(seed: int, queries: int, ids: int, levels: int) -> None:
    run, qrels = drawn(seed, queries=queries, ids=ids, levels=levels)
    found = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
    match_table = match_ids({query: ranked(hits) for query, hits in run.items()}, qrels)
    for name in found["q0"]:
        expected = [found[query][name] for query in qrels]
        np.testing.assert_allclose(
            compute(match_table, metric_of(name)), expected, rtol=1e-12, atol=1e-12, err_msg=name
        )


LABELS = {"q1": {"a": 2, "b": 0, "c": 1, "d": 0}, "q2": {"e": 1, "f": 0}}
FOUND = {"q1": ["b", "a", "x", "c"], "q2": ["y", "z"]}


@pytest.mark.parametrize(
    ("metric", "by_hand"),
    [
        # a is of grade 2, the highest of q1: 1 at rank 2; c 1/2 at rank 4
        ("rbp(gain=graded,p=0.9)", [0.1 * (0.9 + 0.9**3 / 2), 0]),
        ("bpref", [(1 - 1 / 2) / 2 + (1 - 1 / 2) / 2, 0]),
        ("bpref@2", [(1 - 1 / 2) / 2, 0]),
    ],
)
def test_worked_values_of_what_pytrec_eval_does_not_print(metric: str, by_hand: list[float]) -> None:
    assert rl.score_rankings(FOUND, LABELS, [metric]).of(metric).tolist() == pytest.approx(by_hand)


def test_labels_that_say_of_nothing_that_it_is_irrelevant_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="bpref: found labels that say of nothing that it is irrelevant"):
        rl.score_rankings(FOUND, {"q1": {"a": 2, "c": 1}}, ["bpref"])
    dataset = rl.Dataset.from_dict({"Who keeps the lamp?": ["The keeper trims the lamp at dusk."]})
    with pytest.raises(ConfigurationError, match="grade of 0 in qrels or `judged_irrelevant`"):
        rl.evaluate(lambda query: [], dataset, metrics=["bpref"])
