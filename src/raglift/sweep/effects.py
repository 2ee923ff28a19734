"""What each part does, on the page, in the summary and on the terminal of a sweep."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError
from raglift.report.factors import effects_parts, effects_section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.rendering.document import Part, Section
    from raglift.results.analyses import FactorEffects
    from raglift.sweep.records import SweepResultRecord


def effects_of(result: SweepResultRecord) -> FactorEffects | None:
    """Return what each part does; None where no two cells differ in one part alone, or too few queries count."""
    try:
        return result.effects()
    except ConfigurationError:
        return None


def effects_sections(result: SweepResultRecord) -> list[Section]:
    """Return what each part does as a section; none where that cannot be said."""
    found = effects_of(result)
    return [] if found is None else [effects_section(found)]


def effects_lines(result: SweepResultRecord) -> Iterator[Part]:
    """Yield the same for a terminal."""
    found = effects_of(result)
    if found is not None:
        yield from effects_parts(found)


def effects_json(result: SweepResultRecord) -> dict[str, Any] | None:
    """Return what each part does as plain data; None where that cannot be said."""
    found = effects_of(result)
    if found is None:
        return None
    return {
        "n": found.n,
        "cells": found.cells,
        "factors": [
            asdict(one)
            | {"reference": one.reference, "candidates": one.candidates, "sentence": found.sentence(one.factor)}
            for one in found.factors
        ],
        "interactions": [asdict(one) for one in found.interactions],
        "interactions_tested": found.tested,
        "method": found.method.text,
        "warnings": found.warnings,
        "notes": found.notes,
    }
