"""What the fixture `raglift_evaluate` is: `rl.evaluate` on the test's labelled set, held to what its mark expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from raglift.errors import ConfigurationError, RagliftError
from raglift.evaluation import DEFAULT_KS, DEFAULT_METRICS, evaluate
from raglift.expectations.baselines import Baseline
from raglift.expectations.datasets import named_dataset
from raglift.expectations.expectation import MARK, expectation_of
from raglift.expectations.items import is_split
from raglift.expectations.queries import asked_of, misses_of, selected
from raglift.expectations.telling import bounds_failure
from raglift.expectations.tracebacks import without_own_frames
from raglift.gating import gate
from raglift.gating.figures import with_metrics
from raglift.metrics.choosing import choose_metrics
from raglift.results import Evaluation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raglift.records import Dataset

__all__ = ["Evaluate", "evaluate_for", "require_call"]

_TIMED_QUERIES = 50


class Evaluate:
    """Measures a system as `rl.evaluate` does, and fails unless it does what the test's mark expects.

    Args:
        request: of the test.
        query: the query that the item is about; None for one that is about the means.
    """

    def __init__(self, request: pytest.FixtureRequest, query: str | None) -> None:
        self._request = request
        self._item: pytest.Item = request.node
        self._query = query
        self._expectation = expectation_of(self._item.iter_markers(MARK), self._item.nodeid)
        self.calls = 0
        """How often it was called."""

    def __call__(self, system: Any, *, reranker: Any = None, **options: Any) -> Evaluation:
        """Measure a system on the labelled set of the test's mark, and hold it to the bounds there.

        Args:
            system: whatever `rl.evaluate` takes; or an `Evaluation`, which is held to the bounds as it is.
            reranker: as `rl.evaluate` takes it.
            **options: those of `rl.evaluate`. Metrics that the mark speaks of are taken whatever is given here, and a
                query that fails ends the test at once, with the system's own traceback, unless the mark or `on_error`
                allows failures.

        Returns:
            The evaluation, for what else the test looks at.

        Raises:
            AssertionError: a bound is not kept, or a metric got worse than in the baseline.
            RagliftError: the system cannot be measured, or there is no baseline.
        """
        __tracebackhide__ = True
        self.calls += 1
        measure = self._held if self._query is None else self._asked
        try:
            return measure(system, reranker, options)
        except RagliftError as error:
            raise without_own_frames(error) from error.__cause__

    def _held(self, system: Any, reranker: Any, options: dict[str, Any]) -> Evaluation:
        """Measure, and raise unless everything is as expected."""
        __tracebackhide__ = True
        expected = self._expectation
        if self.calls > 1 and expected.has_baseline:
            raise ConfigurationError(
                f"{self._item.nodeid}: found a second evaluation; expected one, since a test has one baseline: make a "
                "test of each system, or parametrize it"
            )
        baseline = Baseline(self._item, expected)
        before = baseline.before()
        evaluation = self._asked(system, reranker, options)
        result = gate(
            evaluation,
            minimum=expected.minimum,
            maximum=expected.maximum,
            # What cannot be compared even with itself is no baseline
            baseline=evaluation if baseline.is_replaced else before,
            no_regression=expected.no_regression,
            margin=expected.margin,
            dataset=named_dataset(self._item, expected.dataset) if isinstance(system, Evaluation) else self._dataset,
            name=self._item.name,
        )
        # With an item for each query these are looked at one by one
        each = () if is_split(self._item) or expected.per_query is None else expected.each_query
        failure = bounds_failure(result, misses_of(result.evaluation, each))
        if failure is not None:
            raise AssertionError(failure)
        baseline.replace(evaluation)
        if set("AP") & set(self._item.config.getoption("reportchars")):
            self._item.add_report_section("call", "retrieval", str(evaluation))
        return evaluation

    def _asked(self, system: Any, reranker: Any, options: dict[str, Any]) -> Evaluation:
        """Return an evaluation; the one that an item of the same function made already, if there is one."""
        __tracebackhide__ = True
        if not is_split(self._item):
            return self._evaluated(system, reranker, options)
        known = asked_of(self._item).evaluations
        if len(known) < self.calls:
            known.append(self._evaluated(system, reranker, options))
        return known[self.calls - 1]

    @property
    def _dataset(self) -> Dataset:
        dataset: Dataset = self._request.getfixturevalue("raglift_dataset")
        return selected(self._item, dataset) if is_split(self._item) else dataset

    def _evaluated(self, system: Any, reranker: Any, options: dict[str, Any]) -> Evaluation:
        __tracebackhide__ = True
        if isinstance(system, Evaluation):
            return with_metrics(system, self._expectation.metrics(each_query=is_split(self._item)), "the evaluation")
        dataset = self._dataset
        return evaluate(system, dataset, reranker=reranker, **self._settings(options, dataset))

    def _settings(self, options: Mapping[str, Any], dataset: Dataset) -> dict[str, Any]:
        """Return the options, with what the mark needs besides."""
        expected = self._expectation
        given = options.get("metrics", DEFAULT_METRICS)
        wanted = choose_metrics(given, options.get("ks", DEFAULT_KS), dataset)
        needed = expected.metrics(each_query=is_split(self._item))
        more = [metric for metric in needed if metric not in wanted]
        settings: dict[str, Any] = {"progress": False, **options}
        self._require_candidates(options.get("candidates"))
        if more:
            settings["metrics"] = (*wanted, *more)
        if expected.bounds_latency:
            settings.setdefault("latency", min(_TIMED_QUERIES, len(dataset)))
        if expected.maximum["failures"] == 0 and not is_split(self._item):
            settings.setdefault("on_error", "raise")
        return settings

    def _require_candidates(self, given: object) -> None:
        """Raise where the mark needs more candidates than the test asks for: it would be measured with others."""
        if not isinstance(given, int):
            return
        for metric in self._expectation.metrics(each_query=False):
            if metric.k is not None and metric.k > given:
                raise ConfigurationError(
                    f"{self._item.nodeid}: found candidates={given}, and {metric} in its mark; expected {metric.k} "
                    "candidates or more, or a metric that is no deeper"
                )


def evaluate_for(request: pytest.FixtureRequest, query: str | None) -> Evaluate:
    """Return what a test calls to have its system measured."""
    evaluates = Evaluate(request, query)
    request.node.stash[_EVALUATE] = evaluates
    return evaluates


_EVALUATE = pytest.StashKey[Evaluate]()


def require_call(item: pytest.Item) -> None:
    """Raise for a test that ended without handing over a system, so that nothing was held to its bounds."""
    __tracebackhide__ = True
    evaluates = item.stash.get(_EVALUATE, None)
    if (
        evaluates is not None
        and not evaluates.calls
        and expectation_of(item.iter_markers(MARK), item.nodeid).has_bounds
    ):
        raise AssertionError("raglift_evaluate was not called, so nothing was held to the bounds of the mark")
