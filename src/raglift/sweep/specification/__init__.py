"""What a sweep is over: what users write, checked, and the cells that follow from it."""

from raglift.sweep.specification.cells import NO_RERANKER, Cell, Exclusion, RetrieverSpec
from raglift.sweep.specification.record import Sweep, SystemSpec

__all__ = ["NO_RERANKER", "Cell", "Exclusion", "RetrieverSpec", "Sweep", "SystemSpec"]
