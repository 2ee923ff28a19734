from .budget import Budget as Budget
from .engine import run_search as run_search
from .records import Entrant as Entrant
from .records import HeldOutWinner as HeldOutWinner
from .records import RungRecord as RungRecord
from .result import SearchResult as SearchResult
from .specification import Search as Search
from .specification import load_search as load_search
