"""The files of an export: what is in them, and what is never replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import raglift as rl
from raglift.errors import ConfigurationError, DatasetError
from raglift.results.evaluation import Evaluation
from raglift.storage.rankings.exporting import export
from raglift.storage.rankings.read import read_qrels, read_run
from raglift.storage.rankings.scoring import score_files
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query

FORMS = {"trec": ("run.trec", "qrels.txt"), "parquet": ("run.parquet", "qrels.parquet")}


def evaluated(hits: dict[str, list[tuple[str, float | None]]], relevant: dict[str, dict[str, int]]) -> Evaluation:
    """Evaluate rankings of ids with scores; a reranker turns them around."""
    queries = tuple(
        Query(
            query,
            f"Where is {query}?",
            tuple(Fact((Passage(chunk_id=each, grade=grade),)) for each, grade in labels.items() if grade),
            judged_irrelevant=tuple(Passage(chunk_id=each) for each, grade in labels.items() if not grade),
        )
        for query, labels in relevant.items()
    )
    found = {
        f"Where is {query}?": [(Chunk(f"text {each}", id=each), score) for each, score in of_query]
        for query, of_query in hits.items()
    }
    places = {f"text {each}": float(place) for of_query in hits.values() for place, (each, _) in enumerate(of_query)}
    return rl.evaluate(
        FakeRetriever(found),
        Dataset(queries, name="ids"),
        reranker=FakeReranker(places),
        ks=(2,),
        metrics=("ndcg", "rr"),
    )


@pytest.fixture
def evaluation() -> Evaluation:
    hits: dict[str, list[tuple[str, float | None]]] = {
        "q1": [("a", 0.75), ("b", 0.5), ("c", 0.5)],
        "q2": [],
        "q3": [("d", 2)],
    }
    return evaluated(hits, {"q1": {"b": 2, "c": 0}, "q2": {"a": 1}, "q3": {"d": 3}})


def text(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_a_trec_run_and_qrels(evaluation: Evaluation, tmp_path: Path) -> None:
    made = evaluation.to_trec(tmp_path / "new" / "folder", stage="retrieve")
    assert made.folder == tmp_path / "new" / "folder"
    names = ["export.json", "qrels.txt", "run.trec"]
    assert sorted(path.name for path in made.folder.iterdir()) == names
    assert text(made.folder / "run.trec") == [
        "q1 Q0 a 1 0.75 retrieve",
        "q1 Q0 b 2 0.5 retrieve",
        "q1 Q0 c 3 0.4999999701976776 retrieve",
        "q3 Q0 d 1 2.0 retrieve",
    ]
    assert text(made.folder / "qrels.txt") == ["q1 0 b 2", "q1 0 c 0", "q2 0 a 1", "q3 0 d 3"]
    told = str(made)
    assert "4 hits of 3 queries after retrieve, with its own scores, 1 of them lowered by the smallest step" in told
    assert "4 labels of 3 queries, 1 of them judged irrelevant" in told
    assert "AP and NDCG for all 3 labelled queries." in told
    assert "Queries that nothing came back for, which count 0 in raglift: 1; trec_eval counts them only with -c" in told
    assert repr(made) == f"Export({str(made.folder)!r}, 2 files; print() shows them)"


def test_all_stages_have_a_file_each_and_the_last_is_the_default(evaluation: Evaluation, tmp_path: Path) -> None:
    evaluation.to_trec(tmp_path / "all", all_stages=True)
    evaluation.to_trec(tmp_path / "last")
    first, last = text(tmp_path / "all" / "run.1-retrieve.trec"), text(tmp_path / "all" / "run.2-rerank.trec")
    assert [line.split()[2] for line in first] == ["a", "b", "c", "d"]
    assert [line.split()[2] for line in last] == ["c", "b", "a", "d"]
    assert text(tmp_path / "last" / "run.trec") == last


@pytest.mark.parametrize("scores", [(0.25, 0.5), (0.5, float("nan"))])
def test_scores_that_do_not_tell_the_order_count_the_ranks_down(
    scores: tuple[float | None, float | None], tmp_path: Path
) -> None:
    found: dict[str, list[tuple[str, float | None]]] = {
        "q1": list(zip("ab", scores, strict=True)),
        "q2": [("a", 7.5)],
    }
    made = evaluated(found, {"q1": {"b": 1}, "q2": {"a": 1}}).to_trec(tmp_path / "out", stage="retrieve")
    assert [line.split()[4] for line in text(made.folder / "run.trec")] == ["2.0", "1.0", "1.0"]
    assert "with scores that count the ranks down to 1" in str(made)


def test_a_repeated_id_keeps_only_its_first_rank(tmp_path: Path) -> None:
    found: dict[str, list[tuple[str, float | None]]] = {"q1": [("a", 3), ("b", 2), ("a", 2), ("c", 1)]}
    made = evaluated(found, {"q1": {"c": 1}}).to_trec(tmp_path / "out", stage="retrieve")
    assert [line.split()[2:5] for line in text(made.folder / "run.trec")] == [
        ["a", "1", "3.0"],
        ["b", "2", "2.0"],
        ["c", "3", "1.0"],
    ]
    assert made.differing == ("q1",)
    assert "for 0 of 1 labelled queries" in str(made)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_read_and_scored_as_before(form: str, evaluation: Evaluation, tmp_path: Path) -> None:
    made = export(evaluation, tmp_path / "out", form=form)  # type: ignore[arg-type]
    run, qrels = (made.folder / name for name in FORMS[form])
    assert dict(read_run(run).items()) | {"q2": []} == {"q1": ["c", "b", "a"], "q2": [], "q3": ["d"]}
    assert {query: dict(labels) for query, labels in read_qrels(qrels).items()} == {
        "q1": {"b": 2, "c": 0},
        "q2": {"a": 1},
        "q3": {"d": 3},
    }
    for metric in ("ndcg@2", "rr@2"):
        scored = score_files(run, qrels, [metric]).runs[0].scores
        assert scored.of(metric).tolist() == evaluation.scores.of("rerank", metric).tolist()


def test_ids_that_trec_cannot_hold_are_escaped_as_in_a_url(tmp_path: Path) -> None:
    names = ["my file.txt", "b\u00a0c", "tab\t", "fine", "line\u2028", "\x1b[31m"]
    found: dict[str, list[tuple[str, float | None]]] = {"q 1": [(each, None) for each in names]}
    evaluation = evaluated(found, {"q 1": {"my file.txt": 1, "100%": 1}})
    made = evaluation.to_trec(tmp_path / "out", stage="retrieve")
    escaped = ["my%20file.txt", "b%C2%A0c", "tab%09", "fine", "line%E2%80%A8", "%1B[31m"]
    assert [line.split(" ")[2] for line in text(made.folder / "run.trec")] == escaped
    assert text(made.folder / "qrels.txt") == ["q%201 0 my%20file.txt 1", "q%201 0 100%25 1"]
    assert "escaped as in a URL" in str(made)
    again = export(evaluation, tmp_path / "lines", form="parquet", stage="retrieve")
    assert dict(read_run(again.folder / "run.parquet").items()) == {"q 1": names}
    unchanged = evaluated({"q1": [("100%", None)]}, {"q1": {"100%": 1}}).to_trec(tmp_path / "unchanged")
    assert text(unchanged.folder / "qrels.txt") == ["q1 0 100% 1"]


def test_only_an_export_is_replaced_and_only_when_asked(evaluation: Evaluation, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    evaluation.to_trec(folder, all_stages=True)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(
        DatasetError, match="an export there already; expected a new or empty folder, or overwrite=True"
    ):
        export(evaluation, folder, form="parquet")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    export(evaluation, folder, form="parquet", overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == ["export.json", "qrels.parquet", "run.parquet"]
    (folder / "mine.txt").write_text("precious")
    with pytest.raises(DatasetError, match="not an export alone, and so is not overwritten"):
        evaluation.to_trec(folder, overwrite=True)
    assert (folder / "mine.txt").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("manifest", [None, '{"files": [{"name": "qrels.txt"}]}', "x"])
def test_a_folder_of_the_users_is_no_export(manifest: str | None, evaluation: Evaluation, tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").write_text("1\tWho?\n")
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n")
    if manifest is not None:
        (tmp_path / "export.json").write_text(manifest)
    for overwrite in (False, True):
        with pytest.raises(DatasetError, match="something there already"):
            evaluation.to_trec(tmp_path, overwrite=overwrite)
    assert (tmp_path / "qrels.txt").read_text() == "1 0 a 1\n"
    with pytest.raises(DatasetError, match="something there already"):
        evaluation.to_trec(tmp_path / "qrels.txt", overwrite=True)


def test_a_failure_leaves_nothing_behind(
    evaluation: Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from raglift.storage.rankings import exporting as evaluations

    folder = tmp_path / "out"
    evaluation.to_trec(folder)
    before = text(folder / "run.trec")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(evaluations, "write_labels", full)
    with pytest.raises(DatasetError, match="No space left on device"):
        evaluation.to_trec(folder, stage="retrieve", overwrite=True)
    assert text(folder / "run.trec") == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_cannot_be_asked_for(evaluation: Evaluation, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(ConfigurationError, match="stage: found 'fuse'; expected one of retrieve, rerank"):
        evaluation.to_trec(out, stage="fuse")
    with pytest.raises(ConfigurationError, match="expected one of the two"):
        evaluation.to_trec(out, stage="rerank", all_stages=True)
    with pytest.raises(ConfigurationError, match="form: found 'csv'; expected one of trec, parquet"):
        export(evaluation, out, form="csv")  # type: ignore[arg-type]
    assert not out.exists()


def test_another_profile_and_unlabelled_queries_are_told(ranked: Callable[..., Evaluation], tmp_path: Path) -> None:
    made = ranked([1, 2, 3], unlabelled=[1], profile="tutorial").to_trec(tmp_path / "out")
    assert "Queries without labels, which no mean counts: 1; only rankings have them." in str(made)
    assert "scored by the conventions of tutorial, and not by the default ones" in str(made)
    assert "are no labels for another run" in str(made)
