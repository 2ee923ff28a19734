"""Evaluations on disk, as plain files in one folder."""

from raglift.store.evaluations import FORMAT, load_evaluation, save_evaluation

__all__ = ["FORMAT", "load_evaluation", "save_evaluation"]
