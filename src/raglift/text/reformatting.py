"""The form in which a text stays the same when its document is only formatted anew.

A document that is wrapped at another width, whose lists are renumbered, or whose quotation marks become typographic
ones says the same as before. `fold_format` leaves out what such changes touch, and nothing else: not letter case, not
punctuation, not the level of a heading, not the sign before an item of a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import regex

from raglift.text.normalization import NormalizedText, compose_with_offsets, fold_white_space

QUOTES = "'‘’‚‛‹›“”„‟«»"
"""Quotation marks that are folded to the straight double one."""
# After a digit ' are feet or minutes
_SINGLE_MARK = regex.compile(r"(?<!\d)'")
# The numbers of items and headings, and the language after the fence of a block of code
_LEFT_OUT = regex.compile(
    r"""(?mx) ^ [ \t>]* (?:
        (?P<left> \d{1,3} (?: \. \d{1,3} ){0,8} ) [.)] (?= [ \t] )
      | \#{1,6} [ \t]+ (?P<left> (?: \d{1,3} \. ){0,8} \d{1,3} [.)]? [ \t]+ )
      | (?: `{3,} | ~{3,} ) (?P<left> [ \t]*+ (?: \{ [ .]*+ )? [\w+\#.-]++ (?: [ \t]*+ \} )? ) (?= [^`\n]*+ $ )
    )"""
)
# A block that begins like this is a list, or follows a heading; another may begin a list with its number 1 alone
_BEGINS_LIST = regex.compile(r"[ \t>]*(?:\d{1,3}(?:\.\d{1,3}){0,8}[.)]|\#{1,6})[ \t]")
_BLANK_LINE = regex.compile(r"(?m)^[ \t>]*\r?\n")
# Chinese and Japanese have no spaces: where a line is wrapped, there is a line end and no space
_BETWEEN_CHARACTERS = regex.compile(
    r"(?<=[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u3000-\u303F\uFF00-\uFFEF])\s+"
    r"(?=[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u3000-\u303F\uFF00-\uFFEF])"
)


class Number(NamedTuple):
    """The number of an item or a heading."""

    start: int
    """Where it is in the text."""
    mark: str
    """What is before it: `##`, or nothing for an item of a list."""
    number: str
    """As `6.3`."""

    def is_in(self, first_at: Mapping[tuple[str, str], int]) -> bool:
        """Whether it is a first number, or the one before it is in the text before it.

        Args:
            first_at: where each mark and number comes first.
        """
        *first, last = self.number.split(".")
        before = self.mark, ".".join([*first, str(int(last) - 1)])
        return int(last) <= 1 or first_at.get(before, self.start) < self.start


def fold_format(text: str) -> NormalizedText:
    """Return a text without what formatting changes, and the way back to the source.

    White space is folded to single spaces, and left out between Chinese and Japanese characters; quotation marks
    become straight; the numbers of list items and of headings and the language after a
    fence of code are left out; characters are composed (NFC). Time is linear in the text.
    """
    folded, starts, ends = compose_with_offsets(text)
    spans = [found.span("left") for found in _left_out(folded)]
    if not folded.isascii():
        spans += [found.span() for found in _BETWEEN_CHARACTERS.finditer(folded)]
    if spans:
        is_kept = np.ones(len(folded), dtype=np.bool_)
        pieces, after = [], 0
        for first, last in sorted(spans):
            is_kept[first:last] = False
            pieces.append(folded[after:first])
            after = max(after, last)
        folded = "".join([*pieces, folded[after:]])
        starts, ends = starts[is_kept], ends[is_kept]
    return fold_white_space(straight_quotes(folded), starts, ends)


def numbers(text: str) -> list[Number]:
    """Return the numbers that `fold_format` leaves out of a text."""
    found = []
    for each in _left_out(text):
        at = each.start("left")
        mark = text[each.start() : at].strip(" \t>")
        if mark[:1] not in ("`", "~"):
            found.append(Number(at, mark, each["left"].strip(" \t.)")))
    return found


def _left_out(text: str) -> Iterator[regex.Match[str]]:
    """Yield numbers and languages; no number that begins a line within a paragraph: it may be that of a day."""
    is_list, seen = _BEGINS_LIST.match(text) is not None, 0
    for found in _LEFT_OUT.finditer(text):
        for blank in _BLANK_LINE.finditer(text, seen, found.start()):
            is_list = _BEGINS_LIST.match(text, blank.end()) is not None
        seen = found.start()
        is_item = found[0].lstrip(" \t>")[0].isdigit()
        is_list = is_list or (is_item and found["left"] == "1")
        if is_list or not is_item:
            yield found


def straight_quotes(text: str) -> str:
    """Return a text with straight double quotation marks alone."""
    if not text.isascii():  # so many times faster than `translate`, which looks up each character
        for mark in QUOTES[1:]:
            text = text.replace(mark, "'" if mark in "‘’‚‛‹›" else '"')
    straight: str = _SINGLE_MARK.sub('"', text)
    return straight
