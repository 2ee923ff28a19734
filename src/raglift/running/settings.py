"""The settings of an evaluation, each declared once: see `raglift.utilities.settings`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Literal, ParamSpec, TypeVar, get_args

from raglift.adapters.policy import CallSettings, Policy
from raglift.errors import ConfigurationError
from raglift.retrieval.batches import BATCH_SIZE
from raglift.retrieval.devices import Dtype
from raglift.types.metric import DEFAULT_METRICS, Calls, Metric, Tokens
from raglift.utilities.settings import Bounds, OneOf, declare_keywords

if TYPE_CHECKING:
    from raglift.matching.rule import MatchRule


DEFAULT_CANDIDATES = 50
"""How many hits are retrieved for a reranker unless another number is asked for."""
DEFAULT_KS = (1, 3, 5, 10)
"""The depths at which metrics are taken unless others are asked for."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def _profiles() -> tuple[str, ...]:
    from raglift.metrics.profiles.registry import PROFILES

    return tuple(PROFILES)


@dataclass(frozen=True, kw_only=True)
class MeasuringSettings(CallSettings):
    """What one evaluation and a sweep of many have in common.

    Raises:
        ConfigurationError: a value that does not fit its field.
    """

    ks: Sequence[int | Tokens | Calls | str] = DEFAULT_KS
    """The depths at which metrics are taken: numbers of hits, and budgets of context tokens such as `tokens(2000)`
    (from `raglift.metrics`, or as a text), which make the prompts of different chunk sizes comparable."""
    metrics: Sequence[Metric | str] = DEFAULT_METRICS
    """Measures to take, at each of `ks` if they name no depth of their own; a measure that divides by k is taken at a
    token budget in none of them. What is named here is shown everywhere, also at other depths."""
    candidates: Annotated[int | None, Bounds(least=1, unit="hits")] = None
    """How many hits to retrieve for a reranker, or if the depth is `deep`. Default: 50, and at least the largest k."""
    budget: Annotated[int | None, Bounds(least=1, unit="tokens")] = None
    """How many tokens of hits a prompt has, such as 2000: the system is then asked for as many hits as fill it, if its
    depth can be raised, and `recall_area` and `prompt_recall` are taken at it. Default: none, as deployed."""
    match: str | MatchRule = "containment"
    """What counts as a match: `containment` (one hit proves a fact), `coverage` (the hits together cover at least half
    of a passage: fair across chunk sizes), `fuzzy` (texts that were scanned or cleaned), or a `MatchRule` with a
    threshold."""
    profile: Annotated[str, OneOf(_profiles)] = "default"
    """Whose metric conventions: `default`, `tutorial`, `autorag`, `trec`, `llamaindex` or `ragas`."""
    doc_key: str | None = None
    """The metadata key of the hits that holds the ids of the dataset's documents."""
    dtype: Annotated[Dtype, OneOf(lambda: get_args(Dtype))] = "auto"
    """The number format that models loaded by raglift compute in."""
    device: str = "auto"
    """Where models loaded by raglift compute: `auto` (the best that there is), `cpu`, `cuda`, `cuda:1` or `mps`."""
    batch_size: Annotated[int, Bounds(least=1, unit="texts")] = BATCH_SIZE
    """How many texts go through such a model at once; name fewer if the device runs out of memory."""
    latency: Annotated[int | None, Bounds(least=0, unit="questions")] = None
    """Over how many queries to measure latency, each alone and without the cache, after the run; 50 is usual. Every
    model is asked (and a provider paid) again. Default: none."""


@dataclass(frozen=True, kw_only=True)
class Settings(MeasuringSettings, Policy):
    """The settings of `evaluate`, all optional.

    Raises:
        ConfigurationError: a value that does not fit its field.
    """

    reranker: Any = None
    """`cross-encoder` (embedded, needs no network), `late-interaction`, `onnx:FOLDER`, a cross-encoder's path or hub
    id, a `CrossEncoder`, a LangChain compressor, a LlamaIndex postprocessor, a Haystack ranker, a function, or a list
    of these."""
    chunks: Sequence[Any] | None = None
    """All chunks of the index, as Chunks, LangChain documents, LlamaIndex nodes or texts, for a system that does not
    list them: then the evaluation knows which facts the chunks allow at all."""
    depth: Literal["deployed", "deep"] = "deployed"
    """`deployed` asks every part with its own settings, and gives no figures deeper than it returns; `deep` asks for
    `candidates` hits, and keeps to the deployed ones if the first hits would be others."""
    k: Annotated[int | None, Bounds(least=1, unit="hits")] = None
    """How many hits a system is asked for that takes the number as an argument. Default: 10, or the deepest of `ks`."""
    answers: str | os.PathLike[str] | None = None
    """A folder in which each answer of the system is kept as it comes: a run that was stopped or killed asks for the
    others alone when it is given the same folder again. Remove it when the evaluation is saved."""
    repeats: Annotated[int, Bounds(least=1)] = 1
    """How often an agent is asked each query, because its searches vary between runs: a query's value is the mean over
    its runs. Always 1 for a system that is asked once."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.answers is not None and not isinstance(self.answers, (str, os.PathLike)):
            raise ConfigurationError(f"answers: found {self.answers!r}; expected the path of a folder")


def with_settings(
    model: Callable[Arguments, Settings],
) -> Callable[
    [Callable[[Any, Any, Settings], Result]],
    Callable[Concatenate[Any, Any, Arguments], Result],
]:
    """Return a decorator: a function of a system, a dataset and settings takes these as keywords.

    The keywords, their types and their defaults are the fields of the model, for type checkers as for `help`.

    Args:
        model: the class of the settings.
    """

    def decorate(function: Callable[[Any, Any, Settings], Result]) -> Callable[..., Result]:
        @functools.wraps(function)
        def called(system: Any, dataset: Any, **keywords: Any) -> Result:
            known = [field.name for field in fields(Settings)]
            unknown = sorted(set(keywords) - set(known))
            if unknown:
                raise ConfigurationError(
                    f"{function.__name__}: found the option {unknown[0]!r}; expected one of {', '.join(known)}"
                )
            return function(system, dataset, Settings(**keywords))

        declare_keywords(called, model)  # type: ignore[arg-type]
        return called

    return decorate


def positive(name: str, value: object) -> int:
    """Return an integer of 1 or more.

    Raises:
        ConfigurationError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ConfigurationError(f"{name}: found {value!r}; expected an integer, 1 or more")
    return int(value)
