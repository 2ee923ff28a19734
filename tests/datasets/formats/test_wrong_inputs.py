"""What is wrong with datasets of the hub and of other tools, on the command line: where, what was found, what to do."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from raglift import cli

CHECK, CONVERT = ("labels", "check"), ("labels", "convert", "-o", "written")


@pytest.fixture
def here(tmp_path: Path, fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file whose rows lack a question, and a dataset without a mistake."""
    row = '{"inputs": {"topic": "x"}, "outputs": {"context": "y"}}\n'
    (tmp_path / "smith.jsonl").write_text(row, encoding="utf-8")
    shutil.copytree(fixtures / "hub", tmp_path / "set")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            (*CHECK, "smith.jsonl"),
            'smith.jsonl:1: inputs: found no question: an object with "topic"; expected inputs.question',
        ),
        ((*CHECK, "hf:set?split=dev"), 'found no split "dev" of the qrels; expected split= one of "train", "test"'),
        ((*CHECK, "hf:set?spilt=dev"), "found the option 'spilt'; expected one of"),
        ((*CHECK, "hf:no/such/set"), "expected a folder, or the id of a dataset, as mteb/scifact"),
        ((*CHECK, "hf:mteb/sci..fact"), "which is no folder and no id; expected an id as mteb/scifact"),
        ((*CONVERT, "hf:set", "--to", "ir"), "found 'ir', which is not written; expected one of 'jsonl', 'beir'"),
        ((*CONVERT, "smith.jsonl", "--where", "split"), "where: found 'split'; expected a comparison"),
    ],
    ids=lambda value: " ".join(value[1:]) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_said_where_it_is(
    command: tuple[str, ...],
    expected: str,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["raglift", *command])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert expected in " ".join(capsys.readouterr().err.split())
    assert not (here / "written").exists()
