"""Parts of `run.json` that point at the other files, or that later steps rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.matching import MatchRule
from raglift.records import Inventory
from raglift.store.fields import INVENTORY, RELABELLED, SPEC, SWEEP_MARK
from raglift.store.kinds import WrongKind, check_record
from raglift.store.layout import CHUNKS

if TYPE_CHECKING:
    from raglift.records import Chunk, Query

__all__ = ["check_spec", "chunk_at", "of_older", "read_inventory", "whole"]


def check_spec(spec: dict[str, Any]) -> None:
    """Check what reports, comparisons and rescoring take from what was asked.

    Raises:
        WrongKind: something is missing, or of another kind.
        ConfigurationError, TypeError: what counted as a match is no rule, so it could not be matched again.
    """
    check_record(spec, SPEC, "spec", with_others=True)
    MatchRule(**spec["match"])
    if "relabelled" in spec:
        check_record(spec["relabelled"], RELABELLED, "spec.relabelled", with_others=True)
    if "sweep" in spec:
        check_record(spec["sweep"], SWEEP_MARK, "spec.sweep", with_others=True)


def read_inventory(saved: Any, chunks: list[Chunk], queries: tuple[Query, ...]) -> Inventory | None:
    """Return what was known of all chunks of an index; None where nothing was.

    Args:
        saved: as `run.json` has it.
        chunks: the chunks that were saved, by number.
        queries: the queries that were saved.

    Raises:
        WrongKind: it is damaged.
    """
    if saved is None:
        return None
    check_record(saved, INVENTORY, "inventory")
    touching = tuple(chunk_at(chunks, number) for number in saved["touching"])
    facts = [len(fact.passages) for query in queries if query.is_labelled for fact in query.facts]
    touches = []
    for query, fact, alternative, number in saved["touches"]:
        known = 0 <= query < len(queries) and 0 <= fact < len(facts) and 0 <= alternative < facts[fact]
        if not known or not 0 <= number < len(touching):
            raise WrongKind(f"found the touch {[query, fact, alternative, number]}; expected numbers of what is saved")
        touches.append((query, fact, alternative, number))
    looked_for = saved["minimum_length"], saved["unicode_folding"], saved.get("abutting", False)
    return Inventory(saved["chunks"], touching, tuple(touches), *looked_for)


def chunk_at(chunks: list[Chunk], number: Any) -> Chunk:
    """Return the chunk of a number.

    Raises:
        WrongKind: there is none.
    """
    if type(number) is not int or not 0 <= number < len(chunks):
        raise WrongKind(f"found the chunk {number}; expected one of the {len(chunks)} in {CHUNKS}")
    return chunks[number]


def of_older(line: Any) -> Any:
    """Return a chunk's line as it is written now: an older raglift kept a system's numbers for ids and places."""
    if not isinstance(line, dict):
        return line
    ids = {name: str(line[name]) for name in ("id", "doc_id") if type(line.get(name)) in (int, float)}
    return line | ids | {name: whole(line[name]) for name in ("start", "end") if type(line.get(name)) is float}


def whole(place: Any) -> Any:
    """Return a place in a document, 10.0 as 10; None for a number that is none."""
    if not isinstance(place, float):
        return place
    return int(place) if place.is_integer() else None
