"""The order in which modules may import each other: only what comes before, as the table of
docs/reference/architecture.md lists it.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "raglift"

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "architecture.md"


def order_on(page: str) -> tuple[str, ...]:
    """The packages in the table of layers, in order: a module imports only from its own and those before it."""
    table = page.partition("<!-- layers -->")[2].partition("<!-- end of layers -->")[0]
    return tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))


ORDER = order_on(PAGE.read_text(encoding="utf-8"))

FRAMEWORKS = {"faiss", "langchain", "langchain_core", "langchain_classic", "langchain_community", "llama_index"} | {
    "bm25s",
    "datasets",
    "docx",
    "haystack",
    "langchain_openai",
    "mcp",
    "mcp_types",
    "mlflow",
    "py3langid",
    "pypdf",
    "langchain_text_splitters",
    "sentence_transformers",
    "torch",
    "transformers",
    "wandb",
}
MODULES = sorted(PACKAGE.rglob("*.py"))


SOURCES = {
    ".".join(("raglift", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in MODULES
}
"""The file of each module, by its dotted name."""


def layer_of(module: str) -> str:
    """The package or module right below raglift that a module belongs to; empty for raglift itself."""
    return module.removeprefix("raglift").removeprefix(".").partition(".")[0]


def imports_of(source: str, known: Collection[str]) -> Iterator[str]:
    """Yield what a module imports at run time, also inside its functions; what is imported for types alone is left out.

    `from raglift.cli import compare` imports the module `raglift.cli.compare` if it is known.
    """
    tree = ast.parse(source)
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None, "found a relative import; expected an absolute one"
            assert not node.level, f"found an import relative to {node.module}; expected an absolute one"
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in known else node.module


def imports_of_later_packages(source: str, module: str, known: Collection[str], order: Sequence[str]) -> list[str]:
    """Return what a module imports of packages that come after its own."""
    mine = order.index(layer_of(module))
    rooms = ((found, layer_of(found)) for found in imports_of(source, known) if found.startswith("raglift."))
    return [found for found, room in rooms if order.index(room) > mine]


def cycle_of(sources: Mapping[str, str]) -> list[str]:
    """Return modules that import each other in a circle, by the source of each; none if there is no circle."""
    graph = {name: set(imports_of(source, sources)) for name, source in sources.items()}
    try:
        TopologicalSorter({name: found & set(sources) - {name} for name, found in graph.items()}).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_the_drawing_of_the_layers_has_the_order_of_the_table() -> None:
    drawing = PAGE.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    layers = [line.partition("   ")[0] for line in drawing.splitlines() if not line.startswith(" ")]
    assert " ".join(layers).split() == list(ORDER)


def test_every_module_has_its_place_in_the_order() -> None:
    assert {layer_of(module) for module in SOURCES} == {*ORDER, "", "__main__"}


@pytest.mark.parametrize("module", [module for module in SOURCES if layer_of(module) not in ("", "__main__")])
def test_a_module_imports_only_from_packages_before_its_own(module: str) -> None:
    source = SOURCES[module].read_text(encoding="utf-8")
    found = imports_of_later_packages(source, module, SOURCES, ORDER)
    assert not found, f"{module} imports {', '.join(found)}, which comes after it"


def test_no_modules_import_each_other_in_a_circle() -> None:
    found = cycle_of({module: path.read_text(encoding="utf-8") for module, path in SOURCES.items()})
    assert not found, " imports ".join(found)


LAZY = "def save():\n    from raglift.store import write\n"
FOR_TYPES = "if TYPE_CHECKING:\n    from raglift.store import write\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (LAZY, ["raglift.store"]),
        ("from raglift import store", ["raglift.store"]),
        ("import raglift.store", ["raglift.store"]),
        (FOR_TYPES, []),
        (f"{FOR_TYPES}else:\n    import raglift.store\n", ["raglift.store"]),
        ("from raglift.errors import RunError", []),
    ],
)
def test_an_import_of_a_later_package_is_seen(source: str, expected: list[str]) -> None:
    known = ("raglift.errors", "raglift.records.run", "raglift.store")
    assert imports_of_later_packages(source, "raglift.records.run", known, ("errors", "records", "store")) == expected


def test_a_circle_is_seen_through_functions_and_packages_but_not_through_types() -> None:
    one_way = {"raglift.records": FOR_TYPES, "raglift.report": "import raglift.records", "raglift.store": ""}
    back = {**one_way, "raglift.store": "from raglift import report", "raglift.records": LAZY}
    assert cycle_of(one_way) == []
    assert set(cycle_of(back)) == {"raglift.records", "raglift.report", "raglift.store"}


@pytest.mark.parametrize("module", SOURCES)
def test_no_framework_is_imported_before_it_is_used(module: str) -> None:
    statements = ast.parse(SOURCES[module].read_text(encoding="utf-8")).body
    at_the_top = ast.Module([node for node in statements if isinstance(node, (ast.Import, ast.ImportFrom))], [])
    found = {imported.partition(".")[0] for imported in imports_of(ast.unparse(at_the_top), SOURCES)}
    assert not found & FRAMEWORKS


STUBS = sorted(PACKAGE.rglob("__init__.pyi"))
PUBLIC = {
    ".".join(("raglift", *path.parent.relative_to(PACKAGE).parts)): {
        alias.asname or alias.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for path in STUBS
}
"""What each package says that others may use."""


def test_only_these_modules_stand_outside_a_package() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "__main__", "errors", "pytest_plugin"}


@pytest.mark.parametrize("package", PUBLIC)
def test_a_public_name_exists_and_is_no_module_beside_it(package: str) -> None:
    module = importlib.import_module(package)
    for name in PUBLIC[package]:
        assert getattr(module, name) is not None
        assert f"{package}.{name}" not in SOURCES, "importing the module would hide the name"


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=str)
def test_a_package_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def summary_of(text: str) -> str:
    """Return the first sentence of a docstring or comment, in one line."""
    return " ".join(text.split()).partition(". ")[0].rstrip(".")


def sections_of(source: str) -> set[str]:
    """Return the first sentences of the comments that head a file's sections: comments between two blank lines."""
    comments = re.findall(r"(?<=\n\n)((?:#.*\n)+)(?=\n)", source)
    return {summary_of(re.sub("^#", "", comment, flags=re.MULTILINE)) for comment in comments}


SUMMARIES = {
    module: summary_of(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
    for module, path in SOURCES.items()
}
"""The first sentence of each module's docstring."""


@pytest.mark.parametrize("module", SOURCES)
def test_a_docstring_is_about_the_whole_file_and_about_no_other(module: str) -> None:
    summary = SUMMARIES[module]
    others = [other for other, theirs in SUMMARIES.items() if summary and theirs == summary and other != module]
    assert not others, f"{others[0]} has the same docstring; say what tells the files apart"
    found = sections_of(SOURCES[module].read_text(encoding="utf-8"))
    assert summary not in found, "the docstring repeats the comment of one section; say what the whole file is for"


def test_a_section_is_seen_by_its_comment() -> None:
    source = '"""All."""\n\nimport re\n\n# Two. More\n# of it.\n\n\n# Why a\nA = 1\n\n\n# Three.\n\n\ndef f(): ...\n'
    assert sections_of(source) == {"Two", "Three"}


@pytest.mark.parametrize("module", SOURCES)
def test_a_private_name_stays_in_its_module(module: str) -> None:
    for node in ast.walk(ast.parse(SOURCES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("raglift"):
            private = [alias.name for alias in node.names if alias.name.startswith("_") and alias.name != "__version__"]
            assert not private, f"{module} imports {', '.join(private)} from {node.module}"


def imports_shown_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield each `from raglift… import name` of a page or notebook, as package and name."""
    for package, names in re.findall(r"^[\s>]*from (raglift[\w.]*) import (\([^)]*\)|[^\n]+)", text, re.MULTILINE):
        for name in re.findall(r"(\w+)(?: as \w+)?(?:,|$)", names.strip("() \n").replace("\n", " ")):
            yield package, name


def shown_to_readers() -> dict[str, str]:
    root = PACKAGE.parents[1]
    pages = [
        *root.glob("*.md"),
        *root.glob("docs/**/*.md"),
        *root.glob("examples/**/*.*"),
        *root.glob("corpora/**/*.md"),
    ]
    texts = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in pages if path.is_file()}
    for path in root.glob("notebooks/*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts[path.name] = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return texts


@pytest.mark.parametrize(
    ("page", "text"), shown_to_readers().items(), ids=lambda value: value if len(value) < 60 else ""
)
def test_readers_are_shown_public_names_alone(page: str, text: str) -> None:
    for package, name in imports_shown_in(text):
        if package == "raglift.errors":
            continue
        assert name in PUBLIC.get(package, ()), f"{page}: from {package} import {name}"


def test_an_import_of_several_lines_is_seen() -> None:
    shown = list(
        imports_shown_in("from raglift.metrics import (\n    NDCG,\n    metric,\n)\n> from raglift import gate")
    )
    assert shown == [("raglift.metrics", "NDCG"), ("raglift.metrics", "metric"), ("raglift", "gate")]
