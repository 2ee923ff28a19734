"""Users' objects by reference: `module:name`, in the working folder or installed."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from contextlib import suppress
from typing import Any

from raglift.errors import ConfigurationError, order_to_stop
from raglift.utilities.display import describe_error


def imported(reference: str, subject: str) -> Any:
    """Return what a reference names.

    Args:
        reference: `module:name`.
        subject: what it should be, for messages: `system` or `chunker`.

    Raises:
        ConfigurationError: the reference cannot be resolved.
    """
    module_name, _, name = reference.partition(":")
    if not module_name or not name:
        raise ConfigurationError(f"{subject}: found {reference!r}; expected module:name, as my_rag:retriever")
    with suppress(FileNotFoundError):  # a working folder that was removed holds no module
        here = os.getcwd()  # noqa: PTH109 — sys.path holds texts
        if here not in sys.path:
            sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except (ImportError, TypeError, ValueError) as error:  # a relative or ill-formed name is no ImportError
        raise ConfigurationError(
            f"{subject}: the module {module_name!r} cannot be imported: {error}; "
            "expected a module in this folder or installed"
        ) from error
    except BaseException as error:
        _raise_if_interrupted(error)
        raise ConfigurationError(f"{subject}: the module {module_name!r} failed: {describe_error(error)}") from error
    if not hasattr(module, name):
        public = [known for known in vars(module) if not known.startswith("_")]
        raise ConfigurationError(f"{subject}: {module_name} has no {name!r}; expected one of {', '.join(public)}")
    return getattr(module, name)


def made_by(name: str, found: Any, subject: str) -> Any:
    """Return what a function or class without arguments makes; anything else as it is.

    Args:
        name: what it is called, for messages.
        found: the function, class or object.
        subject: what it should be, for messages.

    Raises:
        ConfigurationError: the function failed.
    """
    if not is_factory(found):
        return found
    try:
        return found()
    except BaseException as error:  # a script that ends itself is no reason to end ours
        _raise_if_interrupted(error)
        raise ConfigurationError(f"{subject}: {name}() failed: {describe_error(error)}") from error


def is_factory(found: Any) -> bool:
    """Whether something is a function or class that can be called without arguments."""
    if not (inspect.isfunction(found) or inspect.isclass(found)):
        return False
    try:
        inspect.signature(found).bind()
    except (TypeError, ValueError):
        return False
    return True


def _raise_if_interrupted(error: BaseException) -> None:
    """Raise the order to stop that an error is, but for `SystemExit`: what ends itself has failed."""
    order = order_to_stop(error)
    if order is not None and not isinstance(order, SystemExit):
        raise order
