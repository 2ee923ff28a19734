from .loading import read_evaluation as read_evaluation
from .saving import save_evaluation as save_evaluation
