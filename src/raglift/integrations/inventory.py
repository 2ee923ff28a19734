"""All chunks of an index: from the system where it tells them, else from the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError
from raglift.integrations.langchain import is_langchain
from raglift.integrations.llama_index import is_llama_index
from raglift.integrations.plain import chunk_and_score
from raglift.records import Chunk, Document

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
        ConfigurationError: what was given is no list of chunks, or is empty, or something in it is not a chunk.
    """
    if given is not None:
        return [_chunk(item, place, doc_key) for place, item in enumerate(_listed(given))]
    retriever = getattr(stages[0], "retriever", None)
    for holder in (retriever, getattr(retriever, "index", None)):
        chunks = getattr(holder, "chunks", None)
        if chunks and isinstance(chunks, (tuple, list)) and all(isinstance(chunk, Chunk) for chunk in chunks):
            return list(chunks)
    return None


def _listed(given: Any) -> list[Any]:
    """Return what was given as a list; a single document is none, though Python iterates over its fields."""
    expected = "expected a list of all chunks of the index"
    single = isinstance(given, (str, bytes, Mapping)) or is_langchain(given) or is_llama_index(given)
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
