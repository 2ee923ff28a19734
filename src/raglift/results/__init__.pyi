from .comparison import Comparison as Comparison
from .comparison import Source as Source
from .comparison import compare as compare
from .evaluation import Evaluation as Evaluation
from .evaluation import load_evaluation as load_evaluation
