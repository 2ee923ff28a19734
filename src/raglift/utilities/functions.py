"""What tells functions of users apart: the settings that they enclose, and the code that decides what they return."""

from __future__ import annotations

import dis
import hashlib
import inspect
import json
import sys
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


_MOST_NESTED = 3
"""So deep in what a function encloses its settings are looked for."""
_PLAIN = (str, bytes, bool, int, float, complex, type(None))
_INSTALLED = ("site-packages", "dist-packages")
_DIGITS = 16


def settings_of(asked: Any, depth: int = 0) -> str:
    """Return the settings of a function that can be read: texts, numbers, truth values and None that it encloses.

    Functions made by one function have the same name, and may answer differently; so may those that `partial` binds.
    What a function assigns itself, as a counter, does not count, nor do attributes of objects: they change while the
    system works, and then nothing would be found again.
    """
    if isinstance(asked, partial):
        named = {**{str(place): value for place, value in enumerate(asked.args)}, **asked.keywords, "func": asked.func}
    elif isinstance(asked, FunctionType):
        changing = _assigned(asked.__code__, "STORE_DEREF")
        named = {name: value for name, value in _enclosed(asked).items() if name not in changing}
        named |= {f"default {place}": value for place, value in enumerate(asked.__defaults__ or ())}
        named |= asked.__kwdefaults__ or {}
    else:
        return ""
    settings = {name: _setting(value, depth) for name, value in named.items()}
    return json.dumps({name: value for name, value in sorted(settings.items()) if value is not None})


def _enclosed(function: FunctionType) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}


def _is_filled(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _assigned(code: CodeType, operation: str) -> set[str]:
    return {step.argval for step in dis.get_instructions(code) if step.opname == operation}


def _setting(value: Any, depth: int) -> str | None:
    """Return a setting as a text; None for what cannot be read."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return repr(value)
    if isinstance(value, (partial, FunctionType)) and depth < _MOST_NESTED:
        return f"{getattr(value, '__qualname__', '')} {settings_of(value, depth + 1)}"
    return None


def code_digest(function: Any) -> str:
    """Return what tells whether the code of a function has changed, in hexadecimal; the same in every process.

    Its own code counts and what it encloses, and so do the functions, classes and constants of modules that it names,
    as far as these are the user's: of the Python in use, of other installed packages and of raglift nothing is
    followed. Comments and docstrings do not count, nor do variables of a module that its functions assign, objects
    that may change, as lists, and what is written in C.
    """
    package = str(getattr(function, "__module__", "")).partition(".")[0]
    digest = hashlib.sha256()
    for part in _parts(function, package, set()):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()[:_DIGITS]


def _parts(asked: Any, package: str, seen: set[int]) -> Iterator[str]:
    """Yield what decides what a function returns."""
    if isinstance(asked, partial):
        yield settings_of(asked)
        yield from _parts(asked.func, package, seen)
    elif isinstance(asked, MethodType):
        yield from _parts(asked.__func__, package, seen)
        yield from _attributes(asked.__self__)
    elif isinstance(asked, type):
        for name, member in sorted(vars(asked).items()):
            yield name if name.startswith("__") else f"{name} {_constant(member) or ''}"
            yield from _parts(_function_behind(member), package, seen)
        for base in asked.__bases__:
            yield from _followed(base, package, seen)
    elif isinstance(asked, FunctionType):
        if id(asked.__code__) not in seen:
            seen.add(id(asked.__code__))
            yield from _code(asked.__code__)
            yield settings_of(asked)
            for value in _enclosed(asked).values():
                yield from _followed(value, package, seen)
            yield from _globals(asked, package, seen)
            yield from _followed(getattr(asked, "__wrapped__", None), package, seen)
    elif callable(asked) and not inspect.isroutine(asked):
        yield from _attributes(asked)
        yield from _parts(type(asked), package, seen)


def _function_behind(member: Any) -> Any:
    """Return the function of what stands in a class: of a property, its getter."""
    if isinstance(member, property):
        return member.fget
    found = getattr(member, "__func__", member)  # of a classmethod or staticmethod
    return found if isinstance(found, FunctionType) else None


def _attributes(holder: Any) -> Iterator[str]:
    for name, value in sorted(getattr(holder, "__dict__", {}).items()):
        if (constant := _constant(value)) is not None:
            yield f"{name}={constant}"


def _code(code: CodeType) -> Iterator[str]:
    """Yield what a code object does, and those in it; not where it stands."""
    steps = [(step.opname, None if isinstance(step.argval, CodeType) else step.argrepr) for step in _steps(code)]
    yield json.dumps([code.co_name, code.co_argcount, code.co_kwonlyargcount, *steps])
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        elif isinstance(constant, frozenset):
            yield str(_constant(constant))


def _steps(code: CodeType) -> Iterator[dis.Instruction]:
    """Yield the instructions; a frozenset has another order in each process, and is told by itself."""
    for step in dis.get_instructions(code):
        yield step._replace(argrepr="") if isinstance(step.argval, frozenset) else step


def _globals(function: FunctionType, package: str, seen: set[int]) -> Iterator[str]:
    """Yield what the names stand for that a function takes from its module and from other modules of the user's."""
    names, assigned = _names(function.__code__), _assigned(function.__code__, "STORE_GLOBAL")
    for name in sorted(names - assigned):
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            if _is_users(value.__name__, package):
                for inner in sorted(names & vars(value).keys()):
                    yield from _named(inner, vars(value)[inner], package, seen)
        else:
            yield from _named(name, value, package, seen)


def _named(name: str, value: Any, package: str, seen: set[int]) -> Iterator[str]:
    if value is not None and (constant := _constant(value)) is not None:
        yield f"{name}={constant}"
    else:
        yield from _followed(value, package, seen)


def _names(code: CodeType) -> set[str]:
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def _followed(value: Any, package: str, seen: set[int]) -> Iterator[str]:
    """Yield the parts of a function or class of the user's; nothing of any other value."""
    named = value.func if isinstance(value, partial) else value
    is_code = isinstance(named, (FunctionType, MethodType, type))
    if is_code and id(named) not in seen and _is_users(str(getattr(named, "__module__", "")), package):
        if isinstance(named, type):
            seen.add(id(named))
        yield from _parts(value, package, seen)


def _constant(value: Any) -> str | None:
    """Return a value that cannot change as a text, the same in every process; None for any other."""
    if isinstance(value, frozenset):
        parts = [_constant(each) for each in value]
        return None if None in parts else f"frozenset({sorted(map(str, parts))})"
    if isinstance(value, tuple):
        parts = [_constant(each) for each in value]
        return None if None in parts else f"({parts})"
    return repr(value) if isinstance(value, _PLAIN) else None


def _is_users(module: str, package: str) -> bool:
    """Whether a module is the user's own, or of the package that the function is from."""
    top = module.partition(".")[0]
    if top == package:
        return True
    file = str(getattr(sys.modules.get(module), "__file__", None) or "")
    is_installed = any(place in file for place in _INSTALLED)
    return top not in sys.stdlib_module_names and top != "raglift" and not is_installed
