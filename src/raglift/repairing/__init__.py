"""Why facts are lost, and the changes that mend them, each really run again."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
