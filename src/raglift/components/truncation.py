"""Which pairs of a query and a text a reranker reads in part, and windows in which a long text is read whole."""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING, Any

from raglift.components.batches import can_count_tokens, pair_token_counts, token_counts, token_limit
from raglift.records.rankings import ReadInPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


Pair = tuple[str, str]
"""A query's text and a chunk's text."""


# What is read in part.


class Truncated(IntFlag):
    """What of a pair is read by its beginning only."""

    NOTHING = 0
    TEXT = 1
    QUERY = 2


def truncated_by_cross_encoder(model: Any, pairs: Sequence[Pair]) -> list[Truncated] | None:
    """Return what a sentence-transformers `CrossEncoder` reads in part of each pair; None where it cannot be known.

    A pair that is too long counts as a text read in part, whichever of the two is cut. A query counts where it alone
    is longer than the model reads.
    """
    if not can_count_tokens(model):
        return None
    limit = token_limit(model)
    if limit is None:
        return [Truncated.NOTHING] * len(pairs)
    queries = list(dict.fromkeys(query for query, _ in pairs))
    long_queries = {
        query for query, tokens in zip(queries, token_counts(model, queries), strict=True) if tokens > limit
    }
    counts = pair_token_counts(model, pairs)
    return [
        Truncated(Truncated.TEXT * (tokens > limit) | Truncated.QUERY * (query in long_queries))
        for (query, _), tokens in zip(pairs, counts, strict=True)
    ]


def count_truncated(asked: Iterable[tuple[str, Sequence[str]]], truncated: Mapping[Pair, Truncated]) -> ReadInPart:
    """Count the candidates and the queries that were read in part.

    Args:
        asked: each query with the texts of its candidates.
        truncated: what was read in part of each pair; a pair that is not in it was read whole.
    """
    found = [[truncated.get((query, text), Truncated.NOTHING) for text in texts] for query, texts in asked]
    return ReadInPart(
        candidates=sum(Truncated.TEXT in part for row in found for part in row),
        of=sum(map(len, found)),
        queries=sum(any(Truncated.QUERY in part for part in row) for row in found),
    )


def read_by_cross_encoder(model: Any, asked: Sequence[tuple[str, Sequence[str]]]) -> ReadInPart | None:
    """Return how many candidates a `CrossEncoder` reads in part; None where it cannot be known.

    Args:
        model: a sentence-transformers `CrossEncoder`; for anything else nothing is known.
        asked: each query with the texts of its candidates, as the model is given them.
    """
    if not any(base.__name__ == "CrossEncoder" for base in type(model).__mro__):
        return None
    pairs = list(dict.fromkeys((query, text) for query, texts in asked for text in texts))
    found = truncated_by_cross_encoder(model, pairs)
    return None if found is None else count_truncated(asked, dict(zip(pairs, found, strict=True)))


# Windows of a long text: pieces that the model reads whole. Each is encoded as a text of its own, with the model's
# special tokens around it, and shares its first tokens with the piece before, so that every token has context on both
# sides in one of them. Pieces begin and end between words, so that they have the tokens that the whole text has.


OVERLAP = 64
"""How many tokens neighbouring windows share; a third of a window where that is less."""


def can_be_windowed(model: Any) -> bool:
    """Whether the places of a sentence-transformers model's tokens in a text are known."""
    return can_count_tokens(model) and bool(getattr(model.tokenizer, "is_fast", False))


def windows_of(model: Any, text: str, limit: int) -> dict[str, int]:
    """Return the windows of a text that is longer than a model reads, in order, with the number of tokens of each.

    Appending to a text changes none of its windows but the last, as long as the tokens before stay the same.

    Args:
        model: a sentence-transformers model that can be windowed.
        text: more tokens than the limit.
        limit: how many tokens the model reads, its marks included.
    """
    windows: dict[str, int] = {}
    _add_windows(windows, model, text, limit, max(limit - token_counts(model, [""])[0], 1))
    return windows


def _add_windows(windows: dict[str, int], model: Any, text: str, limit: int, room: int) -> None:
    pieces = _pieces(model, text, room)
    for piece, tokens in zip(pieces, token_counts(model, pieces), strict=True):
        if tokens > limit and room > 1:  # some tokenizers make more tokens of a word's middle than of the word
            _add_windows(windows, model, piece, limit, room // 2)
        else:
            windows.setdefault(piece, tokens)


def _pieces(model: Any, text: str, room: int) -> list[str]:
    """Return pieces of at most `room` tokens that cover the text, each sharing its first tokens with the one before."""
    encoded = model.tokenizer(
        text, truncation=False, add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )
    places, words = encoded["offset_mapping"], encoded.word_ids(0)
    overlap, slack = min(OVERLAP, room // 3), room // 8
    begin, pieces = 0, []
    while begin + room < len(places):
        end = between_words(words, begin + room, slack)
        pieces.append(text[places[begin][0] if begin else 0 : places[end - 1][1]])
        begin = max(between_words(words, end - overlap, slack), begin + 1)
    return [*pieces, text[places[begin][0] if begin else 0 :]]


def between_words(words: Sequence[int | None], place: int, slack: int) -> int:
    """Return the last place at or before this one where a word begins; this one where the word is too long for that."""
    for found in range(place, max(place - slack, 0), -1):
        if words[found] != words[found - 1]:
            return found
    return place
