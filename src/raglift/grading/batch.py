"""Batches of prompts: each is sent once, answered from the cache if possible."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel

from raglift.errors import ModelOutputError, ModelUnavailable
from raglift.llm.replies import FilledPrompt, Usage, count_tokens
from raglift.utilities.cache import Cache, content_key, default_cache
from raglift.utilities.progress import track
from raglift.utilities.retrying import stopped_by
from raglift.utilities.threads import LOOK_UP, WorkerPool, require_concurrency

if TYPE_CHECKING:
    from raglift.llm.language_models import LanguageModel


_TOKENS_OF_A_CHAT = 12
_TOKENS_OF_AN_ANSWER = 80
"""What an answer is guessed to have before it came: a sentence or two and a few values, as JSON."""


# Cached answers, each with its date.


Form = TypeVar("Form", bound=BaseModel)


def today() -> str:
    """Return the day that answers of now are dated, as `2026-11-21`."""
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True)
class DatedAnswer(Generic[Form]):
    """An answer, and the day it came: both are kept."""

    value: Form
    day: str

    def to_bytes(self) -> bytes:
        """Return what the cache keeps: the day on a line, and the answer as JSON."""
        return f"{self.day}\n{self.value.model_dump_json(by_alias=True)}".encode()

    @classmethod
    def from_bytes(cls, content: bytes, form: type[Form]) -> DatedAnswer[Form]:
        """Return what was kept.

        Raises:
            ValueError: it is damaged, or no longer of the form.
        """
        day, _, answer = content.decode().partition("\n")
        return cls(form.model_validate_json(answer), date.fromisoformat(day).isoformat())


def cached_answers(keys: Sequence[bytes], form: type[Form], cache: Cache) -> dict[bytes, DatedAnswer[Form]]:
    """Return the answers that are in the cache; what is damaged or no longer of the form is forgotten."""
    values: dict[bytes, DatedAnswer[Form]] = {}
    damaged: list[bytes] = []
    for key, content in cache.get_many(keys).items():
        try:
            values[key] = DatedAnswer.from_bytes(content, form)
        except ValueError:  # pydantic's ValidationError is one
            damaged.append(key)
    if damaged:
        cache.remove_many(damaged)
    return values


# Many prompts to one model: each distinct prompt once, cached, with limited concurrency.


_HOPELESS = 10
CONCURRENCY = 8
"""How many requests are under way at a time unless another number is asked for."""


@dataclass(frozen=True)
class Estimate:
    """What asking would take; nothing is sent."""

    prompts: int
    """How many distinct prompts there are."""
    cached: int
    """How many of them are answered in the cache already, and cost nothing."""
    usage: Usage
    """Tokens of the others: of the prompts as counted, of the answers as guessed."""
    notes: tuple[str, ...] = ()
    """What is worth knowing before anything is paid for."""

    def __str__(self) -> str:
        cached = f" ({self.cached:,} of them answered in the cache)" if self.cached else ""
        if self.cached == self.prompts:
            return f"{self.prompts:,} prompts{cached}, nothing to pay"
        tokens = f"about {self.usage.input:,} tokens to read and {self.usage.output:,} to write"
        return f"{self.prompts:,} prompts{cached}, {tokens}"


@dataclass(frozen=True)
class NoAnswer:
    """Why a prompt was not answered."""

    reason: str


@dataclass(frozen=True)
class Answers(Generic[Form]):
    """What came back: one entry per prompt, in order."""

    values: tuple[Form | NoAnswer, ...]
    days: tuple[str, ...]
    """When each was answered, as `2026-11-21`, be it now or by an earlier call; empty if there is no answer."""
    asked: int
    """How many prompts were sent in this call."""
    usage: Usage
    """What they were billed."""

    @property
    def last_day(self) -> str:
        """When the latest answer came; today where there is none."""
        return max(self.days, default="") or today()


def estimate(
    model: LanguageModel,
    prompts: Sequence[FilledPrompt],
    form: type[Form],
    *,
    cache: Cache | None = None,
) -> Estimate:
    """Return what asking would take.

    Tokens are those of cl100k_base; where it is not on this machine, a third of the bytes. An answer is guessed to have
    80.
    """
    keys = _keys(model, prompts, form)
    cached = cached_answers(keys, form, default_cache() if cache is None else cache)
    usage = sum((task.guess for task in _tasks(keys, prompts, form, cached)), Usage())
    return Estimate(len(set(keys)), len(cached), usage)


def ask_all(
    model: LanguageModel,
    prompts: Sequence[FilledPrompt],
    form: type[Form],
    *,
    concurrency: int = CONCURRENCY,
    label: str = "asking",
    cache: Cache | None = None,
    progress: bool | None = None,
) -> Answers[Form]:
    """Return the answers to all prompts; each one is cached as it comes, so a stopped call resumes where it stopped.

    A prompt that gets no usable answer is a NoAnswer, and is asked again by the next call. Ctrl-C stops at once.

    Args:
        model: who is asked.
        prompts: any number; equal ones are asked once.
        form: what each answer must be.
        concurrency: how many requests are under way at a time, at most.
        label: what is being done, for the display of progress.
        cache: where answers are kept; by default the cache that all runs of this user share.
        progress: whether to show it; None decides by the terminal.

    Raises:
        ModelUnavailable: the provider would answer no other prompt either; none of the first ten was answered counts
            as that.
        ConfigurationError: `concurrency` is no integer of 1 or more.
    """
    require_concurrency(concurrency)
    cache = default_cache() if cache is None else cache
    keys = _keys(model, prompts, form)
    values: dict[bytes, DatedAnswer[Form] | NoAnswer] = dict(cached_answers(keys, form, cache))
    waiting = _tasks(keys, prompts, form, values)
    billed = Usage()
    with track(label, len(waiting), "prompts", show=progress) as advance:
        for task, outcome, usage in _asked(model, waiting, form, concurrency, cache):
            values[task.key] = NoAnswer(str(outcome)) if isinstance(outcome, ModelOutputError) else outcome
            billed += usage
            advance(1)
    found = [values[key] for key in keys]
    return Answers(
        values=tuple(each if isinstance(each, NoAnswer) else each.value for each in found),
        days=tuple("" if isinstance(each, NoAnswer) else each.day for each in found),
        asked=len(waiting),
        usage=billed,
    )


def _asked(
    model: LanguageModel, waiting: Sequence[_Task], form: type[Form], concurrency: int, cache: Cache
) -> Iterator[tuple[_Task, DatedAnswer[Form] | ModelOutputError, Usage]]:
    """Yield each task as it is done, with its answer or its failure and what was billed."""

    def ask(task: _Task) -> tuple[DatedAnswer[Form], Usage]:
        with stopped_by(pool.stopping):
            reply = model.ask(task.prompt, form)
        answer = DatedAnswer(reply.value, today())
        cache.put_many({task.key: answer.to_bytes()})
        return answer, reply.usage

    left = deque(waiting)
    answered = failed = 0
    under_way: dict[Future[tuple[DatedAnswer[Form], Usage]], _Task] = {}
    # When asking ends, by Ctrl-C or otherwise, what is under way is not waited for
    with WorkerPool(concurrency, "raglift-ask") as pool:
        while left or under_way:
            while left and len(under_way) < concurrency:
                task = left.popleft()
                under_way[pool.submit(ask, task)] = task
            for done in wait(under_way, LOOK_UP, FIRST_COMPLETED).done:
                task, failure = under_way.pop(done), done.exception()
                if isinstance(failure, ModelOutputError):
                    failed += 1
                    _stop_if_hopeless(failure, answered, failed, len(left) + len(under_way))
                    yield task, failure, failure.usage or Usage()
                else:
                    answer, usage = done.result()
                    answered += 1
                    yield task, answer, usage if usage != Usage() else task.guess


def _stop_if_hopeless(failure: ModelOutputError, answered: int, failed: int, left: int) -> None:
    """Do not go on where every other prompt would fail too."""
    if isinstance(failure, ModelUnavailable):
        before = f". {answered:,} prompts were answered before, and their answers are kept" if answered else ""
        raise ModelUnavailable(f"{failure}{before}")
    if not answered and failed >= _HOPELESS and left:
        raise ModelUnavailable(f"none of the first {failed} prompts was answered ({left:,} more remain): {failure}")


@dataclass(frozen=True)
class _Task:
    """A distinct prompt that has no answer yet."""

    prompt: FilledPrompt
    key: bytes
    guess: Usage


def _keys(model: LanguageModel, prompts: Sequence[FilledPrompt], form: type[BaseModel]) -> list[bytes]:
    """Return each prompt's key in the cache: of everything that decides the answer."""
    identity, schema = model.identity, json.dumps(form.model_json_schema(), sort_keys=True)
    return [content_key("answer", identity, prompt.version, prompt.system, prompt.user, schema) for prompt in prompts]


def _tasks(
    keys: Sequence[bytes], prompts: Sequence[FilledPrompt], form: type[BaseModel], answered: Container[bytes]
) -> list[_Task]:
    """Return the distinct prompts that have no answer yet."""
    distinct = dict(zip(keys, prompts, strict=True))
    of_system = cache(count_tokens)  # the same in most prompts
    more = count_tokens(json.dumps(form.model_json_schema())) + _TOKENS_OF_A_CHAT
    return [
        _Task(prompt, key, Usage(of_system(prompt.system) + count_tokens(prompt.user) + more, _TOKENS_OF_AN_ANSWER))
        for key, prompt in distinct.items()
        if key not in answered
    ]
