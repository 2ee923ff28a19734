"""Labels and documents from files: read strictly, with every fault reported at once; and written back."""

from raglift.dataset.documents import DocumentSource, read_documents
from raglift.dataset.formats import FormatName, FormatOptions, write_dataset
from raglift.dataset.jsonl import read_queries
from raglift.dataset.jsonl_writer import passage_value, placed_value, query_value, write_queries

__all__ = [
    "DocumentSource",
    "FormatName",
    "FormatOptions",
    "passage_value",
    "placed_value",
    "query_value",
    "read_documents",
    "read_queries",
    "write_dataset",
    "write_queries",
]
