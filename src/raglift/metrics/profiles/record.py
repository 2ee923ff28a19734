"""What a profile is: another tool's conventions for the same measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from raglift.matching import Judgements
    from raglift.records import Metric

__all__ = ["Function", "Profile"]

Function = Callable[["Judgements", "Metric"], "NDArray[np.float64]"]
"""Returns a metric's value for each query, in dataset order; NaN for one that is left out of its mean."""

_LEFT_OUT = "A query that came back empty is left out of the mean, where the default counts it 0."


@dataclass(frozen=True)
class Profile:
    """A tool's conventions: the measures that it computes in its own way, and how they differ from the default's."""

    name: str
    """As `profile="autorag"` names it."""
    source: str
    """The tool, with the version or the page that the conventions were read from."""
    functions: Mapping[str, Function] = field(default_factory=dict)
    """The measures that it computes in its own way, by name; the others are the default's."""
    differences: Mapping[str, str] = field(default_factory=dict)
    """For each of these measures, one sentence that says what it does otherwise than the default."""
    without_k: frozenset[str] = frozenset()
    """Those that can be taken without a depth, though the default's cannot, since it divides by k."""
    leaves_out_empty: frozenset[str] = frozenset()
    """Those whose mean leaves out a query that was answered with no hits at all; the default counts it 0."""

    def difference(self, name: str) -> str:
        """Return what a measure does otherwise than the default, be a query empty or not; nothing where it does not."""
        said = self.differences.get(name, "")
        return f"{said} {_LEFT_OUT}" if name in self.leaves_out_empty else said
