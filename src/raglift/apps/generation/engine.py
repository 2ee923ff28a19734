"""`generate()` and its estimate of costs, and the accepted questions as queries."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.apps.generation.drafts import (
    DEFAULT_STYLES,
    STYLES,
    Asker,
    Draft,
    Rejection,
    Task,
    Verdict,
    Written,
    checks_of,
    draft_of,
    parse_styles,
    prompt_of,
    shares,
)
from raglift.apps.generation.filters import SYNTHETIC, Asked, GenerationRecord
from raglift.apps.generation.passages import Passages, Sampler
from raglift.apps.generation.report import generation_view, notes_on, style_report
from raglift.auditing.relabelling import Quotes
from raglift.base.limits import user_path
from raglift.datasets.formats.catalogue import write_dataset
from raglift.datasets.jsonl import passage_value, write_queries
from raglift.datasets.loading import load_documents
from raglift.errors import ConfigurationError
from raglift.judging.batch import Estimate, Limits, NoAnswer, estimate
from raglift.judging.prompts import load_prompt
from raglift.llm.language_models import DEFAULT_MODEL, language_model
from raglift.records.dataset import Dataset
from raglift.records.labels import Annotator, Fact, Passage, Query
from raglift.report.presenting import view_of, whole
from raglift.results.analyses import Presentable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raglift.apps.generation.drafts import Check
    from raglift.datasets.documents import DocumentSource
    from raglift.llm.replies import FilledPrompt
    from raglift.records.documents import Document


# Results of question generation for users: accepted questions as queries, and queries as a file.


_LINES = (".jsonl", ".ndjson")

view_of.register(GenerationRecord, whole(generation_view))


@dataclass(frozen=True, eq=False, repr=False)
class Generation(Presentable, GenerationRecord):
    """Questions that a model wrote about a corpus, and what was thrown away on the way."""

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> Path:
        """Write the queries to a `.jsonl` file, or queries and documents to a new folder.

        In a file, labels are quote anchors, `{"doc", "from", "to"}`, so that a person can read them, and spans where no
        anchor resolves to it. An existing file is replaced, unless `overwrite` is false; a folder must be empty.

        Raises:
            DatasetError: no question was kept, or it cannot be written.
        """
        target = user_path(path)
        dataset = self.dataset
        if target.suffix.lower() in _LINES:
            anchored = _anchored(dataset.documents)
            return write_queries(
                dataset.queries, target, dataset.documents, passage_value=anchored, overwrite=overwrite
            )
        return write_dataset(dataset, target)


def queries_of(drafts: Sequence[Draft], passages: Passages, model: str, date: str) -> tuple[Query, ...]:
    """Return the queries of the drafts that are kept.

    Args:
        drafts: what is kept.
        passages: the corpus, which tells how hard they are found.
        model: who wrote them.
        date: the day of it.
    """
    return tuple(_query(draft, passages, model, date) for draft in drafts)


def _query(draft: Draft, passages: Passages, model: str, date: str) -> Query:
    style = draft.task.style
    annotator = Annotator(model, load_prompt(style.prompt).version, date)
    facts = tuple(
        Fact((Passage(label.text, label.doc_id, label.start, label.end, annotator=annotator),))
        for label in draft.labels
    )
    difficulty = (passages.difficulty(draft.text, facts),) if facts else ()
    # The words decide the id, so that files of several seeds can be put together
    digest = hashlib.sha256(f"{style.name}\x00{draft.text}".encode()).hexdigest()[:8]
    return Query(
        f"{style.name}-{digest}",
        draft.text,
        facts,
        (SYNTHETIC, style.name, *difficulty),
        answerable=bool(facts),
        annotator=annotator,
    )


def _anchored(documents: Sequence[Document]) -> Callable[..., Any]:
    """Return a function that writes a span as a quote anchor if the anchor resolves to it."""
    quotes = Quotes(documents)

    def value_of(passage: Passage, *, default_grade: int = 1) -> Any:
        value = passage_value(passage, default_grade=default_grade)
        if passage.doc_id is None or passage.start is None or passage.end is None or not isinstance(value, dict):
            return value
        found = quotes.find(passage.doc_id, passage.start, passage.end)
        if found is None:
            return value
        rest = {name: field for name, field in value.items() if name not in ("doc", "start", "end")}
        return {"doc": passage.doc_id, "from": found[0], "to": found[1], **rest}

    return value_of


# `generate()`: questions about a corpus, in rounds, until there are enough or the limit of attempts is reached.


MOST_TRIES = 3
"""How many questions are tried at most for each that is wanted."""
_STAND_IN = 120  # characters of a passage that stand for a question in an estimate


def generate(
    source: Dataset | DocumentSource,
    n: int = 50,
    *,
    model: Any = DEFAULT_MODEL,
    styles: str | Mapping[str, float] = DEFAULT_STYLES,
    seed: int = 0,
    passage_size: int = 800,
    limits: Limits | None = None,
    progress: bool | None = None,
) -> Generation:
    """Let a language model write questions about a corpus, with labels, and throw away those that are not good.

    The same corpus, seed, model and settings give the same prompts in the same order, and every answer is cached: a
    call that was stopped resumes where it stopped.

    Args:
        source: the corpus: its name, a dataset or its folder, a file or folder of documents, documents, or a mapping
            from id to text.
        n: how many questions are wanted.
        model: who writes and checks them: what `language_model` takes.
        styles: which, with weights: `"natural=2,keyword"`, or a mapping; see `STYLES`.
        seed: of the passages that are drawn, and of the mistakes in typing.
        passage_size: the most characters of a passage.
        limits: concurrency, and the most that it may cost.
        progress: whether to show how far it is; by default on a terminal.

    Raises:
        ConfigurationError: an argument that cannot be used, or documents of which nothing can be asked.
        DatasetError: the documents cannot be read.
        CostLimitReached: it would cost more than allowed; the answers so far are kept for the next call.
        MissingDependency: bm25s or the model's package is not installed.
    """
    run = _Run.begin(source, n, styles, seed, passage_size)
    asker = Asker(language_model(model), limits or Limits(), progress)
    while tasks := run.next_tasks():
        run.judge(tasks, asker)
    return run.result(asker)


def estimate_generation(
    source: Dataset | DocumentSource,
    n: int = 50,
    *,
    model: Any = DEFAULT_MODEL,
    styles: str | Mapping[str, float] = DEFAULT_STYLES,
    seed: int = 0,
    passage_size: int = 800,
    limits: Limits | None = None,
) -> Estimate:
    """Return what `generate` would cost if every first question were kept; nothing is sent.

    It is up to three times as much where all are thrown away. The questions to be checked are not known yet, so the
    starts of their passages are used instead, and of what the cache holds only the writing is counted.

    Args:
        source: as for `generate`.
        n: likewise.
        model: likewise.
        styles: likewise.
        seed: likewise.
        passage_size: likewise.
        limits: the price, if it is not known.
    """
    run = _Run.begin(source, n, styles, seed, passage_size)
    tasks = run.next_tasks()
    asked = language_model(model, to_estimate=True)
    writing = estimate(asked, [prompt_of(task, run.passages) for task in tasks], Written, limits)
    checking = estimate(asked, run.checks_to_come(tasks), Verdict, limits)
    dollars = None if writing.dollars is None or checking.dollars is None else writing.dollars + checking.dollars
    prompts, cached = writing.prompts + checking.prompts, writing.cached + checking.cached
    return Estimate(prompts, cached, writing.usage + checking.usage, dollars, run.shortage())


@dataclass
class _Run:
    """Questions being written: what is wanted, and the outcome of each that was tried."""

    documents: tuple[Document, ...]
    name: str
    wanted: Mapping[str, int]
    seed: int
    size: int
    passages: Passages
    sampler: Sampler
    tried: Counter[str] = field(default_factory=Counter)
    kept: dict[str, list[Draft]] = field(default_factory=dict)
    rejected: list[tuple[str, Rejection]] = field(default_factory=list)
    asked: Asked = field(default_factory=Asked)

    @classmethod
    def begin(
        cls, source: Dataset | DocumentSource, n: int, styles: str | Mapping[str, float], seed: int, size: int
    ) -> _Run:
        for name, value, least in (("n", n, 1), ("seed", seed, 0)):
            if type(value) is not int or value < least:
                raise ConfigurationError(f"generate: found {name}={value!r}; expected an integer of {least} or more")
        wanted = shares(n, parse_styles(styles))
        documents = source.documents if isinstance(source, Dataset) else load_documents(source)
        if not documents:
            raise ConfigurationError("generate: found no documents; expected some to ask about")
        passages = _passages_of(documents, size)
        kept: dict[str, list[Draft]] = {style: [] for style in wanted}
        sampler = Sampler(passages.usable, seed)
        return cls(documents, _name_of(source), wanted, seed, size, passages, sampler, kept=kept)

    def next_tasks(self) -> list[Task]:
        """Return what is still wanted, as far as passages and tries allow; nothing when all is done."""
        tasks: list[Task] = []
        before = -1
        while not tasks and self.tried.total() > before:  # all that were drawn may have no second passage
            before = self.tried.total()
            tasks = self._drawn()
        return tasks

    def _drawn(self) -> list[Task]:
        tasks = []
        for name, count in self._within_reach().items():
            for number in self.sampler.draw(count):
                self.tried[name] += 1
                others = self._partners(STYLES[name].passages, number)
                if others is None:
                    self.rejected.append((name, Rejection("no second passage")))
                else:
                    tasks.append(Task(STYLES[name], (number, *others)))
        return tasks

    def _within_reach(self) -> dict[str, int]:
        """Return how many questions of each style are tried next: fewer of each where passages are too few for all."""
        counts = {
            name: min(wanted - len(self.kept[name]), MOST_TRIES * wanted - self.tried[name])
            for name, wanted in self.wanted.items()
        }
        counts = {name: count for name, count in counts.items() if count > 0}
        while counts and _passages_for(counts) > max(len(self.sampler), 1):
            counts = shares(sum(counts.values()) - 1, counts)
        return counts

    def shortage(self) -> tuple[str, ...]:
        """Return that there are too few passages for what is wanted, where it is so."""
        needed, there = _passages_for(self.wanted), len(self.passages.usable)
        if needed <= there:
            return ()
        told = f"{sum(self.wanted.values()):,} questions need {needed:,} passages, and there are {there:,}"
        return (f"{told}: fewer will come; a smaller passage size makes more of them",)

    def _partners(self, passages: int, number: int) -> tuple[int, ...] | None:
        if passages == 1:
            return ()
        partner = self.sampler.take(self.passages.related(number))
        return None if partner is None else (partner,)

    def judge(self, tasks: Sequence[Task], asker: Asker) -> None:
        """Let questions be written and checked, and keep the good ones."""
        prompts = [prompt_of(task, self.passages) for task in tasks]
        answers = asker.ask(prompts, Written, "writing questions", lambda: self.checks_to_come(tasks))
        drafts = []
        for task, answer in zip(tasks, answers, strict=True):
            draft = self._drafted(task, answer)
            if isinstance(draft, Rejection):
                self.rejected.append((task.style.name, draft))
            else:
                drafts.append((draft, list(checks_of(draft, self.passages, self.seed))))
        prompts = [check.prompt for _, checks in drafts for check in checks]
        verdicts = iter(asker.ask(prompts, Verdict, "checking questions"))
        for draft, checks in drafts:
            rejection = _judged(draft, [(check, next(verdicts)) for check in checks])
            if rejection is None:
                self.kept[draft.task.style.name].append(draft)
            else:
                self.rejected.append((draft.task.style.name, rejection))

    def _drafted(self, task: Task, answer: Written | NoAnswer) -> Draft | Rejection:
        if isinstance(answer, NoAnswer):
            return Rejection("no answer", detail=answer.reason)
        draft = draft_of(task, answer, self.passages, self.size, self.seed)
        if isinstance(draft, Draft):
            before = self.asked.repeated_by(draft.question)
            if before is not None:
                return Rejection("repeats a question", draft.question, before)
        return draft

    def checks_to_come(self, tasks: Sequence[Task]) -> list[FilledPrompt]:
        """Return as many checks, about as long, as questions that are not written yet will need."""
        drafts = map(self._stand_in, tasks)
        return [check.prompt for draft in drafts for check in checks_of(draft, self.passages, self.seed)]

    def _stand_in(self, task: Task) -> Draft:
        text = self.passages.chunks[task.passages[0]].text
        question = text[:_STAND_IN]
        return Draft(task, question, question, (Passage(text),) * task.style.quotes)

    def result(self, asker: Asker) -> Generation:
        today = datetime.now(UTC).date().isoformat()
        drafts = [draft for style in self.wanted for draft in self.kept[style]]
        queries = queries_of(drafts, self.passages, asker.model.name, today)
        styles = tuple(
            style_report(
                style,
                (self.wanted[style], self.tried[style], len(self.kept[style])),
                [rejection for name, rejection in self.rejected if name == style],
            )
            for style in self.wanted
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
            dollars=asker.dollars,
            notes=tuple(notes_on(styles, self.passages, MOST_TRIES)),
        )


@lru_cache(maxsize=1)
def _passages_of(documents: tuple[Document, ...], size: int) -> Passages:
    """Return the passages of a corpus; an estimate and what follows it cut and index it once."""
    return Passages(documents, size)


def _passages_for(counts: Mapping[str, int]) -> int:
    """Return how many passages so many questions of each style are about."""
    return sum(count * STYLES[name].passages for name, count in counts.items())


def _name_of(source: Dataset | DocumentSource) -> str:
    if isinstance(source, Dataset):
        return source.name
    return Path(source).stem if isinstance(source, (str, os.PathLike)) else "documents"


def _judged(draft: Draft, verdicts: Sequence[tuple[Check, Verdict | NoAnswer]]) -> Rejection | None:
    """Return why a draft is thrown away after its checks; None if it is kept."""
    for check, verdict in verdicts:
        if isinstance(verdict, NoAnswer):
            return Rejection("not checked", draft.question, verdict.reason)
        if verdict.answerable is not check.expected:
            return Rejection(check.reason, draft.question)
    return None
