"""What is told of a generation: what became of each style's questions, and why some are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.judging.generating.records import REASONS, Example, StyleReport, ThrownAway
from raglift.printable import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.judging.generating.corpus import Passages
    from raglift.judging.generating.drafts import Rejection

__all__ = ["notes_on", "style_report"]

_EXAMPLES = 3
_LONGEST_EXAMPLE = 501


def style_report(style: str, counts: tuple[int, int, int], rejected: Sequence[Rejection]) -> StyleReport:
    """Return what became of a style's questions.

    Args:
        style: its name.
        counts: how many were wanted, tried and kept.
        rejected: those that were thrown away.
    """
    thrown_away = []
    for reason in REASONS:
        found = [each for each in rejected if each.reason == reason]
        examples = dict.fromkeys(Example(_cut(each.question), _cut(each.detail)) for each in found)
        shown = tuple(example for example in examples if example != Example("", ""))[:_EXAMPLES]
        thrown_away += [ThrownAway(reason, len(found), shown)] if found else []
    return StyleReport(style, *counts, tuple(thrown_away))


def notes_on(styles: Sequence[StyleReport], passages: Passages, most_tries: int) -> list[str]:
    """Return why there are fewer questions than wanted, and what could not be asked at all.

    Args:
        styles: what became of each style.
        passages: what was asked about.
        most_tries: how many questions are tried at most for each that is wanted.
    """
    short = [each for each in styles if each.kept < each.wanted]
    missing = sum(each.wanted - each.kept for each in short)
    notes = []
    if missing:
        tried_out = all(each.asked >= most_tries * each.wanted for each in short)
        tries = f"{most_tries} were tried for each that was wanted"
        used_up = f"no passage is left of the {len(passages.usable):,} that something can be asked of"
        notes.append(f"{missing:,} fewer than wanted: {tries if tried_out else used_up}")
    if any(passages.other(number, 0) is None for number in passages.usable[:1]):
        notes.append("there is no passage from another place, so none was asked about what it should not answer")
    return notes


def _cut(text: str) -> str:
    """Return as much of a text as an example needs: a model may answer with megabytes."""
    return shorten(text, _LONGEST_EXAMPLE)
