"""No class of the installed packages is left out without a word."""

from __future__ import annotations

import importlib.util
import re
from importlib import import_module

import pytest

from .frameworks import FRAMEWORKS, INVENTORY, NOT_RUN
from .haystack_cases import OF_MODELS
from .inventory import imported_by, subclasses


@pytest.mark.slow
@pytest.mark.parametrize("framework", INVENTORY)
def test_every_installed_class_is_run_or_has_a_reason_why_not(framework: str) -> None:
    cases, not_run = FRAMEWORKS[framework]
    run = {case.path for case in cases if case.kind != "runnable"}
    listed = [one.path for one in not_run]
    assert len(set(listed)) == len(listed), "a class is listed twice"
    assert run.isdisjoint(listed), "a class that is run has a reason why it is not"
    assert run | set(listed) == subclasses(*INVENTORY[framework])


@pytest.mark.slow
def test_every_retriever_and_ranker_of_haystack_is_run_alone_or_in_a_pipeline() -> None:
    cases, not_run = FRAMEWORKS["Haystack"]
    named = " ".join([*(f"{case.path} {case.setting}" for case in cases), *(one.path for one in not_run)])
    packages = ("haystack.components.retrievers", "haystack.components.rankers", OF_MODELS)
    installed = {name for package in packages for name in dir(import_module(package)) if name[0].isupper()}
    components = {name for name in installed if name.endswith(("Retriever", "Ranker"))}
    assert len(components) > 10
    assert components == {name for name in components if name in re.split(r"[ .,]+", named)}


@pytest.mark.slow
def test_a_class_that_needs_a_module_imports_it_and_it_is_not_installed() -> None:
    needing = [one for one in NOT_RUN if one.missing]
    assert not [one for one in needing if one.missing not in imported_by(one.path)]
    assert not [one for one in needing if importlib.util.find_spec(one.missing) is not None], "these could be run"


def test_a_class_below_another_is_found_and_a_private_one_is_not() -> None:
    found = subclasses(["langchain_core"], ["BaseRetriever"])
    assert "langchain_core.indexing.in_memory.InMemoryDocumentIndex" in found  # below DocumentIndex
    assert "langchain_core.retrievers.BaseRetriever" not in found
    assert not any(path.rpartition(".")[2].startswith("_") for path in found)
