from .parts import javascript as javascript
from .parts import specification as specification
from .plots import ComparisonPlots as ComparisonPlots
from .plots import EvaluationPlots as EvaluationPlots
