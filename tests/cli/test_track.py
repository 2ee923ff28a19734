"""`--track` and `raglift track`: nothing that was measured is lost by a tracker that fails."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift import metrics
from raglift.metrics.registry import MEASURES

BM25 = ("evaluate", "lighthouse", "--retriever", "bm25", "--reranker", "none", "-k", "1,5", "--metrics", "recall")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working folder in which MLflow keeps its store."""
    folder = tmp_path_factory.mktemp("tracked")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}")
        yield folder


@pytest.fixture(scope="module")
def runs_of(place: Path) -> Callable[[str], list[Any]]:
    """Return the runs of an experiment, oldest first, by MLflow's own client."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's tables are described in a way that SQLAlchemy is about to drop
        import mlflow

        client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{place / 'mlflow.db'}")

    def found(project: str) -> list[Any]:
        experiment = client.get_experiment_by_name(project)
        return client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"])

    return found


@pytest.mark.slow
def test_an_evaluation_is_saved_printed_and_tracked(run, place: Path, runs_of) -> None:
    code, out, err = run(*BM25, "--output", "kept", "--json", "--track", "mlflow", "--track-project", "cli")
    assert code == 0
    assert json.loads(out)["dataset"] == "lighthouse"
    assert err.splitlines()[-1].startswith("tracked by mlflow: cli, kept (")
    (found,) = runs_of("cli")
    mean = rl.load_evaluation("kept").scores.mean("retrieve", "recall@5")
    assert found.data.metrics["retrieve/recall_at_5"] == mean
    assert found.data.params["parts.chunker"].startswith("recursive:1000/100")


@pytest.mark.slow
def test_a_saved_run_is_tracked_later_without_its_files(run, place: Path, ranked, runs_of) -> None:
    ranked([1, 2]).save("saved/later")
    words = ("track", "saved/later", "--to", "mlflow", "--project", "late", "--name", "a/b", "--no-files", "--json")
    code, out, err = run(*words)
    assert (code, err.count("tracked by mlflow")) == (0, 1)
    (found,) = runs_of("late")
    assert [(each["id"], each["name"]) for each in json.loads(out)] == [(found.info.run_id, "a/b")]
    assert found.info.run_name == "a/b"
    assert not list(Path(found.info.artifact_uri).glob("*"))
    assert "mlflow.note.content" not in found.data.tags
    assert run("track", "saved/later", "--to", "mlflow", "--project", "called", "--no-files")[0] == 0
    assert [each.info.run_name for each in runs_of("called")] == ["later"], "by its folder"


@pytest.mark.slow
def test_comparisons_and_new_scores_are_tracked(run, place: Path, ranked, runs_of) -> None:
    one, two = (ranked(ranks).save(f"saved/{name}") for name, ranks in (("one", [1] * 5), ("two", [2] * 5)))
    options = "--track", "mlflow", "--track-project", "more", "--no-track-files"
    assert run("compare", one, two, *options)[0] == 0
    assert run("rescore", one, "-k", "2", *options)[0] == 0
    compared, rescored = runs_of("more")
    assert compared.data.params["baseline"] == "one"
    assert "retrieve/rr_at_2" in rescored.data.metrics


@pytest.mark.slow
def test_a_sweep_and_its_cells_are_tracked(run, place: Path, runs_of) -> None:
    Path("small.yaml").write_text(
        "dataset: lighthouse\nchunkers: ['recursive:1000/100', 'recursive:500/50']\nretrievers: [bm25]\n"
        "rerankers: [none]\nmetrics: [recall]\nks: [5]\n",
        encoding="utf-8",
    )
    assert run("sweep", "small.yaml", "--track", "mlflow", "--track-project", "sweeps")[0] == 0
    parent, *cells = runs_of("sweeps")
    assert [cell.data.tags["mlflow.parentRunId"] for cell in cells] == [parent.info.run_id] * 2
    assert {cell.data.params["cell.chunker"] for cell in cells} == {"recursive:1000/100", "recursive:500/50"}
    (decides,) = (name.removeprefix("best/") for name in parent.data.metrics if name.startswith("best/"))
    assert decides == "recall_area_at_tokens_2000"  # chunks of two sizes
    best = max(cell.data.metrics[f"retrieve/{decides}"] for cell in cells)
    assert parent.data.metrics[f"best/{decides}"] == best
    assert (Path(parent.info.artifact_uri) / "report.html").is_file()


@pytest.mark.slow
def test_what_a_tracker_does_not_take_is_saved_and_how_to_track_it_is_said(
    run, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs_of
) -> None:
    monkeypatch.chdir(tmp_path)

    def refuse(*arguments: object, **options: object) -> None:
        raise OSError("the store is full")

    with monkeypatch.context() as patch:
        patch.setattr("mlflow.MlflowClient.create_run", refuse)
        code, out, err = run(*BM25, "--track", "mlflow", "--track-project", "again")
    assert code == 2
    assert "Recall@5" in out
    assert "the store is full" in err
    command = shlex.split(err.rpartition("track it later with: ")[2])
    assert rl.load_evaluation(command[2]).dataset.name == "lighthouse"
    assert run(*command[1:])[0] == 0
    assert len(runs_of("again")) == 1


@pytest.mark.slow
def test_what_is_sure_to_fail_fails_before_anything_is_measured(
    run, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'no-folder' / 'm.db'}")
    (tmp_path / "no-folder").write_text("a file")
    code, out, err = run(*BM25, "--output", tmp_path / "run", "--track", "mlflow")
    assert (code, out) == (2, "")
    assert "MLFLOW_TRACKING_URI" in err
    assert not (tmp_path / "run").exists()


def test_a_project_without_a_tracker_says_nothing(run) -> None:
    code, _, err = run(*BM25, "--track-project", "x")
    assert code == 2
    assert "expected both" in err


@pytest.mark.slow
def test_a_tracker_must_be_named(run, ranked, tmp_path: Path) -> None:
    ranked([1]).save(tmp_path / "run")
    assert run("track", tmp_path / "run")[0] == 2
    code, _, err = run("track", tmp_path / "run", "--to", "excel")
    assert code == 2
    assert "expected one of mlflow, wandb" in err


def test_a_folder_without_a_run_leaves_no_store_behind(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    code, _, err = run("track", "absent", "--to", "mlflow")
    assert code == 2
    assert "absent: found nothing there" in err
    assert list(tmp_path.iterdir()) == []


def test_a_plan_is_not_tracked(run, tmp_path: Path) -> None:
    code, _, err = run("sweep", tmp_path / "s.yaml", "--plan", "--track", "mlflow")
    assert code == 2
    assert "measures nothing" in err


@pytest.mark.slow
def test_what_was_retrieved_knows_its_parts_when_a_metric_fails(run, tmp_path: Path) -> None:
    def no_number(ranking: object) -> float:
        raise ZeroDivisionError

    metrics.metric("no_number")(no_number)
    try:
        arguments = (*BM25[:-1], "recall,no_number", "--output", tmp_path / "run")
        code, _, err = run(*arguments)
    finally:
        del MEASURES["no_number"]
    assert code == 2
    assert "no_number" in err
    assert rl.load_evaluation(tmp_path / "run").run.spec["parts"]["retriever"] == "bm25"
