"""Every format of labelled queries and of documents."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import docx
from fpdf import FPDF

import raglift as rl
from raglift.datasets.documents import read_documents
from raglift.errors import ConfigurationError, CorpusError, DatasetError, DocumentWarning
from raglift.types.documents import Document

from .reader import Reader

__all__ = ["READERS"]

_FIXTURES = Path(__file__).parents[1] / "datasets" / "fixtures"
_CAT = "The cat sat on the mat.\nIt was warm there, and it stayed until the evening.\n"
_DOG = "Hunde schlafen am Tag.\r\nSie wachen über das Haus, wenn es dunkel wird: ein Glück.\n"
_QUERIES: tuple[dict[str, Any], ...] = (
    {"id": "q1", "query": "Where did the cat sit?", "relevant": ["The cat sat on the mat."], "tags": ["cats", "easy"]},
    {
        "id": "q2",
        "query": "Until when did it stay?",
        "relevant": [
            [{"doc": "cat.txt", "start": 24, "end": 42, "grade": 2}, {"text": "until the evening", "doc": "cat.txt"}],
            {"doc": "cat.txt", "from": "It was warm", "to": "the evening"},
        ],
        "judged_irrelevant": [{"text": "Sie wachen", "doc": "dog.md"}],
    },
    {"id": "q3", "query": "Wer wacht über das Haus?", "relevant": [{"chunk": "dog-1", "grade": 3}]},
    {"id": "q4", "query": "Who won?", "answerable": False},
    {
        "id": 5,
        "query": "When do dogs sleep?",
        "relevant": [{"text": "Hunde", "doc": "dog.md", "start": 0, "end": 5}],
        "annotator": {"model": "m", "prompt": "p", "date": "2026-01-31"},
    },
)


def _texts(folder: Path) -> None:
    folder.mkdir()
    (folder / "cat.txt").write_bytes(_CAT.encode())
    (folder / "dog.md").write_bytes(_DOG.encode())


def _own(folder: Path) -> None:
    _texts(folder / "documents")
    lines = "".join(json.dumps(query, ensure_ascii=False) + "\n" for query in _QUERIES)
    (folder / "queries.jsonl").write_text(lines, encoding="utf-8")


def _copied(name: str, *files: str) -> Callable[[Path], None]:
    """Return what copies a fixture into a folder: all of it, or some of its files."""

    def copy(folder: Path) -> None:
        for path in sorted((_FIXTURES / name).rglob("*")):
            relative = path.relative_to(_FIXTURES / name)
            if path.is_file() and (not files or relative.as_posix() in files):
                (folder / relative).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, folder / relative)

    return copy


def _table(folder: Path) -> None:
    rows = (
        "id,query,fact,passage,doc,start,end,chunk,grade,tags,answerable",
        'q1,"Where, then, did it sit?",a,on the mat,cat.txt,,,,2,cats;easy,',
        'q1,"Where, then, did it sit?",a,,cat.txt,0,23,,1,cats;easy,true',
        "q2,How warm?,,,cat.txt,,,,,,",
        "q3,Which?,,,,,,c-7,0,,",
        "q4,Who won?,,,,,,,,,false",
    )
    (folder / "labels.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def _pdf(folder: Path) -> None:
    file = FPDF()
    file.set_font("Helvetica", size=12)
    for text in (_CAT, _DOG):
        file.add_page()
        file.multi_cell(0, 8, text)
    (folder / "pages.pdf").write_bytes(bytes(file.output()))


def _docx(folder: Path) -> None:
    file = docx.Document()
    file.add_paragraph(_CAT)
    file.add_page_break()
    file.add_table(1, 2).cell(0, 1).text = _DOG
    file.save(folder / "pages.docx")


def _document_lines(folder: Path) -> None:
    entries: list[dict[str, Any]] = [
        {"_id": "cat", "title": "Cats", "text": _CAT, "metadata": {"year": 2001, "tags": ["a", None]}},
        {"_id": 7, "title": "", "text": _DOG},
        {"_id": "empty", "text": ""},
    ]
    lines = "".join(json.dumps(entry) + "\n" for entry in entries)
    (folder / "documents.jsonl").write_text(lines, encoding="utf-8")


def _loaded(name: str = "", **options: Any) -> Callable[[Path], object]:
    """Return what loads the folder, or a file in it; options that begin with `in_` are files in it, too."""

    def load(folder: Path) -> object:
        given = {key: folder / value if key == "topics" else value for key, value in options.items()}
        return rl.load_dataset(folder / name, **given)

    return load


def _read_documents(folder: Path, name: str) -> tuple[Document, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DocumentWarning)  # a damaged PDF that could be read in part is named in one
        return read_documents(folder / name)


_LAYOUT = (DatasetError, ConfigurationError, CorpusError)
"""Without a file, what a folder is can no longer be told, and an option may be missing."""


def _has_queries(dataset: rl.Dataset) -> None:
    """Assert that there is something to ask; records themselves refuse labels and documents that are none."""
    assert dataset.queries


_dataset = partial(Reader, errors=_LAYOUT, check=_has_queries)

READERS: tuple[Reader, ...] = (
    _dataset("jsonl", _own, _loaded()),
    _dataset("beir", _copied("beir"), _loaded()),
    _dataset("trec", _copied("trec"), _loaded()),
    _dataset("squad", _copied("squad"), _loaded("dev-v2.0.json")),
    _dataset("rows, own columns", _table, _loaded("labels.csv", documents={"cat.txt": _CAT})),
    _dataset("autorag", _copied("autorag"), _loaded()),
    _dataset("llama-index, examples", _copied("llama-index", "rag_dataset.json"), _loaded("rag_dataset.json")),
    _dataset("hub, json lines", _copied("hub"), _loaded(format="hf")),
    _dataset("ragas, lines", _copied("ragas", "testset.jsonl"), _loaded("testset.jsonl")),
    _dataset("langsmith", _copied("langsmith"), _loaded("examples.jsonl")),
    _dataset("langfuse", _copied("langfuse"), _loaded("items.json")),
    Reader(
        "documents, pdf",
        _pdf,
        partial(_read_documents, name="pages.pdf"),
    ),
    Reader(
        "documents, docx",
        _docx,
        partial(_read_documents, name="pages.docx"),
    ),
    Reader(
        "documents, jsonl",
        _document_lines,
        partial(_read_documents, name="documents.jsonl"),
    ),
)
"""All of the readers here."""
