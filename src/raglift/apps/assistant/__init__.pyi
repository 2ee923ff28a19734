from .engine import Answer as Answer
from .engine import Assistant as Assistant
from .engine import Citation as Citation
from .engine import StageHits as StageHits
from .engine import Turn as Turn
