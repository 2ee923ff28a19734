"""The protocol of a framework's adapter, and which adapter handles an object.

The built-in adapters are asked first, in their order. Adapters of installed packages follow, by their entry points in
the group `raglift.adapters`: the name of an entry point is the framework's top-level package, and it is loaded only for
an object whose class, or a base of it, comes from that package. So a package that is slow or broken concerns nobody who
does not use its framework.
"""

from __future__ import annotations

import dis
import math
import sys
from abc import abstractmethod
from functools import cache
from importlib import import_module
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol

from raglift.errors import UnsupportedSystem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.metadata import EntryPoint

    from raglift.adapters.stages import RerankStage, Stage
    from raglift.records.documents import Chunk


GROUP = "raglift.adapters"
"""The group of entry points."""
_BUILT_IN = ("langchain", "llama_index", "haystack", "functions")
"""Modules of this package with an `ADAPTER`, in the order in which they are asked."""


class Adapter(Protocol):
    """Turns a framework's objects into stages, chunks and scores.

    An adapter of another framework is a subclass. `owns` and `retriever_stages` are required; for the rest, what is
    written here holds for a framework that has no such thing.
    """

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

    def reranker_stages(self, reranker: Any, *, as_deployed: bool = False) -> list[RerankStage]:  # noqa: ARG002
        """Return the stages of a reranker.

        Raises:
            UnsupportedSystem: an object of this framework that does not rerank.
        """
        found = type(reranker).__name__
        raise UnsupportedSystem(f"reranker: found a {found}; the adapter of {self.name} knows no rerankers")

    def chunk_and_score(
        self,
        result: Any,  # noqa: ARG002
        doc_key: str | None = None,  # noqa: ARG002
    ) -> tuple[Chunk, float | None] | None:
        """Return one result of a retriever as a chunk and a score; None if it is not such a result."""
        return None

    def chunks(self, system: Any, *, doc_key: str | None = None) -> Sequence[Chunk] | None:  # noqa: ARG002
        """Return all chunks that a system can retrieve; None if they are not known."""
        return None


_others: dict[EntryPoint, Adapter | str] = {}
"""The entry points that were loaded: each one's adapter, or why it has none."""


def adapter_of(obj: Any) -> Adapter | None:
    """Return the adapter that owns an object: a built-in one, else that of an installed package."""
    for adapter in built_in():
        if adapter.owns(obj):
            return adapter
    for entry in _entries_for(_packages_of(obj)):
        found = _loaded(entry)
        if not isinstance(found, str) and _owns(entry, found, obj):
            return found
    return None


@cache
def built_in() -> tuple[Adapter, ...]:
    """Return the built-in adapters; none of them imports its framework before it is used."""
    return tuple(import_module(f"raglift.adapters.{name}").ADAPTER for name in _BUILT_IN)


def failed_adapters(obj: Any) -> list[str]:
    """Return, for each installed adapter that should know an object and failed, its package and what is wrong."""
    found = [(entry, _loaded(entry)) for entry in _entries_for(_packages_of(obj))]
    return [f"the adapter {_shown(entry)} failed: {fault}" for entry, fault in found if isinstance(fault, str)]


def accepted(what: str) -> str:
    """Return what the frameworks' adapters accept as `systems`, `rerankers` or `results`, for a message."""
    return ", ".join(filter(None, (getattr(adapter, what) for adapter in built_in())))


def packages() -> tuple[str, ...]:
    """Return the distributions whose versions a run records, of all adapters that are loaded."""
    others = [adapter for adapter in _others.values() if not isinstance(adapter, str)]
    return tuple(dict.fromkeys(name for adapter in (*built_in(), *others) for name in adapter.packages))


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


def _packages_of(obj: Any) -> frozenset[str]:
    """Return the top-level packages in which an object's class, its bases and its metaclass are defined."""
    classes = (*type(obj).__mro__, *type(type(obj)).__mro__)  # a class decorator may leave no more than a metaclass
    names = {cls.__module__.partition(".")[0] for cls in classes}
    return frozenset(name for name in names if name != "raglift" and name not in sys.stdlib_module_names)


@cache
def _entries_for(names: frozenset[str]) -> tuple[EntryPoint, ...]:
    """Return the entry points for objects of these packages."""
    if not names:
        return ()
    from importlib.metadata import entry_points

    return tuple(entry for entry in entry_points(group=GROUP) if entry.name in names)


def _loaded(entry: EntryPoint) -> Adapter | str:
    """Return the adapter of an entry point, or what is wrong with it; each is loaded once."""
    if entry not in _others:
        try:
            found = entry.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 — whatever another package does, raglift goes on
            _others[entry] = f"{type(error).__name__}: {error}"
        else:
            _others[entry] = _fault(found) or found
    return _others[entry]


def _fault(found: Any) -> str:
    """Return what keeps an object from being an adapter; "" where nothing does."""
    expected = "expected an object of a subclass of raglift.adapters.base.Adapter"
    if isinstance(found, type):
        return f"found the class {found.__name__}; {expected}"
    wanted = ("name", "owns", "retriever_stages", "reranker_stages", "chunk_and_score", "chunks")
    missing = [name for name in wanted if not hasattr(found, name)]
    return f"found a {type(found).__name__} without {', '.join(missing)}; {expected}" if missing else ""


def _owns(entry: EntryPoint, adapter: Adapter, obj: Any) -> bool:
    try:
        return adapter.owns(obj)
    except Exception as error:  # noqa: BLE001 — whatever another package does, raglift goes on
        _others[entry] = f"owns() raised {type(error).__name__}: {error}"
        return False


def _shown(entry: EntryPoint) -> str:
    package = "" if entry.dist is None else f" of {entry.dist.name} {entry.dist.version}"
    return f"{entry.name!r}{package} ({entry.value})"
