from .evaluating import Evaluate as Evaluate
from .expectation import Expectation as Expectation
