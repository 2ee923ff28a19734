"""Validation of a sweep: ranges in its grid become values, and every fault of every field is found."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError, create_model

from raglift.analysis.paired_statistics import is_quality, primary_of
from raglift.errors import ConfigurationError, Fault, SweepError
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import choose_metrics
from raglift.metrics.parsing import parse
from raglift.retrieval.models import EMBEDDED_MODEL
from raglift.retrieval.retrievers import RetrieverSpec
from raglift.sweep.specification.cells import NO_RERANKER, grid
from raglift.sweep.specification.models import DEFAULT_CHUNKER, Model, as_list
from raglift.types.dataset import Dataset
from raglift.utilities.settings import hints_of
from raglift.utilities.validation import Keys, faults_of, nearest, path_text, quoted, shown

_RANGE = {"from", "to", "step"}
_MOST_VALUES = 1_000
"""Of one range."""
_MOST_ITEMS = 20_000
"""Of one part of the grid."""

Note: TypeAlias = Callable[["Keys", str, str], None]
"""Notes that something else was found at a location than was expected."""


def expanded(part: str, written: Any, note: Note) -> list[tuple[Any, int]]:
    """Return every value of a part of the grid without ranges, and the position of what it was written as.

    A mapping of `from`, `to` and `step` is a range of numbers, both ends included; a list inside a mapping is a choice.
    Of an overlap that is not less than its size there is none.
    """
    found: list[tuple[Any, int]] = []
    faults = 0

    def noted(keys: Keys, what: str, expected: str) -> None:
        nonlocal faults
        faults += 1
        note(keys, what, expected)

    for origin, value in enumerate(written if isinstance(written, list) else [written]):
        keys: Keys = (part, origin) if isinstance(written, list) else (part,)
        if not isinstance(value, Mapping):
            found.append((value, origin))
            continue
        choices = [each for each in _choices(value, keys, noted) if not _overlaps_itself(each)]
        if not choices and not faults:
            noted(keys, "overlaps that are all at least as long as their chunks", "one that is shorter")
        found += [(each, origin) for each in itertools.islice(choices, _MOST_ITEMS + 1)]
        if len(found) > _MOST_ITEMS:
            noted((part,), f"more than {_MOST_ITEMS:,} values", "fewer, for example by larger steps")
            return []
    return found


def _choices(value: Any, keys: Keys, note: Note, *, is_inside: bool = False) -> Iterator[Any]:
    """Yield each value that something with ranges stands for."""
    if isinstance(value, Mapping) and is_inside and value.keys() & {"from", "to"}:
        yield from _numbers(value, keys, note)
    elif isinstance(value, Mapping):
        inner = [list(_choices(each, (*keys, str(key)), note, is_inside=True)) for key, each in value.items()]
        for combined in itertools.product(*inner):
            yield dict(zip(value, combined, strict=True))
    elif isinstance(value, list) and is_inside:
        for place, each in enumerate(value):
            yield from _choices(each, (*keys, place), note, is_inside=True)
    else:
        yield value


def _numbers(written: Mapping[Any, Any], keys: Keys, note: Note) -> Sequence[float]:
    """Return the numbers of a range, both ends included; whole ones as integers."""
    if written.keys() != _RANGE or not all(map(_is_number, written.values())):
        note(keys, shown(dict(written)), "three numbers, such as {from: 200, to: 2000, step: 200}")
        return ()
    low, high, step = (Decimal(str(written[name])) for name in ("from", "to", "step"))
    if step <= 0 or high < low:
        note(keys, f"from {low} to {high} by {step}", "a step above 0, and an end that is not before the start")
        return ()
    count = int((high - low) / step) + 1
    if count > _MOST_VALUES:
        note(keys, f"{count:,} values", f"at most {_MOST_VALUES:,}, for example by a larger step")
        return ()
    found = [low + step * number for number in range(count)]
    return [int(each) if each == each.to_integral_value() else float(each) for each in found]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _overlaps_itself(value: Any) -> bool:
    size, overlap = (value.get(name) if isinstance(value, Mapping) else None for name in ("size", "overlap"))
    return _is_number(size) and _is_number(overlap) and float(overlap or 0) >= float(size or 0)


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
    """
    faults: list[Fault] = []
    origins: dict[str, list[int]] = {}

    def note(keys: Keys, found: str, expected: str) -> None:
        if len(keys) > 1 and isinstance(keys[1], int) and keys[0] in origins:  # of what a range stands for
            keys = (keys[0], origins[str(keys[0])][keys[1]], *keys[2:])
        at = _within(given, keys)
        where = path_text(at) if locate is None else locate(at)
        fault = Fault(where, found, expected)
        if fault not in faults:
            faults.append(fault)

    without_ranges, found_origins = _without_ranges(given, note)
    origins.update(found_origins)
    if not faults:
        try:
            values = _validated(_form_of(model), {**defaults, **without_ranges}, folder)
        except ValidationError as error:
            for keys, found, expected in faults_of(error, _form_of(model), yaml=True, missing=_REQUIRED):
                note(keys, found, expected)
        else:
            _note_disagreements(values, note)
    if faults:
        raise SweepError(source, faults)
    return values


def _without_ranges(given: Mapping[str, Any], note: Note) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """Return the fields with a value for each that a range stands for, and the positions of what these were."""
    found, origins = dict(given), {}
    for part in _RANGED:
        if any(isinstance(each, Mapping) for each in as_list(given.get(part)) or ()):
            items = expanded(part, given[part], note)
            found[part] = [value for value, _ in items]
            origins[part] = [origin for _, origin in items]
    return found, origins


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


# How the fields fit together; each fault is reported where the user would fix it.


_GRID: dict[str, tuple[Any, ...]] = {
    "chunkers": (DEFAULT_CHUNKER,),
    "embeddings": (EMBEDDED_MODEL,),
    "retrievers": (RetrieverSpec(),),
}
"""The parts of the grid, and what they are unless said otherwise."""
_CELLS = {*_GRID, "rerankers", "exclude", "include", "systems"}


def _note_disagreements(values: dict[str, Any], note: Note) -> None:
    """Fill in the parts of the grid that were not named, and note what does not go together."""
    if _fill_grid(values, note):
        _note_exclusions(values, note)
    for name, times in Counter(system.name for system in values["systems"]).items():
        if times > 1:
            note(("systems",), f"the name {quoted(name)} {times} times", "a name of its own for each")
    _note_depths(values, note)
    _settle_primary(values, note)
    _note_threshold(values, note)
    if isinstance(values["dataset"], Dataset):
        for name in ("documents", "include_files", "encoding"):
            if values[name]:
                given = values[name] if isinstance(values[name], str) else ", ".join(values[name])
                note((name,), quoted(given), "none: a Dataset brings its own documents")


def _fill_grid(values: dict[str, Any], note: Note) -> bool:
    """Put in the defaults of the grid; return whether it has all that it needs, or is not wanted."""
    values["rerankers"] = values["rerankers"] or (NO_RERANKER,)
    if (values["include"] or values["systems"]) and not any(values[name] for name in _GRID):
        values |= dict.fromkeys(_GRID, ())
        return True
    for name, default in _GRID.items():
        if values[name] is None:
            values[name] = default
        elif not values[name]:
            note((name,), "an empty list", "at least one")
    return all(values[name] for name in _GRID)


def _note_exclusions(values: Mapping[str, Any], note: Note) -> None:
    """Note exclusions that leave out nothing, or everything."""
    lists = (values["chunkers"], values["embeddings"], values["retrievers"], values["rerankers"])
    cells, exclusions = grid(*lists), values["exclude"]
    for place, exclusion in enumerate(exclusions):
        unknown = [
            (part, value, known)
            for part, known in zip(("chunker", "embedding", "retriever", "reranker"), lists, strict=True)
            for value in getattr(exclusion, part) or ()
            if value not in known
        ]
        for part, value, known in unknown:
            note(("exclude", place, part), quoted(value), nearest(str(value), list(map(str, known))))
        if not unknown and not any(exclusion.matches(cell) for cell in cells):
            note(
                ("exclude", place),
                "an exclusion that leaves out no configuration",
                "values that a configuration of the grid has",
            )
    left = [cell for cell in cells if not any(exclusion.matches(cell) for exclusion in exclusions)]
    if exclusions and cells and not left and not (values["include"] or values["systems"]):
        note(("exclude",), "exclusions that leave out every configuration", "at least one configuration that is left")


def _note_depths(values: Mapping[str, Any], note: Note) -> None:
    """Note depths that exceed the candidates."""
    candidates = values["candidates"]
    expected = f"at most {candidates}, the number of candidates; or more candidates"
    for place, k in enumerate(values["ks"]):
        if isinstance(k, int) and k > candidates:
            note(("ks", place), str(k), expected)
    for place, asked in enumerate(values["metrics"]):
        k = parse(asked).k
        if isinstance(k, int) and k > candidates:
            note(("metrics", place), quoted(asked), f"a depth of {expected}")


def _settle_primary(values: dict[str, Any], note: Note) -> None:
    """Fill in the primary metric that was not named; note one that is not taken, or measures not for these depths."""
    try:
        taken = choose_metrics(values["metrics"], values["ks"])
    except ConfigurationError as error:
        found, _, expected = str(error).removeprefix("metric: found ").partition("; expected ")
        note(("metrics",), found, expected)
        return
    better = [str(metric) for metric in taken if is_quality(metric)]
    if not better:
        note(("metrics",), f"no measure of quality among {', '.join(map(str, taken))}", "one of which more is better")
    elif values["primary"] is None:
        values["primary"] = str(primary_of(None, taken))
    elif values["primary"] not in better:
        note(
            ("primary",),
            quoted(values["primary"]),
            f"a metric that is taken and of which more is better, {nearest(values['primary'], better)}",
        )


def _note_threshold(values: Mapping[str, Any], note: Note) -> None:
    """Note a threshold that the match does not have."""
    try:
        MatchRule.for_profile(values["profile"], values["match"], threshold=values["match_threshold"])
    except ConfigurationError as error:
        found, _, expected = str(error).removeprefix("match threshold: found ").partition("; expected ")
        note(("match_threshold",), found, expected)
