"""What to judge next: the result, and how it is shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from raglift.base.display import counted, excerpt
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Document, Section, Table, row_of
from raglift.report.format import confidence_text, interval_text
from raglift.report.presenting import view_of, whole
from raglift.results.analyses import Presentable

if TYPE_CHECKING:
    import pandas as pd

    from raglift.records.metric import Metric
    from raglift.stats.intervals import Interval


_LONGEST = 90


@dataclass(frozen=True)
class NextPair:
    """A pair of query and hit that was drawn to be judged."""

    query_id: str
    """The query's id."""
    chunk_id: str
    """The chunk's id."""
    probability: float
    """With which it was drawn, of the pairs that were left."""
    question: str
    """The query's text."""
    text: str
    """The chunk's text."""
    doc_id: str | None
    """The chunk's document."""
    query: int
    """The number of the query in the pool."""
    chunk: int
    """The number of the chunk there."""


@dataclass(frozen=True, repr=False)
class NextToJudge(Presentable):
    """What the judged pairs say of a figure, and which are to be judged next."""

    metric: Metric
    """The metric."""
    system: str
    """The system whose mean it is …"""
    versus: str | None
    """… minus that of this one; None for the mean alone."""
    estimate: float
    """The figure, as far as it is known."""
    interval: Interval
    """For the figure: one of a confidence sequence, valid at whatever number of grades one stops."""
    confidence: float
    """How often all intervals hold the figure."""
    width: float | None
    """How wide the interval may be in the end; None where it is to exclude 0."""
    graded: int
    """How many pairs were drawn and judged."""
    graded_before: int
    """How many were judged before the first draw."""
    left: int
    """How many are left that weigh something in the figure."""
    is_decided: bool
    """Whether the question is answered: the interval excludes 0, or is narrow enough, or nothing is left."""
    needed: int | None
    """How many more grades are likely needed, at most `left`; None while too little is known to say."""
    pairs: tuple[NextPair, ...]
    """What to judge next, in the order of the draws."""
    name: str
    """The dataset's."""
    queries: int
    """How many queries the means are over."""

    @property
    def figure_text(self) -> str:
        """The figure with its interval, as `Precision@10, hybrid − bm25: +0.052 [−0.010, +0.110]`."""
        if self.versus is None:
            return f"{mean_title(self.metric)} of {self.system}: {interval_text(self.estimate, self.interval)}"
        figure = interval_text(self.estimate, self.interval, signs=True)
        return f"{mean_title(self.metric)}, {self.system} − {self.versus}: {figure}"

    @property
    def verdict_text(self) -> str:
        """Whether the question is answered, or how many more grades are likely needed."""
        if not self.left:
            return "Everything that matters is judged: this is the figure."
        if not self.is_decided:
            if self.needed is None:
                return "It is too early to say how many more are needed."
            most = "All of the" if self.needed == self.left else "About"
            return f"{most} {self.needed:,} more are likely needed."
        if self.width is not None:
            return "The interval is narrow enough: you can stop."
        better = self.system if self.interval.low > 0 else self.versus
        return f"Decided: {better} is better on these queries. You can stop."

    def to_frame(self) -> pd.DataFrame:
        """Return one row a pair that is to be judged, with the fields of `NextPair`."""
        import pandas as pd

        return pd.DataFrame([asdict(one) for one in self.pairs], columns=list(NextPair.__dataclass_fields__))


def next_view(found: NextToJudge) -> Document:
    """Return what is shown of the pairs to judge next."""
    rows = tuple(
        row_of((one.query_id, excerpt(one.question, _LONGEST), one.doc_id or "", excerpt(one.text, _LONGEST)))
        for one in found.pairs
    )
    columns = ("query", "question", "document", "hit")
    table = Table("Judge next", columns, rows, text_columns=(0, 1, 2, 3))
    before = f" and {counted(found.graded_before, 'grade')} from before" if found.graded_before else ""
    said = (
        f"After {counted(found.graded, 'grade')}{before}; {counted(found.left, 'pair')} left that weigh something.",
        (
            f"{confidence_text(found.confidence)} confidence sequence (betting): valid at whatever number of grades "
            f"you stop. It is about these {found.queries:,} queries and these hits, if people had judged them all."
        ),
    )
    return Document(
        f"{found.name}: what to judge next",
        f"{found.figure_text}. {found.verdict_text}",
        table,
        (),
        sections=(Section("How to read this", said),),
    )


view_of.register(NextToJudge, whole(next_view))
