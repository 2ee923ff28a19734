"""The public result of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.analysis.frames import per_query_frames
from raglift.rendering.presenting import Presentable, view_of
from raglift.sweep.exporting import export_cell
from raglift.sweep.page import sweep_document
from raglift.sweep.records import SweepResultRecord
from raglift.sweep.view import sweep_view

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from raglift.sweep.charts import SweepPlots


view_of.register(SweepResultRecord, sweep_view)


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult(Presentable, SweepResultRecord):
    """Every cell of a sweep, measured or failed."""

    @property
    def plot(self) -> SweepPlots:
        """Its charts: `sweep.plot.heatmap()`, `.intervals()`, `.tradeoff()`, `.by_prompt_size()` and others."""
        from raglift.sweep.charts import SweepPlots

        return SweepPlots(self)

    def per_query(self) -> pd.DataFrame:
        """Return one row a measured cell, query, metric and stage, with the value and, for failures, the error."""
        measured = {entry.cell.name: entry.evaluation for entry in self.finished if entry.evaluation is not None}
        return per_query_frames(measured, "cell")

    def export_best(self, folder: str | Path, *, cell: str | None = None, overwrite: bool = False) -> tuple[Path, ...]:
        """Write the pipeline of the recommended cell as two scripts: one for LangChain, one for LlamaIndex.

        Both load the same documents, and split, embed, retrieve and rerank as the cell did: with the framework's own
        parts where these do the same, else with raglift's behind the framework's interfaces.

        Args:
            folder: where `langchain_pipeline.py` and `llama_index_pipeline.py` are written; made when missing.
            cell: the name or key of another cell than the recommended one.
            overwrite: replace scripts that are already there.

        Returns:
            The paths of the scripts.

        Raises:
            ConfigurationError: a system of your own, documents that were given as objects or have changed since, no
                such cell, or scripts that are already there.
        """
        return export_cell(self, folder, cell=cell, overwrite=overwrite)

    def report(self, path: str | Path, *, baseline: str | None = None, overwrite: bool = True) -> Path:
        """Write a page to look at: one HTML file that needs nothing else, with the queries of the cells that matter.

        Args:
            path: the file.
            baseline: the name or key of the cell that the others are compared with; by default as in `compare`.
            overwrite: replace a report that is already there; any other file is never replaced.

        Returns:
            The path.

        Raises:
            ConfigurationError: no cell is measured, the baseline is none of those compared, or a path that cannot be
                written.
            MissingDependency: a package that pages are made with is not installed.
        """
        from raglift.report.page.rendering import write_page

        return write_page(sweep_document(self, baseline=baseline), path, overwrite=overwrite)
