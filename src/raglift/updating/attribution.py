"""How much of a metric's change between two versions of the documents is the labels, and how much the system."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.comparison import looks_too_deep
from raglift.analysis.paired_statistics import bound_of, method_of, method_text, primary_of, verdict, within_reach
from raglift.analysis.shared_queries import check_same_queries, check_same_rule, documents_hash_of, named
from raglift.analysis.upper_bound import rule_of
from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings
from raglift.metrics.computing import mean_of, mean_title, rankings_by_stage, score
from raglift.rendering.document import Document, Section, table_of
from raglift.rendering.presenting import Presentable, view_of, whole
from raglift.report import format as words
from raglift.results.evaluation import Evaluation
from raglift.running.spec import documents_hash
from raglift.stats.paired_tests import paired_differences
from raglift.text.tokens import TokenCounts
from raglift.types.dataset import Dataset
from raglift.types.labels import Fact
from raglift.updating.placing import by_fact
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from raglift.analysis.paired_statistics import Method
    from raglift.stats.paired_tests import PairedDifference
    from raglift.types.labels import Passage, Query
    from raglift.types.metric import Metric
    from raglift.updating.records import LabelUpdate, UpdatedPassage


@dataclass(frozen=True, eq=False, repr=False)
class MetricChange(Presentable):
    """How a metric changed from one version of the documents to the next, in parts that add up.

    `total` is `moved` + `died` + `system`: means over all questions that count.
    """

    metric: Metric
    """What was measured, after the last stage."""
    query_ids: tuple[str, ...]
    """The questions that both runs were asked and that count, in the order of the labels."""
    before: NDArray[np.float64]
    """Of each question: the run over the old documents, by the old labels."""
    stale: NDArray[np.float64]
    """The run over the new documents by the old labels, as they match when nobody updates them."""
    updated: NDArray[np.float64]
    """The run over the new documents by the updated labels; a fact without a certain passage has its old ones."""
    in_both: NDArray[np.bool_]
    """Whether both versions have its labels: each of its facts has a passage with a certain place."""
    moved_labels: int
    """How many passages of these questions' facts moved, so that their labels had to be written anew."""
    lost_labels: int
    """How many of their passages have no certain place, and no alternative that has one."""
    difference: PairedDifference
    """After minus before by the updated labels, on the questions whose labels both versions have."""
    method: Method
    """How its interval and p-value were computed."""
    warnings: tuple[str, ...] = ()
    """Why the figures may not mean what they seem to."""
    notes: tuple[str, ...] = ()
    """What else there is to know."""

    @property
    def total(self) -> float:
        """By how much the mean seems to change if nobody updates the labels."""
        return float(np.mean(self.stale - self.before))

    @property
    def moved(self) -> float:
        """The part of it that is only labels that moved."""
        return float(np.mean(self.stale - self.updated))

    @property
    def died(self) -> float:
        """The part of the questions that lost a fact, which has no passage with a certain place; others count too."""
        return self._part(~self.in_both)

    @property
    def system(self) -> float:
        """The part of all other questions: what the system does differently, with the documents as they are now."""
        return self._part(self.in_both)

    def _part(self, questions: NDArray[np.bool_]) -> float:
        return float(np.sum((self.updated - self.before)[questions]) / len(self.query_ids))

    @property
    def mean_before(self) -> float:
        """The mean of the old run on the questions whose labels both versions have; NaN if there is none."""
        return mean_of(self.metric, self.before[self.in_both])

    @property
    def mean_after(self) -> float:
        """The mean of the new run on the same questions, by the updated labels."""
        return mean_of(self.metric, self.updated[self.in_both])

    @property
    def verdict(self) -> str:
        """`better`, `worse`, `not significant` or `too skewed to decide`, of `difference`."""
        return verdict(self.difference, self.difference.p, self.method)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a question: `query_id`, `before`, `stale`, `updated` and its `part`, `system` or `died`."""
        import pandas as pd

        part = np.where(self.in_both, "system", "died")
        columns = {"before": self.before, "stale": self.stale, "updated": self.updated, "part": part}
        return pd.DataFrame({"query_id": self.query_ids, **columns})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.metric}, {len(self.query_ids):,} questions; print() shows the parts)"


def attribute_change(
    update: LabelUpdate,
    before: Evaluation,
    after: Evaluation,
    metric: Metric | str | None = None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> MetricChange:
    """Return how much of a metric's change is labels that moved, labels that died, and the system.

    No system is asked: the new run is scored again by the old labels and by the updated ones, by the match rule and
    the conventions of both runs.

    Args:
        update: what became of the labels.
        before: a run over the old documents, scored by the old labels.
        after: a run over the new documents, whatever labels it was scored by.
        metric: one that `before` was scored by; by default what decides there: NDCG@10, if it was scored.
        confidence: how often the interval holds the true difference.
        seed: of the permutation test.

    Raises:
        ConfigurationError: runs of agents, of other questions, labels or documents, or of two match rules; or a metric
            that cannot be computed of both.
    """
    method = method_of(seed, confidence)
    runs = {"before": before, "after": after}
    for name, evaluation in runs.items():
        _check_run(name, evaluation, update, is_old=name == "before")
    check_same_rule(runs)
    old = update.dataset.query_by_id
    check_same_queries("the update", old, "before", before.dataset.query_by_id, "give a run scored by the old labels")
    limits = [limit for run in runs.values() if (limit := run.depth_limit) is not None]
    decides = primary_of(metric, before.scores.metrics, min(limits, default=None))
    _check_metric(decides, after)
    versions = _versions(update, set(after.scores.query_ids))
    asked = [query for query in old if query in versions and query in before.dataset.query_by_id]
    a = before.last_values(decides, asked)
    n, m = (_values(after, decides, {key: both[side] for key, both in versions.items()}, asked) for side in (0, 1))
    counts = ~np.isnan(a + n + m)
    if not counts.any():
        raise ConfigurationError(
            f"change: found no question of both runs that counts in {decides}; expected at least 1"
        )
    a, n, m = a[counts], n[counts], m[counts]
    query_ids = tuple(query for query, count in zip(asked, counts, strict=True) if count)
    passages = update.by_query
    lost = {query: _lost(old[query], passages[query]) for query in query_ids}
    in_both = np.array([not lost[query] for query in query_ids], dtype=np.bool_)
    (difference,) = paired_differences(
        (m - a)[in_both, np.newaxis], seed=seed, confidence=confidence, bounds=[bound_of(decides)]
    )
    difference = within_reach(decides, difference)
    return MetricChange(
        decides,
        query_ids,
        a,
        n,
        m,
        in_both,
        sum(_has_moved(each) for query in query_ids for each in passages[query]),
        sum(lost.values()),
        difference,
        replace(method, text=method_text([difference], None, "nothing to correct for: one comparison")),
        tuple(
            f"{name}: {mean_title(decides)} looks at more hits than this run returned"
            for name, evaluation in runs.items()
            if looks_too_deep(evaluation, decides)
        ),
        tuple(
            f"{name} was not asked {counted(len(missing), 'question')} of the old labels: {named(missing)}"
            for name, evaluation in runs.items()
            if (missing := [query for query in old if query not in evaluation.dataset.query_by_id])
        ),
    )


# Which runs and metrics can be looked at.


def _check_run(name: str, evaluation: object, update: LabelUpdate, *, is_old: bool) -> None:
    """Raise unless a run is one of a retriever over the questions of the labels and one version of the documents."""
    if not isinstance(evaluation, Evaluation):
        raise ConfigurationError(
            f"change: {name}: found a {type(evaluation).__name__}; expected an Evaluation: rl.load_evaluation(folder) "
            "opens a saved one"
        )
    if evaluation.run.has_sessions:
        raise ConfigurationError(f"change: {name}: found sessions of an agent; expected the run of a retriever")
    known = update.dataset.query_by_id
    others = [query.id for query in evaluation.dataset if query.id not in known or known[query.id].text != query.text]
    if others:
        raise ConfigurationError(
            f"change: {name}: found questions that are not among the old labels, or have another text there: "
            f"{named(others)}; expected a run of the questions of {update.dataset.name!r}"
        )
    old, new = documents_hash(update.dataset.documents), documents_hash(update.documents)
    if old != new and documents_hash_of(evaluation) == (new if is_old else old):
        found, expected = ("new", "old") if is_old else ("old", "new")
        raise ConfigurationError(
            f"change: {name}: found a run over the {found} documents; expected one over the {expected} documents: "
            "name the run over the old ones first"
        )


def _check_metric(metric: Metric, after: Evaluation) -> None:
    candidates = int(after.run.spec["candidates"])
    if metric.k is not None and metric.k > candidates:
        raise ConfigurationError(
            f"change: found {metric}; expected a depth of at most {candidates}, the candidates of the run after: "
            "evaluate again with more candidates"
        )


# The labels of each question: the old ones as they match in the new documents, and the updated ones.


def _versions(update: LabelUpdate, wanted: set[str]) -> dict[str, tuple[Query, Query]]:
    """Return for each wanted question its old labels, as they are read in the new documents, and the updated ones."""
    passages = update.by_query
    return {query.id: _both_labels(query, passages[query.id]) for query in update.dataset if query.id in wanted}


def _both_labels(query: Query, passages: Sequence[UpdatedPassage]) -> tuple[Query, Query]:
    stale, updated = [], []
    for found in by_fact(query, passages):
        old = _distinct(map(_without_place, found))
        stale.append(Fact(old))
        updated.append(Fact(_distinct(each.new for each in found) or old))
    irrelevant = [each for each in passages if not each.where.startswith("relevant")]
    return (
        replace(query, facts=tuple(stale), judged_irrelevant=_distinct(map(_without_place, irrelevant))),
        replace(query, facts=tuple(updated), judged_irrelevant=_distinct(each.new for each in irrelevant)),
    )


def _distinct(passages: Iterable[Passage | None]) -> tuple[Passage, ...]:
    return tuple(dict.fromkeys(passage for passage in passages if passage is not None))


def _without_place(each: UpdatedPassage) -> Passage:
    """Return an old passage by its text and document, since its offsets are those of another text; unless it stays."""
    if each.kind == "unchanged" and each.new is not None:
        return each.new
    return replace(each.old, start=None, end=None)


def _has_moved(each: UpdatedPassage) -> bool:
    """Whether a passage of a fact is labelled elsewhere now; if it is unchanged, only its offsets may have shifted."""
    return each.where.startswith("relevant") and each.kind != "unchanged" and each.new not in (None, each.old)


def _lost(query: Query, passages: Sequence[UpdatedPassage]) -> int:
    """Return how many passages belong to facts of which none has a certain place."""
    return sum(len(found) for found in by_fact(query, passages) if all(each.new is None for each in found))


def _values(
    evaluation: Evaluation, metric: Metric, labels: Mapping[str, Query], query_ids: Sequence[str]
) -> NDArray[np.float64]:
    """Return the values of some questions after the last stage, by other labels."""
    run, rule = evaluation.run, rule_of(evaluation)
    data = Dataset(tuple(labels[trace.query_id] for trace in run.traces))
    counter = evaluation.match_table[0].counter if evaluation.match_table else TokenCounts()
    tables = match_rankings(data.queries, [rankings_by_stage(run)[-1]], rule, counter=counter)
    last = replace(run, stages=run.stages[-1:])
    return score(last, data, tables, [metric], evaluation.profile).of(evaluation.after, metric, query_ids)


# What is shown of it.


def _view(change: MetricChange) -> Document:
    name, found, decimals = mean_title(change.metric), change.difference, words.decimals_of(change.metric)
    moved, lost = counted(change.moved_labels, "label"), counted(change.lost_labels, "label")
    parts = table_of(
        ("part", name, "of"),
        [
            (part, words.signed(value, decimals), of)
            for part, value, of in (
                ("labels that moved", change.moved, moved),
                ("labels without a certain place", change.died, lost),
                ("the system, with the documents as they are now", change.system, counted(found.n, "question")),
                ("in all, by the old labels", change.total, counted(len(change.query_ids), "question")),
            )
        ],
        left=(0, 2),
        caption="The parts of the change",
    )
    heading = f"{name} on the {counted(found.n, 'question')} whose labels both versions have"
    means = (words.number_text(mean, decimals) for mean in (change.mean_before, change.mean_after))
    tested = (words.difference_text(found, decimals), words.p_text(found.p), words.counts_text(change.metric, found))
    columns = ("before", "after", "difference", "p", "wins/ties/losses", "verdict")
    both = table_of(columns, [(*means, *tested, change.verdict)], left=(5,), caption=heading)
    return Document(
        title=f"{name} in two versions of the documents",
        lead=_lead(change),
        headline=parts,
        measured=(),
        warnings=change.warnings,
        notes=change.notes,
        sections=(Section(heading, tables=(both,)),) if found.n else (),
        about=(words.method_text(change.method),),
    )


def _lead(change: MetricChange) -> str:
    """Return what the change consists of, and what the system does on the questions whose labels both versions have."""
    name, found, decimals = mean_title(change.metric), change.difference, words.decimals_of(change.metric)
    before, stale, mean_before, mean_after = (
        words.number_text(mean, decimals)
        for mean in (change.before.mean(), change.stale.mean(), change.mean_before, change.mean_after)
    )
    went = "stays at" if before == stale else f"{'fell' if change.total < 0.0 else 'rose'} from {before} to"
    have = "has" if change.lost_labels == 1 else "have"
    parts = [
        f"{words.signed(value, decimals)} {reason}"
        for value, reason, happened in (
            (change.moved, f"because {counted(change.moved_labels, 'label')} moved", change.moved_labels),
            (
                change.died,
                f"because {counted(change.lost_labels, 'label')} {have} no certain place",
                change.lost_labels,
            ),
            (change.system, "the system, with the documents as they are now", True),
        )
        if happened or value
    ]
    said = f"By the old labels {name} {went} {stale}: {', '.join(parts)}."
    if not found.n:
        return f"{said} No question has labels in both versions."
    interval = words.interval_in_words(found, words.level(change.method), decimals, signs=True)
    details = ", ".join(filter(None, [words.signed(found.mean, decimals), interval, words.p_equation(found.p)]))
    on = f"On the {counted(found.n, 'question')} whose labels both versions have"
    return f"{said} {on}: {mean_before} → {mean_after} ({details})."


view_of.register(MetricChange, whole(_view))
