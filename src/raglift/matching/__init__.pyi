from .match import match_rankings as match_rankings
from .matches import Direction as Direction
from .matches import Matches as Matches
from .matches import MatchTable as MatchTable
from .rule import MODES as MODES
from .rule import MatchRule as MatchRule
