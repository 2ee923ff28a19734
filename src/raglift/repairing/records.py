"""Lost facts with what they are lost by and what mends them, and the few changes worth making."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.rendering.presenting import Presentable

if TYPE_CHECKING:
    import pandas as pd

    from raglift.repairing.changes import Change
    from raglift.stats.paired_tests import PairedDifference

MOST_PROPOSALS = 3
"""As many are measured on the other half of the questions, and share the level of the test."""
UNEXPLAINED = "unexplained"
"""No tried change finds it, or only by luck: neighbouring settings do not."""


@dataclass(frozen=True)
class Tried:
    """What a change made of a lost fact."""

    change: Change
    rank: int | None
    """The rank at which it finds the fact; None if it does not, by rank k."""
    agreeing: float
    """The share of neighbouring settings that find it too; 1 where a change has no neighbours."""


@dataclass(frozen=True)
class LostFact:
    """A fact that is not found by rank k."""

    query_id: str
    question: str
    fact: int
    """Which fact of the question, from 1."""
    passage: str
    """The text of its first alternative, or the chunk that it names."""
    outcome: str
    """Its outcome, as `failure_analysis` says it."""
    cause: str
    """One of `CAUSES`, or `unexplained`."""
    tried: tuple[Tried, ...]
    """The changes that find it, the most particular first."""
    rank: int | None = None
    """The rank below k at which the system has it; None if it has not."""
    alone: tuple[tuple[str, int | None], ...] = ()
    """The rank at which BM25 alone and embeddings alone have it, by name; None beyond the first 1,000."""
    missing: tuple[str, ...] = ()
    """The words of the question that no passage of the fact has."""

    @property
    def mend(self) -> Tried | None:
        """The change that puts the cause right, or else the first one that finds it; None if none does."""
        kinds = {self.cause} | ({"overlap", "chunk size"} if self.cause in ("cut", "chunk size") else set())
        of_cause = (one for one in self.tried if one.change.cause in kinds)
        return next(of_cause, self.tried[0] if self.tried else None)


@dataclass(frozen=True)
class Proposal:
    """A change, or two, that was chosen on one half of the questions and measured on the other."""

    changes: tuple[Change, ...]
    mended: int
    """Questions of the other half with a fact more."""
    broken: int
    """Questions of the other half with a fact fewer."""
    questions: int
    """Of the other half."""
    difference: PairedDifference
    """Recall with the changes minus without, on the other half."""
    tokens: float
    """The tokens of a prompt, with the changes."""
    tokens_before: float
    mended_ids: tuple[str, ...]
    broken_ids: tuple[str, ...]

    @property
    def is_worth_it(self) -> bool:
        """Whether it mends significantly more than it breaks, and breaks at most a third of what it mends."""
        level = (1 - self.difference.confidence) / MOST_PROPOSALS
        return self.difference.mean > 0 and self.difference.p <= level and 3 * self.broken <= self.mended


@dataclass(frozen=True)
class Repairs(Presentable):
    """Why facts are lost, and what mends them."""

    system: str
    k: int
    """By which rank a fact is to be found."""
    lost: tuple[LostFact, ...]
    proposals: tuple[Proposal, ...]
    """At most three that are worth it, the best first."""
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per lost fact: `query_id`, `fact`, `outcome`, `cause`, `mend`, `rank` and `settings`."""
        import pandas as pd

        rows = []
        for one in self.lost:
            mend = one.mend
            change = (None, None, None) if mend is None else (mend.change.title, mend.rank, mend.change.settings)
            rows.append((one.query_id, one.fact, one.outcome, one.cause, *change))
        return pd.DataFrame(rows, columns=["query_id", "fact", "outcome", "cause", "mend", "rank", "settings"])
