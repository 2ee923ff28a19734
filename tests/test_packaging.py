"""What is installed is what was written: the wheel carries the corpora, and the pins agree."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("raglift-*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_the_corpora_but_not_the_book(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "raglift/_corpora/lighthouse/queries.jsonl" in names
    assert "raglift/_corpora/war_and_peace/corpus.toml" in names
    assert "raglift/storage/rankings/examples/hits.schema.json" in names
    assert not [name for name in names if name.endswith("2600-0.txt")]
    assert not [name for name in names if name.startswith("tests/")]


@pytest.mark.slow
def test_an_installed_wheel_loads_a_corpus_anywhere(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*install, str(wheel)], check=True)
    script = (
        "import raglift as rl; data = rl.load_dataset('lighthouse'); again = rl.load_dataset('corpora/lighthouse')\n"
        "print(rl.__file__, len(data), len(data.documents), len(again))"
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(site / "raglift" / "__init__.py"), "43", "20", "43"]


def test_every_direct_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    names = {normalized(re.split(r"[\[<>=! ]", requirement)[0]) for requirement in wanted} - {"raglift"}
    pins = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, version = line.partition(";")[0].partition("==")
            pins[normalized(name)] = version
    assert names <= set(pins)
    assert pins["torch"] == "2.13.0"


@pytest.mark.full
def test_bm25_imports_no_model_library_where_one_is_installed(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom raglift.cli.app import app\n"
        "app(['demo', '--retriever', 'bm25'], standalone_mode=False)\n"
        "assert not {'torch', 'transformers', 'sentence_transformers', 'faiss'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_example_of_an_environment_names_every_variable() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    set_by_others = {"PATH", "HOME", "COLUMNS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"}
    set_by_others |= {"TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"}
    read = set(re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)", code)) - set_by_others
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert {"OPENAI_BASE_URL", "RAGLIFT_CACHE"} <= read
    assert {name for name in read if f"{name}=" not in example} == set()
    assert "OPENAI_API_KEY=\n" in example  # to be filled in, not to be found out


def test_every_make_target_that_is_documented_exists() -> None:
    targets = set(
        re.findall(r"^([a-z][a-z-]*):(?! export)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("*/README.md"), *(ROOT / "docs").rglob("*.md")]
    told = {
        str(path.relative_to(ROOT)): re.findall(
            r"(?:^|`)make ([a-z][a-z-]*)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
        for path in pages
    }
    assert {"quick", "test", "full", "latest", "coverage"} <= set(told["CONTRIBUTING.md"])
    assert {"demo", "test"} <= set(told["README.md"])
    wrong = {(page, target) for page, found in told.items() for target in found if target not in targets}
    assert wrong == set()
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^make --jobs lint types test$", run, re.MULTILINE)


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
