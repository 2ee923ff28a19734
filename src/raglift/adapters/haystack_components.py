"""Inputs and outputs of Haystack components: texts, documents, and a depth that can be raised."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from types import UnionType
from typing import Any, Union, get_args, get_origin

from raglift.adapters.base import is_count, is_from

DEPTH_NAMES = ("top_k", "top_k_per_retriever")
"""Inputs of a component that say how many documents come back."""
TEXT_NAMES = ("query", "text", "question")
"""Inputs that take the query's text."""


def is_component(obj: Any) -> bool:
    """Whether the class of an object is decorated as a component: that gives it a metaclass, and no base."""
    return type(type(obj)).__module__.startswith("haystack.core.component") and hasattr(obj, "__haystack_input__")


def is_pipeline(obj: Any) -> bool:
    """Whether an object is a pipeline."""
    return is_from(obj, "haystack.core.pipeline") and hasattr(obj, "graph")


def sockets(component: Any, which: str) -> dict[str, Any]:
    """Return the inputs or outputs of a component by name."""
    held = vars(getattr(component, f"__haystack_{which}__"))
    return {name: socket for name, socket in held.items() if is_from(socket, "haystack.core.component.types")}


def _alternatives(kind: Any) -> list[Any]:
    """Return the types of a union, or the type itself as the only one."""
    return list(get_args(kind)) if get_origin(kind) in (Union, UnionType) else [kind]


def _holds_documents(name: str, socket: Any) -> bool:
    from haystack import Document

    for kind in _alternatives(socket.type):
        inner = get_args(kind)
        if get_origin(kind) in (list, Iterable) and isinstance(inner[0], type) and issubclass(inner[0], Document):
            return True
    return name == "documents" and socket.type in (list, Any)


def document_outputs(component: Any) -> list[str]:
    """Return the outputs of a component that are lists of documents."""
    return [name for name, socket in sockets(component, "output").items() if _holds_documents(name, socket)]


def document_inputs(component: Any) -> list[str]:
    """Return the inputs of a component that are lists of documents."""
    return [name for name, socket in sockets(component, "input").items() if _holds_documents(name, socket)]


def _takes_text(socket: Any) -> bool:
    return any(kind in (str, Any) for kind in _alternatives(socket.type))


@dataclass(frozen=True)
class Part:
    """A component of what retrieves, and those of its inputs that no other component fills."""

    name: str
    """In its pipeline; "" for a component alone."""
    component: Any
    open: Mapping[str, Any]
    """Sockets by name."""
    closed: frozenset[str] = frozenset()
    """The inputs that another component fills."""

    @property
    def retrieves(self) -> bool:
        """Whether it makes documents without being given any."""
        return bool(document_outputs(self.component)) and not document_inputs(self.component)

    @property
    def reranks(self) -> bool:
        """Whether it makes documents of one list of documents."""
        inputs = sockets(self.component, "input")
        given = [inputs[name] for name in document_inputs(self.component)]
        return bool(document_outputs(self.component)) and len(given) == 1 and not given[0].is_variadic

    def arguments(self, query: str) -> dict[str, Any]:
        """Return the inputs that take the query's text."""
        names = [name for name in TEXT_NAMES if name in self.open and _takes_text(self.open[name])]
        texts: dict[str, Any] = dict.fromkeys(names, query)
        if "queries" in self.open:
            texts["queries"] = [query]
        wanted = [name for name, socket in self.open.items() if socket.is_mandatory and name not in texts]
        if not texts and len(wanted) == 1 and self.open[wanted[0]].type is str:
            texts[wanted[0]] = query
        return texts

    def depths(self, k: int) -> dict[str, int]:
        """Return the run-time inputs that raise the depth to at least `k`; never below the component's own."""
        raised = {}
        for name in DEPTH_NAMES:
            if name in self.open:
                own = getattr(self.component, name, self.open[name].default_value)
                if is_count(own) or self.retrieves:  # None stands for the depth of what it asks
                    raised[name] = max(own, k) if is_count(own) else k
        return raised

    def warm_up(self) -> None:
        """Let the component load its model, as a pipeline does before each run; those that are warm do nothing."""
        if hasattr(self.component, "warm_up"):
            self.component.warm_up()

    def deepened(self, k: int) -> Any:
        """Return the component, or a copy where its depth is an attribute that `run` takes no argument for."""
        own = getattr(self.component, "top_k", None)
        if "top_k" in self.open or "top_k" in self.closed or not is_count(own) or own >= k:
            return self.component
        twin = copy.copy(self.component)
        twin.top_k = k
        return twin

    def fixed(self) -> str | None:
        """Return what to say of a depth that cannot be raised, "" if there is no more to say; None if it can."""
        has_depth = is_count(getattr(self.component, "top_k", None))
        if "top_k" in self.closed:
            return " (another component sets top_k)"
        return None if self.depths(1) or has_depth or not self.retrieves else ""


def described(component: Any) -> str:
    """Name a component by class, and by its store or model; nothing that could be secret."""
    store, model = getattr(component, "document_store", None), getattr(component, "model", None)
    shown = "" if store is None else type(store).__name__
    if not shown and isinstance(model, str):
        shown = PurePath(model).name if PurePath(model).is_absolute() else model
    return f"{type(component).__name__}({shown})" if shown else type(component).__name__
