"""What is done with a test function when it is collected: its mark is read, and its queries become items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from raglift.errors import ConfigurationError, RagliftError
from raglift.expectations.datasets import named_dataset
from raglift.expectations.expectation import MARK, expectation_of
from raglift.expectations.items import FIXTURE, QUERY
from raglift.expectations.names import MEANS, item_ids

if TYPE_CHECKING:
    from raglift.expectations.expectation import Expectation

__all__ = ["prepare"]


def prepare(metafunc: pytest.Metafunc) -> None:
    """Read what a test function expects; with --retrieval-per-query, make an item of each query beside the means.

    Raises:
        CollectError: its mark cannot be used, or would change nothing.
    """
    where = metafunc.definition.nodeid
    try:
        expectation = expectation_of(metafunc.definition.iter_markers(MARK), where)
        _require_fixture(metafunc, expectation)
        if metafunc.config.getoption("--retrieval-per-query") and QUERY in metafunc.fixturenames:
            _split(metafunc, expectation)
    except RagliftError as error:
        message = str(error)
        raise pytest.Collector.CollectError(message if message.startswith(where) else f"{where}: {message}") from None


def _require_fixture(metafunc: pytest.Metafunc, expectation: Expectation) -> None:
    """Raise for bounds that nothing would ever be held to."""
    own = any(mark.name == MARK for mark in metafunc.definition.own_markers)
    if own and expectation.has_bounds and FIXTURE not in metafunc.fixturenames:
        raise ConfigurationError(
            f"{metafunc.definition.nodeid}: found bounds in its mark, and no argument {FIXTURE}; expected the test to "
            f"hand its system to {FIXTURE}(system), which holds it to them"
        )


def _split(metafunc: pytest.Metafunc, expectation: Expectation) -> None:
    """Make items: one for the means, and one for each query."""
    dataset = named_dataset(metafunc.definition, expectation.dataset)
    if dataset is None:
        raise ConfigurationError(
            f"{metafunc.definition.nodeid}: found no labelled set while tests are collected; expected one for "
            "--retrieval-per-query in the test's mark, or in the setting raglift_dataset (a fixture is too late)"
        )
    metafunc.parametrize(
        QUERY,
        [None, *(query.id for query in dataset)],
        ids=[MEANS, *item_ids(query.id for query in dataset)],
    )
