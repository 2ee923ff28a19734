from .client import is_http_address as is_http_address
from .client import perhaps_address as perhaps_address
from .client import shown_address as shown_address
from .mapping import HttpMapping as HttpMapping
from .mapping import ResponseFields as ResponseFields
from .mapping import load_mapping as load_mapping
from .retriever import HttpRetriever as HttpRetriever
