"""The estimate of label error that is kept in a small file beside the labels."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from raglift.base.limits import is_file, is_folder
from raglift.base.replacing import replacing_file
from raglift.base.strict_files import parse_text, read_text
from raglift.base.validation import Location, faults_of, path_text
from raglift.errors import DatasetError, Fault
from raglift.records.dataset import LabelError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from raglift.records.labels import Query


_QUERIES = "queries.jsonl"


class _Kept(BaseModel):
    """What the file says."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    share: Annotated[float, Field(ge=0, le=1)]
    facts: Annotated[int, Field(ge=0, lt=2**53)]
    labels: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


def label_error_file(labels: Path) -> Path:
    """Return the file that an estimate for labels is kept in, as `queries.label_error.json`.

    Args:
        labels: the file or folder of the labels; of a folder with `queries.jsonl`, that file is meant.
    """
    if is_folder(labels) and is_file(labels / _QUERIES):
        labels = labels / _QUERIES
    return labels.with_name(f"{labels.stem}.label_error.json")


def write_label_error(labels: Path, queries: Sequence[Query], error: LabelError) -> Path:
    """Keep which share of some labels may be wrong beside them, and return the file.

    Args:
        labels: the file or folder of the labels.
        queries: with the labels that the estimate is of.
        error: the estimate.

    Raises:
        DatasetError: the file cannot be written.
    """
    place = label_error_file(labels)
    kept = _Kept(share=error.share, facts=error.facts, labels=_digest(queries))
    with replacing_file(place) as file:
        file.write(json.dumps(kept.model_dump()) + "\n")
    return place


def read_label_error(labels: Path, queries: Sequence[Query]) -> LabelError | None:
    """Return which share of some labels may be wrong, as it is kept beside them; None where nothing is.

    Args:
        labels: the file or folder of the labels.
        queries: with the labels as they are now; where they are others than those of the estimate, it is outdated.

    Raises:
        DatasetError: the file is malformed.
    """
    place = label_error_file(labels)
    if not is_file(place):
        return None
    faults: list[Fault] = []
    location = Location(place.name, faults)
    text = read_text(place, location)
    value = None if text is None else parse_text(text, location)
    if value is not None:
        try:
            kept = _Kept.model_validate(value)
        except ValidationError as error:
            faults += [
                Fault(f"{place.name}: {path_text(each.keys)}", each.found, each.expected)
                for each in faults_of(error, TypeAdapter(_Kept))
            ]
        else:
            return LabelError(kept.share, kept.facts, kept.labels != _digest(queries))
    raise DatasetError(str(place), faults)


def _digest(queries: Sequence[Query]) -> str:
    """Return a hash of the facts of queries: what was judged irrelevant is no part of them."""
    digest = hashlib.sha256()
    for query in queries:
        passages = [
            [(one.doc_id, one.start, one.end, one.chunk_id, one.text) for one in fact.passages] for fact in query.facts
        ]
        digest.update(repr((query.id, query.answerable, passages)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
