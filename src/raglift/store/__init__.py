"""Evaluations on disk, as plain files in one folder."""

from raglift.store.layout import FORMAT
from raglift.store.loading import read_evaluation
from raglift.store.saving import check_free, save_evaluation

__all__ = ["FORMAT", "check_free", "read_evaluation", "save_evaluation"]
