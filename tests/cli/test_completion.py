"""Completion in bash, by the script that `--show-completion` prints and as bash calls it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from raglift.cli.arguments import completion, corpus_names, metric_names

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")

ASKED = """\
eval "$(_RAGLIFT_COMPLETE=source_bash raglift)"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
_raglift_completion raglift
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """Return what bash offers when the tab key is pressed after some words."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "raglift"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m raglift "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    path = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}

    def press_tab(*words: str) -> list[str]:
        call = ["bash", "-c", ASKED, "bash", "raglift", *words]
        done = subprocess.run(call, env={**os.environ, **path}, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.split()

    return press_tab


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("expl",), ["explain"]),
        (("labels", ""), ["check", "convert", "anchor", "update", "review", "grade", "sample", "generate"]),
        pytest.param(("corpus", ""), ["list", "show", "fetch"], marks=pytest.mark.full),
        pytest.param(("evaluate", "shop"), ["shop_support"], marks=pytest.mark.full),
        pytest.param(("evaluate", "x", "--profile", "t"), ["tutorial", "trec"], marks=pytest.mark.full),
        pytest.param(("evaluate", "x", "--match", "co"), ["containment", "coverage"], marks=pytest.mark.full),
        pytest.param(("report", "x", "--format", ""), ["html", "markdown", "csv", "parquet"], marks=pytest.mark.full),
        pytest.param(("track", "x", "--to", "mlflow,w"), ["mlflow,wandb"], marks=pytest.mark.full),
        (("evaluate", "x", "--metrics", "mrr,ndc"), ["mrr,ndcg"]),
        pytest.param(("evaluate", "x", "--match-t"), ["--match-threshold"], marks=pytest.mark.full),
    ],
)
def test_bash_completes(words: tuple[str, ...], offered: list[str], complete) -> None:
    assert complete(*words) == offered


def test_names_are_looked_up_when_they_are_completed() -> None:
    assert completion(corpus_names)("light") == ["lighthouse"]
    assert completion(metric_names)("mrr,ndc") == ["mrr,ndcg"]
    assert completion(("a", "b"))("c") == []
