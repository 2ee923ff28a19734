"""What the assistant returns: one turn a question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raglift.integrations.language_models import FilledPrompt
    from raglift.records import Hit, Query, Ranking
    from raglift.result_records import Scores

__all__ = ["Answer", "Citation", "StageHits", "Turn"]


@dataclass(frozen=True)
class StageHits:
    """What one stage of the system made of the question."""

    name: str
    """The stage's name: `retrieve`, `rerank`, …"""
    system: str
    """What did the work: class, model, settings that matter."""
    score_name: str
    """What its scores are: `cosine`, `bm25`, `fused`, or `score` on a scale of the stage's own."""
    ranking: Ranking
    """Its hits, best first."""
    labels: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For each rank whose hit matches any: the numbers of the question's labels (its facts), from 1."""


@dataclass(frozen=True)
class Citation:
    """A number in square brackets in an answer, and the chunk it stands for."""

    number: int
    """As it stands in the answer: the passage's number in the prompt, which is its rank after the last stage."""
    hit: Hit
    """The passage that was shown to the model under that number."""


@dataclass(frozen=True)
class Answer:
    """What the model said, as far as it came."""

    model: str
    """Who answered, as `openai:gpt-4o-mini`."""
    text: str
    """The answer; what came of it where it was stopped or failed."""
    citations: tuple[Citation, ...] = ()
    """The passages it cites, in the order in which it first does."""
    unknown: tuple[int, ...] = ()
    """Numbers it cites under which it was shown nothing."""
    says_unknown: bool = False
    """Whether it says that it does not know."""
    stopped: bool = False
    """Whether the reader stopped it."""
    error: str | None = None
    """Why it broke off, or never began; None when it is whole."""

    @property
    def is_whole(self) -> bool:
        """Whether all of it came."""
        return not self.stopped and self.error is None


@dataclass(frozen=True)
class Turn:
    """One question, what was found, and what was answered."""

    query: Query
    """The question; one of the labelled set, with its labels, where it is in there."""
    stages: tuple[StageHits, ...]
    """The hits after each stage that finished, in order."""
    k: int
    """The depth at which metrics were taken."""
    is_known: bool = False
    """Whether the question is in the labelled set."""
    near: Query | None = None
    """For a question that is not: one of the labelled set that reads almost the same, whose labels it does not get."""
    scores: Scores | None = None
    """Every metric at every stage, where the question has labels."""
    profile: str = "default"
    """Whose metric conventions were used."""
    context: tuple[Hit, ...] = ()
    """The passages that the answer may rest on: the first hits after the last stage."""
    prompt: FilledPrompt | None = None
    """What the model is told; None without hits."""
    answer: Answer | None = None
    """None where no model was asked."""
    error: str | None = None
    """Why the system failed on the question, and in which stage; None when it did not."""

    def __str__(self) -> str:
        from raglift.assistant.view import text_of

        return text_of(self)
