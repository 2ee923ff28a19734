"""The project that docs/how-to/pytest.md builds, and what pytest prints in it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import raglift as rl
from raglift.apps.pytest_integration.expectation import ARGUMENTS
from raglift.retrieval.bm25 import BM25Retriever

from .pages import ROOT, differing, read_page

PAGE = read_page(ROOT / "docs" / "how-to" / "pytest.md")
FILES = ("tests/conftest.py", "tests/test_retrieval.py", "tests/test_regression.py")


def stable(text: str) -> str:
    """Leave out seconds and the width of rules, which no two runs have in common."""
    text = re.sub(r"=+ (.+?) =+$", r"\1", text, flags=re.MULTILINE)
    text = re.sub(r"_{5,} (.+?) _{5,}$", r"__ \1 __", text, flags=re.MULTILINE)
    return re.sub(r" in (?:…|\d+\.\d+s.*)$", " in …", text, flags=re.MULTILINE)


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Import what is imported late, before `pytester` begins, which forgets what came after it; Arrow does not."""
    data = rl.load_dataset("lighthouse").sample(8)
    evaluation = rl.evaluate(BM25Retriever(rl.RecursiveChunker().split(data.documents)), data)
    baseline = rl.load_evaluation(evaluation.save(tmp_path_factory.mktemp("imported") / "run"))
    assert rl.gate(evaluation, baseline=baseline, no_regression=["ndcg@10"]).passed


@pytest.mark.slow
def test_pytest_prints_what_the_page_shows(
    imported: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    files = dict(zip(FILES, PAGE.of("python"), strict=True))
    commands = 0
    for name, block in files.items():
        assert f"`{name}`" in PAGE.path.read_text(encoding="utf-8")
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        if name != FILES[-1]:
            path.write_text(block.text, encoding="utf-8")
    for block in PAGE.of("console"):
        for command, _, shown in (part.partition("\n") for part in block.text.split("$ ")[1:]):
            if FILES[-1] in command:
                (pytester.path / FILES[-1]).write_text(files[FILES[-1]].text, encoding="utf-8")
            result = pytester.runpytest_inprocess(*shlex.split(command)[1:], "-W", "error")
            assert differing(stable(shown), stable(result.stdout.str())) is None, command
            commands += 1
    assert commands == 4


def test_every_argument_and_option_is_told_of() -> None:
    text = Path(PAGE.path).read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in ARGUMENTS)
    assert "--raglift-update-baseline" in text
