"""What a marked test expects."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, InstanceOf, ValidationError

from raglift.errors import ConfigurationError
from raglift.gating.bounds import LATENCIES, Bound, bounds_of, checked_margin, compared_metrics
from raglift.metrics.registry import MEASURES
from raglift.types.dataset import Dataset  # noqa: TC001 — likewise

if TYPE_CHECKING:
    import pytest

    from raglift.types.metric import Metric


MARK = "retrieval"
FIXTURE = "raglift_evaluate"


class Expectation(BaseModel):
    """The arguments of a test's marks, the nearest mark first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: str | os.PathLike[str] | InstanceOf[Dataset] | None = None
    """The labelled set: a path, a name, or the set itself; None for the one of the setting."""
    min: dict[str, float] = {}
    """The least of each figure."""
    max: dict[str, float | str] = {}
    """The most of each figure; `failures` is 0 unless it is given."""
    baseline: str | os.PathLike[str] | None = None
    """Where the evaluation is saved that no metric may be worse than; None for a folder named as the test."""
    no_regression: tuple[str, ...] = ()
    """The metrics that may not get worse."""
    margin: float = 0.0
    """How large a drop may be before it counts."""

    @property
    def has_bounds(self) -> bool:
        """Whether its test would be pointless without an evaluation."""
        return bool(self.max or self.min or self.no_regression)

    @property
    def maximum(self) -> dict[str, float | str]:
        """The most of each figure, with that of failures."""
        return {"failures": 0, **self.max}

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """All metrics that it speaks of, each once."""
        of_bounds = (bound.metric for bound in self._bounds() if bound.metric is not None)
        return tuple(dict.fromkeys((*of_bounds, *compared_metrics(self.no_regression))))

    @property
    def bounds_latency(self) -> bool:
        """Whether latency is to be measured."""
        return any(bound.figure in LATENCIES for bound in self._bounds())

    def _bounds(self) -> tuple[Bound, ...]:
        """Return bounds, whatever their stages are called: which stages there are, the system will tell."""
        stages = {name.rpartition(":")[0].strip() for name in (*self.min, *self.maximum)}
        return bounds_of(self.min, self.maximum, sorted(stages))


def expectation_of(marks: Iterable[pytest.Mark], where: str) -> Expectation:
    """Return the combined arguments of marks; arguments of a nearer mark override those of a farther one."""
    arguments: dict[str, Any] = {}
    for mark in marks:
        if mark.args:
            raise _unusable(where, f"found {mark.args[0]!r} without a name; expected {', '.join(ARGUMENTS)} by name")
        arguments = dict(mark.kwargs) | arguments
    try:
        found = Expectation(**arguments)
        metrics = found.metrics
        checked_margin(found.margin, metrics)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise _unusable(where, *(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in faults)) from None
    except ConfigurationError as error:
        raise _unusable(where, str(error)) from None
    for metric in metrics:
        if metric.depth is None and MEASURES[metric.name].takes_k:  # no evaluation has that of the whole ranking
            raise _unusable(where, f"found {metric}; expected a depth, as {MEASURES[metric.name].example}")
    if found.baseline is not None and not found.no_regression:
        raise _unusable(where, 'baseline: found no metric to compare; expected one, as no_regression=["ndcg@10"]')
    return found


def _unusable(where: str, *faults: str) -> ConfigurationError:
    lines = [f"{where}: the mark cannot be used", *(f"  {MARK}: {fault}" for fault in faults)]
    return ConfigurationError("\n".join(lines))


ARGUMENTS = tuple(Expectation.model_fields)
"""What a mark takes, by name."""
