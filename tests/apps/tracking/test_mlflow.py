"""What MLflow's own client finds in a local store."""

from __future__ import annotations

import math
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift import metrics
from raglift.apps.tracking import tracking as telling
from raglift.apps.tracking.records import Record, TrackedRun
from raglift.apps.tracking.tracking import open_tracker, publish, track
from raglift.errors import ConfigurationError, MissingDependency, TrackingFailed
from raglift.metrics.registry import MEASURES
from raglift.results.evaluation import Evaluation

pytestmark = pytest.mark.slow


def publish_record(record: Record, project: str | None = None, **tags: str) -> TrackedRun:
    return publish(open_tracker("mlflow", project), record, tags=tags)


@pytest.fixture(scope="module")
def client(place: Path, proxy: list[bytes]) -> Any:
    """MLflow's client of the store that it makes by default: SQLite in the working folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's tables are described in a way that SQLAlchemy is about to drop
        import mlflow

        return mlflow.MlflowClient(tracking_uri=f"sqlite:///{place / 'mlflow.db'}")


@pytest.fixture(scope="module")
def kept(place: Path, reranked: Evaluation) -> TrackedRun:
    return track(reranked, "mlflow", tags={"team": "search"})


def test_parameters_are_the_spec_the_stages_and_the_dataset(kept, client, reranked: Evaluation) -> None:
    parameters = client.get_run(kept.id).data.params
    assert parameters["dataset.hash"] == reranked.run.spec["dataset"]["hash"]
    assert parameters["candidates"] == str(reranked.run.spec["candidates"])
    assert parameters["match.mode"] == "containment"
    assert parameters["primary"] == str(reranked.reranker_lift().primary)
    assert parameters["environment.raglift"] == rl.__version__
    assert parameters["stages.retrieve"] == reranked.run.stages[0].system


def test_each_metric_of_each_stage_is_there_under_a_name_that_mlflow_takes(kept, client, reranked) -> None:
    found = client.get_run(kept.id).data.metrics
    scores = reranked.scores
    for metric in scores.metrics:
        name = {"recall@tokens(2000)": "recall_at_tokens_2000"}.get(str(metric), str(metric).replace("@", "_at_"))
        for stage in scores.stages:
            assert found[f"{stage}/{name}"] == scores.mean(stage, metric)
        assert found[f"lift/{name}"] == reranked.mean_lift(metric)


def test_the_metric_that_decides_has_its_interval_and_its_lift(kept, client, reranked) -> None:
    found = client.get_run(kept.id).data.metrics
    row = reranked.reranker_lift().row()
    assert found["primary/value"] == row.after
    assert (found["primary/low"], found["primary/high"]) == (row.after_interval.low, row.after_interval.high)
    assert found["primary/lift"] == row.difference.mean
    assert found["primary/lift_p"] == row.difference.p


def test_failures_latency_and_where_facts_were_lost_are_there(kept, client, reranked) -> None:
    found = client.get_run(kept.id).data.metrics
    assert (found["queries/asked"], found["queries/failed"], found["queries/unlabelled"]) == (5, 1, 1)
    assert found["latency/retrieve_p50_seconds"] == reranked.run.cost.latencies[0].p50
    lost = {name: value for name, value in found.items() if name.startswith("facts/") and name != "facts/all"}
    assert sum(lost.values()) == found["facts/all"] == 4


def test_the_report_and_the_saved_run_are_artifacts(kept, client, reranked, tmp_path: Path) -> None:
    folder = Path(client.download_artifacts(kept.id, "", str(tmp_path)))
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    again = rl.load_evaluation(folder / "run")
    assert again.run.spec["dataset"] == reranked.run.spec["dataset"]
    assert (folder / "figures.csv").read_text(encoding="utf-8").splitlines()[0].startswith("metric,")


def test_a_run_is_found_by_its_tags_and_says_what_it_is(kept, client) -> None:
    (experiment,) = client.search_experiments(filter_string="name = 'raglift'")
    (run,) = client.search_runs([experiment.experiment_id], "tags.team = 'search'")
    assert run.info.run_id == kept.id
    assert (run.info.status, run.info.run_name) == ("FINISHED", kept.name)
    assert "|" in run.data.tags["mlflow.note.content"]  # the tables of the summary
    assert kept.project == "raglift"
    assert str(kept).startswith("mlflow: raglift, stones")


def test_nothing_secret_is_in_the_store(kept, place: Path) -> None:
    files = [path for path in place.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path for path in files if b"a-secret-of-the-environment" in path.read_bytes()]


def test_nobody_is_told_of_it_over_a_network(kept, proxy: list[bytes]) -> None:
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
    assert proxy == []


def test_a_comparison_tells_what_each_system_differs_by(client, ranked) -> None:
    good, bad = ranked([1] * 6), ranked([2] * 6)
    comparison = rl.compare({"team/good (v2)": good, "bad": bad}, baseline="bad")
    run = client.get_run(track(comparison, "mlflow", project="other", name="a/b\n../c", files=False).id)
    metric = str(comparison.primary).replace("@", "_at_")
    assert run.data.metrics[f"team_good_v2/{metric}"] == 1.0
    assert run.data.metrics["team_good_v2/primary_difference"] == 0.5
    assert run.data.metrics["team_good_v2/primary_p_holm"] == comparison.row("team/good (v2)").p_holm
    assert run.data.params["systems.team_good_v2.name"] == "team/good (v2)"
    assert run.info.run_name == "a/b ../c"
    assert client.get_experiment(run.info.experiment_id).name == "other"
    assert not client.list_artifacts(run.info.run_id)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tags": {"team": ["a"]}}, r"tags: 'team': found \['a'\]; expected a name, and a text"),
        ({"tags": "team"}, "tags: found 'team'; expected a mapping"),
        ({"project": " "}, "project: found ' '; expected a name, or none for the tracker's own settings"),
    ],
)
def test_what_is_no_text_is_refused_by_name_and_type_before_a_tracker_is_asked(
    arguments: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch, reranked: Evaluation
) -> None:
    monkeypatch.setitem(telling.TRACKERS, "mlflow", lambda _: pytest.fail("MLflow was asked"))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=said):
        track(reranked, "mlflow", **arguments)


def test_a_project_that_mlflow_refuses_is_not_laid_to_the_store(client) -> None:
    with pytest.raises(TrackingFailed, match="names of the experiment"):
        publish_record(Record("evaluation", "x"), "x" * 600)


def test_runs_under_a_run_are_its_children_and_what_failed_has_failed(client) -> None:
    cells = (Record("cell", "one", figures={"x": 1.0}), Record("cell", "two", error="no such model"))
    kept = publish_record(Record("sweep", "all", children=cells), "sweeps")
    runs = [client.get_run(child.id) for child in kept.children]
    assert [run.data.tags["mlflow.parentRunId"] for run in runs] == [kept.id, kept.id]
    assert [run.info.status for run in runs] == ["FINISHED", "FAILED"]
    assert runs[1].data.tags["raglift.error"] == "no such model"


def test_a_metric_of_ones_own_does_not_take_the_place_of_another(client, ranked) -> None:
    own = metrics.metric("recall_at_1", takes_k=False)(lambda ranking: 0.25)
    try:
        evaluation = ranked([1, 2], metrics=("recall", own), ks=(1,))
        found = client.get_run(track(evaluation, "mlflow", files=False).id).data.metrics
    finally:
        del MEASURES["recall_at_1"]
    assert found["retrieve/recall_at_1"] == 0.5
    assert found["retrieve/recall_at_1_2"] == 0.25


def test_long_and_many_values_are_taken(client) -> None:
    record = Record(
        "evaluation",
        "wide",
        parameters={
            "long": "x" * 9000,
            "n": {f"p{i}@{'y' * 300}": i for i in range(150)},
            "list": [1, 2],
            "a=b": 1,
            "a_b": 2,
        },
        figures={f"f/{i}": float(i) for i in range(1200)},
        summary="s" * 9000,
    )
    run = client.get_run(publish_record(record, "wide", t="u" * 9000).id)
    assert len(run.data.metrics) == 1200
    assert run.data.params["long"].endswith("…")
    assert run.data.params["list"] == "1, 2"
    assert (run.data.params["a_b"], run.data.params["a_b_2"]) == ("1", "2")
    assert len(run.data.params) == 154


def test_what_is_no_number_is_left_out(ranked, client) -> None:
    nothing_labelled = ranked([1, 1], unlabelled=[0, 1])
    assert math.isnan(nothing_labelled.scores.mean("retrieve", "rr@1"))
    found = client.get_run(track(nothing_labelled, "mlflow", files=False).id).data.metrics
    assert "retrieve/rr_at_1" not in found
    assert found["queries/unlabelled"] == 2


@pytest.mark.parametrize("address", [None, "sqlite:///{}/a/m.db", "sqlite+pysqlite:///{}/m.db?timeout=1"])
def test_a_store_in_a_folder_without_the_right_to_write_is_refused_before_it_is_asked(
    address: str | None, client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if address is not None:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address.format(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK)
    monkeypatch.setattr("mlflow.MlflowClient.__init__", lambda *_, **__: pytest.fail("MLflow was asked"))
    with pytest.raises(TrackingFailed, match=f"no right to write in {tmp_path};.*MLFLOW_TRACKING_URI"):
        open_tracker("mlflow")


def test_a_server_that_is_not_there_is_named_without_its_password(reranked, free_port, monkeypatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://ann:opensesame@127.0.0.1:{free_port}")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(TrackingFailed, match=f"mlflow: http://127.0.0.1:{free_port}") as caught:
        track(reranked, "mlflow", files=False)
    assert "opensesame" not in str(caught.value)
    assert "nothing of what was measured is lost" in str(caught.value)


def test_a_run_that_cannot_be_finished_is_marked_as_failed(client, tmp_path: Path) -> None:
    def no_room(folder: Path) -> tuple[str, ...]:
        (folder / "report.html").write_text("x")
        (folder / "gone").symlink_to(tmp_path / "nowhere")
        return ()

    with pytest.raises(TrackingFailed):
        publish_record(Record("evaluation", "torn", write_files=no_room), "torn")
    (experiment,) = client.search_experiments(filter_string="name = 'torn'")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FAILED"


def test_a_package_that_a_local_store_needs_is_named(
    client, reranked, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*arguments: object, **options: object) -> None:
        raise ModuleNotFoundError("No module named 'alembic'", name="alembic")

    monkeypatch.setattr("mlflow.MlflowClient.create_run", missing)
    with pytest.raises(MissingDependency, match=r"alembic.*raglift\[track\]"):
        track(reranked, "mlflow", files=False)


def test_mlflow_prints_nothing_among_what_a_program_reads(
    client, reranked, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # It prints the pages of a server, as whose a local store passes here
    monkeypatch.setattr("mlflow.tracking._tracking_service.client.RestStore", object)
    monkeypatch.setattr("mlflow.tracking._tracking_service.client.get_workspace_url", lambda: "http://127.0.0.1")
    track(reranked, "mlflow", files=False)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("result", "tracker", "said"),
    [(None, "excel", "expected one of mlflow, wandb"), ({}, "mlflow", "found a dict")],
)
def test_another_tracker_or_result_is_refused(reranked: Evaluation, result: Any, tracker: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        track(reranked if result is None else result, tracker)


def test_settings_of_mlflow_for_its_experiment_are_followed(client, reranked, monkeypatch) -> None:
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "theirs")
    assert track(reranked, "mlflow", files=False).project == "theirs"
    identity = client.get_experiment_by_name("theirs").experiment_id
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", identity)
    assert track(reranked, "mlflow", files=False).project == "theirs"
