"""Every Python block of the README and of docs/ runs, page by page, and prints what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from raglift.datasets.formats.catalogue import FORMATS
from raglift.metrics.registry import MEASURES
from raglift.retrieval.services.mapping import load_mapping
from raglift.sweep.specification.record import load_sweep

from .pages import PAGES, ROOT, Page, differ, faults, read_page, runnable

READ = {str(path.relative_to(ROOT)): read_page(path) for path in PAGES}
WORKFLOW = "docs/how-to/github_actions.md"  # its YAML is no sweep: see test_github_actions
FULL = {
    "docs/how-to/adapters.md",
    "docs/how-to/agents.md",
    "docs/concepts/faq.md",
    "docs/how-to/from_autorag.md",
    "docs/how-to/from_llama_index.md",
    "docs/how-to/from_sentence_transformers.md",
    "docs/how-to/haystack.md",
    "docs/how-to/langchain.md",
    "docs/how-to/llama_index.md",
    "docs/how-to/mcp.md",
    "docs/how-to/reports.md",
    "docs/how-to/tracking.md",
}
"""Pages that take more than three seconds, whose code other tests run too."""
FOLDERS = {"docs/how-to/datasets.md": ROOT / "tests" / "datasets" / "fixtures"}
"""What a page finds where it runs; the others run in an empty folder, but for the reranker that one of them names."""


def by_page(names: Iterator[str]) -> list[object]:
    return [pytest.param(name, marks=pytest.mark.full if name in FULL else ()) for name in names]


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a page runs in, as the working folder."""
    name = request.getfixturevalue("name")
    folder = Path(shutil.copytree(FOLDERS[name], tmp_path / "page")) if name in FOLDERS else tmp_path
    if name == "docs/how-to/adapters.md":
        shutil.copytree(request.getfixturevalue("tiny_cross_encoder"), folder / "my-cross-encoder")
    if name == "docs/how-to/generating.md":
        request.getfixturevalue("question_writer")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """The module that a page's blocks run in; what the page imports from its folder is forgotten afterwards."""
    module = types.ModuleType("page_of_the_documentation")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    before = set(sys.modules)
    yield module
    for name in set(sys.modules) - before:
        place = getattr(sys.modules[name], "__file__", None)
        if place and Path(place).parent == Path.cwd():
            del sys.modules[name]


def run(page: Page, module: types.ModuleType) -> list[str]:
    """Run a page's blocks in order; say where they printed other things than the page shows."""
    wrong = []
    for block in page.python:
        # Empty lines above it, so that a traceback names the line of the page
        code = compile("\n" * (block.line - 1) + runnable(block), str(page.path), "exec", dont_inherit=True)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, vars(module))  # noqa: S102 — the documentation's own
        shown = page.output(block)
        if shown and (difference := differ(page, shown.text, printed.getvalue())):
            wrong.append(f"line {shown.line}: {difference}")
    return wrong


@pytest.mark.parametrize("name", READ)
def test_all_code_of_a_page_can_be_checked(name: str) -> None:
    assert not faults(READ[name])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", by_page(name for name, page in READ.items() if page.python))
def test_the_python_of_a_page_runs_and_prints_what_it_shows(name: str, folder: Path, module: types.ModuleType) -> None:
    assert not run(READ[name], module)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, page in READ.items() if page.of("yaml") and name != WORKFLOW])
def test_the_sweeps_and_mappings_of_a_page_are_sound(name: str, folder: Path) -> None:
    (folder / "mine").mkdir()
    for number, block in enumerate(READ[name].of("yaml")):
        named = re.match(r"# (\w+\.yaml)\n", block.text)  # a file that another block names
        file = folder / (named[1] if named else f"{number}.yaml")
        file.write_text(block.text.replace("dataset: mine", "dataset: ./mine"), encoding="utf-8")
        if name == "docs/how-to/http.md" and "dataset" not in yaml.safe_load(block.text):
            assert "{k}" in str(load_mapping(file).http_request())
            continue
        if name == "docs/how-to/mcp.md" and "dataset" not in yaml.safe_load(block.text):
            assert load_mapping(file).arguments
            continue
        assert "dataset" in yaml.safe_load(block.text)
        assert load_sweep(file).cells()


def test_every_format_is_explained() -> None:
    page = (ROOT / "docs" / "how-to" / "datasets.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in FORMATS)


@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if not measure.origin])
def test_a_metric_has_a_row_with_its_definition(name: str) -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference" / "metrics").iterdir())
    tables = re.findall(r"^\| metric \|.* definition \|.*\n((?:\|.*\n)+)", pages, re.MULTILINE)
    defined = re.findall(r"^\| `?(\w+)", "".join(tables), re.MULTILINE)
    assert {name, MEASURES[name].title} & set(defined), f"docs/reference/metrics: add a row that defines {name}"


def test_the_links_of_the_readme_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")  # those between pages the strict site checks
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if not link.startswith("https:")]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_readme_shows_what_it_prints() -> None:
    readme = READ["README.md"]
    assert readme.python
    assert all(readme.output(block) for block in readme.python)


def test_the_readme_fits_on_a_few_screens() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
