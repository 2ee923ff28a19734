"""Runs and relevance judgments (qrels) read from files, in any of the formats."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from raglift.datasets.formats.beir import read_judgments
from raglift.datasets.formats.judged_documents import judged_document
from raglift.datasets.formats.rows import read_rows
from raglift.datasets.loading import load_dataset
from raglift.errors import DatasetError, Fault
from raglift.matching.numbered import NumberedLabels, texts_at
from raglift.storage.rankings import read_json_lines, read_parquet, read_trec
from raglift.storage.rankings.columns import (
    Hits,
    Labels,
    Row,
    contradicted_queries,
    hits_of_rows,
    hits_of_table,
    labels_of_rows,
    labels_of_table,
    ranking_order,
)
from raglift.storage.rankings.files import LONGEST_ROW, Parser, open_unpacked, read_file
from raglift.storage.rankings.forms import COMPRESSED, QUERY_ID, Form, form_of
from raglift.types.labels import Fact, Passage
from raglift.utilities.display import counted
from raglift.utilities.limits import is_file, is_folder, user_path
from raglift.utilities.strict_files import as_file
from raglift.utilities.validation import Location, quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from raglift.types.dataset import Dataset


T = TypeVar("T")

_RUNS: Mapping[Form, Parser] = {
    "trec": read_trec.RUN,
    "jsonl": read_json_lines.RUN,
    "parquet": read_parquet.RUN,
}
_LABELS: Mapping[Form, Parser] = {
    "trec": read_trec.QRELS,
    "jsonl": read_json_lines.LABELS,
    "parquet": read_parquet.LABELS,
}


def _read(
    path: Path,
    location: Location,
    parser: Parser,
    of_table: Callable[[pa.Table], T | None],
    of_rows: Callable[[Iterable[Row]], T],
) -> T | None:
    """Return what a file says, read in bulk if it is regular; None, and faults, if it is malformed."""

    def in_bulk() -> T | None:
        table = parser.table(path)
        return None if table is None else of_table(table)

    found = read_file(path, location, in_bulk)
    if found is None and not location.faults:
        found = read_file(path, location, lambda: of_rows(parser.rows(path, location)))
    return None if location.faults else found


# `read_qrels`: which ids are relevant to which query, from qrels or from a dataset whose labels are ids.


_BEIR_HEADER = [b"query-id", b"corpus-id", b"score"]
_OTHER_DATASETS = (".csv", ".json")


def read_qrels(path: str | os.PathLike[str], *, form: str | None = None) -> dict[str, dict[str, int]]:
    """Read which ids are relevant to which query, and how much: for each query id, the grade of each judged id.

    A grade of 1 or more is relevant, and 0 or less was judged irrelevant.

    Args:
        path: TREC qrels, a BEIR file of qrels, JSON Lines with `query_id`, `id` and `grade`, or Parquet with these
            columns. Anything else that `rl.load_dataset` reads (a folder, a `.jsonl` file of queries, the name of a
            corpus) will do where each label is one id of a chunk or one whole document.
        form: "trec", "jsonl" or "parquet"; by default what the file's ending says, and "trec" for any other ending.

    Raises:
        DatasetError: the labels cannot be read or are malformed, or are not ids; every fault is listed, up to 1,000.
        ConfigurationError: there is no such form.
    """
    labels = read_labels(path, form=form)
    return labels.to_dict() if isinstance(labels, NumberedLabels) else labels


def read_labels(path: str | os.PathLike[str], *, form: str | None = None) -> Labels:
    """Return what `read_qrels` does, of which a large file is held as numbers."""
    given, path = path, user_path(path)
    chosen = form_of(path, form)
    if form is None and is_dataset(path):
        return ids_of(load_dataset(given))
    faults: list[Fault] = []
    location = Location(path.name or str(path), faults)
    labels: Labels | None
    with as_file(path) as file:
        if chosen == "trec" and _is_from_beir(file):
            labels = _read_beir_qrels(file, location)
        else:
            labels = _read(file, location, _LABELS[chosen], labels_of_table, labels_of_rows)
    if labels is None:
        raise DatasetError(str(path), faults)
    return labels


def is_dataset(path: Path) -> bool:
    """Whether labels are a dataset with questions; else they are a table of judged ids."""
    if not is_file(path):
        return is_folder(path) or not (path.suffix or path.parent.name)
    if path.suffix.lower() in _OTHER_DATASETS:
        return True
    if form_of(path) != "jsonl":
        return False
    first = read_file(path, Location(path.name, []), lambda: read_json_lines.first_object(path)) or {}
    return bool(first) and QUERY_ID not in first


def ids_of(dataset: Dataset) -> dict[str, dict[str, int]]:
    """Return the grade of each judged id of each query of a dataset whose labels are ids or whole documents.

    Queries that nobody labelled, or that the corpus does not answer, are left out.
    """
    faults: list[Fault] = []
    location = Location(dataset.name or "labels", faults)
    found = {}
    for query in dataset.queries:
        passages = [*(fact.passages for fact in query.facts), *((passage,) for passage in query.judged_irrelevant)]
        if not query.answerable or not passages:
            continue
        ids = [_id_of(of_fact[0], dataset) if len(of_fact) == 1 else None for of_fact in passages]
        if None in ids:
            wrong = passages[ids.index(None)]
            what = "a text or a part of a document" if len(wrong) == 1 else f"a fact with {len(wrong)} alternatives"
            (location / query.id).fault(
                what, "labels that are one id each; raglift evaluate and rescore match texts and alternatives"
            )
        found[query.id] = {id_: of_fact[0].grade for id_, of_fact in zip(ids, passages, strict=True) if id_ is not None}
    if faults:
        raise DatasetError(dataset.name or "labels", faults, "nothing was scored")
    return found


def labelled_by_ids(dataset: Dataset) -> Dataset | None:
    """Return a dataset whose labels are ids, also of whole documents; None if one is a text or a part of a document."""
    ids: dict[Passage, str | None] = {}
    for query in dataset.queries:
        for passages in (*(fact.passages for fact in query.facts), query.judged_irrelevant):
            ids |= {passage: _id_of(passage, dataset) for passage in passages}
    if None in ids.values():
        return None

    def by_id(passages: Iterable[Passage]) -> tuple[Passage, ...]:
        return tuple(Passage(chunk_id=ids[passage], grade=passage.grade) for passage in passages)

    queries = tuple(
        replace(
            query,
            facts=tuple(Fact(by_id(fact.passages)) for fact in query.facts),
            judged_irrelevant=by_id(query.judged_irrelevant),
        )
        for query in dataset.queries
    )
    return replace(dataset, queries=queries, documents=())


def _id_of(passage: Passage, dataset: Dataset) -> str | None:
    return passage.chunk_id if passage.chunk_id is not None else judged_document(passage, dataset.document_by_id)


def _is_from_beir(path: Path) -> bool:
    def first_line() -> bytes:
        with open_unpacked(path) as file:
            return file.readline(LONGEST_ROW)

    unseen = Location(path.name, [])
    return (read_file(path, unseen, first_line) or b"").removeprefix(BOM_UTF8).split() == _BEIR_HEADER


def _read_beir_qrels(path: Path, location: Location) -> dict[str, dict[str, int]] | None:
    ending = COMPRESSED if path.name.lower().endswith(COMPRESSED) else ""
    judged = read_judgments(read_rows(path, location, quotes=False, name=f"qrels.tsv{ending}"))
    return None if location.faults else judged.grades


# `read_run`: the rankings in a file, in any of the formats.


class FileRankings(Mapping[str, list[str]]):
    """The rankings of a file: for each query id the ids that came back, best first.

    It holds a number for each hit, and makes the list of a query when that is asked for: of 1,000,000 hits only those
    of one query are texts at a time.

    Attributes:
        path: the file.
        hits: how many hits there are in all.
        notes: what a reader of figures made of them must know: ranks that contradict the scores.
        names: the ids of all hits, each once.
        ids: all rankings one after the other, best first: for each hit, which of `names` it is.
    """

    def __init__(self, path: Path, hits: Hits) -> None:
        self.path = path
        self.hits = len(hits.id)
        self.notes = tuple(_ranks_against_scores(hits))
        self.names = hits.names
        self.ids, bounds = ranking_order(hits)
        ends = bounds.tolist()
        self._place: dict[str, tuple[int, int]] = dict(zip(hits.queries, pairwise(ends), strict=True))

    def __getitem__(self, query_id: str) -> list[str]:
        """Return the ids of a query, best first.

        Raises:
            KeyError: the file says nothing of the query.
        """
        begin, end = self._place[query_id]
        return texts_at(self.names, self.ids[begin:end])

    def length(self, query_id: str) -> int:
        """Return how many hits a query has; 0 where the file says nothing of it."""
        begin, end = self.span(query_id)
        return end - begin

    def span(self, query_id: str) -> tuple[int, int]:
        """Return where the hits of a query begin and end in `ids`; equal where the file says nothing of it."""
        return self._place.get(query_id, (0, 0))

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._place

    def __repr__(self) -> str:
        return f"FileRankings({self.path.name!r}: {len(self):,} queries, {self.hits:,} hits)"


def _ranks_against_scores(hits: Hits) -> list[str]:
    found = contradicted_queries(hits)
    if not found:
        return []
    which = f"for {len(found):,} of {counted(len(hits.queries), 'query')}"
    contradicted = f"{which} the rank column contradicts the scores, as for {quoted(found[0])}"
    return [f"{contradicted}; the scores count, more first: turn their signs around if less is better"]


def read_run(path: str | os.PathLike[str], *, form: str | None = None) -> FileRankings:
    """Read the rankings in a file, to be scored by `rl.score_rankings`.

    In a TREC run the order of a query's hits is that of their scores, and where these are equal in 32 bits that of the
    ids, descending, as trec_eval has it; ranks that contradict the scores do not count, and `notes` says so. In JSON
    Lines a list of hits is in its own order, and objects of one hit each in that of their scores. In Parquet it is that
    of the column `rank`, else of `score`, else of the rows.

    Args:
        path: the file; it may be compressed with gzip, except for Parquet.
        form: "trec", "jsonl" or "parquet"; by default what the file's ending says, and "trec" for any other ending.

    Raises:
        DatasetError: the file cannot be read or is malformed; every fault is listed, up to 1,000.
        ConfigurationError: there is no such form.
    """
    path = user_path(path)
    faults: list[Fault] = []
    location = Location(path.name or str(path), faults)
    with as_file(path) as file:
        hits = _read(file, location, _RUNS[form_of(path, form)], hits_of_table, hits_of_rows)
    if hits is None:
        raise DatasetError(str(path), faults)
    return FileRankings(path, hits)
