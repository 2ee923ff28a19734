"""`raglift metrics`."""

from __future__ import annotations

import json
import re

import pytest

from raglift.metrics.registry import MEASURES

BUILT_IN = [measure for measure in MEASURES.values() if not measure.origin]


@pytest.mark.slow
def test_every_measure_is_listed_with_its_formula_and_source(run) -> None:
    code, out, _ = run("metrics")
    assert code == 0
    listed = re.findall(r"^([a-z]\w*)(?:, (\S.*?))?  ", out.partition("\n")[2], re.MULTILINE)
    names = dict(listed)
    assert [name for name, _ in listed][: len(BUILT_IN)] == [measure.name for measure in BUILT_IN]
    assert (names["rr"], names["hit_rate"], names["ap"]) == ("mrr, recip_rank", "success", "map")
    assert re.search(r"^ndcg +DCG@k / IDCG@k +Järvelin and Kekäläinen 2002$", out, re.MULTILINE)
    assert max(map(len, out.splitlines())) <= 100
    assert "`raglift metrics METRIC` shows one in full" in out


@pytest.mark.slow
def test_one_in_full(run) -> None:
    code, out, _ = run("metrics", "MRR")
    assert code == 0
    assert out.startswith("rr: RR (mean: MRR)\n\nRR@k = 1 / the first rank ≤ k")
    assert "settings: p=a number above 0 and below 1 (0.8 unless given)" in run("metrics", "rbp")[1]
    assert "also read as: hit, hitrate, success" in run("metrics", "success")[1]
    assert json.loads(run("metrics", "rbp", "--json")[1])["source"] == "Moffat and Zobel 2008"


@pytest.mark.slow
def test_an_unknown_name_is_told_near_ones(run) -> None:
    code, _, err = run("metrics", "r_precisoin")
    assert code == 2
    assert "found 'r_precisoin' (did you mean 'r_precision'?)" in err
