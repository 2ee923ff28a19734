"""Saved evaluations that tests compare with: where they are, and how they are replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError, RunError
from raglift.expectations.expectation import MARK, expectation_of
from raglift.expectations.items import FIXTURE, function_of, is_split, query_of
from raglift.expectations.names import MEANS, safe_name
from raglift.paths import is_there, user_path
from raglift.results import load_evaluation
from raglift.store import check_free, save_evaluation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pytest

    from raglift.expectations.expectation import Expectation
    from raglift.results import Evaluation

__all__ = ["Baseline", "saved_lines"]

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
        """Return what to compare with; None where there is no baseline, or it is to be replaced.

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
            if query_of(other) is not None or function_of(other) == function_of(self._item):
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
    """Return a metric's mean, and what it was: `ndcg@10 0.8312 (was 0.8011)`."""
    after = evaluation.scores.mean(evaluation.after, name)
    if before is None or name not in map(str, before.scores.metrics):
        return f"{name} {after:.4f}"
    return f"{name} {after:.4f} (was {before.scores.mean(before.after, name):.4f})"


def _folder(item: pytest.Item, expectation: Expectation) -> Path | None:
    """Return where a test's baseline is, from the folder of its file; None for a test that has none."""
    if not expectation.has_baseline:
        return None
    beside = item.path.parent
    if expectation.baseline is not None:
        return (beside / user_path(expectation.baseline)).resolve()
    return (beside / "baselines" / safe_name(item.path.stem) / safe_name(_name(item))).resolve()


def _name(item: pytest.Item) -> str:
    """Return a test's name with its class and parameters, without its query."""
    callspec = getattr(item, "callspec", None)
    name = str(getattr(item, "originalname", None) or item.name)
    parameters = "" if callspec is None else callspec.id
    if is_split(item):
        parameters = parameters.removesuffix(MEANS).removesuffix("-")
    of_class = getattr(getattr(item, "cls", None), "__qualname__", "")
    return ".".join(filter(None, (of_class, name))) + (f"-{parameters}" if parameters else "")
