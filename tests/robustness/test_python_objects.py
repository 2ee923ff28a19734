"""What is built in Python: labels and results that are made by hand, and errors that travel between processes."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import raglift
from raglift.datasets import load_dataset
from raglift.errors import DatasetError, Fault, RagliftError, SweepError

# Errors, pickled: pool.map and Ray send them from one process to another.

FAULTS = [Fault("queries.jsonl:3: grade", "2.5", "an integer"), Fault("queries.jsonl:4", "nothing", "a query")]
ARGUMENTS: dict[str, Any] = {
    "faults": FAULTS,
    "fault": FAULTS[0],
    "error": ValueError("what went wrong"),
    "place": 3,
    "now": {"version": 2},
    "metric": "recall@5",
}
"""What the parameters of errors are given that are not texts."""


def error_classes() -> list[type[BaseException]]:
    """Return every class of errors that raglift defines, in any module."""
    for module in pkgutil.walk_packages(raglift.__path__, "raglift."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: dict[type[BaseException], None] = {}
    waiting: list[type[BaseException]] = [Exception]
    while waiting:
        for each in waiting.pop().__subclasses__():
            waiting.append(each)
            if each.__module__.partition(".")[0] == "raglift" and each.__name__ != "_Misdescribed":  # never raised
                found[each] = None
    return list(found)


def an_error(of: type[BaseException]) -> BaseException:
    """Return an error with every argument that it takes, and an attribute that was set after it was made."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    own = of.__init__ is not Exception.__init__
    for name, parameter in inspect.signature(of.__init__).parameters.items() if own else ():
        if name == "self" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        value = ARGUMENTS.get(name, f"the {name}") if parameter.default is parameter.empty else parameter.default
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[name] = value
        else:
            positional.append(value)
    error = of(*positional or ["what went wrong"], **named)
    error.evaluation = "set later"  # type: ignore[attr-defined]
    return error


@pytest.mark.slow  # imports every module
def test_every_error_is_pickled_and_copied_with_all_that_it_says() -> None:
    classes = error_classes()
    assert {RagliftError, DatasetError, SweepError} <= set(classes)
    for of in classes:
        error = an_error(of)
        for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 — its own
            assert type(again) is of
            assert str(again) == str(error)
            assert again.args == error.args or isinstance(error.args[-1], Exception)
            assert vars(again).keys() == vars(error).keys()


@pytest.mark.slow  # starts a process
def test_an_error_of_a_worker_arrives_and_nobody_waits(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text('{"id": "a"}\n{"id": "a", "query": 3}\n')
    with get_context("spawn").Pool(1) as pool, pytest.raises(DatasetError) as raised:
        pool.map_async(load_dataset, [tmp_path / "labels.jsonl"]).get(timeout=60)
    assert len(raised.value.faults) == 3
    assert "labels.jsonl: 3 faults; nothing was loaded" in str(raised.value)
