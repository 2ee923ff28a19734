"""What was found of one evaluation: computed once, kept with it, and shown by every output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.analysis.filters import filter_notes
from raglift.analysis.lift import reranker_lift
from raglift.analysis.outcomes import FailureAnalysis, failure_analysis
from raglift.analysis.paired_statistics import method_of, primary_of
from raglift.analysis.sessions import SessionAnalysis, session_analysis
from raglift.analysis.upper_bound import Headroom, headroom
from raglift.analysis.warnings import few_queries, not_read
from raglift.report.sentences import failure_analysis_depth, failure_sentence
from raglift.retrieval.passage_search import PassageSearch
from raglift.stats.intervals import CONFIDENCE

if TYPE_CHECKING:
    from raglift.analysis.records import Lift
    from raglift.results.evaluation import Evaluation
    from raglift.types.metric import Metric

MOVED = 10
"""How many queries are named in each direction."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What was found of an evaluation, by the metric that decides."""

    evaluation: Evaluation
    """The evaluation."""
    primary: Metric
    """The metric that decides."""
    seed: int
    """Of the permutation tests."""
    confidence: float
    """How often intervals hold the true value."""
    lift: Lift | None
    """What its reranker changed; None for a system of one stage."""
    losses: FailureAnalysis
    """What became of the facts, at the depth of the metric."""
    upper_bound: Headroom
    """What a perfect reranker over the same candidates would score."""
    sessions: SessionAnalysis | None
    """How an agent searched; None for a system that is asked once."""
    warnings: tuple[str, ...]
    """Why the figures may not mean what they seem to, the gravest first."""
    notes: tuple[str, ...]
    """What else a reader should know."""

    @property
    def all_failed(self) -> bool:
        """Whether no query was answered: zeros would look as if something had been measured."""
        return all(trace.error is not None for trace in self.evaluation.run.traces)


def findings(
    evaluation: Evaluation,
    primary: Metric | str | None = None,
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Findings:
    """Return what was found of an evaluation; asked again, the same without computing it again."""
    method_of(seed, confidence)  # raises for what is outside its range
    decides = primary_of(primary, evaluation.scores.metrics, evaluation.depth_limit)
    key = ("findings", decides, seed, confidence)
    return evaluation.once(key, lambda: _findings(evaluation, decides, seed, confidence))


def _findings(evaluation: Evaluation, primary: Metric, seed: int, confidence: float) -> Findings:
    lift = None
    if len(evaluation.scores.stages) > 1:
        lift = reranker_lift(evaluation, primary=primary, seed=seed, confidence=confidence, moved=MOVED)
        cautions = lift.warnings
    else:
        cautions = (*few_queries(evaluation.scores.n(evaluation.after, primary)), *not_read(evaluation))
    warnings = (*_failures(evaluation), *filter_notes(evaluation.run, evaluation.dataset.queries), *cautions)
    depth = failure_analysis_depth(evaluation, primary)
    return Findings(
        evaluation,
        primary,
        seed,
        confidence,
        lift,
        failure_analysis(evaluation, depth),
        headroom(evaluation, depth),
        session_analysis(evaluation, PassageSearch) if evaluation.run.has_sessions else None,
        warnings,
        tuple(remark.text for remark in evaluation.remarks_but("failed") if remark.text not in warnings),
    )


def _failures(evaluation: Evaluation) -> list[str]:
    """Return how many queries failed, and why the first did: above everything else, since they count 0."""
    first = next((trace for trace in evaluation.run.traces if trace.error is not None), None)
    if first is None:
        return []
    return [f"{failure_sentence(evaluation)} The first, {first.query_id}: {first.error}"]
