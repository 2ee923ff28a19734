"""Rankings in files: TREC runs, JSON Lines and Parquet read and scored; evaluations written for other tools."""

from raglift.run_files.reading import FileRankings, read_qrels, read_run

__all__ = ["FileRankings", "read_qrels", "read_run"]
