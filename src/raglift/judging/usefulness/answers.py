"""Answers to questions, from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.dataset.decoding import stream_lines
from raglift.dataset.strict_json import parse_object
from raglift.errors import DatasetError
from raglift.faults import Place, check_fields, quoted, shown

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.errors import Fault

__all__ = ["read_answers"]

_FIELDS = ("id", "answer")


def read_answers(path: Path) -> dict[str, str]:
    """Return the answer of each query: from JSON Lines of `{"id": …, "answer": …}`.

    Raises:
        DatasetError: there is no such file, or it is malformed; every fault is listed.
    """
    faults: list[Fault] = []
    place = Place(path.name, faults)
    answers: dict[str, str] = {}
    for here, line in stream_lines(path, place):
        entry = parse_object(line, here)
        if entry is None or not check_fields(entry, _FIELDS, here):
            continue
        wrong = [name for name in _FIELDS if not isinstance(entry.get(name), str) or not entry[name].strip()]
        for name in wrong:
            (here / name).fault(shown(entry[name]) if name in entry else "no such field", "a text that is not empty")
        if not wrong and entry["id"] in answers:
            (here / "id").fault(f"the id {quoted(entry['id'])} a second time", "one answer a query")
        elif not wrong:
            answers[entry["id"]] = entry["answer"]
    if not answers and not faults:
        place.fault("no answers", "one JSON object on each line")
    if faults:
        raise DatasetError(str(path), faults)
    return answers
