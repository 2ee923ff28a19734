"""`raglift metrics`."""

from __future__ import annotations

import json

from raglift.metrics.built_in import BUILT_IN


def test_every_measure_is_listed_with_its_formula_and_source(run) -> None:
    code, out, _ = run("metrics")
    assert code == 0
    for measure in BUILT_IN:
        assert f"{measure.name}: {measure.title}" in out
        assert f"\n  {measure.formula}\n  source: {measure.source}\n" in out
    assert "settings: p=a number above 0 and below 1 (0.8 unless given)" in out
    assert "also read as: hit, hitrate, success" in out


def test_as_json(run) -> None:
    code, out, _ = run("metrics", "--json")
    found = {each["name"]: each for each in json.loads(out)["measures"]}
    assert code == 0
    assert list(found)[: len(BUILT_IN)] == [measure.name for measure in BUILT_IN]
    assert (found["rr"]["mean_title"], found["rr"]["aliases"]) == ("MRR", ["mrr"])
    assert found["precision"]["depths"] == ["k"]
    assert found["r_precision"]["depths"] == ["all"]
    assert {"tutorial", "autorag"} <= set(found["ndcg"]["profiles"])


def test_one_in_full(run) -> None:
    code, out, _ = run("metrics", "MRR")
    assert code == 0
    assert out.startswith("rr: RR (mean: MRR)\n\nRR@k = 1 / the first rank ≤ k")
    assert json.loads(run("metrics", "err", "--json")[1])["source"] == "Chapelle et al. 2009"


def test_an_unknown_name_is_told_near_ones(run) -> None:
    code, _, err = run("metrics", "alpha_ndgc")
    assert code == 2
    assert "found 'alpha_ndgc' (did you mean 'alpha_ndcg'?)" in err
