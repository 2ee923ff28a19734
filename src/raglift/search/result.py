"""The public result of a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.rendering.presenting import Presentable, view_of
from raglift.search.page import search_document
from raglift.search.records import SearchRecord
from raglift.search.view import search_view
from raglift.sweep.exporting import export_pipeline

if TYPE_CHECKING:
    from pathlib import Path


view_of.register(SearchRecord, search_view)


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult(Presentable, SearchRecord):
    """What a search found: the recommended cell, what became of every other, and what it cost."""

    def export_best(self, folder: str | Path, *, cell: str | None = None, overwrite: bool = False) -> tuple[Path, ...]:
        """Write the pipeline of the recommended cell as two scripts: one for LangChain, one for LlamaIndex.

        Args:
            folder: where they are written; made when missing.
            cell: the name or key of another finalist.
            overwrite: replace scripts that are already there.

        Returns:
            The paths of the scripts.

        Raises:
            ConfigurationError: as `SweepResult.export_best` says.
        """
        return export_pipeline(self.finalists, folder, self.spec, cell=cell, overwrite=overwrite, measured=self.dataset)

    def report(self, path: str | Path, *, overwrite: bool = True) -> Path:
        """Write a page to look at: the finalists with their queries, and the race.

        Args:
            path: the file.
            overwrite: replace a report that is already there; any other file is never replaced.

        Returns:
            The path.

        Raises:
            ConfigurationError: no cell was measured, or a path that cannot be written.
            MissingDependency: a package that pages are made with is not installed.
        """
        from raglift.report.page.rendering import write_page

        return write_page(search_document(self), path, overwrite=overwrite)
