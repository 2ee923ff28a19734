"""What is shown of thresholds below which a question is not answered."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.analysis.answering import QUANTILES, separations
from raglift.rendering.document import Cell, Column, Detail, Document, Section, Table, row_of, table_from
from raglift.report.cells import figure_cell
from raglift.report.format import interval_text, number_text, percent_text, stage_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.analysis.answering import (
        Abstention,
        AnsweredShare,
        ScoreGroup,
        StageSeparation,
    )
    from raglift.results.evaluation import Evaluation


_SAYS_NOTHING = 0.5
"""The AUROC of scores that have nothing to do with whether a query can be answered."""
_CONFIDENCE = "95%"
"""Of the intervals of shares and of AUROC."""
_COVERAGES = tuple(share / 10 for share in range(1, 11))


def abstention_view(found: Abstention) -> Document:
    """Return what is shown of a threshold, and of the scores that it is taken from."""
    sections = (
        Section("Scores of the first hit", (), (_groups(found), _stages(found.stages))),
        Section("Risk and coverage", (_area(found),), (_curve(found),), detail=Detail.DETAILS),
        Section("Method", (_method(found),), detail=Detail.DETAILS),
    )
    warnings = tuple(_warnings(found))
    return Document("When not to answer", _lead(found), _at_threshold(found), (), warnings=warnings, sections=sections)


def abstention_section(evaluation: Evaluation) -> Section | None:
    """Return how well scores tell answerable from unanswerable queries; None where there are none, or no scores."""
    stages = separations(evaluation)
    if not any(each.found for each in stages):
        return None
    said = (
        "How well the score of the first hit tells answerable questions from unanswerable ones. "
        "raglift tune --threshold finds the score below which not to answer."
    )
    return Section("When not to answer", (said,), (_stages(stages),), detail=Detail.DETAILS)


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
    return what + promise + checked


def _warnings(found: Abstention) -> Iterator[str]:
    known = found.separation
    if known is not None and known.interval.low <= _SAYS_NOTHING:
        yield (
            f"these scores do not tell answerable questions from unanswerable ones: AUROC "
            f"{interval_text(known.auroc, known.interval)}"
        )


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


def _groups(found: Abstention) -> Table:
    def quantile(place: int) -> Column[ScoreGroup]:
        return Column(
            percent_text(QUANTILES[place], 0),
            lambda group: f"{group.quantiles[place]:.3g}" if group.quantiles else "–",
            definition=f"the score that {percent_text(QUANTILES[place], 0)} of these questions do not exceed",
        )

    columns: list[Column[ScoreGroup]] = [
        Column("questions", lambda group: group.name, words=True),
        Column("number", lambda group: f"{group.queries:,}"),
        *map(quantile, range(len(QUANTILES))),
    ]
    return table_from(columns, found.groups, f"Quantiles of the score of the first hit after {found.stage}")


def _stages(stages: tuple[StageSeparation, ...]) -> Table:
    columns: list[Column[StageSeparation]] = [
        Column("stage", lambda each: each.stage, words=True),
        Column(
            "AUROC",
            lambda each: "no scores" if each.found is None else figure_cell(each.found.auroc, each.found.interval),
            definition="the probability that an answerable question has a higher score than an unanswerable one: 0.5 "
            "for scores that say nothing, 1 for scores that tell them apart",
        ),
    ]
    return table_from(columns, stages, "Answerable against unanswerable", confidence=_CONFIDENCE)


def _area(found: Abstention) -> str:
    return (
        "If only the questions with the highest scores are answered, so many of the answers are wrong. Area under the "
        f"curve: {number_text(found.curve.area)} (less is better)."
    )


def _curve(found: Abstention) -> Table:
    curve, rows = found.curve, []
    for wanted in _COVERAGES:
        place = int(curve.coverage.searchsorted(wanted - 1e-9))
        if place < len(curve.coverage):
            coverage, risk = float(curve.coverage[place]), float(curve.risk[place])
            bar = Cell(number_text(risk), low=0.0, middle=risk, high=risk)
            rows.append(row_of((percent_text(coverage), f"{float(curve.thresholds[place]):.4g}", bar)))
    columns = ("questions answered", "score from", "answers wrong")
    return Table("Risk and coverage, over all questions", columns, tuple(dict.fromkeys(rows)), text_columns=())


def _method(found: Abstention) -> str:
    return (
        "The threshold is chosen on one half of the questions by a risk-controlling prediction set (Bates et al. 2021) "
        "with the exact binomial bound, and checked on the other. So many questions "
        f"certify shares from {percent_text(found.smallest_risk)} on. Intervals of shares are exact (Clopper and "
        "Pearson), that of AUROC is Newcombe's (2006). The guarantee holds for questions like these, as long as the "
        "index, the models and their settings stay the same."
    )
