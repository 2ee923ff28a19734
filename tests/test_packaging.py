"""What is installed is what was written: the wheel and the source archive are complete, and the pins agree."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
SCORE = "score trec/qrels.txt trec/run.trec --metrics ndcg@10"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built of the files that a container's image is built from."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in re.findall(r"^!(.+)", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, source / name)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("raglift-*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_the_corpora_and_nothing_else(wheel: Path) -> None:
    parts = {"raglift": ROOT / "src" / "raglift", "raglift/_corpora": ROOT / "corpora"}
    wanted = {
        f"{place}/{path.relative_to(folder).as_posix()}"
        for place, folder in parts.items()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == wanted
    assert {"raglift/py.typed", "raglift/_corpora/lighthouse/queries.jsonl"} <= names
    assert not [name for name in names if name.endswith("2600-0.txt")]  # the book


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git says which files belong to the project")
def test_the_source_archive_holds_every_file_of_the_repository(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", tmp_path, ROOT]
    subprocess.run(command, check=True, capture_output=True)
    with tarfile.open(next(tmp_path.glob("raglift-*.tar.gz"))) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    assert found == {*files, "PKG-INFO"}


CHECK = """
import sys
from raglift.cli import main

for line in sys.argv[1:]:
    sys.argv = ["raglift", *line.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, line
assert not {"torch", "transformers", "sentence_transformers", "faiss"} & sys.modules.keys()
ours = [module for name, module in sys.modules.items() if name.partition(".")[0] == "raglift"]
print([module for module in ours if not module.__file__.startswith(sys.prefix)])
"""


@pytest.mark.slow
def test_the_wheel_works_in_an_environment_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    paths = sysconfig.get_paths(vars={"base": str(tmp_path / "env")}, scheme="venv")
    # What raglift depends on is there; that of the checkout is not, for no other .pth file of these folders is read
    dependencies = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(paths["purelib"]) / "dependencies.pth").write_text("\n".join(dependencies), encoding="utf-8")
    install = ["-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", wheel]
    subprocess.run([sys.executable, *install], check=True)
    folder = tmp_path / "empty"
    folder.mkdir()
    commands = (
        "demo --retriever bm25",
        "export raglift-demo/run -o trec",
        SCORE,
        "report raglift-demo/run -o report.html",
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    options = {"cwd": folder, "env": environment, "capture_output": True, "text": True, "check": True}
    done = subprocess.run([python, "-I", "-c", CHECK, *commands], **options)
    assert done.stdout.splitlines()[-1] == "[]"
    assert all((folder / name).is_file() for name in ("report.html", "raglift-demo/report.html"))
    shown = subprocess.run([python.parent / "raglift", "--version"], **options)
    assert shown.stdout == f"raglift {PROJECT['version']}\n"


@pytest.mark.slow
def test_the_hook_of_pre_commit_refuses_a_label_that_is_not_in_its_document(run, tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {"id", "name", "entry", "language", "files"} <= hook.keys()
    assert (hook["language"], hook.get("pass_filenames", True)) == ("python", True)
    assert [bool(re.search(hook["files"], path)) for path in ("retrieval/queries.jsonl", "queries.json")] == [
        True,
        False,
    ]
    program, *command = shlex.split(hook["entry"])
    assert program in PROJECT["scripts"]
    (tmp_path / "tower.txt").write_text("The keeper climbed the tower at dusk and trimmed the wick.", encoding="utf-8")
    files = [tmp_path / name / "queries.jsonl" for name in ("good", "broken")]
    for file, passage in zip(files, ("climbed the tower at dusk", "climbed the mast at dawn"), strict=True):
        file.parent.mkdir()
        label = {"id": "q1", "query": "Who?", "relevant": [{"doc": "tower.txt", "text": passage}]}
        file.write_text(json.dumps(label) + "\n", encoding="utf-8")
    documents = ("--documents", tmp_path / "tower.txt")
    assert run(*command, *documents, files[0])[0] == 0
    code, out, _ = run(*command, *documents, *files)
    assert (code, [out.count(line) for line in ("is broken; 0 warnings", "has a label that no chunk")]) == (1, [1, 1])


def test_every_direct_dependency_is_pinned() -> None:
    wanted = [
        *PROJECT["dependencies"],
        *(name for extra in PROJECT["optional-dependencies"].values() for name in extra),
    ]
    names = {normalized(re.split(r"[\[<>=! ]", requirement)[0]) for requirement in wanted} - {"raglift"}
    pins = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, version = line.partition(";")[0].partition("==")
            pins[normalized(name)] = version
    assert names <= set(pins)
    assert pins["torch"] == "2.13.0"


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
