"""Rankings in files: TREC runs, JSON Lines and Parquet read and scored; evaluations written for other tools."""

from raglift.run_files.exporting import export
from raglift.run_files.exported import Export, ExportedFile

__all__ = ["Export", "ExportedFile", "export"]
