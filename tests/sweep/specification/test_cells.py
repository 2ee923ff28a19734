from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import ConfigurationError
from raglift.retrieval.retrievers import RetrieverSpec
from raglift.sweep.specification.cells import PARTS, Cell, Exclusion, grid

DENSE, BM25, HYBRID = (RetrieverSpec(kind) for kind in ("dense", "bm25", "hybrid"))
NAMES = st.text(min_size=1, max_size=80)
OWN = st.builds(Cell, NAMES, NAMES, st.sampled_from([DENSE, HYBRID]), NAMES)
LEXICAL = st.builds(Cell, NAMES, st.none(), st.just(BM25), NAMES)
CELLS = OWN | LEXICAL | st.builds(Cell, reranker=NAMES, system=NAMES)


def test_a_cell_is_named_by_its_parts() -> None:
    assert Cell("recursive:1000/100", "bge-small", DENSE, "late-interaction").name == (
        "recursive:1000/100 · bge-small · dense · late-interaction"
    )
    assert Cell("recursive:1000/100", None, BM25).name == "recursive:1000/100 · bm25 · none"
    assert Cell(system="my_rag:retriever").name == str(Cell(system="my_rag:retriever")) == "my_rag:retriever · none"


def test_the_key_of_a_cell_never_changes() -> None:
    # folders of sweeps that were begun are found again by it
    assert Cell("recursive:1000/100", "bge-small", DENSE).key == "recursive-1000-100-bge-small-dense-none-6dd4e596"
    assert Cell(system="Ünïcode ../..").key.startswith("n-code-none-")


@pytest.mark.slow
@given(CELLS, CELLS)
def test_keys_are_safe_names_of_folders_and_tell_cells_apart(one: Cell, other: Cell) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{8,80}", one.key)
    assert (one.key == other.key) == (one == other)


def test_a_retriever_without_an_embedding_model_has_one_cell() -> None:
    cells = grid(["recursive:10/0", "token:10/0"], ["bge-small", "minilm"], [DENSE, BM25], ["none"])
    assert [cell.name for cell in cells] == [
        "recursive:10/0 · bge-small · dense · none",
        "recursive:10/0 · bm25 · none",
        "recursive:10/0 · minilm · dense · none",
        "token:10/0 · bge-small · dense · none",
        "token:10/0 · bm25 · none",
        "token:10/0 · minilm · dense · none",
    ]
    assert grid(["recursive:10/0"], [], [BM25], ["none"]) == [Cell("recursive:10/0", None, BM25)]


def test_an_exclusion_leaves_out_what_matches_in_every_part_that_it_names() -> None:
    cells = grid(["a", "b"], ["bge-small", "minilm"], [DENSE, BM25], ["none", "late-interaction"])
    exclusion = Exclusion(chunker=("a", "c"), embedding=("minilm",), reranker=("late-interaction",))
    assert [cell.name for cell in cells if exclusion.matches(cell)] == ["a · minilm · dense · late-interaction"]
    assert [cell for cell in cells if Exclusion(retriever=(BM25, HYBRID)).matches(cell)] == [
        cell for cell in cells if cell.embedding is None
    ]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "expected a chunker and a retriever, or a system"),
        ({"chunker": "a", "retriever": BM25, "system": "s"}, "expected a chunker and a retriever, or a system"),
        ({"chunker": "a", "retriever": DENSE}, "found no embedding with dense; expected one"),
        ({"chunker": "a", "retriever": BM25, "embedding": "m"}, "found the embedding 'm' with bm25; expected none"),
    ],
)
def test_a_cell_that_cannot_be_is_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Cell(**parts)


@pytest.mark.slow
@given(CELLS)
def test_the_parts_of_a_cell_as_texts(cell: Cell) -> None:
    assert cell.to_dict() == {part: str(getattr(cell, part)) for part in PARTS if getattr(cell, part) is not None}
