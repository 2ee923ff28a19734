"""LlamaIndex nodes as raglift chunks, and back, so that ids, scores and metadata survive a postprocessor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from raglift.adapters.base import finite
from raglift.adapters.results import read_all
from raglift.adapters.stages import place_in
from raglift.errors import UnsupportedSystem
from raglift.records.documents import Chunk
from raglift.records.rankings import Ranking

DOCUMENT_KEYS = ("doc_id", "document_id", "file_name", "source")
"""Where a document's id is looked for in the metadata of a node that names no source document."""


def chunk_of(item: Any, doc_key: str | None = None) -> Chunk:
    """Return the chunk that a node is.

    Args:
        item: a LlamaIndex node, or a `NodeWithScore`.
        doc_key: the metadata key that holds the document's id. Without it, the node's source document is
            taken (`ref_doc_id`), else the first of `doc_id`, `document_id`, `file_name` and `source`.

    Returns:
        The chunk; its offsets are the node's own claim, and its `origin` is the node.
    """
    node = getattr(item, "node", item)
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    return Chunk(
        text=_text_of(node),
        id=node.node_id,
        doc_id=_document_of(node, doc_key),
        start=start if isinstance(start, int) else None,
        end=end if isinstance(start, int) and isinstance(end, int) else None,
        metadata=dict(node.metadata),
        origin=node,
    )


def node_of(chunk: Chunk) -> Any:
    """Return a LlamaIndex node for a chunk, with the chunk's id; the caller may change it.

    A chunk that came from LlamaIndex gives a copy of its own node, with its relationships. Any other chunk
    gives a `TextNode` whose metadata is hidden from embedding models and LLMs: LlamaIndex would otherwise put
    file names and page numbers before the text that a reranker reads.
    """
    from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode

    origin = chunk.origin
    if isinstance(origin, BaseNode) and _text_of(origin) == chunk.text:
        fields = dict(vars(origin)).items()
        fresh = {name: copy(value) for name, value in fields if isinstance(value, dict | list)}
        return origin.model_copy(update={**fresh, "id_": chunk.id})
    metadata = {str(key): value for key, value in chunk.metadata.items()}
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.doc_id)} if chunk.doc_id else {}
    return TextNode(
        id_=chunk.id,
        text=chunk.text,
        metadata=metadata,
        excluded_embed_metadata_keys=list(metadata),
        excluded_llm_metadata_keys=list(metadata),
        relationships=source,
        start_char_idx=chunk.start,
        end_char_idx=chunk.end,
    )


def ranking_of(items: Iterable[Any], k: int | None, doc_key: str | None = None) -> Ranking:
    """Return the first `k` of LlamaIndex's scored nodes as a ranking; all of them where `k` is None."""
    return Ranking.of((chunk_of(item, doc_key), finite(item.score)) for item in _read(items, "the retriever")[:k])


def _read(items: Any, who: str) -> list[Any]:
    """Return nodes as a list.

    Raises:
        UnsupportedSystem: they are no list of nodes, or have no end.
    """
    if not isinstance(items, Iterable) or isinstance(items, (str, bytes, Mapping)):
        raise UnsupportedSystem(f"{who} returned a {type(items).__name__}; expected a list of LlamaIndex's nodes")
    return read_all(items, who)


@dataclass(frozen=True)
class _Given:
    """A chunk, the node that was for it, and how that node was when it was handed over."""

    chunk: Chunk
    node: Any
    metadata: Mapping[str, Any]


class Handover:
    """A ranking as nodes for a postprocessor, and what comes back as a ranking of the same chunks."""

    def __init__(self, ranking: Ranking, doc_key: str | None = None) -> None:
        self._doc_key = doc_key
        self._scores = [hit.score for hit in ranking]
        handed = [(hit.chunk, node_of(hit.chunk)) for hit in ranking]
        self._given = [_Given(chunk, node, dict(node.metadata)) for chunk, node in handed]
        self._by_object = {id(given.node): given for given in self._given}

    def nodes(self) -> list[Any]:
        """Return the `NodeWithScore` list to postprocess."""
        from llama_index.core.schema import NodeWithScore

        pairs = zip(self._given, self._scores, strict=True)
        return [NodeWithScore(node=given.node, score=score) for given, score in pairs]

    def ranking(self, items: Iterable[Any]) -> Ranking:
        """Return what the postprocessor gave back.

        A node whose text and metadata are as they were is its chunk again. A changed text keeps the id and the
        document, and has offsets only if it occurs exactly once in the old one. A node that was not handed over is a
        new chunk.
        """
        found = _read(items, "the postprocessor")
        return Ranking.of((self._chunk_after(item.node), finite(item.score)) for item in found)

    def _chunk_after(self, node: Any) -> Chunk:
        given = self._by_object.get(id(node)) or self._same_id(node)
        if given is None:
            return chunk_of(node, self._doc_key)
        text, metadata = _text_of(node), dict(node.metadata)
        if text == given.chunk.text and metadata == given.metadata:
            return given.chunk
        merged = {**given.chunk.metadata, **metadata}
        if text == given.chunk.text:
            return replace(given.chunk, metadata=merged, origin=node)
        start, end = place_in(given.chunk, text)
        return Chunk(text, given.chunk.id, given.chunk.doc_id, start, end, metadata=merged, origin=node)

    def _same_id(self, node: Any) -> _Given | None:
        """Find a node that the postprocessor copied; among hits with one id, the one with its text."""
        same = [given for given in self._given if given.chunk.id == node.node_id]
        same_text = [given for given in same if given.chunk.text == _text_of(node)]
        return next(iter(same_text or same), None)


def _text_of(node: Any) -> str:
    from llama_index.core.schema import MetadataMode

    return str(node.get_content(metadata_mode=MetadataMode.NONE))


def _document_of(node: Any, doc_key: str | None) -> str | None:
    if doc_key is None and node.ref_doc_id:
        return str(node.ref_doc_id)
    keys = DOCUMENT_KEYS if doc_key is None else (doc_key,)
    found = (node.metadata.get(key) for key in keys)
    return next((str(value) for value in found if value not in (None, "")), None)
