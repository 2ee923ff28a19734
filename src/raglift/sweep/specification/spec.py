"""A sweep's fields, checked: every fault of every field, and of what the fields say together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from raglift.dataset.strict_yaml import path_text
from raglift.errors import Fault, SweepError
from raglift.faults import nearest, quoted
from raglift.records import Dataset
from raglift.sweep.specification.kinds import TAGS
from raglift.sweep.specification.models import SweepModel, fields_at
from raglift.sweep.specification.together import note_disagreements
from raglift.sweep.specification.values import kind

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_core import ErrorDetails

    from raglift.dataset.strict_yaml import Keys
    from raglift.sweep.specification.together import Note

__all__ = ["Locate", "checked"]

Locate = Callable[["Keys"], str]
"""Says where a value is."""

_DICT_KEY = "[key]"  # what pydantic adds to the path of a mapping's key
_REQUIRED = {
    "dataset": "the name of a corpus, or a path",
    "splitter": "a splitter, as recursive or langchain.RecursiveCharacterTextSplitter",
    "hybrid": "the weights, as hybrid: {dense: 0.7, bm25: 0.3}",
    "system": "module:name, as my_rag:retriever",
}


def checked(
    given: Mapping[str, Any],
    defaults: Mapping[str, Any],
    locate: Locate | None = None,
    *,
    source: str = "Sweep",
    folder: Path | None = None,
) -> dict[str, Any]:
    """Return the fields of a sweep, checked and in their shortest form.

    Args:
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

    def note(keys: Keys, found: str, expected: str) -> None:
        at = _within(given, keys)
        where = path_text(at) if locate is None else locate(at)
        faults.append((_position(given, at), Fault(where, found, expected)))

    values, faulty = _fields(given, defaults, folder, note)
    note_disagreements(values, faulty, note)
    if faults:
        raise SweepError(source, [fault for _, fault in sorted(faults, key=lambda each: each[0])])
    return values


def _fields(
    given: Mapping[str, Any], defaults: Mapping[str, Any], folder: Path | None, note: Note
) -> tuple[dict[str, Any], set[str]]:
    """Return the values of the fields that are right, and the names of those that are not."""
    try:
        return _validated({**defaults, **given}, folder), set()
    except ValidationError as error:
        faulty = set()
        for detail in error.errors(include_url=False):
            keys = tuple(key for key in detail["loc"] if key not in (*TAGS, _DICT_KEY))
            faulty.add(str(keys[0]))
            note(keys, *_worded(detail, keys))
    right = {name: value for name, value in given.items() if name not in faulty}
    return _validated({**defaults, "dataset": Dataset((), (), ""), **right}, folder), faulty


def _validated(given: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    model = SweepModel.model_validate(dict(given), context={"folder": folder})
    return {name: getattr(model, name) for name in SweepModel.model_fields}


def _worded(detail: ErrorDetails, keys: Keys) -> tuple[str, str]:
    """Return what was found and what was expected, of an error of pydantic's."""
    context, last = detail.get("ctx", {}), str(keys[-1])
    match detail["type"]:
        case "raglift":
            return context["found"], context["expected"]
        case "extra_forbidden":
            return f"an unknown field {quoted(last)}", nearest(last, fields_at(keys[:-1]))
        case "missing":
            return "nothing", _REQUIRED[last]
        case "list_type":
            return kind(detail["input"]), "a list"
        case "dict_type" | "model_type":
            return kind(detail["input"]), "a mapping"
        case _:
            return kind(detail["input"]), detail["msg"]


def _within(given: Any, keys: Keys) -> Keys:
    """Return a path without the list places that only reading a single value as a list has added."""
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
