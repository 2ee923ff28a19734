"""`gate()`: bounds on an evaluation's figures, and no significant regression against a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.analysis.paired_statistics import Method, method_of
from raglift.analysis.shared_queries import check_same_queries, named, system_name
from raglift.errors import ConfigurationError
from raglift.gating.bounds import bounds_of, checked_margin, compared_metrics
from raglift.gating.ci import gate_annotations, gate_junit
from raglift.gating.records import Check, FailedQuery, Outcome, Regression
from raglift.gating.regressions import regressions_of
from raglift.gating.values import check_of, with_metrics
from raglift.gating.view import gate_view
from raglift.rendering.presenting import Presentable, view_of, whole
from raglift.results.evaluation import Evaluation
from raglift.types.dataset import Dataset

if TYPE_CHECKING:
    from raglift.types.metric import Metric


@dataclass(frozen=True, eq=False, repr=False)
class GateResult(Presentable):
    """Whether a run may pass, and why not."""

    name: str
    """What the run is called."""
    evaluation: Evaluation
    outcome: Outcome
    checks: tuple[Check, ...]
    regressions: tuple[Regression, ...]
    missing: tuple[str, ...] = ()
    """Queries that the labelled set or the baseline has and the run has not: with any, it cannot pass."""
    expected: int | None = None
    """How many queries the labelled set or, without one, the baseline has; None if neither was given."""
    failed: tuple[FailedQuery, ...] = ()
    """The queries that failed: they count 0, and fail the gate only by the bounds, as `failures`."""
    method: Method | None = None
    """How the differences to the baseline were tested; None without a baseline."""
    warnings: tuple[str, ...] = ()
    """Why the differences may not mean what they seem to."""
    notes: tuple[str, ...] = ()
    """Further notes of the run, and of the queries that were compared."""

    @property
    def passed(self) -> bool:
        """Whether every bound is kept, nothing got really worse, and no query is missing."""
        return self.outcome is Outcome.PASSED

    def to_junit(self) -> str:
        """Return the checks as JUnit XML: one test case a check."""
        return gate_junit(self)

    def to_github(self) -> str:
        """Return GitHub's workflow commands: one `::error` a check that failed; empty if all passed."""
        return gate_annotations(self)

    def __repr__(self) -> str:
        found = f"{self.name!r}, {self.outcome.name}, {len(self.checks)} checks"
        return f"{type(self).__name__}({found}; print() shows them)"


view_of.register(GateResult, whole(gate_view))


def gate(
    evaluation: Evaluation,
    *,
    minimum: Mapping[str, float | str] | None = None,
    maximum: Mapping[str, float | str] | None = None,
    baseline: Evaluation | None = None,
    no_regression: Sequence[Metric | str] = (),
    margin: float = 0.0,
    dataset: Dataset | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    name: str | None = None,
    budget: int | None = None,
) -> GateResult:
    """Decide whether a run may pass.

    A bound is kept where the figure is on its right side, but for rounding (1e-9). Against a baseline a metric fails
    only where the drop of its mean over the queries that both answered is larger than the margin, and the paired test
    says that there is one: p, corrected by Holm over `no_regression`, is at most 1 − confidence. The test asks whether
    there is a drop, not whether it is larger than the margin. A query that failed counts 0. Where the run has other
    chunks than the baseline, recall up to a budget of tokens (`recall_area@tokens(2000)`) is checked beside the metrics
    that are named, unless prompts that end before the budget leave it open: a warning says so.

    A run that lacks a query of `dataset` (without one, of the baseline) cannot pass: it is incomplete.

    Args:
        evaluation: of the run. Missing metrics are scored now if the candidates are deep enough.
        minimum: for each metric, the least mean that will do: `{"ndcg@10": 0.75}`; `"retrieve:recall@50"` names a
            stage, by default it is the last. A bound may also be a text, as `"0.75"`.
        maximum: the most, for each metric, or `p50_latency` and `p95_latency` (seconds, or `"500ms"`), of the run or of
            a stage; or how many queries there may be of `failures`, `empty` (no hit came back) and `unlabelled`.
        baseline: an evaluation of the same queries.
        no_regression: the metrics that must not be worse than the baseline's, at the last stage of each.
        margin: how large a drop of the mean may be before it counts; of metrics between 0 and 1 a share, as 0.03.
        dataset: the labelled set that the run should have answered whole, by the same labels.
        seed: of the permutation tests.
        confidence: a drop is real where p is at most 1 minus it.
        name: what the run is called; by default its stages.
        budget: the tokens of the prompt at which runs of different chunks are compared; by default 2,000.

    Raises:
        ConfigurationError: nothing to check, no such figure or stage, a bound that it cannot have, a metric deeper than
            the run's candidates, a latency that was not measured; a margin by which nothing could fail;
            or a baseline or dataset with no query of the run, other labels or another match rule.
    """
    _check_given(evaluation, baseline, dataset)
    method_of(seed, confidence)
    bounds = bounds_of(minimum, maximum, evaluation.scores.stages)
    compared = compared_metrics(no_regression)
    allowed = checked_margin(margin, compared)
    _check_request(bool(bounds), baseline is not None, bool(compared))
    called = system_name(evaluation) if name is None else name
    whole = dataset if dataset is not None else None if baseline is None else baseline.dataset
    if dataset is not None:
        _check_overlap(evaluation.dataset, dataset, called)
        check_same_queries("dataset", dataset.query_by_id, called, evaluation.dataset.query_by_id, _RESCORE)
    missing = () if whole is None else _missing(evaluation.dataset, whole)
    wanted = [bound.metric for bound in bounds if bound.metric is not None]
    scored = with_metrics(evaluation, [*wanted, *compared], "the run")
    checks = tuple(check_of(scored, bound) for bound in bounds)
    against = None
    if baseline is not None:
        against = regressions_of(
            scored,
            with_metrics(baseline, compared, "the baseline"),
            compared,
            margin=allowed,
            seed=seed,
            confidence=confidence,
            name=called,
            budget=budget,
        )
    regressions = () if against is None else against.found
    passed = all(check.passed for check in checks) and all(one.passed for one in regressions)
    # The queries that failed are listed; what nobody judged is said in the words of the comparison, if there is one
    says_unjudged = against is not None and against.says_unjudged
    remarks = scored.remarks_but("failed", "unjudged") if says_unjudged else scored.remarks_but("failed")
    notes = [remark.text for remark in remarks]
    return GateResult(
        called,
        scored,
        Outcome.INCOMPLETE if missing else Outcome.PASSED if passed else Outcome.FAILED,
        checks,
        regressions,
        missing,
        None if whole is None else len(whole),
        tuple(FailedQuery(one.query_id, one.error) for one in scored.run.traces if one.error is not None),
        None if against is None else against.method,
        () if against is None else against.warnings,
        (*notes, *(() if against is None else against.notes)),
    )


def _check_given(evaluation: object, baseline: object, dataset: object) -> None:
    """Raise unless what is given is what it should be."""
    for name, given in (("evaluation", evaluation), ("baseline", baseline)):
        if not isinstance(given, Evaluation) and not (name == "baseline" and given is None):
            raise ConfigurationError(
                f"gate: {name}: found a {type(given).__name__}; expected an Evaluation: rl.load_evaluation(folder) "
                "opens a saved one"
            )
    if dataset is not None and not isinstance(dataset, Dataset):
        raise ConfigurationError(
            f"gate: dataset: found a {type(dataset).__name__}; expected a Dataset, from rl.load_dataset()"
        )
    if dataset is not None and not dataset.queries:
        raise ConfigurationError("gate: dataset: found no questions; expected those that the run should have answered")


def _check_request(has_bounds: bool, has_baseline: bool, has_metrics: bool) -> None:
    """Raise unless there is something to check, and a baseline goes with metrics."""
    if has_metrics and not has_baseline:
        raise ConfigurationError("no_regression: found no baseline; expected one to compare with (--baseline RUN)")
    if has_baseline and not has_metrics:
        raise ConfigurationError(
            "baseline: found no metric that must not be worse; expected one, as no_regression=['ndcg@10'] "
            "(--no-regression ndcg@10)"
        )
    if not has_bounds and not has_metrics:
        raise ConfigurationError(
            "gate: found nothing to check; expected a bound, as minimum={'ndcg@10': 0.75} (--min ndcg@10=0.75), or a "
            "baseline with no_regression=['ndcg@10']"
        )


def _check_overlap(asked: Dataset, dataset: Dataset, called: str) -> None:
    """Raise for the labelled set of another run: it is not that all of its queries are missing."""
    theirs, ours = list(dataset.query_by_id), list(asked.query_by_id)
    if set(theirs).isdisjoint(ours):
        raise ConfigurationError(
            f"gate: dataset: {dataset.name!r} and {called!r} share no query id: found {named(theirs)} and {named(ours)}"
            "; expected the labelled set that the run should have answered"
        )


def _missing(asked: Dataset, whole: Dataset) -> tuple[str, ...]:
    """Return the queries of the whole that a run was not asked."""
    return tuple(query.id for query in whole.queries if query.id not in asked.query_by_id)


_RESCORE = "score the run again by these labels with rl.rescore(evaluation, labels=…) or raglift rescore --labels"
