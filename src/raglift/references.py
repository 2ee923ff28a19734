"""Users' systems by reference: `module:name`."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import Any

from raglift.errors import ConfigurationError
from raglift.execution.policy import describe_error

__all__ = ["is_factory", "load_system"]


def load_system(given: Any) -> Any:
    """Return a system: what a reference names, or an object as it is.

    A function or class that can be called without arguments is called, to make the system.

    Args:
        given: `module:name`, where the module is in the working folder or installed; or an object.

    Raises:
        ConfigurationError: the reference leads nowhere, or the function that makes the system failed.
    """
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
