"""Every exception raglift raises on purpose.

    RagliftError
    ├── DatasetError            labels, queries or documents are malformed; lists every fault at once
    ├── CorpusError             a corpus is unknown, cannot be fetched, or is not what its labels say
    │   └── CorpusMissing       the text is not on this machine yet; the message says how to get it
    ├── ConfigurationError      an argument, option or metric name that raglift cannot use
    │   ├── MissingDependency   an optional package is not installed; the message names the extra
    │   ├── MissingKey          a provider's API key is not set; the message names the variable
    │   ├── MetricFailed        a user's metric raised, or returned no number; the retrieved hits are saved
    │   ├── UnsupportedSystem   an object that no adapter supports
    │   ├── ServiceUnusable     an HTTP service or MCP server that is misconfigured or unavailable
    │   ├── MappingError        an HTTP service or MCP server is not described as it must be; lists every fault
    │   └── SweepError          a sweep is not described as it must be; lists every fault at once
    ├── ModelError              a model cannot be loaded, or is not the one it claims to be
    │   └── ModelOutputError    a model gave no usable answer for an input
    │       └── ModelUnavailable    nor for any other input: a wrong key, no connection, no quota
    ├── CacheError              the cache file cannot be read or written
    ├── RunError                a saved run is missing, damaged, or from a newer version
    ├── TrackingFailed          an experiment tracker cannot be reached, or refused the request
    └── QueryFailed             a query failed and the caller asked to stop on the first failure, or every query failed
        ├── QueryTimeout        a query took longer than its timeout
        └── ServiceFailed       an HTTP service or MCP server gave no usable answer to a query

A message says where, what was found, what was expected, and what to do. `DocumentWarning` is no
exception but a warning: documents were read, and something beside them was not.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


class RagliftError(Exception):
    """Base of every error that raglift raises on purpose."""

    # Python would make a pickled error again by calling `__init__` with the message alone. Where that takes something
    # else it fails, and a pool of workers waits without end for the error that one of them raised.
    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), self.args), self.__dict__


def _made_again(of: type[RagliftError], args: tuple[Any, ...]) -> RagliftError:
    return of.__new__(of, *args)


@dataclass(frozen=True)
class Fault:
    """One thing wrong with an input: where it is, what was found, what was expected."""

    where: str
    """File, line and field, such as `queries.jsonl:12: relevant[0].grade`."""
    found: str
    """The value found, shortened."""
    expected: str
    """What was expected, or what to do about it."""

    def __str__(self) -> str:
        return f"{self.where}: found {self.found}; expected {self.expected}"


class DatasetError(RagliftError):
    """Labels, queries or documents are malformed. Nothing was loaded, or written.

    Attributes:
        source: what was read, or to be written.
        read_as: the format that it was read as, where that is not raglift's own.
        faults: every fault found, in file order.
    """

    SHOWN = 20

    def __init__(
        self, source: str, faults: list[Fault], outcome: str = "nothing was loaded", *, read_as: str | None = None
    ) -> None:
        self.source = source
        self.read_as = read_as
        self.faults = tuple(faults)
        title = source if read_as is None else f"{source} (read as {read_as})"
        super().__init__(_listed(title, faults, outcome, self.SHOWN))


def _listed(title: str, faults: list[Fault], outcome: str, shown: int) -> str:
    """Return what every error says that lists many faults."""
    count = f"{len(faults)} fault" + ("s" if len(faults) != 1 else "")
    lines = [f"{title}: {count}; {outcome}", *(f"  {fault}" for fault in faults[:shown])]
    if len(faults) > shown:
        lines.append(f"  … and {len(faults) - shown} more (all of them are in the error's .faults)")
    return "\n".join(lines)


class DocumentWarning(UserWarning):
    """Some of what documents were to be read from was not read: files of a folder, or pages without text."""


class LabelWarning(UserWarning):
    """Some rows of a file of labels were left out by a filter."""


class PluginWarning(UserWarning):
    """An adapter or metric of another installed package cannot be used, and is left out."""


OWN_WARNINGS = (DocumentWarning, LabelWarning, PluginWarning)
"""The warnings that the command line shows in one line each."""


class CorpusError(RagliftError):
    """A corpus is unknown, cannot be fetched, or is not what its labels say.

    Attributes:
        faults: where the text is not what the labels say, every label that does not resolve.
    """

    def __init__(self, message: str, faults: Sequence[Fault] = ()) -> None:
        self.faults = tuple(faults)
        super().__init__(message)


class CorpusMissing(CorpusError):
    """The text of a corpus is not on this machine yet."""


class ConfigurationError(RagliftError):
    """An argument, option or metric name that raglift cannot use."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error, or one that it came from, says that there was not enough memory."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, MemoryError) or (isinstance(cause, OSError) and cause.errno == errno.ENOMEM):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


_ORDERS = (KeyboardInterrupt, SystemExit)


def order_to_stop(error: BaseException | None) -> BaseException | None:
    """Return the order to stop that an error is or holds; None if it is a failure like any other.

    Orders are Ctrl-C, `SystemExit`, and those that pytest raises in a test to fail, skip or end it. Other exceptions
    that do not derive from `Exception`, as those of gevent, of Rust's panics and of users, are failures.
    """
    if isinstance(error, _ORDERS) or any(cls.__module__ == "_pytest.outcomes" for cls in type(error).__mro__):
        return error
    if isinstance(error, BaseExceptionGroup):  # of tasks, one of which was told to stop
        return next((order for each in error.exceptions if (order := order_to_stop(each)) is not None), None)
    return None


class MissingDependency(ConfigurationError):
    """An optional package is not installed, or cannot be imported.

    Attributes:
        package: the module that could not be imported.
        extra: the raglift extra that brings it; None if none does.
    """

    def __init__(self, package: str, extra: str | None, purpose: str) -> None:
        self.package = package
        self.extra = extra
        wanted = package.replace("_", "-") if extra is None else f"'raglift[{extra}]'"
        needs = f"{purpose} needs the package {package!r}, which"
        failure = sys.exception()
        if isinstance(failure, ImportError) and not isinstance(failure, ModuleNotFoundError):
            said = " ".join(str(failure).split())[:200]
            super().__init__(f"{needs} cannot be imported ({said}); install it anew with: pip install {wanted}")
        else:
            super().__init__(f"{needs} is not installed; install it with: pip install {wanted}")


class MissingKey(ConfigurationError):
    """An environment variable is not set: a provider's API key, or what the mapping of an HTTP service names.

    Attributes:
        variable: the environment variable.
    """

    def __init__(self, variable: str, purpose: str, *, named: bool = False) -> None:
        self.variable = variable
        if named:
            message = f"{purpose} names a variable that is not set: set {variable} in the environment or in .env"
        else:
            message = f"{purpose} needs an API key: set {variable} in the environment or in .env (see .env.example)"
            message += "; any text will do for a server that asks for none"
        super().__init__(message)


class UnsupportedSystem(ConfigurationError):
    """An object that no adapter knows how to ask."""


class MetricFailed(ConfigurationError):
    """A metric of the user's own raised, or returned what is not a value of it.

    Attributes:
        metric: the metric, a `Metric`.
        evaluation: from `evaluate`, the retrieved hits, scored without that metric: save it, fix the metric, and
            `rescore` it. None elsewhere.
    """

    evaluation: Any = None

    def __init__(self, metric: Any, said: str) -> None:
        self.metric = metric
        super().__init__(f"{metric}{said}")


class _Misdescribed(ConfigurationError):
    """What was to be done is not described as it must be."""

    SHOWN = 50
    OUTCOME: ClassVar[str]

    def __init__(self, source: str, faults: list[Fault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        super().__init__(_listed(source, faults, self.OUTCOME, self.SHOWN))


class SweepError(_Misdescribed):
    """A sweep is not described as it must be. Nothing was run.

    Attributes:
        source: the file that was read, or `Sweep` for one made in Python.
        faults: every fault found, in the order of the file.
    """

    OUTCOME = "nothing was run"


class MappingError(_Misdescribed):
    """An HTTP service or MCP server is not described as it must be. Nothing was asked.

    Attributes:
        source: the file that was read, or `ServiceMapping` for one made in Python.
        faults: every fault found, in the order of the file.
    """

    OUTCOME = "nothing was asked"


class ServiceUnusable(ConfigurationError):
    """An HTTP service or MCP server cannot be asked like this: a wrong address or mapping, or nobody is there."""


class ModelError(RagliftError):
    """A model cannot be loaded, or is not the one it claims to be."""


class ModelOutputError(ModelError):
    """A model gave no usable answer for an input: a score that is not a number, a failed call to a provider.

    Attributes:
        usage: what its attempts were billed, a `Usage` of `raglift.llm.language_models`; None if it is not known.
    """

    usage: Any = None


class ModelUnavailable(ModelOutputError):
    """A provider would answer no other input either: it refuses the key, is not there, or has no quota left."""


class CacheError(RagliftError):
    """The cache file cannot be read or written. It is always safe to delete."""


class RunError(RagliftError):
    """A saved run is missing, damaged, or from a newer version of raglift."""


class TrackingFailed(RagliftError):
    """An experiment tracker cannot be reached, or refused the request. The results are not lost."""


class QueryFailed(RagliftError):
    """A query failed and the caller asked to stop on the first failure, or every query failed.

    Attributes:
        evaluation: where every query failed, what there is all the same: the rankings of the stages before the failure.
            None elsewhere.
    """

    evaluation: Any = None


class QueryTimeout(QueryFailed):
    """A query took longer than its timeout."""


class ServiceFailed(QueryFailed):
    """An HTTP service or MCP server gave no usable answer to a query.

    Its message is a cause, which other queries may share, and after a dash what is this query's own.

    Attributes:
        status_code: the HTTP status; None if no answer came.
        headers: those of the answer that say how to continue: Retry-After.
    """

    def __init__(
        self, message: str, *, status_code: int | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.status_code = status_code
        self.headers = dict(headers or {})
        super().__init__(message)
