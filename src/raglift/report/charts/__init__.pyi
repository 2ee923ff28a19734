from .plots import ComparisonPlots as ComparisonPlots
from .plots import EvaluationPlots as EvaluationPlots
