"""What is shown of unjudged hits: the range of the primary metric, and the measures that pass over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.analysis.unjudged import PERSISTENCE, has_holes, holes
from raglift.base.display import counted
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Detail, Document, Section, Table, row_of
from raglift.report.format import number_text, percent_text

if TYPE_CHECKING:
    from raglift.analysis.records import EvaluationRecord
    from raglift.analysis.unjudged import Holes
    from raglift.records.metric import Metric


_UNKNOWN = (
    "It is unknown how many of them are relevant. For an estimate, the labels must be declared a judged pool or a "
    "random sample, at least 50 hits be judged irrelevant, and at most half of the hits be unjudged."
)


def holes_section(evaluation: EvaluationRecord, primary: Metric) -> Section | None:
    """Return what unjudged hits can do to the primary metric; None where all hits were judged."""
    if not has_holes(evaluation, primary):
        return None
    found = holes(evaluation, primary)
    if not found.unjudged:
        return None
    said = (_lead(found), *_unknown(found))
    return Section("Unjudged hits", said, (_range(found), _measures(found)), detail=Detail.DETAILS)


def holes_view(found: Holes) -> Document:
    """Return what is shown of the unjudged hits of one evaluation."""
    by_rank = Section("By rank", tables=(_by_rank(found),), detail=Detail.DETAILS)
    sections = (Section("For labels with holes", _unknown(found), (_measures(found),)), by_rank)
    return Document("Unjudged hits", _lead(found), _range(found), (), sections=sections)


def _lead(found: Holes) -> str:
    if not found.unjudged:
        return f"All {counted(found.hits, 'hit')} were judged."
    share = percent_text(found.unjudged / found.hits)
    first = f"{share} of {counted(found.hits, 'hit')} ({found.unjudged:,}) were not judged and count as irrelevant"
    low, high = map(number_text, found.range)
    name = mean_title(found.metric)
    said = f"{first}; {name} would stay {low} whatever they are." if low == high else ""
    return said or f"{first}; depending on what they are, {name} is between {low} and {high}."


def _unknown(found: Holes) -> tuple[str, ...]:
    return () if found.as_judged is not None or not found.unjudged else (_UNKNOWN,)


def _range(found: Holes) -> Table:
    means = (
        ("irrelevant, as they count", found.irrelevant),
        ("as often relevant as the judged at their rank", found.as_judged),
        ("all relevant", found.relevant),
        ("left out (condensed lists)", found.condensed),
    )
    rows = tuple(row_of((words, number_text(mean))) for words, mean in means if mean is not None)
    return Table("If unjudged hits are …", ("unjudged hits", mean_title(found.metric)), rows, text_columns=(0,))


def _measures(found: Holes) -> Table:
    rows = [
        (name, mean, what)
        for name, mean, what in (
            ("Bpref", found.bpref, "unjudged hits are passed over"),
            ("InfAP", found.inf_ap, "the precision at each rank is inferred from the judged hits"),
        )
        if mean is not None
    ]
    rows.append((f"RBP (p = {PERSISTENCE:g})", found.rbp, "unjudged hits are irrelevant"))
    rows.append(
        ("RBP residual", found.rbp_residual, "how much higher RBP is if they, and all hits below, are relevant")
    )
    return Table(
        "Measures for incomplete labels",
        ("measure", "mean", "what it does"),
        tuple(row_of((name, number_text(mean), what)) for name, mean, what in rows),
        text_columns=(0, 2),
    )


def _by_rank(found: Holes) -> Table:
    rows = tuple(
        row_of(
            (
                str(each.rank),
                f"{each.hits:,}",
                f"{each.judged:,}",
                f"{each.relevant:,}",
                "–" if each.share is None else percent_text(each.share),
            )
        )
        for each in found.ranks
    )
    columns = ("rank", "hits", "judged", "relevant", "taken to be relevant")
    return Table("Judged hits at each rank, and the share of the others taken to be relevant", columns, rows)
