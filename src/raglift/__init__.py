"""raglift measures the retrieval half of RAG, before and after reranking.

import raglift as rl

data = rl.load_dataset("lighthouse")
evaluation = rl.evaluate(retriever, data, reranker="cross-encoder")
print(evaluation)
"""

import lazy_loader

__version__ = "1.0.0rc1"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
