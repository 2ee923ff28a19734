"""Hits joined to questions, and the JSON Schemas of both files, which say what the readers say."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from raglift.datasets.loading import load_dataset
from raglift.errors import DatasetError
from raglift.storage.rankings.hits import JoinedHits, read_hits
from raglift.types.dataset import Dataset

EXAMPLES = files("raglift.storage.rankings") / "examples"
DATA = Dataset.from_dict(
    [
        {"id": "lamp", "question": "When is the lamp lit?", "passages": ["at dusk"]},
        {"question": "When is the  h\u00f6rn blown?", "passages": ["in fog", ["at night", "by night"]]},
        {"id": "twice", "question": "Who?"},
        {"id": "again", "question": "Who?"},
    ]
)


def read(folder: Path, *lines: Any, dataset: Dataset = DATA, name: str = "hits.jsonl") -> JoinedHits:
    path = folder / name
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_bytes("\n".join(texts).encode("utf-8", "surrogateescape"))
    return read_hits(path, dataset)


def faults_of(folder: Path, *lines: Any, dataset: Dataset = DATA, name: str = "hits.jsonl") -> list[str]:
    with pytest.raises(DatasetError) as error:
        read(folder, *lines, dataset=dataset, name=name)
    return [str(fault).removeprefix(f"{name}:") for fault in error.value.faults]


def test_lines_are_joined_by_id_else_by_question(tmp_path: Path) -> None:
    hit = {"id": 7, "text": "lit at dusk", "doc": "log.md", "start": 3, "end": 14, "score": 0.5}
    found = read(
        tmp_path,
        {"id": "lamp", "question": "When is the lamp  lit?", "hits": [hit, "c8"]},
        {"id": "unknown", "query": "When is the ho\u0308rn blown? ", "texts": ["", "in fog"]},
        {"query_id": "again", "hits": []},
    )
    assert {query: [one.chunk.text for one in ranking] for query, ranking in found.rankings.items()} == {
        "lamp": ["lit at dusk", ""],
        "q2": ["", "in fog"],
        "again": [],
    }
    first = found.rankings["lamp"][0]
    chunk = first.chunk
    assert (chunk.id, chunk.doc_id, chunk.start, chunk.end, first.score) == ("7", "log.md", 3, 14, 0.5)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({"id": "q9", "texts": []}, '1: id: found the unknown id "q9"'),
        (
            {"question": "When is the lamp lit", "texts": []},
            "1: question: found the unknown question",
        ),
        ({"question": "Who?", "texts": []}, '1: question: found the question of 2 queries, "twice" and "again"'),
        ({"id": "lamp", "question": "Who?", "texts": []}, '1: found the question "Who?" with the id "lamp"'),
        ('{"id": "lamp", "texts": []}\n{"id": "lamp", "texts": []}', '2: found the query "lamp" a second time'),
        ({"id": "lamp", "texts": ["a", None]}, "1: texts[1]: found null; expected a text"),
        ({"id": "lamp", "texts": None}, "1: texts: found null; expected a list of hits"),
        ({"id": "lamp", "hits": [{"text": "a", "end": -1}]}, "1: hits[0].end: found -1; expected an integer"),
        ({"id": "lamp", "hits": [{"text": "a", "start": 5, "end": 2}]}, "1: hits[0].end: found 2; expected 5"),
        ({"id": "lamp", "hits": [{"score": 1}]}, "1: hits[0].id: found no such field"),
        ({"id": "lamp", "texts": [], "ids": []}, "1: ids: found it beside the field 'texts'"),
        ({"id": "lamp", "contexts": []}, '1: contexts: found an unknown field "contexts"'),
        ({"texts": []}, "1: id: found no such field; expected the field 'id', 'query_id' or 'question'"),
        ({"id": "lamp"}, "1: hits: found no such field; expected one of the fields 'hits', 'texts', 'ids'"),
        ({"id": "lamp", "ids": ["c1"]}, " found ids without texts; expected texts"),
        ('{"id": "lamp", "texts": ["\udcff"]}', "1: found the byte 0xff at byte 26 of the file, which is not UTF-8"),
        ('{"id": "lamp", "texts": ["a\\ud83d"]}', "1: texts[0]: found half a character"),
        ("", " found no lines"),
        ('{"id": "lamp", "te', "1: column 16: found"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_has_its_line(tmp_path: Path, line: Any, fault: str) -> None:
    assert faults_of(tmp_path, line)[0].startswith(fault)


def test_ids_are_compared_with_labels_that_are_ids(tmp_path: Path) -> None:
    by_id = Dataset.from_dict([{"id": "a", "question": "A?", "passages": [[{"chunk": "c1"}, {"chunk": "c2"}]]}])
    lines = [{"id": "a", "ids": ["c9", "c2"]}]
    assert read(tmp_path, *lines, dataset=by_id).dataset == by_id
    run = read(tmp_path, "a Q0 c9 1 2 t", "b Q0 c9 1 2 t", dataset=by_id, name="run.trec")
    assert (list(run.rankings), len(run.notes)) == (["a"], 1)
    assert faults_of(tmp_path, {"id": "a", "texts": ["x"]}, dataset=by_id)[0].startswith(" found texts without ids")
    assert faults_of(tmp_path, "b Q0 c9 1 2 t", dataset=by_id, name="run.trec")[0].startswith(" found rankings of none")


def schema(name: str) -> Draft202012Validator:
    found = json.loads((EXAMPLES / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


@pytest.mark.parametrize("name", ["labels", "hits", "baseline"])
def test_the_examples_are_as_their_schema_says(name: str) -> None:
    lines = (EXAMPLES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    validator = schema("labels" if name == "labels" else "hits")
    assert [error.message for line in lines for error in validator.iter_errors(json.loads(line))] == []


ASKED = {"id": "lamp", "question": "When is the lamp lit?"}
TEXT = {"text": "at dusk"}
HITS = [
    *({**ASKED, "hits": [hit]} for hit in (TEXT, {"id": 1}, {}, {"id": None}, {"text": None}, {"id": "a", "text": 5})),
    *(
        {**ASKED, "hits": [{**TEXT, field: value}]}
        for field in ("doc", "start", "end", "score")
        for value in (1, -1, "x", None)
    ),
    *(
        {**ASKED, name: value}
        for name in ("hits", "texts", "ids")
        for value in ([], ["a"], [7], [""], [None], "a", None)
    ),
    *({**ASKED, "texts": [], field: "x"} for field in ("ids", "query", "query_id", "rank")),
    *({name: value, "texts": []} for name in ("id", "question") for value in (" ", None, [])),
    {"texts": []},
    {"query": ASKED["question"], "texts": []},
    {"query_id": "lamp", "texts": []},
    ASKED,
]
PLACES: list[Any] = [
    *("x", " ", 5, None, [], {}, ["x", TEXT], [["x"]], {"chunk": "c"}, {"chunk": "c", "doc": "d"}, {"text": " "}),
    *({**TEXT, "grade": grade} for grade in (1, 1000, 0, 1001, "1")),
    *({**TEXT, "doc": "d", "start": start, "end": end} for start, end in ((0, 7), (-1, 6), ("0", 7))),
    *({**TEXT, "doc": "d"} | more for more in ({}, {"start": 0}, {"page": 1}, {"from": "at", "to": "dusk"})),
    *({"doc": "d", "from": "a", **more} for more in ({}, {"to": 5}, {"page": 1, "to": "b"})),
    {**TEXT, "txt": "x"},
    {**TEXT, "annotator": {"model": "m", "prompt": "p", "date": "d"}},
    {**TEXT, "annotator": {"model": "m"}},
]
LABELS = [
    *({**ASKED, "passages": [place]} for place in PLACES),
    *({**ASKED, "judged_irrelevant": [place]} for place in PLACES),
    *({**ASKED, "answerable": answer, "relevant": facts} for answer in (False, True, "no") for facts in ([], ["x"])),
    *({"question": text, "passages": ["x"]} for text in ("Who?", " ", 5, None)),
    *({**ASKED, field: value} for field in ("id", "tags", "passages", "filter") for value in (5, "x", None, ["x"])),
    {**ASKED, "query": "Who?"},
    {**ASKED, "passages": [], "relevant": []},
    {"id": "lamp", "passages": []},
    {"query": "Who?"},
    {**ASKED, "answer": "x"},
]


def is_read(read_file: Any) -> bool:
    try:
        read_file()
    except DatasetError:
        return False
    return True


@pytest.mark.parametrize(("name", "lines"), [("hits", HITS), ("labels", LABELS)], ids=["hits", "labels"])
def test_a_schema_refuses_what_the_reader_refuses(tmp_path: Path, name: str, lines: list[Any]) -> None:
    validator, path = schema(name), tmp_path / "file.jsonl"
    mixed = Dataset.from_dict([{**ASKED, "passages": [{"chunk": "c"}, "at dusk"]}])
    disagreeing = []
    for line in lines:
        path.write_text(json.dumps(line), encoding="utf-8")
        found = is_read(lambda: read_hits(path, mixed) if name == "hits" else load_dataset(path))
        if found != validator.is_valid(line):
            disagreeing.append(json.dumps(line))
    assert disagreeing == []
