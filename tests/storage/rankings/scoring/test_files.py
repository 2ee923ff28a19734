"""`score_files`: several runs side by side, every labelled query counted unless asked otherwise."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.stats.paired_tests import holm, paired_difference
from raglift.storage.rankings.read import read_qrels, read_run
from raglift.storage.rankings.scoring import score_files


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    (tmp_path / "bm25.trec").write_text("q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\nq9 Q0 a 1 1 t\n")
    (tmp_path / "dense.trec").write_text("q1 Q0 b 1 3 t\nq2 Q0 c 1 2 t\n")
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 c 1\nq3 0 d 1\nq4 0 a 0\n")
    return tmp_path / "bm25.trec", tmp_path / "dense.trec", tmp_path / "qrels.txt"


def test_every_labelled_query_counts(files) -> None:
    bm25, dense, qrels = files
    scores = score_files([bm25, dense], qrels, ["ndcg@10", "mrr"])
    assert [run.name for run in scores.runs] == ["bm25", "dense"]
    assert [run.scores.mean("rr") for run in scores.runs] == pytest.approx([1 / 3, 1 / 3])
    assert [run.scores.n("rr") for run in scores.runs] == [3, 3]
    assert [(run.hits, run.scores.empty, run.scores.unlabelled) for run in scores.runs] == [(3, 2, 1), (2, 1, 0)]
    assert str(scores).splitlines()[:6] == [
        "                              bm25   dense",
        "NDCG@10                     0.3333  0.3333",
        "MRR                         0.3333  0.3333",
        "questions (n)                    3       3",
        "without a ranking, count 0       2       1",
        "rankings without labels          1       0",
    ]


def test_each_run_is_compared_with_the_first_as_compare_does(files) -> None:
    scores = score_files(files[:2], files[2], ["mrr", "recall"])
    found = scores.differences(seed=3)
    assert [(each.run, each.first, str(each.metric)) for each in found] == [
        ("dense", "bm25", "rr"),
        ("dense", "bm25", "recall"),
    ]
    alone = paired_difference([-1.0, 1.0, 0.0], seed=3)
    assert found[0].paired == replace(alone, low=-1.0, high=1.0)  # what three queries leave open passes ±1
    assert [each.p for each in found] == holm([alone.p, alone.p]).tolist()
    assert str(scores).splitlines()[6:] == [
        "",
        "minus bm25          difference        95% interval  p (Holm)  +  =  -",
        "dense       MRR        +0.0000  -1.0000 to +1.0000    1.0000  1  1  1",
        "dense       Recall     +0.0000  -1.0000 to +1.0000    1.0000  1  1  1",
        "fewer than 30 questions: this says little",
    ]
    assert score_files(files[0], files[2]).differences() == ()


def test_a_difference_is_over_the_queries_that_count_in_both(files) -> None:
    (found,) = score_files(files[:2], files[2], ["mrr"], answered_only=True).differences()
    assert (found.paired.n, found.paired.mean) == (1, -1.0)


def test_queries_without_a_ranking_are_left_out_where_that_is_asked(files) -> None:
    scores = score_files(files[:2], files[2], ["mrr"], answered_only=True)
    assert [run.scores.mean("rr") for run in scores.runs] == pytest.approx([1.0, 0.5])
    assert [(run.scores.n("rr"), run.left_out) for run in scores.runs] == [(1, 2), (2, 1)]
    assert "without a ranking, left out       2       1" in str(scores)


def test_labels_of_a_dataset_are_taken_as_those_of_a_file_of_qrels_are(files, tmp_path: Path) -> None:
    labels = tmp_path / "labels"
    labels.mkdir()
    relevant = {"q1": ["a"], "q2": ["c"], "q3": ["d"]}
    lines = [
        {"id": query, "query": "?", "relevant": [{"chunk": chunk} for chunk in chunks]}
        for query, chunks in relevant.items()
    ]
    (labels / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    corpus = {chunks[0]: f"the text of {chunks[0]}" for chunks in relevant.values()}
    given = {"queries": dict.fromkeys(relevant, "?"), "corpus": corpus, "relevant_docs": relevant}
    (labels / "given.json").write_text(json.dumps(given))
    expected = score_files(files[:2], files[2], ["mrr"], answered_only=True)
    for name in ("queries.jsonl", "given.json"):
        found = score_files(files[:2], labels / name, ["mrr"], answered_only=True)
        assert found.per_query() == expected.per_query()
        assert [run.scores.n("rr") for run in found.runs] == [1, 2]


def test_one_row_a_query_and_metric(files) -> None:
    scores = score_files(files[:2], files[2], ["mrr"], answered_only=True)
    assert scores.per_query().splitlines() == [
        "query        bm25   dense",
        "q1     RR  1.0000  0.0000",
        "q2     RR       -  1.0000",
    ]


@pytest.mark.slow
def test_the_values_are_those_of_score_rankings_in_every_form(tmp_path: Path) -> None:
    random_ = random.Random(3)  # noqa: S311
    rankings = {f"q{n}": [f"d{id_}" for id_ in random_.sample(range(40), 20)] for n in range(30)}
    relevant = {f"q{n}": {f"d{id_}": random_.randint(0, 3) for id_ in random_.sample(range(40), 5)} for n in range(32)}
    rows = [(query, id_, 20.0 - place) for query, ids in rankings.items() for place, id_ in enumerate(ids)]
    shuffled = random_.sample(rows, len(rows))
    (tmp_path / "run.trec").write_text("".join(f"{q} Q0 {id_} 0 {score} t\n" for q, id_, score in shuffled))
    lists = [{"query_id": query, "hits": ids} for query, ids in rankings.items()]
    (tmp_path / "lists.jsonl").write_text("\n".join(map(json.dumps, lists)))
    objects = [{"query_id": q, "id": id_, "score": score} for q, id_, score in shuffled]
    (tmp_path / "hits.jsonl").write_text("\n".join(map(json.dumps, objects)))
    columns = dict(zip(("query_id", "id", "score"), map(list, zip(*shuffled, strict=True)), strict=True))
    parquet.write_table(pa.table(columns), tmp_path / "run.parquet")
    lines = [f"{query} 0 {id_} {grade}\n" for query, ids in relevant.items() for id_, grade in ids.items()]
    (tmp_path / "qrels").write_text("".join(lines))
    runs = [tmp_path / name for name in ("run.trec", "lists.jsonl", "hits.jsonl", "run.parquet")]
    scores = score_files(runs, tmp_path / "qrels", names=["trec", "lists", "hits", "parquet"])
    expected = rl.score_rankings(rankings, relevant)
    for run in scores.runs:
        assert run.scores.query_ids == expected.query_ids
        assert (
            run.scores.values.tolist() == expected.values.tolist()
            or ((run.scores.values == expected.values) | (expected.values != expected.values)).all()
        )
        assert dict(read_run(run.path)) == rankings
    assert read_qrels(tmp_path / "qrels") == relevant


@pytest.mark.parametrize(
    ("runs", "names", "found"),
    [
        ([], None, "runs: found none"),
        (["bm25.trec", "bm25.trec"], None, "the same file twice"),
        (["bm25.trec"], ["a", "b"], "expected 1 different"),
    ],
)
def test_names_are_of_the_runs(files, tmp_path: Path, runs: list[str], names: list[str] | None, found: str) -> None:
    with pytest.raises(ConfigurationError, match=found):
        score_files([tmp_path / run for run in runs], files[2], names=names)


def test_files_of_one_name_are_distinguished(files, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    twin = tmp_path / "other" / "bm25.trec"
    twin.write_bytes(files[0].read_bytes())
    assert [run.name for run in score_files([files[0], twin], files[2]).runs] == [str(files[0]), str(twin)]
    parquetless = tmp_path / "bm25.txt"
    parquetless.write_bytes(files[0].read_bytes())
    assert [run.name for run in score_files([files[0], parquetless], files[2]).runs] == ["bm25.trec", "bm25.txt"]


def test_ids_that_move_the_cursor_are_not_printed(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("\x1b[2J Q0 a 1 1 t\n")
    (tmp_path / "qrels").write_text("\x1b[2J 0 a 1\n")
    scores = score_files(tmp_path / "run", tmp_path / "qrels", names=["\x1b[2J"])
    assert "\x1b" not in str(scores) + scores.per_query()


def test_nothing_in_common_is_said(files, tmp_path: Path) -> None:
    (tmp_path / "others.txt").write_text("1 0 a 1\n")
    with pytest.raises(ConfigurationError, match="in both"):
        score_files(files[0], tmp_path / "others.txt")


def test_labels_without_anything_relevant_are_refused(files, tmp_path: Path) -> None:
    (tmp_path / "none.txt").write_text("q1 0 a 0\nq2 0 c -1\n")
    with pytest.raises(ConfigurationError, match=r"none.txt: found nothing relevant to any of 2 queries; expected"):
        score_files(files[:2], tmp_path / "none.txt", ["map"])
