"""Many prompts to one model: each distinct one once, cached, a few at a time, within a limit of cost."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel

from raglift.cache import content_key, default_cache
from raglift.errors import ConfigurationError, ModelOutputError, ModelUnavailable
from raglift.integrations._retrying import stopped_by
from raglift.integrations.language_models import Usage
from raglift.integrations.prices import chat_price_of, dollars_in_short
from raglift.judging.asking.costs import GuessedUsage, Ledger, dollars_for
from raglift.judging.asking.kept import DatedAnswer, kept_answers, today
from raglift.progress import track
from raglift.threads import LOOK_UP, WorkerPool

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from raglift.cache import Cache
    from raglift.integrations.language_models import FilledPrompt, LanguageModel

__all__ = ["Answers", "Estimate", "Limits", "NoAnswer", "ask_all", "estimate"]

Form = TypeVar("Form", bound=BaseModel)

_HOPELESS = 10


@dataclass(frozen=True)
class Limits:
    """How a model is asked: how many requests at a time, and for how much money at most."""

    concurrency: int = 8
    """The most requests under way at a time."""
    max_cost: float | None = None
    """US dollars; None for no limit."""
    price: tuple[float, float] | None = None
    """US dollars per million input and output tokens, before the list prices."""

    def __post_init__(self) -> None:
        if isinstance(self.concurrency, bool) or not isinstance(self.concurrency, int) or self.concurrency < 1:
            raise ConfigurationError(f"concurrency: found {self.concurrency!r}; expected an integer, 1 or more")
        if self.max_cost is not None and not _are_dollars([self.max_cost]):
            raise ConfigurationError(f"max_cost: found {self.max_cost!r}; expected US dollars, 0 or more, or None")
        if self.price is not None and not (
            isinstance(self.price, Sequence) and len(self.price) == 2 and _are_dollars(self.price)
        ):
            raise ConfigurationError(
                f"price: found {self.price!r}; expected US dollars per million input and output tokens, 0 or more, as "
                "(0.15, 0.60)"
            )


def _are_dollars(values: Sequence[object]) -> bool:
    return all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf for value in values
    )


@dataclass(frozen=True)
class Estimate:
    """What asking would cost; nothing is sent to tell."""

    prompts: int
    """How many distinct prompts there are."""
    cached: int
    """How many of them are answered in the cache already, and cost nothing."""
    usage: Usage
    """Tokens of the others: of the prompts as counted, of the answers as guessed."""
    dollars: float | None
    """US dollars; None where the model's price is not known."""
    notes: tuple[str, ...] = ()
    """What is worth knowing before anything is paid for."""

    def __str__(self) -> str:
        kept = f" ({self.cached:,} of them answered in the cache)" if self.cached else ""
        if self.cached == self.prompts:
            return f"{self.prompts:,} prompts{kept}, nothing to pay"
        tokens = f"about {self.usage.input:,} tokens to read and {self.usage.output:,} to write"
        cost = "price not known" if self.dollars is None else f"about US$ {dollars_in_short(self.dollars)}"
        return f"{self.prompts:,} prompts{kept}, {tokens}, {cost}"


@dataclass(frozen=True)
class NoAnswer:
    """Why a prompt was not answered."""

    reason: str


@dataclass(frozen=True)
class Answers(Generic[Form]):
    """What came back: one entry a prompt, in order."""

    values: tuple[Form | NoAnswer, ...]
    days: tuple[str, ...]
    """When each was answered, as `2026-11-21`, be it now or by an earlier call; empty where there is no answer."""
    asked: int
    """How many prompts were sent in this call."""
    usage: Usage
    """What they were billed."""
    dollars: float | None
    """US dollars at the known price; None where there is none."""

    @property
    def last_day(self) -> str:
        """When the latest answer came; today where there is none."""
        return max(self.days, default="") or today()


def estimate(
    model: LanguageModel,
    prompts: Sequence[FilledPrompt],
    form: type[Form],
    limits: Limits | None = None,
    *,
    cache: Cache | None = None,
) -> Estimate:
    """Return what asking would cost.

    Tokens are those of cl100k_base; where it is not on this machine, a third of the bytes. The answer is guessed from
    its form: see `raglift.judging.asking.costs`.
    """
    price = _price_of(model, limits or Limits())
    keys = _keys(model, prompts, form)
    cached = kept_answers(keys, form, default_cache() if cache is None else cache)
    usage = sum((task.guess for task in _tasks(keys, prompts, form, cached)), Usage())
    return Estimate(len(set(keys)), len(cached), usage, None if price is None else dollars_for(usage, price))


def ask_all(
    model: LanguageModel,
    prompts: Sequence[FilledPrompt],
    form: type[Form],
    limits: Limits | None = None,
    *,
    label: str = "asking",
    cache: Cache | None = None,
    progress: bool | None = None,
) -> Answers[Form]:
    """Return the answers to all prompts; each one is cached as it comes, so a stopped call goes on where it was.

    A prompt that gets no usable answer is a NoAnswer, and is asked again by the next call. Ctrl-C stops at once.

    Args:
        model: who is asked.
        prompts: any number; equal ones are asked once.
        form: what each answer must be.
        limits: how many at a time, and for how much money.
        label: what is being done, for the display of progress.
        cache: where answers are kept; by default the cache that all runs of this user share.
        progress: whether to show it; None decides by the terminal.

    Raises:
        CostLimitReached: the next request might pass the limit. What was answered is in the cache.
        ModelUnavailable: the provider would answer no other prompt either; none of the first ten was answered counts
            as that.
        ConfigurationError: there is a limit of cost, and the model's price is not known.
    """
    limits = limits or Limits()
    cache = default_cache() if cache is None else cache
    ledger = Ledger(limits.max_cost, _price_of(model, limits))
    keys = _keys(model, prompts, form)
    values: dict[bytes, DatedAnswer[Form] | NoAnswer] = dict(kept_answers(keys, form, cache))
    waiting = _tasks(keys, prompts, form, values)
    with track(label, len(waiting), "prompts", show=progress) as advance:
        for task, outcome in _asked(model, waiting, form, limits.concurrency, ledger, cache):
            values[task.key] = NoAnswer(str(outcome)) if isinstance(outcome, ModelOutputError) else outcome
            advance(1)
    found = [values[key] for key in keys]
    return Answers(
        values=tuple(each if isinstance(each, NoAnswer) else each.value for each in found),
        days=tuple("" if isinstance(each, NoAnswer) else each.day for each in found),
        asked=len(waiting),
        usage=ledger.usage,
        dollars=ledger.dollars,
    )


def _asked(
    model: LanguageModel, waiting: Sequence[_Task], form: type[Form], concurrency: int, ledger: Ledger, cache: Cache
) -> Iterator[tuple[_Task, DatedAnswer[Form] | ModelOutputError]]:
    """Yield each task with its answer or its failure as they come, never more under way than the limits allow."""

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
            while left and len(under_way) < concurrency and ledger.allows(left[0].guess):
                ledger.begin(left[0].guess)
                task = left.popleft()
                under_way[pool.submit(ask, task)] = task
            if not under_way:
                raise ledger.limit_reached(answered, len(left), sum((task.guess for task in left), Usage()))
            for done in wait(under_way, LOOK_UP, FIRST_COMPLETED).done:
                task, failure = under_way.pop(done), done.exception()
                if isinstance(failure, ModelOutputError):
                    failed += 1
                    ledger.end(task.guess, failure.usage or Usage())
                    _stop_if_hopeless(failure, answered, failed, len(left) + len(under_way))
                    yield task, failure
                else:
                    answer, usage = done.result()
                    answered += 1
                    ledger.end(task.guess, usage if usage != Usage() else task.guess)
                    yield task, answer


def _stop_if_hopeless(failure: ModelOutputError, answered: int, failed: int, left: int) -> None:
    """Do not go on where every other prompt would fail too.

    Raises:
        ModelUnavailable: the failure is of the provider, or there were only failures so far.
    """
    if isinstance(failure, ModelUnavailable):
        kept = f". {answered:,} prompts were answered before, and their answers are kept" if answered else ""
        raise ModelUnavailable(f"{failure}{kept}")
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
    guess = GuessedUsage(form)
    distinct = dict(zip(keys, prompts, strict=True))
    return [_Task(prompt, key, guess.of(prompt)) for key, prompt in distinct.items() if key not in answered]


def _price_of(model: LanguageModel, limits: Limits) -> tuple[float, float] | None:
    """Return US dollars per million input and output tokens.

    Raises:
        ConfigurationError: there is a limit of cost, and no price.
    """
    price = limits.price or chat_price_of(model.name)
    if price is None and limits.max_cost is not None:
        raise ConfigurationError(
            f"max_cost: found {limits.max_cost:g}, but the price of {model.name} is not known; expected its US dollars "
            "per million input and output tokens besides: --price IN,OUT, or Limits(price=(in, out))"
        )
    return price
