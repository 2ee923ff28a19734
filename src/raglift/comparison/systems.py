"""What to call the systems that are compared, and which of them is the baseline."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.result_records import EvaluationRecord

__all__ = ["baseline_of", "cell_name", "system_name"]

_WORK = re.compile(r"HTTP \w+ (?P<service>\w+://\S+)|[^\s(:]+")
"""What a stage does: a service is its address, any other the word that it begins with."""


def baseline_of(names: Sequence[str], baseline: str | int | None) -> str:
    """Return the name of the system that the others are compared with; the first unless another is named.

    Raises:
        ConfigurationError: no system has that name or number.
    """
    if baseline is None:
        return names[0]
    if isinstance(baseline, str) and baseline in names:
        return baseline
    is_number = isinstance(baseline, int) and not isinstance(baseline, bool)
    if is_number and -len(names) <= int(baseline) < len(names):
        return names[int(baseline)]
    numbers = "" if isinstance(baseline, str) else f", or a number from 0 to {len(names) - 1}"
    raise ConfigurationError(f"baseline: found {baseline!r}; expected one of {', '.join(map(repr, names))}{numbers}")


def system_name(evaluation: EvaluationRecord) -> str:
    """Return what to call a system: a sweep's cell by its name, any other by its stages: `dense + late-interaction`."""
    work = (_WORK.match(stage.system) for stage in evaluation.run.stages)
    return cell_name(evaluation) or " + ".join(
        (found["service"] or found[0]) if found else stage.name
        for found, stage in zip(work, evaluation.run.stages, strict=True)
    )


def cell_name(evaluation: EvaluationRecord) -> str:
    """Return the name of a sweep's cell; empty for an evaluation that is none."""
    cell = evaluation.run.spec.get("sweep")
    return str(cell.get("name") or "") if isinstance(cell, Mapping) else ""
