"""What was read of traces: sessions, and what became of each trace."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from raglift.rendering.presenting import Presentable

if TYPE_CHECKING:
    import pandas as pd

    from raglift.errors import Fault
    from raglift.types.sessions import Session


REASONS = {
    "no_such_query": "no question of the dataset has this text, or this id",
    "ambiguous": "several questions of the dataset have this text, or the trace has the ids of several",
    "no_question": "no span tells what the user asked",
    "no_retrieval": "no span is of a retriever, a reranker, a tool that returned documents, or a language model",
    "no_documents": "a span of a retriever tells no documents: its instrumentation leaves them out",
    "damaged": "its spans contradict each other",
    "root_missing": "the span around the others is missing: the run was stopped, or another service has it",
    "truncated": "documents are missing: the exporter left attributes out, or cut them off",
}
"""Why a trace is not a session, each with what it means."""


@dataclass(frozen=True)
class ImportedTrace:
    """What became of a trace, or of one of several sessions in a trace."""

    trace_id: str
    """The id of the trace."""
    where: str
    """The file, and the line or index, of its first span."""
    question: str
    """What the user asked, shortened; empty where that is not known."""
    query_id: str | None = None
    """The query of the dataset that it was joined to; None if it was not joined."""
    joined_by: str = ""
    """`id` or `text`; empty if it was not joined."""
    reason: str = ""
    """Why it was not joined: one of `REASONS`; empty if it was."""
    detail: str = ""
    """What exactly was found."""
    repetition: int | None = None
    """Which run of its query it is; None if it was not joined."""
    calls: int = 0
    """How many searches it made."""
    failed_calls: int = 0
    """How many of these failed."""
    hits: int = 0
    """How many hits came back in all."""
    model_calls: int = 0
    """How often a language model was called."""
    prompt_tokens: int | None = None
    """The tokens that language models were given; None where no span tells."""
    answer_tokens: int | None = None
    """The tokens that language models answered; None where no span tells."""
    seconds: float | None = None
    """How long it took; None where that is not known."""
    error: str | None = None
    """Why it failed; None if it did not."""


@dataclass(frozen=True, eq=False, repr=False)
class TraceImport(Presentable):
    """Sessions read from traces, with what became of each trace.

    `rl.evaluate_sessions(imported.sessions, data)` scores them; `print(imported)` shows which traces were not joined
    to a query, and why.
    """

    dataset: str
    """The name of the dataset."""
    sessions: tuple[Session, ...]
    """One for each trace that was joined, in the order of the queries: what `evaluate_sessions` takes."""
    traces: tuple[ImportedTrace, ...]
    """What became of each trace, in the order of their starts."""
    faults: tuple[Fault, ...]
    """What could not be read, each with its file and line."""
    spans: int
    """How many spans were read."""
    queries: int
    """How many queries the dataset has."""

    @property
    def not_joined(self) -> tuple[ImportedTrace, ...]:
        """The traces that are not among the sessions."""
        return tuple(trace for trace in self.traces if trace.query_id is None)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a trace, with the fields of `ImportedTrace`."""
        import pandas as pd

        names = [field.name for field in fields(ImportedTrace)]
        return pd.DataFrame([[getattr(trace, name) for name in names] for trace in self.traces], columns=names)
