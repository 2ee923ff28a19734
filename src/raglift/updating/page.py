"""The page on which a person decides about labels whose new place is not certain."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.report.format import percent_text
from raglift.report.page.decisions import Choice, Decision, compared
from raglift.report.page.rendering import Page
from raglift.updating.deciding import DROP, choice_of, decisions_of, label_of
from raglift.updating.records import KINDS
from raglift.updating.view import Places, named, settled_sections, text_of, update_view

if TYPE_CHECKING:
    from raglift.updating.records import Candidate, LabelUpdate, UpdatedPassage


_MOST = 1000
"""As many decisions are on one page, and as many settled labels."""


def update_page(update: LabelUpdate, *, next_step: str = "") -> Page:
    """Return the page of updated labels, with the decisions that are open."""
    before, after = Places(update.dataset.documents), Places(update.documents)
    order = list(KINDS)
    undecided = sorted(update.undecided, key=lambda each: order.index(each.kind))
    view = update_view(update)
    left = len(undecided) - _MOST
    more = (f"{left:,} further labels are decided on the next page: when these are.",) if left > 0 else ()
    view = replace(view, sections=tuple(settled_sections(update, _MOST)), notes=(*more, *view.notes))
    return Page(
        **{**vars(view), "next_step": next_step if undecided else ""},
        decisions=tuple(_decision(each, update, before, after) for each in undecided[:_MOST]),
        decided=tuple(map(json.dumps, decisions_of(update))),
    )


def _decision(passage: UpdatedPassage, update: LabelUpdate, before: Places, after: Places) -> Decision:
    return Decision(
        title=f"{named(passage)}: {passage.kind}",
        question=update.dataset.query_by_id[passage.query_id].text,
        details=(passage.rule or KINDS[passage.kind], f"Was: {before.describe(passage.old_place)}"),
        text=text_of(passage.old),
        around=before.around(passage.old_place),
        label=json.dumps(label_of(passage)),
        choices=(
            *(_choice(each, passage, after) for each in passage.candidates),
            Choice("None: drop this label", json.dumps(DROP)),
            Choice("Decide later", ""),
        ),
    )


def _choice(candidate: Candidate, passage: UpdatedPassage, after: Places) -> Choice:
    alike = percent_text(candidate.likeness, 0)
    return Choice(
        f"This one: {after.describe(candidate.place)}; {alike} alike; {candidate.reason}",
        json.dumps(choice_of(candidate.place, candidate.text)),
        compared(text_of(passage.old), candidate.text),
        after.around(candidate.place),
    )
