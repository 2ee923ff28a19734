"""CONTRIBUTING.md and the architecture page name only what exists; glossary and decisions are complete."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = ("CONTRIBUTING.md", "docs/reference/architecture.md")
BASES = (ROOT, ROOT / "src" / "raglift", ROOT / "docs")
"""What paths are relative to: the repository, and on the architecture page the package."""
NOT_HERE = {"war_and_peace/2600-0.txt"}
"""Paths of what is not in the repository: the text of the book."""
LAYERS = re.compile(r"<!-- layers -->(.*)<!-- end of layers -->", re.DOTALL)
DECISION = re.compile(
    r"# \d{4}\. [^\n]+\n\n\*\*Context\.\*\* .+\n\n\*\*Decision\.\*\* .+\n\n\*\*Consequence\.\*\* .+", re.DOTALL
)

_PATH = re.compile(r"[\w.<>-]+(?:/[\w.<>-]*)+|[\w-]+\.(?:md|py|pyi|toml|txt|yml)")
_DOTTED = re.compile(r"raglift(?:\.\w+)+")
_TARGET = re.compile(r"\bmake ((?:[a-z][\w-]*)+)")


def spans(text: str) -> list[str]:
    """Return what is in backticks in a page, fences left out."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    return [child.content for token in tokens for child in token.children or () if child.type == "code_inline"]


def fences(text: str) -> list[str]:
    return [token.content for token in MarkdownIt("commonmark").parse(text) if token.type == "fence"]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def missing_paths(text: str) -> list[str]:
    """Return the paths in backticks that do not exist; of one with a `<placeholder>`, its folder must."""
    named = [word for span in spans(text) for word in span.split() if _PATH.fullmatch(word)]
    return [path for path in named if path not in NOT_HERE and not exists(path)]


def exists(path: str) -> bool:
    if "<" in path:
        path = path[: path.index("<")].rpartition("/")[0]
    if "/" not in path and path.startswith("__"):  # a file of every package
        return any((ROOT / "src" / "raglift").rglob(path))
    return any((base / path).exists() for base in BASES)


def missing_names(text: str) -> list[str]:
    """Return the dotted names in backticks that cannot be imported."""
    return [name for span in spans(text) for name in _DOTTED.findall(span) if not can_be_imported(name)]


def can_be_imported(name: str) -> bool:
    module, *rest = name.split(".")
    found = importlib.import_module(module)
    for part in rest:
        module += f".{part}"
        if not hasattr(found, part):
            try:
                importlib.import_module(module)
            except ModuleNotFoundError:
                return False
        found = getattr(found, part)
    return True


def missing_targets(text: str) -> list[str]:
    """Return the make targets in backticks and fences that the Makefile does not have."""
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.MULTILINE))
    lines = [*spans(text), *(line for fence in fences(text) for line in fence.splitlines())]
    return [target for line in lines for target in _TARGET.findall(line) if target not in targets]


@pytest.mark.parametrize("page", PAGES)
def test_the_paths_of_a_page_exist(page: str) -> None:
    assert missing_paths(read(page)) == []


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_dotted_names_of_a_page_can_be_imported(page: str) -> None:
    assert missing_names(read(page)) == []


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_make_targets_of_a_page_exist(page: str) -> None:
    assert missing_targets(read(page)) == []


def test_the_links_of_contributing_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)", read("CONTRIBUTING.md"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_table_of_layers_has_every_package() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", LAYERS.search(read("docs/reference/architecture.md"))[1], re.MULTILINE)
    package = ROOT / "src" / "raglift"
    there = {path.stem for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}
    assert sorted(listed) == sorted(there - {"__init__"})


def glossary() -> list[tuple[str, str]]:
    """Return the terms with their meanings."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", read("docs/reference/glossary.md"), re.MULTILINE)
    return [(term, meaning) for term, meaning in rows if term != "term"]


def test_the_glossary_has_each_term_once_with_its_meaning() -> None:
    entries = glossary()
    terms = [term for term, _ in entries]
    assert {"fact", "passage", "hit", "lift", "coverage", "primary metric", "minimum detectable effect"} <= set(terms)
    assert len(set(terms)) == len(terms)
    assert [term for term, meaning in entries if not meaning.endswith(".")] == []


def test_every_decision_has_its_three_parts_and_is_listed() -> None:
    folder = ROOT / "docs" / "reference" / "decisions"
    records = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    assert [path.name for path in records if not DECISION.fullmatch(path.read_text(encoding="utf-8"))] == []
    assert len({path.name[:4] for path in records}) == len(records)
    index = (folder / "README.md").read_text(encoding="utf-8")
    for path in records:
        title = path.read_text(encoding="utf-8").partition("\n")[0].partition(". ")[2]
        assert f"| {path.name[:4]} | [{title}]({path.name}) |" in index
