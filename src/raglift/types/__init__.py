"""Plain frozen records: documents, chunks, labels, datasets, hits, rankings, runs and metrics as values."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
