from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="session")
def script() -> Callable[[str], ModuleType]:
    """Loads a benchmark, which is a script and no part of the package, by its file's name."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"{name}_benchmark", FOLDER / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # its dataclasses look themselves up
        if str(FOLDER) not in sys.path:  # as for a script that is run: what several share lies beside it
            sys.path.append(str(FOLDER))
        spec.loader.exec_module(module)
        return module

    return load
