"""The order in which modules may import each other: only what comes before, as the table of
docs/reference/architecture.md lists it.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "raglift"

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "architecture.md"


def order_on(page: str) -> tuple[str, ...]:
    """The packages in the table of layers, in order: a module imports only from its own and those before it."""
    table = page.partition("<!-- layers -->")[2].partition("<!-- end of layers -->")[0]
    return tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))


ORDER = order_on(PAGE.read_text(encoding="utf-8"))

FRAMEWORKS = {"faiss", "langchain", "langchain_core", "langchain_classic", "llama_index"} | {
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


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


def imports_of(source: str, known: Collection[str]) -> Iterator[str]:
    """Yield what a module imports at run time, also inside its functions; what is imported for types alone is left out.

    `from raglift.cli import compare` imports the module `raglift.cli.compare` if it is known.
    """
    for node in import_statements(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            assert node.module is not None, "found a relative import; expected an absolute one"
            assert not node.level, f"found an import relative to {node.module}; expected an absolute one"
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in known else node.module


@cache
def import_statements(source: str, for_types: bool = False) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports of a module, also those for types alone if asked."""
    found: list[ast.Import | ast.ImportFrom] = []
    inside: list[ast.AST] = [parsed(source)]
    for node in inside:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
            continue
        fields = ("body", "orelse", "finalbody", "handlers", "cases")
        if isinstance(node, ast.If) and not for_types and getattr(node.test, "id", "") == "TYPE_CHECKING":
            fields = ("orelse",)
        inside += (statement for field in fields for statement in getattr(node, field, ()))
    return found


def imports_of_later_packages(source: str, module: str, known: Collection[str], order: Sequence[str]) -> list[str]:
    """Return what a module imports of packages that come after its own."""
    own = order.index(layer_of(module))
    imported = [name for name in imports_of(source, known) if name.startswith("raglift.")]
    return [name for name in imported if order.index(layer_of(name)) > own]


def cycle_of(sources: Mapping[str, str]) -> list[str]:
    """Return modules that import each other in a cycle, by the source of each; none if there is no cycle."""
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


def test_a_module_imports_only_from_packages_before_its_own() -> None:
    layered = {module: path for module, path in SOURCES.items() if layer_of(module) not in ("", "__main__")}
    offenders = {
        module: later
        for module, path in layered.items()
        if (later := imports_of_later_packages(path.read_text(encoding="utf-8"), module, SOURCES, ORDER))
    }
    assert offenders == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert cycle_of({module: path.read_text(encoding="utf-8") for module, path in SOURCES.items()}) == []


def frameworks_imported_at_the_top(source: str) -> set[str]:
    statements = parsed(source).body
    at_the_top = ast.Module([node for node in statements if isinstance(node, (ast.Import, ast.ImportFrom))], [])
    return {name.partition(".")[0] for name in imports_of(ast.unparse(at_the_top), SOURCES)} & FRAMEWORKS


def test_no_framework_is_imported_before_it_is_used() -> None:
    offenders = {
        module: frameworks
        for module, path in SOURCES.items()
        if not module.startswith("raglift.integrations.")  # subclasses of their classes, each imported when it is used
        and (frameworks := frameworks_imported_at_the_top(path.read_text(encoding="utf-8")))
    }
    assert offenders == {}


@cache
def public_names() -> dict[str, set[str]]:
    """What each package says that others may use."""
    return {
        ".".join(("raglift", *path.parent.relative_to(PACKAGE).parts)): {
            alias.asname or alias.name
            for node in parsed(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for path in PACKAGE.rglob("__init__.pyi")
    }


def test_only_these_modules_stand_outside_a_package() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "__main__", "errors", "pytest_plugin"}


def test_every_public_name_exists_and_is_no_module_beside_it() -> None:
    names = [(package, name) for package, public in public_names().items() for name in public]
    missing = [name for package, name in names if getattr(importlib.import_module(package), name, None) is None]
    hidden_by_a_module = [name for package, name in names if f"{package}.{name}" in SOURCES]
    assert (missing, hidden_by_a_module) == ([], [])


def test_every_package_says_what_it_is_for() -> None:
    packages = [path for path in MODULES if path.name == "__init__.py"]
    assert [path for path in packages if not ast.get_docstring(parsed(path.read_text(encoding="utf-8")))] == []


def summary_of(text: str) -> str:
    """Return the first sentence of a docstring or comment, in one line."""
    return " ".join(text.split()).partition(". ")[0].rstrip(".")


def test_no_two_files_have_the_same_docstring() -> None:
    modules: dict[str, list[str]] = {}
    for module, path in SOURCES.items():
        docstring = ast.get_docstring(parsed(path.read_text(encoding="utf-8")))
        modules.setdefault(summary_of(docstring or ""), []).append(module)
    assert [same for summary, same in modules.items() if summary and len(same) > 1] == []


def test_a_private_name_stays_in_its_module() -> None:
    offenders = [
        f"{module} imports {alias.name} from {node.module}"
        for module, path in SOURCES.items()
        for node in import_statements(path.read_text(encoding="utf-8"), for_types=True)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("raglift")
        for alias in node.names
        if alias.name.startswith("_") and alias.name != "__version__"
    ]
    assert offenders == []


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
        *root.glob("notebooks/files/*.py"),
    ]
    texts = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in pages if path.is_file()}
    for path in root.glob("notebooks/*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts[path.name] = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return texts


def test_readers_are_shown_public_names_alone() -> None:
    offenders = [
        f"{page}: from {package} import {name}"
        for page, text in shown_to_readers().items()
        for package, name in imports_shown_in(text)
        if package != "raglift.errors" and name not in public_names().get(package, ())
    ]
    assert offenders == []
