"""Vector indexes and dimensions as text: what is read back as it was written, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.components.index_notation import (
    Dimensions,
    IndexSpec,
    as_index,
    parse_dimensions,
    parse_index,
    split_settings,
)
from raglift.components.retrievers import RetrieverSpec, parse_retriever
from raglift.errors import ConfigurationError


@pytest.mark.parametrize(
    ("written", "shortest"),
    [
        ("flat", "flat"),
        ("HNSW", "hnsw"),
        ("hnsw(M=32,ef=64)", "hnsw"),
        ("hnsw( ef = 128 , M=16 )", "hnsw(M=16,ef=128)"),
        ("ivf(nlist=100)", "ivf(nlist=100)"),
        ("int8", "int8"),
        ("binary+rescore(factor=10)", "binary+rescore(factor=10)"),
        ("pq(m=96,bits=8)", "pq(m=96)"),
        ('faiss("IVF1024,PQ32")', 'faiss("IVF1024,PQ32")'),
        ("faiss('OPQ32,IVF64,PQ32', nprobe=4)", 'faiss("OPQ32,IVF64,PQ32",nprobe=4)'),
    ],
)
def test_an_index_is_read_and_written_in_its_shortest_form(written: str, shortest: str) -> None:
    spec = parse_index(written)
    assert str(spec) == shortest
    assert parse_index(shortest) == spec == as_index(written)


@given(m=st.integers(2, 500), ef=st.integers(1, 5000), construction=st.integers(1, 5000))
def test_every_setting_comes_back(m: int, ef: int, construction: int) -> None:
    spec = IndexSpec("hnsw", (("M", m), ("ef", ef), ("construction", construction)))
    assert parse_index(str(spec)) == spec
    assert (spec["M"], spec["ef"], spec["construction"]) == (m, ef, construction)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hnws", "did you mean 'hnsw'?"),
        ("hnsw(k=3)", "expected one of M, ef, construction"),
        ("hnsw(M=0)", "M=0; expected an integer from 2"),
        ("hnsw(ef=-5)", "ef=-5; expected an integer from 1"),
        ("hnsw(ef=1.5)", "ef='1.5'; expected an integer"),
        ("hnsw(M=8,M=9)", "each setting once"),
        ("ivf(1024)", "found the setting '1024'"),
        ("flat(M=3)", "flat has no settings"),
        ("pq(bits=14)", "from 1 to 12"),
        ("faiss", "no factory string"),
        ('faiss("")', "found the factory string ''"),
        ('hnsw("IVF8")', "found the setting"),
        ("", "expected flat, hnsw"),
        ("flat)", "expected flat, hnsw"),
    ],
)
def test_what_is_no_index_is_refused(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^index") as caught:
        parse_index(text)
    assert told in str(caught.value)


def test_an_index_that_is_no_text_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="index: found a int"):
        as_index(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (128, Dimensions(128)),
        ("128", Dimensions(128)),
        ("pca(64)", Dimensions(64, pca=True)),
        ("PCA( 64 )", Dimensions(64, pca=True)),
        ("all", Dimensions(None)),
    ],
)
def test_dimensions_are_read_from_numbers_and_texts(written: object, read: Dimensions) -> None:
    assert parse_dimensions(written) == read == parse_dimensions(str(read))


@pytest.mark.parametrize("wrong", [0, -3, "0", "-3", "pca(0)", "pca", "half", True, 1.5, None, [128]])
def test_what_are_no_dimensions_is_refused(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^dimensions: found"):
        parse_dimensions(wrong)


def test_settings_are_divided_outside_parentheses_and_quotation_marks_alone() -> None:
    assert list(split_settings('index=faiss("IVF8,PQ4",nprobe=2), dimensions=pca(8),,')) == [
        'index=faiss("IVF8,PQ4",nprobe=2)',
        "dimensions=pca(8)",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "dense(index=int8)",
        "dense(index=hnsw(M=16,ef=32),dimensions=pca(64))",
        "hybrid(dense=0.7,bm25=0.3,language=de,index=binary+rescore,dimensions=128)",
        'dense(index=faiss("IVF64,SQ8",nprobe=2))',
    ],
)
def test_retrievers_name_their_index_and_dimensions(text: str) -> None:
    spec = parse_retriever(text)
    assert str(spec) == text
    assert spec.index is not None
    assert spec.searching(None, None) == parse_retriever(text).searching(None, None)


def test_the_dense_part_of_a_hybrid_has_its_index() -> None:
    dense, bm25 = parse_retriever("hybrid(index=int8,dimensions=64)").parts
    assert (dense, bm25) == (RetrieverSpec("dense", index=IndexSpec("int8"), dimensions=Dimensions(64)), bm25)
    assert bm25 == RetrieverSpec("bm25")


@pytest.mark.parametrize("text", ["bm25(index=flat)", "bm25(dimensions=64)"])
def test_bm25_has_no_index_of_vectors(text: str) -> None:
    with pytest.raises(ConfigurationError, match="for 'bm25', which embeds nothing"):
        parse_retriever(text)
