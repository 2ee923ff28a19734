"""A model's quote to the place in the document where its words stand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from raglift.records import Passage
from raglift.text import normalize, normalize_with_offsets

if TYPE_CHECKING:
    from raglift.chunking.protocol import Span
    from raglift.records import Chunk

__all__ = ["LEAST_LIKENESS", "NotAQuote", "locate", "longest_quote"]

SHORTEST = 20  # bytes of UTF-8, in which seven Chinese characters are as long as twenty English letters
_CLOSING = re.compile(r"\w*[.!?…。！？\"'”’»)\]]*")
LEAST_LIKENESS = 92.0
"""Of 100, by rapidfuzz's partial ratio: about one letter in twelve may differ."""

NotAQuote = Literal["quote not found", "quote too short", "quote too long"]


def longest_quote(passage_size: int) -> int:
    """Return how many characters a quote may have: half of a passage, and at least 300."""
    return max(300, passage_size // 2)


def locate(quote: str, chunk: Chunk, longest: int) -> Passage | NotAQuote:
    """Return the label that a quote stands for, in the document's own words; or why it is none.

    It is looked for in the passage that the model was given, as it is; else normalized, with typographic quotes and
    dashes folded; else by likeness, with a high bar. The first place counts, and ends at whole words.

    Args:
        quote: what the model says that it copied.
        chunk: the passage, with its place in a document.
        longest: the most characters.
    """
    if len(quote.strip()) > max(longest, 2 * len(chunk.text)):  # not worth a comparison
        return "quote not found"
    words = normalize(quote, unicode_folding=True)
    if _bytes(normalize(quote)) < SHORTEST or _bytes(words) < SHORTEST:
        return "quote too short"
    span = _find(quote.strip(), words, chunk.text)
    if span is None:
        return "quote not found"
    start, end = _whole_words(chunk.text, *span)
    if end - start > longest:
        return "quote too long"
    text, begin = chunk.text[start:end], chunk.start or 0
    if _bytes(normalize(text)) < SHORTEST:
        return "quote too short"
    return Passage(text, chunk.doc_id, begin + start, begin + end)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _find(quote: str, words: str, text: str) -> Span | None:
    at = text.find(quote)
    if at >= 0:
        return at, at + len(quote)
    normalized = normalize_with_offsets(text, unicode_folding=True)
    at = normalized.text.find(words)
    if at >= 0:
        return normalized.source_span(at, at + len(words))
    from rapidfuzz import fuzz

    # Of two texts the shorter is looked for in the longer: a longer quote would be found by a part of it
    if len(words) > len(normalized.text):
        return None
    alike = fuzz.partial_ratio_alignment(words, normalized.text, score_cutoff=LEAST_LIKENESS)
    if alike is None or alike.dest_start >= alike.dest_end:
        return None
    start, end = normalized.source_span(alike.dest_start, alike.dest_end)
    closed = _CLOSING.match(text, end)  # what is compared is as long as the quote, and may end just before
    return start, closed.end() if closed else end


def _whole_words(text: str, start: int, end: int) -> Span:
    """Return a span that neither begins nor ends within a word, and has no white space at its ends."""
    while start > 0 and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    inner = text[start:end]
    return start + len(inner) - len(inner.lstrip()), end - (len(inner) - len(inner.rstrip()))
