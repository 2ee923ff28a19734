"""benchmarks/indexes.py: its table over few chunks, and the filter that is applied too late."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from raglift.components import build_index

BOOK = Path(os.environ.get("RAGLIFT_CORPORA", "corpora")) / "war_and_peace" / "2600-0.txt"
CHUNKS = 1_200


@pytest.fixture(scope="module")
def indexes(script):
    return script("indexes")


@pytest.mark.slow
@pytest.mark.skipif(not BOOK.is_file(), reason="the text of War and Peace is not here")
@pytest.mark.filterwarnings("ignore:.langchain-community. is being sunset:DeprecationWarning")
def test_the_table_and_the_filter_on_few_chunks(indexes) -> None:
    import raglift as rl
    from raglift.adapters import embedder_by_name

    book = rl.load_dataset(indexes.CORPUS)
    chunks = indexes.chunks_of(book, CHUNKS)
    assert len({chunk.text for chunk in chunks}) == CHUNKS
    dense = build_index(chunks, embedder_by_name("minilm-static"), progress=False)
    rows = [
        indexes.row(indexes.measured(dense, book, index)).split()
        for index in (("flat", None), ("binary", None), ("ivf(nlist=20,nprobe=1)", None), ("flat", "pca(64)"))
    ]
    flat, binary, ivf, pca = rows
    assert flat[1] == flat[3]
    assert flat[4:6] == ["0", "0"]
    assert binary[4] == "0"  # an exhaustive search loses nothing by the index
    assert int(ivf[4]) > 0
    assert pca[5] == "0"
    asked = indexes.filtered(book, dense.chunks)
    assert asked.queries
    store = indexes.store_of(dense)
    found = {}
    for fetched in (20, CHUNKS):
        retriever = store.as_retriever(search_kwargs={"k": 10, "fetch_k": fetched})
        evaluation = rl.evaluate(retriever, asked, exact=True, match="coverage", ks=(10,), progress=False)
        found[fetched] = [note for note in evaluation.notes if "under-returns" in note]
    assert found[20]
    assert not found[CHUNKS]
