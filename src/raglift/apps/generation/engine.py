"""`generate()`: questions about a corpus, in rounds, until there are enough or the limit of attempts is reached."""

from __future__ import annotations

import hashlib
import os
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from pydantic import BaseModel

from raglift.apps.generation.questions import (
    DEFAULT_STYLES,
    REASONS,
    STYLES,
    Draft,
    Passages,
    Rejection,
    Reply,
    Task,
    Verdict,
    checks_of,
    draft_of,
    parse_styles,
    repeated,
    shares,
)
from raglift.datasets.formats.writing import write_dataset
from raglift.datasets.jsonl import placed_value, write_queries
from raglift.datasets.loading import load_documents
from raglift.errors import ConfigurationError
from raglift.grading.batch import CONCURRENCY, Estimate, NoAnswer, ask_all, estimate, today
from raglift.grading.prompts import load_prompt
from raglift.llm.language_models import DEFAULT_MODEL, LanguageModel, language_model
from raglift.llm.replies import FilledPrompt, Usage
from raglift.rendering.document import Column, Detail, Document, Entry, Section, table_from
from raglift.rendering.presenting import Presentable, view_of, whole
from raglift.types.dataset import Dataset
from raglift.types.labels import Annotator, Fact, Query
from raglift.utilities.display import counted, shorten
from raglift.utilities.limits import user_path

if TYPE_CHECKING:
    from raglift.datasets.documents import DocumentSource
    from raglift.types import documents as records


SYNTHETIC = "synthetic"
"""The tag of every query that a model wrote."""
MOST_TRIES = 3
"""How many questions are tried at most for each that is requested."""
_LINES = (".jsonl", ".ndjson")
_STAND_IN = 120  # characters of a passage that stand for a question in an estimate
_EXAMPLES = 3
_LONGEST_EXAMPLE = 500
_SHOWN = 200


@dataclass(frozen=True)
class Discarded:
    """How many questions were discarded for a reason."""

    reason: str
    """One of `REASONS`."""
    count: int
    examples: tuple[Rejection, ...]
    """The first few."""


@dataclass(frozen=True)
class StyleReport:
    """The outcome of one style."""

    style: str
    """One of `STYLES`."""
    requested: int
    tried: int
    accepted: int
    discarded: tuple[Discarded, ...]
    """In the order of `REASONS`."""


@dataclass(frozen=True, eq=False, repr=False)
class Generation(Presentable):
    """Questions that a model wrote about a corpus, and what was discarded on the way."""

    dataset: Dataset
    """The questions with their labels, and the documents; every query has the tags `synthetic` and its style."""
    styles: tuple[StyleReport, ...]
    """One a style."""
    model: str
    """Who wrote and checked them."""
    seed: int
    passage_size: int
    """The most characters of a passage."""
    passages: int
    """How many passages the documents were cut into."""
    left_out: Mapping[str, int]
    """How many of them carry nothing to ask about, by reason."""
    usage: Usage
    """The tokens that were billed now; answers from the cache cost nothing."""
    notes: tuple[str, ...] = ()
    """Notes for the reader."""

    @property
    def requested(self) -> int:
        """How many questions were requested."""
        return sum(each.requested for each in self.styles)

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> Path:
        """Write the queries to a `.jsonl` file, or queries and documents to a new folder.

        In a file, labels have their text with their location, so that a person can read them. An existing file is
        replaced, unless `overwrite` is false; a folder must be empty.

        Raises:
            DatasetError: no question was accepted, or it cannot be written.
        """
        target, dataset = user_path(path), self.dataset
        if target.suffix.lower() not in _LINES:
            return write_dataset(dataset, target)
        return write_queries(
            dataset.queries, target, dataset.documents, passage_value=placed_value, overwrite=overwrite
        )


def generate(
    source: Dataset | DocumentSource,
    n: int = 50,
    *,
    model: Any = DEFAULT_MODEL,
    styles: str | Mapping[str, float] = DEFAULT_STYLES,
    seed: int = 0,
    passage_size: int = 800,
    concurrency: int = CONCURRENCY,
    progress: bool | None = None,
) -> Generation:
    """Let a language model write questions about a corpus, with labels, and discard those that are not good.

    The same corpus, seed, model and settings give the same prompts in the same order, and every answer is cached: a
    call that was stopped resumes where it stopped.

    Args:
        source: the corpus: its name, a dataset or its folder, a file or folder of documents, documents, or a mapping
            from id to text.
        n: how many questions are requested.
        model: who writes and checks them: what `language_model` takes.
        styles: which, with weights: `"natural=2,keyword"`, or a mapping; see `STYLES`.
        seed: of the passages that are drawn.
        passage_size: the most characters of a passage.
        concurrency: how many requests are under way at a time, at most.
        progress: whether to show how far it is; by default on a terminal.

    Raises:
        ConfigurationError: an argument that cannot be used, or documents of which nothing can be asked.
        DatasetError: the documents cannot be read.
        MissingDependency: bm25s or the model's package is not installed.
    """
    run = _Run(source, n, styles, seed, passage_size)
    asker = _Asker(language_model(model), concurrency, progress)
    while tasks := run.next_tasks():
        run.write_and_check(tasks, asker)
    return run.result(asker)


def estimate_generation(
    source: Dataset | DocumentSource,
    n: int = 50,
    *,
    model: Any = DEFAULT_MODEL,
    styles: str | Mapping[str, float] = DEFAULT_STYLES,
    seed: int = 0,
    passage_size: int = 800,
) -> Estimate:
    """Return what `generate` would ask with the same arguments if every first question were accepted.

    Nothing is sent. It is up to three times as much if all are discarded. The questions to be checked are not known
    yet, so the starts of their passages are used instead, and of what the cache holds only the writing is counted.
    """
    run = _Run(source, n, styles, seed, passage_size)
    tasks = run.next_tasks()
    asked = language_model(model, to_estimate=True)
    writing = estimate(asked, [task.prompt(run.passages) for task in tasks], Reply)
    drafts = (Draft(task, run.passages.chunks[task.passages[0]].text[:_STAND_IN], ()) for task in tasks)
    checks = [check.prompt for draft in drafts for check in checks_of(draft, run.passages)]
    checking = estimate(asked, checks, Verdict)
    prompts, cached = writing.prompts + checking.prompts, writing.cached + checking.cached
    return Estimate(prompts, cached, writing.usage + checking.usage, run.shortage())


Form = TypeVar("Form", bound=BaseModel)


@dataclass
class _Asker:
    """One model, and what all steps together were billed."""

    model: LanguageModel
    concurrency: int
    progress: bool | None
    usage: Usage = field(default_factory=Usage)

    def ask(self, prompts: Sequence[FilledPrompt], form: type[Form], label: str) -> tuple[Form | NoAnswer, ...]:
        """Return the answers to the prompts of one step, in order."""
        answers = ask_all(self.model, prompts, form, concurrency=self.concurrency, label=label, progress=self.progress)
        self.usage += answers.usage
        return answers.values


class _Run:
    """Questions being written: how many are requested, and the outcome of each that was tried."""

    def __init__(
        self, source: Dataset | DocumentSource, n: int, styles: str | Mapping[str, float], seed: int, size: int
    ) -> None:
        for name, value, least in (("n", n, 1), ("seed", seed, 0)):
            if type(value) is not int or value < least:
                raise ConfigurationError(f"generate: found {name}={value!r}; expected an integer of {least} or more")
        self.requested = shares(n, parse_styles(styles))
        self.documents = source.documents if isinstance(source, Dataset) else load_documents(source)
        if not self.documents:
            raise ConfigurationError("generate: found no documents; expected some to ask about")
        self.name = "documents"
        if isinstance(source, Dataset):
            self.name = source.name
        elif isinstance(source, (str, os.PathLike)):
            self.name = Path(source).stem
        self.seed, self.size = seed, size
        self.passages = _passages_of(self.documents, size)
        self.undrawn: list[int] = np.random.default_rng(seed).permutation(self.passages.usable).tolist()
        self.tried: Counter[str] = Counter()
        self.accepted: dict[str, list[Draft]] = {style: [] for style in self.requested}
        self.rejected: dict[str, list[Rejection]] = {style: [] for style in self.requested}
        self.questions: list[str] = []

    def next_tasks(self) -> list[Task]:
        """Return what is still missing, as far as passages and tries allow; nothing when all is done."""
        tasks: list[Task] = []
        while not tasks and (counts := self._within_reach()):
            for name, count in counts.items():
                drawn, self.undrawn = self.undrawn[:count], self.undrawn[count:]
                for number in drawn:
                    self.tried[name] += 1
                    task = self._task(name, number)
                    if task is None:  # then all that were drawn may have no second passage
                        self.rejected[name].append(Rejection("no second passage"))
                    else:
                        tasks.append(task)
        return tasks

    def _task(self, name: str, number: int) -> Task | None:
        if STYLES[name].passages == 1:
            return Task(STYLES[name], (number,))
        second = next((other for other in self.passages.related(number) if other in self.undrawn), None)
        if second is None:
            return None
        self.undrawn.remove(second)
        return Task(STYLES[name], (number, second))

    def _within_reach(self) -> dict[str, int]:
        """Return how many questions of each style are tried next: fewer of each if passages are too few for all."""
        counts = {
            name: min(count - len(self.accepted[name]), MOST_TRIES * count - self.tried[name])
            for name, count in self.requested.items()
        }
        counts = {name: count for name, count in counts.items() if count > 0} if self.undrawn else {}
        while counts and _passages_for(counts) > max(len(self.undrawn), 1):
            counts = shares(sum(counts.values()) - 1, counts)
        return counts

    def shortage(self) -> tuple[str, ...]:
        """Return a note if there are too few passages for what is requested."""
        needed, usable = _passages_for(self.requested), len(self.passages.usable)
        if needed <= usable:
            return ()
        note = f"{sum(self.requested.values()):,} questions need {needed:,} passages, and there are {usable:,}"
        return (f"{note}: fewer will come; a smaller passage size makes more of them",)

    def write_and_check(self, tasks: Sequence[Task], asker: _Asker) -> None:
        """Let questions be written and checked, and note the outcome of each."""
        replies = asker.ask([task.prompt(self.passages) for task in tasks], Reply, "writing questions")
        drafts = []
        for task, reply in zip(tasks, replies, strict=True):
            draft = self._draft(task, reply)
            if isinstance(draft, Rejection):
                self.rejected[task.style.name].append(draft)
            else:
                self.questions.append(draft.text)
                drafts.append((draft, list(checks_of(draft, self.passages))))
        prompts = [check.prompt for _, checks in drafts for check in checks]
        verdicts = iter(asker.ask(prompts, Verdict, "checking questions"))
        for draft, checks in drafts:
            failed = None
            for check, verdict in [(check, next(verdicts)) for check in checks]:
                if failed is None and isinstance(verdict, NoAnswer):
                    failed = Rejection("not checked", draft.text, verdict.reason)
                elif failed is None and isinstance(verdict, Verdict) and verdict.answerable is not check.expected:
                    failed = Rejection(check.reason, draft.text)
            if failed is None:
                self.accepted[draft.task.style.name].append(draft)
            else:
                self.rejected[draft.task.style.name].append(failed)

    def _draft(self, task: Task, reply: Reply | NoAnswer) -> Draft | Rejection:
        if isinstance(reply, NoAnswer):
            return Rejection("no answer", detail=reply.reason)
        draft = draft_of(task, reply, self.passages, self.size)
        before = repeated(draft.text, self.questions) if isinstance(draft, Draft) else None
        if isinstance(draft, Rejection) or before is None:
            return draft
        return Rejection("repeats a question", draft.text, before)

    def result(self, asker: _Asker) -> Generation:
        """Return the accepted questions, and the report on the others."""
        queries = tuple(_query(draft, asker.model.name) for drafts in self.accepted.values() for draft in drafts)
        styles = tuple(
            StyleReport(name, count, self.tried[name], len(self.accepted[name]), _discarded(self.rejected[name]))
            for name, count in self.requested.items()
        )
        return Generation(
            dataset=Dataset(queries, self.documents, f"{self.name}-synthetic"),
            styles=styles,
            model=asker.model.name,
            seed=self.seed,
            passage_size=self.size,
            passages=len(self.passages.chunks),
            left_out=self.passages.left_out,
            usage=asker.usage,
            notes=self._notes(styles),
        )

    def _notes(self, styles: Sequence[StyleReport]) -> tuple[str, ...]:
        """Return why there are fewer questions than requested."""
        short = [each for each in styles if each.accepted < each.requested]
        if not short:
            return ()
        why = f"{MOST_TRIES} were tried for each that was requested"
        if any(each.tried < MOST_TRIES * each.requested for each in short):
            usable = len(self.passages.usable)
            why = f"no passage is left of the {usable:,} that something can be asked of"
        return (f"{sum(each.requested - each.accepted for each in short):,} fewer than requested: {why}",)


def _query(draft: Draft, model: str) -> Query:
    style = draft.task.style
    annotator = Annotator(model, load_prompt(style.prompt).version, today())
    facts = tuple(Fact((replace(label, annotator=annotator),)) for label in draft.labels)
    # The words decide the id, so that files of several seeds can be put together
    digest = hashlib.sha256(f"{style.name}\x00{draft.text}".encode()).hexdigest()[:8]
    tags = (SYNTHETIC, style.name)
    return Query(f"{style.name}-{digest}", draft.text, facts, tags, answerable=bool(facts), annotator=annotator)


@lru_cache(maxsize=1)
def _passages_of(documents: tuple[records.Document, ...], size: int) -> Passages:
    """Return the passages of a corpus; an estimate and what follows it cut and index it once."""
    return Passages(documents, size)


def _passages_for(counts: Mapping[str, int]) -> int:
    """Return how many passages so many questions of each style are about."""
    return sum(count * STYLES[name].passages for name, count in counts.items())


def _discarded(rejections: Sequence[Rejection]) -> tuple[Discarded, ...]:
    """Return how many questions were discarded for each reason, with examples."""
    found = []
    for reason in REASONS:
        # A model may answer with megabytes
        examples = [
            Rejection(reason, shorten(each.question, _LONGEST_EXAMPLE), shorten(each.detail, _LONGEST_EXAMPLE))
            for each in rejections
            if each.reason == reason
        ]
        if examples:
            shown = [each for each in dict.fromkeys(examples) if each.question or each.detail][:_EXAMPLES]
            found.append(Discarded(reason, len(examples), tuple(shown)))
    return tuple(found)


# What is shown of question generation.


_SYNTHETIC_NOTE = (
    "a model wrote these questions and chose what answers them: they can compare systems on one corpus, but "
    "say little about what people ask; have a person check a sample"
)
_COUNTS: tuple[Column[StyleReport], ...] = (
    Column("style", lambda style: style.style, words=True),
    Column("requested", lambda style: f"{style.requested:,}"),
    Column("tried", lambda style: f"{style.tried:,}"),
    Column("accepted", lambda style: f"{style.accepted:,}"),
    Column("discarded", lambda style: f"{style.tried - style.accepted:,}"),
)


def generation_view(generation: Generation) -> Document:
    """Return how many questions of each style there are, and what was discarded."""
    usage, left_out = generation.usage, generation.left_out
    cost = f"{usage.input:,} input and {usage.output:,} output tokens billed"
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in left_out.items())
    return Document(
        title=(
            f"{generation.dataset.name}: {len(generation.dataset):,} of {counted(generation.requested, 'question')}, "
            f"by {generation.model}, seed {generation.seed}; {cost}"
        ),
        lead=(
            f"{counted(generation.passages, 'passage')} of at most {generation.passage_size:,} characters; "
            f"{sum(left_out.values()):,} left out{f' ({reasons})' if left_out else ''}."
        ),
        headline=table_from(_COUNTS, generation.styles, "Questions of each style"),
        measured=(),
        warnings=(*generation.notes, _SYNTHETIC_NOTE),
        sections=tuple(_discarded_section(style) for style in generation.styles if style.discarded),
        printed=Detail.DETAILS,
    )


def _discarded_section(style: StyleReport) -> Section:
    """Return why questions of a style were discarded, with examples."""
    entries = []
    for each in style.discarded:
        examples = [
            Entry(textwrap.shorten(" — ".join(filter(None, (one.question, one.detail))), _SHOWN, placeholder=" …"))
            for one in each.examples
        ]
        entries.append(Entry(f"{each.reason} ({each.count:,}): {REASONS[each.reason]}", tuple(examples)))
    return Section(f"Discarded of {style.style}", entries=tuple(entries), detail=Detail.DETAILS)


view_of.register(Generation, whole(generation_view))
