"""Evaluations on disk, as plain files in one folder."""

from raglift.store.evaluations import FORMAT, check_free, load_evaluation, save_evaluation

__all__ = ["FORMAT", "check_free", "load_evaluation", "save_evaluation"]
