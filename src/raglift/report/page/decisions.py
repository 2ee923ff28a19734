"""Decisions that a reader of a page makes: each about a text, with what to choose from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rapidfuzz.distance import Levenshtein

if TYPE_CHECKING:
    from collections.abc import Sequence


STYLE, SCRIPT = "decisions.css", "decisions.js"
"""What a page with decisions needs besides."""
_MOST_WORDS = 2000
_AROUND = 12
"""So many words that are the same are shown beside a change; of more, the middle is left out."""


@dataclass(frozen=True)
class Piece:
    """A part of two texts that are compared."""

    text: str
    change: Literal["", "ins", "del"] = ""
    """Whether only the second text has it, or only the first."""


@dataclass(frozen=True)
class Choice:
    """One of the answers."""

    title: str
    answer: str
    """As JSON."""
    pieces: tuple[Piece, ...] = ()
    """The text that is chosen, compared with the one that the decision is about."""
    around: tuple[str, str] = ("", "")
    """What stands before it, and after it."""


@dataclass(frozen=True)
class Decision:
    """What is to be decided."""

    title: str
    question: str
    """What the text is to answer."""
    details: tuple[str, ...]
    """What is known of the text, a line each."""
    text: str
    """The text that it is about."""
    around: tuple[str, str]
    """What stands before it, and after it."""
    label: str
    """What the saved line says before the answer, as a JSON object."""
    choices: tuple[Choice, ...]


def fingerprint(decisions: Sequence[Decision]) -> str:
    """Return what distinguishes decisions: a page that is made again has the same only if they are the same."""
    content = "\n".join(f"{each.label}{[choice.answer for choice in each.choices]}" for each in decisions)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def compared(old: str, new: str) -> tuple[Piece, ...]:
    """Return two texts as one: the words of both, those that are in the first alone, and in the second alone.

    A single word of both between two changes is taken for a part of them, which is easier to read.
    """
    before, after = old.split()[:_MOST_WORDS], new.split()[:_MOST_WORDS]
    pieces: list[Piece] = []
    removed: list[str] = []
    added: list[str] = []

    def changed() -> list[Piece]:
        found = [Piece(" ".join(removed), "del")] if removed else []
        found += [Piece(" ".join(added), "ins")] if added else []
        removed.clear()
        added.clear()
        return found

    for change in Levenshtein.opcodes(before, after):
        is_stray = change.src_end - change.src_start == 1 and bool(removed or added) and change.src_end < len(before)
        if change.tag == "equal" and not is_stray:
            pieces += changed()
            pieces.append(Piece(" ".join(after[change.dest_start : change.dest_end])))
        else:
            removed += before[change.src_start : change.src_end]
            added += after[change.dest_start : change.dest_end]
    pieces += changed()
    last = len(pieces) - 1
    return tuple(
        piece if piece.change else Piece(_ends(piece.text, number > 0, number < last))
        for number, piece in enumerate(pieces)
    )


def _ends(text: str, begins: bool, ends: bool) -> str:
    """Return the words of a text beside a change before it, and beside one after it."""
    words = text.split(" ")
    most = _AROUND * (begins + ends)
    if not most or len(words) <= most + 1:
        return text
    return " ".join([*(words[:_AROUND] if begins else ()), "…", *(words[-_AROUND:] if ends else ())])
