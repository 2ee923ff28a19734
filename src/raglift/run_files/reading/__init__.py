"""Rankings and labels from files, read strictly and in bulk: every fault of a file at once, each with its line."""

from raglift.run_files.reading.labels import read_qrels
from raglift.run_files.reading.rankings import FileRankings, read_run

__all__ = ["FileRankings", "read_qrels", "read_run"]
