"""Evaluations and rankings of ids as files, and as records in memory, for other tools."""

from raglift.run_files.exporting.evaluations import export
from raglift.run_files.exporting.lists import write_qrels, write_run
from raglift.run_files.exporting.records import Export, ExportedFile

__all__ = ["Export", "ExportedFile", "export", "write_qrels", "write_run"]
