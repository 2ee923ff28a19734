from .engine import load_sweep_result as load_sweep_result
from .engine import plan_sweep as plan_sweep
from .engine import run_sweep as run_sweep
from .loading import load_sweep as load_sweep
from .planning import Plan as Plan
from .records import CellResult as CellResult
from .result import SweepResult as SweepResult
