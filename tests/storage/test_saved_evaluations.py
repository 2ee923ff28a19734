"""Evaluations on disk: what comes back, what is refused, and what is never left half-written."""

import datetime as dt
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from raglift.errors import RunError
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore
from raglift.storage import saving
from raglift.storage.layout import FORMAT
from raglift.storage.saving import save_evaluation
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.filters import Filter
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Hit, Ranking, StageTrace

FILES = ["chunks.jsonl", "queries.jsonl", "run.json", "scores.parquet", "traces.jsonl"]
ODD = Chunk("a lone surrogate \ud800 and a line\u2028separator\r\n", id="odd", doc_id="d", start=0, end=5)


@pytest.fixture
def evaluation():
    """Two stages, a failed query, an unlabelled one, and every kind of label."""
    facts = (
        Fact((Passage("Anna Schérer — “так”"), Passage("a span of it", "d", 3, 15, grade=2))),
        Fact((Passage(chunk_id="c7"),)),
    )
    queries = (
        Query("q1", "Кто? 🙂", facts, tags=("easy", "ру́сский"), judged_irrelevant=(Passage("not that"),)),
        Query("q2", "fails", (Fact((Passage("never found"),)),)),
        Query("q3", "unlabelled"),
        Query("q4", "no answer", answerable=False),
    )
    results = {
        "Кто? 🙂": [
            (
                Chunk("so said Anna Schérer — “так”", id="c1", metadata={"page": 3, "deep": {"list": [1, None]}}),
                0.1 + 0.2,
            ),
            (Chunk("text", id="c7"), float("nan")),
            (ODD, float("-inf")),
        ],
        "fails": RuntimeError("no index 🙂 \ud800"),
        "unlabelled": [("the same", 1e-300), ("the same", None)],
    }
    data = Dataset(queries, name="дата")
    return evaluate(FakeRetriever(results), data, reranker=FakeReranker({"text": 1.0}, top_n=2), ks=(1, 5))


def saved(evaluation, folder):
    return load_evaluation(save_evaluation(evaluation, folder))


@pytest.mark.slow
def test_everything_comes_back(evaluation, tmp_path):
    loaded = saved(evaluation, tmp_path / "run")
    assert loaded.dataset == evaluation.dataset
    assert loaded.run.stages == evaluation.run.stages
    assert loaded.run.spec == evaluation.run.spec
    assert loaded.run.notes == evaluation.run.notes
    assert (loaded.notes, loaded.truncated, loaded.profile) == (
        evaluation.notes,
        evaluation.truncated,
        evaluation.profile,
    )
    np.testing.assert_array_equal(loaded.scores.values, evaluation.scores.values)
    assert loaded.scores.values.dtype == np.float64
    for field in ("query_ids", "stages", "metrics"):
        assert getattr(loaded.scores, field) == getattr(evaluation.scores, field)
    assert str(loaded) == str(evaluation)
    pd.testing.assert_frame_equal(loaded.to_frame(), evaluation.to_frame())
    pd.testing.assert_frame_equal(loaded.per_query(), evaluation.per_query())


@pytest.mark.slow
def test_what_was_loaded_can_be_saved_and_rescored(evaluation, tmp_path):
    once = saved(evaluation, tmp_path / "one")
    save_evaluation(once, tmp_path / "two")
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    settings = {"ks": (2,), "metrics": ["ndcg"], "profile": "tutorial"}
    again, direct = rescore(once, **settings), rescore(evaluation, **settings)
    np.testing.assert_array_equal(again.scores.values, direct.scores.values)
    assert str(again) == str(direct)


@pytest.fixture
def with_chunks():
    """An evaluation that knows the chunks of its index, more of them than it returned."""
    words = ("the keeper trimmed the wick", "the ferry leaves at nine")
    queries = (Query("q0", "unlabelled"), Query("q1", "?", tuple(Fact((Passage(text),)) for text in words)))
    chunks = [f"{words[1]}, they say", words[0], "else"]
    return evaluate(FakeRetriever({"?": [words[0]]}), Dataset(queries), chunks=chunks, ks=(2,))


@pytest.mark.slow
def test_what_is_known_of_the_chunks_comes_back(with_chunks, tmp_path):
    loaded = saved(with_chunks, tmp_path / "run")
    assert loaded.run.inventory == with_chunks.run.inventory
    assert [loss.facts for loss in loaded.failure_analysis().losses] == [0, 1, 0, 1, 0]
    assert str(loaded.failure_analysis()) == str(with_chunks.failure_analysis())
    assert str(loaded.headroom()) == str(with_chunks.headroom())
    assert str(loaded.explain("q1")) == str(with_chunks.explain("q1"))
    assert saved(loaded, tmp_path / "again").run == loaded.run
    assert saved(rescore(loaded, ks=(1,), match="coverage"), tmp_path / "other").failure_analysis().chunks_known


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"touching": [9]}, "found the chunk 9; expected one of the 2"),
        ({"touches": [[1, 0, 0, 7]]}, "found the touch .1, 0, 0, 7.; expected numbers of what is saved"),
        ({"chunks": "many"}, 'inventory.chunks: found "many"; expected an integer, 0 or more'),
    ],
)
def test_damaged_numbers_of_chunks_are_told(with_chunks, tmp_path, change, message):
    head = json.loads((with_chunks.save(tmp_path / "run") / "run.json").read_text("utf-8"))
    head["inventory"] |= change
    (tmp_path / "run" / "run.json").write_text(json.dumps(head), "utf-8")
    with pytest.raises(RunError, match=rf"run\.json: damaged: .*{message}"):
        load_evaluation(tmp_path / "run")


def test_the_files_are_plain(evaluation, tmp_path):
    folder = save_evaluation(evaluation, tmp_path / "run")
    assert sorted(path.name for path in folder.iterdir()) == FILES
    for path in folder.glob("*.json*"):
        text = path.read_bytes().decode("utf-8")  # strictly, and without NaN: other programs read these files too
        for part in [text] if path.suffix == ".json" else text.removesuffix("\n").split("\n"):
            json.loads(part, parse_constant=pytest.fail)
    assert (folder / "scores.parquet").read_bytes()[:4] == b"PAR1"
    frame = pd.read_parquet(folder / "scores.parquet")
    assert list(frame.columns) == ["query_id", "stage", "metric", "value"]
    assert len(frame) == 4 * 2 * len(evaluation.scores.metrics)


def evaluation_of(chunk, score=None, **spec):
    data = Dataset((Query("q", "?", (Fact((Passage("a fact to be found"),)),)),), (Document("d", "text"),))
    return evaluate(FakeRetriever({"?": [(chunk, score)]}), data, ks=(1,), **spec)


class Opaque:
    def __str__(self):
        return "opaque"


@pytest.mark.parametrize("score", [1_700_000_000_000_000_000, Fraction(1, 3)])
def test_a_score_of_any_kind_is_read_again(score, tmp_path):
    (hit,) = saved(evaluation_of(Chunk("text"), score), tmp_path / "run").run.traces[0].stages[0].ranking
    assert hit.score == float(score)


def test_metadata_of_any_kind_is_written(tmp_path):
    metadata = {
        "nan": float("nan"),
        "numpy": np.int64(3),
        "float32": np.float32(0.5),
        "longdouble": np.longdouble(2),
        "bool": np.bool_(True),
        "array": np.array([1.0, np.inf]),
        "date": dt.date(2020, 1, 2),
        "tuple": (1, (2,)),
        "opaque": Opaque(),
        "bytes": b"\xff",
        7: "int key",
    }
    loaded = saved(evaluation_of(Chunk("text", metadata=metadata), np.float32(0.1)), tmp_path / "run")
    (hit,) = loaded.run.traces[0].stages[0].ranking
    assert hit.score == float(np.float32(0.1))
    assert hit.chunk.metadata == {
        "nan": "nan",
        "numpy": 3,
        "float32": 0.5,
        "longdouble": 2.0,
        "bool": True,
        "array": [1.0, "inf"],
        "date": "2020-01-02",
        "tuple": [1, [2]],
        "opaque": "opaque",
        "bytes": "b'\\xff'",
        "7": "int key",
    }


class Unreadable(Mapping):
    def __getitem__(self, key):
        raise LookupError

    def __iter__(self):
        raise LookupError

    def __len__(self):
        return 1


def test_what_no_file_can_hold_of_a_chunk_is_left_out_or_described(tmp_path):
    chunk = Chunk("text", id="c", doc_id="d", start=5, end=10**30, metadata=Unreadable())
    evaluation = filtered()
    stage = StageTrace("retrieve", Ranking((Hit(chunk, 1),)), 0.0)
    run = replace(evaluation.run, traces=(replace(evaluation.run.traces[0], stages=(stage,)),))
    (hit,) = saved(replace(evaluation, run=run), tmp_path / "run").run.traces[0].stages[0].ranking
    assert (hit.chunk.id, hit.chunk.start, hit.chunk.end) == ("c", 5, None)
    assert hit.chunk.metadata == {"metadata": "… (Unreadable, which cannot be read: LookupError)"}


def filtered():
    """An evaluation with a query whose filter some of the chunks match."""
    query = Query("q", "?", (Fact((Passage("a fact to be found"),)),), filter={"year": 2024})
    evaluation = evaluate(FakeRetriever({"?": ["text"]}), Dataset((replace(query, filter=None),)), ks=(1,))
    trace = replace(evaluation.run.traces[0], matching=7)
    return replace(evaluation, dataset=Dataset((query,)), run=replace(evaluation.run, traces=(trace,)))


def test_filters_and_how_many_chunks_match_come_back(tmp_path):
    loaded = saved(filtered(), tmp_path / "run")
    assert loaded.dataset.queries[0].filter == Filter.of({"year": 2024})
    assert loaded.run.traces[0].matching == 7


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (
            "queries.jsonl",
            lambda q: q.update(filter={"year": None}),
            "filter: found an object with .*; expected .*null",
        ),
        ("traces.jsonl", lambda t: t.update(matching=-1), "matching: found -1; expected an integer, 0 or more"),
        ("run.json", lambda r: r.update(profile="ours"), 'profile: found "ours"; expected one of default, '),
        ("run.json", lambda r: r.update(stages=r["stages"] * 2), 'found "retrieve", "retrieve"; expected each name'),
        *(
            ("run.json", lambda r, name=name, value=value: r["spec"].update({name: value}), rf"spec\.{name}")
            for name, value in [
                ("started", "soon"),
                ("started", "0001-01-01T00:00:00+10:00"),
                ("returned", "all"),
                ("k", "ten"),
                ("parts", ["bm25"]),
                ("sweep", {"models": "all"}),
            ]
        ),
        (
            "traces.jsonl",
            lambda t: t["stages"][0].update(hits=[[0, "high"]]),
            'hits: found the score "high"; expected a number or null',
        ),
        (
            "traces.jsonl",
            lambda t: t["stages"][0].update(hits=[["0", 1.0]]),
            'found the chunk "0"; expected one of the',
        ),
    ],
)
def test_what_is_no_filter_profile_name_or_hit_is_damage(tmp_path, name, change, message):
    changed(save_evaluation(filtered(), tmp_path / "run"), name, change)
    with pytest.raises(RunError, match=message):
        load_evaluation(tmp_path / "run")


def test_a_query_that_is_there_twice_is_damage(tmp_path):
    folder = save_evaluation(filtered(), tmp_path / "run")
    for name in ("queries.jsonl", "traces.jsonl"):
        (folder / name).write_bytes((folder / name).read_bytes() * 2)
    with pytest.raises(RunError, match=r"queries\.jsonl: damaged: found an id twice; expected each query once"):
        load_evaluation(folder)


def test_scores_of_other_queries_are_damage(tmp_path):
    folder = save_evaluation(filtered(), tmp_path / "run")
    frame = pd.read_parquet(folder / "scores.parquet")
    frame.assign(query_id=frame["query_id"].astype(str).replace("q", "r").astype("category")).to_parquet(
        folder / "scores.parquet", index=False
    )
    with pytest.raises(RunError, match=r"scores\.parquet: damaged: found other queries, stages or metrics"):
        load_evaluation(folder)


@pytest.mark.parametrize("column", ["query_id", "stage", "metric", "value"])
def test_a_column_that_scores_lack_is_damage(tmp_path, column):
    folder = evaluation_of(Chunk("text")).save(tmp_path / "run")
    frame = pd.read_parquet(folder / "scores.parquet")
    frame.drop(columns=column).to_parquet(folder / "scores.parquet", index=False)
    with pytest.raises(RunError, match=rf'scores\.parquet: damaged: found no column "{column}"'):
        load_evaluation(folder)


@pytest.mark.parametrize("is_scored", [True, False])
def test_scores_that_pandas_wrote_are_read(evaluation, tmp_path, is_scored):
    whole = evaluation if is_scored else Evaluation.unscored(evaluation.run, evaluation.dataset)
    scores = whole.save(tmp_path / "run") / "scores.parquet"
    pd.read_parquet(scores).astype({"query_id": object, "stage": object, "metric": object}).to_parquet(scores)
    read = load_evaluation(tmp_path / "run").scores.values
    assert np.array_equal(read.ravel(), whole.scores.values.ravel(), equal_nan=True)


def test_places_that_may_not_be_looked_into_or_written_are_told(tmp_path, monkeypatch):
    evaluation = filtered()
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)  # to root, everything is allowed
        with pytest.raises(RunError, match=f"run: cannot be written: found no right to write in {tmp_path}; choose"):
            save_evaluation(evaluation, tmp_path / "run")
    stat = Path.stat

    def closed(self, **options):
        if "closed" in self.parts:
            raise PermissionError(13, "Permission denied")
        return stat(self, **options)

    monkeypatch.setattr(Path, "stat", closed)
    with pytest.raises(RunError, match=r"cannot be written: .*Permission denied; choose another folder"):
        save_evaluation(evaluation, tmp_path / "closed" / "run")
    with pytest.raises(RunError, match=r"cannot be read: .*Permission denied; expected the right to look into it"):
        load_evaluation(tmp_path / "closed" / "run")
    assert list(tmp_path.iterdir()) == []


def test_an_evaluation_is_saved_elsewhere_where_the_working_folder_was_removed(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert saved(filtered(), tmp_path / "run").dataset.queries[0].id == "q"


def test_nothing_is_overwritten_unasked(evaluation, tmp_path):
    folder = save_evaluation(evaluation, tmp_path / "run")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(RunError, match=r"found an evaluation there already; .*--overwrite \(overwrite=True\)"):
        save_evaluation(rescore(evaluation, ks=(2,)), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.slow
def test_overwrite_replaces_an_evaluation_and_nothing_else(evaluation, tmp_path):
    folder = save_evaluation(evaluation, tmp_path / "run")
    save_evaluation(rescore(evaluation, ks=(2,)), folder, overwrite=True)
    assert {metric.k for metric in load_evaluation(folder).scores.metrics} == {2}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    (thesis / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(RunError, match=r"not a saved evaluation alone, .*choose another folder$"):
        save_evaluation(evaluation, thesis, overwrite=True)
    with pytest.raises(RunError, match="found something there already"):
        save_evaluation(evaluation, thesis / "thesis.tex", overwrite=True)
    assert (thesis / "thesis.tex").read_text(encoding="utf-8") == "years of work"


@pytest.mark.parametrize("failing", ["write_json"])
@pytest.mark.parametrize("error", [OSError("disk full"), ValueError("odd")], ids=repr)
def test_a_failure_midway_leaves_what_was_there(evaluation, tmp_path, monkeypatch, failing, error):
    folder = save_evaluation(evaluation, tmp_path / "run")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fail(*args):
        raise error

    monkeypatch.setattr(saving, failing, fail)
    with pytest.raises(RunError, match="nothing was changed there") as caught:
        save_evaluation(rescore(evaluation, ks=(2,)), folder, overwrite=True)
    assert caught.value.__cause__ is error
    with pytest.raises(RunError):
        save_evaluation(evaluation, tmp_path / "new")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
@pytest.mark.parametrize("error", [OSError("no rename"), KeyboardInterrupt()], ids=repr)
def test_a_failure_at_the_last_step_brings_back_what_was_there(evaluation, tmp_path, monkeypatch, error):
    folder = save_evaluation(evaluation, tmp_path / "run")
    replace = Path.replace

    def fail(self, target):
        if self.name == "written" and Path(target) == folder:
            raise error
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises((RunError, KeyboardInterrupt)):
        save_evaluation(rescore(evaluation, ks=(2,)), folder, overwrite=True)
    assert {metric.k for metric in load_evaluation(folder).scores.metrics} == {1, 5}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(evaluation, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(RunError, match=r"cannot be written: .*[Pp]ermission"):
        save_evaluation(evaluation, tmp_path / "run")
    tmp_path.chmod(0o700)


def test_no_secret_is_saved(tmp_path, monkeypatch):
    secret = "sk-live-0123456789-never-in-a-file"  # noqa: S105
    monkeypatch.setenv("OPENAI_API_KEY", secret)

    class Client:
        def __init__(self):
            self.api_key = os.environ["OPENAI_API_KEY"]

        def __repr__(self):
            return f"Client({self.api_key})"

        def __call__(self, query, k):
            if query == "fails":
                raise RuntimeError(f"401: {self.api_key} is not allowed")
            return ["text"]

        def rerank_one(self, query, ranking):
            return ranking

    data = Dataset((Query("q1", "fails", (Fact((Passage("x"),)),)), Query("q2", "works")))
    evaluation = evaluate(Client(), data, reranker=Client(), ks=(1,))
    assert secret not in str(evaluation)
    folder = save_evaluation(evaluation, tmp_path / "run")
    for path in folder.iterdir():
        assert secret.encode() not in path.read_bytes()
        assert b"0123456789" not in path.read_bytes()


def damaged(evaluation, folder, name, change):
    save_evaluation(evaluation, folder)
    lines = (folder / name).read_bytes().split(b"\n")
    (folder / name).write_bytes(b"\n".join(change(lines)))
    return folder


def drop_key(number, key):
    def change(lines):
        record = json.loads(lines[number])
        del record[key]
        return [*lines[:number], json.dumps(record).encode(), *lines[number + 1 :]]

    return change


def set_line(number, line):
    return lambda lines: [*lines[:number], line, *lines[number + 1 :]]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("chunks.jsonl", set_line(1, b'{"id": "c7", "te'), r"chunks\.jsonl:2: damaged"),
        ("chunks.jsonl", drop_key(2, "text"), r"chunks\.jsonl:3: damaged: .*text"),
        (
            "chunks.jsonl",
            lambda lines: lines[:2],
            r"traces\.jsonl:1: damaged: .*found the chunk 2; expected one of",
        ),
        (
            "queries.jsonl",
            lambda lines: lines[:2],
            r"traces\.jsonl: damaged: found other queries than in queries",
        ),
        (
            "traces.jsonl",
            set_line(
                0,
                b'{"query_id": "q1", "stages": [{"stage": "retrieve", "seconds": 0, "hits": [[-1, 0]]}], "error": ""}',
            ),
            r"traces\.jsonl:1: damaged: .*found the chunk -1",
        ),
        ("run.json", lambda lines: lines[: len(lines) // 2], r"run\.json: cannot be read"),
        ("scores.parquet", lambda lines: [b"not parquet"], r"scores\.parquet: cannot be read"),
    ],
)
def test_damage_is_told_with_its_file_and_line(evaluation, tmp_path, name, change, message):
    folder = damaged(evaluation, tmp_path / "run", name, change)
    with pytest.raises(RunError, match=message) as caught:
        load_evaluation(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [lambda frame: frame[:-1], lambda frame: frame[::-1], lambda frame: frame.assign(value=-1e101)],
    ids=["short", "reordered", "huge"],
)
def test_scores_of_something_else_are_damage(evaluation, tmp_path, change):
    folder = save_evaluation(evaluation, tmp_path / "run")
    change(pd.read_parquet(folder / "scores.parquet")).to_parquet(folder / "scores.parquet", index=False)
    with pytest.raises(RunError, match=r"scores\.parquet: (damaged|cannot be read)"):
        load_evaluation(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(evaluation, tmp_path, name):
    folder = save_evaluation(evaluation, tmp_path / "run")
    (folder / name).unlink()
    with pytest.raises(RunError, match=name.replace(".", r"\.")):
        load_evaluation(folder)


@pytest.mark.parametrize(("name", "old", "new"), [("queries.jsonl", "not that", "that"), ("chunks.jsonl", "c1", "c2")])
def test_files_that_were_edited_are_named_until_the_run_is_scored_again(evaluation, tmp_path, name, old, new):
    folder = evaluation.save(tmp_path / "run")
    assert load_evaluation(folder).remarks == evaluation.remarks
    (folder / name).write_text((folder / name).read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    edited = load_evaluation(folder)
    assert [name in note for note in edited.notes] == [True, *[False] * len(evaluation.notes)]
    assert not any(name in note for note in rescore(edited).notes)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
@pytest.mark.parametrize("name", FILES)
def test_a_pipe_in_the_folder_is_no_file_to_wait_for(evaluation, tmp_path, name):
    (evaluation.save(tmp_path / "run") / name).unlink()
    os.mkfifo(tmp_path / "run" / name)
    with pytest.raises(RunError):
        load_evaluation(tmp_path / "run")


def test_a_newer_format_is_told(evaluation, tmp_path):
    folder = save_evaluation(evaluation, tmp_path / "run")
    head = json.loads((folder / "run.json").read_bytes())
    (folder / "run.json").write_text(json.dumps(head | {"format": FORMAT + 1}), encoding="utf-8")
    with pytest.raises(RunError, match=r"found format 2; expected 1 or lower: .*upgrade with pip install -U raglift"):
        load_evaluation(folder)


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(RunError, match="absent: found no such folder; expected that of a saved evaluation"):
        load_evaluation(tmp_path / "absent")
    with pytest.raises(RunError, match=r"found a folder without run\.json; expected the folder of a saved evaluation"):
        load_evaluation(tmp_path)
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RunError, match=r"run\.json: found a file; expected the folder"):
        load_evaluation(tmp_path / "run.json")


def changed(folder, name, change, number=0):
    """Change one field of a line of a file, or of `run.json`."""
    path = folder / name
    lines = path.read_bytes().splitlines() if name.endswith(".jsonl") else [path.read_bytes()]
    record = json.loads(lines[number])
    change(record)
    lines[number] = json.dumps(record).encode()
    path.write_bytes(b"\n".join(lines) + b"\n")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("chunks.jsonl", lambda c: c.update(text=5), "text: found 5; expected a text"),
        (
            "queries.jsonl",
            lambda q: q["facts"][0]["passages"][0].update(grade=2.5),
            r"facts\[0\]\.passages\[0\]\.grade: found 2\.5; expected an integer, 0 or more",
        ),
        (
            "traces.jsonl",
            lambda t: t["stages"][0].update(seconds=[1]),
            r"stages\[0\]\.seconds: found a list of 1; expected a number",
        ),
        (
            "traces.jsonl",
            lambda t: t["stages"][0].update(stage="other"),
            'found the stages "other", .*expected them as in',
        ),
        ("run.json", lambda r: r.update(stages=[]), "stages: found a list of 0; expected a list of 1 or more"),
        (
            "run.json",
            lambda r: r["spec"].update(candidates="5"),
            'spec.candidates: found "5"; expected an integer, 1 or more',
        ),
    ],
)
def test_a_field_of_another_kind_is_told_and_not_built_into_a_record(evaluation, tmp_path, name, change, message):
    folder = save_evaluation(evaluation, tmp_path / "run")
    changed(folder, name, change)
    with pytest.raises(RunError, match=message):
        load_evaluation(folder)
