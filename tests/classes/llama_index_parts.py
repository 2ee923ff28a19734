"""What LlamaIndex's classes are built from and asked by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from llama_index.core import Document, Settings, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import (
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from pydantic import PrivateAttr

from raglift.types.documents import Chunk

from .case import OWN
from .corpus import Corpus, count_words

Make = Callable[[Corpus], Any]
HIDDEN = ["date", "window"]


class Vectors(BaseEmbedding):
    """The corpus' own model as LlamaIndex's."""

    _corpus: Corpus = PrivateAttr()

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(model_name="minilm")
        self._corpus = corpus

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._corpus.embed([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._corpus.embed([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._corpus.embed([query])[0]


class Words(BaseEmbedding):
    """Counts words: for classes that embed every sentence, or what they cut themselves."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return count_words(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def sources(corpus: Corpus) -> list[Document]:
    return [Document(text=document.text, id_=document.id) for document in corpus.dataset.documents]


def nodes(corpus: Corpus) -> list[TextNode]:
    """The chunks as nodes that know their neighbours, a date, and the text around them."""
    chunks = corpus.chunks
    made = [_node(chunk, at, chunks) for at, chunk in enumerate(chunks)]
    for one, other in pairwise(made):
        if one.ref_doc_id == other.ref_doc_id:
            one.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=other.node_id)
            other.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=one.node_id)
    return made


def _node(chunk: Chunk, at: int, chunks: Sequence[Chunk]) -> TextNode:
    around = [near.text for near in chunks[max(0, at - 1) : at + 2] if near.doc_id == chunk.doc_id]
    return TextNode(
        id_=str(uuid5(NAMESPACE_URL, chunk.id)),  # Qdrant takes no other
        text=chunk.text,
        metadata={"date": f"{2000 + at % 20}-01-01", "window": "\n".join(around)},
        excluded_embed_metadata_keys=HIDDEN,
        excluded_llm_metadata_keys=HIDDEN,
        start_char_idx=chunk.start,
        end_char_idx=chunk.end,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.doc_id or "")},
    )


def index(corpus: Corpus, some: Sequence[TextNode] | None = None, store: Any = None) -> VectorStoreIndex:
    """A vector index of some nodes, by default of all, in a store, by default in memory."""
    storage = StorageContext.from_defaults(vector_store=store) if store is not None else None
    found = nodes(corpus) if some is None else list(some)
    return VectorStoreIndex(found, embed_model=Vectors(corpus), storage_context=storage)


def dense(corpus: Corpus) -> Any:
    return index(corpus).as_retriever(similarity_top_k=OWN)


def parts(corpus: Corpus) -> dict[str, list[TextNode]]:
    """The nodes by their document."""
    found: dict[str, list[TextNode]] = {}
    for node in nodes(corpus):
        found.setdefault(node.ref_doc_id or "", []).append(node)
    return found


def halves(corpus: Corpus) -> list[VectorStoreIndex]:
    """Two indexes, of the first and of the last documents."""
    found = nodes(corpus)
    return [index(corpus, found[: len(found) // 2]), index(corpus, found[len(found) // 2 :])]


def model(corpus: Corpus) -> Any:
    """OpenAI's client, on loopback; one for all, as its certificates take longer to load than a question."""
    return _model(corpus.server.base_url)


@cache
def _model(base_url: str) -> Any:
    from llama_index.llms.openai import OpenAI

    made = OpenAI(
        model="gpt-4o-mini",
        api_base=base_url,
        api_key="test",
        max_retries=0,
        callback_manager=Settings.callback_manager,  # others put it in as soon as they are asked
    )
    made._get_client(), made._get_aclient()  # else they are made when they are first asked for
    return made


def texts(items: Iterable[NodeWithScore]) -> list[str]:
    return [item.node.get_content(metadata_mode=MetadataMode.NONE) for item in items]


def retrieve(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return texts(made.retrieve(query))


def retrieve_by_engine(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return texts(made.retrieve(QueryBundle(query)))


def answer_from(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    """What an answer was written from."""
    return texts(made.query(query).source_nodes)


def chat(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    """What the answer to a first message was written from."""
    made.reset()
    return texts(made.chat(query).source_nodes)


class Behind:
    """Builds a postprocessor, and asks it behind a retriever of its own, which finds the same candidates."""

    def __init__(self, build: Make) -> None:
        self._build = build
        self._base: Any = None

    def make(self, corpus: Corpus) -> Any:
        self._base = dense(corpus)
        return self._build(corpus)

    def ask(self, made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
        found = self._base.retrieve(query)
        assert texts(found) == [chunk.text for chunk in candidates]
        return texts(made.postprocess_nodes(found, QueryBundle(query)))
