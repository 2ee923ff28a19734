"""Hits in a file, joined to the queries of a dataset by id or by question."""

from __future__ import annotations

import os
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rapidfuzz import process

from raglift.errors import DatasetError, Fault
from raglift.storage.rankings.files import has_enough_faults, read_file
from raglift.storage.rankings.forms import TEXTS, form_of
from raglift.storage.rankings.read import labelled_by_ids, read_run
from raglift.storage.rankings.read_json_lines import Line, first_object, holds_list, read_lines
from raglift.text.normalization import bounded_marks
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking
from raglift.utilities.display import counted
from raglift.utilities.limits import user_path
from raglift.utilities.strict_files import as_file
from raglift.utilities.validation import Location, quoted

if TYPE_CHECKING:
    from raglift.types.dataset import Dataset
    from raglift.types.labels import Query


_ALIKE = 60
"""From this similarity on, of 100, another question is shown as the nearest."""


@dataclass(frozen=True)
class JoinedHits:
    """The rankings of a file for the queries of a dataset."""

    path: Path
    """The file."""
    dataset: Dataset
    """The dataset, labelled by ids where the hits are ids without texts."""
    rankings: Mapping[str, Ranking]
    """For each query that the file has, by its id, what came back for it."""
    notes: tuple[str, ...] = ()
    """What a reader of the figures must know."""


def read_hits(path: str | os.PathLike[str], dataset: Dataset, *, form: str | None = None) -> JoinedHits:
    """Read the hits in a file: texts, ids or both for each query, best first.

    Args:
        path: JSON Lines with an object for each query; or what `read_run` reads, whose hits are ids.
        dataset: the queries. A line is joined by its id if that is one of theirs, else by its question.
        form: "trec", "jsonl" or "parquet"; by default what the file's ending says, and "trec" for any other ending.

    Raises:
        DatasetError: the file cannot be read or is malformed, a query is not in the dataset or comes twice, or hits and
            labels have nothing to be compared by; every fault is listed.
        ConfigurationError: there is no such form.
    """
    path = user_path(path)
    faults: list[Fault] = []
    location = Location(path.name or str(path), faults)
    notes: tuple[str, ...] = ()
    with as_file(path) as file:
        is_list = form_of(path, form) == "jsonl" and holds_list(
            read_file(file, Location("", []), lambda: first_object(file)) or {}
        )
        if is_list:
            rankings = _joined(file, location, dataset)
        else:
            run = read_run(file, form=form or form_of(path))
            found = [query.id for query in dataset if query.id in run]
            rankings = {id_: Ranking.of((Chunk("", hit), None) for hit in run[id_]) for id_ in found}
            notes = run.notes + _without_labels(len(run) - len(rankings))
    if not faults and not rankings:
        location.fault("rankings of none of the queries", f"rankings of queries of {dataset.name}, with the same ids")
    if faults:
        raise DatasetError(str(path), faults)
    return JoinedHits(path, _comparable(dataset, rankings, location, path), rankings, notes)


def _without_labels(count: int) -> tuple[str, ...]:
    return (f"{counted(count, 'ranking')} of queries that the labels do not have: not scored",) if count else ()


def _joined(path: Path, location: Location, dataset: Dataset) -> dict[str, Ranking]:
    """Return the ranking of each query that has a line."""
    by_question: dict[str, list[Query]] = defaultdict(list)
    for query in dataset:
        by_question[_normalized(query.text)].append(query)
    first: dict[str, Location] = {}
    rankings: dict[str, Ranking] = {}
    for line in read_file(path, location, lambda: list(read_lines(path, location))) or ():
        asked = _query_of(line, dataset, by_question)
        ranking = Ranking.of((hit.chunk, hit.score) for hit in line.hits)
        if asked is not None:
            earlier = first.setdefault(asked.id, line.location)
            rankings.setdefault(asked.id, ranking)
            if earlier is not line.location:
                found = f"the query {quoted(asked.id)} a second time, first on line {earlier.line}"
                line.location.fault(found, "one line for each query")
        if has_enough_faults(location, "one line for each query"):
            break
    return rankings


def _query_of(line: Line, dataset: Dataset, by_question: Mapping[str, list[Query]]) -> Query | None:
    """Return the query that a line is about; None, and a fault, if that is not known."""
    known, asked = dataset.query_by_id.get(line.id or ""), line.question
    here = line.location
    if known is not None:
        if asked is None or _normalized(asked) == _normalized(known.text):
            return known
        here.fault(
            f"the question {quoted(asked)} with the id {quoted(known.id)}", f"that of the labels: {quoted(known.text)}"
        )
    elif asked is None:
        _unknown(here / "id", "id", str(line.id), dataset.query_by_id, dataset)
    else:
        found = by_question.get(_normalized(asked), [])
        if len(found) == 1:
            return found[0]
        if found:
            ids = " and ".join(quoted(query.id) for query in found)
            (here / "question").fault(f"the question of {len(found)} queries, {ids}", "the id of the query beside it")
        else:
            _unknown(here / "question", "question", asked, [query.text for query in dataset], dataset)
    return None


def _unknown(here: Location, what: str, found: str, known: Collection[str], dataset: Dataset) -> None:
    """Note that a query is none of the dataset's; faults that are shown have the nearest one."""
    is_shown = len(here.faults) < DatasetError.SHOWN
    near = process.extractOne(found, list(known), score_cutoff=_ALIKE) if is_shown else None
    nearest = f"; nearest: {quoted(near[0])}" if near else ""
    here.fault(f"the unknown {what} {quoted(found)}", f"the {what} of a query of {dataset.name}{nearest}")


def _normalized(question: str) -> str:
    return " ".join(unicodedata.normalize("NFC", bounded_marks(question)).split())


def _comparable(dataset: Dataset, rankings: Mapping[str, Ranking], location: Location, path: Path) -> Dataset:
    """Return the dataset by ids where the hits have no texts."""
    hits = [hit.chunk for ranking in rankings.values() for hit in ranking.hits]
    labels = [passage for query in dataset for fact in query.facts for passage in fact.passages]
    if hits and not any(chunk.text for chunk in hits):
        by_ids = labelled_by_ids(dataset)
        if by_ids is not None:
            return by_ids
        if not any(passage.chunk_id for passage in labels):
            location.fault("ids without texts", f'texts, as {{"{TEXTS}": ["…"]}}: the labels are texts')
    elif labels and not any(passage.text for passage in labels) and not all(chunk.has_own_id for chunk in hits):
        location.fault("texts without ids", f"the id of each hit: the labels of {dataset.name} are ids")
    if location.faults:
        raise DatasetError(str(path), location.faults, "nothing was scored")
    return dataset
