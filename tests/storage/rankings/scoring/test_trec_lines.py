"""What trec_eval prints: its code computes the values (pytrec_eval), and its main program's rules make the lines."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raglift.errors import ConfigurationError, DatasetError
from raglift.storage.rankings.trec_eval import trec_eval_lines

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]

CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
OFFICIAL = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"),
    *(f"iprec_at_recall_{tenth / 10:.2f}" for tenth in range(11)),
    *(f"P_{cut}" for cut in CUTS),
)
ALL = (
    *OFFICIAL,
    *(f"recall_{cut}" for cut in CUTS),
    *("infAP", "gm_bpref", *(f"Rprec_mult_{fifth / 5:.2f}" for fifth in range(1, 11)), "utility", "11pt_avg"),
    *("binG", "G", "ndcg", "ndcg_rel", "Rndcg"),
    *(f"{name}_{cut}" for name in ("ndcg_cut", "map_cut", "relative_P") for cut in CUTS),
    *("success_1", "success_5", "success_10"),
    *("set_P", "set_relative_P", "set_recall", "set_map", "set_F", "num_nonrel_judged_ret"),
)
"""What `trec_eval -m all_trec` prints, but `relstring`."""
INTEGERS = ("num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
GEOMETRIC = ("gm_map", "gm_bpref")


def written(folder: Path, run: Run, qrels: Qrels) -> tuple[Path, Path]:
    lines = [f"{query} Q0 {id_} 0 {score!r} tag\n" for query, hits in run.items() for id_, score in hits.items()]
    random.Random(0).shuffle(lines)  # noqa: S311
    (folder / "run.trec").write_text("".join(lines), encoding="utf-8")
    labels = [f"{query} 0 {id_} {grade}\n" for query, ids in qrels.items() for id_, grade in ids.items()]
    (folder / "qrels.txt").write_text("".join(labels), encoding="utf-8")
    return folder / "run.trec", folder / "qrels.txt"


def as_trec_eval(run: Run, qrels: Qrels, names: Iterable[str], *, complete: bool, per_query: bool) -> list[str]:
    """Return what trec_eval's main program prints: each query with both in the order of the bytes of its id, then all.

    With -c, means and num_q are over the queries of the qrels, and num_rel is counted in the qrels.
    """
    measures = pytrec_eval.supported_measures - {"runid", "relstring"}
    found = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    order = sorted(found, key=str.encode)

    def line(name: str, query: str, value: float) -> str:
        return "%-22s\t%s\t" % (name, query) + ("%d" % value if name in INTEGERS else "%6.4f" % value)  # noqa: UP031

    own = [name for name in names if name not in ("runid", "num_q", *GEOMETRIC)]
    lines = [line(name, query, found[query][name]) for query in order for name in own] if per_query else []
    n = len(qrels) if complete else len(order)
    for name in names:
        total = 0.0
        if name == "runid":
            lines.append("%-22s\tall\t%s" % (name, "tag"))  # noqa: UP031
            continue
        for query in order:
            total += found[query][name]
        if name == "num_q":
            total = n
        elif name == "num_rel" and complete:
            total = sum(grade > 0 for ids in qrels.values() for grade in ids.values())
        elif name in GEOMETRIC:
            total = math.exp((total + (n - len(order)) * math.log(1e-5)) / n)
        elif name not in INTEGERS:
            total /= n
        lines.append(line(name, "all", total))
    return lines


def drawn(seed: int, *, queries: int, ids: int, levels: int) -> tuple[Run, Qrels]:
    """Return a run and qrels that overlap: ties, queries in one of them alone, grades from −1 to 3."""
    random_ = random.Random(seed)  # noqa: S311
    pool = [f"d{number}" for number in range(ids)]
    run: Run = {}
    qrels: Qrels = {}
    for number in range(queries):
        query = f"q{number}"
        if number == 0 or random_.random() < 0.8:
            hits = random_.sample(pool, random_.randint(1, ids))
            run[query] = {id_: random_.randint(0, levels) / 7 for id_ in hits}
        if number == 0 or random_.random() < 0.8:
            judged = random_.sample(pool, random_.randint(1, ids))
            qrels[query] = {id_: random_.choice((-1, 0, 0, 1, 1, 2, 3)) for id_ in judged}
            qrels[query][judged[0]] = random_.choice((0, 1))  # with nothing but −1, trec_eval reads memory not its own
    return run, qrels


@pytest.mark.filterwarnings("ignore:.*no id of the rankings:raglift.errors.RankingWarning")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    queries=st.integers(1, 12),
    ids=st.integers(1, 40),
    levels=st.sampled_from([0, 3, 1000]),
    complete=st.booleans(),
    per_query=st.booleans(),
)
def test_the_lines_are_those_of_trec_eval(
    tmp_path: Path, seed: int, queries: int, ids: int, levels: int, complete: bool, per_query: bool
) -> None:
    run, qrels = drawn(seed, queries=queries, ids=ids, levels=levels)
    files = written(tmp_path, run, qrels)
    expected = as_trec_eval(run, qrels, ALL, complete=complete, per_query=per_query)
    assert list(trec_eval_lines(*files, ["all_trec"], answered_only=not complete, per_query=per_query)) == expected


def test_each_measure_is_printed_when_it_is_asked_for_by_itself(tmp_path: Path) -> None:
    run, qrels = drawn(5, queries=30, ids=40, levels=20)
    files = written(tmp_path, run, qrels)
    assert {name.rpartition("_")[0] or name for name in ALL} >= {"Rprec_mult", "infAP", "G"}
    for line, name in zip(as_trec_eval(run, qrels, ALL, complete=True, per_query=False), ALL, strict=True):
        assert list(trec_eval_lines(*files, [name])) == [line]
    families = {re.sub(r"_\d+(\.\d+)?$", "", name) for name in ALL} | {"relstring"}
    assert families == set(pytrec_eval.supported_measures)


def test_the_default_is_what_trec_eval_prints_by_itself(tmp_path: Path) -> None:
    run, qrels = drawn(1, queries=50, ids=300, levels=5000)
    files = written(tmp_path, run, qrels)
    expected = as_trec_eval(run, qrels, OFFICIAL, complete=True, per_query=False)
    assert list(trec_eval_lines(*files)) == expected
    assert len(expected) == 30
    assert expected[0] == "runid                 \tall\ttag"
    assert all(re.fullmatch(r"\S+ *\tall\t\S+", line) for line in expected)


def test_each_name_is_known_under_both_and_printed_once_in_trec_evals_order(tmp_path: Path) -> None:
    files = written(tmp_path, {"q": {"a": 1.0, "b": 0.5}}, {"q": {"b": 2}})
    asked = ["f1@2", "ndcg@10", "ndcg_cut.10", "P.5", "P_1", "map", "ap", "mrr", "rr@3", "recall", "hit_rate@3"]
    lines = list(trec_eval_lines(*files, [*asked, "ndcg(gain=exponential)@1"]))
    names = ["map", "recip_rank", "P_1", "P_5", "ndcg_cut_10", "success_3", "set_recall"]
    assert [line.split()[0] for line in lines] == [*names, "f1@2", "rr@3", "ndcg(gain=exponential)@1"]
    assert lines[0] == "map                   \tall\t0.5000"
    assert lines[-1] == "ndcg(gain=exponential)@1\tall\t0.0000"


@pytest.mark.parametrize(
    ("metrics", "profile", "message"),
    [
        (["nothing"], "default", "found 'nothing'"),
        ([], "default", "at least one"),
        (["map"], "tutorial", "expected one of default, trec"),
        (["P_0"], "default", "depth of 1 or more"),
    ],
)
def test_what_it_cannot_print_is_said(tmp_path: Path, metrics: list[str], profile: str, message: str) -> None:
    files = written(tmp_path, {"q": {"a": 1.0}}, {"q": {"a": 1}})
    with pytest.raises(ConfigurationError, match=message):
        list(trec_eval_lines(*files, metrics, profile=profile))


def test_nothing_in_common_is_an_error_as_in_trec_eval(tmp_path: Path) -> None:
    files = written(tmp_path, {"1": {"a": 1.0}}, {"q1": {"a": 1}})
    with pytest.raises(ConfigurationError, match=r'queries as "1" and labels in .* of queries as "q1"'):
        list(trec_eval_lines(*files))


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("\x1b[31m Q0 a 1 1 \x1b]0;t\n")
    (tmp_path / "qrels").write_text("\x1b[31m 0 a 1\n")
    lines = list(trec_eval_lines(tmp_path / "run", tmp_path / "qrels", ["runid", "map"], per_query=True))
    assert "\x1b" not in "".join(lines)


def test_the_mean_has_no_not_a_number(tmp_path: Path) -> None:
    files = written(tmp_path, {"q": {"a": 1.0}, "r": {"a": 1.0}}, {"q": {"a": 0}, "r": {"a": -1}})
    values = [
        float(line.split("\t")[2]) for line in trec_eval_lines(*files, ["map", "bpref", "ndcg", "set_F", "gm_map"])
    ]
    assert np.isfinite(values).all()


def test_everything_is_checked_before_the_first_line_is_asked_for(tmp_path: Path) -> None:
    files = written(tmp_path, {"q": {"a": 1.0}}, {"q": {"a": 1}})
    with pytest.raises(ConfigurationError, match="found 'nothing'"):
        trec_eval_lines(*files, ["nothing"])
    with pytest.raises(DatasetError):
        trec_eval_lines(tmp_path / "missing.trec", files[1])
    with pytest.raises(ConfigurationError, match="found the version 8; expected 9 or 10"):
        trec_eval_lines(*files, trec_eval=8)


def values(lines: Iterable[str]) -> dict[str, float]:
    cells = [line.split("\t") for line in lines]
    return {name.strip(): float(value) for name, query, value in cells if query == "all" and name.strip() != "runid"}


@pytest.mark.parametrize("name", ["rbp", "rbp_resid", "unj_5", "unj"])
def test_a_name_of_version_10_is_refused_for_version_9(tmp_path: Path, name: str) -> None:
    files = written(tmp_path, {"q": {"a": 1.0}}, {"q": {"a": 1}})
    with pytest.raises(ConfigurationError, match=f"found '{name}', which trec_eval 9 does not have; .*--trec-eval 10"):
        trec_eval_lines(*files, [name])
    assert next(iter(values(trec_eval_lines(*files, [name], trec_eval=10)))).startswith(name)


def test_a_name_of_trec_evals_stands_for_no_other_measure(tmp_path: Path) -> None:
    files = written(tmp_path, {"q": {"x": 3.0, "b": 2.0, "a": 1.0}}, {"q": {"a": 2, "b": 1}})
    ours = values(trec_eval_lines(*files, ["rbp(p=0.8)", "rbp(p=0.9)@2"]))
    assert ours == pytest.approx({"rbp(p=0.8)": 0.2 * (0.8 + 0.64), "rbp(p=0.9)@2": 0.1 * 0.9}, abs=5e-5)
    # each grade / 2, the highest of the query
    theirs = values(trec_eval_lines(*files, ["rbp", "rbp(gain=graded,p=0.9)"], trec_eval=10))
    assert theirs == pytest.approx({"rbp": 0.1 * (0.9 / 2 + 0.81)}, abs=5e-5)


def test_version_10_rounds_recall_otherwise(tmp_path: Path) -> None:
    found = {"q": {name: float(10 - rank) for rank, name in enumerate([*"axyzwb"])}}
    files = written(tmp_path, found, {"q": dict.fromkeys("abcd", 1)})
    # 0.3 · 4 is 1.2: with 0.9 added and cut 2 documents, of which the second is at rank 6; rounded 1
    old, new = (values(trec_eval_lines(*files, ["official"], trec_eval=version)) for version in (9, 10))
    assert (old["iprec_at_recall_0.30"], new["iprec_at_recall_0.30"]) == (pytest.approx(2 / 6, abs=5e-5), 1)
    assert {name for name in old if old[name] != new[name]} <= {
        f"iprec_at_recall_{share / 10:.2f}" for share in range(11)
    }


def test_version_10_prints_queries_without_a_ranking_where_all_count(tmp_path: Path) -> None:
    files = written(tmp_path, {"q": {"a": 1.0}}, {"q": {"a": 1}, "r": {"b": 1}})
    asked = ["num_ret", "map", "unj_5", "utility"]

    def queries(version: int, *, answered_only: bool) -> set[str]:
        lines = trec_eval_lines(*files, asked[:2], per_query=True, trec_eval=version, answered_only=answered_only)
        return {line.split("\t")[1] for line in lines}

    assert queries(9, answered_only=False) == {"q", "all"}
    assert queries(10, answered_only=True) == {"q", "all"}
    assert queries(10, answered_only=False) == {"q", "r", "all"}
    lines = list(trec_eval_lines(*files, asked, per_query=True, trec_eval=10))
    of_r = [(line.split()[0], float(line.split()[2])) for line in lines if "\tr\t" in line]
    assert of_r == [("num_ret", 0), ("map", 0), ("utility", 0), ("unj_5", 0)]
    assert values(lines)["map"] == values(trec_eval_lines(*files, ["map"]))["map"] == 0.5


def test_version_10_reads_comments_and_text_after_the_tag_and_all_bits_of_scores(tmp_path: Path) -> None:
    run, qrels = tmp_path / "run.trec", tmp_path / "qrels.txt"
    run.write_text("# a run of six words\nq Q0 a 1 0.90000000002 tag and more\nq Q0 b 2 0.90000000001 tag\n")
    qrels.write_text("# judged in June\nq 0 a 1\n")
    assert values(trec_eval_lines(run, qrels, ["map", "num_ret"], trec_eval=10)) == {"num_ret": 2, "map": 1}
    with pytest.raises(DatasetError, match=r"run.trec:2.*8 columns|qrels.txt:1"):
        trec_eval_lines(run, qrels, ["map"])
    run.write_text("q Q0 a 1 0.90000000002 tag\nq Q0 b 2 0.90000000001 tag\n")
    qrels.write_text("q 0 a 1\n")
    assert values(trec_eval_lines(run, qrels, ["map"])) == {"map": 0.5}  # equal in 32 bits: by id, descending
    assert values(trec_eval_lines(run, qrels, ["map"], trec_eval=10)) == {"map": 1}


def test_an_id_may_begin_with_a_number_sign_for_version_9(tmp_path: Path) -> None:
    files = written(tmp_path, {"#1": {"a": 1.0}}, {"#1": {"a": 1}})
    assert values(trec_eval_lines(*files, ["map"])) == {"map": 1}


@pytest.mark.parametrize("name", ["prefs_simp", "map_avgjg", "qrels_jg", "relstring"])
def test_what_qrels_do_not_hold_is_refused(tmp_path: Path, name: str) -> None:
    files = written(tmp_path, {"q": {"a": 1.0}}, {"q": {"a": 1}})
    with pytest.raises(ConfigurationError, match=f"found '{name}', .*; expected"):
        trec_eval_lines(*files, [name])
