"""What a run remembers of its dataset."""

import hashlib

import pytest

from raglift.running.spec import dataset_hash
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Query


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_hash_of_a_dataset_is_that_of_its_documents_and_queries_written_out(count: int) -> None:
    queries = tuple(Query(f"q{number}", "where is \ud800?", tags=("easy",)) for number in range(count))
    dataset = Dataset(queries, (Document("a", "text"),))
    written = b"a\x00text\x00" + repr(queries).encode("utf-8", "surrogatepass")
    assert dataset_hash(dataset) == hashlib.sha256(written).hexdigest()[:16]
