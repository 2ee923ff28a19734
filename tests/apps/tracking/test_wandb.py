"""What is in the file of a W&B run that was kept offline."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raglift.apps.tracking.records import TrackedRun
from raglift.apps.tracking.tracking import track
from raglift.errors import TrackingFailed
from raglift.results.evaluation import Evaluation
from raglift.sweep.result import SweepResult

pytestmark = pytest.mark.slow

_HEADER, _BLOCK, _PIECE = 7, 32 * 1024, 7
_LAST = (1, 4)


def records_of(path: Path) -> Iterator[Any]:
    """Yield the records of a run's file, by W&B's own message types.

    It is a log in LevelDB's form: a header of 7 bytes, then blocks of 32 KiB that hold pieces of records, each after a
    checksum of 4 bytes, a length of 2 and a kind: 1 whole, 2 first, 3 middle, 4 last.
    """
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, whole = path.read_bytes(), _HEADER, b""
    assert data[:4] == b":W&B"
    while at + _PIECE <= len(data):
        if _BLOCK - at % _BLOCK < _PIECE:  # what is left of a block is too short for a piece
            at += _BLOCK - at % _BLOCK
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + _PIECE])
        whole += data[at + _PIECE : at + _PIECE + length]
        at += _PIECE + length
        if kind in _LAST:
            record = Record()
            record.ParseFromString(whole)
            yield record
            whole = b""


@pytest.fixture(scope="module")
def offline(place: Path, proxy: list[bytes]) -> Iterator[Path]:
    """W&B set up to keep runs in a folder, with all of its own folders next to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        for name in ("DIR", "DATA_DIR", "CACHE_DIR", "CONFIG_DIR", "ARTIFACT_DIR"):
            (place / name).mkdir()
            patch.setenv(f"WANDB_{name}", str(place / name))
        patch.delenv("WANDB_API_KEY", raising=False)
        yield place


@pytest.fixture(scope="module")
def kept(offline: Path, reranked: Evaluation) -> TrackedRun:
    return track(reranked, "wandb", name="Ä/b: c", project="mine", tags={"team": "search"})


@pytest.fixture(scope="module")
def found(kept: TrackedRun) -> list[Any]:
    """The records of the run, in order."""
    import wandb

    wandb.teardown()  # as at the end of a program: until then some may not have been written
    (path,) = Path(kept.where).glob("*.wandb")
    return list(records_of(path))


@pytest.fixture(scope="module")
def config(found: list[Any]) -> dict[str, Any]:
    (run,) = [record.run for record in found if record.HasField("run")]
    return {item.key: json.loads(item.value_json) for item in run.config.update}


@pytest.fixture(scope="module")
def rows(found: list[Any]) -> list[dict[str, Any]]:
    """What was logged, one mapping a step."""
    return [
        {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
        for record in found
        if record.HasField("history")
    ]


def test_the_run_holds_the_spec_and_the_figures(
    found: list[Any], kept: TrackedRun, config: dict[str, Any], rows: list[dict[str, Any]], reranked: Evaluation
) -> None:
    (run,) = [record.run for record in found if record.HasField("run")]
    assert (run.project, run.display_name, run.job_type, run.run_id) == ("mine", "Ä/b: c", "evaluation", kept.id)
    assert list(run.tags) == ["team=search"]
    assert config["dataset"] == reranked.run.spec["dataset"]
    assert config["stages"] == {stage.name: stage.system for stage in reranked.run.stages}
    for stage in reranked.scores.stages:
        assert rows[0][f"{stage}/ndcg_at_3"] == pytest.approx(reranked.scores.mean(stage, "ndcg@3"))
    assert rows[0]["queries/failed"] == 1
    assert kept.notes == (f"kept offline; upload it with: wandb sync {kept.where}",)


def test_the_report_and_the_saved_run_are_an_artifact(found: list[Any]) -> None:
    (artifact,) = [
        record.request.log_artifact.artifact if record.HasField("request") else record.artifact
        for record in found
        if record.HasField("artifact") or (record.HasField("request") and record.request.HasField("log_artifact"))
    ]
    paths = {entry.path: Path(entry.local_path) for entry in artifact.manifest.contents}
    assert {"report.html", "summary.md", "figures.csv", "run/run.json", "run/traces.jsonl"} <= set(paths)
    assert all(path.is_file() for path in paths.values())  # until it is uploaded


def test_of_the_machine_just_what_the_page_says_is_told(found: list[Any], config: dict[str, Any]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "tracking.md").read_text(encoding="utf-8")
    assert "parameters `environment`" in page
    packages = {*config["environment"]} - {"python", "machine", "system", "processor", "cores"}
    known = {"torch": "PyTorch", "faiss-cpu": "Faiss", "haystack-ai": "Haystack"}
    told = re.sub(r"\W", "", page).lower()
    for name in packages:
        assert re.sub(r"-core|\W", "", known.get(name, name)).lower() in told, name
    (run,) = [record.run for record in found if record.HasField("run")]
    assert not run.host


def test_nothing_of_the_machine_or_of_secrets_is_kept_or_sent(
    offline: Path, kept: TrackedRun, proxy: list[bytes]
) -> None:
    files = [path for path in offline.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [path for path in files if b"a-secret-of-the-environment" in path.read_bytes()]
    assert not list(Path(kept.where).rglob("wandb-metadata.json"))
    assert not list(Path(kept.where).rglob("requirements.txt"))
    assert proxy == []


def test_a_setting_that_is_refused_is_named(offline: Path, reranked: Evaluation) -> None:
    with pytest.raises(TrackingFailed, match=r"wandb: .*cannot contain"):
        track(reranked, "wandb", project="../x", files=False)


def test_a_cell_that_failed_is_a_run_of_the_group_that_failed(offline: Path, failed_sweep: SweepResult) -> None:
    import wandb

    tracked = track(failed_sweep, "wandb", files=False)
    wandb.teardown()
    whole, cell = (list(records_of(next(Path(run.where).glob("*.wandb")))) for run in (tracked, *tracked.children))
    assert [record.exit.exit_code for record in (*whole, *cell) if record.HasField("exit")] == [0, 1]
    assert len({record.run.run_group for record in (*whole, *cell) if record.HasField("run")}) == 1
    told = [item.value_json for record in cell if record.HasField("summary") for item in record.summary.update]
    assert any("no database at 127.0.0.1:5432" in text for text in told)
