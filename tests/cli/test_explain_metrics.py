"""`raglift explain --conventions`: a query of a saved run under every profile."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import raglift as rl
from raglift.metrics.profiles.registry import PROFILES
from raglift.records.documents import Chunk
from raglift.records.labels import Fact, Passage, Query
from raglift.testing.fakes import FakeRetriever

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A saved run of three queries, scored at 5: of `three` A and B of A, B and C came back, `one` got its only id,
    and `none` has no labels."""
    wanted = {"one": "A", "three": "ABC", "none": ""}
    queries = tuple(
        Query(name, f"query {name}", tuple(Fact((Passage(chunk_id=one),)) for one in ids))
        for name, ids in wanted.items()
    )
    found = {"one": "A", "three": "AXB", "none": "A"}
    hits = {f"query {name}": [Chunk(f"text of {one}", id=one) for one in ids] for name, ids in found.items()}
    return rl.evaluate(FakeRetriever(hits), rl.Dataset(queries), ks=(5,)).save(tmp_path / "run")


def test_the_query_that_differs_most_is_explained(run: Run, saved: Path) -> None:
    code, out, _ = run("explain", "--conventions", saved)
    assert code == 0
    assert out.startswith(
        "one: query one\nstage retrieve, match by containment\n\nChosen: of 2 labelled queries, 2 with"
    )
    assert "next: three" in " ".join(out.split())
    assert "ragas: Divides the relevant ids by the ids that came back" in " ".join(out.split())
    assert "mean of 2 queries" in out
    assert "All profiles agree on" in out


def test_a_query_a_metric_and_a_stage_can_be_named(run: Run, saved: Path) -> None:
    code, out, _ = run("explain", "--conventions", saved, "three", "--metrics", "ap@5", "--stage", "retrieve")
    assert code == 0
    lines = out.splitlines()
    assert "  rank 2: X  not relevant" in lines
    assert "  fact 3: chunk C (grade 1), not found" in lines
    header = next(line for line in lines if line.startswith("this query"))
    values = next(line for line in lines if line.startswith("AP@5 "))
    shown = dict(zip(header.split()[2:], values.split()[1:], strict=True))
    assert set(shown) == set(PROFILES)
    expected = {"default": "0.5556", "autorag": "0.4444", "ragas": "0.8333", "trec": "=", "llamaindex": "="}
    assert shown | expected == shown
    assert "  AP@5, by default: (1/1 + 2/3) / 3 facts = 0.5556" in lines
    assert "NDCG" not in out


@pytest.mark.slow
def test_json_has_every_value_mean_and_reason(run: Run, saved: Path) -> None:
    code, out, _ = run("explain", "--conventions", saved, "three", "--metrics", "ap@5", "--metrics", "ndcg", "--json")
    told = json.loads(out)
    assert (code, list(told["metrics"])) == (0, ["ap@5", "ndcg"])
    ragas = told["metrics"]["ap@5"]["ragas"]
    assert ragas["value"] == pytest.approx(0.8333, abs=1e-4)
    assert ragas["mean"] == pytest.approx((ragas["value"] + 1) / 2)
    assert (ragas["n"], ragas["agrees"]) == (2, False)
    assert ragas["why"] == PROFILES["ragas"].differences["ap"]
    assert told["metrics"]["ap@5"]["trec"]["why"] == ""
    assert (told["query"]["id"], told["chosen"], told["queries"]) == ("three", None, 2)
    assert [hit["facts"] for hit in told["hits"]] == [
        [{"fact": 1, "match": "first"}],
        [],
        [{"fact": 2, "match": "first"}],
    ]
    chosen = json.loads(run("explain", "--conventions", saved, "--json")[1])["chosen"]
    assert chosen["next"] == ["three"]


def test_a_query_without_labels_is_said_to_have_none(run: Run, saved: Path) -> None:
    code, out, _ = run("explain", "--conventions", saved, "none")
    assert code == 0
    assert "Without labels: excluded from all averages, in every profile" in out
    assert "this query" not in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("four",), "there is no such query"),
        (("--stage", "rerank"), "expected one of retrieve"),
        (("--metrics", "precision"), "precision: found no depth; expected one, as 'precision@10'"),
        (("--metrics", "ndgc@5"), "did you mean 'ndcg'"),
        (("--metrics", "ndcg@51"), "expected a depth of at most 10"),
    ],
)
def test_what_cannot_be_shown_is_said(run: Run, saved: Path, options: tuple[str, ...], said: str) -> None:
    code, out, err = run("explain", "--conventions", saved, *options)
    assert (code, out) == (2, "")
    assert said in err


def test_a_folder_that_holds_no_run_is_said(run: Run, tmp_path: Path) -> None:
    code, _, err = run("explain", "--conventions", tmp_path)
    assert code != 0
    assert "expected the folder of a saved evaluation" in err
