"""What chunkers of other libraries share: one document cut, failures named, and lost places counted."""

from __future__ import annotations

import html
import logging
import re
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from raglift.base.display import describe_error
from raglift.errors import ConfigurationError, order_to_stop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.records.documents import Chunk, Document


Cutter = Callable[[str], list[str]]
"""Cuts a text into texts."""


HTML_SPAN = "html_span"
"""The key of a chunk's metadata that holds where the plain text of HTML stands in the document."""
_MARKUP = re.compile(r"<!--.*?-->|<[!/?a-zA-Z][^<>]*>", re.DOTALL)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});?")


def without_markup(text: str) -> str:
    """Return a text of the same length in which markup is white space, and entities are what they stand for."""
    blank = _MARKUP.sub(lambda found: " " * len(found[0]), text)
    return _ENTITY.sub(lambda found: html.unescape(found[0])[: len(found[0])].ljust(len(found[0])), blank)


def cut_by(cut: Cutter, document: Document, chunker: object) -> list[str]:
    """Return the pieces of a document without those of white space alone.

    Raises:
        ConfigurationError: the library fails on the document, which is named.
    """
    try:
        return [piece for piece in cut(document.text) if piece.strip()]
    except BaseException as error:
        if order_to_stop(error) is not None or isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(
            f"chunker: found {str(chunker)!r}, which failed on the document {document.id!r}: {describe_error(error)}; "
            "expected a splitter that can cut it (is the size too small?)"
        ) from error


def warn_of_lost(chunker: object, chunks: Sequence[Chunk]) -> None:
    """Warn of chunks without offsets."""
    lost = [chunk for chunk in chunks if chunk.start is None]
    if lost:
        among = sum(HTML_SPAN in chunk.metadata for chunk in lost)
        placed = f"; the places of {among:,} among the markup are known" if among else ""
        warnings.warn(
            f"{chunker}: {len(lost):,} of {len(chunks):,} chunks are not in their documents word for word: the "
            f"splitter rewrites them. They have no offsets, and are matched by their text{placed}",
            stacklevel=3,
        )


@contextmanager
def quiet_splitters() -> Iterator[None]:
    """Keep back the line that LangChain logs for each chunk that holds no separator and is longer than its size."""
    logger = logging.getLogger("langchain_text_splitters")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
