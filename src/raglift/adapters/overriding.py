"""Which methods of a framework's object do other than its framework wrote: on its class, on the object, or patched in.

A composite is opened into its parts only where asking the parts is what asking it does. So whatever stands in place of
a method that asks the parts (a subclass, an attribute of the object, a function put into the framework's class) makes
it one system, which is asked as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def overridden(obj: Any, known: type[Any], names: Iterable[str]) -> tuple[str, ...]:
    """Return which of some names an object has otherwise than a class of its framework.

    Args:
        obj: an instance of the class, or of a subclass.
        known: the class whose code is known.
        names: of methods; and of attributes that hold parts, for which a subclass may have a property.
    """
    return tuple(name for name in (*names, "__getattribute__") if _is_overridden(obj, known, name))


def _is_overridden(obj: Any, known: type[Any], name: str) -> bool:
    expected = definer(known, name)
    if definer(type(obj), name) is not expected:
        return True
    if expected is None:  # an attribute, which each object has for itself
        return False
    return on_object(obj, name) or not is_as_written(expected, name)


def definer(cls: type[Any], name: str) -> type[Any] | None:
    """Return the class whose version of a method the objects of a class run, None if there is none.

    LlamaIndex decorates methods so that each look gives a new function: comparing functions does not do.
    """
    return next((base for base in cls.__mro__ if name in vars(base)), None)


def on_object(obj: Any, name: str) -> bool:
    """Whether a name was set on an object itself; pydantic has other dictionaries for private and further ones."""
    spaces = (getattr(obj, space, None) for space in ("__dict__", "__pydantic_private__", "__pydantic_extra__"))
    return any(name in space for space in spaces if space)


def is_as_written(cls: type[Any], name: str) -> bool:
    """Whether a class still has the function that its module gave it under a name.

    A decorator of the framework's own, as LlamaIndex's spans, is part of what it wrote; any other is not.

    Args:
        cls: the class in whose own namespace it is.
        name: of a method.
    """
    layer = vars(cls)[name]
    if cls is object:
        return True
    layer = getattr(layer, "__func__", getattr(layer, "fget", layer))  # of a static method, or of a property
    while True:
        # What wrapt makes passes for the function inside it
        outer = getattr(layer, "_self_wrapper", layer)
        if _family(getattr(outer, "__globals__", {}).get("__name__", "")) != _family(cls.__module__):
            return False
        inner = getattr(layer, "__wrapped__", None)
        if inner is None:
            break
        layer = inner
    code = getattr(layer, "__code__", None)
    return code is not None and code.co_qualname == f"{cls.__qualname__}.{name}"


def _family(module: str) -> str:
    """Return what the packages of one framework have in common: `langchain` of `langchain_core.retrievers`."""
    return module.partition(".")[0].partition("_")[0]


def base_named(obj: Any, name: str, package: str) -> type[Any] | None:
    """Return the class of this name that an object is an instance of, from packages that begin so; imports nothing."""
    bases = (base for base in type(obj).__mro__ if base.__name__ == name and base.__module__.startswith(package))
    return next(bases, None)


def base_from(obj: Any, package: str) -> type[Any]:
    """Return the first class of a framework's that an object is an instance of."""
    return next((base for base in type(obj).__mro__ if base.__module__.startswith(package)), object)


def asked_whole(obj: Any, changed: Sequence[str], *, reranks: bool) -> str:
    """Return why a composite is asked as a whole, for a note.

    Args:
        obj: the composite.
        changed: what it overrides.
        reranks: whether a reranker is inside it.
    """
    own = ", ".join(name for name in changed)
    lift = "; what it reranks with is no stage of its own, so there is no lift" if reranks else ""
    return f"{type(obj).__name__} has its own {own}, so it is asked as a whole{lift}"


def are_async(obj: Any, changed: Sequence[str]) -> bool:
    """Whether all that an object overrides are async methods, so that its users ask it by these."""
    return bool(changed) and all(_is_async(obj, name) for name in changed)


def _is_async(obj: Any, name: str) -> bool:
    """Whether a method is the async form of another: `ainvoke`, `_aget_docs`, `run_async`, but not `apply`."""
    word = name.lstrip("_")
    return "async" in name or (word.startswith("a") and hasattr(obj, name[: -len(word)] + word[1:]))
