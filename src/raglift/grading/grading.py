"""A model's grades of pooled chunks, and the labels made from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from raglift.grading.batch import CONCURRENCY, Estimate, NoAnswer, ask_all, estimate
from raglift.grading.comparing import agreement
from raglift.grading.grading_text import GradingSummary, grading_view, summarize
from raglift.grading.labels import labelled_queries
from raglift.grading.pooling import Pool, PooledChunk, check_pool
from raglift.grading.rubrics import SCALES, check_relevant_from, relevance_prompt
from raglift.llm.language_models import DEFAULT_MODEL, language_model
from raglift.rendering.presenting import Presentable, view_of, whole
from raglift.types.checking import has_words
from raglift.types.dataset import Dataset
from raglift.types.labels import Annotator, Query

if TYPE_CHECKING:
    from raglift.grading.agreement_records import Agreement
    from raglift.grading.prompts import Prompt
    from raglift.llm.replies import FilledPrompt, Usage
    from raglift.matching.rule import MatchRule
    from raglift.results.evaluation import Evaluation
    from raglift.utilities.cache import Cache

    Evaluations: TypeAlias = Evaluation | Sequence[Evaluation] | Mapping[str, Evaluation]


_NOTHING_TO_JUDGE = NoAnswer("the chunk has no words"), ""


@dataclass(frozen=True)
class NotGraded:
    """A pair that has no grade."""

    query: Query
    pooled: PooledChunk
    reason: str


@dataclass(frozen=True, repr=False)
class Graded(Presentable):
    """What a model said of each pair of a pool; printed as its `summary`."""

    pool: Pool
    grades: tuple[tuple[int | NoAnswer, ...], ...]
    """Query by query in the order of the pool: 0 to `scale`, or why there is none."""
    reasons: tuple[tuple[str, ...], ...]
    """What the model said before each grade; empty if there is none. A model's words: untrusted."""
    days: tuple[tuple[str, ...], ...]
    """When the model gave each grade, as `2026-11-21`; empty if there is none."""
    annotator: Annotator
    """The model, what it was told, and the day of its latest answer."""
    scale: int
    """The highest grade."""
    asked: int
    """How many requests this took now."""
    cached: int
    """How many other answers were in the cache already."""
    usage: Usage
    """What those were billed."""

    @property
    def known(self) -> tuple[tuple[int | None, ...], ...]:
        """The grades, None for a pair without."""
        return tuple(tuple(None if isinstance(each, NoAnswer) else each for each in row) for row in self.grades)

    @property
    def counts(self) -> Mapping[int, int]:
        """How many pairs have each grade, from 0 to the highest."""
        found = Counter(grade for row in self.known for grade in row if grade is not None)
        return {grade: found[grade] for grade in range(self.scale + 1)}

    @property
    def not_graded(self) -> tuple[NotGraded, ...]:
        """The pairs without a grade."""
        return tuple(
            NotGraded(entry.query, pooled, answer.reason)
            for entry, row in zip(self.pool.queries, self.grades, strict=True)
            for pooled, answer in zip(entry.chunks, row, strict=True)
            if isinstance(answer, NoAnswer)
        )

    def to_dataset(self, *, relevant_from: int = 1, fill: bool = False, rule: MatchRule | None = None) -> Dataset:
        """Return the queries with the grades as labels, each with its annotator.

        Chunks from a grade on are passages of facts, those with the same evidence as alternatives of one fact; the
        others are judged irrelevant. A pair without a grade becomes no label, and a query without a relevant chunk has
        no facts.

        Args:
            relevant_from: the lowest grade that makes a passage of a fact.
            fill: keep the labels that the queries have, and add grades only of chunks of which these say nothing; by
                default the grades are the only labels.
            rule: by which chunks match the labels that there are; containment by default.

        Raises:
            ConfigurationError: no grade from which on to be relevant.
        """
        check_relevant_from(relevant_from, self.scale)
        queries = labelled_queries(
            self.pool, self.known, self.annotator, days=self.days, relevant_from=relevant_from, fill=fill, rule=rule
        )
        return Dataset(queries, name=self.pool.name)

    def agreement(
        self,
        *,
        relevant_from: int = 1,
        unmatched_as_irrelevant: bool = True,
        rule: MatchRule | None = None,
        seed: int = 0,
    ) -> Agreement:
        """Return how far the grades agree with the labels of people that the pool's queries have.

        Args:
            relevant_from: the lowest grade that counts as relevant.
            unmatched_as_irrelevant: a chunk that matches no label of a query that people labelled counts as irrelevant,
                as it does in metrics; else such pairs are left out.
            rule: by which chunks match those labels; containment by default.
            seed: of the intervals.
        """
        return agreement(
            self.pool,
            [entry.query for entry in self.pool.queries],
            self.known,
            judge=self.annotator.model,
            levels=self.scale + 1,
            threshold=relevant_from,
            rule=rule,
            unmatched_as_irrelevant=unmatched_as_irrelevant,
            seed=seed,
        )

    def summary(
        self, evaluations: Evaluations | None = None, *, relevant_from: int = 1, fill: bool = False
    ) -> GradingSummary:
        """Return what the grades come to, to print: how many of each, and how each system does by them.

        Where people labelled queries of the pool, it says how far the model agrees with them.

        Args:
            evaluations: those that were pooled, to be scored under the labels that follow, and under those of people;
                their match rule tells which chunk matches which label.
            relevant_from: as in `to_dataset`.
            fill: as in `to_dataset`.
        """
        return summarize(self, evaluations, relevant_from=relevant_from, fill=fill)

    def __repr__(self) -> str:
        return f"Graded({len(self.pool):,} pairs by {self.annotator.model}; print() shows the grades)"


def grade(
    pool: Pool,
    model: Any = DEFAULT_MODEL,
    *,
    rubric: str | Path | None = None,
    scale: int = 3,
    concurrency: int = CONCURRENCY,
    cache: Cache | None = None,
    progress: bool | None = None,
) -> Graded:
    """Ask a language model how well each pooled chunk answers its query.

    Every answer is cached as it comes: a call that was stopped resumes where it stopped, and one with the same model,
    rubric and texts costs nothing.

    Args:
        pool: the pairs, from `pool`.
        model: as for `language_model`.
        rubric: what each grade means, in words, or a path to a file of them; by default raglift's own.
        scale: the highest grade, 3 or 5; 0 is irrelevant.
        concurrency: how many requests are under way at a time, at most.
        cache: where answers are kept; by default raglift's.
        progress: whether to show a bar; None for where there is a terminal.

    Raises:
        ConfigurationError: an argument that cannot be used.
        MissingDependency: the provider's package is not installed.
    """
    check_pool(pool)
    asked = language_model(model)
    task, form = relevance_prompt(scale, rubric), SCALES[scale]
    prompts = list(_prompts(pool, task))
    answers = ask_all(asked, prompts, form, concurrency=concurrency, label="grading", cache=cache, progress=progress)
    came = iter(zip(answers.values, answers.days, strict=True))
    rows = [
        [next(came) if has_words(each.chunk.text) else _NOTHING_TO_JUDGE for each in entry.chunks]
        for entry in pool.queries
    ]
    return Graded(
        pool=pool,
        grades=tuple(tuple(each if isinstance(each, NoAnswer) else each.grade for each, _ in row) for row in rows),
        reasons=tuple(tuple("" if isinstance(each, NoAnswer) else each.reason for each, _ in row) for row in rows),
        days=tuple(tuple(day for _, day in row) for row in rows),
        annotator=Annotator(asked.name, task.version, answers.last_day),
        scale=scale,
        asked=answers.asked,
        cached=len(set(prompts)) - answers.asked,
        usage=answers.usage,
    )


def estimate_grading(
    pool: Pool,
    model: Any = DEFAULT_MODEL,
    *,
    rubric: str | Path | None = None,
    scale: int = 3,
    cache: Cache | None = None,
) -> Estimate:
    """Return what `grade` would take with the same arguments; nothing is sent."""
    asked = language_model(model, to_estimate=True)
    check_pool(pool)
    return estimate(asked, list(_prompts(pool, relevance_prompt(scale, rubric))), SCALES[scale], cache=cache)


def _prompts(pool: Pool, task: Prompt) -> Iterator[FilledPrompt]:
    """Yield what is asked of each pair whose chunk has words."""
    for entry in pool.queries:
        for pooled in entry.chunks:
            if has_words(pooled.chunk.text):
                yield task.fill(question=entry.query.text, passage=pooled.chunk.text)


view_of.register(Graded, whole(lambda graded: grading_view(graded.summary())))
