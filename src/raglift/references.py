"""Users' systems by reference: `module:name`, or the address of an HTTP service."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import Any

from raglift.errors import ConfigurationError
from raglift.faults import quoted
from raglift.integrations._keys import load_dot_env
from raglift.redaction import describe_error
from raglift.retrieval.http import HttpRetriever, is_http_address, perhaps_address, shown_address

__all__ = ["is_factory", "load_system"]


def load_system(given: Any, mapping: str | os.PathLike[str] | None = None) -> Any:
    """Return a system: what a reference names, or an object as it is.

    A function or class that can be called without arguments is called, to make the system.

    Args:
        given: `module:name`, where the module is in the working folder or installed; the address of an HTTP service;
            or an object.
        mapping: the file that says what is sent to an HTTP service, and where its hits are in the answer.

    Raises:
        ConfigurationError: the reference leads nowhere, the function that makes the system failed, or a mapping is
            given for what is no HTTP service.
        MappingError: the mapping is not described as it must be; every fault is listed.
        MissingKey: an environment variable that the mapping names is not set.
    """
    if isinstance(given, str) and is_http_address(given):
        load_dot_env()
        return HttpRetriever(given, mapping)
    if isinstance(given, str) and perhaps_address(given):
        raise ConfigurationError(
            f"system: found {quoted(shown_address(given))}; expected the address of a service with http:// or https:// "
            "before it, as http://localhost:8000/search; or module:name, as my_rag:retriever"
        )
    if mapping is not None:
        found = repr(given) if isinstance(given, str) else f"a {type(given).__name__}" if given is not None else "none"
        raise ConfigurationError(
            f"mapping: found {os.fspath(mapping)!r} with the system {found}; expected it with the address of an HTTP "
            "service, as --system http://localhost:8000/search"
        )
    found = _imported(given) if isinstance(given, str) else given
    if not is_factory(found):
        return found
    name = given if isinstance(given, str) else getattr(found, "__name__", "the system")
    try:
        return found()
    except (Exception, SystemExit) as error:  # a script that ends itself is no reason to end ours
        raise ConfigurationError(f"system: {name}() failed: {describe_error(error)}") from error


def _imported(reference: str) -> Any:
    module_name, _, name = reference.partition(":")
    if not module_name or not name:
        raise ConfigurationError(f"system: found {reference!r}; expected module:name, as my_rag:retriever")
    here = os.getcwd()  # noqa: PTH109 — sys.path holds texts
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except (ImportError, TypeError, ValueError) as error:  # a relative or ill-formed name is no ImportError
        raise ConfigurationError(
            f"system: the module {module_name!r} cannot be imported: {error}; "
            "expected a module in this folder or installed"
        ) from error
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"system: the module {module_name!r} failed: {describe_error(error)}") from error
    if not hasattr(module, name):
        public = [known for known in vars(module) if not known.startswith("_")]
        raise ConfigurationError(f"system: {module_name} has no {name!r}; expected one of {', '.join(public)}")
    return getattr(module, name)


def is_factory(found: Any) -> bool:
    """Whether something is a function that can be called without arguments, and so makes a system."""
    if not (inspect.isfunction(found) or inspect.isclass(found)):
        return False
    try:
        inspect.signature(found).bind()
    except (TypeError, ValueError):
        return False
    return True
