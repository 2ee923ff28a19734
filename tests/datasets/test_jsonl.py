from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from raglift.datasets.jsonl import read_queries
from raglift.errors import DatasetError, Fault
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = (
    Document("tides.md", "High water is at noon.\nLow water is at six.\nHigh water again\nat midnight."),
    Document("winds.md", "The wind is from the west."),
)


def write(folder: Path, *lines: str | bytes, end: bytes = b"\n") -> Path:
    path = folder / "queries.jsonl"
    path.write_bytes(end.join(line if isinstance(line, bytes) else line.encode() for line in lines) + end)
    return path


def faults_of(path: Path, documents: tuple[Document, ...] = DOCUMENTS) -> tuple[Fault, ...]:
    with pytest.raises(DatasetError) as caught:
        read_queries(path, documents)
    assert str(path) in str(caught.value)
    assert "nothing was loaded" in str(caught.value)
    return caught.value.faults


def line(**fields: object) -> str:
    return json.dumps({"id": "q", "query": "When?", **fields}, ensure_ascii=False)


def relevant(passage: object) -> str:
    return line(relevant=[passage])


def test_every_form_of_a_label(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        json.dumps(
            {
                "id": "tides",
                "query": "When is high water?",
                "tags": ["easy", "sea"],
                "relevant": [
                    "a literal text",
                    {"text": "another", "grade": 2},
                    {"text": "at noon", "doc": "tides.md"},
                    {"doc": "winds.md", "start": 4, "end": 8, "grade": 3},
                    [{"doc": "tides.md", "from": "low water", "to": "AT SIX."}, {"chunk": "c7", "grade": 2}],
                ],
                "judged_irrelevant": ["no", {"text": "nor this", "grade": 0}],
            }
        ),
        json.dumps({"id": 7, "query": "Unlabelled?"}),
        json.dumps({"id": "none", "query": "Not there?", "answerable": False, "relevant": []}),
    )
    labelled, unlabelled, unanswerable = read_queries(path, DOCUMENTS)
    assert labelled == Query(
        "tides",
        "When is high water?",
        (
            Fact((Passage("a literal text"),)),
            Fact((Passage("another", grade=2),)),
            Fact((Passage("at noon", "tides.md"),)),
            Fact((Passage("wind", "winds.md", 4, 8, grade=3),)),
            Fact((Passage("Low water is at six.", "tides.md", 23, 43), Passage(chunk_id="c7", grade=2))),
        ),
        tags=("easy", "sea"),
        judged_irrelevant=(Passage("no", grade=0), Passage("nor this", grade=0)),
    )
    assert unlabelled == Query("7", "Unlabelled?")
    assert unanswerable == Query("none", "Not there?", answerable=False)


FAULTY = {
    # the object itself
    "no JSON": ('{"id": "q", "query": }', "column 22", '"}" (expecting value)', "one JSON object"),
    "huge integer": ('{"id": ' + "9" * 5000 + "}", "", "an integer of 5000 digits", "one that 64 bits hold"),
    "deep nesting": ("[" * 100_000, "", "nested too deeply", "alternatives"),
    # the fields of a query
    "typo": (line(relevent=["x"]), "relevent", 'unknown field "relevent"', 'nearest: "relevant"'),
    "id is blank": (line(id=" "), "id", 'an empty text " "', "white space"),
    "no query": ('{"id": "q"}', "query", "no such field", "'query'"),
    "relevant is a text": (line(relevant="x"), "relevant", '"x"', "a list of facts"),
    "answerable is a text": (line(answerable="no"), "answerable", '"no"', "true or false"),
    "passages for what has no answer": (
        line(answerable=False, relevant=["x"]),
        "answerable",
        "false, and passages in relevant",
        "only one of the two",
    ),
    "a grade of what is irrelevant": (
        line(judged_irrelevant=[{"text": "x", "grade": 2}]),
        "judged_irrelevant[0].grade",
        "2",
        "belongs into relevant",
    ),
    # who judged
    "annotator is a name": (line(annotator="gpt"), "annotator", '"gpt"', "an object with model, prompt, date"),
    "annotator has more": (line(annotator={"modell": "gpt"}), "annotator.modell", "an unknown field", "model"),
    # passages
    "nothing visible": (relevant("\u200b"), "relevant[0]", "a text without a visible character '\\u200b'", "words"),
    "passage with a typo": (relevant({"txt": "x"}), "relevant[0].txt", "an unknown field", '"text"'),
    "nested alternatives": (
        relevant(["x", ["y"]]),
        "relevant[0][1]",
        "a list within a list of alternatives",
        "a passage: a text, or an object",
    ),
    "no alternatives": (relevant([]), "relevant[0]", "an empty list", "at least one passage"),
    "mixed forms": (
        relevant({"text": "a", "chunk": "c"}),
        "relevant[0]",
        "an object with",
        "doc and from and to",
    ),
    "grade is zero": (relevant({"text": "a", "grade": 0}), "relevant[0].grade", "0", "judged_irrelevant"),
    # locations in documents
    "unknown document": (
        relevant({"doc": "tide.md", "from": "High", "to": "noon"}),
        "relevant[0].doc",
        'unknown document id "tide.md"',
        'nearest: "tides.md"',
    ),
    "from is twice": (
        relevant({"doc": "tides.md", "from": "high WATER", "to": "noon"}),
        "relevant[0].from",
        '"high WATER" 2 times in tides.md, at lines 1, 3',
        "exactly once",
    ),
    "span is too long": (
        relevant({"doc": "winds.md", "start": 3, "end": 27}),
        "relevant[0]",
        "3 to 27",
        "≤ 26",
    ),
    "from is a number": (relevant({"doc": "tides.md", "from": 1, "to": "noon"}), "relevant[0].from", "1", "a text"),
    "start is a text": (
        relevant({"doc": "winds.md", "start": "3", "end": 7}),
        "relevant[0].start",
        '"3"',
        "an integer: a character offset",
    ),
    "end has 19 digits": (
        relevant({"doc": "winds.md", "start": 3, "end": 10**18}),
        "relevant[0].end",
        "1000000000000000000",
        "an integer of at most 18 digits",
    ),
    "span holds no words": (
        relevant({"doc": "winds.md", "start": 3, "end": 4}),
        "relevant[0]",
        "no visible character from 3 to 4 of winds.md",
        "a span that holds words",
    ),
}


@pytest.mark.parametrize("faulty", FAULTY.values(), ids=FAULTY)
def test_a_malformed_line(tmp_path: Path, faulty: tuple[str, str, str, str]) -> None:
    text, field, found, expected = faulty
    path = write(tmp_path, '{"id": "fine", "query": "Fine?"}', text)
    (fault,) = faults_of(path)
    assert fault.where == f"queries.jsonl:2: {field}".removesuffix(": ")
    assert found in fault.found
    assert expected in fault.expected
    str(fault).encode()  # printable everywhere


def test_all_faults_are_reported_together(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '{"id": "a", "query": ""}',
        "{",
        '{"id": "b", "query": "Fine?"}',
        '{"id": "a", "query": "Again?", "relevant": [{"text": "x", "grade": 0}, {"text": ""}]}',
        '{"id": "b", "query": "Again?"}',
    )
    assert [fault.where for fault in faults_of(path)] == [
        "queries.jsonl:1: query",
        "queries.jsonl:2: column 2",
        "queries.jsonl:4: relevant[0].grade",
        "queries.jsonl:4: relevant[1].text",
        "queries.jsonl:4: id",
        "queries.jsonl:5: id",
    ]


def test_labels_without_documents_are_one_fault(tmp_path: Path) -> None:
    anchor = {"doc": "tides.md", "from": "Low", "to": "six"}
    span = {"doc": "tides.md", "start": 0, "end": 4}
    path = write(tmp_path, line(id="a"), line(id="b", relevant=["x", anchor]), line(id="c", relevant=[[span, anchor]]))
    (fault,) = faults_of(path, documents=())
    assert fault.where == "queries.jsonl:2: relevant[1]"
    assert fault.found.startswith("no documents for 3 labels")
    assert "documents=" in fault.expected


@pytest.mark.parametrize(
    ("changed", "where", "found"),
    [
        ({"end": 9}, "", "the span from 4 to 9"),
        ({"start": -1, "end": 3}, "", "the span from -1 to 3"),
        ({"end": "8"}, ".end", '"8"'),
        ({"text": 4}, ".text", "4"),
    ],
)
def test_a_span_with_its_text_needs_no_document_but_must_fit_the_text(
    tmp_path: Path, changed: dict[str, object], where: str, found: str
) -> None:
    span = {"doc": "winds.md", "start": 4, "end": 8, "text": "wind"}
    (query,) = read_queries(write(tmp_path, relevant(span)))
    assert query.facts[0].passages == (Passage("wind", "winds.md", 4, 8),)
    (fault,) = faults_of(write(tmp_path, relevant({**span, **changed})), documents=())
    assert (fault.where, fault.found) == (f"queries.jsonl:1: relevant[0]{where}", found)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_line_ends_and_a_byte_order_mark(tmp_path: Path, end: bytes) -> None:
    path = write(tmp_path, b'\xef\xbb\xbf{"id": "a", "query": "A?"}', "", '{"id": "b", "query": "B?"}', end=end)
    assert [query.id for query in read_queries(path)] == ["a", "b"]
    path = write(tmp_path, '{"id": "a", "query": "A?"}', "", "{}", end=end)
    assert faults_of(path)[0].where == "queries.jsonl:3: query"


def test_bad_bytes_are_located_line_by_line(tmp_path: Path) -> None:
    path = write(tmp_path, '{"id": "a", "query": "é"}', b'{"id": "\xe9"}', '{"id": "b", "query": "B?"}', b"\xff")
    first, second = faults_of(path)
    assert first.where == "queries.jsonl:2"
    assert first.found == "the byte 0xe9 at byte 35 of the file, which is not UTF-8"
    assert second.where == "queries.jsonl:4"
    assert path.read_bytes()[35] == 0xE9


PAGED = (
    Document("manual.pdf", "Cover\n\f\n\f  High water is at noon. \n\fLow water is at six."),
    Document("blank.pdf", " "),
)


def test_a_document_alone_and_a_page_of_it_are_labels(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        line(relevant=[{"doc": "manual.pdf"}, {"doc": "manual.pdf", "page": 3, "grade": 2}, {"doc": "blank.pdf"}]),
    )
    (query,) = read_queries(path, PAGED)
    whole, page, blank = (fact.passages[0] for fact in query.facts)
    text = PAGED[0].text
    assert whole == Passage(text, "manual.pdf", 0, len(text))
    assert page == Passage("High water is at noon.", "manual.pdf", 11, 33, grade=2)
    assert blank == Passage(chunk_id="blank.pdf")  # as in qrels: a document without words is known by its id alone


@pytest.mark.parametrize(
    ("passage", "where", "found", "expected"),
    [
        ({"doc": "manual.pdf", "page": 0}, ".page", "0", "a page from 1 to 4"),
        (
            {"doc": "manual.pdf", "page": 2},
            ".page",
            "page 2 of manual.pdf, which has no text (was it scanned?)",
            "a page",
        ),
        ({"doc": "manual.pdf", "page": "iv"}, ".page", '"iv"', "an integer: which page of the file, the first is 1"),
        ({"doc": "manuel.pdf", "page": 1}, ".doc", 'an unknown document id "manuel.pdf"', '"manual.pdf"'),
        ({"doc": "manuel.pdf"}, ".doc", 'an unknown document id "manuel.pdf"', '"manual.pdf"'),
        ({"text": "noon", "page": 3}, "", 'an object with "text", "page"', "the fields text, or text and doc"),
    ],
)
def test_pages_and_documents_that_are_not_there(
    tmp_path: Path, passage: object, where: str, found: str, expected: str
) -> None:
    (fault,) = faults_of(write(tmp_path, relevant(passage)), PAGED)
    assert (fault.where, fault.found) == (f"queries.jsonl:1: relevant[0]{where}", found)
    assert expected in fault.expected
