"""Labels and documents from files: read strictly, with every fault reported at once; and written back."""

from raglift.dataset.documents import DocumentSource, read_documents
from raglift.dataset.formats import FormatName, FormatOptions, write_dataset
from raglift.dataset.in_memory import dataset_from_dict, unknown_query
from raglift.dataset.jsonl import read_queries
from raglift.dataset.jsonl_writer import passage_value, placed_value, query_value, write_queries

__all__ = [
    "DocumentSource",
    "FormatName",
    "FormatOptions",
    "dataset_from_dict",
    "passage_value",
    "placed_value",
    "query_value",
    "read_documents",
    "read_queries",
    "unknown_query",
    "write_dataset",
    "write_queries",
]
