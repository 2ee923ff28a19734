"""Methods that all results share, and the results of analyses of an evaluation or a comparison."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from raglift.analysis.agents import AgentsRecord
from raglift.analysis.answering import AbstentionRecord
from raglift.analysis.exact_comparison import IndexLossesRecord
from raglift.analysis.explanation import ExplanationRecord
from raglift.analysis.factor_records import FactorEffectsRecord
from raglift.analysis.outcomes import FailureAnalysisRecord
from raglift.analysis.recommendation import RecommendationRecord
from raglift.analysis.records import TagSlicesRecord, TradeoffRecord
from raglift.analysis.sessions import SessionAnalysisRecord
from raglift.analysis.tuning import TuningRecord
from raglift.analysis.unjudged import HolesRecord
from raglift.analysis.upper_bound import HeadroomRecord
from raglift.rendering.document import Detail
from raglift.rendering.markdown import markdown_of
from raglift.rendering.notebook import html_of
from raglift.report.factors import effect_sentence
from raglift.report.frames import effects_frame, recommendation_frame, slices_frame, tradeoff_frame
from raglift.report.presenting import text_in_detail, text_of, view_of

if TYPE_CHECKING:
    import pandas as pd


class FromRecord:
    """A result for users, made of the plain record that it extends."""

    @classmethod
    def from_record(cls, record: Any) -> Self:
        """Return a plain record as this class: with the same fields, and nothing computed again."""
        if isinstance(record, cls):
            return record
        return cls(**{field.name: getattr(record, field.name) for field in fields(record)})


class Printable:
    """A result of which `print` shows a text."""

    def __str__(self) -> str:
        return text_of(self)


class Presentable(Printable):
    """A result that can also be shown in a notebook and in a pull request."""

    def to_text(self, *, details: bool = True) -> str:
        """Return it as plain text, with all details.

        Args:
            details: without them, it is the summary that `print` shows.
        """
        return text_in_detail(self, Detail.DETAILS) if details else str(self)

    def to_markdown(self) -> str:
        """Return it in short as GitHub's Markdown, for a pull request."""
        return markdown_of(view_of(self))

    def _repr_html_(self) -> str:
        return html_of(view_of(self))


@dataclass(frozen=True, eq=False, repr=False)
class TagSlices(Presentable, FromRecord, TagSlicesRecord):
    """One metric on the queries of each tag: exploratory, no p-value is corrected for how many tags there are."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per tag and system, with `few` where the slice has fewer than 10 queries."""
        return slices_frame(self)


@dataclass(frozen=True, eq=False, repr=False)
class Tradeoff(Presentable, FromRecord, TradeoffRecord):
    """Quality and costs of each system, and the Pareto front: the systems that no other beats in all."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per system: quality, each cost, whether it is on the front, and what beats it."""
        return tradeoff_frame(self)


@dataclass(frozen=True, eq=False)
class Recommendation(Presentable, FromRecord, RecommendationRecord):
    """Which system to use: the cheapest that is shown to be within a margin of every other."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per system, those that may be the best first: mean, bound, difference to the best, costs."""
        return recommendation_frame(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.recommended!r}, is_shown={self.is_shown}, {self.systems} systems)"


@dataclass(frozen=True, eq=False, repr=False)
class FactorEffects(Presentable, FromRecord, FactorEffectsRecord):
    """What each part of the cells of a sweep does to the primary metric, over matched cells and query by query."""

    def sentence(self, factor: str) -> str:
        """Return what one part does, as `the reranker late-interaction adds +0.131 [+0.102, +0.160]`.

        Args:
            factor: `chunker`, `embedding`, `retriever`, `reranker` or `system`.

        Raises:
            ConfigurationError: it is none of which levels can be compared.
        """
        return effect_sentence(self, factor)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair of levels, then one per interaction that is larger than noise."""
        return effects_frame(self)


@dataclass(frozen=True, eq=False, repr=False)
class FailureAnalysis(Presentable, FromRecord, FailureAnalysisRecord):
    """The outcome of each fact of the labelled queries, at one depth."""


@dataclass(frozen=True, eq=False, repr=False)
class SessionAnalysis(Presentable, FromRecord, SessionAnalysisRecord):
    """How an agent searched, what it found by which call, and where each fact was lost."""


@dataclass(frozen=True, eq=False, repr=False)
class IndexLosses(Presentable, FromRecord, IndexLossesRecord):
    """What an index loses against exact search over the same vectors: facts and hits, with its cost beside them."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.index!r}, {self.step('together').lost} of {self.facts} facts lost)"


@dataclass(frozen=True, eq=False, repr=False)
class Agents(Presentable, FromRecord, AgentsRecord):
    """How the agents of a comparison searched: what each found, kept and lost, and how much runs of a query differ."""


@dataclass(frozen=True, eq=False)
class Holes(Presentable, FromRecord, HolesRecord):
    """Between what a metric lies for the hits that nobody judged, and measures that pass over these."""


@dataclass(frozen=True, eq=False, repr=False)
class Abstention(Presentable, FromRecord, AbstentionRecord):
    """From which score of the first hit on a query should be answered, and what that costs and keeps away."""


@dataclass(frozen=True, eq=False, repr=False)
class Tuning(Presentable, FromRecord, TuningRecord):
    """Which setting is best, and what choosing it gains on queries that took no part in the choice."""


@dataclass(frozen=True, eq=False, repr=False)
class Headroom(Printable, FromRecord, HeadroomRecord):
    """Recall and NDCG of a perfect reranker over the candidates that the first stage returned."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Presentable, FromRecord, ExplanationRecord):
    """One query at one stage: which hit matched which passage, and what it earned."""
