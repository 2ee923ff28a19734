"""What is shown of updated labels on a terminal, as Markdown and in a notebook."""

from __future__ import annotations

from tests.updating.by_hand import LAMP, NEW, NEW_OIL, OIL, OLD, decision, moved, span, undecided, updated

import raglift.updating.view  # noqa: F401 — makes the view known
from raglift.rendering.document import Detail
from raglift.updating import LabelUpdate
from raglift.updating.view import update_view

HOSTILE = "</td><script>alert(1)</script>\u202e| `x` \x1b[31m @everyone"


def test_the_lead_and_the_table_count_the_kinds(lights: LabelUpdate) -> None:
    view = lights.view()
    assert "1 of 3 labels moved, 1 edited, 1 gone; 0 unchanged." in view.lead
    assert "1 of 3 questions can be written; 2 wait for a decision." in view.lead
    assert [[cell.text for cell in row[:2]] for row in view.headline.rows] == [
        ["unchanged", "0"],
        ["moved", "1"],
        ["edited", "1"],
        ["elsewhere", "0"],
        ["ambiguous", "0"],
        ["gone", "1"],
    ]


def test_open_decisions_come_first_with_their_candidates(lights: LabelUpdate) -> None:
    edited, gone, settled = lights.view().sections
    assert (edited.heading, gone.heading, settled.heading) == (
        "To decide: edited (1)",
        "To decide: gone (1)",
        "Moved (1)",
    )
    assert (edited.detail, settled.detail) == (Detail.SUMMARY, Detail.DETAILS)
    was, now = edited.entries[0].entries
    assert '"lamp.md", line 5' in was.text
    assert OIL in was.text
    assert NEW_OIL in now.text
    assert "90% alike" in now.text
    assert '"lamp.md", line 3, characters 8 to 69 → "tower.md", line 5' in settled.entries[0].text
    decided = lights.decide([decision(lights.passages[1]), decision(lights.passages[2], None)])
    assert [section.heading for section in decided.view().sections] == ["Decided (2)", "Moved (1)"]
    assert [entry.text.endswith("dropped") for entry in decided.view().sections[0].entries] == [False, True]


def test_lists_have_a_limit() -> None:
    lamp = span(OLD, LAMP)
    names = [f"q{number}" for number in range(30)]
    update = updated({name: [lamp] for name in names}, [moved(name, lamp, span(NEW, LAMP)) for name in names])
    (section,) = update.view().sections
    assert (len(section.entries), "10 more" in section.entries[-1].text) == (21, True)
    assert len(update_view(update, most=30).sections[0].entries) == 30
    assert str(update).count("→") == 20


def test_what_is_left_out_without_a_decision_is_a_note() -> None:
    lamp, oil = span(OLD, LAMP), span(OLD, OIL)
    update = updated(
        {"q1": [[lamp, oil]]},
        [
            moved("q1", lamp, span(NEW, LAMP), where="relevant[0][0]"),
            undecided("q1", oil, where="relevant[0][1]"),
            undecided("q1", oil, where="judged_irrelevant[0]"),
        ],
    )
    assert update.waiting == ()
    assert [note[:1] for note in update.view().notes] == ["1", "1"]
    assert [section.heading for section in update.view().sections] == ["To decide: gone (1)", "Moved (1)"]


def test_texts_of_labels_and_documents_are_escaped() -> None:
    oil, hostile = span(OLD, OIL), span(NEW, NEW_OIL)
    update = updated({HOSTILE: [oil]}, [undecided(HOSTILE, oil, hostile)], name=HOSTILE)
    assert "\x1b" not in str(update)
    assert "\u202e" not in str(update)
    assert "<script>" not in update._repr_html_()
    assert "<script>" not in update.to_markdown()
    assert "@everyone" not in update.to_markdown()
