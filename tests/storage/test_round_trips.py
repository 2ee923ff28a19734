"""What is saved is loaded equal, whatever texts, numbers and metadata a system returns."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.running.evaluation import evaluate
from raglift.storage.saving import save_evaluation
from raglift.testing.fakes import FakeRetriever
from raglift.types.checking import has_words
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Annotator, Fact, Passage, Query
from raglift.types.rankings import Trace

_WORDS = st.text(alphabet=st.characters(), max_size=12)  # half characters too
_SOME = _WORDS.filter(has_words)
_PLACES = st.none() | st.integers(0, 10**18 - 1)
_PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=6,
)
_CHUNKS = st.builds(
    Chunk,
    _WORDS,
    _SOME,
    st.none() | _WORDS,
    _PLACES,
    _PLACES,
    st.dictionaries(_WORDS, _PLAIN, max_size=3),
)
_ANNOTATORS = st.none() | st.builds(Annotator, _SOME, _SOME, st.dates().map(str))
_PASSAGES = st.builds(Passage, _SOME, st.none() | _SOME, grade=st.integers(1, 1000), annotator=_ANNOTATORS) | st.builds(
    Passage, chunk_id=_SOME, annotator=_ANNOTATORS
)
_FACTS = st.lists(st.builds(Fact, st.lists(_PASSAGES, min_size=1, max_size=2).map(tuple)), max_size=2).map(tuple)
_QUERIES = st.lists(
    st.builds(
        Query,
        _SOME,
        _SOME,
        _FACTS,
        st.lists(_SOME, max_size=2).map(tuple),
        judged_irrelevant=st.lists(_PASSAGES.map(lambda passage: replace(passage, grade=0)), max_size=1).map(tuple),
        annotator=_ANNOTATORS,
    ),
    min_size=1,
    max_size=3,
    unique_by=(lambda query: query.id, lambda query: query.text),
)
_HITS = st.lists(st.tuples(_CHUNKS, st.none() | st.floats()), max_size=4)


def _evaluated(queries: list[Query], hits: list[Any]) -> Evaluation:
    found = {query.text: hits[number:] for number, query in enumerate(queries)}
    return evaluate(FakeRetriever(found), Dataset(tuple(queries)), ks=(1, 3))


def _told(trace: Trace) -> object:
    """Return all of a trace; NaN is not equal to itself, but looks like itself."""
    stages = [
        (done.stage, repr(done.seconds), [(hit.chunk, hit.rank, repr(hit.score)) for hit in done.ranking])
        for done in trace.stages
    ]
    return trace.query_id, stages, trace.error


@pytest.mark.slow
@settings(max_examples=15)
@given(_QUERIES, _HITS)
def test_what_is_saved_is_loaded_equal(queries: list[Query], hits: list[Any]) -> None:
    evaluation = _evaluated(queries, hits)
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_evaluation(save_evaluation(evaluation, Path(folder) / "run"))
    assert loaded.dataset.queries == evaluation.dataset.queries
    assert [*map(_told, loaded.run.traces)] == [*map(_told, evaluation.run.traces)]
    assert repr(loaded.run.cost) == repr(evaluation.run.cost)
    assert loaded.scores.values.tobytes() == evaluation.scores.values.tobytes()
    assert (loaded.scores.metrics, loaded.scores.stages) == (evaluation.scores.metrics, evaluation.scores.stages)
    assert (loaded.notes, loaded.profile) == (evaluation.notes, evaluation.profile)
