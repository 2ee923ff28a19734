"""Many systems over one dataset: what is to be measured, and its cells."""

from raglift.sweep.cells import Cell, Exclusion, RetrieverSpec
from raglift.sweep.record import Sweep, SystemSpec

__all__ = ["Cell", "Exclusion", "RetrieverSpec", "Sweep", "SystemSpec"]
