"""What the fields of a sweep must be together; each fault is noted where the user would mend it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias

from raglift.comparison.statistics import is_quality, primary_of
from raglift.dataset.strict_yaml import Keys
from raglift.errors import ConfigurationError
from raglift.faults import nearest, quoted
from raglift.matching import MatchRule
from raglift.metrics import parse
from raglift.metrics.choosing import choose_metrics
from raglift.models import EMBEDDED_MODEL
from raglift.records import Dataset
from raglift.retrieval.notation import RetrieverSpec
from raglift.sweep.specification.cells import NO_RERANKER, Exclusion, grid

__all__ = ["DEFAULT_CHUNKER", "Note", "note_disagreements"]

DEFAULT_CHUNKER = "recursive:1000/100"

Note: TypeAlias = Callable[[Keys, str, str], None]
"""Notes that something else was found at a place than was expected."""

_GRID: dict[str, tuple[Any, ...]] = {
    "chunkers": (DEFAULT_CHUNKER,),
    "embeddings": (EMBEDDED_MODEL,),
    "retrievers": (RetrieverSpec(),),
}
"""The parts of the grid, and what they are unless said otherwise."""
_CELLS = {*_GRID, "rerankers", "exclude", "include", "systems"}


def note_disagreements(values: dict[str, Any], faulty: set[str], note: Note) -> None:
    """Fill in the parts of the grid that were not named, and note what does not go together.

    Args:
        values: every field, each right by itself.
        faulty: the fields that were not, for which `values` holds something else.
        note: where faults go.
    """
    if not faulty & _CELLS:
        if _fill_grid(values, note):
            _note_exclusions(values, note)
        _note_names(values, note)
    if not faulty & {"ks", "metrics", "candidates"}:
        _note_depths(values, note)
    if not faulty & {"ks", "metrics"}:
        _settle_primary(values, faulty, note)
    if not faulty & {"match", "match_threshold", "profile"}:
        _note_threshold(values, note)
    if isinstance(values["dataset"], Dataset) and "dataset" not in faulty and values["documents"] is not None:
        note(("documents",), quoted(values["documents"]), "none: a Dataset brings its own documents")


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
    """Note exclusions that name what the grid does not have, or that leave out nothing, or everything."""
    lists = (values["chunkers"], values["embeddings"], values["retrievers"], values["rerankers"])
    cells = grid(*lists) if all(lists[::2]) else []
    if values["exclude"] and not any(values[name] for name in _GRID):
        note(("exclude",), "exclusions without a grid", "chunkers, embeddings or retrievers to make one, or none")
        return
    known = dict(zip((field.name for field in fields(Exclusion)), lists, strict=True))
    for place, exclusion in enumerate(values["exclude"]):
        keys = ("exclude", place)
        if not _note_unknown(exclusion, known, keys, note) and not any(exclusion.matches(cell) for cell in cells):
            note(keys, "an exclusion that leaves out no cell", "no embedding with bm25, which uses none")
    left = [cell for cell in cells if not any(exclusion.matches(cell) for exclusion in values["exclude"])]
    if values["exclude"] and cells and not left and not (values["include"] or values["systems"]):
        note(("exclude",), "exclusions that leave out every cell", "at least one cell that is left")


def _note_unknown(exclusion: Exclusion, known: Mapping[str, Sequence[Any]], keys: Keys, note: Note) -> bool:
    """Note each value that is not among the grid's; return whether there is one."""
    found = False
    for part, grid_values in known.items():
        for place, value in enumerate(getattr(exclusion, part) or ()):
            if value not in grid_values:
                found = True
                note((*keys, part, place), quoted(value), nearest(str(value), [str(each) for each in grid_values]))
    return found


def _note_names(values: Mapping[str, Any], note: Note) -> None:
    """Note systems that share a name."""
    count = Counter(system.name for system in values["systems"])
    for place, system in enumerate(values["systems"]):
        if count[system.name] > 1:
            note(("systems", place), f"the name {quoted(system.name)} {count[system.name]} times", "a name of its own")


def _note_depths(values: Mapping[str, Any], note: Note) -> None:
    """Note depths that the candidates do not reach."""
    candidates = values["candidates"]
    expected = f"at most {candidates}, the number of candidates; or more candidates"
    for place, k in enumerate(values["ks"]):
        if isinstance(k, int) and k > candidates:
            note(("ks", place), str(k), expected)
    for place, text in enumerate(values["metrics"]):
        k = parse(text).k
        if isinstance(k, int) and k > candidates:
            note(("metrics", place), quoted(text), f"a depth of {expected}")


def _settle_primary(values: dict[str, Any], faulty: set[str], note: Note) -> None:
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
    elif "primary" not in faulty and values["primary"] not in better:
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
