"""All chunks of an index: from the system where it tells them, else from the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError
from raglift.integrations.plain import chunk_and_score
from raglift.records import Chunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.execution import Stage

__all__ = ["all_chunks"]


def all_chunks(stages: Sequence[Stage], given: Sequence[Any] | None, *, doc_key: str | None) -> list[Chunk] | None:
    """Return all chunks that the system retrieves from; None when they are not known.

    Args:
        stages: of the system; raglift's own retrievers tell their chunks.
        given: what the user says they are, in any form that a retriever may return; this goes first.
        doc_key: the metadata key that holds document ids.

    Raises:
        ConfigurationError: something among what was given is not a chunk.
    """
    if given is not None:
        if isinstance(given, (str, bytes)):
            raise ConfigurationError(f"chunks: found a {type(given).__name__}; expected a list of chunks")
        return [_chunk(item, place, doc_key) for place, item in enumerate(given)]
    retriever = getattr(stages[0], "retriever", None)
    for holder in (retriever, getattr(retriever, "index", None)):
        chunks = getattr(holder, "chunks", None)
        if isinstance(chunks, (tuple, list)) and all(isinstance(chunk, Chunk) for chunk in chunks):
            return list(chunks)
    return None


def _chunk(item: Any, place: int, doc_key: str | None) -> Chunk:
    try:
        return chunk_and_score(item, doc_key)[0]
    except ConfigurationError as error:
        raise ConfigurationError(f"chunks[{place}]: {error}") from error
