"""The default conventions against trec_eval's own code and ranx, where the conventions agree.

They agree where every fact is one passage and every hit another chunk: labels by id, distinct ids, strictly descending
scores. Reciprocal rank is uncut in trec_eval, and F1@k is ranx's alone. A query that came back empty is left out:
trec_eval's wrapper does not report it.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse

pytrec_eval = pytest.importorskip("pytrec_eval")

Case = tuple[dict[str, int], list[str]]
"""The grades of the relevant chunks, and the ids that were retrieved."""

KS = (1, 2, 3, 5, 10, 12)
NAMES = [f"chunk{number}" for number in range(16)]

case = st.tuples(
    st.dictionaries(st.sampled_from(NAMES), st.integers(1, 4), min_size=1, max_size=8),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=14, unique=True),
)
many_cases = st.lists(case, min_size=1, max_size=12)
few_examples = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def qrels_and_run(cases: list[Case]) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    qrels = {f"q{number:02}": dict(grades) for number, (grades, _) in enumerate(cases)}
    run = {
        f"q{number:02}": {name: float(len(ids) - place) for place, name in enumerate(ids)}
        for number, (_, ids) in enumerate(cases)
    }
    return qrels, run


@pytest.fixture(scope="session")
def ours(judged) -> Callable[[list[Case], str], np.ndarray]:
    def ours(cases: list[Case], metric: str) -> np.ndarray:
        return compute(judged(*((list(grades.items()), ids) for grades, ids in cases)), parse(metric))

    return ours


@pytest.fixture(scope="module")
def ranx() -> Iterator[Any]:
    """The package ranx, interpreted: compiling its metrics takes longer than all of these tests."""
    numba = pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        yield pytest.importorskip("ranx")


TREC_EVAL = {
    "hit_rate": "success",
    "success": "success",
    "precision": "P",
    "recall": "recall",
    "ap": "map_cut",
    "ndcg": "ndcg_cut",
}
UNCUT_IN_TREC_EVAL = {"ap": "map", "rr": "recip_rank", "ndcg": "ndcg", "r_precision": "Rprec"}


@pytest.mark.slow
@given(many_cases)
@few_examples
def test_trec_eval(ours, cases: list[Case]) -> None:
    qrels, run = qrels_and_run(cases)
    depths = ",".join(map(str, KS))
    wanted = {f"{name}.{depths}" for name in TREC_EVAL.values()} | set(UNCUT_IN_TREC_EVAL.values())
    theirs = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(run)
    pairs = {f"{name}@{k}": f"{peer}_{k}" for name, peer in TREC_EVAL.items() for k in KS}
    for metric, peer in {**pairs, **UNCUT_IN_TREC_EVAL}.items():
        expected = [theirs[query][peer] for query in qrels]
        np.testing.assert_allclose(ours(cases, metric), expected, rtol=0, atol=1e-9, err_msg=metric)


RANX = {
    "hit_rate": "hit_rate",
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "rr": "mrr",
    "ap": "map",
    "ndcg": "ndcg",
    "ndcg(gain=exponential)": "ndcg_burges",
}
UNCUT_IN_RANX = ("hit_rate", "recall", "rr", "ap", "ndcg", "ndcg(gain=exponential)")


@pytest.mark.slow
@given(many_cases)
@few_examples
def test_ranx(ours, ranx: Any, cases: list[Case]) -> None:
    qrels, run = qrels_and_run(cases)
    pairs = {f"{name}@{k}": f"{peer}@{k}" for name, peer in RANX.items() for k in KS}
    pairs |= {name: RANX[name] for name in UNCUT_IN_RANX}
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), list(pairs.values()), return_mean=False)
    for metric, peer in pairs.items():
        np.testing.assert_allclose(ours(cases, metric), theirs[peer], rtol=0, atol=1e-9, err_msg=metric)
