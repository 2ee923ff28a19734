from .listing import tool_documents as tool_documents
from .mapping import McpMapping as McpMapping
from .mapping import load_mcp_mapping as load_mcp_mapping
from .retriever import McpRetriever as McpRetriever
