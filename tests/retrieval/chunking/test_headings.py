"""Contextual headers: what stands above a chunk is indexed with it, and changes nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raglift.adapters.splitters import chunker_by_name
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.headings import ContextualChunker, headings_of
from raglift.types.documents import Chunk, Document

TEXT = """# Shop

Intro.

## Returns

Within 30 days.

```
# no heading
```

### By *post*

Wrap it.

Under a line
---

## Deliveries

Two days.
"""


def contexts(text: str, chunker: str = "recursive:20/0", **metadata: str) -> dict[str, str]:
    chunks = chunker_by_name(f"{chunker}+headings").split([Document("d", text, metadata)])
    return {chunk.text: chunk.context for chunk in chunks}


def test_the_path_of_headings_above_a_chunk_is_its_context() -> None:
    found = contexts(TEXT, "recursive:32/0")
    assert found["# Shop\n\nIntro.\n\n## Returns"] == ""
    assert found["Within 30 days."] == "Shop > Returns"
    assert found["### By *post*\n\nWrap it."] == "Shop > Returns"
    assert found["Under a line\n---"] == "Shop > Returns > By *post*"
    assert found["## Deliveries\n\nTwo days."] == "Shop"


def test_code_and_lines_of_dashes_are_no_headings() -> None:
    assert [heading.text for heading in headings_of(TEXT)] == ["Shop", "Returns", "By *post*", "Deliveries"]
    assert all(TEXT.startswith("#" * heading.level + " ", heading.start) for heading in headings_of(TEXT))


def test_the_title_comes_first_and_once() -> None:
    assert contexts(TEXT, "recursive:32/0", title="Help")["Within 30 days."] == "Help > Shop > Returns"
    assert contexts(TEXT, "recursive:32/0", title="Shop")["Within 30 days."] == "Shop > Returns"
    assert contexts("Help me please.", "recursive:50/0", title="Help") == {"Help me please.": ""}


def test_a_chunk_is_the_same_but_for_what_is_indexed() -> None:
    documents = [Document("d", TEXT)]
    plain, headed = (chunker_by_name(name).split(documents) for name in ("recursive:20/0", "recursive:20/0+headings"))
    assert plain == headed
    assert [chunk.id for chunk in plain] == [chunk.id for chunk in headed]
    assert {chunk.indexed_text for chunk in headed} > {"Shop > Returns\n\nWithin 30 days."}


@pytest.mark.slow
def test_bm25_finds_a_chunk_by_its_heading_and_shows_its_own_text() -> None:
    chunks = [Chunk("Within 30 days.", id="a"), Chunk("Within two days.", id="b")]
    (ranking,) = BM25Retriever(chunks, language="en").retrieve(["returns"], 2)
    assert ranking.hits == ()
    headed = [replace(chunks[0], context="Returns"), chunks[1]]
    (ranking,) = BM25Retriever(headed, language="en").retrieve(["returns"], 2)
    assert [hit.chunk.text for hit in ranking] == ["Within 30 days."]


def test_chunks_without_a_place_stand_under_the_title_alone() -> None:
    class Rewriting:
        def split(self, documents: list[Document]) -> tuple[Chunk, ...]:
            return tuple(Chunk("WITHIN 30 DAYS.", doc_id=document.id) for document in documents)

    (chunk,) = ContextualChunker(Rewriting()).split([Document("d", TEXT, {"title": "Help"})])
    assert chunk.context == "Help"
