from .bounds import Bound as Bound
from .deciding import GateResult as GateResult
from .deciding import gate as gate
from .records import Check as Check
from .records import FailedQuery as FailedQuery
from .records import Outcome as Outcome
from .records import RegressedQuery as RegressedQuery
from .records import Regression as Regression
