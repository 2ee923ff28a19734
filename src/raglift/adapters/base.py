"""What an adapter of a framework has, and which adapter handles an object."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeGuard

from raglift.errors import UnsupportedSystem
from raglift.utilities.plugins import installed, leave_out

if TYPE_CHECKING:
    from raglift.adapters.stages import RerankStage, Stage
    from raglift.types.documents import Chunk


_MODULES = ("langchain", "llama_index", "haystack", "functions")
"""Modules of this package with an `ADAPTER`, in the order in which they are asked; plugins are before the last."""
_GROUP = "raglift.adapters"
"""Of the entry points by which installed packages offer an `Adapter`."""


def _no_reranker(reranker: Any, *, as_deployed: bool = False) -> list[RerankStage]:  # noqa: ARG001
    raise UnsupportedSystem(
        f"reranker: found a {type(reranker).__name__}, which retrieves; expected a reranker, such as a function of a "
        "query and texts"
    )


@dataclass(frozen=True)
class Adapter:
    """What an adapter of a framework has: one for each framework, in a table at the end of its module.

    An installed package offers one by an entry point of the group `raglift.adapters`.
    """

    name: str
    """The framework's name, for people."""
    owns: Callable[[Any], bool]
    """Whether an object (a system, a reranker or a result) is one of this framework's; imports no framework."""
    retriever_stages: Callable[..., list[Stage]]
    """Returns the stages of a system: one `RetrieveStage`, then a `RerankStage` for each reranker inside it.

    Called as `retriever_stages(system, as_deployed=…, doc_key=…)`. The system must not be changed. `as_deployed`: every
    part keeps its own settings: what has a depth of its own is asked without another (`RetrieveStage.has_own_depth`),
    and rerankers keep the number of hits that they let through. Otherwise each part is asked, on a copy, for as many
    hits as there are candidates. `doc_key` is the metadata key that holds a result's document id; None for the
    framework's usual ones. Raises `UnsupportedSystem` for an object of the framework that retrieves nothing.
    """
    reranker_stages: Callable[..., list[RerankStage]] = _no_reranker
    """Returns the stages of a reranker: `reranker_stages(reranker, as_deployed=…)`; raises `UnsupportedSystem`."""
    chunk_and_score: Callable[[Any, str | None], tuple[Chunk, float | None] | None] = lambda _, __: None
    """Returns one result of a retriever as a chunk and a score, by a `doc_key`; None if it is not such a result."""
    without_filters: Callable[[Any], Any | None] = lambda _: None
    """Returns a copy of a system without the filters of its own retrievers; None if they have none."""
    packages: tuple[str, ...] = ()
    """The distributions whose versions a run records."""
    systems: str = ""
    """What is accepted as a system, for messages: `a LangChain retriever, vector store or Runnable`."""
    rerankers: str = ""
    """What is accepted as a reranker, for messages."""
    results: str = ""
    """What is accepted as one result of a retriever, for messages."""


def adapter_of(obj: Any) -> Adapter | None:
    """Return the adapter that owns an object; None if it is of no known framework, nor raglift's own."""
    return next((adapter for adapter in adapters() if adapter.owns(obj)), None)


@cache
def adapters() -> tuple[Adapter, ...]:
    """Return all adapters; none of them imports its framework before it is used."""
    *frameworks, functions = (import_module(f"raglift.adapters.{name}").ADAPTER for name in _MODULES)
    return (*frameworks, *_plugins(), functions)


def _plugins() -> Iterator[Adapter]:
    """Yield the adapters of installed packages; one that fails at an object does not own it."""
    for name, adapter in installed(_GROUP).items():
        if not isinstance(adapter, Adapter):
            leave_out(name, f"found a {type(adapter).__name__}; expected a raglift.adapters.Adapter")
            continue

        def owns(obj: Any, name: str = name, adapter: Adapter = adapter) -> bool:
            try:
                return bool(adapter.owns(obj))
            except Exception as error:  # noqa: BLE001 — another's object must not fail for it
                leave_out(name, f"owns() failed at a {type(obj).__name__}: {type(error).__name__}: {error}")
                return False

        yield replace(adapter, owns=owns)


def accepted(what: str) -> str:
    """Return what the frameworks' adapters accept as `systems`, `rerankers` or `results`, for a message."""
    return ", ".join(filter(None, (getattr(adapter, what) for adapter in adapters())))


def packages() -> tuple[str, ...]:
    """Return the distributions whose versions a run records."""
    return tuple(name for adapter in adapters() for name in adapter.packages)


def is_from(obj: Any, *modules: str) -> bool:
    """Whether the class of an object, or a base of it, is defined in one of these packages; imports nothing."""
    found = [cls.__module__ for cls in type(obj).__mro__]
    return any(module == each or module.startswith(f"{each}.") for module in found for each in modules)


def finite(value: Any) -> float | None:
    """Return a finite number, NumPy's too, as a float, and anything else as None."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    return float(value) if math.isfinite(value) else None


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a value is a number of hits, and not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)
