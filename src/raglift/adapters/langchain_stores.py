"""LangChain's vector stores: what they hold, read out where they allow it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.base import is_from
from raglift.adapters.langchain_documents import chunk_of
from raglift.adapters.vector_stores import (
    PAGE,
    Entries,
    Fields,
    VectorStore,
    chroma_entries,
    faiss_vectors,
    filtered_already,
    lancedb_entries,
    milvus_entries,
    not_the_nearest,
    qdrant_points,
    tried,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raglift.records.documents import Chunk


_DEFAULT_K = 4


def langchain_store(retriever: Any, doc_key: str | None) -> VectorStore | None:
    """Return the vector store of a retriever with what it holds; None for another Runnable.

    Args:
        retriever: a LangChain Runnable.
        doc_key: the metadata key that names the source document.

    Raises:
        ConfigurationError: it returns something else than the nearest vectors by a distance that exact search knows.
    """
    from langchain_core.vectorstores import VectorStoreRetriever

    if not isinstance(retriever, VectorStoreRetriever):
        return None
    if retriever.search_type != "similarity":
        raise not_the_nearest(f"search_type={retriever.search_type!r}")
    settings = retriever.search_kwargs
    if settings.get("score_threshold") is not None:
        raise not_the_nearest(f"score_threshold={settings['score_threshold']}")
    for name in ("filter", "expr", "where_document"):
        if settings.get(name):
            raise filtered_already(f"search_kwargs[{name!r}]")
    store = retriever.vectorstore
    known = replace(_described(store), own_k=settings.get("k", _DEFAULT_K))
    for package, read in _READERS.items():
        if is_from(store, package):
            return tried(read, known, retriever, doc_key)
    return known


def _described(store: Any) -> VectorStore:
    """Return a store with its embedding model, and nothing of what it holds."""
    embedding = getattr(store, "embeddings", None) or getattr(store, "_embedding_function", None)
    function = getattr(store, "embedding_function", None)
    if embedding is None and callable(function):  # FAISS may be given a function
        return VectorStore(type(store).__name__, function, lambda chunks: [function(chunk.text) for chunk in chunks])
    if embedding is None or isinstance(embedding, list):  # Milvus may have several
        return VectorStore(type(store).__name__, None, None)

    def embed_chunks(chunks: Sequence[Chunk]) -> Sequence[Sequence[float]]:
        found: Sequence[Sequence[float]] = embedding.embed_documents([chunk.text for chunk in chunks])
        return found

    return VectorStore(type(store).__name__, embedding.embed_query, embed_chunks)


def _faiss(known: VectorStore, retriever: Any, doc_key: str | None) -> VectorStore:
    store = retriever.vectorstore
    documents = [store.docstore.search(store.index_to_docstore_id[place]) for place in range(store.index.ntotal)]
    chunks = tuple(chunk_of(document, doc_key) for document in documents)
    found = faiss_vectors(store.index)
    if found is None:
        return replace(known, chunks=chunks)
    vectors, distance = found
    if getattr(store, "_normalize_L2", False):
        distance = "cosine"  # of unit vectors both distances rank alike
    return replace(known, chunks=chunks, vectors=vectors, distance=distance)


def _in_memory(known: VectorStore, retriever: Any, doc_key: str | None) -> VectorStore:
    held = retriever.vectorstore.store.values()
    rows = ((one["id"], one["text"], one["metadata"], one["vector"]) for one in held)
    return _with_entries(known, Entries.of(rows, "cosine"), doc_key)


def _qdrant(known: VectorStore, retriever: Any, doc_key: str | None) -> VectorStore:
    store = retriever.vectorstore
    mode = getattr(store, "retrieval_mode", None)  # the older class has none
    if mode is not None and mode.value != "dense":
        raise not_the_nearest(f"Qdrant with retrieval_mode={mode.value!r}")
    points, vectors, distance = qdrant_points(store.client, store.collection_name, store.vector_name)
    text, metadata = store.content_payload_key, store.metadata_payload_key
    payloads = [point.payload or {} for point in points]
    rows = [
        (point.id, payload.get(text), payload.get(metadata), vector)
        for point, payload, vector in zip(points, payloads, vectors, strict=True)
    ]
    return _with_entries(known, Entries.of(rows, distance), doc_key)


def _chroma(known: VectorStore, retriever: Any, doc_key: str | None) -> VectorStore:
    collection = retriever.vectorstore._collection  # noqa: SLF001 — its distance is written nowhere else
    return _with_entries(known, chroma_entries(collection), doc_key)


def _community_lancedb(known: VectorStore, retriever: Any, doc_key: str | None) -> VectorStore:
    store, settings = retriever.vectorstore, retriever.search_kwargs
    if (query_type := settings.get("query_type", "vector")) != "vector":
        raise not_the_nearest(f"LanceDB with query_type={query_type!r}")
    fields = Fields(store._id_key, store._text_key, store._vector_key, "metadata")  # noqa: SLF001 — it has no other way
    return _with_entries(known, lancedb_entries(store.get_table(), fields, settings.get("metrics")), doc_key)


def _lancedb(known: VectorStore, retriever: Any, doc_key: str | None) -> VectorStore:
    store = retriever.vectorstore
    table, _ = store._get_or_create_table()  # noqa: SLF001 — as above
    held = lancedb_entries(table, Fields("id", "text", "vector", "metadata"))
    source = {"source": store._uri}  # noqa: SLF001 — its searches write this over the document's own
    return _with_entries(known, replace(held, metadata=[one | source for one in held.metadata]), doc_key)


def _milvus(known: VectorStore, retriever: Any, doc_key: str | None) -> VectorStore:
    store = retriever.vectorstore
    vector, *others = store.vector_fields
    if others:
        raise not_the_nearest(f"Milvus with the vectors {', '.join(store.vector_fields)}")
    fields = Fields(store._primary_field, store._text_field, vector, store._metadata_field)  # noqa: SLF001 — as above
    return _with_entries(known, milvus_entries(store.client, store.collection_name, fields), doc_key)


def _pgvector(known: VectorStore, retriever: Any, doc_key: str | None) -> VectorStore:
    store = retriever.vectorstore
    table = store.EmbeddingStore
    with store.session_maker() as session:
        columns = (table.id, table.document, table.cmetadata, table.embedding)
        mine = table.collection_id == store.get_collection(session).uuid
        rows = session.query(*columns).filter(mine).yield_per(PAGE)
        return _with_entries(known, Entries.of(rows, store.distance_strategy.__name__), doc_key)


def _pgvector_table(known: VectorStore, retriever: Any, doc_key: str | None) -> VectorStore:
    from sqlalchemy import ARRAY, REAL, cast, column, select, table

    store = retriever.vectorstore
    held = store._PGVectorStore__vs  # noqa: SLF001 — its table and columns are written nowhere else
    keys = [*held.metadata_columns, *([held.metadata_json_column] if held.metadata_json_column else [])]
    vector = cast(column(held.embedding_column), ARRAY(REAL))
    columns = (column(held.id_column), column(held.content_column), vector, *map(column, keys))
    statement = select(*columns).select_from(table(held.table_name, schema=held.schema_name))

    async def fetched() -> list[Any]:
        async with held.engine.connect() as connection:
            return [row async for row in await connection.stream(statement)]

    def metadata_of(values: Sequence[Any]) -> dict[str, Any]:
        named = dict(zip(keys, values, strict=True))
        return (named.pop(held.metadata_json_column, None) or {}) | named

    rows = store._engine._run_as_sync(fetched())  # noqa: SLF001 — the connections belong to its own event loop
    entries = ((name, text, metadata_of(values), vector) for name, text, vector, *values in rows)
    return _with_entries(known, Entries.of(entries, held.distance_strategy.search_function), doc_key)


def _with_entries(known: VectorStore, held: Entries, doc_key: str | None) -> VectorStore:
    """Return a store with what it holds, as the documents that its searches return."""
    from langchain_core.documents import Document

    rows = zip(held.ids, held.texts, held.metadata, strict=True)
    documents = (Document(page_content=text, metadata=metadata, id=name) for name, text, metadata in rows)
    chunks = tuple(chunk_of(document, doc_key) for document in documents)
    return replace(known, chunks=chunks, vectors=held.vectors, distance=held.distance)


_READERS: dict[str, Callable[[VectorStore, Any, str | None], VectorStore]] = {
    "langchain_community.vectorstores.faiss": _faiss,
    "langchain_core.vectorstores.in_memory": _in_memory,
    "langchain_qdrant": _qdrant,
    "langchain_chroma": _chroma,
    "langchain_community.vectorstores.lancedb": _community_lancedb,
    "langchain_milvus": _milvus,
    "langchain_lancedb": _lancedb,
    "langchain_postgres.vectorstores": _pgvector,
    "langchain_postgres.v2": _pgvector_table,
}
"""What reads the vectors out of a store, by the module of its class."""
