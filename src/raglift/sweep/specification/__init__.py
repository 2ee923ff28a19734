"""What a sweep is over: what users write, checked, and the cells that follow from it."""

from raglift.sweep.specification.cells import NO_RERANKER, Cell, Exclusion, RetrieverSpec, SystemSpec
from raglift.sweep.specification.record import Sweep

__all__ = ["NO_RERANKER", "Cell", "Exclusion", "RetrieverSpec", "Sweep", "SystemSpec"]
