from .cells import NO_RERANKER as NO_RERANKER
from .cells import Cell as Cell
from .cells import Exclusion as Exclusion
from .cells import SystemSpec as SystemSpec
from .record import Sweep as Sweep
