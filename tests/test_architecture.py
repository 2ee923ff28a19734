"""The order in which modules may import each other: only from left to right, as docs/architecture.md draws it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "raglift"

# Left to right: a module imports only from those before it.
ORDER = (
    "errors",
    "printable",
    "limits",
    "paths",
    "environment",
    "text",
    "rendering",
    "faults",
    "records",
    "progress",
    "threads",
    "event_loop",
    "work",
    "batches",
    "cache",
    "dataset",
    "corpora",
    "loading",
    "models",
    "chunking",
    "indexing",
    "retrieval",
    "reranking",
    "matching",
    "metrics",
    "result_records",
    "scoring",
    "significance",
    "diagnosis",
    "comparison",
    "run_files",
    "report",
    "store",
    "results",
    "auditing",
    "execution",
    "latency",
    "integrations",
    "testing",
    "evaluation",
    "gating",
    "references",
    "systems",
    "sweep",
    "judging",
    "assistant",
    "review",
    "walkthrough",
    "expectations",
    "pytest_plugin",
    "cli",
)

FRAMEWORKS = {"faiss", "langchain", "langchain_core", "langchain_classic", "langchain_community", "llama_index"} | {
    "bm25s",
    "langchain_openai",
    "mlflow",
    "langchain_text_splitters",
    "sentence_transformers",
    "torch",
    "transformers",
    "wandb",
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield each imported module, and whether it is only imported for types."""
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, id(node) in for_types
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in for_types


def test_every_module_has_its_place_in_the_order() -> None:
    assert {room_of(path) for path in MODULES} == {*ORDER, "__init__", "__main__"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_its_left(path: Path) -> None:
    name, room = str(path.relative_to(PACKAGE)), room_of(path)
    if room in ("__init__", "__main__"):
        return
    for module, for_types in imports_of(ast.parse(path.read_text(encoding="utf-8"))):
        if module.startswith("raglift.") and not for_types:
            other = module.split(".")[1]
            allowed = ORDER.index(other) <= ORDER.index(room)
            assert allowed, f"{name} imports raglift.{other}, which is to its right"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_framework_is_imported_before_it_is_used(path: Path) -> None:
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    at_the_top = ast.Module([node for node in statements if isinstance(node, (ast.Import, ast.ImportFrom))], [])
    assert not {module.partition(".")[0] for module, _ in imports_of(at_the_top)} & FRAMEWORKS
