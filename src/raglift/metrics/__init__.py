"""Metrics as values and as plain functions of lists.

`NDCG @ 10`, `Recall @ tokens(2000)`, `parse("ndcg@10")`; `ndcg([3, 2], k=2)`.
"""

import lazy_loader

# Each family registers its measures as it is imported: this is the order in which `raglift metrics` lists them.
# isort: off
import raglift.metrics.rank_measures
import raglift.metrics.graded_measures
import raglift.metrics.span_measures
import raglift.metrics.budgets
import raglift.metrics.prompt_measures
import raglift.metrics.graded_measures
import raglift.metrics.session_measures  # noqa: F401
# isort: on

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
