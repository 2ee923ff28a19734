from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, DatasetError
from raglift.records.documents import Document
from raglift.records.labels import Fact, Passage, Query

COLUMNS = {
    "id": "No.",
    "query": "Question",
    "passage": "Evidence",
    "doc": "Source",
    "grade": "Helps",
    "fact": "Group",
}
TIDES = {"tides.md": "High water is at noon."}


def table(folder: Path, *lines: str) -> Path:
    path = folder / "t.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    return path


def test_rows_of_one_query_become_its_facts(fixtures: Path) -> None:
    dataset = load_dataset(fixtures / "csv" / "labels.csv", columns=COLUMNS)  # a byte-order mark, and semicolons
    assert dataset.name == "labels"
    ticket = "Day ticket: 60 crowns,\nchildren under seven go free."
    assert dataset.queries == (
        Query(
            "1",
            "What does a day ticket cost?",
            (
                Fact((Passage(ticket, "prices.md", grade=3),)),
                Fact((Passage("A ticket for the day is 60 crowns.", "faq.md", grade=2),)),
            ),
        ),
        Query(
            "2",
            "May dogs come along?",
            # one entry in the column of facts: alternatives
            (Fact((Passage("Dogs on a lead are welcome.", "faq.md"), Passage('The sign says "dogs welcome"'))),),
            judged_irrelevant=(Passage("Cats are not allowed in the café.", "faq.md", grade=0),),
        ),
        Query("3", "Is there a lift?"),
    )


def test_without_ids_the_question_joins_the_rows(tmp_path: Path) -> None:
    path = table(tmp_path, "query,passage", "Why?,because", "Who?,she", "Why?,therefore")
    queries = load_dataset(path).queries
    assert [(query.id, query.text, len(query.facts)) for query in queries] == [("q1", "Why?", 2), ("q2", "Who?", 1)]


def test_every_form_of_a_passage(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        "query,passage,doc,start,end,chunk,tags,answerable",
        "When?,noon,,,,,sea; easy,yes",
        "When?,at noon,tides.md,,,,sea;easy,true",
        "When?,,tides.md,0,10,,sea;easy,",
        "When?,High water,tides.md,0,10,,sea;easy,",
        "When?,,tides.md,,,,sea;easy,1",
        "When?,,,,,c7,sea;easy,",
        "Why?,,,,,,,no",
    )
    first, second = load_dataset(path, documents=TIDES).queries
    assert [fact.passages[0] for fact in first.facts] == [
        Passage("noon"),
        Passage("at noon", "tides.md"),
        Passage("High water", "tides.md", 0, 10),  # the row with the text too
        Passage("High water is at noon.", "tides.md", 0, 22),
        Passage(chunk_id="c7"),
    ]
    assert first.tags == ("sea", "easy")
    assert second == Query("q2", "Why?", answerable=False)


def test_a_span_with_its_text_needs_no_documents(tmp_path: Path) -> None:
    path = table(tmp_path, "query,passage,doc,start,end", "When?,High water,tides.md,0,10")
    assert load_dataset(path).queries[0].facts == (Fact((Passage("High water", "tides.md", 0, 10),)),)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_parts_the_columns(delimiter: str, tmp_path: Path) -> None:
    path = table(tmp_path, delimiter.join(["query", '"a, b; c"', "passage"]), delimiter.join(["Why?", "x", "because"]))
    assert load_dataset(path, columns={"ignore": "a, b; c"}).queries[0].facts == (Fact((Passage("because"),)),)


def test_a_delimiter_that_is_given(tmp_path: Path) -> None:
    path = table(tmp_path, "query#passage", "Why?#because")
    assert load_dataset(path, delimiter="#").queries[0].text == "Why?"
    with pytest.raises(ConfigurationError, match="expected one character"):
        load_dataset(path, delimiter="##")


def test_a_tsv_file_with_columns_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("q\tp\nWhy?\tbecause\n", encoding="utf-8")
    assert len(load_dataset(path, columns={"query": "q", "passage": "p"})) == 1


@pytest.mark.parametrize(
    ("lines", "options", "expected"),
    [
        (["Frage,x"], {}, "t.csv:1: found no column 'query'; expected one that holds the questions: columns={'query':"),
        (["Frage,x"], {"columns": {"query": "Fragen"}}, '"Fragen"; expected one of "Frage", "x"; nearest: "Frage"'),
        (["query,query", "a,b"], {}, 't.csv:1: found the column "query" twice'),
        (["query,passage", "a"], {}, "t.csv:2: found 1 cells; expected 2, as in the first row"),
        (["query,passage", ",b"], {}, "t.csv:2: query: found an empty text"),
        (["id,query", ",b"], {}, "t.csv:2: id: found an empty text"),
        (["id,query", "1,b", "1,c"], {}, 't.csv:3: query: found another entry than in line 2 for "1"'),
        (["query,tags", "a,x", "a,y"], {}, "t.csv:3: tags: found another entry than in line 2"),
        (["query,answerable", "a,maybe"], {}, 't.csv:2: answerable: found "maybe"; expected true or false'),
        (["query,passage,answerable", "a,b,no"], {}, "t.csv:2: answerable: found false, and a passage"),
        (["query,passage,grade", "a,b,good"], {}, 't.csv:2: grade: found "good"'),
        (["query,passage,chunk", "a,b,c"], {}, "t.csv:2: found entries for chunk, passage"),
        (["query,doc", "a,tides.md"], {}, "t.csv:2: found no documents for 1 labels that point into one"),
        (["query,doc", "a,tide.md"], {"documents": TIDES}, 't.csv:2: doc: found an unknown document id "tide.md"'),
        (
            ["query,start,end", "a,0,3"],
            {},
            "t.csv:2: found entries for end, start; expected a span: doc, start and end",
        ),
        (["query,doc,start,end", "a,tides.md,x,-3"], {"documents": TIDES}, 't.csv:2: start: found "x"'),
        (["query,doc,start,end", "a,tides.md,x,-3"], {"documents": TIDES}, 't.csv:2: end: found "-3"'),
        (["query,doc,start,end", "a,tides.md,9,99"], {"documents": TIDES}, "t.csv:2: found the span from 9 to 99"),
        (
            ["query,passage,doc,start,end", "a,Low water,tides.md,0,10"],
            {"documents": TIDES},
            't.csv:2: passage: found another text than the document\'s at 0 to 10; expected "High water"',
        ),
        (["query,passage", '"a\nb",c', "x"], {}, "t.csv:4: found 1 cells"),
        (["query,passage", 'a,"b" c'], {}, "t.csv:2: found a row that is no CSV"),
        (["query,passage", 'a,"b'], {}, "t.csv:2: found a row that is no CSV"),
        (["query,passage", f"a,{'b' * 131_073}"], {}, "field larger than field limit"),
        (["query,passage"], {}, "found no queries"),
    ],
)
def test_faults_name_the_line_that_their_row_begins_on(
    lines: list[str], options: Any, expected: str, tmp_path: Path, faults: Callable[..., str]
) -> None:
    message = faults(table(tmp_path, *lines), **options)
    assert "t.csv (read as CSV)" in message
    assert expected in message


def test_all_faults_are_listed_at_once(tmp_path: Path, faults: Callable[..., str]) -> None:
    message = faults(table(tmp_path, "query,passage,grade", "a", "b,c,d", ",e,1", "f,g,1"))
    assert "3 faults" in message


def test_columns_that_are_unknown(fixtures: Path) -> None:
    with pytest.raises(ConfigurationError, match='nearest: "query"'):
        load_dataset(fixtures / "csv" / "labels.csv", columns={"queri": "Question"})


def test_documents_come_with_it(tmp_path: Path) -> None:
    dataset = load_dataset(table(tmp_path, "query,passage", "a,b"), documents=TIDES)
    assert dataset.documents == (Document("tides.md", TIDES["tides.md"]),)


def test_a_page_of_a_document_is_a_label(tmp_path: Path) -> None:
    path = table(tmp_path, "query,passage,doc,page", "Why?,,tides.md,2", "Who?,,tides.md,", "When?,at noon,tides.md,2")
    text = "Cover\fHigh water is at noon."
    queries = load_dataset(path, documents={"tides.md": text}).queries
    assert [query.facts[0].passages[0] for query in queries] == [
        Passage(text[6:], "tides.md", 6, 28),
        Passage(text, "tides.md", 0, 28),
        Passage("at noon", "tides.md"),  # what the passage says is enough; its page is not looked at
    ]


@pytest.mark.parametrize(("page", "message"), [("ii", 'page: found "ii"; expected an integer'), ("3", "page: found 3")])
def test_a_page_that_is_none(tmp_path: Path, page: str, message: str) -> None:
    path = table(tmp_path, "query,doc,page", f"Why?,tides.md,{page}")
    with pytest.raises(DatasetError, match=f"t.csv:2: {message}"):
        load_dataset(path, documents=TIDES)
