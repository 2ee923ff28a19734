"""Shared by the commands that call a language model: its options, and the estimated cost."""

from __future__ import annotations

import math
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from raglift.base.display import printable, short_repr
from raglift.cli.exits import Stopped
from raglift.errors import ConfigurationError, CostLimitReached
from raglift.judging.batch import Limits
from raglift.llm.language_models import language_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.base.retrying import RetryPolicy
    from raglift.judging.batch import Estimate
    from raglift.llm.language_models import LanguageModel


_MAX_COST = 5.0
"""US dollars, where the price is known and no other limit was given."""
_STOPPED = 1
_GOES_ON = "continues from there: what was answered is kept, and no file was written"


def model_and_limits(
    model: str,
    temperature: str,
    concurrency: int,
    max_cost: float | None,
    price: str | None,
    *,
    to_estimate: bool = False,
) -> tuple[LanguageModel, Limits]:
    """Return what `--model`, `--temperature`, `--concurrency`, `--max-cost`, `--price` and `--estimate` say.

    Raises:
        ConfigurationError: an option cannot be used, or the model's key is missing (`MissingKey`).
    """
    limits = Limits(concurrency, max_cost, None if price is None else parse_price(price))
    return language_model(model, temperature=_temperature(temperature), to_estimate=to_estimate), limits


def model_of(model: str, temperature: str, *, retry_policy: RetryPolicy | None = None) -> LanguageModel:
    """Return what `--model` and `--temperature` say.

    Args:
        model: as `language_model` takes it.
        temperature: a number, or `default`.
        retry_policy: how often a request is made again, and how long is waited before.

    Raises:
        ConfigurationError: an option cannot be used, or the model's key is missing (`MissingKey`).
    """
    return language_model(model, temperature=_temperature(temperature), retry_policy=retry_policy)


def parse_price(text: str) -> tuple[float, float]:
    """Return US dollars per million input and output tokens, as in `0.15,0.60`.

    Raises:
        ConfigurationError: the text is not two numbers, 0 or more.
    """
    try:
        given, answered = (float(part) for part in text.split(","))
    except ValueError:
        given = answered = math.nan
    if not (0 <= given < math.inf and 0 <= answered < math.inf):
        raise ConfigurationError(
            f"--price: found {short_repr(text)}; expected US dollars per million input and output tokens, as 0.15,0.60"
        )
    return given, answered


def limited(limits: Limits, expected: Estimate) -> Limits:
    """Return the limits, with one of cost where the price is known and none was given; say when it may be too low."""
    if expected.dollars is None:
        return limits
    max_cost = _MAX_COST if limits.max_cost is None else limits.max_cost
    if expected.dollars > max_cost:
        sys.stderr.write(f"that is more than --max-cost {max_cost:g}: it may stop there, before anything is written\n")
    return replace(limits, max_cost=max_cost)


@contextmanager
def stoppable() -> Iterator[None]:
    """Say how to continue if the limit of cost, or Ctrl-C, stops what the block asks a model.

    Raises:
        Exit: the limit was reached; the exit code is 1.
        Stopped: Ctrl-C.
    """
    try:
        yield
    except CostLimitReached as error:
        told = f"stopped: {error}\nthe same command with more to spend {_GOES_ON}"
        sys.stderr.write(f"raglift: {printable(told)}\n")
        raise typer.Exit(_STOPPED) from None
    except KeyboardInterrupt:
        raise Stopped(f"the same command {_GOES_ON}") from None


def print_estimate(estimate: Estimate, model: LanguageModel) -> None:
    """Say on standard error in one line what asking would cost, and what is worth knowing before."""
    sys.stderr.write(f"{printable(model.name)}: {estimate}\n")
    sys.stderr.writelines(f"! {printable(note)}\n" for note in estimate.notes)


def _temperature(text: str) -> float | None:
    if text == "default":
        return None
    try:
        temperature = float(text)
    except ValueError:
        temperature = math.nan
    if not 0 <= temperature <= 2:
        raise ConfigurationError(f"--temperature: found {short_repr(text)}; expected 0 to 2, or 'default'")
    return temperature
