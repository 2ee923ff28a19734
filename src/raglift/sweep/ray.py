"""Ray: batches of models as tasks on a cluster; work that is lost with a worker is repeated."""

from __future__ import annotations

import itertools
import os
import socket
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from raglift.errors import ConfigurationError, MissingDependency, RunError
from raglift.retrieval.devices import AUTO, CPU, Dtype, checked_device, require_device, resolve_device, resolve_dtype
from raglift.utilities.limits import is_folder

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
_ANY_NUMBER = 0
"""Of tasks that a worker does before it ends, as Ray says it."""
_TASKS_PER_WORKER = 3
"""Under way at once: enough that no worker waits, few enough that results are kept soon after they are finished."""


class RayWorkers:
    """Sends work to a Ray cluster; a context manager that ends what it started.

    Each task takes a processor, and a GPU if models compute on one. It works in the working folder of the process that
    asked, if its machine has that folder, so that folders of models are found there. The function and what it carries
    are sent once, and a worker loads each model once; on nodes with several GPUs each task has a worker of its own.
    Results come back to the process that asked, which alone keeps them; a task whose worker is lost is done again.

    Args:
        address: of the cluster, as `auto` for this machine's or `ray://host:10001`; None for that of `RAY_ADDRESS`,
            else for one that is started here, reachable only from this machine.
    """

    def __init__(self, address: str | None = None) -> None:
        self._uses_gpus = False
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

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Yield each item with its result as it is finished, in any order.

        Raises:
            Exception: what the function raised for an item, or that its worker was lost however often it was tried;
                what is still under way is given up.
            RunError: no node has what a task takes, or has it any more.
        """
        # A process keeps to the GPU that it began with, while its next task may be given another one of its node
        is_kept = all(node["Resources"].get("GPU", 0) <= 1 for node in self._ray.nodes() if node["Alive"])
        kept = {"max_calls": _ANY_NUMBER} if is_kept else {}
        gpus = 1 if self._uses_gpus else 0
        task: Any = self._ray.remote(num_cpus=1, num_gpus=gpus, max_retries=_TRIES_OF_A_LOST_TASK, **kept)(_task)
        # In a list Ray leaves it where it is, and a worker fetches it once
        sent = [self._ray.put((function, str(Path.cwd())))]
        name = uuid.uuid4().hex
        most = self._workers() * _TASKS_PER_WORKER
        waiting = iter(items)
        under_way: dict[Any, Item] = {}
        try:
            while True:
                for item in itertools.islice(waiting, most - len(under_way)):
                    under_way[task.remote(name, sent, item)] = item
                if not under_way:
                    return
                finished, _ = self._ray.wait(list(under_way), num_returns=1, timeout=_SECONDS_TO_ANSWER)
                if not finished:
                    self._workers()
                for done in finished:
                    yield under_way.pop(done), self._result(done)
        finally:
            for left in under_way:
                self._ray.cancel(left, force=True)

    def _workers(self) -> int:
        """Return how many tasks can be done at once."""
        kind = "GPU" if self._uses_gpus else "CPU"
        count = int(self._ray.cluster_resources().get(kind, 0))
        if count < 1:
            raise RunError(f"Ray: found no node with a {kind}, which each task takes; expected one: join such a node")
        return count

    def _result(self, done: Any) -> Any:
        try:
            return self._ray.get(done)
        except self._ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            raise cause if isinstance(cause, Exception) else error from None

    def placed(self, dtype: Dtype, device: str) -> tuple[str, str]:
        """Return the number type and the device of models on the workers, and let tasks take GPUs if they need them.

        Args:
            dtype: as the user said.
            device: as the user said; a GPU has no number here, because Ray says which one a task gets.
        """
        if checked_device(device).startswith("cuda:"):
            raise ConfigurationError(
                f"device: found {device!r} with the engine 'ray', which itself gives each task its GPU; expected 'cuda'"
            )
        has_gpus = bool(self._ray.cluster_resources().get("GPU", 0))
        self._uses_gpus = has_gpus and device in ("cuda", AUTO)
        if device == "cuda" and not has_gpus:
            raise ConfigurationError("device: found 'cuda' with a Ray cluster without a GPU; expected a node with one")
        if not self._uses_gpus and device in (CPU, AUTO):
            return resolve_dtype(dtype), CPU
        ((_, found),) = self.map(_place, [(dtype, device)])
        return found

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


def _place(asked: tuple[Dtype, str]) -> tuple[str, str]:
    """In a worker: return the number type and the device that names stand for."""
    dtype, device = asked
    device = resolve_device(device)
    require_device(device, None if dtype == AUTO else dtype)
    return resolve_dtype(dtype), device


_functions: dict[str, Callable[..., Any]] = {}
"""In a worker: what it was last sent, by a name, so that the models that a function loads are loaded once."""


def _task(name: str, sent: Sequence[Any], item: Any) -> Any:
    if name not in _functions:
        import ray

        function, folder = ray.get(sent[0])
        os.environ["RAGLIFT_PROGRESS"] = "0"  # a bar belongs to the process that asked
        if is_folder(Path(folder)):
            os.chdir(folder)
        _functions.clear()
        _functions[name] = function
    return _functions[name](item)
