"""Rankings in files: TREC runs, JSON Lines and Parquet read and scored; evaluations written for other tools."""

from raglift.run_files.exporting import Export, ExportedFile, export, write_qrels, write_run
from raglift.run_files.reading import FileRankings, read_qrels, read_run
from raglift.run_files.scoring import FileScores, RunScores, score_files, trec_eval_lines

__all__ = [
    "Export",
    "ExportedFile",
    "FileRankings",
    "FileScores",
    "RunScores",
    "export",
    "read_qrels",
    "read_run",
    "score_files",
    "trec_eval_lines",
    "write_qrels",
    "write_run",
]
