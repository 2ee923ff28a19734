"""No input is run: the code has nothing that could."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import raglift

SOURCES = sorted(Path(raglift.__file__).parent.rglob("*.py"))
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "subprocess", "pty", "code"}
CALLS = {
    "eval",
    "exec",
    "compile",
    "os.system",
    "os.popen",
    "yaml.load",
    "yaml.unsafe_load",
    "yaml.full_load",
    "torch.load",
}
ARGUMENTS = {"allow_pickle", "trust_remote_code", "shell", "weights_only"}


def ways_to_run(source: str) -> list[str]:
    """Return what in a source could run what it reads."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name.partition(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and str(node.module).partition(".")[0] in MODULES:
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            found += [ast.unparse(node.func)] if ast.unparse(node.func) in CALLS else []
            found += [str(each.arg) for each in node.keywords if each.arg in ARGUMENTS]
    return found


@pytest.mark.slow
def test_the_code_has_no_way_to_run_data() -> None:
    assert len(SOURCES) > 300
    assert {str(path): found for path in SOURCES if (found := ways_to_run(path.read_text("utf-8")))} == {}
