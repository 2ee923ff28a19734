from .evaluation import evaluate as evaluate
from .evaluation import rerank as rerank
from .options import DEFAULT_KS as DEFAULT_KS
from .options import Options as Options
from .scoring import rescore as rescore
from .systems import LocalSystem as LocalSystem
from .systems import build_retriever as build_retriever
from .systems import load_system as load_system
