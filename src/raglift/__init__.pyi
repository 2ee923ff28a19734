from .apps.tracking.tracking import track as track
from .auditing.dataset_audit import audit as audit
from .components.chunkers import RecursiveChunker as RecursiveChunker
from .components.embedding import build_index as build_index
from .components.retrievers import DenseRetriever as DenseRetriever
from .datasets.formats.catalogue import write_dataset as write_dataset
from .datasets.loading import load_dataset as load_dataset
from .errors import RagliftError as RagliftError
from .gating.deciding import gate as gate
from .matching.rule import MatchRule as MatchRule
from .metrics.computing import score_rankings as score_rankings
from .records.dataset import Dataset as Dataset
from .records.documents import Chunk as Chunk
from .records.documents import Document as Document
from .records.rankings import Call as Call
from .records.rankings import Ranking as Ranking
from .records.sessions import Session as Session
from .results.comparison import compare as compare
from .results.evaluation import Evaluation as Evaluation
from .results.evaluation import load_evaluation as load_evaluation
from .running.evaluation import evaluate as evaluate
from .running.scoring import rescore as rescore
from .running.sessions import evaluate_sessions as evaluate_sessions
from .sweep.specification.record import Sweep as Sweep
from .tracing.reading import read_traces as read_traces

__version__: str
