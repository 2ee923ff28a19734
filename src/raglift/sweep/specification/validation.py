"""Validation of a sweep: every fault of every field, and cross-field validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError, create_model

from raglift.base.settings import hints_of
from raglift.base.validation import faults_of, path_text
from raglift.errors import Fault, SweepError
from raglift.records.dataset import Dataset
from raglift.sweep.specification.models import note_disagreements
from raglift.sweep.specification.ranges import expanded
from raglift.sweep.specification.values import Model, as_list

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.base.validation import Keys
    from raglift.sweep.specification.models import Note


Locate = Callable[["Keys"], str]
"""Says where a value is."""

_RANGED = ("chunkers", "embeddings", "retrievers", "rerankers")
"""The parts of the grid that may have ranges and choices."""
_REQUIRED = {
    "dataset": "the name of a corpus, or a path",
    "splitter": "a splitter, as recursive or my_rag:splitter",
    "hybrid": "the weights, as hybrid: {dense: 0.7, bm25: 0.3}",
    "system": "module:name, as my_rag:retriever",
}


@cache
def _form_of(model: type) -> TypeAdapter[Model]:
    """Return what pydantic validates the fields of a sweep with, from their annotations."""
    hints = hints_of(model)
    forms = {field.name: (hints[field.name], ...) for field in fields(model)}
    return TypeAdapter(create_model("Sweep", __base__=Model, **forms))  # type: ignore[call-overload]


def checked(
    model: type,
    given: Mapping[str, Any],
    defaults: Mapping[str, Any],
    locate: Locate | None = None,
    *,
    source: str = "Sweep",
    folder: Path | None = None,
) -> dict[str, Any]:
    """Return the fields of a sweep, checked and in their shortest form.

    Args:
        model: the class of the sweep, whose annotations say how each field is written.
        given: what was written for each field.
        defaults: what a field is that was left out.
        locate: says where a value is; by default by its path in the record.
        source: what the whole is called in an error.
        folder: what relative paths are relative to, and then returned in full; None leaves them as they are, relative
            to the working folder.

    Raises:
        SweepError: something that raglift cannot use; every fault is listed.
    """
    faults: list[tuple[list[int], Fault]] = []
    origins: dict[str, list[int]] = {}

    def note(keys: Keys, found: str, expected: str) -> None:
        if len(keys) > 1 and isinstance(keys[1], int) and keys[0] in origins:  # of what a range stands for
            keys = (keys[0], origins[str(keys[0])][keys[1]], *keys[2:])
        at = _within(given, keys)
        where = path_text(at) if locate is None else locate(at)
        fault = Fault(where, found, expected)
        if all(fault != known for _, known in faults):
            faults.append((_position(given, at), fault))

    without_ranges = dict(given)
    for part in _RANGED:
        if any(isinstance(each, Mapping) for each in as_list(given.get(part)) or ()):
            items = expanded(part, given[part], note)
            without_ranges[part] = [value for value, _ in items]
            origins[part] = [origin for _, origin in items]
    if not faults:
        values, faulty = _fields(_form_of(model), without_ranges, defaults, folder, note)
        note_disagreements(values, faulty, note)
    if faults:
        raise SweepError(source, [fault for _, fault in sorted(faults, key=lambda each: each[0])])
    return values


def _fields(
    form: TypeAdapter[Model], given: Mapping[str, Any], defaults: Mapping[str, Any], folder: Path | None, note: Note
) -> tuple[dict[str, Any], set[str]]:
    """Return the values of the fields that are right, and the names of those that are not."""
    try:
        return _validated(form, {**defaults, **given}, folder), set()
    except ValidationError as error:
        faulty = set()
        for keys, found, expected in faults_of(error, form, yaml=True, missing=_REQUIRED):
            faulty.add(str(keys[0]))
            note(keys, found, expected)
    right = {name: value for name, value in given.items() if name not in faulty}
    return _validated(form, {**defaults, "dataset": Dataset((), (), ""), **right}, folder), faulty


def _validated(form: TypeAdapter[Model], given: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    model = form.validate_python(dict(given), context={"folder": folder})
    return {name: getattr(model, name) for name in type(model).model_fields}


def _within(given: Any, keys: Keys) -> Keys:
    """Return a path without the list locations that only reading a single value as a list has added."""
    kept: list[str | int] = []
    for key in keys:
        if isinstance(key, str) and isinstance(given, Mapping):
            kept.append(key)
            given = given.get(key)
        elif isinstance(key, int) and isinstance(given, (list, tuple, range)) and key < len(given):
            kept.append(key)
            given = given[key]
    return tuple(kept)


def _position(given: Any, keys: Keys) -> list[int]:
    """Return what sorts paths in the order in which their values were written; what was left out goes last."""
    position = []
    for key in keys:
        if isinstance(key, int):
            position.append(key)
            given = given[key]
        else:
            names = list(given)
            position.append(names.index(key) if key in names else len(names))
            given = given.get(key)
    return position
