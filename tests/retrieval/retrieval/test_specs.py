from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import ConfigurationError
from raglift.retrieval.analyzers import LANGUAGES, STEMMERS
from raglift.retrieval.bm25 import BM25Settings
from raglift.retrieval.retrievers import RETRIEVERS, RetrieverSpec, parse_retriever

WEIGHTS = st.floats(0, exclude_min=True, allow_infinity=False)
SETTINGS = st.builds(
    BM25Settings,
    st.sampled_from(LANGUAGES) | st.none(),
    st.sampled_from(STEMMERS) | st.none(),
    st.floats(0, allow_infinity=False),
    st.floats(0, 1),
)
HYBRIDS = st.builds(RetrieverSpec, st.just("hybrid"), st.tuples(WEIGHTS, WEIGHTS), st.integers(0, 10**12), SETTINGS)
BM25S = st.builds(RetrieverSpec, st.just("bm25"), bm25=SETTINGS)
PORTER = RetrieverSpec("bm25", bm25=BM25Settings(stemmer="porter", k1=0.9, b=0.4))


@given(HYBRIDS | BM25S | st.sampled_from(RETRIEVERS).map(RetrieverSpec))
def test_a_retriever_is_read_back_from_its_text(spec: RetrieverSpec) -> None:
    assert parse_retriever(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "spec", "shown"),
    [
        ("dense", RetrieverSpec(), "dense"),
        ("hybrid(dense=1, bm25=1)", RetrieverSpec("hybrid"), "hybrid"),
        ("hybrid (bm25=0.30)", RetrieverSpec("hybrid", (1, 0.3)), "hybrid(dense=1,bm25=0.3)"),
        ("bm25(k1 = 0.90, b=0.4, stemmer=porter)", PORTER, "bm25(stemmer=porter,k1=0.9,b=0.4)"),
        ("bm25(language=zh)", RetrieverSpec("bm25", bm25=BM25Settings("zh")), "bm25(language=zh)"),
        (
            "hybrid(dense=0.7,language=de)",
            RetrieverSpec("hybrid", (0.7, 1), bm25=BM25Settings("de")),
            "hybrid(dense=0.7,bm25=1,language=de)",
        ),
        ("hybrid(constant=10)", RetrieverSpec("hybrid", constant=10), "hybrid(constant=10)"),
    ],
)
def test_the_text_form(text: str, spec: RetrieverSpec, shown: str) -> None:
    assert parse_retriever(text) == spec
    assert str(spec) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dens", "found 'dens'; expected one of .*nearest: \"dense\""),
        ("hybrid(dense=0.7", r"found 'hybrid\(dense=0.7'; expected dense, bm25, hybrid, bm25 with settings, as bm25"),
        ("hybrid(lexical=1)", "found the setting 'lexical=1'"),
        ("hybrid(dense=1,dense=2)", "found the setting 'dense=2'; .* each setting once"),
        ("hybrid(dense=0)", r"found \(0.0, 1.0\); expected 2 numbers above 0"),
        ("hybrid(constant=1.5)", "fusion constant: found 1.5"),
        ("bm25(language=german)", r"bm25 language: found 'german' \(did you mean 'de'\?\); expected one of ar, bo, "),
        ("bm25(k1=much)", "found the setting 'k1=much'"),
        ("bm25(k1=-1)", "bm25 k1: found -1"),
        ("hybrid(b=1.5)", "bm25 b: found 1.5; expected a number from 0 to 1"),
        ("dense(language=de)", "found language for 'dense'; expected settings of BM25 with 'bm25' or 'hybrid' alone"),
        ("dense(dense=2)", "found weights for 'dense'; expected them with 'hybrid' alone"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_retriever(text)
