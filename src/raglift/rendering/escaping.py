"""Text that shows as it is in GitHub's Markdown: no markup, no link, no mention, no reference, no formula."""

from __future__ import annotations

import html
import re

from raglift.printable import printable

__all__ = ["escaped", "escaped_cell", "escaped_html"]

# GitHub links these in whatever the Markdown came to, so no escape helps; an empty comment in them does.
_LINKED = re.compile(
    r"""
      (?<![A-Za-z0-9_]) @ (?=\w)          # a mention
    | (?<=[\w.+-]) @ (?=[\w-]+\.[\w-])    # an address
    | \# (?=\d)                           # an issue, also as owner/name#1
    | \b [Gg][Hh] - (?=\d)                # an issue
    | : (?=//)                            # a link
    | \b [Ww][Ww][Ww] (?=\.)              # a link
    | : (?=[A-Za-z0-9_+-]+:)              # an emoji
    """,
    re.VERBOSE,
)
_BREAK = "<!-- -->"
_ENTITIES = {ord(mark): f"&#{ord(mark)};" for mark in "\\`|$"}
# A bracket is a link only before one of these: figures in brackets stay as they are
_MARKS = re.compile(r"[*~]|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_BEGINNING = re.compile(r"^(?:\d+(?=[.)])|(?=[#+=\[-]))")


def escaped(text: str) -> str:
    """Return a text for a line or a list of Markdown, on one line whatever it was on."""
    return _BEGINNING.sub(r"\g<0>\\", escaped_cell(text))


def escaped_cell(text: str) -> str:
    """Return a text for a cell of a table, in which no list and no heading can begin."""
    return _MARKS.sub(r"\\\g<0>", escaped_html(text))


def escaped_html(text: str) -> str:
    """Return a text for an HTML element in Markdown, as the summary of folded details."""
    words = printable(" ".join(text.split()))
    pieces = []
    last = 0
    for found in _LINKED.finditer(words):
        pieces.append(words[last : found.end()])
        last = found.end()
    pieces.append(words[last:])
    return _BREAK.join(html.escape(piece, quote=False).translate(_ENTITIES) for piece in pieces)
