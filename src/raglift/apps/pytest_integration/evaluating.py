"""Evaluation of a marked test: the fixture `raglift_evaluate`, and the baselines that a test is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from raglift.apps.pytest_integration.collecting import named_dataset
from raglift.apps.pytest_integration.expectation import (
    FIXTURE,
    MARK,
    expectation_of,
    safe_name,
)
from raglift.apps.pytest_integration.messages import bounds_failure, misses_of, without_own_frames
from raglift.errors import ConfigurationError, RagliftError, RunError
from raglift.gating.deciding import gate
from raglift.gating.values import with_metrics
from raglift.metrics.computing import DEFAULT_METRICS
from raglift.report.format import number_text
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.running.evaluation import evaluate
from raglift.storage.saving import check_free, save_evaluation
from raglift.types.metric import Metric
from raglift.utilities.limits import is_there, resolved, user_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from raglift.apps.pytest_integration.expectation import Expectation
    from raglift.types.dataset import Dataset


# Baselines: saved evaluations that tests compare with, where they are, and how they are replaced.


UPDATE = "--raglift-update-baseline"
_PROPERTY = "raglift_baseline"


class Baseline:
    """The baseline of one test, or none.

    Args:
        item: the test.
        expectation: what its mark says.
    """

    def __init__(self, item: pytest.Item, expectation: Expectation) -> None:
        self._item = item
        self._metrics = expectation.no_regression
        self.folder = _folder(item, expectation)
        self.is_replaced = self.folder is not None and bool(item.config.getoption(UPDATE))

    def before(self) -> Evaluation | None:
        """Return what to compare with; None if there is no baseline, or it is to be replaced.

        Raises:
            RunError: it is missing or damaged, or something else is there that must not be replaced.
            ConfigurationError: it is to be replaced, and other tests compare with it too.
        """
        if self.folder is None:
            return None
        if self.is_replaced:
            self._require_alone()
            check_free(self.folder, overwrite=True)
            return None
        if not is_there(self.folder):
            raise RunError(
                f"{self._shown}: found no baseline there; to save this test's evaluation as its baseline, run "
                f"pytest {UPDATE}, look at its figures, and commit the folder"
            )
        return load_evaluation(self.folder)

    def replace(self, evaluation: Evaluation) -> None:
        """Save an evaluation as the baseline, where that is asked for, and note that for the end of the session.

        Raises:
            RunError: it cannot be written.
        """
        if self.folder is None or not self.is_replaced:
            return
        try:
            before: Evaluation | None = load_evaluation(self.folder)
        except RunError:  # there is none, or one that cannot be read any more
            before = None
        save_evaluation(evaluation, self.folder, overwrite=True)
        changes = ", ".join(_change(evaluation, before, name) for name in self._metrics)
        word = "saved" if before is None else "replaced"
        line = f"{word} {self._shown}: {len(evaluation.dataset):,} queries, {changes}"
        self._item.user_properties.append((_PROPERTY, line))

    @property
    def _shown(self) -> str:
        """The folder, from the project's root where it lies in it."""
        root, folder = self._item.config.rootpath, self.folder
        return str(folder.relative_to(root)) if folder and folder.is_relative_to(root) else str(folder)

    def _require_alone(self) -> None:
        """Raise where two tests of the session would write one folder: each would undo the other, whoever is last."""
        for other in self._item.session.items:
            if other is self._item:
                continue
            if FIXTURE not in getattr(other, "fixturenames", ()):  # a mark of its module alone saves nothing
                continue
            theirs = _folder(other, expectation_of(other.iter_markers(MARK), other.nodeid))
            if theirs is not None and theirs == self.folder:
                raise ConfigurationError(
                    f"{self._shown}: found the baseline of {other.nodeid} too; expected one test that saves it: "
                    f"run {UPDATE} with that one alone (-k or its node id)"
                )


def saved_lines(stats: Mapping[str, Iterable[Any]]) -> list[str]:
    """Return what the tests of a session noted of baselines, from their reports."""
    reports = (report for kind in stats.values() for report in kind if getattr(report, "when", "") == "call")
    return sorted({value for report in reports for name, value in report.user_properties if name == _PROPERTY})


def _change(evaluation: Evaluation, before: Evaluation | None, name: str) -> str:
    """Return a metric's mean, and what it was: `ndcg@10 0.831 (was 0.801)`."""
    after = evaluation.scores.mean(evaluation.after, name)
    if before is None or name not in map(str, before.scores.metrics):
        return f"{name} {number_text(after)}"
    return f"{name} {number_text(after)} (was {number_text(before.scores.mean(before.after, name))})"


def _folder(item: pytest.Item, expectation: Expectation) -> Path | None:
    """Return where a test's baseline is, from the folder of its file; None for a test that has none."""
    if not expectation.has_baseline:
        return None
    beside = item.path.parent
    if expectation.baseline is not None:
        return resolved(beside / user_path(expectation.baseline))
    return resolved(beside / "baselines" / safe_name(item.path.stem) / safe_name(_name(item)))


def _name(item: pytest.Item) -> str:
    """Return a test's name with its class and parameters."""
    callspec = getattr(item, "callspec", None)
    name = str(getattr(item, "originalname", None) or item.name)
    parameters = "" if callspec is None else callspec.id
    of_class = getattr(getattr(item, "cls", None), "__qualname__", "")
    return ".".join(filter(None, (of_class, name))) + (f"-{parameters}" if parameters else "")


# The fixture `raglift_evaluate`: `rl.evaluate` on the test's dataset, checked against its mark.


_TIMED_QUERIES = 50


class Evaluate:
    """Measures a system as `rl.evaluate` does, and fails unless it does what the test's mark expects.

    Args:
        request: of the test.
    """

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._item: pytest.Item = request.node
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
        try:
            return self._held(system, reranker, options)
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
        evaluation = self._evaluated(system, reranker, options)
        result = gate(
            evaluation,
            minimum=expected.minimum,
            maximum=expected.maximum,
            # What cannot be compared even with itself is not a baseline
            baseline=evaluation if baseline.is_replaced else before,
            no_regression=expected.no_regression,
            margin=expected.margin,
            dataset=named_dataset(self._item, expected.dataset) if isinstance(system, Evaluation) else self._dataset,
            name=self._item.name,
        )
        failure = bounds_failure(result, misses_of(result.evaluation, expected.each_query))
        if failure is not None:
            raise AssertionError(failure)
        baseline.replace(evaluation)
        if set("AP") & set(self._item.config.getoption("reportchars")):
            self._item.add_report_section("call", "retrieval", str(evaluation))
        return evaluation

    @property
    def _dataset(self) -> Dataset:
        dataset: Dataset = self._request.getfixturevalue("raglift_dataset")
        return dataset

    def _evaluated(self, system: Any, reranker: Any, options: dict[str, Any]) -> Evaluation:
        __tracebackhide__ = True
        if isinstance(system, Evaluation):
            return with_metrics(system, self._expectation.metrics, "the evaluation")
        dataset = self._dataset
        return evaluate(system, dataset, reranker=reranker, **self._settings(options, dataset))

    def _settings(self, options: Mapping[str, Any], dataset: Dataset) -> dict[str, Any]:
        """Return the options, with what the mark needs besides."""
        expected = self._expectation
        needed = expected.metrics
        settings: dict[str, Any] = {"progress": False, **options}
        if needed:
            # Measures without a depth are taken as deep as the system goes, and those of the mark at their own
            asked = options.get("metrics", DEFAULT_METRICS)
            asked = (asked,) if isinstance(asked, (str, Metric)) else tuple(asked)
            settings["metrics"] = (*asked, *needed)
        if expected.bounds_latency:
            settings.setdefault("latency", min(_TIMED_QUERIES, len(dataset)))
        if expected.maximum["failures"] == 0:
            settings.setdefault("on_error", "raise")
        return settings


def evaluate_for(request: pytest.FixtureRequest) -> Evaluate:
    """Return what a test calls to have its system measured."""
    evaluates = Evaluate(request)
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
