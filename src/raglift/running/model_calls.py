"""How often a system calls models: counted, projected from the first query, and limited.

The first query is told as soon as it is answered, with what all queries will come to; where that exceeds a limit, no
second one is asked. Later no query is begun that would exceed it, if it calls models as often as any did before.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

from raglift.adapters.model_calls import ModelCall, Tally, frameworks_loaded, listening
from raglift.base.display import counted
from raglift.base.progress import notice
from raglift.errors import ConfigurationError, CostLimitReached
from raglift.llm.providers import PRICES, chat_price_of, dollars_in_short
from raglift.records.rankings import ModelUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raglift.adapters.stages import Stage
    from raglift.records.labels import Query
    from raglift.records.rankings import Trace


_CHARACTERS_PER_TOKEN = 3
"""Where a provider does not say its tokens: as few as they are taken to have in estimates before grading."""
_MARGIN = 1.2
_ROUNDED_FROM = 1_000
_MILLIONS_FROM = 500_000
_WHOLE_MILLIONS_FROM = 10_000_000


class NotAsked(Exception):
    """A query was not asked, because a limit was reached."""


class Halted(Exception):
    """A limit was reached; the queries that were asked before have their traces."""

    def __init__(self, stages: Sequence[Stage], queries: Sequence[Query], traces: Sequence[Trace], k: int) -> None:
        super().__init__(stages, queries, traces, k)
        self.stages = stages
        self.queries = queries
        self.traces = traces
        self.k = k


@dataclass(frozen=True)
class CallLimits:
    """How much a system may call models in one evaluation.

    Raises:
        ConfigurationError: a number is out of range.
    """

    max_model_calls: int | None = None
    """The most calls; None for no limit."""
    max_cost: float | None = None
    """US dollars; None for no limit."""
    price: tuple[float, float] | None = None
    """US dollars per million input and output tokens of language models, before the list prices."""

    def __post_init__(self) -> None:
        most = self.max_model_calls
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            raise ConfigurationError(f"max_model_calls: found {most!r}; expected an integer, 1 or more, or None")
        if self.max_cost is not None and not _are_dollars([self.max_cost]):
            raise ConfigurationError(f"max_cost: found {self.max_cost!r}; expected US dollars, 0 or more, or None")
        given = self.price
        if given is not None and not (isinstance(given, Sequence) and len(given) == 2 and _are_dollars(given)):
            raise ConfigurationError(
                f"price: found {given!r}; expected US dollars per million input and output tokens, 0 or more, as "
                "(0.15, 0.60)"
            )

    def __bool__(self) -> bool:
        """Whether there is a limit."""
        return self.max_model_calls is not None or self.max_cost is not None


def _are_dollars(values: Iterable[object]) -> bool:
    return all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf for value in values
    )


# What calls come to.


@dataclass(frozen=True)
class Spent:
    """What some calls come to."""

    language: float = 0
    """Calls of language models."""
    embedding: float = 0
    """Calls of embedding models."""
    characters: float = 0
    """Of what was sent and answered."""
    dollars: float | None = 0.0
    """US dollars; None if a price is not known."""

    @property
    def calls(self) -> float:
        """Of both kinds."""
        return self.language + self.embedding

    def __add__(self, other: Spent) -> Spent:
        known = self.dollars is not None and other.dollars is not None
        dollars = (self.dollars or 0.0) + (other.dollars or 0.0) if known else None
        return Spent(
            self.language + other.language,
            self.embedding + other.embedding,
            self.characters + other.characters,
            dollars,
        )

    def times(self, factor: float) -> Spent:
        """Return what as many times as much comes to."""
        dollars = None if self.dollars is None else self.dollars * factor
        return Spent(self.language * factor, self.embedding * factor, self.characters * factor, dollars)

    def text(self, *, is_rounded: bool) -> str:
        """Return it for people, as `9 calls of a language model (21,578 characters)`."""
        kinds = {"a language model": self.language, "an embedding model": self.embedding}
        (first, most), *others = ((kind, round(calls)) for kind, calls in kinds.items() if calls)
        calls = f"{counted(most, 'call')} of {first}" + "".join(f" and {calls:,} of {kind}" for kind, calls in others)
        about = "about " if is_rounded else ""
        in_brackets = f"{about}{_rounded(self.characters) if is_rounded else f'{round(self.characters):,}'} characters"
        if self.dollars is not None and self.dollars > 0:
            in_brackets += f", about US$ {dollars_in_short(self.dollars)}"
        return f"{about}{calls} ({in_brackets})"


def _rounded(number: float) -> str:
    """Return a number with two digits that count: `93,000`, `0.93 million`."""
    if number < _ROUNDED_FROM:
        return f"{round(number):,}"
    if number >= _MILLIONS_FROM:
        return f"{number / 1e6:,.2g} million" if number < _WHOLE_MILLIONS_FROM else f"{number / 1e6:,.0f} million"
    return f"{round(number, 1 - math.floor(math.log10(number))):,.0f}"


def _dollars(call: ModelCall, price: tuple[float, float] | None) -> float | None:
    """Return what a call costs, with tokens guessed from characters where the provider does not say them."""
    sent = call.usage.input if call.usage else call.sent / _CHARACTERS_PER_TOKEN
    answered = call.usage.output if call.usage else call.answered / _CHARACTERS_PER_TOKEN
    if call.kind == "embedding model":
        listed = PRICES.get(call.model.partition(":")[2])
        return None if listed is None else sent * listed / 1e6
    known = price or chat_price_of(call.model)
    return None if known is None else (sent * known[0] + answered * known[1]) / 1e6


def _spent(calls: Iterable[ModelCall], price: tuple[float, float] | None) -> Spent:
    return sum(
        (
            Spent(
                call.kind == "language model",
                call.kind == "embedding model",
                call.sent + call.answered,
                _dollars(call, price),
            )
            for call in list(calls)
        ),
        Spent(),
    )


# Several evaluations under one limit.


@dataclass
class Account:
    """What several evaluations spend together, and may spend."""

    limits: CallLimits
    """Of all of them together."""
    spent: Spent = Spent()
    """So far; what has no known price counts no dollars."""
    model_seconds: float = 0.0
    """What sweeps spent in models so far: embedding, scoring pairs, asking users' systems."""

    @property
    def is_used_up(self) -> bool:
        """Whether nothing more may be spent."""
        most, dollars = self.limits.max_model_calls, self.limits.max_cost
        if most is not None and self.spent.calls >= most:
            return True
        return dollars is not None and (self.spent.dollars or 0.0) >= dollars and self.spent != Spent()

    def add(self, spent: Spent) -> None:
        """Count what was spent."""
        self.spent += replace(spent, dollars=spent.dollars or 0.0)


_account: ContextVar[Account | None] = ContextVar("raglift account", default=None)


@contextmanager
def charged_to(account: Account | None) -> Iterator[None]:
    """Hold the limits of an account in the evaluations inside the block, instead of limits of their own."""
    token = _account.set(account)
    try:
        yield
    finally:
        _account.reset(token)


# One evaluation.


@contextmanager
def counting(limits: CallLimits, queries: int, *, progress: bool | None) -> Iterator[CallMeter]:
    """Yield what counts the calls of models that a system makes inside the block."""
    account = _account.get()
    with listening() as tally:
        if account is None:
            yield CallMeter(tally, limits, queries, progress)
            return
        meter = CallMeter(tally, account.limits, queries, progress, account.spent)
        try:
            yield meter
        finally:
            account.add(meter.spent())


@dataclass
class CallMeter:
    """Counts the calls of models of one evaluation."""

    tally: Tally
    limits: CallLimits
    queries: int
    """Of the dataset."""
    progress: bool | None
    """False says nothing."""
    earlier: Spent = Spent()
    """What other evaluations under the same limits spent before."""
    stop: str = ""
    """Why no further query is asked; empty while there is no reason."""
    ways: dict[str, Way] = field(default_factory=dict)
    """How the system is asked, by name."""
    _extra: str = ""
    _before: Spent = Spent()
    _projected: Spent | None = None

    def plan(self, asks: dict[str, int], extra: str = "") -> dict[str, Way]:
        """Say how many queries are going to be asked from now on.

        Args:
            asks: how many in each way: "as deployed", or "asked for 50 hits".
            extra: what is asked besides each query once, for people: `, 3 of them asked both ways first,`.
        """
        self._before, self._extra = self.spent(), extra
        self.ways = {name: Way(self, name, number) for name, number in asks.items()}
        return self.ways

    @property
    def uses(self) -> tuple[ModelUse, ...]:
        """What was called so far, for each model."""
        ordered = sorted(self.tally.calls, key=_kind_and_name)
        return tuple(self._use(*key, list(calls)) for key, calls in groupby(ordered, key=_kind_and_name))

    def notes(self) -> list[str]:
        """Return what readers of the run must know of its limits."""
        limits, spent = self.limits, self.spent()
        if limits and not self.tally.calls:
            heard = "only those through LangChain, LlamaIndex and Haystack's pipelines are"
            return [f"{_name(limits)}: no call of a model was counted: {heard}"]
        unstopped = "neither a query that is being asked nor a stage that takes all queries at once is stopped"
        return [f"{text}: {unstopped}" for text in self._exceeded(spent, "come")]

    def spent(self) -> Spent:
        """Return what was spent so far."""
        return _spent(self.tally.calls, self.limits.price)

    def limit_reached(self, kept: int) -> CostLimitReached:
        """Return the error that says how far the evaluation came, and what to do.

        Args:
            kept: how many queries were asked and are kept.
        """
        spent = self.spent()
        projected = max(self._projected or spent, spent.times(self.queries / max(kept, 1)), key=lambda one: one.calls)
        answered = f"{kept:,} of {counted(self.queries, 'query')} {'was' if kept == 1 else 'were'} answered"
        advice = f": {self._advice(projected)}" if _account.get() is None else ""
        expected = f"; all would come to {projected.text(is_rounded=True)}{advice}" if projected.calls else advice
        return CostLimitReached(
            f"{self.stop}. {answered}, with {spent.text(is_rounded=False) if spent.calls else 'no call'}{expected}",
            spent=spent.dollars or 0.0,
            more=max((projected.dollars or 0.0) - (spent.dollars or 0.0), 0.0),
        )

    def announce(self, way: Way, stage: str, first: Spent) -> None:
        """Say what the first query came to, and what all of them will; decide whether a second one is asked."""
        before, projected = self._projected or Spent(), self.projection()
        self._projected = projected
        where = f"{stage}: the" if stage else "The"
        if not way.is_deployed:
            where = f"{stage}: {way.name}, the" if stage else f"{way.name.capitalize()}, the"
        if projected.calls > before.calls:
            kept = max(way.kept.values(), default=0)
            before_that = f", {kept:,} of them answered before," if kept else ""
            notice(
                f"{where} first query made {first.text(is_rounded=False)}; {counted(self.queries, 'query')}"
                f"{before_that}{self._extra} will come to {projected.text(is_rounded=True)}",
                show=self.progress is not False,
            )
        self.stop = next(iter(self._exceeded(projected, "would come")), self.stop)

    def projection(self) -> Spent:
        """Return what all queries come to, if each calls models as the first did that was asked in the same way."""
        known = (way for way in self.ways.values() if way.first)
        most = max(known, key=lambda way: way.first_query.calls, default=None)
        first = most.first if most is not None else {}
        return sum((way.comes_to(way.first or first) for way in self.ways.values()), self._before)

    def would_exceed(self, expected: Spent, *, may_stray: bool = False) -> bool:
        """Whether a limit is exceeded if so much is spent besides; then nothing is asked any more.

        Args:
            expected: what the queries that are under way and the next one will come to.
            may_stray: whether they may make calls that are not seen to be theirs.
        """
        if not self.stop and self.limits and (expected.calls or may_stray):
            # Where calls alone are limited, nothing is added up: many queries ask this at the same time
            spent = Spent(len(self.tally.calls)) if self.limits.max_cost is None else self.spent()
            self.stop = next(iter(self._exceeded(spent + expected, "might come")), "")
        return bool(self.stop)

    @property
    def strays(self) -> float:
        """How many calls were made that belong to no query, as those in a thread that a system starts."""
        return len(self.tally.calls) - self._before.calls - sum(way.calls_of_queries for way in self.ways.values())

    def _exceeded(self, spent: Spent, come: str) -> list[str]:
        """Return which limits are exceeded, with what they are exceeded by."""
        found, limits = [], self.limits
        calls = self.earlier.calls + spent.calls
        with_others = ", with those of other cells," if self.earlier != Spent() else ""
        if limits.max_model_calls is not None and calls > limits.max_model_calls:
            found.append(
                f"max_model_calls: the calls{with_others} {come} to {round(calls):,}, more than "
                f"{limits.max_model_calls:,}"
            )
        if limits.max_cost is not None and spent.dollars is None:
            unknown = next(call for call in self.tally.calls if _dollars(call, limits.price) is None)
            found.append(f"max_cost: the price of {unknown.model} is not known")
        elif limits.max_cost is not None:
            dollars = (self.earlier.dollars or 0.0) + (spent.dollars or 0.0)
            if dollars > limits.max_cost:
                come_to = f"{come} to US$ {dollars_in_short(dollars)}"
                found.append(f"max_cost: the calls{with_others} {come_to}, more than US$ {limits.max_cost:g}")
        return found

    def _advice(self, projected: Spent) -> str:
        options = []
        if self.limits.max_model_calls is not None:
            options.append(f"--max-model-calls {math.ceil(projected.calls * _MARGIN)}")
        if self.limits.max_cost is not None and projected.dollars is not None:
            options.append(f"--max-cost {dollars_in_short(projected.dollars * _MARGIN).replace(',', '')}")
        elif self.limits.max_cost is not None:
            return "say it with --price IN,OUT (price=(in, out)), or limit the calls with --max-model-calls"
        return f"run again with {' and '.join(options)} or more"

    def _use(self, kind: str, model: str, calls: list[ModelCall]) -> ModelUse:
        usages = [call.usage for call in calls if call.usage is not None]
        is_told = len(usages) == len(calls)
        return ModelUse(
            kind=kind,
            model=model,
            calls=len(calls),
            characters_sent=sum(call.sent for call in calls),
            characters_answered=sum(call.answered for call in calls),
            tokens_sent=sum(usage.input for usage in usages) if is_told else None,
            tokens_answered=sum(usage.output for usage in usages) if is_told else None,
            dollars=_spent(calls, self.limits.price).dollars,
        )


def _kind_and_name(call: ModelCall) -> tuple[str, str]:
    return call.kind, call.model


def _name(limits: CallLimits) -> str:
    return "max_cost" if limits.max_model_calls is None else "max_model_calls"


AS_DEPLOYED = "as deployed"
"""The way in which a system is asked with its own settings."""


@dataclass
class Way:
    """How a system is asked: as deployed, or for a greater depth; each has a first query."""

    meter: CallMeter
    name: str
    """As `as deployed`, or `asked for 50 hits`."""
    asks: int = 0
    """How many queries are asked in this way in all."""
    first: dict[str, Spent] = field(default_factory=dict)
    """What the first query came to, by stage; stages that call no model are not in it."""
    kept: dict[str, int] = field(default_factory=dict)
    """Of how many queries the answers of an earlier attempt are kept, by stage."""
    _longest: dict[str, Spent] = field(default_factory=dict)
    _under_way: list[tuple[str, Tally]] = field(default_factory=list)
    _calls: int = 0
    _strays: dict[str, float] = field(default_factory=dict)
    _leading: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_deployed(self) -> bool:
        """Whether the system has its own settings."""
        return self.name == AS_DEPLOYED

    @property
    def first_query(self) -> Spent:
        """What the first query came to, in all stages."""
        return sum(self.first.values(), Spent())

    @property
    def calls_of_queries(self) -> int:
        """How many calls were made for queries."""
        return self._calls + sum(len(part.calls) for _, part in self._under_way)

    def comes_to(self, first: dict[str, Spent]) -> Spent:
        """Return what all queries come to, if each stage calls models for each as it did for the first."""
        asked = (spent.times(max(self.asks - self.kept.get(stage, 0), 0)) for stage, spent in first.items())
        return sum(asked, Spent())

    @property
    def is_stopped(self) -> bool:
        """Whether no further query is asked."""
        return bool(self.meter.stop)

    def wants_first(self, concurrency: int) -> bool:
        """Whether one query is to go through all stages before the others; it is not asked more often by that.

        Where several are asked at once and no limit is to be held, nobody waits for it.
        """
        return not self.first and frameworks_loaded() and (bool(self.meter.limits) or concurrency == 1)

    @contextmanager
    def leading(self) -> Iterator[None]:
        """Ask the first query in the block, in all stages; then tell what it came to."""
        if self.first:
            yield
            return
        self._leading = True
        try:
            yield
        finally:
            self._leading = False
        if self.first:
            self.meter.announce(self, "", self.first_query)

    @contextmanager
    def query(self, stage: str) -> Iterator[None]:
        """Ask a stage for one query in the block.

        Raises:
            NotAsked: a limit is reached, or would be.
        """
        price = self.meter.limits.price
        with self.meter.tally.part() as part:
            with self._lock:
                expected = sum((self._left(*one) for one in [*self._under_way, (stage, part)]), Spent())
                strays = self.meter.strays
                if self.meter.would_exceed(expected, may_stray=strays > self._strays.setdefault(stage, strays)):
                    raise NotAsked(self.meter.stop)
                entry = (stage, part)
                self._under_way.append(entry)
            is_answered = False
            try:
                yield
                is_answered = True
            finally:
                with self._lock:
                    self._under_way = [one for one in self._under_way if one is not entry]
                    self._calls += len(part.calls)
                    if part.calls:
                        self._note(stage, _spent(part.calls, price), is_answered)

    def _left(self, stage: str, part: Tally) -> Spent:
        """Return what a query that is under way may still come to."""
        longest, spent = self._longest.get(stage, Spent()), _spent(part.calls, self.meter.limits.price)
        calls = max(longest.calls - spent.calls, 0)
        return Spent(calls, dollars=max((longest.dollars or 0.0) - (spent.dollars or 0.0), 0.0))

    def _note(self, stage: str, spent: Spent, is_answered: bool) -> None:
        before = self._longest.get(stage, Spent())
        self._longest[stage] = Spent(
            max(before.calls, spent.calls), dollars=max(before.dollars or 0.0, spent.dollars or 0.0)
        )
        if is_answered and stage not in self.first:
            self.first[stage] = spent
            if not self._leading:
                self.meter.announce(self, stage, spent)
