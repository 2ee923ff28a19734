"""What is shown of thresholds below which a question is not answered."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.rendering.document import Cell, Detail, Document, Section, Table, row_of
from raglift.report.cells import figure_cell
from raglift.report.format import interval_text, percent_text, stage_title

if TYPE_CHECKING:
    from raglift.analysis.answering import Abstention, AnsweredShare


_SAYS_NOTHING = 0.5
"""The AUROC of scores that have nothing to do with whether a query can be answered."""
_CONFIDENCE = "95%"
"""Of the intervals of shares and of AUROC."""


def abstention_view(found: Abstention) -> Document:
    """Return what is shown of a threshold, and of the scores that it is taken from."""
    sections = (Section("Method", (_method(found),), detail=Detail.DETAILS),)
    says_nothing = f"these scores do not tell answerable questions from unanswerable ones: {_auroc(found)}"
    warnings = (says_nothing,) if found.separation.interval.low <= _SAYS_NOTHING else ()
    return Document("When not to answer", _lead(found), _at_threshold(found), (), warnings=warnings, sections=sections)


def _lead(found: Abstention) -> str:
    confidence, risk = percent_text(1.0 - found.delta, 0), percent_text(found.risk, 1)
    stage = stage_title(found.stage).lower()
    every = found.threshold == -math.inf
    what = (
        "Answer every question" if every else f"Answer where the first hit of the {stage} scores {found.threshold:g} "
    )
    promise = (
        f"{'' if every else 'or more'}: with {confidence} confidence at most {risk} of unanswerable questions are "
        "answered."
    )
    answered, false = found.checked_on.answered, found.checked_on.false_answers
    checked = (
        f" On the half that took no part in the choice, {answered.count:,} of {answered.of:,} answerable questions are "
        f"answered ({percent_text(answered.share)}), and {false.count:,} of {false.of:,} unanswerable ones."
    )
    return f"{what}{promise}{checked} {_auroc(found)} (0.5 for scores that say nothing)."


def _auroc(found: Abstention) -> str:
    return f"AUROC {interval_text(found.separation.auroc, found.separation.interval)}"


def _at_threshold(found: Abstention) -> Table:
    sides = (("chosen on", found.chosen_on), ("checked on", found.checked_on))
    rows = (
        ("answered, of the answerable", [_share(side.answered) for _, side in sides]),
        ("answered, of the unanswerable", [_share(side.false_answers) for _, side in sides]),
        ("wrong, of the answers", [_share(side.wrong_answers) for _, side in sides]),
        ("not answered, of all", [figure_cell(side.no_answer_rate) for _, side in sides]),
        (f"Recall@{found.k}, 0 where not answered", [figure_cell(side.recall) for _, side in sides]),
    )
    return Table(
        "What the threshold does on the half that it was chosen on, and on the other",
        ("", *(title for title, _ in sides)),
        tuple(row_of((words, *cells)) for words, cells in rows),
        confidence=_CONFIDENCE,
    )


def _share(share: AnsweredShare) -> Cell:
    return figure_cell(share.share, share.interval) if share.of else figure_cell(math.nan)


def _method(found: Abstention) -> str:
    return (
        "The threshold is chosen on one half of the questions by a risk-controlling prediction set (Bates et al. 2021) "
        "with the exact binomial bound, and checked on the other. So many questions "
        f"certify shares from {percent_text(found.smallest_risk)} on. Intervals of shares are exact (Clopper and "
        "Pearson), that of AUROC is Newcombe's (2006). The guarantee holds for questions like these, as long as the "
        "index, the models and their settings stay the same."
    )
