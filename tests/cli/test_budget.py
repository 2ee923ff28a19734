"""`--budget`, and `[tool.raglift]` of a project: how many tokens a prompt has."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raglift.cli.arguments import project_budget
from raglift.errors import ConfigurationError

ARGUMENTS = ("evaluate", "lighthouse", "--retriever", "bm25", "--chunker", "recursive:200/0", "--json")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a project in the working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "pyproject.toml"


@pytest.fixture
def measured(run: Callable[..., tuple[int, str, str]]) -> Callable[..., dict[str, Any]]:
    """Run a command, and return what it prints as JSON."""

    def command(*arguments: str) -> dict[str, Any]:
        code, out, _ = run(*arguments)
        assert code == 0
        found: dict[str, Any] = json.loads(out)
        return found

    return command


@pytest.mark.slow
def test_evaluate_takes_the_budget_of_the_option_before_the_projects(
    project: Path, measured: Callable[..., dict[str, Any]]
) -> None:
    assert "budget" not in measured(*ARGUMENTS)["spec"]
    project.write_text("[tool.raglift]\nbudget = 300\n", encoding="utf-8")
    assert measured(*ARGUMENTS)["spec"]["budget"] == 300
    found = measured(*ARGUMENTS, "--budget", "600")
    assert found["spec"]["budget"] == 600
    assert {row["tokens"] for row in found["metrics"]} - {None} == {600}


@pytest.mark.slow
def test_a_sweep_takes_the_budget_of_the_option_before_its_files(
    project: Path, measured: Callable[..., dict[str, Any]]
) -> None:
    Path("own.yaml").write_text("dataset: lighthouse\nretrievers: bm25\nbudget: 700\n", encoding="utf-8")
    Path("none.yaml").write_text("dataset: lighthouse\nretrievers: bm25\n", encoding="utf-8")
    project.write_text("[tool.raglift]\nbudget = 300\n", encoding="utf-8")
    for file, given, budget in (("own", (), 700), ("none", (), 300), ("own", ("--budget", "900"), 900)):
        measured("sweep", f"{file}.yaml", "-o", f"{file}{budget}", "--json", *given)
        sweep = json.loads(Path(f"{file}{budget}/sweep.json").read_text(encoding="utf-8"))
        assert sweep["sweep"]["budget"] == budget
        assert not sweep["primary_named"]


@pytest.mark.parametrize("written", ["", "[tool.other]\nbudget = 1\n", "[tool.raglift]\n", "[project]\nname = 'x'\n"])
def test_a_project_may_say_nothing(project: Path, written: str) -> None:
    assert project_budget(None) is None
    project.write_text(written, encoding="utf-8")
    assert project_budget(None) is None
    assert project_budget(400) == 400


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("[tool.raglift]\nbuget = 300\n", "found 'buget'; expected budget"),
        ("[tool.raglift]\nbudget = 0\n", "found 0"),
        ("[tool.raglift]\nbudget = '300'\n", "found '300'"),
        ("[tool]\nraglift = 3\n", "found 3; expected budget"),
        ("[tool.raglift\n", "cannot be read as TOML"),
    ],
)
def test_what_a_project_says_otherwise_is_refused(project: Path, written: str, said: str) -> None:
    project.write_text(written, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"pyproject\.toml: .*") as error:
        project_budget(None)
    assert said in str(error.value)


@pytest.mark.usefixtures("project")
def test_a_budget_is_at_least_a_token() -> None:
    with pytest.raises(ConfigurationError, match="--budget: found 0"):
        project_budget(0)
