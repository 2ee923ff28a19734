"""Rows of tables, lists and lines, with a mapping of the user's own."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, LabelWarning, MissingDependency
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query

from .row_files import written

Faults = Callable[..., str]
COLUMNS = {
    "id": "No.",
    "question": "Question",
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


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_parts_the_columns(delimiter: str, tmp_path: Path) -> None:
    path = table(tmp_path, delimiter.join(["query", '"a, b; c"', "passage"]), delimiter.join(["Why?", "x", "because"]))
    assert load_dataset(path, columns={"ignore": "a, b; c"}).queries[0].facts == (Fact((Passage("because"),)),)


@pytest.mark.parametrize(
    ("lines", "options", "expected"),
    [
        (
            ["Frage,x", "a,b"],
            {},
            "t.csv:1: found no column 'question'; expected one with the questions: columns={'question':",
        ),
        (
            ["Frage,x", "a,b"],
            {"columns": {"question": "Fragen"}},
            "found no column 'Fragen'; expected one with the questions",
        ),
        (["query,passage", "a"], {}, "t.csv:2: found 1 cells; expected 2, as in the first row"),
        (["id,query", ",b"], {}, "t.csv:2: id: found an empty text"),
        (["id,query", "1,b", "1,c"], {}, 't.csv:3: question: found another entry than in line 2 for "1"'),
        (
            ["query,passage,answerable", "a,b,no"],
            {},
            "t.csv:2: passage: found a passage, and a question that nothing answers",
        ),
        (["query,passage,chunk", "a,b,c"], {}, "t.csv:2: found an object with"),
        (
            ["query,passage,doc,start,end", "a,Low water,tides.md,0,10"],
            {"documents": TIDES},
            "another text than stands from 0 to 10 of tides.md",
        ),
        (["query,passage", '"a\nb",c', "x"], {}, "t.csv:4: found 1 cells"),
        (["query,passage", 'a,"b" c'], {}, "t.csv:2: found a row that is not CSV"),
    ],
)
def test_faults_name_the_line_that_their_row_begins_on(
    lines: list[str], options: Any, expected: str, tmp_path: Path, faults: Callable[..., str]
) -> None:
    message = faults(table(tmp_path, *lines), **options)
    assert "t.csv (read as rows)" in message
    assert expected in message


def test_documents_come_with_it(tmp_path: Path) -> None:
    dataset = load_dataset(table(tmp_path, "query,passage", "a,b"), documents=TIDES)
    assert dataset.documents == (Document("tides.md", TIDES["tides.md"]),)


# Paths, decodings, filters, and where the rows are.


def passages(dataset: Dataset) -> list[list[str | None]]:
    return [[fact.passages[0].text for fact in query.facts] for query in dataset]


ROWS = [
    {"inputs": {"ask": "Where?"}, "answers": ["here", "there"], "split": "test"},
    {"inputs": {"question": "When?"}, "answers": [{"page_content": "at noon"}], "split": "test"},
    {"inputs": {"question": "Why?"}, "answers": [], "split": "train"},
]
MAPPING = {"question": ["inputs.question", "inputs.ask"], "passage": "answers", "ignore": "split"}


def test_the_first_path_that_a_row_has_counts(tmp_path: Path) -> None:
    dataset = load_dataset(written(tmp_path, "x.jsonl", ROWS), columns=MAPPING)
    assert [query.text for query in dataset] == ["Where?", "When?", "Why?"]
    assert passages(dataset) == [["here", "there"], ["at noon"], []]


def test_rows_of_a_field_and_a_filter_that_counts(tmp_path: Path) -> None:
    path = written(tmp_path, "x.json", {"meta": {}, "data": {"items": 3}, "rows": ROWS})
    with pytest.warns(LabelWarning, match=r"x\.json: 1 of 3 rows left out by the filter split=test"):
        assert len(load_dataset(path, columns=MAPPING, root="rows", where="split=test")) == 2
    with pytest.warns(LabelWarning, match="2 of 3"):
        assert load_dataset(path, columns=MAPPING, root="rows", where=["split!=test"]).queries[0].text == "Why?"


def test_what_is_around_a_list_belongs_to_its_rows(tmp_path: Path) -> None:
    value = {"cases": [{"source": "tides.md", "asked": [{"q": "When?", "words": "High water"}, {"q": "Why?"}]}]}
    columns = {"question": "q", "passage": "words", "doc": "source"}
    dataset = load_dataset(written(tmp_path, "x.json", value), columns=columns, root="cases.asked", documents=TIDES)
    assert dataset.queries[0].facts == (Fact((Passage("High water", "tides.md"),)),)
    assert len(dataset) == 2


@pytest.mark.parametrize(
    ("cell", "way"), [('["a", "b"]', "json"), ("['a', 'b']", "literal"), ("a | b |", "|"), ("a;b", ";")]
)
def test_a_cell_holds_several_passages(cell: str, way: str, tmp_path: Path) -> None:
    path = table(tmp_path, "question\tpassage", f"Where?\t{cell}").rename(tmp_path / "t.tsv")
    assert passages(load_dataset(path, decode={"passage": way})) == [["a", "b"]]


def test_a_text_in_brackets_is_no_list_and_a_document_may_have_several_texts(tmp_path: Path) -> None:
    assert passages(load_dataset(table(tmp_path, "question,passage", "Where?,[see the map]"))) == [["[see the map]"]]
    rows = [
        {"question": "Where?", "passage": {"text": ["here", "there"]}},
        {"question": "Who?", "passage": [{"note": "x"}, {"note": "y"}]},
    ]
    path = written(tmp_path, "x.jsonl", rows)
    dataset = load_dataset(path, columns={"passage": ["passage.text", "passage.note"]})
    assert passages(dataset) == [["here", "there"], ["x", "y"]]
    assert passages(load_dataset(written(tmp_path, "y.jsonl", rows[:1]), format="rows")) == [["here", "there"]]


def test_a_list_without_items_leaves_what_is_around_it(tmp_path: Path) -> None:
    value = {"cases": [{"q": "When?", "words": []}, {"q": "Why?", "words": [{"text": "so"}]}]}
    path = written(tmp_path, "x.json", value)
    dataset = load_dataset(path, columns={"question": "q", "passage": "text"}, root="cases.words")
    assert passages(dataset) == [[], ["so"]]


def test_parquet_that_is_ambiguous_or_too_large(
    tmp_path: Path, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = [pa.array(["When?"]), pa.array(["a"]), pa.array(["b"])]
    pq.write_table(pa.Table.from_arrays(columns, names=["question", "passage", "passage"]), tmp_path / "x.parquet")
    assert "x.parquet: found two columns of one name" in faults(tmp_path / "x.parquet", format="rows")
    pq.write_table(pa.table({"question": ["When?" * 100] * 1000}), tmp_path / "y.parquet")
    monkeypatch.setenv("RAGLIFT_MAX_BYTES", "100000")
    assert "found values that unpack to more than 100,000 bytes" in faults(tmp_path / "y.parquet", format="rows")


def test_a_parquet_file_has_rows_too(tmp_path: Path) -> None:
    rows = [{"question": "When?", "passage": ["High water", "noon"], "grade": [2.0, 0.0]}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    query = load_dataset(tmp_path / "x.parquet").queries[0]
    assert query.facts == (Fact((Passage("High water", grade=2),)),)
    assert query.judged_irrelevant == (Passage("noon", grade=0),)


SHEETS: dict[str, list[list[object]]] = {
    "Labels": [
        ["id", "question", "passage", "grade", "Reviewed"],
        [1, "When?", "at noon", 2, True],
        *[[], [2, "Who?", 1861, None, "later"]],
    ],
    "Notes": [["by us"]],
    "Empty": [],
}


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    """A workbook as spreadsheet programs save it, in as few parts as will do."""

    def cell(value: object) -> str:
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        return f"<c><v>{value}</v></c>" if isinstance(value, int) else f'<c t="inlineStr"><is><t>{value}</t></is></c>'

    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    types = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    listed, related = "", ""
    with zipfile.ZipFile(tmp_path / "labels.xlsx", "w") as archive:
        for number, (name, rows) in enumerate(SHEETS.items(), start=1):
            lines = ("".join("<c/>" if value is None else cell(value) for value in row) for row in rows)
            data = "".join(f"<row>{line}</row>" for line in lines)
            text = f"<worksheet {main}><sheetData>{data}</sheetData></worksheet>"
            archive.writestr(f"xl/worksheets/sheet{number}.xml", text)
            listed += f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>'
            related += f'<Relationship Id="r{number}" Type="{office}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        archive.writestr("xl/workbook.xml", f'<workbook {main} xmlns:r="{office}"><sheets>{listed}</sheets></workbook>')
        links = f'<Relationships xmlns="{package}/relationships">'
        archive.writestr("xl/_rels/workbook.xml.rels", f"{links}{related}</Relationships>")
        top = f'<Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
        archive.writestr("_rels/.rels", links + top)
        override = f'<Override PartName="/xl/workbook.xml" ContentType="{types}.sheet.main+xml"/>'
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{package}/content-types">{override}</Types>')
    return tmp_path / "labels.xlsx"


def test_a_sheet_of_a_workbook(workbook: Path) -> None:
    dataset = load_dataset(workbook, root="Labels", columns={"ignore": "Reviewed"})
    assert [(query.id, query.text) for query in dataset] == [("1", "When?"), ("2", "Who?")]
    assert dataset.query("1").facts == (Fact((Passage("at noon", grade=2),)),)
    assert dataset.query("2").facts == (Fact((Passage("1861"),)),)


def test_workbooks_that_cannot_be_read(
    workbook: Path, tmp_path: Path, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 'found 2 sheets with cells: "Labels", "Notes"; expected one sheet, or its name as root=' in faults(workbook)
    assert "labels.xlsx: row 1: found an unknown column" in faults(workbook, root="Labels")
    broken = tmp_path / "x.xlsx"
    broken.write_bytes(b"PK nothing")
    assert "x.xlsx: found no readable workbook" in faults(broken)
    monkeypatch.setenv("RAGLIFT_MAX_BYTES", "1000")
    assert "found a workbook that unpacks to" in faults(workbook, format="rows")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(MissingDependency, match=r"raglift\[xlsx\]"):
        load_dataset(workbook)


@pytest.mark.parametrize(
    ("name", "value", "options", "expected"),
    [
        (
            "x.jsonl",
            [{"question": "a", "notes": "b"}],
            {"format": "rows"},
            'x.jsonl:1: found an unknown column "notes"',
        ),
        ("x.csv", "question,Evidence\na,b\n", {}, "columns={'passage': 'Evidence'}"),
        ("x.csv", "question,reference_contexts\na,b\n", {}, "columns={'passage': 'reference_contexts'}"),
        ("x.csv", "question,referenceContexts\na,b\n", {}, "columns={'passage': 'referenceContexts'}"),
        ("x.jsonl", [{"question": "a"}], {"columns": {"passage": "text"}}, 'x.jsonl: found no row with "text"'),
        ("x.jsonl", [{"question": ["a"]}], {"format": "rows"}, "question: found a list of 1; expected a text"),
        ("x.csv", "question,passage\na,\"['b']\"\n", {}, "x.csv:2: passage: found a list in a cell"),
        ("x.json", {"rows": []}, {"root": "cases"}, "x.json: cases: found no such field; expected a list of objects"),
        ("x.json", ["a"], {"format": "rows"}, 'x.json: [0]: found "a"; expected an object'),
        ("x.json", '[{"question": ', {"format": "rows"}, "x.json:1: "),
        ("x.jsonl", [{"question": "a", "passage": {"n": 1}}], {"format": "rows"}, "passage: found an object with"),
        ("x.jsonl", [{"question": "a", "passage": "b", "grade": True}], {"format": "rows"}, "grade: found true"),
        ("x.jsonl", [{"question": "a", "passage": "b", "grade": [2, None]}], {"format": "rows"}, "grade"),
        ("x.csv", "question,passage,\na,b,c\n", {}, 'x.csv:2: found "c" in column 3, which has no name'),
    ],
)
def test_every_fault_says_where(
    name: str, value: Any, options: dict[str, Any], expected: str, tmp_path: Path, faults: Faults
) -> None:
    assert expected in faults(written(tmp_path, name, value), **options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"where": "split"}, "where: found 'split'; expected a comparison"),
        ({"decode": {"passages": "json"}}, "decode: found 'passages'"),
        ({"decode": {"passage": ""}}, "expected 'json', 'literal' or a separator"),
        ({"split": "test"}, "found split= with format 'rows'"),
        ({"delimiter": "::"}, "delimiter: found '::'; expected one character"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], expected: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        load_dataset(table(tmp_path, "question,passage", "a,b"), **options)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-16"])
def test_a_table_is_read_in_the_encoding_that_is_named_or_marked(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("question,passage\nWann öffnet es?,um neun\n", encoding=encoding)
    expected = (Query("q1", "Wann öffnet es?", (Fact((Passage("um neun"),)),)),)
    assert load_dataset(path, encoding="cp1252").queries == expected
    assert load_dataset(path, encoding="cp1252", documents={"a": "um neun"}).queries == expected


def test_a_list_of_questions_is_read_as_rows(tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    path.write_text('[{"query": "when", "passage": "at nine"}]', encoding="utf-8")
    assert load_dataset(path).queries == (Query("q1", "when", (Fact((Passage("at nine"),)),)),)
