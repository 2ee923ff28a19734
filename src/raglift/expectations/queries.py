"""Items that are about one query each: the first to run asks the system, the others look at what it returned."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pytest

from raglift.errors import ConfigurationError
from raglift.expectations.expectation import MARK, expectation_of
from raglift.expectations.items import function_of, is_split, query_of
from raglift.expectations.telling import query_failure, query_text
from raglift.gating.records import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from types import TracebackType

    import numpy as np
    from numpy.typing import NDArray

    from raglift.gating.bounds import Bound
    from raglift.records import Dataset
    from raglift.results import Evaluation

__all__ = ["Asked", "asked_of", "is_known", "judge", "misses_of", "selected", "skip_setup"]

_OUTCOMES = (Exception, pytest.skip.Exception, pytest.fail.Exception, pytest.xfail.Exception)


@dataclass
class Asked:
    """What a test function has asked so far, for all of its items."""

    evaluations: list[Evaluation] = field(default_factory=list)
    """One for each call of raglift_evaluate, in order."""
    error: BaseException | None = None
    """What ended the function before it had asked anything."""
    traceback: TracebackType | None = None
    """Where."""


_ASKED = pytest.StashKey[dict[tuple[object, ...], Asked]]()


def asked_of(item: pytest.Item) -> Asked:
    """Return what the function of an item has asked, in this process."""
    return item.config.stash.setdefault(_ASKED, {}).setdefault(function_of(item), Asked())


def is_known(item: pytest.Item) -> bool:
    """Whether there is something to look at without calling the function."""
    asked = asked_of(item)
    return bool(asked.evaluations) or asked.error is not None


def skip_setup(item: pytest.Item) -> None:
    """Make no fixture for an item whose function is not called: they may be the system, with its index."""
    if is_known(item):
        item.fixturenames = []  # type: ignore[attr-defined] # its own from here on; the list is its siblings' too


def selected(item: pytest.Item, dataset: Dataset) -> Dataset:
    """Return the queries that an item's function has to ask: all for the means, else those of the selected items."""
    function = function_of(item)
    siblings = {query_of(other) for other in item.session.items if is_split(other) and function_of(other) == function}
    wanted = {query for query in siblings if query is not None}
    # A query that the set does not have is told of by its own item
    known = sorted(wanted.intersection(dataset.query_by_id))
    return dataset if None in siblings or not known else dataset.only(ids=known)


def judge(item: pytest.Function) -> Generator[None, Any, Any]:
    """Look at one query, around the call of the test function or in place of it.

    What the function asserts by itself is a matter of the means: there it fails.
    """
    __tracebackhide__ = True
    asked = asked_of(item)
    try:
        result = yield
    except _OUTCOMES as error:
        if not asked.evaluations:
            asked.error, asked.traceback = error, error.__traceback__
            raise
        result = True
    if asked.error is not None:
        raise asked.error.with_traceback(asked.traceback)
    if not asked.evaluations:
        pytest.fail("raglift_evaluate was not called, so there is nothing to look at", pytrace=False)
    for evaluation in asked.evaluations:
        _judge(item, evaluation)
    return result


def misses_of(evaluation: Evaluation, bounds: Iterable[Bound]) -> dict[Bound, list[tuple[str, float]]]:
    """Return, for each bound on single queries, those that do not keep it with their values, worst first."""
    found = {}
    for bound in bounds:
        pairs = zip(evaluation.scores.query_ids, _values(evaluation, bound).tolist(), strict=True)
        # A query without labels has no value, and keeps every bound
        missed = [(query, value) for query, value in pairs if value < bound.bound - ROUNDING]
        found[bound] = sorted(missed, key=itemgetter(1))
    return found


def _values(evaluation: Evaluation, bound: Bound) -> NDArray[np.float64]:
    """Return the value of each query.

    Raises:
        ConfigurationError: the bound is on a figure of the whole run, the metric was not scored, or there is no such
            stage.
    """
    if bound.metric is None:
        raise ConfigurationError(f"per_query: found {bound.name!r}; expected a metric")
    return evaluation.scores.of(bound.stage or evaluation.after, bound.metric)


def _judge(item: pytest.Function, evaluation: Evaluation) -> None:
    __tracebackhide__ = True
    query = evaluation.dataset.query(str(query_of(item)))
    place = evaluation.scores.query_ids.index(query.id)
    failed = evaluation.run.traces[place].error is not None
    if not query.is_labelled and not failed:
        pytest.skip("without labels" if query.answerable else "the corpus does not answer it")
    bounds = expectation_of(item.iter_markers(MARK), item.nodeid).each_query if query.is_labelled else ()
    values = [(bound, float(_values(evaluation, bound)[place])) for bound in bounds]
    missed = [(bound, value) for bound, value in values if not value >= bound.bound - ROUNDING]
    if missed or failed:
        pytest.fail(query_failure(evaluation, query.id, missed), pytrace=False)
    if set("AP") & set(item.config.getoption("reportchars")):
        item.add_report_section("call", "retrieval", query_text(evaluation, query.id))
