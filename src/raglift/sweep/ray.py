"""Ray: batches and cells as tasks on a cluster; work that is lost with a worker is repeated."""

from __future__ import annotations

import itertools
import os
import socket
import sys
import uuid
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from raglift.errors import ConfigurationError, MissingDependency

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType
    from typing import Self


Item = TypeVar("Item")
Result = TypeVar("Result")

_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray would report its use to its makers
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else it warns of a default to come
}
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray's way to say that a cluster is one machine: it then listens at 127.0.0.1 alone."""
_TRIES_OF_A_LOST_TASK = 5
_SECONDS_TO_ANSWER = 10.0
_TASKS_PER_PROCESSOR = 3
"""Under way at once: enough that no worker waits, few enough that results are kept soon after they are finished."""


class RayWorkers:
    """Sends work to a Ray cluster; a context manager that ends what it started.

    Each task takes one processor, and works in the working folder of the process that asked where its machine has that
    folder, so that users' modules are found there. The function and what it carries are sent once. Results come back
    to the process that asked, which alone keeps them; a task whose worker is lost is done again by another.

    Args:
        address: of a running cluster, as `auto` for this machine's or `ray://host:10001`; None for that of
            `RAY_ADDRESS`, else for one that is started here, reachable only from this machine.

    Raises:
        MissingDependency: Ray is not installed.
        ConfigurationError: no cluster answers at the address.
    """

    def __init__(self, address: str | None = None) -> None:
        wanted = address or os.environ.get("RAY_ADDRESS")
        for name, value in {**_SETTINGS, **({} if wanted else _LOOPBACK)}.items():
            os.environ.setdefault(name, value)
        try:
            import ray
        except ImportError:
            raise MissingDependency("ray", "ray", "the engine 'ray'") from None
        self._ray: Any = ray
        self._started = not ray.is_initialized()
        if self._started:
            self._begin(wanted)

    def _begin(self, address: str | None) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            _knock(address)
            if address is None:
                self._ray.init(address="local", include_dashboard=False, **options)
            else:
                self._ray.init(address=address, **options)
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ConfigurationError(
                f"Ray: no cluster at {address!r}: {reason}; expected the address of a running one, as auto or "
                "ray://host:10001, or none, to start one on this machine"
            ) from error

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        lost: Callable[[Exception], Result] | None = None,
    ) -> Iterator[tuple[Item, Result]]:
        """Yield each item with its result as it is finished, in any order.

        Raises:
            Exception: what the function raised for an item; what is still under way is given up.
        """
        task: Any = self._ray.remote(num_cpus=1, max_retries=_TRIES_OF_A_LOST_TASK)(_task)
        # In a list Ray leaves it where it is, and a worker fetches it once
        sent = [self._ray.put((function, os.getcwd()))]  # noqa: PTH109 — sys.path holds texts
        name = uuid.uuid4().hex
        most = max(int(self._ray.cluster_resources().get("CPU", 1)), 1) * _TASKS_PER_PROCESSOR
        waiting = iter(items)
        under_way: dict[Any, Item] = {}
        try:
            while True:
                for item in itertools.islice(waiting, most - len(under_way)):
                    under_way[task.remote(name, sent, item)] = item
                if not under_way:
                    return
                (done, *_), _ = self._ray.wait(list(under_way), num_returns=1)
                yield under_way.pop(done), self._result(done, lost)
        finally:
            for left in under_way:
                self._ray.cancel(left, force=True)

    def _result(self, done: Any, lost: Callable[[Exception], Any] | None) -> Any:
        try:
            return self._ray.get(done)
        except self._ray.exceptions.RayError as error:
            if lost is not None:
                return lost(error)
            cause = getattr(error, "cause", None)
            raise cause if isinstance(cause, Exception) else error from None

    def close(self) -> None:
        """End what was started here."""
        if self._started:
            self._ray.shutdown()
            self._started = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _knock(address: str | None) -> None:
    """Raise OSError where nothing listens at an address of a host and a port: Ray would try for minutes."""
    text = address or ""
    place = urlsplit(text if "://" in text else f"//{text}")
    if place.port is not None:
        socket.create_connection((place.hostname or "127.0.0.1", place.port), timeout=_SECONDS_TO_ANSWER).close()


_held: dict[str, tuple[Callable[..., Any], str]] = {}
"""In a worker: what it was last sent, so that models that a function loads are loaded once."""


def _task(name: str, sent: Sequence[Any], item: Any) -> Any:
    if name not in _held:
        import ray

        _held.clear()
        _held[name] = ray.get(sent[0])
    return _applied(_held[name], item)


def _applied(sent: tuple[Callable[[Item], Result], str], item: Item) -> Result:
    function, folder = sent
    os.environ["RAGLIFT_PROGRESS"] = "0"  # a bar belongs to the process that asked
    if os.path.isdir(folder):  # noqa: PTH112 — as it was sent
        os.chdir(folder)
        if folder not in sys.path:
            sys.path.insert(0, folder)
    return function(item)
