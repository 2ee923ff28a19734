"""Project Gutenberg's header and licence, which are not part of the book.

Editions of one book differ in both, and some copies lost the START line. The header ends after that line
or, without one, after the last paragraph near the top that is plainly part of it; the footer begins with
whichever closing formula comes first near the end. A text that has neither is left as it is.
"""

from __future__ import annotations

import re

__all__ = ["strip_gutenberg"]

_HEADER_LINES = 200
_FOOTER_LINES = 600

_BOOK = r"e-?(?:book|text)"
_OPENING = re.compile(
    rf"\W*(?:the )?project gutenberg(?:[’']s)?(?:-tm|\(tm\)|™)? (?:{_BOOK}\b|.*, by\b)", re.IGNORECASE
)
_START = re.compile(rf"\s*\*\*\* ?start of (?:this|the) project gutenberg {_BOOK}\b", re.IGNORECASE)
_END = re.compile(
    rf"\s*(?:\*\*\* ?end of (?:this|the) project gutenberg {_BOOK}\b"
    rf"|end of (?:this |the )?project gutenberg(?:[’']s)?(?:-tm|™)? (?:{_BOOK}\b|.*, by\b)"
    r"|\*\*\* ?start: full license \*\*\*)",
    re.IGNORECASE,
)
_PRODUCED = re.compile(rf"(?:produced|{_BOOK} prepared) by\b", re.IGNORECASE)
_BOILERPLATE = re.compile(
    rf"{_OPENING.pattern}|{_PRODUCED.pattern}|this {_BOOK} is for the use of any"
    r"|\W*(?:title|subtitle|authors?|editors?|translators?|illustrators?|contributors?|credits|language"
    r"|posting date|release date|(?:most recently|last) updated|original publication"
    r"|character set encoding): ",
    re.IGNORECASE,
)


def strip_gutenberg(text: str) -> str:
    """Return the book without Project Gutenberg's header and licence, and without blank lines around it.

    Args:
        text: the file, with bare line feeds.
    """
    lines = text.split("\n")
    begin = _header_end(lines)
    end = _footer_start(lines, begin)
    if (begin, end) == (0, len(lines)):
        return text
    book = lines[_skip_credits(lines, begin) : end] if begin else lines[:end]
    while book and not book[0].strip():
        del book[0]
    while book and not book[-1].strip():
        del book[-1]
    return "\n".join(book)


def _header_end(lines: list[str]) -> int:
    """Return the first line after the header: 0 without one."""
    for index, line in enumerate(lines[:_HEADER_LINES]):
        if _START.match(line):
            # a long title wraps
            return index + 1 if line.rstrip().endswith("***") else _paragraph_end(lines, index)
    top = min(_HEADER_LINES, len(lines))
    first = next((index for index in range(top) if lines[index].strip()), 0)
    rest = [index for index in range(first + 1, top) if _BOILERPLATE.match(lines[index])]
    # a text may begin by speaking of Project Gutenberg: its header says more than that
    return _paragraph_end(lines, rest[-1]) if rest and _OPENING.match(lines[first]) else 0


def _footer_start(lines: list[str], begin: int) -> int:
    """Return the first line of the footer: the number of lines without one."""
    for index in range(max(begin, len(lines) - _FOOTER_LINES), len(lines)):
        if _END.match(lines[index]):
            return index
    return len(lines)


def _skip_credits(lines: list[str], begin: int) -> int:
    """Return the first line after a paragraph of credits, if one follows the header."""
    for index in range(begin, len(lines)):
        if lines[index].strip():
            return _paragraph_end(lines, index) if _PRODUCED.match(lines[index]) else begin
    return begin


def _paragraph_end(lines: list[str], begin: int) -> int:
    """Return the blank line after a paragraph: a field may wrap."""
    for index in range(begin, len(lines)):
        if not lines[index].strip():
            return index
    return len(lines)
