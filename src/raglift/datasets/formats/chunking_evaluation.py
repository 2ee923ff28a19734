"""Chroma's chunking evaluation: questions with the spans of the texts that answer them.

The layout is that of <https://github.com/brandonstarxel/chunking_evaluation>: a file `questions_df.csv` with the
columns `question`, `references` (JSON: a list of objects with `content`, `start_index` and `end_index`) and
`corpus_id`, and next to it a folder `corpora` with a text `{corpus_id}.md` for each.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.base.limits import is_file, is_folder, resolved, user_path
from raglift.base.strict_files import decode_text, read_bytes
from raglift.base.validation import Location, check_fields, nearest, quoted, shown
from raglift.datasets.documents import read_documents
from raglift.errors import DatasetError
from raglift.records.dataset import Dataset
from raglift.records.labels import Passage, Query, distinct_facts
from raglift.records.parsing import read_string

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from raglift.datasets.documents import DocumentSource
    from raglift.errors import Fault
    from raglift.records.documents import Document


_QUESTIONS = "questions_df.csv"
_TEXTS = "corpora"
_SUFFIX = ".md"
_COLUMNS = ("question", "references", "corpus_id")
_FIELDS = ("content", "start_index", "end_index")


def is_chunking_evaluation(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder is laid out as Chroma's chunking evaluation.

    Args:
        folder: any path.
    """
    return is_file(Path(folder) / _QUESTIONS) and is_folder(Path(folder) / _TEXTS)


def read_chunking_evaluation(
    folder: str | os.PathLike[str],
    *,
    documents: DocumentSource = None,
    name: str | None = None,
    encoding: str | None = None,
) -> Dataset:
    """Return the questions of a folder and the texts that they are about.

    Each reference is a fact of its own, a span of a document. Documents have the names of their files as ids,
    `finance.md`; questions are numbered within their corpus, `finance-1`, and tagged with it.

    Args:
        folder: what holds `questions_df.csv` and `corpora`.
        documents: the texts, in place of those in `corpora`.
        name: a title; by default the name of the folder.
        encoding: of those of the texts that are not in UTF-8.

    Raises:
        DatasetError: a file is missing or malformed, or a reference differs from the text at its offsets; every fault
            is listed.
    """
    path = user_path(folder)
    texts = read_documents(path / _TEXTS if documents is None else documents, encoding=encoding)
    faults: list[Fault] = []
    location = Location(_QUESTIONS, faults)
    by_id = {document.id: document for document in texts}
    numbers: Counter[str] = Counter()
    queries = []
    for here, row in _rows(path / _QUESTIONS, location):
        numbers[row["corpus_id"]] += 1
        query = _read_query(row, here, by_id, numbers[row["corpus_id"]])
        queries += [] if query is None else [query]
    if not queries and not faults:
        location.fault("no questions", "a row for each question below the header")
    if faults:
        raise DatasetError(str(path / _QUESTIONS), faults)
    return Dataset(tuple(queries), texts, name or resolved(path).name)


def _rows(path: Path, location: Location) -> Iterator[tuple[Location, Mapping[str, str]]]:
    """Yield each row with the location of its first line; note a fault for each that has other columns."""
    data = read_bytes(path, location)
    text = None if data is None else decode_text(data, location)
    if text is None:
        return
    reader = csv.reader(io.StringIO(text), strict=True)
    line = 1
    try:
        header = next(reader, [])
        if sorted(header) != sorted(_COLUMNS):
            location.at_line(1).fault(f"the columns {', '.join(map(quoted, header)) or '(none)'}", ", ".join(_COLUMNS))
            return
        line = reader.line_num + 1
        for row in reader:
            here, line = location.at_line(line), reader.line_num + 1
            if len(row) == len(header):
                yield here, dict(zip(header, row, strict=True))
            elif row:
                here.fault(f"{len(row)} columns", f"{len(header)}, as in the header")
    except csv.Error as error:
        location.at_line(line).fault(f"a row that is not CSV ({error})", "texts with commas or quotes within quotes")


def _read_query(
    row: Mapping[str, str], location: Location, documents: Mapping[str, Document], number: int
) -> Query | None:
    """Return the question of a row; None, and a fault, where it is none."""
    corpus = row["corpus_id"]
    document = documents.get(corpus + _SUFFIX)
    if document is None:
        known = [doc_id.removesuffix(_SUFFIX) for doc_id in documents]
        (location / "corpus_id").fault(f"{quoted(corpus)}, of which there is no text", nearest(corpus, known))
    passages = [
        _read_reference(reference, location / "references" / index, document)
        for index, reference in enumerate(_parse_list(row["references"], location / "references"))
    ]
    text = read_string(row["question"], location / "question")
    if text is None or document is None:
        return None
    return Query(
        id=f"{corpus}-{number}",
        text=text,
        facts=distinct_facts((passage,) for passage in passages if passage is not None),
        tags=(corpus,),
    )


def _parse_list(text: str, location: Location) -> list[Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        location.fault(f"{quoted(text)}, which is not JSON ({error})", "a list of references as JSON")
        return []
    if isinstance(value, list):
        return value
    location.fault(shown(value), "a list of references")
    return []


def _read_reference(value: Any, location: Location, document: Document | None) -> Passage | None:
    """Return the span that a reference describes; None, and a fault, when the text there is another."""
    if not isinstance(value, dict):
        location.fault(shown(value), f"an object with {', '.join(_FIELDS)}")
        return None
    missing = [name for name in _FIELDS if name not in value]
    for name in missing:
        (location / name).fault("no such field", f"an object with {', '.join(_FIELDS)}")
    if not check_fields(value, _FIELDS, location) or missing:
        return None
    content = read_string(value["content"], location / "content")
    bounds = [_read_bound(value[name], location / name) for name in ("start_index", "end_index")]
    if document is None or content is None or bounds[0] is None or bounds[1] is None:
        return None
    start, end = bounds[0], bounds[1]
    length = len(document.text)
    if not start < end <= length:
        location.fault(f"the span from {start} to {end}", f"0 ≤ start < end ≤ {length}, the length of {document.id}")
        return None
    if document.text[start:end] != content:
        found = document.text[start:end]
        (location / "content").fault(shown(content), f"{shown(found)}, as {document.id} has it from {start} to {end}")
        return None
    return Passage(content, document.id, start, end)


def _read_bound(value: Any, location: Location) -> int | None:
    if type(value) is int and value >= 0:
        return value
    location.fault(shown(value), "an integer of 0 or more")
    return None
