"""Quepid's ratings and Elasticsearch's `rank_eval` requests: documents rated for a question, by their ids."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from raglift.base.strict_files import parse_text, read_text
from raglift.base.validation import Location, nearest, quoted, shown
from raglift.datasets.documents import read_documents
from raglift.datasets.formats.capabilities import Capabilities
from raglift.datasets.formats.judged_documents import Judgments, Topic, judged_document, judged_documents, read_grade
from raglift.datasets.formats.records import csv_records, field_at, named_path
from raglift.errors import ConfigurationError
from raglift.records.parsing import read_id, read_string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from raglift.datasets.documents import DocumentSource
    from raglift.errors import Fault
    from raglift.records.dataset import Dataset
    from raglift.records.documents import Document
    from raglift.records.labels import Query


_DEEPEST = 30

QUEPID = Capabilities(
    title="Quepid",
    holds=lambda passage, documents: judged_document(passage, documents) is not None,
    form="a whole document, or without documents a chunk id",
    grades=True,
    irrelevant=True,
    once=True,
    ids=False,
)
RANK_EVAL = Capabilities(
    title="rank_eval",
    holds=lambda passage, documents: judged_document(passage, documents) is not None,
    form="a whole document, or without documents a chunk id",
    grades=True,
    irrelevant=True,
    once=True,
)


def read_quepid(
    path: Path, faults: list[Fault], *, documents: DocumentSource = None
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries of a case that Quepid exported: `query,docid,rating` as CSV, or JSON with ratings by id.

    A document with a rating of 1 or more is a fact, and its rating the grade; one with 0 is judged irrelevant; one
    without a rating is not judged. The queries are q1, q2, ….

    Args:
        path: the file: `.csv`, else JSON.
        faults: where what is wrong is noted.
        documents: the rated documents; without them the labels are ids.
    """
    location = Location(path.name, faults)
    given = read_documents(documents)
    judged = Judgments()
    topics: dict[str, Topic] = {}
    for here, question, rated in _quepid_rows(path, location):
        text = read_string(question, here / "query")
        if text is None:
            continue
        topic = topics.setdefault(text, Topic(here, f"q{len(topics) + 1}", text))
        for there, doc_id, rating in rated:
            _add(judged, topic.id, doc_id, rating, there)
    by_id = {document.id: document for document in given}
    queries = judged.to_queries(topics.values(), by_id, topics_name=path.name, documents_name="the documents")
    return queries, given


_Rated = list[tuple[Location, Any, Any]]


def _quepid_rows(path: Path, location: Location) -> Iterator[tuple[Location, Any, _Rated]]:
    text = read_text(path, location)
    if text is None:
        return
    if path.suffix.lower() == ".csv":
        for here, row in csv_records(text, location):
            # Quepid has rows of a question alone, and in a snapshot of documents that nobody has rated
            is_rated = "rating" in row
            yield here, row.get("query"), [(here, row.get("docid"), row["rating"])] if is_rated else []
        return
    entry = parse_text(text, location)
    if entry is None:
        return
    if not isinstance(entry.get("queries"), list):
        location.fault(shown(entry), "a list queries, as Quepid exports a case or its ratings")
        return
    for index, query in enumerate(entry["queries"]):
        here = location / "queries" / index
        if not isinstance(query, dict):
            here.fault(shown(query), "an object")
            continue
        ratings = query.get("ratings") or {}
        if not isinstance(ratings, dict):
            (here / "ratings").fault(shown(ratings), "an object with a rating for each id")
            continue
        rated = [
            (here / "ratings" / quoted(doc_id), doc_id, rating)
            for doc_id, rating in ratings.items()
            if rating is not None
        ]
        yield here, query.get("query_text", query.get("query")), rated


def _add(judged: Judgments, query_id: str, doc_id: Any, rating: Any, location: Location) -> None:
    name = read_id(doc_id, location / "docid") if not isinstance(doc_id, str) else doc_id
    whole = int(rating) if isinstance(rating, float) and rating.is_integer() else rating
    if isinstance(whole, bool) or not isinstance(whole, (int, str)):
        (location / "rating").fault(shown(rating), "an integer: how relevant the document is")
        return
    grade = read_grade(str(whole).strip().removesuffix(".0"), location / "rating")
    if name is not None and grade is not None:
        judged.add(query_id, name, grade, location)


def write_quepid(dataset: Dataset, path: Path) -> None:
    """Write the ratings as JSON, as Quepid exports them.

    Args:
        dataset: what fits `QUEPID`.
        path: the file.
    """
    queries = [
        {"query": query.text, "ratings": dict(judged_documents(query, dataset.document_by_id))}
        for query in dataset.queries
    ]
    _write(path, {"queries": queries})


def read_rank_eval(
    path: Path,
    faults: list[Fault],
    *,
    documents: DocumentSource = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries of a request to the ranking evaluation of Elasticsearch or OpenSearch.

    A document with a rating of 1 or more is a fact, and its rating the grade; one with 0 is judged irrelevant. The
    question is the one text that a request searches for, in its `params` or its `query`. Documents of one index are
    called by their `_id`; those of several by index and id, as `shop/7`.

    Args:
        path: the JSON file: the body of the request.
        faults: where what is wrong is noted.
        documents: the rated documents; without them the labels are ids.
        columns: the path of the question where it is not the only text, as `{"query": "params.query_string"}`.

    Raises:
        ConfigurationError: `columns` names something else.
    """
    for name, given in (columns or {}).items():
        if name != "query" or not isinstance(given, str):
            raise ConfigurationError(f"columns: found {name!r}: {given!r}; expected {nearest(name, ('query',))}")
    location = Location(path.name, faults)
    known = read_documents(documents)
    text = read_text(path, location)
    entry = None if text is None else parse_text(text, location)
    requests = None if entry is None else entry.get("requests")
    if not isinstance(requests, list):
        if entry is not None:
            location.fault(shown(entry), "a list requests, as the body of a _rank_eval request has it")
        return (), known
    asked = [(location / "requests" / index, request) for index, request in enumerate(requests)]
    one_index = len(set(_indices(requests))) <= 1
    judged, topics = Judgments(), []
    for here, request in asked:
        if not isinstance(request, dict):
            here.fault(shown(request), "an object")
            continue
        query_id = read_id(request.get("id"), here / "id")
        question = _question(request, here, str((columns or {}).get("query") or ""))
        if query_id is None or question is None:
            continue
        topics.append(Topic(here, query_id, question))
        _read_ratings(request.get("ratings"), here / "ratings", query_id, judged, one_index=one_index)
    by_id = {document.id: document for document in known}
    return judged.to_queries(topics, by_id, topics_name=path.name, documents_name="the documents"), known


def _indices(requests: list[Any]) -> Iterator[str]:
    for request in requests:
        ratings = request.get("ratings") if isinstance(request, dict) else None
        for rating in ratings if isinstance(ratings, list) else ():
            if isinstance(rating, dict):
                yield str(rating.get("_index"))


def _read_ratings(value: Any, location: Location, query_id: str, judged: Judgments, *, one_index: bool) -> None:
    if not isinstance(value, list):
        location.fault(shown(value), "a list of ratings, which may be empty")
        return
    for index, rating in enumerate(value):
        here = location / index
        if not isinstance(rating, dict):
            here.fault(shown(rating), "an object with _index, _id and rating")
            continue
        doc_id = read_id(rating.get("_id"), here / "_id")
        if doc_id is None:
            continue
        name = doc_id if one_index else f"{rating.get('_index')}/{doc_id}"
        _add(judged, query_id, name, rating.get("rating"), here)


def _question(request: Mapping[str, Any], here: Location, path: str) -> str | None:
    if path:
        found = field_at(request, path, here)
        if found is None:
            here.fault(f"no {path}", "the question at that path in every request")
            return None
        return read_string(*found)
    params, body = request.get("params"), request.get("request")
    inner = body.get("query") if isinstance(body, dict) else None
    candidates = list(params.values()) if isinstance(params, dict) else list(_searched(inner))
    texts = list(dict.fromkeys(each for each in candidates if isinstance(each, str)))
    if len(texts) == 1:
        return read_string(texts[0], here / ("params" if isinstance(params, dict) else "request"))
    found_texts = (
        "no text that is searched for" if not texts else f"{len(texts)} texts: {', '.join(map(quoted, texts[:4]))}"
    )
    here.fault(found_texts, f"one question; or its path named: {named_path('query', 'params.query_string')}")
    return None


_OF_A_FIELD = {"match", "match_phrase", "match_phrase_prefix", "match_bool_prefix"}
_WITH_QUERY = {"multi_match", "query_string", "simple_query_string", "combined_fields", "semantic"}


def _searched(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts that a query looks for: of full-text clauses, whatever wraps them, but not of filters."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for each in value:
            yield from _searched(each, depth + 1)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name in _OF_A_FIELD or name in _WITH_QUERY:
                yield from _texts_of_clause(name, inner)
            elif name not in ("filter", "must_not"):
                yield from _searched(inner, depth + 1)


def _texts_of_clause(name: str, clause: Any) -> Iterator[str]:
    fields = clause.values() if name in _OF_A_FIELD and isinstance(clause, dict) else [clause]
    for each in fields:
        text = each.get("query") if isinstance(each, dict) else each
        if isinstance(text, str):
            yield text


def write_rank_eval(dataset: Dataset, path: Path) -> None:
    """Write the body of a request: each question as a `match` on the field `text`, of the index `documents`.

    Args:
        dataset: what fits `RANK_EVAL`.
        path: the file.
    """
    requests = [
        {
            "id": query.id,
            "request": {"query": {"match": {"text": {"query": query.text}}}},
            "ratings": [
                {"_index": "documents", "_id": doc_id, "rating": grade}
                for doc_id, grade in judged_documents(query, dataset.document_by_id)
            ],
        }
        for query in dataset.queries
    ]
    _write(path, {"requests": requests, "metric": {"recall": {"k": 10, "relevant_rating_threshold": 1}}})


def _write(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")
