"""`[tool.raglift]` in pyproject.toml: what it sets, what the command line sets instead, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from raglift.cli.project import ProjectSettings, find_project
from raglift.errors import ConfigurationError
from raglift.utilities.settings import fields_of

Run = Callable[..., tuple[int, str, str]]

WHOLE = """
[tool.raglift]
dataset = "labels"
k = [1, 4, "tokens(500)"]
match = "coverage"
budget = 1000
target = ["ndcg@4 >= 0.5", "recall@4>=0.1"]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pyproject.toml, two folders above the working folder; between them is one of another tool."""
    inner = tmp_path / "packages" / "one"
    inner.mkdir(parents=True)
    (inner.parent / "pyproject.toml").write_text("[project]\nname = 'raglift-user'\n", encoding="utf-8")
    (inner / "pyproject.toml").write_text("this is = no TOML", encoding="utf-8")
    monkeypatch.chdir(inner)
    return tmp_path / "pyproject.toml"


def test_the_nearest_file_with_the_table_counts_and_paths_are_relative_to_it(project: Path) -> None:
    assert find_project() is None
    project.write_text(WHOLE, encoding="utf-8")
    (project.parent / "labels").mkdir()
    found = find_project()
    assert found is not None
    assert (found.file, found.written.keys()) == (project, fields_of(ProjectSettings).keys())
    assert found.options == {
        "dataset": str(project.parent / "labels"),
        "k": ["1", "4", "tokens(500)"],
        "match": "coverage",
        "budget": 1000,
        "target": ["ndcg@4=0.5", "recall@4=0.1"],
    }
    Path("../pyproject.toml").write_text("[tool.raglift]\ndataset = 'shop_support'\nk = 3\n", encoding="utf-8")
    nearer = find_project()
    assert nearer is not None
    assert nearer.options == {"dataset": "shop_support", "k": ["3"]}


def test_the_example_of_the_documentation_sets_every_key(project: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/evaluate.md").read_text(encoding="utf-8")
    example = page.partition("```text\n[tool.raglift]\n")[2].partition("```")[0]
    project.write_text(f"[tool.raglift]\n{example}", encoding="utf-8")
    found = find_project()
    assert found is not None
    assert found.options.keys() == fields_of(ProjectSettings).keys()


@pytest.mark.parametrize(
    ("written", "where", "found"),
    [
        ('[tool.raglift]\nk = "ten"', "tool.raglift.k", '"ten"'),
        ("[tool.raglift]\nk = true", "tool.raglift.k", "true"),
        ("[tool.raglift]\nk = []", "tool.raglift.k", "a list of 0"),
        ("[tool.raglift]\nk = [5, 0]", "tool.raglift.k", "a list of 2"),
        ("[tool.raglift]\nmatch = 'covrage'", "tool.raglift.match", '"covrage"'),
        ("[tool.raglift]\nbudget = '2000'", "tool.raglift.budget", '"2000"'),
        ("[tool.raglift]\ndataset = ['a']", "tool.raglift.dataset", "a list of 1"),
        ("[tool.raglift]\ntarget = 'ndcg@10 > 0.7'", "tool.raglift.target", '"ndcg@10 > 0.7"'),
        ("[tool.raglift]\nkk = 3", "tool.raglift.kk", 'an unknown field "kk"'),
        ("[tool]\nraglift = 3", "tool.raglift", "3"),
        ("[tool.raglift]\nk = [1,", "", "no valid TOML"),
    ],
)
def test_what_is_wrong_is_said_with_file_key_found_and_expected(
    project: Path, written: str, where: str, found: str
) -> None:
    project.write_text(written, encoding="utf-8")
    with pytest.raises(ConfigurationError) as refused:
        find_project()
    said, _, expected = str(refused.value).partition("; expected ")
    assert said.startswith(f"{project}: {where}: found {found}" if where else f"{project}: found {found}")
    assert expected


@pytest.mark.slow
def test_commands_take_what_the_command_line_does_not_say(run: Run, project: Path) -> None:
    project.write_text(WHOLE.replace('"labels"', '"lighthouse"'), encoding="utf-8")
    code, out, err = run("evaluate", "--retriever", "bm25", "-o", "run", "--json", "--budget", 800)
    spec = json.loads(out)["spec"]
    assert code == 0
    assert (spec["dataset"]["name"], spec["match"]["mode"], spec["budget"]) == ("lighthouse", "coverage", 800)
    assert {"ndcg@1", "ndcg@4", "ndcg@tokens(500)"} <= {row["metric"] for row in json.loads(out)["metrics"]}
    taken = err.splitlines()[0].partition("[tool.raglift] ")[2]
    assert taken == 'dataset = "lighthouse", k = [1, 4, "tokens(500)"], match = "coverage"'
    passed, out, _ = run("gate", "run", "--json")
    assert (passed, [check["name"] for check in json.loads(out)["checks"]]) == (0, ["ndcg@4", "recall@4"])
    assert run("gate", "run", "--min", "ndcg@4=0.99")[0] == 1
    assert run("labels", "check", "--json", "--embedding", "none")[0] == 0
    Path("sweep.yaml").write_text("retrievers: [bm25]\nks: [2]\n", encoding="utf-8")
    code, out, _ = run("sweep", "sweep.yaml", "-o", "sweep", "--json")
    sweep = json.loads(Path("sweep/sweep.json").read_text(encoding="utf-8"))["sweep"]
    assert (code, sweep["dataset"], sweep["ks"], sweep["budget"]) == (0, "lighthouse", [2], 1000)
    project.write_text("[tool.raglift]\nk = 'ten'\n", encoding="utf-8")
    assert run("evaluate", "lighthouse")[0] == 2
    assert run("evaluate", "--help")[0] == 0
