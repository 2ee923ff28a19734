"""What exact search needs of a user's vector store, and how each database's vectors are read out."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.records.documents import Chunk

    Row = tuple[object, str | None, Mapping[str, Any] | None, Any]

Distance = Literal["cosine", "dot", "l2"]
PAGE = 1_000
"""So many vectors are read at a time."""
_DISTANCES: dict[str, Distance] = {
    "cosine": "cosine",
    "cosine_distance": "cosine",
    "dot": "dot",
    "ip": "dot",
    "inner_product": "dot",
    "max_inner_product": "dot",
    "l2": "l2",
    "euclid": "l2",
    "l2_distance": "l2",
}
"""The distances that are known, by their names in the databases."""


@dataclass(frozen=True, eq=False)
class VectorStore:
    """A vector store of a user's, as far as exact search needs it."""

    name: str
    """Its class, for messages."""
    embed_query: Callable[[str], Sequence[float]] | None
    """Its own embedding of a query; None where it has none."""
    embed_chunks: Callable[[Sequence[Chunk]], Sequence[Sequence[float]]] | None
    """Its own embedding of chunks; None where it has none."""
    distance: Distance = "cosine"
    """By which it ranks."""
    own_k: int | None = None
    """How many hits its retriever returns; None where that is not known."""
    chunks: Sequence[Chunk] | None = None
    """What it holds; None where it does not give that out."""
    vectors: NDArray[np.float32] | None = None
    """The vector of each chunk; None where it does not give them out."""
    unread: str = ""
    """Why its vectors could not be read out, where that was tried."""


def tried(read: Callable[..., VectorStore], known: VectorStore, *given: Any) -> VectorStore:
    """Return a store with what it holds; without, and with the reason, where it cannot be read.

    Args:
        read: reads it.
        known: the store without what it holds.
        given: to `read`, after it.

    Raises:
        ConfigurationError: exact search does not know its distance.
    """
    try:
        return read(known, *given)
    except ConfigurationError:
        raise
    except Exception as error:  # noqa: BLE001 — whatever a client raises, or another version of the store lacks
        return replace(known, unread=" ".join(f"{type(error).__name__}: {error}".split()))


@dataclass(frozen=True, eq=False)
class Entries:
    """What a database holds: an id, a text, metadata and a vector of each entry, in parallel."""

    ids: list[str]
    """Of the chunks."""
    texts: list[str]
    """As they were stored; empty where there is none."""
    metadata: list[dict[str, Any]]
    """As it was stored."""
    vectors: NDArray[np.float32]
    """Shape (entries, dimensions)."""
    distance: Distance
    """By which the database ranks."""

    @classmethod
    def of(cls, rows: Iterable[Row], written: object) -> Entries:
        """Return rows as entries.

        Args:
            rows: the id, text, metadata and vector of each.
            written: the distance, as the database writes it.

        Raises:
            ConfigurationError: exact search does not know the distance.
        """
        distance = distance_named(written)
        held = [
            (str(name), text or "", dict(metadata or {}), np.asarray(vector, dtype=np.float32))
            for name, text, metadata, vector in rows
        ]
        ids, texts, metadata, vectors = map(list, zip(*held, strict=True)) if held else ([], [], [], [])
        return cls(ids, texts, metadata, np.array(vectors, dtype=np.float32), distance)


@dataclass(frozen=True)
class Fields:
    """Under which names a database holds the parts of an entry."""

    id: str
    """Of the chunk."""
    text: str
    """Its text."""
    vector: str
    """Its vector."""
    metadata: str | None
    """Its metadata; None where each key of it is a field."""


def distance_named(written: object) -> Distance:
    """Return the distance that a database writes as `written`.

    Raises:
        ConfigurationError: exact search does not know it, as Manhattan or Hamming.
    """
    found = _DISTANCES.get(str(written).lower())
    if found is None:
        raise ConfigurationError(
            f"exact: found a vector store that ranks by {written}; expected one that ranks by cosine, inner product or "
            "L2, or exact=False"
        )
    return found


def not_the_nearest(found: str) -> ConfigurationError:
    """Return the error that a search does not simply return the nearest vectors.

    Args:
        found: the search, as `search_type='mmr'`.
    """
    return ConfigurationError(
        f"exact: found {found}, which returns something else than the k nearest vectors; expected a search by "
        "similarity, or exact=False"
    )


def filtered_already(found: str) -> ConfigurationError:
    """Return the error that a retriever filters by itself.

    Args:
        found: where its filter is, as `search_kwargs['filter']`.
    """
    return ConfigurationError(
        f"exact: found a filter of the retriever's own in {found}, which exact search does not apply; expected it on "
        'the queries: dataclasses.replace(query, filter={"year": 2024})'
    )


def qdrant_points(
    client: Any, collection: str, vector_name: str = ""
) -> tuple[list[Any], NDArray[np.float32], Distance]:
    """Return the points of a Qdrant collection, their vectors, and by which distance it ranks.

    Args:
        client: a `QdrantClient`.
        collection: its name.
        vector_name: of several vectors of a point, which; empty for the unnamed.
    """
    points: list[Any] = []
    offset = None
    while True:
        found, offset = client.scroll(collection, limit=PAGE, offset=offset, with_vectors=True, with_payload=True)
        points += found
        if offset is None:
            break
    settings = client.get_collection(collection).config.params.vectors
    chosen = settings[vector_name] if isinstance(settings, dict) else settings
    rows = [point.vector[vector_name] if isinstance(point.vector, dict) else point.vector for point in points]
    return points, np.array(rows, dtype=np.float32), distance_named(chosen.distance.value)


def faiss_vectors(index: Any) -> tuple[NDArray[np.float32], Distance] | None:
    """Return the vectors of a FAISS index as it holds them, and by which distance it ranks; None if it holds none back.

    Args:
        index: a `faiss.Index`.
    """
    import faiss

    try:
        vectors = index.reconstruct_n(0, index.ntotal) if index.ntotal else np.zeros((0, index.d), dtype=np.float32)
    except RuntimeError:
        return None
    metrics = {faiss.METRIC_INNER_PRODUCT: "ip", faiss.METRIC_L2: "l2"}
    return vectors, distance_named(metrics.get(index.metric_type, f"FAISS' metric {index.metric_type}"))


def chroma_entries(collection: Any) -> Entries:
    """Return what a Chroma collection holds.

    Args:
        collection: a `chromadb.Collection`.
    """
    parts = ["documents", "metadatas", "embeddings"]
    pages = [collection.get(limit=PAGE, offset=start, include=parts) for start in range(0, collection.count(), PAGE)]
    rows = (
        row
        for page in pages
        for row in zip(page["ids"], page["documents"], page["metadatas"], page["embeddings"], strict=True)
    )
    configuration = collection.configuration_json
    settings = configuration.get("hnsw") or configuration.get("spann") or {}
    return Entries.of(rows, settings.get("space") or (collection.metadata or {}).get("hnsw:space", "l2"))


def lancedb_entries(table: Any, fields: Fields, metric: str | None = None) -> Entries:
    """Return what a LanceDB table holds.

    Args:
        table: a table of `lancedb`.
        fields: its columns.
        metric: by which it is searched; None for that of its index, and L2 without an index.
    """
    names = [fields.id, fields.text, fields.vector, fields.metadata]
    batches = table.search().select([name for name in names if name in table.schema.names]).to_batches(PAGE)
    rows = (
        (row[fields.id], row[fields.text], _mapping(row.get(fields.metadata)), row[fields.vector])
        for batch in batches
        for row in batch.to_pylist()
    )
    indexes = [index.name for index in table.list_indices() if fields.vector in index.columns]
    return Entries.of(rows, metric or (table.index_stats(indexes[0]).distance_type if indexes else "l2"))


def _mapping(metadata: Any) -> Mapping[str, Any] | None:
    """Return metadata that may be written as JSON."""
    found: Mapping[str, Any] | None = json.loads(metadata) if isinstance(metadata, str) else metadata
    return found


def milvus_entries(client: Any, collection: str, fields: Fields) -> Entries:
    """Return what a Milvus collection holds.

    Args:
        client: a `pymilvus.MilvusClient`.
        collection: its name.
        fields: of the collection; without one for metadata, all others are metadata.
    """
    (index, *_) = client.list_indexes(collection, field_name=fields.vector)
    metric = client.describe_index(collection, index)["metric_type"]
    pages = client.query_iterator(collection, batch_size=PAGE, output_fields=["*"])
    own = (fields.text, fields.vector)

    def rows() -> Iterator[Row]:
        while page := pages.next():
            for row in page:
                others = {key: row[key] for key in row if key not in own}
                metadata = row[fields.metadata] if fields.metadata else others
                yield row[fields.id], row[fields.text], metadata, row[fields.vector]

    with closing(pages):
        return Entries.of(rows(), metric)
