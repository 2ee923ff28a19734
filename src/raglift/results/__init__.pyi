from .comparison import Comparison as Comparison
from .comparison import compare as compare
from .evaluation import Evaluation as Evaluation
from .evaluation import load_evaluation as load_evaluation
from .sources import Source as Source
