from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(scope="session")
def running() -> ModuleType:
    """What runs notebooks; a script next to them and no part of the package."""
    return _script("running")


@pytest.fixture(scope="session")
def checking() -> ModuleType:
    """What judges their outputs."""
    return _script("checking")


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"notebooks_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
