"""Where a user's objects hold secrets, and clearing what a system returns of them before it is kept."""

from __future__ import annotations

import re
import sys
from collections import deque
from contextlib import suppress
from functools import partial
from itertools import islice
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from raglift.base.secrets import (
    KnownSecrets,
    is_public_header,
    is_secret_name,
    is_unmistakable,
    login_in,
    secrets_of_environment,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


# Where a user's objects hold secrets.


_MOST_OBJECTS = 3_000
_MOST_ITEMS = 100
"""So many items of a list or a mapping are looked at: an index may hold millions."""
_DEEPEST = 10
_NO_HOLDERS = ("numpy", "torch", "faiss", "pandas", "scipy", "pyarrow", "sqlite3", "threading", "asyncio", "_thread")
_SPECIAL_TOKEN = re.compile(r"(?:pad|bos|eos|unk|cls|sep|mask|stop|special|image)_?tokens?", re.IGNORECASE)
_SOME_KEY = re.compile(r"keys?$", re.IGNORECASE)
_KEY_TO_A_SERVICE = re.compile(
    r"(?:api|access|secret|private|subscription|auth|account|admin|master|service|client|signing)[-_]?keys?$",
    re.IGNORECASE,
)
_CHANGES = re.compile("[A-Za-z][0-9]|[0-9][A-Za-z]|[a-z][A-Z]")
_LEAST_CHANGES = 3
"""How often letters, capitals and digits take turns in a key that is called no more than `key`."""
_HEADERS = ("Headers", "CaseInsensitiveDict")
"""What httpx and requests keep headers in."""


def secrets_held_by(*objects: Any) -> set[str]:
    """Return the secrets that objects hold: pydantic's and Haystack's, values under secret names, and headers.

    Attributes, items of lists and mappings, and what functions use are looked at; nothing is called but what reveals a
    secret that is marked as one.
    """
    found: set[str] = set()
    seen: set[int] = set()
    waiting: deque[tuple[int, Any]] = deque((0, each) for each in objects)
    while waiting and len(seen) < _MOST_OBJECTS:
        depth, held = waiting.popleft()
        if id(held) in seen:
            continue
        seen.add(id(held))
        with suppress(Exception):  # whatever a user's object does when it is looked at
            named, inside = _looked_at(held)
            found |= named
            waiting.extend((depth + 1, value) for value in inside if depth < _DEEPEST)
    return {value for value in found if value}


def _looked_at(held: Any) -> tuple[set[str], list[Any]]:
    """Return the secrets that an object shows to be some, and what else it holds."""
    if held is None or isinstance(held, (str, bytes, int, float, type, ModuleType)):
        return set(), []
    if isinstance(held, KnownSecrets):
        return set(held.values), []
    if (secret := _revealed(held)) is not None:
        return {secret}, []
    if type(held).__module__.partition(".")[0] in _NO_HOLDERS:
        return set(), []
    contents = list(_contents(held))
    named = {secret for name, value in contents for secret in _named_secrets(name, value)}
    return named, [value for _, value in contents]


def _revealed(held: Any) -> str | None:
    """Return what a `SecretStr` of pydantic or a `Secret` of Haystack holds; None for anything else."""
    for method in ("get_secret_value", "resolve_value"):
        reveal = getattr(type(held), method, None)
        if reveal is not None:
            try:
                value = reveal(held)
            except Exception:  # noqa: BLE001 — a variable that is not set, or an object that only has the name
                return ""
            if isinstance(value, bytes):
                value = value.decode(errors="replace")
            return value if isinstance(value, str) else ""
    return None


def _contents(held: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds, with the names it has it under."""
    if isinstance(held, dict) or type(held).__name__ in _HEADERS:
        yield from ((str(name), value) for name, value in _some(held.items()))
        return
    if isinstance(held, (list, tuple, set, frozenset, deque)):
        yield from (("", value) for value in _some(held))
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
    for attributes in (_attribute(held, "__dict__"), _attribute(held, "__pydantic_private__")):
        if isinstance(attributes, dict):  # a copy: another thread's first request may make the object keep more
            yield from ((str(name), value) for name, value in dict(attributes).items())
    for kind in type(held).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            yield str(name), _attribute(held, str(name))
        if _is_users(kind):  # what its methods use, and what all of its objects have
            yield from ((name, value) for name, value in vars(kind).items() if not name.startswith("__"))


def _is_users(kind: type) -> bool:
    """Whether a class is neither of Python, nor of an installed package, nor of raglift."""
    top = kind.__module__.partition(".")[0]
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return top != "raglift" and top not in sys.stdlib_module_names and "site-packages" not in file


def _attribute(held: Any, name: str) -> Any:
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


def _some(items: Iterable[Any]) -> Iterator[Any]:
    try:
        yield from list(islice(items, _MOST_ITEMS))
    except RuntimeError:  # another thread changes it
        return


def _named_secrets(name: str, value: Any) -> set[str]:
    """Return what is secret of a value by its name."""
    if "header" in name.lower() and (isinstance(value, dict) or type(value).__name__ in _HEADERS):
        return _sure(each for key, each in _some(value.items()) if not is_public_header(str(key)))
    if not is_secret_name(name) or _SPECIAL_TOKEN.search(name):
        return set(_logins_in(value)) if isinstance(value, str) else set()
    values = value[:_MOST_ITEMS] if isinstance(value, (list, tuple)) else [value]  # user and password, as requests has
    named = _sure(each.decode(errors="replace") if isinstance(each, bytes) else each for each in values)
    if _SOME_KEY.search(name) and not _KEY_TO_A_SERVICE.search(name):  # `text_key` names a field
        return {each for each in named if len(_CHANGES.findall(each)) >= _LEAST_CHANGES}
    return named


def _sure(values: Iterable[Any]) -> set[str]:
    return {value for value in values if isinstance(value, str) and is_unmistakable(value)}


def _logins_in(value: str) -> Iterator[str]:
    """Yield the password in an address: `postgresql://user:password@host/database`."""
    if "://" in value and "@" in value and len(value) < _LONGEST_ADDRESS:
        password = login_in(value)[1]
        if password:
            yield value


_LONGEST_ADDRESS = 2_000


# What a system returned, before it is kept.


class Clearance:
    """Takes the secrets of a system and of the environment out of what the system returns.

    In messages everything that is secret by its name is hidden; out of documents is taken only what no document has by
    chance, since a changed text may no longer match its labels.

    Args:
        objects: the system.
    """

    def __init__(self, *objects: Any) -> None:
        held = secrets_held_by(*objects) | secrets_of_environment()
        self.held = KnownSecrets(held)
        """Everything that is secret by its name or its type."""
        self._sure = KnownSecrets(held, unmistakable=True)

    def text(self, text: str) -> str:
        """Return a text of a document."""
        return self._sure.cleared(text)

    def message(self, text: str) -> str:
        """Return a text that says something of the system."""
        return self.held.cleared(text)

    def may_be_in(self, *values: Any) -> bool:
        """Whether values, as JSON has them, may hold a secret."""
        return self._sure.may_be_in("\0".join(_texts_in(values, 0)))

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return a value, as JSON has it, with its texts cleared."""
        if isinstance(value, str):
            return self.text(value)
        if depth >= _DEEPEST_VALUE or value is None or isinstance(value, (int, float)):
            return value
        if isinstance(value, (list, tuple)):
            return [self.value(each, depth + 1) for each in value]
        if isinstance(value, dict):
            return {self.value(key, depth + 1): self.value(each, depth + 1) for key, each in value.items()}
        text = _text_of(value)
        return value if self.text(text) == text else self.text(text)


_DEEPEST_VALUE = 60


def _texts_in(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif value is None or isinstance(value, (int, float)) or depth >= _DEEPEST_VALUE:
        return
    elif isinstance(value, dict):
        yield from _texts_in([*value, *value.values()], depth + 1)
    elif isinstance(value, (list, tuple)):
        for each in value:
            if isinstance(each, str):
                yield each
            else:
                yield from _texts_in(each, depth + 1)
    else:
        yield _text_of(value)


def _text_of(value: Any) -> str:
    """Return the text that a saved run has of a value that JSON does not know; "" of numbers."""
    if type(value).__module__ == "numpy" and getattr(getattr(value, "dtype", None), "kind", "") not in "OUS":
        return ""
    try:
        return str(value.tolist() if hasattr(value, "tolist") else value)
    except Exception:  # noqa: BLE001 — a user's object; saving it says what is the matter
        return ""
