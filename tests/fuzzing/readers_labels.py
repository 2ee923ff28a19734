"""Files next to the labels: answers, rubrics, labels that are written anew, marks of what may be replaced."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from raglift.apps.review.labels_file import Content, LabelsFile
from raglift.auditing.relabelling import Relabelling, relabel
from raglift.components.static_model import _read_record
from raglift.datasets.jsonl import read_queries
from raglift.errors import ConfigurationError, DatasetError
from raglift.judging.human_grades import HumanSample, read_human_sample
from raglift.judging.rubrics import silent_grades
from raglift.records.documents import Document
from raglift.storage.rankings.exporting import check_free

from .reader import Reader

__all__ = ["READERS"]

_TEXT = "The cat sat on the mat. It was warm there, and it stayed until the evening. Then it left."
_DOCUMENTS = (Document("cat.txt", _TEXT), Document("dog.txt", "Dogs sleep by day. Then they wake."))
_QUERIES: tuple[dict[str, Any], ...] = (
    {"id": "q1", "query": "Where?", "relevant": ["The cat sat on the mat.", [{"text": "warm there", "grade": 2}]]},
    {"id": "q2", "query": "When?", "relevant": [{"text": "until the evening", "doc": "cat.txt"}], "tags": ["time"]},
    {"id": "q3", "query": "And dogs?", "relevant": ["Then"], "judged_irrelevant": ["they wake"]},
)
_RUBRIC = "3: answers in full\n2: answers in part\n1: speaks of it\n0: of something else\n"


def _lines(name: str, *entries: dict[str, Any]) -> Callable[[Path], object]:
    text = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


def _text(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


def _relabel(folder: Path) -> Relabelling:
    return relabel(folder / "queries.jsonl", _DOCUMENTS)


def _still_labels(found: Relabelling) -> None:
    """Assert that what would be written can be read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "queries.jsonl"
        path.write_text("".join(line + "\n" for line in found.lines), encoding="utf-8")
        assert len(read_queries(path, _DOCUMENTS)) == len(found.lines)


def _reviewed(folder: Path) -> Content:
    return LabelsFile(folder / "queries.jsonl", _DOCUMENTS).read()


def _saved_again(content: Content) -> None:
    """Assert that a change of one query is read back, and leaves the lines of the others as they are."""
    if not content.queries:  # there is no file yet
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "queries.jsonl"
        path.write_text("".join(line + "\n" for line in content.lines.values()), encoding="utf-8", newline="\n")
        file = LabelsFile(path, _DOCUMENTS)
        file.open(tuple(content.queries.values()))
        changed, *others = content.queries
        query = replace(content.queries[changed], tags=("seen",))
        try:
            file.write({changed: file.line_of(query)})
        except DatasetError:  # a label that would be read back as another, as quotes that occur twice
            return
        again = file.read()
        assert again.queries[changed] == query
        assert [again.lines[other] for other in others] == [content.lines[other] for other in others]


def _export(folder: Path) -> None:
    (folder / "run.trec").write_text("q1 Q0 c1 1 1.0 t\n", encoding="utf-8")
    manifest = {"files": [{"name": "run.trec", "holds": "rankings"}], "raglift": "1.0"}
    (folder / "export.json").write_text(json.dumps(manifest), encoding="utf-8")


_SAMPLED = {"query": "q1", "chunk": "c1", "grade": 2, "probability": 0.5, "text": "It was warm.", "doc": "cat.txt"}
_SAMPLED |= {"question": "Where?", "sampled": "pairs", "k": 10, "of": 6, "seed": 0, "frame": "0123456789abcdef"}


def _sampled(found: HumanSample) -> None:
    """Assert that what was read can be written and read again."""
    assert len(found)
    assert all(0 < pair.probability <= 1 and (pair.grade is None or pair.grade >= 0) for pair in found.pairs)
    with tempfile.TemporaryDirectory() as folder:
        assert read_human_sample(found.write(Path(folder) / "again.jsonl")) == found


READERS: tuple[Reader, ...] = (
    Reader(
        "human grades",
        _lines(
            "to_grade.jsonl",
            _SAMPLED,
            _SAMPLED | {"chunk": "c2", "grade": None, "start": 0, "end": 9},
            _SAMPLED | {"query": "q2", "probability": 1, "text": "é"},
        ),
        lambda folder: read_human_sample(folder / "to_grade.jsonl"),
        check=_sampled,
    ),
    Reader("labels under review", _lines("queries.jsonl", *_QUERIES), _reviewed, check=_saved_again),
    Reader("labels to be moved", _lines("queries.jsonl", *_QUERIES), _relabel, check=_still_labels),
    Reader(
        "rubric",
        lambda folder: (folder / "rubric.txt").write_text(_RUBRIC, encoding="utf-8"),
        lambda folder: silent_grades(folder / "rubric.txt", 3),
        (ConfigurationError,),
        codecs={"*": "bytes"},
    ),
    Reader(
        "manifest of an export",
        _export,
        lambda folder: check_free(folder, overwrite=True),
        (DatasetError,),
        targets=("export.json",),
    ),
    Reader(
        "hashes of a distilled model",
        _text("sha256.json", json.dumps({"model.safetensors": "ab", "tokenizer.json": "cd"})),
        _read_record,
        (),
        lambda found: isinstance(found, dict),
    ),
)
"""All of the readers here."""
