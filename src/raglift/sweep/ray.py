"""Ray: batches and cells as tasks on a cluster; work that is lost with a worker is repeated."""

from __future__ import annotations

import itertools
import os
import socket
import sys
import uuid
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from raglift.components.devices import AUTO, CPU, checked_device, require_device, resolve_device, resolve_dtype
from raglift.errors import ConfigurationError, MissingDependency, RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from raglift.components.devices import Dtype


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
_SECONDS_BETWEEN_LOOKS = 10.0
"""After so long without a result, it is looked whether the cluster still has what a task takes."""


class RayWorkers:
    """Sends work to a Ray cluster; a context manager that ends what it started.

    Each task takes a processor, and one of a model that computes on a GPU also a GPU. It works in the working folder of
    the process that asked, if its machine has that folder, so that users' modules are found there. The function and
    what it carries are sent once, and a worker loads each model once; on nodes with several GPUs each task of a model
    has a worker of its own. Results come back to the process that asked, which alone keeps them; a task whose worker is
    lost is done again by another.

    Args:
        address: of the cluster, as `auto` for this machine's or `ray://host:10001`; None for that of `RAY_ADDRESS`,
            else for one that is started here, reachable only from this machine.

    Raises:
        MissingDependency: Ray is not installed.
        ConfigurationError: no cluster answers at the address.
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

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        lost: Callable[[Exception], Result] | None = None,
        *,
        uses_models: bool = True,
    ) -> Iterator[tuple[Item, Result]]:
        """Yield each item with its result as it is finished, in any order.

        Args:
            function: can be pickled.
            items: can be pickled.
            lost: makes the result of an item whose worker is lost however often it is tried; None raises.
            uses_models: whether the function computes with a model: only then a task takes GPUs.

        Raises:
            Exception: what the function raised for an item; what is still under way is given up.
            RunError: no node has what a task takes, or has it any more.
        """
        shares = self._shares(uses_models=uses_models)
        self._require_workers(shares)
        taken = {"num_cpus": shares["CPU"], "num_gpus": shares.get("GPU", 0.0)}
        kept = {"max_calls": _ANY_NUMBER} if self._keep_workers() else {}
        task: Any = self._ray.remote(**taken, **kept, max_retries=_TRIES_OF_A_LOST_TASK)(_task)
        # In a list Ray leaves it where it is, and a worker fetches it once
        sent = [self._ray.put((function, os.getcwd()))]  # noqa: PTH109 — sys.path holds texts
        name = uuid.uuid4().hex
        most = self._workers(shares) * _TASKS_PER_WORKER
        waiting = iter(items)
        under_way: dict[Any, Item] = {}
        try:
            while True:
                for item in itertools.islice(waiting, most - len(under_way)):
                    under_way[task.remote(name, sent, item)] = item
                if not under_way:
                    return
                ready, _ = self._ray.wait(list(under_way), num_returns=1, timeout=_SECONDS_BETWEEN_LOOKS)
                if not ready:
                    self._require_workers(shares)
                for done in ready:
                    yield under_way.pop(done), self._result(done, lost)
        finally:
            for left in under_way:
                self._ray.cancel(left, force=True)

    def _shares(self, *, uses_models: bool = True) -> dict[str, float]:
        """Return what a task takes."""
        return {"CPU": 1.0, "GPU": 1.0} if uses_models and self._uses_gpus else {"CPU": 1.0}

    def _workers(self, shares: Mapping[str, float]) -> int:
        """Return how many tasks the nodes of the cluster can work on at once."""
        return sum(int(min(node.get(name, 0) / share for name, share in shares.items())) for node in self._nodes())

    def _nodes(self) -> list[Mapping[str, float]]:
        """Return what each node of the cluster has."""
        return [node["Resources"] for node in self._ray.nodes() if node["Alive"]]

    def _keep_workers(self) -> bool:
        """Whether a worker may do another task after its first.

        By default Ray starts a new process, which loads the model again, for each task that takes a GPU: CUDA keeps to
        the GPU that a process began with, while its next task may be given another one. A node with one GPU has no
        other.
        """
        return all(node.get("GPU", 0) <= 1 for node in self._nodes())

    def _require_workers(self, shares: Mapping[str, float]) -> None:
        """Raise where no node has what a task takes: Ray would wait until one comes.

        Raises:
            RunError: no node has it.
        """
        if self._workers(shares) < 1:
            taken = " and ".join(f"{share:g} {name}" for name, share in shares.items())
            raise RunError(
                f"Ray: no node of the cluster has {taken}, which each task takes; expected one: join such a node"
            )

    def placed(self, dtype: Dtype, device: str) -> tuple[str, str]:
        """Return the number type and the device of models on the workers, and let tasks take GPUs where they need them.

        Args:
            dtype: as the user said.
            device: as the user said; a GPU has no number here, because Ray says which one a task gets.

        Raises:
            ConfigurationError: the workers have no such device, or it does not compute in the number type.
            RunError: no node has what a task takes.
        """
        if checked_device(device).startswith("cuda:"):
            raise ConfigurationError(
                f"device: found {device!r} with the engine 'ray', which itself gives each task its GPU; expected 'cuda'"
            )
        has_gpus = bool(self._ray.cluster_resources().get("GPU", 0))
        self._uses_gpus = device == "cuda" or (device == AUTO and has_gpus)
        self._require_workers(self._shares())
        if device == CPU or (device == AUTO and not self._uses_gpus):
            return resolve_dtype(dtype, CPU), CPU
        ((_, found),) = self.map(_place, [(dtype, device)])
        return found

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


def _place(asked: tuple[Dtype, str]) -> tuple[str, str]:
    """In a worker: return the number type and the device that names stand for."""
    dtype, device = asked
    device = resolve_device(device)
    require_device(device, None if dtype == AUTO else dtype)
    return resolve_dtype(dtype, device), device


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
