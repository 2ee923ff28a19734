"""`read_qrels`: which ids are relevant to which query, from qrels or from a dataset whose labels are ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.dataset.decoding import lines_of
from raglift.dataset.formats.whole_documents import judged_document
from raglift.errors import DatasetError
from raglift.faults import Place
from raglift.loading import load_dataset
from raglift.paths import is_file, is_folder, user_path
from raglift.records.passages import read_string
from raglift.run_files.forms import QUERY_ID, form_of
from raglift.run_files.reading.blocks import LONGEST_ROW, enough, opened
from raglift.run_files.reading.gathering import Labels, grade_of, read_grade
from raglift.run_files.reading.json_lines import first_object, read_json_labels
from raglift.run_files.reading.parquet import read_parquet_labels
from raglift.run_files.reading.trec import read_trec_qrels

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from raglift.errors import Fault
    from raglift.records import Dataset, Passage

__all__ = ["ids_of", "read_qrels"]

_BEIR_HEADER = ["query-id", "corpus-id", "score"]
_OTHER_DATASETS = (".csv", ".json")


def read_qrels(
    path: str | os.PathLike[str], *, form: str | None = None, trec_eval: int = 9
) -> dict[str, dict[str, int]]:
    """Read which ids are relevant to which query, and how much: for each query id, the grade of each judged id.

    A grade of 1 or more is relevant, and 0 or less was judged irrelevant.

    Args:
        path: TREC qrels, a BEIR file of qrels, JSON Lines with `query_id`, `id` and `grade`, or Parquet with these
            columns. Anything else that `rl.load_dataset` reads (a folder, a `.jsonl` file of queries, the name of a
            corpus) will do where each label is one id of a chunk or one whole document.
        form: "trec", "jsonl" or "parquet"; by default what the file's ending says, and "trec" for any other ending.
        trec_eval: as which version reads TREC qrels: 10 leaves out lines that begin with `#`, 9 has no comments.

    Raises:
        DatasetError: the labels cannot be read or are malformed, or are not ids; every fault is listed, up to 1,000.
        ConfigurationError: there is no such form.
    """
    given, path = path, user_path(path)
    chosen = form_of(path, form)
    if form is None and _is_dataset(path):
        return ids_of(load_dataset(given))
    faults: list[Fault] = []
    place = Place(path.name or str(path), faults)
    if chosen == "jsonl":
        labels = read_json_labels(path, place)
    elif chosen == "parquet":
        labels = read_parquet_labels(path, place)
    elif _is_from_beir(path):
        labels = _read_beir_qrels(path, place)
    else:
        labels = read_trec_qrels(path, place, trec_eval)
    if labels is None:
        raise DatasetError(str(path), faults)
    return labels


def _is_dataset(path: Path) -> bool:
    if not is_file(path):
        return is_folder(path) or not (path.suffix or path.parent.name)
    if path.suffix.lower() in _OTHER_DATASETS:
        return True
    first = first_object(path) if form_of(path) == "jsonl" else {}
    return bool(first) and QUERY_ID not in first


def ids_of(dataset: Dataset) -> dict[str, dict[str, int]]:
    """Return the grade of each judged id of each query of a dataset whose labels are ids or whole documents.

    Queries that nobody labelled, or that the corpus does not answer, are left out.

    Raises:
        DatasetError: a label is something else, or a fact has alternatives; every such query is listed.
    """
    faults: list[Fault] = []
    place = Place(dataset.name or "labels", faults)
    found = {}
    for query in dataset.queries:
        passages = [*(fact.passages for fact in query.facts), *((passage,) for passage in query.judged_irrelevant)]
        if not query.answerable or not passages:
            continue
        ids = [_id_of(of_fact[0], dataset) if len(of_fact) == 1 else None for of_fact in passages]
        if None in ids:
            wrong = passages[ids.index(None)]
            what = "a text or a part of a document" if len(wrong) == 1 else f"a fact with {len(wrong)} alternatives"
            (place / query.id).fault(
                what, "labels that are one id each; raglift evaluate and rescore match texts and alternatives"
            )
        found[query.id] = {id_: of_fact[0].grade for id_, of_fact in zip(ids, passages, strict=True) if id_ is not None}
    if faults:
        raise DatasetError(dataset.name or "labels", faults, "nothing was scored")
    return found


def _id_of(passage: Passage, dataset: Dataset) -> str | None:
    return passage.chunk_id if passage.chunk_id is not None else judged_document(passage, dataset.document_by_id)


def _is_from_beir(path: Path) -> bool:
    ignored = Place(path.name, [])
    with opened(path, ignored) as file:
        for _, line in lines_of(file, ignored, longest=LONGEST_ROW) if file is not None else ():
            return line.split() == _BEIR_HEADER
    return False


def _read_beir_qrels(path: Path, place: Place) -> dict[str, dict[str, int]] | None:
    found = Labels()
    expected = f"3 columns with tabs between them: {', '.join(_BEIR_HEADER)}"
    with opened(path, place) as file:
        for here, line in lines_of(file, place, longest=LONGEST_ROW) if file is not None else ():
            columns = line.split("\t")
            if line.split() == _BEIR_HEADER:
                continue
            if len(columns) != len(_BEIR_HEADER):
                here.fault(f"{len(columns)} columns", expected)
            else:
                _add_judgement(columns, here, found)
            if enough(here, expected):
                break
    return None if place.faults else found.grades


def _add_judgement(columns: list[str], here: Place, found: Labels) -> None:
    query, id_ = (read_string(columns[number], here / _BEIR_HEADER[number]) for number in (0, 1))
    grade = read_grade(grade_of(columns[2].strip()), here / _BEIR_HEADER[2])
    if query is not None and id_ is not None and grade is not None:
        found.add(here, query, id_, grade)
