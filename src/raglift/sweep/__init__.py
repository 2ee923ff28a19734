"""Many systems over one dataset: what is to be measured, its cells, and the engine that shares their work."""

from __future__ import annotations

from raglift.sweep.result import CellResult, SweepResult
from raglift.sweep.running import load_sweep_result, plan_sweep, run_sweep
from raglift.sweep.specification.cells import Cell, Exclusion, RetrieverSpec, SystemSpec
from raglift.sweep.specification.record import Sweep
from raglift.sweep.specification.yaml_file import load_sweep

__all__ = [
    "Cell",
    "CellResult",
    "Exclusion",
    "RetrieverSpec",
    "Sweep",
    "SweepResult",
    "SystemSpec",
    "load_sweep",
    "load_sweep_result",
    "plan_sweep",
    "run_sweep",
]
