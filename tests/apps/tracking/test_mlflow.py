"""What MLflow's own client finds in a local store, for `rl.track` and `raglift track`."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift.apps.tracking.records import TrackedRun
from raglift.apps.tracking.tracking import track
from raglift.errors import ConfigurationError, TrackingFailed
from raglift.report.page import rendering
from raglift.results.evaluation import Evaluation
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.record import Sweep

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client(place: Path, proxy: list[bytes]) -> Any:
    """MLflow's client of the store that it makes by default: SQLite in the working folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's tables are described in a way that SQLAlchemy is about to drop
        import mlflow

        return mlflow.MlflowClient(tracking_uri=f"sqlite:///{place / 'mlflow.db'}")


@pytest.fixture(scope="module")
def tracked(place: Path, reranked: Evaluation) -> TrackedRun:
    return track(reranked, "mlflow", tags={"team": "search"})


def test_parameters_figures_and_tags_of_an_evaluation(tracked: TrackedRun, client: Any, reranked: Evaluation) -> None:
    (experiment,) = client.search_experiments(filter_string="name = 'raglift'")
    (run,) = client.search_runs([experiment.experiment_id], "tags.team = 'search'")
    assert (run.info.run_id, run.info.status, run.info.run_name) == (tracked.id, "FINISHED", tracked.name)
    assert "|" in run.data.tags["mlflow.note.content"]  # the tables of the summary
    parameters, found, scores = run.data.params, run.data.metrics, reranked.scores
    assert parameters["dataset.hash"] == reranked.run.spec["dataset"]["hash"]
    assert parameters["match.mode"] == "containment"
    assert parameters["primary"] == str(reranked.reranker_lift().primary)
    assert parameters["environment.raglift"] == rl.__version__
    assert parameters["stages.retrieve"] == reranked.run.stages[0].system
    for metric in scores.metrics:
        name = {"recall@tokens(2000)": "recall_at_tokens_2000"}.get(str(metric), str(metric).replace("@", "_at_"))
        for stage in scores.stages:
            assert found[f"{stage}/{name}"] == scores.mean(stage, metric)
        assert found[f"lift/{name}"] == reranked.mean_lift(metric)
    row = reranked.reranker_lift().row()
    assert found["primary/value"] == row.after
    assert (found["primary/low"], found["primary/high"]) == (row.after_interval.low, row.after_interval.high)
    assert (found["primary/lift"], found["primary/lift_p"]) == (row.difference.mean, row.difference.p)
    assert (found["queries/asked"], found["queries/failed"], found["queries/unlabelled"]) == (5, 1, 1)
    assert found["latency/retrieve_p50_seconds"] == reranked.run.cost.latencies[0].p50
    lost = {name: value for name, value in found.items() if name.startswith("facts/") and name != "facts/all"}
    assert sum(lost.values()) == found["facts/all"] == 4


def test_the_report_and_the_saved_run_are_artifacts(tracked, client, reranked, tmp_path: Path) -> None:
    folder = Path(client.download_artifacts(tracked.id, "", str(tmp_path)))
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    again = rl.load_evaluation(folder / "run")
    assert again.run.spec["dataset"] == reranked.run.spec["dataset"]
    assert (folder / "figures.csv").read_text(encoding="utf-8").splitlines()[0].startswith("metric,")


def test_nothing_secret_is_in_the_store_and_nobody_is_told_over_a_network(
    tracked: TrackedRun, place: Path, proxy: list[bytes]
) -> None:
    files = [path for path in place.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path for path in files if b"a-secret-of-the-environment" in path.read_bytes()]
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
    assert proxy == []


@pytest.mark.full
def test_a_sweep_and_its_cells_are_runs_under_each_other(client, place: Path, run) -> None:
    sweep = Sweep(
        dataset="lighthouse",
        chunkers=["recursive:1000/100", "recursive:500/50"],
        retrievers=["bm25"],
        rerankers=["none"],
        metrics=["recall"],
        ks=[5],
    )
    sweep.run(place / "small")
    code, out, err = run("track", "small", "--to", "mlflow", "--project", "sweeps", "--json")
    assert (code, err.count("tracked by mlflow: sweeps, small (")) == (0, 1)
    experiment = client.get_experiment_by_name("sweeps")
    parent, *cells = client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"])
    assert json.loads(out)[0]["id"] == parent.info.run_id
    assert [cell.data.tags["mlflow.parentRunId"] for cell in cells] == [parent.info.run_id] * 2
    assert {cell.data.params["cell.chunker"] for cell in cells} == {"recursive:1000/100", "recursive:500/50"}
    (decides,) = (name.removeprefix("best/") for name in parent.data.metrics if name.startswith("best/"))
    assert decides == "recall_area_at_tokens_2000"  # chunks of two sizes
    best = max(cell.data.metrics[f"retrieve/{decides}"] for cell in cells)
    assert parent.data.metrics[f"best/{decides}"] == best
    assert (Path(parent.info.artifact_uri) / "report.html").is_file()


def test_a_cell_that_failed_is_a_run_that_failed_and_says_why(client: Any, failed_sweep: SweepResult) -> None:
    tracked = track(failed_sweep, "mlflow", project="down")
    parent = client.get_run(tracked.id)
    assert (parent.info.status, parent.data.params["best"]) == ("FINISHED", "")
    assert parent.data.metrics == {"cells/all": 1, "cells/measured": 0, "cells/failed": 1}
    assert {file.path for file in client.list_artifacts(tracked.id)} == {"figures.csv", "summary.md"}
    (child,) = tracked.children
    cell = client.get_run(child.id)
    assert cell.info.status == "FAILED"
    assert cell.data.tags["raglift.error"].endswith("OSError: no database at 127.0.0.1:5432")
    assert cell.data.params["cell.system"] == "database"
    assert client.list_artifacts(child.id) == []


def test_without_what_the_page_needs_the_rest_is_kept_and_the_lack_is_noted(
    client: Any, reranked: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr(rendering, "_environment", rendering._environment.__wrapped__)  # which keeps the first
    tracked = track(reranked, "mlflow", project="plain")
    assert [note.partition(":")[0] for note in tracked.notes] == ["report.html was left out"]
    assert {file.path for file in client.list_artifacts(tracked.id)} == {"figures.csv", "summary.md", "run"}


def test_a_saved_run_is_tracked_without_its_files(client, place: Path, ranked, run) -> None:
    ranked([1, 2]).save("saved/later")
    assert run("track", "saved/later", "--to", "mlflow", "--project", "late", "--no-files")[0] == 0
    (found,) = client.search_runs([client.get_experiment_by_name("late").experiment_id])
    assert found.info.run_name == "later", "by its folder"
    assert not list(Path(found.info.artifact_uri).glob("*"))
    assert "mlflow.note.content" not in found.data.tags


def test_a_mean_over_nothing_is_no_figure(client, ranked) -> None:
    nothing_labelled = ranked([1, 2], unlabelled=[0, 1])
    found = client.get_run(track(nothing_labelled, "mlflow", files=False).id).data.metrics
    assert "retrieve/rr_at_1" not in found
    assert found["queries/unlabelled"] == 2


def test_a_server_that_is_not_there_is_an_error_without_its_password(reranked, monkeypatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://ann:opensesame@127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(TrackingFailed, match=r"mlflow: .*MLFLOW_TRACKING_URI") as caught:
        track(reranked, "mlflow", files=False)
    assert "opensesame" not in str(caught.value)
    assert "nothing of what was measured is lost" in str(caught.value)


def test_a_run_that_cannot_be_finished_is_marked_as_failed(client, reranked, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError("the store is full")

    monkeypatch.setattr("mlflow.MlflowClient.log_artifacts", refuse)
    with pytest.raises(TrackingFailed, match="the store is full"):
        track(reranked, "mlflow", project="torn")
    (found,) = client.search_runs([client.get_experiment_by_name("torn").experiment_id])
    assert found.info.status == "FAILED"


def test_another_tracker_or_result_is_refused(reranked: Evaluation, run, ranked, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="expected one of mlflow, wandb"):
        track(reranked, "excel")
    with pytest.raises(ConfigurationError, match="found a dict"):
        track({}, "mlflow")  # type: ignore[arg-type]
    ranked([1]).save(tmp_path / "run")
    assert run("track", tmp_path / "run")[0] == 2
