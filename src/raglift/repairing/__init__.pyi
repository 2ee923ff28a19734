from .changes import CAUSES as CAUSES
from .changes import Change as Change
from .records import LostFact as LostFact
from .records import Proposal as Proposal
from .records import Repairs as Repairs
from .records import Tried as Tried
from .repairs import find_repairs as find_repairs
