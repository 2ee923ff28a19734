"""Lost facts with what they are lost by and what mends them, and the few changes worth making."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from raglift.errors import RunError
from raglift.rendering.presenting import Presentable
from raglift.stats.paired_tests import PairedDifference  # noqa: TC001 — pydantic reads it
from raglift.storage.layout import REPAIRS
from raglift.utilities.limits import is_file, user_path
from raglift.utilities.replacing import replacing_file
from raglift.utilities.validation import WrongKind, read_as

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

CAUSES = {
    "label": "the label's text is in no document",
    "missing document": "the document is not in the index",
    "failed": "the question failed",
    "asked again": "the same system finds it when it is asked again",
    "filter": "a filter, of the question or of the retriever, excludes the document",
    "cut off": "a stage passes on too few hits",
    "embedding truncates": "the embedding model does not read the passage's part of the chunk",
    "reranker truncates": "the reranker does not read the passage's part of the hit",
    "copies": "copies of the passage's text in other documents come before it",
    "language": "BM25 reads the texts in another language",
    "weight": "the fusion's weight leaves one side out",
    "candidates": "the reranker gets too few candidates",
    "overlap": "the chunks cut the passage, and do not overlap enough to hold it",
    "cut": "the chunks cut the passage",
    "chunk size": "the chunks are too small or too large for the question",
    "headings": "the passage needs the headings above it",
    "reranker": "the reranker ranks it lower",
    "retriever": "a hybrid of both kinds of retrievers finds it",
    "embedding": "another embedding model finds it",
}
"""What a lost fact can be lost by, the most particular first: a change that mends more is a weaker cause."""

MOST_PROPOSALS = 3
"""As many are measured on the other half of the questions, and share the level of the test."""
UNEXPLAINED = "unexplained"
"""No tried change finds it, or only by luck: neighbouring settings do not."""
DEPTH = "k"
"""The cause of a change that sends more hits: it finds what is ranked too low, and is nothing that it is lost by."""
_FEWEST = 3
_MOST_DIGITS = 18
AGREEING = 0.5
"""So many of the neighbouring settings must find a fact too."""


@dataclass(frozen=True)
class Change:
    """One thing of a system, changed."""

    cause: str
    """One of `CAUSES`: what the change puts right; or `k`."""
    title: str
    """What is changed: `20 candidates in place of 10`."""
    settings: str = ""
    """What to type, as options of `raglift evaluate`; empty for what is no setting."""


@dataclass(frozen=True)
class Tried:
    """A change that finds a lost fact."""

    change: Change
    rank: int
    """The rank at which it finds the fact."""
    agreeing: float
    """The share of neighbouring settings that find it too; 1 where none was tried."""
    only_shuffles: bool = False
    """Whether the change breaks more than half as many questions as it mends."""

    @property
    def explains(self) -> bool:
        """Whether the fact is lost by what the change puts right."""
        return self.agreeing >= AGREEING and not self.only_shuffles and self.change.cause != DEPTH

    @property
    def doubt(self) -> str:
        """Why the change explains nothing; empty if it does."""
        if self.only_shuffles:
            return ", but it breaks about as much as it mends"
        return "" if self.agreeing >= AGREEING else f", by luck: {self.agreeing:.0%} of neighbouring settings do"


@dataclass(frozen=True)
class Rival:
    """The first hit of a question that does not match the lost fact."""

    chunk_id: str
    doc_id: str | None
    text: str
    words: tuple[str, ...]
    """The words of the question that it has and the passage has not."""
    score: float | None
    """Its score, as the system gives it."""
    passage_score: float | None
    """That of the first hit with the passage; None if there is none."""


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
    """The words of the question that no passage of the fact has, apart from stop words and endings."""
    rival: Rival | None = None
    """What won against it; None if nothing was retrieved."""

    @property
    def mend(self) -> Tried | None:
        """The change that puts the cause right, else the first one that finds it without a doubt, else the first."""
        kinds = {self.cause} | ({"overlap", "chunk size"} if self.cause in ("cut", "chunk size") else set())
        steady = [one for one in self.tried if not one.doubt]
        of_cause, doubted = ([one for one in tried if one.change.cause in kinds] for tried in (steady, self.tried))
        return next(iter(of_cause or doubted or steady or self.tried), None)

    @property
    def reason(self) -> str:
        """Its cause, with what mends it: `language: BM25 reads the texts in another language; found at rank 2 …`."""
        mend = self.mend
        found = "no tried change finds it" if mend is None else f"found at rank {mend.rank} with {mend.change.title}"
        if self.cause != UNEXPLAINED:
            return f"{self.cause}: {CAUSES[self.cause]}" + (f"; {found}" if mend else "")
        return f"{self.cause}: {found}{'' if mend is None else mend.doubt}"


@dataclass(frozen=True)
class Effect:
    """What a change does to all questions."""

    change: Change
    mended: int
    """Questions with a fact more."""
    broken: int
    """Questions with a fact fewer."""

    @property
    def only_shuffles(self) -> bool:
        """Whether it breaks more than half as many as it mends, and not just one or two: it finds much by luck then."""
        return self.broken >= _FEWEST and 2 * self.broken > self.mended


def effect_of(change: Change, before: NDArray[np.float64], after: NDArray[np.float64]) -> Effect:
    """Return what a change does, from the found facts of each question."""
    return Effect(change, int((after > before).sum()), int((after < before).sum()))


@dataclass(frozen=True)
class Cost:
    """What a system costs."""

    tokens: float
    """Of a prompt with its first k hits, in the mean."""
    milliseconds: float
    """For a question, asked alone with nothing in the cache: the median of a few."""
    index_bytes: int | None
    """The size of its index, without the texts; None if it is not known."""


@dataclass(frozen=True)
class Proposal:
    """A change, or two, that was chosen on one half of the questions and measured on the other."""

    changes: tuple[Change, ...]
    mended: tuple[str, ...]
    """Questions of the other half with a fact more."""
    broken: tuple[str, ...]
    """Questions of the other half with a fact fewer."""
    questions: int
    """Of the other half."""
    difference: PairedDifference
    """Recall with the changes minus without, on the other half."""
    cost: Cost
    cost_before: Cost

    @property
    def is_worth_it(self) -> bool:
        """Whether it mends significantly more than it breaks, and breaks at most a third of what it mends."""
        level = (1 - self.difference.confidence) / MOST_PROPOSALS
        return self.difference.mean > 0 and self.difference.p <= level and 3 * len(self.broken) <= len(self.mended)

    @property
    def title(self) -> str:
        """What is changed, in words."""
        return ", together with ".join(change.title for change in self.changes)

    @property
    def effect(self) -> str:
        """What it did to questions that took no part in the choice, in words."""
        return (
            f"of {self.questions:,} questions that took no part in the choice it mends {len(self.mended):,} and breaks "
            f"{len(self.broken):,}"
        )

    @property
    def settings(self) -> str:
        """What to type, as options of `raglift evaluate`."""
        return " ".join(change.settings for change in self.changes)


@dataclass(frozen=True)
class Repairs(Presentable):
    """Why facts are lost, and what mends them."""

    system: str
    k: int
    """By which rank a fact is to be found."""
    questions: int
    """All that have labels."""
    lost: tuple[LostFact, ...]
    effects: tuple[Effect, ...]
    """Of changes that find a lost fact, as far as they were tried on all questions."""
    proposals: tuple[Proposal, ...]
    """At most three that are worth it, the best first."""
    notes: tuple[str, ...] = ()

    @property
    def causes(self) -> tuple[tuple[str, int], ...]:
        """The causes with their facts, the commonest first."""
        order = [*CAUSES, UNEXPLAINED]
        counts = Counter(one.cause for one in self.lost)
        return tuple(sorted(counts.items(), key=lambda item: (-item[1], order.index(item[0]))))

    def of(self, query_id: str) -> tuple[LostFact, ...]:
        """Return the lost facts of a question."""
        return tuple(one for one in self.lost if one.query_id == query_id)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per lost fact: `query_id`, `fact`, `outcome`, `cause`, `mend`, `rank` and `settings`."""
        import pandas as pd

        rows = []
        for one in self.lost:
            mend = one.mend
            change = (None, None, None) if mend is None else (mend.change.title, mend.rank, mend.change.settings)
            rows.append((one.query_id, one.fact, one.outcome, one.cause, *change))
        return pd.DataFrame(rows, columns=["query_id", "fact", "outcome", "cause", "mend", "rank", "settings"])

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as texts, numbers, lists and dictionaries."""
        return asdict(self)

    def save(self, run: str | Path) -> None:
        """Keep them in the folder of a saved run: its page, failure analysis and explanations name the causes then."""
        text = json.dumps(self.to_dict(), indent=2)
        with replacing_file(user_path(run) / REPAIRS) as file:
            file.write(text + "\n")


@cache
def _form() -> TypeAdapter[Repairs]:
    return TypeAdapter(Repairs)


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > _MOST_DIGITS:  # as in all that is saved: no number that is shown is larger
        raise WrongKind(f"found an integer of {len(digits)} digits; expected at most {_MOST_DIGITS}")
    return int(digits)


def read_repairs(run: str | Path) -> Repairs | None:
    """Return what was found of a saved run; None if nothing was.

    Raises:
        RunError: the file is damaged.
    """
    path = user_path(run) / REPAIRS
    if not is_file(path):
        return None
    try:
        found = read_as(_form(), json.loads(path.read_text(encoding="utf-8"), parse_int=_integer))
        if any(cause not in (*CAUSES, UNEXPLAINED) for cause, _ in found.causes):
            raise WrongKind("found a cause that is not known")
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path}: damaged: {error}; run raglift fix again, or remove the file") from error
    return found
