"""Beginning, going on with and reading sweeps."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from raglift.errors import ConfigurationError, MissingDependency, ModelOutputError, RunError
from raglift.metrics.custom import metric
from raglift.metrics.registry import MEASURES
from raglift.retrieval.batches import HERE
from raglift.retrieval.rerankers import PairReranker
from raglift.sweep.engine import load_sweep_result, plan_sweep, run_sweep
from raglift.sweep.measuring import score_pairs
from raglift.sweep.planning import Plan
from raglift.sweep.specification.record import Sweep, load_sweep
from raglift.types.dataset import Dataset

OTHERWISE = "the dataset, a mapping file, the code of a metric or raglift itself"


@pytest.fixture
def sweep(island: Dataset) -> Sweep:
    return Sweep(dataset=island, chunkers="recursive:200/0", retrievers="bm25", ks=1, primary="ndcg@1")


def test_the_plan_is_announced_before_anything_is_measured(sweep: Sweep, tmp_path: Path) -> None:
    seen: list[tuple[Plan, bool]] = []
    cells = tmp_path / "sweep/cells"
    run_sweep(
        sweep, tmp_path / "sweep", progress=False, announce=lambda plan: seen.append((plan, any(cells.glob("*"))))
    )
    ((plan, measured),) = seen
    assert (len(plan.cells), measured) == (1, False)


@pytest.mark.slow
def test_what_is_kept_is_what_came_back_without_the_documents(sweep: Sweep, tmp_path: Path) -> None:
    result = run_sweep(sweep, tmp_path / "sweep", progress=False)
    kept = load_sweep_result(tmp_path / "sweep")
    assert str(kept) == str(result)
    assert kept.to_frame().equals(result.to_frame())
    one, other = result.results[0].evaluation, kept.results[0].evaluation
    assert one is not None
    assert other is not None
    assert (len(one.dataset.documents), len(other.dataset.documents)) == (3, 0)


@pytest.mark.slow
def test_a_dataset_that_has_changed_is_another_sweep(sweep: Sweep, island: Dataset, tmp_path: Path) -> None:
    run_sweep(sweep, tmp_path / "sweep", progress=False)
    changed = replace(sweep, dataset=replace(island, queries=island.queries[:4]))
    with pytest.raises(ConfigurationError, match="found another sweep there"):
        run_sweep(changed, tmp_path / "sweep", resume=True, progress=False)
    with pytest.raises(ConfigurationError, match=f"found another sweep there: {OTHERWISE} has changed"):
        plan_sweep(changed, tmp_path / "sweep")


def test_labels_that_a_metric_cannot_use_are_told_before_any_work(sweep: Sweep, tmp_path: Path) -> None:
    asked = replace(sweep, metrics=("ndcg", "bpref"))
    with pytest.raises(ConfigurationError, match="bpref@1: found labels that say of nothing"):
        run_sweep(asked, tmp_path / "sweep", progress=False)
    assert not (tmp_path / "sweep").exists()


@pytest.mark.slow
def test_a_users_own_metric_is_shown_where_it_is_not_installed(sweep: Sweep, tmp_path: Path) -> None:
    metric("lead", title="Lead")(lambda ranking: ranking.relevant[0])
    asked = replace(sweep, metrics=("ndcg", "lead"), primary="lead@1")
    found = run_sweep(asked, tmp_path / "sweep", progress=False).best()
    MEASURES.pop("lead")
    kept = load_sweep_result(tmp_path / "sweep")  # which puts a stand-in for the metric among the measures
    assert str(kept.primary) == "lead@1"
    assert found is not None
    best = kept.best()
    assert best is not None
    assert best.value(kept.primary) == found.value(kept.primary)
    MEASURES.pop("lead")


METRIC = """
from raglift.metrics import metric

@metric("users_own")
def users_own(ranking):
    return {factor} * ranking.relevant[0]
"""
WRITTEN = {"factor": "0.5"}


@pytest.mark.slow
@pytest.mark.parametrize(("changed", "is_refused"), [({}, False), ({"factor": "0.75"}, True)])
def test_a_sweep_is_not_gone_on_with_where_the_code_of_a_users_metric_has_changed(
    sweep: Sweep, tmp_path: Path, changed: dict[str, str], is_refused: bool
) -> None:
    def asked(written: dict[str, str]) -> Sweep:
        MEASURES.pop("users_own", None)
        folder = tmp_path / f"attempt-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / "of_a_user.py").write_text(METRIC.format(**written), encoding="utf-8")
        spec = spec_from_file_location("of_a_user", folder / "of_a_user.py")
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(module_from_spec(spec))
        return replace(sweep, metrics=("ndcg", "users_own"))

    try:
        run_sweep(asked(WRITTEN), tmp_path / "sweep", progress=False)
        again = asked(WRITTEN | changed)
        if not is_refused:
            run_sweep(again, tmp_path / "sweep", resume=True, progress=False)
            return
        with pytest.raises(ConfigurationError, match=f"another sweep there: {OTHERWISE} has changed"):
            run_sweep(again, tmp_path / "sweep", resume=True, progress=False)
        with pytest.raises(ConfigurationError, match="another sweep there: metrics was"):
            run_sweep(replace(again, metrics=("ndcg",)), tmp_path / "sweep", resume=True, progress=False)
    finally:
        MEASURES.pop("users_own", None)


def test_two_at_once_on_one_folder_are_one_too_many(sweep: Sweep, tmp_path: Path) -> None:
    def second(_plan: Plan) -> None:
        with pytest.raises(RunError, match="another process is working on this sweep"):
            run_sweep(sweep, tmp_path / "sweep", resume=True, progress=False)
        # Looking is free
        assert load_sweep_result(tmp_path / "sweep").finished == ()
        assert len(plan_sweep(sweep, tmp_path / "sweep").cells) == 1

    assert len(run_sweep(sweep, tmp_path / "sweep", progress=False, announce=second).finished) == 1


def test_workers_that_cannot_be_had_leave_no_folder(
    sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match="engine: found 'spark'; expected one of local, ray"):
        run_sweep(sweep, tmp_path / "sweep", engine="spark")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="address: found 'auto' with the engine 'local'"):
        run_sweep(sweep, tmp_path / "sweep", address="auto")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependency, match=r"raglift\[ray\]"):
        run_sweep(sweep, tmp_path / "sweep", engine="ray")
    assert not (tmp_path / "sweep").exists()


def ends() -> object:
    raise SystemExit(3)


def asks_and_ends() -> object:
    def search(query: str) -> list[str]:
        raise SystemExit(query)

    return search


class Halt(BaseException):
    """Of a user's own."""


def halts() -> object:
    raise Halt("no more")


def asks_and_halts() -> object:
    def search(query: str) -> list[str]:
        raise Halt(query)

    return search


def always_down() -> object:
    def search(query: str) -> list[str]:
        raise ConnectionError(f"no index for {query}")

    return search


@pytest.mark.slow
def test_systems_that_end_or_never_answer_fail_alone(island: Dataset, tmp_path: Path) -> None:
    systems = {"ends": ends, "asks": asks_and_ends, "down": always_down, "lamp": lambda query: ["The lamp is lit"]}
    systems |= {"halts": halts, "asks and halts": asks_and_halts}
    sweep = Sweep(dataset=island, systems=systems, ks=1, primary="ndcg@1", retries=0)
    result = run_sweep(sweep, tmp_path / "sweep", progress=False)
    assert [entry.cell.name for entry in result.finished] == ["lamp · none"]
    reasons = {str(entry.cell.system): str(entry.error) for entry in result.failed}
    assert "ends() failed: SystemExit: 3" in reasons["ends"]
    assert "SystemExit" in reasons["asks"]
    assert reasons["halts"].endswith("halts() failed: Halt: no more")
    assert reasons["asks and halts"].startswith("every question failed; the first: retrieve: Halt: ")
    assert reasons["down"].startswith("every question failed; the first: retrieve: ConnectionError: no index for")


def test_files_of_the_documents_are_read_as_the_sweep_says(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "documents").mkdir(parents=True)
    (folder / "documents" / "guide.qmd").write_text("The lamp is lit at dusk.", encoding="utf-8")
    (folder / "documents" / "café.txt").write_bytes("The café opens at six.".encode("cp1252"))
    labels = [
        '{"id": "lamp", "question": "When is the lamp lit?", "relevant": [{"doc": "guide.qmd", "text": "at dusk"}]}',
        '{"id": "six", "question": "What opens at six?", "relevant": [{"doc": "café.txt", "text": "opens at six"}]}',
    ]
    (folder / "queries.jsonl").write_text("\n".join(labels), encoding="utf-8")
    file = tmp_path / "sweep.yaml"
    file.write_text(
        'dataset: mine\nretrievers: bm25\nks: 1\ninclude_files: "*.qmd"\nencoding: windows-1252\n', encoding="utf-8"
    )
    (cell,) = run_sweep(load_sweep(file), tmp_path / "swept", progress=False).results
    assert cell.evaluation is not None
    assert cell.evaluation.scores.mean("retrieve", "recall@1") == 1


class Scoring(PairReranker):
    """Scores pairs by the length of the text, and gives no score for what a query cannot have."""

    identity = "by length"

    def score(self, batch: Sequence[tuple[str, str]]) -> list[float]:
        if any(query == "bad" for query, _ in batch):
            raise ModelOutputError("found NaN; expected numbers")
        return [float(len(text)) for _, text in batch]


@pytest.mark.usefixtures("own_cache")
def test_a_query_without_scores_loses_its_own_pairs_alone() -> None:
    pairs = {("bad", "a"), ("good", "b"), ("good", "cc"), ("bad", "d")}
    assert score_pairs(Scoring(), pairs, HERE) == {("good", "b"): 1.0, ("good", "cc"): 2.0}
