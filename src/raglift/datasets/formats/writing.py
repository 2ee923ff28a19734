"""`write_dataset`: a dataset as raglift's own folder, or as BEIR's."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from raglift.datasets.formats import beir, own
from raglift.datasets.formats.judged_documents import judged_document
from raglift.datasets.jsonl import check_queries
from raglift.errors import ConfigurationError, DatasetError, Fault, LabelWarning
from raglift.utilities.limits import is_folder, is_there, user_path
from raglift.utilities.replacing import NOTHING_WRITTEN, staging_folder
from raglift.utilities.strict_files import survives_json
from raglift.utilities.validation import Location, quoted

if TYPE_CHECKING:
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Document
    from raglift.types.labels import Passage, Query


WrittenFormat = Literal["jsonl", "beir"]
"""The name of a format that `write_dataset` writes."""
WRITTEN_FORMATS: tuple[WrittenFormat, ...] = ("jsonl", "beir")
"""These formats."""
_ID = "an id without tabs and line ends, as BEIR has it"
_NOT_IN_A_LINE = re.compile(r"[\t\r\n\0]")


def write_dataset(
    dataset: Dataset,
    target: str | os.PathLike[str],
    *,
    format: WrittenFormat = "jsonl",  # noqa: A002 — as in load_dataset
) -> Path:
    """Write a dataset as raglift's own folder or as BEIR's, so that an equal dataset is read back.

    Labels that BEIR cannot hold are an error, and nothing is written: literal texts, spans, alternatives, unanswerable
    questions, filters. Who gave labels and how hits were chosen for judging are left out of BEIR, with a warning.

    Args:
        dataset: the dataset.
        target: a new folder, or an empty one.
        format: `jsonl`, raglift's own, or `beir`.

    Returns:
        The target.

    Raises:
        DatasetError: the dataset does not fit the format, or the target is taken or cannot be written; every fault is
            listed.
        ConfigurationError: a format that is not written.

    Warns:
        LabelWarning: BEIR has no place for who gave the labels.
    """
    if format not in WRITTEN_FORMATS:
        known = ", ".join(map(repr, WRITTEN_FORMATS))
        raise ConfigurationError(f"format: found {format!r}, which is not written; expected one of {known}")
    path = user_path(target)
    faults = _faults_of(dataset, format) or _faults_of_target(path)
    if faults:
        raise DatasetError(f"{path} (as {format})", faults, NOTHING_WRITTEN)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with staging_folder(path) as temporary:
            made = temporary / "written"
            made.mkdir()
            (own.write_own if format == "jsonl" else beir.write_beir)(dataset, made)
            if is_folder(path):
                path.rmdir()  # Windows puts no folder in an empty one's place
            made.replace(path)
    except UnicodeEncodeError as error:
        fault = Fault(str(path), f"half a surrogate pair ({error.object[error.start]!a})", "text that UTF-8 can write")
        raise DatasetError(str(path), [fault], NOTHING_WRITTEN) from error
    except (OSError, DatasetError) as error:
        # A writer of a part names where it wrote, which is gone: the location is what the user knows
        cause = error.__cause__ if isinstance(error, DatasetError) else error
        if not isinstance(cause, OSError):
            raise
        fault = Fault(str(path), f"a place that cannot be written ({cause.strerror or cause})", "a place to write to")
        raise DatasetError(str(path), [fault], NOTHING_WRITTEN) from cause
    if format == "beir" and dataset.label_sources.by_model:
        warnings.warn("BEIR has no place for who gave labels: left out", LabelWarning, 2)
    return path


def _faults_of_target(path: Path) -> list[Fault]:
    if path.is_symlink() or (is_there(path) and not (is_folder(path) and not any(path.iterdir()))):
        return [Fault(str(path), "something there already", "a new or empty folder")]
    return []


def _faults_of(dataset: Dataset, format: WrittenFormat) -> list[Fault]:  # noqa: A002 — as in write_dataset
    """Return what a format cannot hold of a dataset, and what is wrong with the dataset itself."""
    faults: list[Fault] = []
    check_queries(dataset.queries, dataset.documents, faults)
    if faults:
        return faults
    here = Location("documents", faults)
    for index, document in enumerate(dataset.documents):
        if format == "beir" and _NOT_IN_A_LINE.search(document.id):
            (here / index / "id").fault(quoted(document.id), _ID)
        lost = next((str(name) for name, value in document.metadata.items() if not survives_json({name: value})), None)
        if lost is not None:
            (here / index / "metadata").fault(quoted(lost), "what JSON gives back as it is")
    if format == "beir":
        if not dataset.documents:
            here.fault("none", "the documents: BEIR holds them")
        for index, query in enumerate(dataset.queries):
            _check_for_beir(query, dataset.document_by_id, Location("queries", faults, field=f"[{index}] ({query.id})"))
    return faults


def _check_for_beir(query: Query, documents: Mapping[str, Document], location: Location) -> None:
    """Note what BEIR cannot hold of a query."""
    if _NOT_IN_A_LINE.search(query.id):
        (location / "id").fault(quoted(query.id), _ID)
    if query.filter is not None:
        (location / "filter").fault(quoted(query.filter), "none: BEIR has no filters")
    if not query.answerable:
        (location / "answerable").fault("false", "only questions that the corpus answers, which is all BEIR has")
    passages = [(passage, location / "judged_irrelevant" / n) for n, passage in enumerate(query.judged_irrelevant)]
    for number, fact in enumerate(query.facts):
        here = location / "relevant" / number
        if len(fact.passages) > 1:
            here.fault(f"a fact with {len(fact.passages)} alternatives", "one passage: BEIR has no others")
        passages += [(passage, here) for passage in fact.passages]
    _check_passages_for_beir(passages, documents)


def _check_passages_for_beir(passages: Iterable[tuple[Passage, Location]], documents: Mapping[str, Document]) -> None:
    seen: set[str | None] = set()
    for passage, here in passages:
        doc_id = judged_document(passage, documents)
        if doc_id is None:
            here.fault("a text, a span or a chunk id", "a whole document, as BEIR has it")
        elif doc_id in seen:
            here.fault("a document of this query again", "each once, as BEIR has it")
        seen.add(doc_id)
