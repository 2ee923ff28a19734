"""All chunks of an index: from the system where it tells them, else from the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError
from raglift.integrations.base import adapter_of
from raglift.integrations.plain import chunk_and_score
from raglift.records import Chunk, Document

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["all_chunks"]


def all_chunks(system: Any, given: Sequence[Any] | None, *, doc_key: str | None) -> list[Chunk] | None:
    """Return all chunks that the system retrieves from; None when they are not known.

    Args:
        system: as the user passed it; its adapter may know its chunks.
        given: what the user says they are, in any form that a retriever may return; this goes first.
        doc_key: the metadata key that holds document ids.

    Raises:
        ConfigurationError: what was given is no list of chunks, or is empty, or something in it is not a chunk.
    """
    if given is not None:
        return [_chunk(item, place, doc_key) for place, item in enumerate(_listed(given))]
    adapter = adapter_of(system)
    chunks = None if adapter is None else adapter.chunks(system, doc_key=doc_key)
    return None if chunks is None else list(chunks)


def _listed(given: Any) -> list[Any]:
    """Return what was given as a list; a single document is none, though Python iterates over its fields."""
    expected = "expected a list of all chunks of the index"
    single = isinstance(given, (str, bytes, Mapping)) or adapter_of(given) is not None
    if single or not isinstance(given, Iterable):
        raise ConfigurationError(f"chunks: found a {type(given).__name__}; {expected}")
    chunks = list(given)
    if not chunks:
        raise ConfigurationError(f"chunks: found none; {expected}, or None when they are not known")
    return chunks


def _chunk(item: Any, place: int, doc_key: str | None) -> Chunk:
    try:
        return chunk_and_score(item, doc_key)[0]
    except ConfigurationError as error:
        reason = str(error).removeprefix("a retriever's result: ")
        hint = "; this is a whole source text: cut it with a chunker first" if isinstance(item, Document) else ""
        raise ConfigurationError(f"chunks[{place}]: {reason}{hint}") from error
