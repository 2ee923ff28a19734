"""What an object of the user's holds: looked at without calling any of its code."""

from __future__ import annotations

import sys
from collections import deque
from functools import partial
from itertools import islice
from types import FunctionType, MethodType, NoneType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_MOST_ITEMS = 100
"""So many items of a list or a mapping are looked at: an index may hold millions."""
HEADERS = ("Headers", "CaseInsensitiveDict")
"""What httpx and requests keep headers in."""


def contents_of(held: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds, with the names it has it under."""
    if isinstance(held, dict) or type(held).__name__ in HEADERS:
        yield from ((str(name), value) for name, value in some_of(held.items()))
        return
    if isinstance(held, (list, tuple, set, frozenset, deque)):
        if isinstance(held, (list, tuple)) and is_of_numbers(held[:_MOST_ITEMS]):
            return
        yield from (("", value) for value in some_of(held))
        return
    if isinstance(held, MethodType):
        yield "", held.__self__
        held = held.__func__
    if isinstance(held, FunctionType):
        yield from _used_by(held)
    if isinstance(held, partial):
        yield from (("", held.func), ("", held.args), ("", held.keywords))
    yield from _attributes_of(held)


def _attributes_of(held: Any) -> Iterator[tuple[str, Any]]:
    for attributes in (attribute_of(held, "__dict__"), attribute_of(held, "__pydantic_private__")):
        if isinstance(attributes, dict):  # a copy: another thread's first request may make the object keep more
            yield from ((str(name), value) for name, value in dict(attributes).items())
    for kind in type(held).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            yield str(name), attribute_of(held, str(name))
        if _is_users(kind):  # what its methods use, and what all of its objects have
            yield from ((name, value) for name, value in vars(kind).items() if not name.startswith("__"))


def _is_users(kind: type) -> bool:
    """Whether a class is neither of Python, nor of an installed package, nor of raglift."""
    return is_users_module(kind.__module__, sys.modules.get(kind.__module__))


def is_users_module(name: str, module: Any) -> bool:
    """Whether a module is neither of Python, nor of an installed package, nor of raglift.

    Args:
        name: of the module.
        module: None where it is not known.
    """
    top = name.partition(".")[0]
    if top == "raglift" or top in sys.stdlib_module_names:
        return False
    return "site-packages" not in (getattr(module, "__file__", None) or "")


def attribute_of(held: Any, name: str) -> Any:
    """Return an attribute without calling code of the object's; None where it has none."""
    try:
        return object.__getattribute__(held, name)
    except AttributeError:
        return None


def _used_by(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield what a function uses from around it: variables of functions that enclose it, globals, defaults."""
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not set yet
            continue
    names = (
        *code.co_names,
        *(name for inner in code.co_consts if hasattr(inner, "co_names") for name in inner.co_names),
    )
    yield from ((name, function.__globals__[name]) for name in names if name in function.__globals__)
    yield from ((name, value) for name, value in (function.__kwdefaults__ or {}).items())
    defaults = function.__defaults__ or ()
    arguments = code.co_varnames[: code.co_argcount]
    yield from zip(arguments[len(arguments) - len(defaults) :], defaults, strict=False)


def some_of(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the first hundred items; none where another thread changes them."""
    try:
        yield from list(islice(items, _MOST_ITEMS))
    except RuntimeError:  # another thread changes it
        return


_NUMBERS = frozenset((int, float, bool, NoneType))


def is_of_numbers(values: Sequence[Any]) -> bool:
    """Whether values are all numbers, as a vector in metadata has hundreds: told without looking at each twice."""
    return _NUMBERS.issuperset(map(type, values))
