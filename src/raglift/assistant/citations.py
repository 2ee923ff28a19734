"""What an answer cites, and whether it says that it does not know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from raglift.assistant.records import Answer, Citation
from raglift.text import normalize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.records import Hit

__all__ = ["answer_of", "cited_numbers"]

# [1], [1, 3] and [1–3]; as some models write them, [passage 1] and 【1】
_CITED = re.compile(r"[\[【［](?:passages?\s+)?(\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*)[\]】］]", re.IGNORECASE)
_PARTS = re.compile(r"(\d+)\s*[–-]\s*(\d+)|(\d+)")
_LONGEST_RANGE = 50  # [1805-1812] cites two passages that were not shown, not eight
_DOES_NOT_KNOW = re.compile(r"\bi (?:do not|don't|cannot|can't) (?:know|say|tell)\b")


def answer_of(
    model: str, text: str, shown: Sequence[Hit], *, stopped: bool = False, error: str | None = None
) -> Answer:
    """Return an answer with its citations told apart: passages that were shown, and numbers that were not.

    Args:
        model: who answered.
        text: as far as it came.
        shown: the passages, in the order of their numbers.
        stopped: whether the reader stopped it.
        error: why it broke off.
    """
    cited = tuple(dict.fromkeys(cited_numbers(text)))
    return Answer(
        model,
        text,
        citations=tuple(Citation(number, shown[number - 1]) for number in cited if 1 <= number <= len(shown)),
        unknown=tuple(number for number in cited if not 1 <= number <= len(shown)),
        says_unknown=_DOES_NOT_KNOW.search(normalize(text, unicode_folding=True)) is not None,
        stopped=stopped,
        error=error,
    )


def cited_numbers(text: str) -> Iterator[int]:
    """Yield the numbers that stand in square brackets, in the order of the text."""
    for group in _CITED.finditer(text):
        for first, last, single in _PARTS.findall(group[1]):
            if single:
                yield int(single)
            elif 0 <= int(last) - int(first) <= _LONGEST_RANGE:
                yield from range(int(first), int(last) + 1)
            else:
                yield from (int(first), int(last))
