from .documents import DocumentSource as DocumentSource
from .documents import read_documents as read_documents
from .jsonl import read_queries as read_queries
from .jsonl import write_queries as write_queries
from .loading import load_dataset as load_dataset
from .loading import load_documents as load_documents
