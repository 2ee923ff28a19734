"""The fixtures of a marked test: its labelled set, and `raglift_evaluate` with the baseline that it compares with."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

from raglift.apps.pytest_integration.expectation import FIXTURE, MARK, Expectation, expectation_of
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, DatasetError, RagliftError, RunError
from raglift.gating.deciding import GateResult, gate
from raglift.gating.text import findings_of, hit_words
from raglift.gating.values import with_metrics
from raglift.metrics.computing import DEFAULT_METRICS, title
from raglift.report.format import figure_text, number_text
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.running.evaluation import evaluate
from raglift.storage.saving import check_free, save_evaluation
from raglift.types.dataset import Dataset
from raglift.types.labels import passage_text
from raglift.types.metric import Metric
from raglift.utilities.display import counted, lines_text, printable
from raglift.utilities.limits import is_there, resolved, user_path

if TYPE_CHECKING:
    from raglift.analysis.explanation import Explanation


UPDATE = "--raglift-update-baseline"
_PROPERTY = "raglift_baseline"
_SETTING = "raglift_dataset"
_TIMED_QUERIES = 50
_LOADED = pytest.StashKey[dict[str, Dataset]]()


def check_mark(metafunc: pytest.Metafunc) -> None:
    """Read what a test function expects."""
    where = metafunc.definition.nodeid
    try:
        expectation = expectation_of(metafunc.definition.iter_markers(MARK), where)
    except ConfigurationError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    own = any(mark.name == MARK for mark in metafunc.definition.own_markers)
    if own and expectation.has_bounds and FIXTURE not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(
            f"{where}: found bounds in its mark, and no argument {FIXTURE}; expected the test to hand its system to "
            f"{FIXTURE}(system), which holds it to them"
        )


# The labelled set of a test, loaded once per process.


def dataset_of_test(node: pytest.Item) -> Dataset:
    """Return the labelled set that a test names."""
    found = _named_dataset(node)
    if found is None:
        raise ConfigurationError(
            f"{node.nodeid}: found no labelled set; expected one in the test's mark, as "
            f'@pytest.mark.{MARK}(dataset="lighthouse"), or in the setting {_SETTING}, or a fixture raglift_dataset of '
            "your own in conftest.py"
        )
    return found


def _named_dataset(node: pytest.Item) -> Dataset | None:
    """Return the set that the mark names, from the folder of the test's file, or the setting, from the project's."""
    named = expectation_of(node.iter_markers(MARK), node.nodeid).dataset
    if isinstance(named, Dataset):
        return named
    root, beside = node.config.rootpath, node.path.parent
    if named is None:
        named = str(node.config.getini(_SETTING)).strip()
        beside = root if node.config.inipath is None else node.config.inipath.parent
    if not named:
        return None
    places = [folder / user_path(named) for folder in (beside, root)]
    # Where nothing is, it may be a corpus's name
    source = next(filter(is_there, places), Path(named))
    loaded = node.config.stash.setdefault(_LOADED, {})
    if str(source) not in loaded:
        try:
            loaded[str(source)] = load_dataset(source)
        except DatasetError as error:
            looked = "a path starts from the folder of the test's file, or from the project's root"
            raise ConfigurationError(f"{error}\n  ({looked}: {root})") from error
    return loaded[str(source)]


# Baselines: saved evaluations that tests compare with, and how they are replaced.


def _baseline_folder(item: pytest.Item, expectation: Expectation) -> Path | None:
    """Return where a test's baseline is, from the folder of its file; None for a test that has none."""
    if not expectation.no_regression:
        return None
    beside = item.path.parent
    if expectation.baseline is not None:
        return resolved(beside / user_path(expectation.baseline))
    cls = getattr(item, "cls", None)
    name = item.name if cls is None else f"{cls.__qualname__}.{item.name}"
    return resolved(beside / "baselines" / item.path.stem / re.sub(r"[^\w.+=,-]+", "_", name).strip("_"))


def _shown(item: pytest.Item, folder: Path) -> str:
    root = item.config.rootpath
    return str(folder.relative_to(root) if folder.is_relative_to(root) else folder)


def _load_baseline(item: pytest.Item, folder: Path) -> Evaluation:
    if not is_there(folder):
        raise RunError(
            f"{_shown(item, folder)}: found no baseline there; to save this test's evaluation as its baseline, run "
            f"pytest {UPDATE}, look at its figures, and commit the folder"
        )
    return load_evaluation(folder)


def _replace_baseline(item: pytest.Item, folder: Path, evaluation: Evaluation, metrics: Iterable[str]) -> None:
    """Save an evaluation as the baseline, and note that for the end of the session."""
    before = load_evaluation(folder) if is_there(folder) else None
    save_evaluation(evaluation, folder, overwrite=True)
    changes = ", ".join(_change(evaluation, before, name) for name in metrics)
    word = "saved" if before is None else "replaced"
    line = f"{word} {_shown(item, folder)}: {len(evaluation.dataset):,} questions, {changes}"
    item.user_properties.append((_PROPERTY, line))


def _change(evaluation: Evaluation, before: Evaluation | None, name: str) -> str:
    """Return a metric's mean, and what it was: `ndcg@10 0.831 (was 0.801)`."""
    after = number_text(evaluation.scores.mean(evaluation.after, name))
    if before is None or name not in map(str, before.scores.metrics):
        return f"{name} {after}"
    return f"{name} {after} (was {number_text(before.scores.mean(before.after, name))})"


def saved_lines(stats: Mapping[str, Iterable[Any]]) -> list[str]:
    """Return what the tests of a session noted of baselines, from their reports."""
    reports = (report for kind in stats.values() for report in kind if getattr(report, "when", "") == "call")
    return sorted({value for report in reports for name, value in report.user_properties if name == _PROPERTY})


# The fixture `raglift_evaluate`: `rl.evaluate` on the test's dataset, checked against its mark.


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
        request.node.stash[_EVALUATE] = self

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
        expected, item = self._expectation, self._item
        folder = _baseline_folder(item, expected)
        replaces = bool(item.config.getoption(UPDATE))
        if self.calls > 1 and folder is not None:
            raise ConfigurationError(
                f"{item.nodeid}: found a second evaluation; expected one, since a test has one baseline: make a test "
                "of each system, or parametrize it"
            )
        before = None
        if folder is not None and replaces:
            check_free(folder, overwrite=True)
        elif folder is not None:
            before = _load_baseline(item, folder)
        if isinstance(system, Evaluation):
            evaluation, dataset = with_metrics(system, expected.metrics, "the evaluation"), _named_dataset(item)
        else:
            dataset = self._request.getfixturevalue("raglift_dataset")
            evaluation = evaluate(system, dataset, reranker=reranker, **self._settings(options, len(dataset)))
        result = gate(
            evaluation,
            minimum=expected.min,
            maximum=expected.maximum,
            # What cannot be compared even with itself is not a baseline
            baseline=evaluation if folder is not None and replaces else before,
            no_regression=expected.no_regression,
            margin=expected.margin,
            dataset=dataset,
            name=item.name,
        )
        failure = bounds_failure(result)
        if failure is not None:
            raise AssertionError(failure)
        if folder is not None and replaces:
            _replace_baseline(item, folder, evaluation, expected.no_regression)
        if set("AP") & set(item.config.getoption("reportchars")):
            item.add_report_section("call", "retrieval", str(evaluation))
        return evaluation

    def _settings(self, options: Mapping[str, Any], queries: int) -> dict[str, Any]:
        """Return the options, with what the mark needs besides."""
        expected = self._expectation
        settings: dict[str, Any] = {"progress": False, **options}
        if expected.metrics:
            # Measures without a depth are taken as deep as the system goes, and those of the mark at their own
            asked = options.get("metrics", DEFAULT_METRICS)
            asked = (asked,) if isinstance(asked, (str, Metric)) else tuple(asked)
            settings["metrics"] = (*asked, *expected.metrics)
        if expected.bounds_latency:
            settings.setdefault("latency", min(_TIMED_QUERIES, queries))
        if expected.maximum["failures"] == 0:
            settings.setdefault("on_error", "raise")
        return settings


_EVALUATE = pytest.StashKey[Evaluate]()


def require_call(item: pytest.Item) -> None:
    """Raise for a test that ended without handing over a system, so that nothing was held to its bounds."""
    __tracebackhide__ = True
    evaluates = item.stash.get(_EVALUATE, None)
    if evaluates is None or evaluates.calls:
        return
    if expectation_of(item.iter_markers(MARK), item.nodeid).has_bounds:
        raise AssertionError("raglift_evaluate was not called, so nothing was held to the bounds of the mark")


_WORST = 3
"""The most queries that are shown with what came back."""
_HITS = 10
_RAGLIFT = Path(__file__).parents[2]


def bounds_failure(result: GateResult) -> str | None:
    """Return what a test says that failed; None if everything is as expected."""
    failed = [found.sentence for found in findings_of(result) if not found.passed]
    if not failed:
        return None
    # Those of the regressions are shown with both rankings already
    worst = [query for check in result.checks if not check.passed for query, _ in check.worst]
    worst += [one.query_id for one in result.failed]
    # What pytest shows of it in one line is the first
    parts = [lines_text(failed), str(result).rstrip(), str(result.evaluation).rstrip()]
    parts += [
        lines_text(_query_lines(result.evaluation.explain(query))) for query in list(dict.fromkeys(worst))[:_WORST]
    ]
    return printable("\n\n".join(parts))


def _query_lines(explanation: Explanation) -> Iterator[str]:
    """Yield one query with its values at the greatest depth, the hits that came back, and what was missed."""
    yield f"{explanation.query.id}: {' '.join(explanation.query.text.split())}"
    depth = explanation.metrics[-1].depth
    values = [
        f"{title(metric)} {figure_text(metric, value)}"
        for metric, value in zip(explanation.metrics, explanation.values, strict=True)
        if metric.depth == depth and not math.isnan(value)
    ]
    yield f"  {', '.join(values)}"
    if explanation.error is not None:
        yield f"  failed: {explanation.error}"
    yield f"  {explanation.stage} returned {counted(len(explanation.hits), 'hit')}; ✓ matches a label:"
    found: set[int] = set()
    for each in explanation.hits[:_HITS]:
        mark = "✓" if any(overlap.counts or overlap.satisfies for overlap in each.overlaps) else " "
        yield f"  {mark} {each.hit.rank:>3}. {hit_words(each.hit)}"
        found |= {overlap.fact for overlap in each.overlaps if overlap.satisfies}
    for number, fact in enumerate(explanation.query.facts, start=1):
        if number not in found:
            for place, passage in enumerate(fact.passages):
                yield f"  {'or     ' if place else 'missed '} {passage_text(passage)}"


def without_own_frames(error: RagliftError) -> RagliftError:
    """Return an error without the way that it took through raglift; its cause begins where the system was called."""
    cause = error.__cause__
    if cause is not None:
        cause.__traceback__ = _of_system(cause.__traceback__)
    return error.with_traceback(None)


def _of_system(traceback: TracebackType | None) -> TracebackType | None:
    """Return what comes after raglift's own last frame; all of it if that is nothing."""
    found, place = traceback, traceback
    while place is not None:
        if _RAGLIFT in Path(place.tb_frame.f_code.co_filename).parents and place.tb_next is not None:
            found = place.tb_next
        place = place.tb_next
    return found
