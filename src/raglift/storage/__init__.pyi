from .layout import FORMAT as FORMAT
from .loading import read_evaluation as read_evaluation
from .saving import check_free as check_free
from .saving import save_evaluation as save_evaluation
