"""All classes of a kind in the installed packages, read from their source: importing them would need what they need."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path


def subclasses(packages: Collection[str], bases: Collection[str]) -> set[str]:
    """Return the public classes below any of `bases`, themselves left out, as `module.Class`.

    Args:
        packages: importable names, as `langchain_core` or `llama_index.vector_stores.faiss`.
        bases: class names, as `BaseRetriever`.
    """
    parents: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for package in packages:
        for path, name, above in _classes(package):
            parents.setdefault(name, []).append((path, above))
    below = set(bases)
    while more := {name for name, found in parents.items() if name not in below and _any_below(found, below)}:
        below |= more
    return {
        path
        for name in below - set(bases)
        for path, above in parents[name]
        if not name.startswith("_") and not below.isdisjoint(above)
    }


def _any_below(found: list[tuple[str, tuple[str, ...]]], below: set[str]) -> bool:
    return any(not below.isdisjoint(above) for _, above in found)


@cache
def _classes(package: str) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    return tuple(_read_classes(package))


def _read_classes(package: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The classes at the top of every module of a package: path, name, names of the bases."""
    spec = importlib.util.find_spec(package)
    assert spec is not None, f"{package} is not installed"
    for folder in spec.submodule_search_locations or ():
        for file in sorted(Path(folder).rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            module = ".".join([package, *(part for part in parts if part != "__init__")])
            # a regular expression is twenty times as fast as a parser, and black lays classes out all alike
            for found in re.finditer(r"^class (\w+)\(([^:]*?)\):", file.read_text(encoding="utf-8"), re.MULTILINE):
                named = re.findall(r"[\w.]+", re.sub(r"\[.*?\]", "", found[2]))
                yield f"{module}.{found[1]}", found[1], tuple(name.rpartition(".")[2] for name in named)


def imported_by(path: str) -> set[str]:
    """Return the top-level modules that the module of a class imports, anywhere in it, or `utils` next to it."""
    module = path.rpartition(".")[0]
    package = importlib.util.find_spec(module.split(".")[0])
    assert package is not None
    (folder,) = package.submodule_search_locations or ()
    base = Path(folder).joinpath(*module.split(".")[1:])
    file = base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"
    files = [one for one in (file, file.with_name("utils.py")) if one.is_file()]
    names: set[str] = set()
    for node in (node for one in files for node in ast.walk(ast.parse(one.read_text(encoding="utf-8")))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
            "guard_import",
            "import_module",
        ):
            names |= {str(one.value).split(".")[0] for one in node.args if isinstance(one, ast.Constant)}
    return names
