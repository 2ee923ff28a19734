"""What a run remembers of its dataset."""

import hashlib

import pytest

from raglift.running.spec import dataset_hash, dataset_hashes, documents_hash, labels_hash
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Query


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_hash_of_a_dataset_is_that_of_its_documents_and_queries_written_out(count: int) -> None:
    queries = tuple(Query(f"q{number}", "where is \ud800?", tags=("easy",)) for number in range(count))
    dataset = Dataset(queries, (Document("a", "text"),))
    written = b"a\x00text\x00" + repr(queries).encode("utf-8", "surrogatepass")
    assert dataset_hash(dataset) == hashlib.sha256(written).hexdigest()[:16]


def test_labels_and_documents_have_hashes_of_their_own() -> None:
    queries, documents = (Query("q1", "where?"), Query("q2", "when?")), (Document("a", "text"),)
    first = dataset_hashes(Dataset(queries, documents))
    assert first == {
        "hash": dataset_hash(Dataset(queries, documents)),
        "labels": labels_hash(queries),
        "documents": documents_hash(documents),
    }
    assert all(len(digest) == 16 for digest in first.values())
    moved = dataset_hashes(Dataset(queries, (Document("b", "text"),)))
    assert [first[name] == moved[name] for name in ("hash", "labels", "documents")] == [False, True, False]
    relabelled = dataset_hashes(Dataset(queries[:1], documents))
    assert [first[name] == relabelled[name] for name in ("hash", "labels", "documents")] == [False, False, True]
    filtered = Query("q1", "where?", filter={"year": 2024})  # type: ignore[arg-type]
    assert labels_hash((filtered,)) != labels_hash(queries[:1])
    assert "documents" not in dataset_hashes(Dataset(queries))
