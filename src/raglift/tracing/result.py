"""The public result of reading traces: sessions, and what could not be joined."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from raglift.report.presenting import view_of, whole
from raglift.results.analyses import FromRecord, Presentable
from raglift.tracing.records import ImportedTrace, TraceImportRecord
from raglift.tracing.view import traces_view

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class TraceImport(Presentable, FromRecord, TraceImportRecord):
    """Sessions read from traces, with what became of each trace.

    `rl.evaluate_sessions(imported.sessions, data)` scores them; `print(imported)` shows which traces were not joined
    to a query, and why.
    """

    def to_frame(self) -> pd.DataFrame:
        """Return one row a trace, with the fields of `ImportedTrace`."""
        import pandas as pd

        names = [field.name for field in fields(ImportedTrace)]
        return pd.DataFrame([[getattr(trace, name) for name in names] for trace in self.traces], columns=names)


view_of.register(TraceImportRecord, whole(traces_view))
