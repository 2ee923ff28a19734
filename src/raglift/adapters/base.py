"""What an adapter of a framework has, and which adapter handles an object."""

from __future__ import annotations

import dis
import math
from abc import abstractmethod
from functools import cache
from importlib import import_module
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.adapters.stages import RerankStage, Stage
    from raglift.types.documents import Chunk


_MODULES = ("langchain", "llama_index", "haystack", "functions")
"""Modules of this package with an `ADAPTER`, in the order in which they are asked."""


class Adapter(Protocol):
    """Turns a framework's objects into stages, chunks and scores."""

    name: str
    """The framework's name, for people."""
    packages: tuple[str, ...] = ()
    """The distributions whose versions a run records."""
    systems: str = ""
    """What is accepted as a system, for messages: `a LangChain retriever, vector store or Runnable`."""
    rerankers: str = ""
    """What is accepted as a reranker, for messages."""
    results: str = ""
    """What is accepted as one result of a retriever, for messages."""

    @abstractmethod
    def owns(self, obj: Any) -> bool:
        """Whether an object (a system, a reranker or a result) is one of this framework's; imports no framework."""
        raise NotImplementedError

    @abstractmethod
    def retriever_stages(self, system: Any, *, as_deployed: bool = False, doc_key: str | None = None) -> list[Stage]:
        """Return the stages of a system: one `RetrieveStage`, then a `RerankStage` for each reranker inside it.

        Args:
            system: what the user passed; it must not be changed.
            as_deployed: whether every part keeps its own settings: what has a depth of its own is asked without another
                (`RetrieveStage.has_own_depth`), and rerankers keep the number of hits that they let through. Otherwise
                each part is asked, on a copy, for as many hits as there are candidates.
            doc_key: the metadata key that holds a result's document id; None for the framework's usual ones.

        Raises:
            UnsupportedSystem: an object of this framework that retrieves nothing.
        """
        raise NotImplementedError

    @abstractmethod
    def reranker_stages(self, reranker: Any, *, as_deployed: bool = False) -> list[RerankStage]:
        """Return the stages of a reranker.

        Raises:
            UnsupportedSystem: an object of this framework that does not rerank.
        """
        raise NotImplementedError

    @abstractmethod
    def chunk_and_score(self, result: Any, doc_key: str | None = None) -> tuple[Chunk, float | None] | None:
        """Return one result of a retriever as a chunk and a score; None if it is not such a result."""
        raise NotImplementedError

    def chunks(self, system: Any, *, doc_key: str | None = None) -> Sequence[Chunk] | None:  # noqa: ARG002
        """Return all chunks that a system can retrieve; None if they are not known."""
        return None


def adapter_of(obj: Any) -> Adapter | None:
    """Return the adapter that owns an object; None if it is of no known framework, nor raglift's own."""
    return next((adapter for adapter in adapters() if adapter.owns(obj)), None)


@cache
def adapters() -> tuple[Adapter, ...]:
    """Return all adapters; none of them imports its framework before it is used."""
    return tuple(import_module(f"raglift.adapters.{name}").ADAPTER for name in _MODULES)


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


def never_returns(function: Any) -> bool:
    """Whether a method can only raise, as the sync one of a retriever that is async only; False if it is not Python."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    # Every coroutine function begins with a RETURN_GENERATOR
    names = {each.opname for each in dis.get_instructions(code)} - {"RETURN_GENERATOR"}
    return not any(name.startswith("RETURN_") for name in names)


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a value is a number of hits, and not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)
