"""raglift's built-in chunkers, embedders, indexes, retrievers and rerankers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
