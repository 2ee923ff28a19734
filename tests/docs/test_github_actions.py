"""The workflow and the action for GitHub are sound and safe, and their commands do what the page says, run by bash."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from raglift.datasets.corpora.catalogue import find_corpus

from .pages import ROOT, read_page

FILE = ROOT / "examples" / "github_actions" / "retrieval.yml"
TEXT = FILE.read_text(encoding="utf-8")
# YAML takes the word on for true
WORKFLOW = {"on" if name is True else name: value for name, value in yaml.safe_load(TEXT).items()}
JOBS = WORKFLOW["jobs"]
GATE, COMMENT = (JOBS[name]["steps"] for name in ("gate", "comment"))
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
OURS = "OWNER/raglift@COMMIT"
SHOWN, INSTEAD = read_page(ROOT / "docs" / "how-to" / "github_actions.md").of("yaml")

SYSTEM = """
import raglift as rl
from raglift.retrieval.bm25 import BM25Retriever

def retriever():
    data = rl.load_dataset("retrieval/queries.jsonl", documents="retrieval/documents")
    return BM25Retriever(rl.RecursiveChunker(1000, 100).split(data.documents))
"""
WORSE = """
from raglift.testing.fakes import FakeRetriever
import good

def retriever():
    search = good.retriever()
    return lambda query: [hit.chunk for hit in search.retrieve([query], 10)[0]][::-1]
"""


def test_the_page_shows_a_step_of_the_workflow() -> None:
    assert textwrap.indent(SHOWN.text, " " * 6) in TEXT


def schema_says(what: object, folder: Path, schema: str = "workflows") -> subprocess.CompletedProcess[str]:
    path = folder / "checked.yml"
    path.write_text(what if isinstance(what, str) else yaml.safe_dump(what), encoding="utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.github-{schema}", str(path)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.slow
def test_the_workflow_is_one_by_githubs_schema_also_with_the_other_baseline(tmp_path: Path) -> None:
    place = [step.get("uses") for step in GATE].index(OURS)
    more = [*GATE[:place], *yaml.safe_load(INSTEAD.text), *GATE[place:]]
    changed = {**WORKFLOW, "jobs": {**JOBS, "gate": {**JOBS["gate"], "steps": more}}}
    for workflow in (TEXT, changed):
        said = schema_says(workflow, tmp_path)
        assert said.returncode == 0, said.stdout + said.stderr
    assert schema_says(TEXT.replace("runs-on:", "run-on:"), tmp_path).returncode == 1
    assert schema_says(ACTION, tmp_path, "actions").returncode == 0


def test_every_action_is_pinned_and_the_version_is_told() -> None:
    used = re.findall(r"uses: (.+)", TEXT + INSTEAD.text)
    used.remove(OURS)
    assert len(used) > 6
    assert [line for line in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


def test_a_strangers_code_gets_neither_a_secret_nor_a_token_that_may_write() -> None:
    assert set(WORKFLOW["on"]) == {"pull_request", "push"}
    assert WORKFLOW["permissions"] == {}
    assert {name: job["permissions"] for name, job in JOBS.items()} == {
        "gate": {"contents": "read"},
        "comment": {"pull-requests": "write"},
    }
    assert "secrets." not in TEXT
    assert "checkout" not in str(JOBS["comment"])
    for step in (*GATE, *COMMENT, *ACTION["runs"]["steps"]):
        # What a pull request is called would else be read as a part of the command
        assert "${{" not in step.get("run", "")
        if "checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False


def expanded(step: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps of the action with its inputs in their places; any other step as it is."""
    if step.get("uses") != OURS:
        return [step]
    assert step["with"].keys() <= ACTION["inputs"].keys()
    inputs = {name: each.get("default") for name, each in ACTION["inputs"].items()} | step["with"]
    assert None not in inputs.values()
    return [
        {**inner, "env": {name: inputs[text.removeprefix("${{ inputs.")[:-3]] for name, text in inner["env"].items()}}
        for inner in ACTION["runs"]["steps"]
    ]


Outcomes = dict[str, int]
Job = Callable[..., Outcomes]


def does_run(step: dict[str, Any], failed: bool, outcomes: Outcomes) -> bool:
    condition = step.get("if")
    if condition is None:
        return not failed
    assert "!cancelled()" in condition
    wanted = re.findall(r"steps\.(\w+)\.outcome == 'success'", condition)
    return all(outcomes.get(name) == 0 for name in wanted)


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """Run the commands of steps in a folder, in their order and under their conditions; returns their exit codes."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "raglift").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -P -c "from raglift.cli import main; main()" "$@"\n', encoding="utf-8"
    )
    (programs / "gh").write_text(
        '#!/bin/sh\necho "$*" >> gh.txt\ncase "$*" in *--paginate*) cat earlier.txt;; esac\n', encoding="utf-8"
    )
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    for program in programs.iterdir():
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_REPOSITORY", "keeper/lighthouse")

    def run(steps: list[dict[str, Any]], folder: Path, without: tuple[str, ...] = ("Install",)) -> Outcomes:
        outcomes: Outcomes = {}
        failed = False
        for step in itertools.chain.from_iterable(map(expanded, steps)):
            if "run" not in step or step["name"] in without or not does_run(step, failed, outcomes):
                continue
            script = folder / "step.sh"
            script.write_text(step["run"], encoding="utf-8")
            environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(folder / "step_summary.md"), **given(step)}
            done = subprocess.run(
                # As GitHub starts it where a workflow says `shell: bash`
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
            )
            (folder / f"{step['name']}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
            outcomes[step.get("id", step["name"])] = done.returncode
            failed = failed or (done.returncode != 0 and not step.get("continue-on-error"))
        return outcomes

    assert WORKFLOW["defaults"] == {"run": {"shell": "bash"}}
    assert {step["shell"] for step in ACTION["runs"]["steps"]} == {"bash"}
    return run


def given(step: dict[str, Any]) -> dict[str, str]:
    """Return the variables of a step, as on pull request 7."""
    values = {
        "github.token": "of-this-run",
        "github.event.pull_request.number": "7",
        "github.server_url": "https://github.com",
        "github.repository": "keeper/lighthouse",
        "github.run_id": "42",
    }
    variables = step.get("env", {})
    return {
        name: re.sub(r"\$\{\{ (\S+) \}\}", lambda found: values[found[1]], text) for name, text in variables.items()
    }


@pytest.fixture
def project(tmp_path: Path, job: Job) -> Path:
    """A checkout of a pull request that changed nothing yet, with the base branch's baseline next to it."""
    folder = tmp_path / "checkout"
    corpus = find_corpus("lighthouse")
    shutil.copytree(corpus.folder / "documents", folder / "retrieval" / "documents")
    shutil.copy(corpus.folder / "queries.jsonl", folder / "retrieval")
    (folder / "my_rag.py").write_text(SYSTEM, encoding="utf-8")
    (folder / "good.py").write_text(SYSTEM, encoding="utf-8")
    without = ("Install", "Check the labels", "Score the baseline", "Gate", "Report")
    assert job(GATE, folder, without=without) == {"Evaluate": 0}
    (folder / "base" / "retrieval").mkdir(parents=True)
    (folder / "raglift-results" / "runs" / "now").rename(folder / "base" / "retrieval" / "baseline")
    return folder


@pytest.mark.full
def test_a_regression_fails_the_job_and_everything_is_told_all_the_same(project: Path, job: Job) -> None:
    (project / "my_rag.py").write_text(WORSE, encoding="utf-8")
    assert job(GATE, project) == {"Check the labels": 0, "Evaluate": 0, "baseline": 0, "Gate": 1, "Report": 0}
    results = project / "raglift-results"
    summary = (results / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("### ❌ retrieval: FAILED")
    # The same hits in another order: the bounds hold, and only compared with the baseline is it worse
    assert re.search(r"✅ pass \| recall@10", summary)
    assert re.search(r"❌ FAIL\*\* \| NDCG@10", summary)
    assert summary.strip() in (project / "step_summary.md").read_text(encoding="utf-8")
    assert "::error" in (project / "Gate.txt").read_text(encoding="utf-8")
    assert (results / "gate.xml").read_text(encoding="utf-8").count("<failure") == 1
    assert (results / "report.html").stat().st_size > 10_000
    uploaded = next(step for step in GATE if "upload-artifact" in step.get("uses", ""))
    assert uploaded["if"] == "${{ !cancelled() }}"
    files = {path.name for path in project.glob(uploaded["with"]["path"])}
    assert files == {"summary.md", "gate.xml", "report.html"}


@pytest.mark.slow
def test_the_action_measures_and_decides_and_no_input_is_read_as_a_command(tmp_path: Path, job: Job) -> None:
    output = "out $(touch injected) `touch injected`"
    inputs = {"dataset": "lighthouse", "evaluate": "--retriever=bm25\n\n--chunker=recursive:400/0\n", "output": output}
    inputs |= {"baseline": "none; touch injected", "gate": "--min=ndcg@10=0.9\n"}
    outcomes = job([{"uses": OURS, "with": inputs}], tmp_path, without=("Install", "Report"))
    assert outcomes == {"Check the labels": 0, "Evaluate": 0, "baseline": 0, "Gate": 1}
    assert not (tmp_path / "injected").exists()
    assert "::warning title=No baseline::" in (tmp_path / "Score the baseline.txt").read_text(encoding="utf-8")
    assert "::error" in (tmp_path / "Gate.txt").read_text(encoding="utf-8")
    summary = (tmp_path / "step_summary.md").read_text(encoding="utf-8")
    assert summary.startswith("### ❌ retrieval: FAILED")
    assert summary == (tmp_path / output / "summary.md").read_text(encoding="utf-8")
    assert "recursive:400/0" in (tmp_path / output / "runs" / "now" / "run.json").read_text(encoding="utf-8")
    # A change of the match rule is one of the baseline too
    (tmp_path / "pyproject.toml").write_text("[tool.raglift]\nmatch = 'coverage'\n", encoding="utf-8")
    inputs["evaluate"] += "--match-threshold=0.7\n"
    inputs |= {"baseline": f"{output}/runs/now", "gate": "", "output": "again"}
    outcomes = job([{"uses": OURS, "with": inputs}], tmp_path, without=("Install", "Report"))
    assert outcomes == {"Check the labels": 0, "Evaluate": 0, "baseline": 0, "Gate": 0}


@pytest.mark.parametrize(
    ("changed", "ran"),
    [
        ((), False),
        (("documents/a.md",), True),
        (("queries.jsonl",), False),
        (("documents/a.md", "queries.jsonl"), False),
    ],
)
def test_labels_are_looked_for_if_documents_changed_and_labels_did_not(tmp_path: Path, job: Job, changed, ran) -> None:
    """By a stand-in for the command, which says that labels moved."""
    program = tmp_path / "programs" / "raglift"
    program.write_text('#!/bin/sh\necho "$*" > called.txt\necho "mine\n\n6 moved.\n\nkind"\nexit 1\n', encoding="utf-8")
    for folder in ("retrieval", "base/retrieval"):
        (tmp_path / folder / "documents").mkdir(parents=True)
        for name in ("documents/a.md", "queries.jsonl"):
            (tmp_path / folder / name).write_text(folder if name in changed else "same", encoding="utf-8")
    outcomes = job(GATE, tmp_path, without=("Install", "Evaluate", "Score the baseline", "Gate"))
    assert outcomes == {"Check the labels": int(ran)}
    if ran:
        called = (tmp_path / "called.txt").read_text(encoding="utf-8").strip()
        assert called == "labels update -- base/retrieval retrieval/documents"
        results = tmp_path / "raglift-results"
        assert (results / "labels.txt").read_text(encoding="utf-8") == "mine\n\n6 moved.\n\nkind\n"
        summary = (results / "summary.md").read_text(encoding="utf-8").splitlines()
        assert ("6 moved." in summary, "mine" in summary, "kind" in summary) == (True, False, False)
    assert (tmp_path / "called.txt").exists() == ran


@pytest.mark.parametrize("earlier", ["", "101\n102\n"])
@pytest.mark.parametrize("summary", ["### ❌ retrieval: FAILED\n", None])
def test_there_is_one_comment_which_is_edited(tmp_path: Path, job: Job, earlier: str, summary: str | None) -> None:
    (tmp_path / "earlier.txt").write_text(earlier, encoding="utf-8")
    (tmp_path / "found").mkdir()
    if summary:
        (tmp_path / "found" / "summary.md").write_text(summary, encoding="utf-8")
    assert job(COMMENT, tmp_path) == {"Comment": 0}
    marker, *told = (tmp_path / "comment.md").read_text(encoding="utf-8").splitlines()
    assert (summary or "❌ Retrieval was not measured to the end.").strip() in told
    assert told[-1] == "[The run and its report](https://github.com/keeper/lighthouse/actions/runs/42)"
    looked, wrote = (tmp_path / "gh.txt").read_text(encoding="utf-8").splitlines()
    assert f'startswith("{marker}")' in looked
    assert '.user.login == "github-actions[bot]"' in looked
    if earlier:
        assert "--method PATCH repos/keeper/lighthouse/issues/comments/101 -F body=@comment.md" in wrote
    else:
        assert "--method POST repos/keeper/lighthouse/issues/7/comments -F body=@comment.md" in wrote


def test_what_a_pull_request_made_of_the_summary_is_cut_and_no_link_is_followed(tmp_path: Path, job: Job) -> None:
    download = next(step for step in COMMENT if "download-artifact" in step.get("uses", ""))
    assert download["with"]["path"] == "found"  # where it can replace nothing of the job's own
    (tmp_path / "earlier.txt").touch()
    found = tmp_path / "found"
    found.mkdir()
    (found / "summary.md").write_text("x" * 1_000_000, encoding="utf-8")
    assert job(COMMENT, tmp_path) == {"Comment": 0}
    assert 60_000 < (tmp_path / "comment.md").stat().st_size < 65_536  # what GitHub takes
    (found / "summary.md").unlink()
    (tmp_path / "token").write_text("secret", encoding="utf-8")
    (found / "summary.md").symlink_to(tmp_path / "token")
    assert job(COMMENT, tmp_path) == {"Comment": 0}
    assert "secret" not in (tmp_path / "comment.md").read_text(encoding="utf-8")
