"""LlamaIndex nodes as raglift chunks, and back, so that ids, scores and metadata survive a postprocessor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

from raglift.adapters.asking import document_id, excerpt
from raglift.adapters.base import finite
from raglift.adapters.results import read_all
from raglift.errors import UnsupportedSystem
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking

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
        doc_id=str(node.ref_doc_id)
        if doc_key is None and node.ref_doc_id
        else document_id(node.metadata, doc_key, DOCUMENT_KEYS),
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


def scored_nodes(items: Any, who: str, doc_key: str | None) -> list[tuple[Chunk, float | None]]:
    """Return LlamaIndex's scored nodes as chunks with scores."""
    return [(chunk_of(item, doc_key), finite(item.score)) for item in _read(items, who)]


def _read(items: Any, who: str) -> list[Any]:
    """Return nodes as a list.

    Raises:
        UnsupportedSystem: they are no list of nodes, or have no end.
    """
    if not isinstance(items, Iterable) or isinstance(items, (str, bytes, Mapping)):
        raise UnsupportedSystem(f"{who} returned a {type(items).__name__}; expected a list of LlamaIndex's nodes")
    return read_all(items, who)


class Candidates:
    """The hits of one ranking as nodes with scores, and the way back to their chunks."""

    def __init__(self, ranking: Ranking, doc_key: str | None = None) -> None:
        from llama_index.core.schema import NodeWithScore

        self._doc_key = doc_key
        self._chunks = ranking.chunks
        self._nodes = [node_of(chunk) for chunk in self._chunks]
        self._metadata = [dict(node.metadata) for node in self._nodes]
        self.documents = [
            NodeWithScore(node=node, score=hit.score) for node, hit in zip(self._nodes, ranking, strict=True)
        ]
        """What to hand to the postprocessor; it may change them."""

    def ranking(self, outputs: Any) -> Ranking:
        """Return what the postprocessor gave back.

        A node whose text and metadata are as they were is its chunk again. A changed text keeps the id and the
        document, and has offsets only if it occurs exactly once in the old one. A node that was not handed over is a
        new chunk.
        """
        found = _read(outputs, "the postprocessor")
        return Ranking.of((self._chunk_after(item.node), finite(item.score)) for item in found)

    def _chunk_after(self, node: Any) -> Chunk:
        place = self._place_of(node)
        if place is None:
            return chunk_of(node, self._doc_key)
        chunk, text, metadata = self._chunks[place], _text_of(node), dict(node.metadata)
        if text == chunk.text and metadata == self._metadata[place]:
            return chunk
        return excerpt(chunk, text, {**chunk.metadata, **metadata}, node)

    def _place_of(self, node: Any) -> int | None:
        """Return which candidate a node is, or is a copy of; among hits with one id, the one with its text."""
        if (same := [place for place, given in enumerate(self._nodes) if given is node]) == []:
            same = [place for place, chunk in enumerate(self._chunks) if chunk.id == node.node_id]
        same_text = [place for place in same if self._chunks[place].text == _text_of(node)]
        return next(iter(same_text or same), None)


def _text_of(node: Any) -> str:
    from llama_index.core.schema import MetadataMode

    return str(node.get_content(metadata_mode=MetadataMode.NONE))
