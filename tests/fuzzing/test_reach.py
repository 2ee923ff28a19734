"""No reader is forgotten: each function of raglift that takes a file apart is driven by one of them, or excused."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

import pytest

from .catalogue import READERS
from .reader import Bench

PACKAGE = Path(__file__).parents[2] / "src" / "raglift"
OPENING = {
    "read_bytes",
    "read_text",
    "open",
    "ParquetFile",
    "read_table",
    "connect",
    "reader",
    "opened",
    "loads",
    "from_json",
}
OPENING |= {
    "lines_of",
    "stream_lines",
    "decode_lines",
    "decode_text",
    "parse_object",
    "parse_text",
    "safe_load",
    "compose",
}
"""What a function calls that reads: of Python, of PyYAML and Arrow, and of `base.strict_files` and its like."""

EXCUSED = {
    "adapters/langchain_stores.py": "a database of the user's, by its own client",
    "adapters/vector_stores.py": "what a database holds; it is said why it could not be read",
    "auditing/labels.py": "the files of the embedded model, which came with its package",
    "base/cache.py _opened_read_only": "SQLite opens it as it opens any cache",
    "base/streams.py _copy": "copies a pipe to a file, which is then read as any other",
    "base/tokens.py": "a vocabulary that comes with a package",
    "cli/demo.py run": "opens the page in a browser",
    "components/chunk_store.py _made": "written by this process",
    "components/late_chunking.py _parts": "written by this process",
    "components/vocabulary.py": "the files of a model, which its own library reads too",
    "cli/gate.py": "opens files to write them",
    "running/evaluation.py evaluate": "opens a system, not a file",
    "running/spec.py": "the kernel tells of the processor",
    "components/static_model.py _sha256": "bytes, whatever they say",
    "judging/prompts/__init__.py": "comes with raglift",
    "components/models.py": "the files of the embedded model, which came with its package",
    "report/charts/parts.py": "comes with a package",
    "datasets/folders.py _is_text": "looks at the first bytes of files that are not read, for a hint",
    "report/page/rendering.py": "looks for a mark in the first bytes, whatever they say",
    "apps/review/server.py": "opens what `apps/review/labels_file.py` reads",
    "apps/review/session.py _rescued": "decisions of this process",
    "storage/answers.py from_bytes": "answers of this user, for which the cache has checksums",
    "storage/rankings/write.py": "opens files to write them",
    "storage/saving.py": "metadata of this process",
    "cli/project.py": "settings of the user's own project, read by the standard library",
    "testing/openai_server.py": "requests of the tests' own",
    "testing/search_server.py": "requests of the tests' own",
}
"""Files, or functions in them, that read nothing of anybody else's."""


@pytest.mark.slow
def test_every_function_that_reads_is_driven(tmp_path: Path):
    driven = set()
    for number, reader in enumerate(READERS):
        driven |= _called(Bench(reader, tmp_path / str(number)))
    missing = [name for name, line in _reading() if not _is_excused(name) and (name.split()[0], line) not in driven]
    assert missing == [], "\n".join(missing)


@pytest.mark.slow
def test_what_is_excused_is_there():
    names = {name for name, _ in _reading()}
    gone = [name for name in EXCUSED if not any(name in (known, known.split()[0]) for known in names)]
    assert gone == []


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("def f(path): return path.open()", True),
        ("def f(path): return path.open('rb').read()", True),
        ("def f(path): path.open('w', encoding='utf-8')", False),
        ("def f(text): return json.loads(text)", True),
        ("def f(path):\n def g(): return path.read_bytes()", True),
        ("def f(path): return path.name", False),
    ],
)
def test_what_reads_is_told(source: str, reads: bool):
    assert bool(list(_functions(ast.parse(source)))) is reads


@cache
def _reading() -> tuple[tuple[str, int], ...]:
    """Return the file and name of each function that reads, and its first line."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for function in _functions(ast.parse(path.read_text(encoding="utf-8"))):
            first = min(function.lineno, *(decorator.lineno for decorator in function.decorator_list), sys.maxsize)
            found.append((f"{path.relative_to(PACKAGE).as_posix()} {function.name}", first))
    return tuple(found)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and any(map(_opens, _own(function))):
            yield function


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of functions inside it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef):
            yield node
            waiting += ast.iter_child_nodes(node)


def _opens(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    mode = node.args[0] if node.args and name == "open" else None
    is_written = isinstance(mode, ast.Constant) and isinstance(mode.value, str) and mode.value[:1] in ("w", "x", "a")
    is_low = ast.unparse(node.func) == "os.open"  # of locks and of where output goes
    return name in OPENING and not is_written and not is_low


def _called(bench: Bench) -> set[tuple[str, int]]:
    """Return the files and first lines of raglift's functions that reading calls."""
    found: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        bench.attempt({})
    finally:
        sys.setprofile(before)
    inside = f"{PACKAGE}/"
    return {
        (code.co_filename.removeprefix(inside), code.co_firstlineno)
        for code in found
        if code.co_filename.startswith(inside)
    }


def _is_excused(name: str) -> bool:
    return name in EXCUSED or name.split(maxsplit=1)[0] in EXCUSED
