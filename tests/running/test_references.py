"""Users' systems by reference."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raglift.adapters.references import is_factory
from raglift.errors import ConfigurationError
from raglift.running.systems import LocalSystem, build_retriever, load_system
from raglift.types.dataset import Dataset
from raglift.types.labels import Query

MODULE = """
made = []

class Ready:
    def __call__(self, query):
        return ["a"]

class NeedsSettings:
    def __init__(self, settings):
        self.settings = settings

def make():
    made.append(1)
    return Ready()

def search(query):
    return ["a"]

def ends():
    raise SystemExit("usage: my_rag QUERY")

def broken():
    raise OSError("no database")

def stopped():
    raise KeyboardInterrupt

ready = Ready()
"""


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "a_users_module.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "a_broken_module.py").write_text("import no_such_package_at_all", encoding="utf-8")
    (tmp_path / "a_failing_module.py").write_text("import os; os.environ['NO_SUCH_SETTING_AT_ALL']", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(tmp_path))])
    yield
    sys.modules.pop("a_users_module", None)


def test_a_function_without_arguments_makes_the_system() -> None:
    system = load_system("a_users_module:make")
    assert type(system).__name__ == "Ready"
    assert load_system("a_users_module:make") is not system


@pytest.mark.parametrize("name", ["ready", "search", "NeedsSettings"])
def test_anything_else_is_the_system_as_it_is(name: str) -> None:
    found = load_system(f"a_users_module:{name}")
    assert found is getattr(sys.modules["a_users_module"], name)


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("a_users_module", "found 'a_users_module'; expected module:name"),
        ("no_such_module_here:make", "the module 'no_such_module_here' cannot be imported: No module named"),
        ("a_users_module:nothing", "a_users_module has no 'nothing'; expected one of made, Ready, NeedsSettings, make"),
        ("a_failing_module:make", "the module 'a_failing_module' failed: KeyError: 'NO_SUCH_SETTING_AT_ALL'"),
        ("a_users_module:ends", r"a_users_module:ends\(\) failed: SystemExit: usage: my_rag QUERY"),
    ],
)
def test_a_reference_that_leads_nowhere_says_where_it_ended(reference: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        load_system(reference)


def test_an_order_to_stop_is_no_failure_of_a_system() -> None:
    with pytest.raises(KeyboardInterrupt):
        load_system("a_users_module:stopped")


@pytest.mark.parametrize(
    "reference",
    ["localhost:8000/search", "http:/localhost:8000/search", "ftp://example.org/find"],
)
def test_an_address_without_its_beginning_is_no_module(reference: str) -> None:
    with pytest.raises(ConfigurationError, match=r"expected the address of a service: http:// or https:// before"):
        load_system(reference)


class Made: ...


def no_arguments() -> None: ...


def needed(query: str) -> None: ...


@pytest.mark.parametrize(
    ("found", "is_one"),
    [(no_arguments, True), (Made, True), (dict, False), (needed, False)],
)
def test_what_makes_a_system_is_called_without_arguments(found: Any, is_one: bool) -> None:
    assert is_factory(found) is is_one


@pytest.mark.parametrize(
    ("reference", "found"),
    [("a_users_module:make", "'a_users_module:make'"), (no_arguments, "a function"), (None, "none")],
)
def test_a_mapping_belongs_to_the_address_of_a_service(reference: Any, found: str) -> None:
    with pytest.raises(ConfigurationError, match=f"mapping: found 'shop.yaml' with the system {found}; expected"):
        load_system(reference, Path("shop.yaml"))


def test_a_dataset_without_documents_cannot_be_indexed() -> None:
    with pytest.raises(ConfigurationError, match="shop: found no documents to index; expected a dataset folder with"):
        build_retriever(Dataset((Query("q", "what?"),), name="shop"), LocalSystem("bm25"))
