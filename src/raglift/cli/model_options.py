"""Shared by the commands that call a language model: its options, and what asking it would take."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from raglift.cli.exits import Stopped
from raglift.errors import ConfigurationError
from raglift.grading.batch import Estimate
from raglift.llm.language_models import LanguageModel, language_model
from raglift.utilities.display import printable, short_repr


def model_of(model: str, temperature: str, *, to_estimate: bool = False) -> LanguageModel:
    """Return what `--model` and `--temperature` say."""
    return language_model(model, temperature=_temperature(temperature), to_estimate=to_estimate)


@contextmanager
def stoppable() -> Iterator[None]:
    """Say how to continue if Ctrl-C stops what the block asks a model."""
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(
            "the same command continues from there: what was answered is kept, and no file was written"
        ) from None


def print_estimate(estimate: Estimate, model: LanguageModel) -> None:
    """Say on standard error in one line what asking would take, and what is worth knowing before."""
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
