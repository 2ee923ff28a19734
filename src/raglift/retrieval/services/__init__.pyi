from .http_retriever import HttpRetriever as HttpRetriever
from .mapping import ResponseFields as ResponseFields
from .mapping import ServiceMapping as ServiceMapping
from .mapping import load_mapping as load_mapping
from .mcp_retriever import McpRetriever as McpRetriever
from .retriever import ServiceRetriever as ServiceRetriever
