"""The form in which a text stays the same when its document is only formatted anew.

A document that is wrapped at another width, whose lists are renumbered, or whose quotation marks become typographic
ones says the same as before. `fold_format` leaves out what such changes touch, and nothing else: not letter case, not
punctuation, not the level of a heading, not the sign before an item of a list.
"""

from __future__ import annotations

import numpy as np
import regex

from raglift.text.normalization import NormalizedText, compose_with_offsets, fold_white_space

QUOTES = "'‘’‚‛‹›“”„‟«»"
"""Quotation marks that are folded to the straight double one."""
_STRAIGHT = str.maketrans(dict.fromkeys(QUOTES, '"'))
# The numbers of items and headings, and the language after the fence of a block of code
_LEFT_OUT = regex.compile(
    r"""(?mx) ^ [ \t>]* (?:
        (?P<left> \d{1,3} (?: \. \d{1,3} )* ) [.)] (?= [ \t] )
      | \#{1,6} [ \t]+ (?P<left> (?: \d{1,3} \. )* \d{1,3} [.)]? [ \t]+ )
      | (?: `{3,} | ~{3,} ) (?P<left> [ \t]* \{? [ .]* [\w+\#.-]+ (?: [ \t]* \} )? )
    )"""
)
# Chinese and Japanese have no spaces: where a line is wrapped, there is a line end and no space
_BETWEEN_CHARACTERS = regex.compile(
    r"(?<=[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u3000-\u303F\uFF00-\uFFEF])\s+"
    r"(?=[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u3000-\u303F\uFF00-\uFFEF])"
)


def fold_format(text: str) -> NormalizedText:
    """Return a text without what formatting changes, and the way back to the source.

    White space is folded to single spaces, and left out between Chinese and Japanese characters; quotation marks become
    straight; the numbers of list items and of headings and the language after a fence of code are left out; characters
    are composed (NFC). Time is linear in the text.

    Args:
        text: a document, with its line ends.
    """
    folded, starts, ends = compose_with_offsets(text)
    spans = [found.span("left") for found in _LEFT_OUT.finditer(folded)]
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


def straight_quotes(text: str) -> str:
    """Return a text with straight double quotation marks alone."""
    return text.translate(_STRAIGHT)
