from .deciding import GateResult as GateResult
from .deciding import gate as gate
from .records import Check as Check
from .records import FlippedQuery as FlippedQuery
from .records import Outcome as Outcome
from .records import Regression as Regression
