"""Search services as retrievers: any HTTP service that answers with JSON, and search tools of MCP servers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
