"""Chunkers by name and as text: `recursive:1000/100`, `token:250/125`."""

from __future__ import annotations

import re

from raglift.chunking.encodings import DEFAULT_ENCODING
from raglift.chunking.protocol import UNITS, Chunker
from raglift.chunking.recursive import RecursiveChunker
from raglift.chunking.windows import TokenChunker
from raglift.errors import ConfigurationError
from raglift.printable import short_repr

__all__ = ["CHUNKERS", "make_chunker", "parse_chunker"]

CHUNKERS = ("recursive", "token")
"""The kinds of chunkers that raglift brings."""

_GRAMMAR = "KIND:SIZE/OVERLAP[:UNIT[:ENCODING]], as recursive:1000/100, recursive:250/125:tokens or token:250/125"
_FORM = re.compile(
    r"(?P<kind>[^:]+):(?P<size>-?[0-9]{1,9})/(?P<overlap>-?[0-9]{1,9})(?::(?P<unit>[^:]+)(?::(?P<encoding>\w+))?)?",
    re.ASCII,
)


def make_chunker(
    kind: str, size: int, overlap: int, unit: str | None = None, encoding: str = DEFAULT_ENCODING
) -> Chunker:
    """Return the chunker of a kind.

    Args:
        kind: one of `CHUNKERS`.
        size: the most characters or tokens in a chunk.
        overlap: the most characters or tokens that neighbours share.
        unit: one of `UNITS`; by default characters for `recursive`, and tokens, the only one, for `token`.
        encoding: the tiktoken encoding that tokens are of.

    Raises:
        ConfigurationError: an unknown kind or unit, or a size, overlap or unit that the kind cannot have.
    """
    if kind not in CHUNKERS:
        raise ConfigurationError(f"chunker: found {short_repr(kind)}; expected one of {', '.join(CHUNKERS)}")
    if unit is not None and unit not in UNITS:
        raise ConfigurationError(f"chunk unit: found {short_repr(unit)}; expected one of {', '.join(UNITS)}")
    if kind == "recursive":
        return RecursiveChunker(size, overlap, unit or "characters", encoding=encoding)
    if unit == "characters":
        raise ConfigurationError("chunk unit: found 'characters' for the chunker 'token'; expected tokens")
    return TokenChunker(size, overlap, encoding)


def parse_chunker(text: str) -> Chunker:
    """Read a chunker from its text form; `parse_chunker(str(chunker)) == chunker` for the default separators.

    Args:
        text: `KIND:SIZE/OVERLAP[:UNIT[:ENCODING]]`.

    Raises:
        ConfigurationError: the text does not have this form, or names something that there is not.
    """
    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise ConfigurationError(f"chunker: found {short_repr(text)}; expected {_GRAMMAR}")
    try:
        size, overlap = int(form["size"]), int(form["overlap"])
        return make_chunker(form["kind"], size, overlap, form["unit"], form["encoding"] or DEFAULT_ENCODING)
    except ConfigurationError as error:
        raise ConfigurationError(f"chunker: found {short_repr(text)}; expected {_GRAMMAR}: {error}") from None
