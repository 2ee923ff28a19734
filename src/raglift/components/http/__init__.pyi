from .mapping import HttpMapping as HttpMapping
from .mapping import ResponseFields as ResponseFields
from .mapping import load_mapping as load_mapping
from .retriever import HttpRetriever as HttpRetriever
