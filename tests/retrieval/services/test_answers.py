"""Answers of many shapes: as the mapping says, else by the names that services use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import ServiceUnusable
from raglift.retrieval.services.answers import AnswerReader
from raglift.retrieval.services.mapping import ResponseFields, mapping_of
from raglift.utilities.display import Secrets

SECRET = "hush-hush-4711"  # noqa: S105 — a password that nobody has

ELASTICSEARCH = {
    "took": 5,
    "hits": {
        "total": {"value": 1},
        "hits": [
            {"_index": "a", "_id": "c1", "_score": 1.5, "_source": {"text": "The lamp.", "doc_id": "d", "page": 3}}
        ],
    },
}
QDRANT = {
    "result": {"points": [{"id": 7, "score": 0.9, "payload": {"content": "The lamp.", "doc_id": "d"}}]},
    "status": "ok",
}
VESPA = {"root": {"id": "toplevel", "children": [{"id": "c1", "relevance": 0.3, "fields": {"body": "The lamp."}}]}}
SOLR = {"responseHeader": {}, "response": {"numFound": 1, "docs": [{"id": "c1", "text": ["The lamp."]}]}}
AZURE = {"value": [{"@search.score": 2.0, "chunk_id": "c1", "chunk": "The lamp."}]}
PINECONE = {"matches": [{"id": "c1", "score": 0.5, "metadata": {"text": "The lamp."}}]}
CHROMA = {"documents": [["The lamp."]], "ids": [["c1"]]}
LANGCHAIN = [{"page_content": "The lamp.", "metadata": {"start_index": 0, "doc_id": "d"}}]


def read(answer: object, **paths: object) -> list:
    return AnswerReader(mapping_of({"response": paths}).response).read(answer)


@pytest.mark.parametrize(
    ("answer", "identity", "score", "doc_id"),
    [
        (ELASTICSEARCH, "c1", 1.5, "d"),
        (QDRANT, "7", 0.9, "d"),
        (VESPA, "c1", 0.3, None),
        (SOLR, "c1", None, None),
        (AZURE, "c1", 2.0, None),
        (PINECONE, "c1", 0.5, None),
        (CHROMA, "", None, None),
        (LANGCHAIN, "", None, "d"),
        (["The lamp."], "", None, None),
        ({"results": ["The lamp."]}, "", None, None),
    ],
)
def test_usual_answers_need_no_mapping(answer: object, identity: str, score: float | None, doc_id: str | None) -> None:
    ((chunk, found),) = read(answer)
    assert chunk.text == "The lamp."
    assert (found, chunk.doc_id) == (score, doc_id)
    assert chunk.id.startswith(identity)


def test_paths_lead_through_lists_and_names_with_dots() -> None:
    answer = {"a": [{}, {"rows": [{"x.y": {"t": "The lamp."}, "m": {"n": 1}, "s": "0.25"}]}]}
    ((chunk, score),) = read(answer, hits="a.1.rows", text=["x.y", "t"], metadata="m", score="s")
    assert (chunk.text, dict(chunk.metadata), score) == ("The lamp.", {"n": 1}, 0.25)


def test_a_field_that_some_hits_leave_out_is_unknown_there_and_one_that_all_do_is_an_error() -> None:
    rows = {"results": [{"text": "a", "from": 3}, {"text": "b"}]}
    assert [chunk.start for chunk, _ in read(rows, start="from")] == [3, None]
    with pytest.raises(ServiceUnusable, match="no hit has doc_id: source"):
        read(rows, doc_id="source")


@pytest.mark.parametrize(
    ("answer", "paths", "said"),
    [
        ({"rows_": [{"id": 1, "words": "The lamp."}]}, {}, "no list of hits"),
        ({"a": {"b": []}}, {"hits": "a.c"}, "nothing at hits: a.c"),
        ({"results": [{"text": "a"}, {"text": 3}]}, {"text": "text"}, "hit 2 has a number for text: text"),
        ({"results": [{"text": "a"}, {"words": "b"}]}, {}, "hit 2 has nothing for text"),
        ({"results": [{"text": "a", "n": {}}]}, {"id": "n"}, "hit 1 has a mapping for id"),
        ({"results": [{"text": "a", "n": "high"}]}, {"score": "n"}, "hit 1 has a text for score"),
        ({"results": [{"text": "a", "n": "inf"}]}, {"score": "n"}, "hit 1 has a text for score"),
        ({"results": [{"text": "a", "n": 10**18}]}, {"start": "n"}, "hit 1 has a number for start"),
        ({"results": [{"text": "a", "n": "b"}]}, {"metadata": "n"}, "a text at metadata: n"),
        ({"a": {"b": {"c": {"d": {"e": {"f": 1}, "g": [2]}}}}}, {}, '{"d": {"e": {…}, "g": […]}}'),
        ({"results": [{"id": "lamp.md#3"}]}, {}, "let the service return them"),
        (
            {"ok": False, "error": {"message": "shard 3 is offline"}},
            {},
            'found {"ok": false, "error": {"message": "shard',
        ),
        ({"message": f"bad\x1b[31m key {SECRET}"}, {}, '"bad\\u001b[31m key ***"'),
    ],
)
def test_another_shape_is_shown(answer: object, paths: dict[str, str], said: str) -> None:
    with pytest.raises(ServiceUnusable, match="JSON of another shape") as raised:
        AnswerReader(mapping_of({"response": paths}).response, Secrets([SECRET])).read(answer)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("hit", "doc_id"),
    [
        ({"text": "a", "page": "lamp.md", "doc_id": 3}, "lamp.md"),
        ({"text": "a", "payload": {"page": 7}}, "7"),
        ({"text": "a", "doc_id": "lamp.md"}, None),
        ("a", None),
    ],
)
def test_a_key_that_is_given_holds_the_document(hit: object, doc_id: str | None) -> None:
    ((chunk, _),) = AnswerReader(ResponseFields(), doc_key="page").read([hit])
    assert chunk.doc_id == doc_id
    if isinstance(hit, dict) and "doc_id" in hit:
        ((chunk, _),) = AnswerReader(mapping_of({"response": {"doc_id": "doc_id"}}).response, doc_key="page").read(
            [hit]
        )
        assert chunk.doc_id == str(hit["doc_id"]), "a path says more than a key"


@pytest.mark.parametrize(
    ("answer", "paths", "found"),
    [
        ({"data": {"rows": None}}, {"hits": "data.rows"}, []),
        (["The lamp."], {"hits": ".", "text": "."}, [("The lamp.", None)]),
        ([{"text": "The lamp.", "score": "high"}], {}, [("The lamp.", None)]),
        ([{"text": "The lamp.", "score": "high", "rank": 2}], {"score": "rank"}, [("The lamp.", 2.0)]),
    ],
)
def test_hits_and_scores_as_some_services_write_them(answer: object, paths: dict[str, str], found: list) -> None:
    assert [(chunk.text, score) for chunk, score in read(answer, **paths)] == found


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["results", "hits", "text", "id", "score", "metadata", "_source"]), inner)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(answer=json_values)
def test_any_json_is_read_or_refused_in_words(answer: object) -> None:
    try:
        found = read(answer)
    except ServiceUnusable as refused:
        found = []
        said = str(refused)
    else:
        said = "read"
    assert 0 < len(said) < 2_000
    assert all(isinstance(chunk.text, str) for chunk, _ in found)
