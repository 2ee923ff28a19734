"""Many systems over one dataset: what is to be measured, its cells, and the engine that shares their work."""

from raglift.sweep.cells import Cell, Exclusion, RetrieverSpec
from raglift.sweep.record import Sweep, SystemSpec
from raglift.sweep.result import CellResult, SweepResult
from raglift.sweep.running import load_sweep_result, plan_sweep, run_sweep

__all__ = [
    "Cell",
    "CellResult",
    "Exclusion",
    "RetrieverSpec",
    "Sweep",
    "SweepResult",
    "SystemSpec",
    "load_sweep_result",
    "plan_sweep",
    "run_sweep",
]
