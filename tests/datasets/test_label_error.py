"""The estimate of label error that is kept beside the labels, and where it comes out again."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import raglift as rl
from raglift.datasets import write_label_error, write_queries
from raglift.errors import ConfigurationError, DatasetError, RunError
from raglift.records import LabelError
from raglift.sweep.engine import run_sweep
from raglift.sweep.specification.record import Sweep
from raglift.sweep.view import sweep_view

DATA = rl.Dataset.from_dict({f"question {number}?": f"the answer {number:03} of them" for number in range(60)})


def labels(folder: Path, share: float = 0.2) -> Path:
    path = write_queries(DATA.queries, folder / "mine.jsonl")
    place = write_label_error(path, DATA.queries, LabelError(share, 60))
    assert place == folder / "mine.label_error.json"
    return path


def finding(data: rl.Dataset, misses: int) -> Callable[[str], list[str]]:
    """Return a system that has the answer second for some questions, and first for the others."""
    texts = {query.text: query.facts[0].passages[0].text for query in data}
    missed = {query.text for query in data.queries[:misses]}

    def find(question: str) -> list[str]:
        return ["nothing of that", texts[question]] if question in missed else [texts[question], "nothing of that"]

    return find


def system(data: rl.Dataset, misses: int, reranker: object = None) -> rl.Evaluation:
    return rl.evaluate(finding(data, misses), data, reranker=reranker, metrics=["rr"], ks=(2,), progress=False)


def told(warnings: tuple[str, ...]) -> list[str]:
    return [one for one in warnings if "labels may be wrong" in one]


def test_a_dataset_knows_the_estimate_that_is_beside_its_labels(tmp_path: Path) -> None:
    assert rl.load_dataset(labels(tmp_path)).label_error == LabelError(0.2, 60)
    assert DATA.label_error is None
    assert rl.load_dataset(write_queries(DATA.queries, tmp_path / "others.jsonl")).label_error is None


def test_an_estimate_of_other_labels_is_outdated(tmp_path: Path) -> None:
    path = labels(tmp_path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0].replace("000", "111"), *lines[1:]]) + "\n")
    assert rl.load_dataset(path).label_error == LabelError(0.2, 60, is_outdated=True)


def test_a_folder_has_it_beside_its_queries(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    write_queries(DATA.queries, folder / "queries.jsonl")
    assert write_label_error(folder, DATA.queries, LabelError(0.1)).name == "queries.label_error.json"
    found = rl.load_dataset(folder).label_error
    assert found is not None
    assert found.share == 0.1


def test_evaluations_take_it_over_and_verdicts_have_a_line(tmp_path: Path) -> None:
    data = rl.load_dataset(labels(tmp_path))
    folders = [system(data, misses).save(tmp_path / f"run-{misses}") for misses in (0, 20)]
    assert rl.load_evaluation(folders[0]).dataset.label_error == LabelError(0.2, 60)
    (line,) = told(rl.compare(folders).warnings)
    assert line.startswith(
        "20.0% of the labels may be wrong, which is more than the difference from run-0 of run-20 (0.1"
    )
    assert told(rl.compare(folders, label_error=0).warnings) == []
    assert told(rl.compare(folders, label_error=0.1).warnings) == []


def test_a_lift_smaller_than_it_has_a_line(tmp_path: Path) -> None:
    data = rl.load_dataset(labels(tmp_path))

    def best_first(question: str, chunks: list[str]) -> list[str]:
        return sorted(chunks, key=lambda chunk: chunk.startswith("nothing"))

    evaluation = system(data, 20, best_first)
    (line,) = told(evaluation.reranker_lift().warnings)
    assert line.startswith("20.0% of the labels may be wrong, which is more than the lift of 0.1")
    assert told(evaluation.reranker_lift(label_error=0.05).warnings) == []
    with pytest.raises(ConfigurationError, match="label_error: found 7"):
        evaluation.reranker_lift(label_error=7)


def test_an_outdated_estimate_is_named_as_one(tmp_path: Path) -> None:
    data = replace(DATA, label_error=LabelError(0.2, 60, is_outdated=True))
    (line,) = told(rl.compare([system(data, 0), system(data, 20)]).warnings)
    assert "(estimated before they were changed)" in line


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", "nothing"),
        ("[1]", "object"),
        (json.dumps({"share": 2, "facts": 1, "labels": "0" * 16}), "share"),
        (json.dumps({"share": 0.1, "facts": 1}), "labels"),
        (json.dumps({"share": 0.1, "facts": 1, "labels": "0" * 16, "more": 1}), "more"),
    ],
)
def test_a_malformed_file_is_an_error_that_says_where(tmp_path: Path, content: str, found: str) -> None:
    path = labels(tmp_path)
    (tmp_path / "mine.label_error.json").write_text(content)
    with pytest.raises(DatasetError, match=r"mine\.label_error\.json") as raised:
        rl.load_dataset(path)
    assert found in str(raised.value) or content == ""


def test_shares_out_of_range_are_refused(tmp_path: Path) -> None:
    for share in (-0.1, 1.5, True, "much"):
        with pytest.raises(ConfigurationError, match="a number from 0 to 1"):
            LabelError(share)  # type: ignore[arg-type]
    with pytest.raises(DatasetError, match="LabelError"):
        replace(DATA, label_error=0.1)
    folder = system(rl.load_dataset(labels(tmp_path)), 0).save(tmp_path / "run")
    saved = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(saved | {"label_error": {"share": 3, "facts": 1}}))
    with pytest.raises(RunError, match="label_error"):
        rl.load_evaluation(folder)


def test_a_sweep_has_the_line_too(tmp_path: Path) -> None:
    data = rl.load_dataset(labels(tmp_path))
    sweep = Sweep(
        dataset=data,
        systems={"all": finding(data, 0), "most": finding(data, 20)},
        ks=(2,),
        metrics=["rr"],
        primary="rr@2",
    )
    found = run_sweep(sweep, tmp_path / "sweep", progress=False)
    (line,) = told(sweep_view(found).warnings)
    assert line.startswith("20.0% of the labels may be wrong, which is more than the difference from")


def test_a_gate_has_the_line_too(tmp_path: Path) -> None:
    data = rl.load_dataset(labels(tmp_path))
    before, after = system(data, 0), system(data, 20)
    found = rl.gate(after, baseline=before, no_regression=["rr@2"])
    assert not found.passed
    (line,) = told(found.warnings)
    assert line.startswith("20.0% of the labels may be wrong, which is more than the difference from baseline of ")
    assert told(rl.gate(before, baseline=before, no_regression=["rr@2"]).warnings) == []
