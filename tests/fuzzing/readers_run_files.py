"""Rankings and judgments in files, in all forms."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from raglift.errors import ConfigurationError, CorpusError, DatasetError
from raglift.storage.rankings.hits import JoinedHits, read_hits
from raglift.storage.rankings.read import FileRankings, read_qrels, read_run
from raglift.types.dataset import Dataset

from .reader import Reader

__all__ = ["READERS"]

_HITS = {"q1": {"c1": 3.5, "c2": 2.0, "c3": 2.0}, "2": {"c1": 0.5, "ü/9": -1.0}, "q3": {"c7": 12.0}}
_GRADES = {"q1": {"c1": 2, "c3": 1, "c9": 0}, "2": {"ü/9": 1}, "q3": {"c7": 3}}


def _write(text: str, name: str) -> Callable[[Path], object]:
    data = text.encode()
    return lambda folder: (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


def _lines(entries: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)


def _each(table: Mapping[str, Mapping[str, float]], name: str) -> list[dict[str, Any]]:
    return [
        {"query_id": query, "id": id_, name: value}
        for query, of_query in table.items()
        for id_, value in of_query.items()
    ]


def _parquet(entries: list[dict[str, Any]], name: str) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(entries), folder / name)

    return write


def _run(name: str, folder: Path) -> FileRankings:
    return read_run(folder / name)


def _qrels(name: str, folder: Path) -> dict[str, dict[str, int]]:
    return read_qrels(folder / name)


def _hits(folder: Path) -> JoinedHits:
    return read_hits(folder / "hits.jsonl", _QUERIES)


def _valid_hits(hits: JoinedHits) -> None:
    assert set(hits.rankings) <= set(_QUERIES.query_by_id)
    assert all(type(hit.chunk.text) is str for ranking in hits.rankings.values() for hit in ranking)


def _valid_run(rankings: FileRankings) -> None:
    assert sum(len(rankings[query]) for query in rankings) == rankings.hits
    for query in rankings:
        ids = rankings[query]
        assert len(ids) == len(set(ids)) == rankings.length(query)
        assert all(_is_word(id_) for id_ in (query, *ids))


def _is_word(value: object) -> bool:
    """Whether a value is what trec_eval takes for an id: white space that C does not know may be in one."""
    return isinstance(value, str) and bool(value.strip(" \t\v\f\r\n")) and value.encode() is not None


def _valid_qrels(labels: dict[str, dict[str, int]]) -> None:
    for query, of_query in labels.items():
        assert all(_is_word(id_) for id_ in (query, *of_query))
        assert all(type(grade) is int and grade <= 1000 for grade in of_query.values())


_TREC_RUN = "".join(f"{hit['query_id']} Q0 {hit['id']} 1 {hit['score']} tag\n" for hit in _each(_HITS, "score"))
_TREC_QRELS = "".join(f"{hit['query_id']} 0 {hit['id']} {hit['grade']}\n" for hit in _each(_GRADES, "grade"))
_BEIR_QRELS = "query-id\tcorpus-id\tscore\n" + "".join(
    f"{hit['query_id']}\t{hit['id']}\t{hit['grade']}\n" for hit in _each(_GRADES, "grade")
)
_TEXTS = [
    {"id": "q1", "hits": [{"id": "c1", "text": "at dusk", "doc": "d", "start": 1, "end": 8, "score": 2.5}, "c2"]},
    {"question": "Who, ü?", "texts": ["in fog", "ü"]},
]
_QUERIES = Dataset.from_dict([{"id": "q1", "question": "When?"}, {"question": "Who, ü?", "passages": ["in fog"]}])
_LISTS = [
    {"query_id": query, "hits": [{"id": id_, "score": score} for id_, score in hits.items()]}
    for query, hits in _HITS.items()
]

_RUNS = {
    "run.trec": _write(_TREC_RUN, "run.trec"),
    "run.trec.gz": _write(_TREC_RUN, "run.trec.gz"),
    "run.jsonl": _write(_lines(_each(_HITS, "score")), "run.jsonl"),
    "lists.jsonl": _write(_lines(_LISTS), "lists.jsonl"),
    "run.parquet": _parquet(_each(_HITS, "score"), "run.parquet"),
}
_LABELS = {
    "qrels.trec": _write(_TREC_QRELS, "qrels.trec"),
    "qrels.tsv": _write(_BEIR_QRELS, "qrels.tsv"),
    "qrels.jsonl": _write(_lines(_each(_GRADES, "grade")), "qrels.jsonl"),
}
_OF_ANYTHING = (DatasetError, CorpusError, ConfigurationError)
"""Qrels may be any dataset, so damaged ones may be taken for one."""

READERS: tuple[Reader, ...] = (
    *(Reader(f"rankings, {name}", write, partial(_run, name), check=_valid_run) for name, write in _RUNS.items()),
    *(
        Reader(f"judgements, {name}", write, partial(_qrels, name), _OF_ANYTHING, _valid_qrels)
        for name, write in _LABELS.items()
    ),
    Reader("hits of questions", _write(_lines(_TEXTS), "hits.jsonl"), _hits, check=_valid_hits),
)
"""All of the readers here."""
