"""The static embedding model: how it is distilled from MiniLM, and how it embeds."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tempfile
from contextlib import redirect_stderr
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.errors import CacheError, MissingDependency, ModelError
from raglift.retrieval.models import (
    EMBEDDED_MODEL,
    STATIC_MODEL,
    embedded_model_path,
    loading,
    model_identity,
    one_thread,
    quiet_loading,
)
from raglift.utilities.cache import cache_folder, content_key
from raglift.utilities.display import encodable
from raglift.utilities.limits import is_file, is_there
from raglift.utilities.progress import notice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from model2vec import StaticModel
    from numpy.typing import NDArray

    from raglift.retrieval.embedding import Kind


# The second embedded model: static vectors distilled from MiniLM on this machine, made once and kept. model2vec sends
# every token of the vocabulary through MiniLM by itself and keeps the principal components of what comes out. A
# text's vector is then the weighted mean of its tokens' vectors: no transformer runs, and nothing is downloaded.


DIMENSIONS = 256
"""How many principal components are kept."""

_SETTINGS: dict[str, Any] = {
    "pca_dims": DIMENSIONS,
    "sif_coefficient": 1e-4,
    "token_remove_pattern": r"\[unused\d+\]",
    "pooling": "mean",
    "quantize_to": "float32",
}
"""All that model2vec is told, its defaults included, so that another version's defaults change nothing unseen."""

_VECTORS = "model.safetensors"
_TOKENIZER = "tokenizer.json"
_FILES = (_VECTORS, _TOKENIZER)


def static_identity() -> str:
    """Return the identity of the static model in cache keys and run files; distils it where it is not there yet.

    Besides the source's weights, model2vec's version and the settings, it holds a hash of the vectors: on one machine
    two distillations give the same bits, but another processor or linear algebra library may differ in the last ones.

    Raises:
        MissingDependency: model2vec is not installed.
        CacheError: the folder that it is kept in cannot be written.
    """
    files = [_made_folder() / name for name in _FILES]
    hashes = [_hash(file, file.stat().st_mtime_ns) for file in files]
    digest = hashlib.sha256("".join(hashes).encode()).hexdigest()
    return f"{_source()}:vectors {digest[:12]}"


def is_distilled() -> bool:
    """Whether the static model is there already.

    Raises:
        MissingDependency: model2vec is not installed.
    """
    return _is_whole(_folder())


def load_static_model() -> StaticModel:
    """Load the static model; distils it if this machine does not have it yet.

    Raises:
        MissingDependency: model2vec is not installed.
        ModelError: what was distilled cannot be loaded.
        CacheError: the folder that it is kept in cannot be written.
    """
    return _load(_made_folder(), static_identity())


@lru_cache(maxsize=1)
def _load(folder: Path, _identity: str) -> StaticModel:
    """Load the model once for each state of its files: `_identity` changes when they do."""
    try:
        with loading():
            return _read(folder)
    except ImportError as error:
        raise _missing(error.name or "model2vec") from None
    except Exception as error:
        raise ModelError(
            f"{folder}: {type(error).__name__}: {error}; expected static vectors and their tokenizer. "
            "Delete the folder: it is made again when it is next needed"
        ) from error


def _source() -> str:
    """Return what decides the vectors, as far as it is known before they are made."""
    try:
        made_by = version("model2vec")
    except ImportError:  # importlib.metadata's PackageNotFoundError is one
        raise _missing("model2vec") from None
    settings = content_key(json.dumps(_SETTINGS, sort_keys=True)).hex()[:8]
    return f"model2vec-{made_by}:{model_identity(EMBEDDED_MODEL)}:{DIMENSIONS}:float32:settings {settings}"


def _missing(package: str) -> MissingDependency:
    return MissingDependency(package, "local", f"the embedding model {STATIC_MODEL}")


def _folder() -> Path:
    return cache_folder() / "models" / f"{STATIC_MODEL}-{content_key(_source()).hex()[:12]}"


def _made_folder() -> Path:
    """Return the folder of the static model, complete; makes it if it is not."""
    folder = _folder()
    if _is_whole(folder):
        return folder
    try:
        from filelock import FileLock
    except ImportError:
        raise _missing("filelock") from None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # The system frees the lock of a process that is killed
        with loading(), FileLock(folder.with_name(f"{folder.name}.lock")):
            if not _is_whole(folder):  # another process may have made it while this one waited
                _make(folder)
    except OSError as error:
        raise CacheError(
            f"cannot keep the embedding model {STATIC_MODEL} in {folder.parent}: {error}. "
            "Free some space, or set RAGLIFT_CACHE to a folder that can be written"
        ) from error
    return folder


def _make(folder: Path) -> None:
    """Distil into a temporary folder and move it into place: a killed distillation leaves nothing that is taken."""
    for left_over in folder.parent.glob(f"{folder.name}.tmp-*"):  # of a process that was killed
        shutil.rmtree(left_over, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=f"{folder.name}.tmp-", dir=folder.parent))
    try:
        _write(_distil(), temporary)
        if is_there(folder):  # incomplete: it was looked at just before
            shutil.rmtree(folder)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write(static: StaticModel, folder: Path) -> None:
    """Write vectors, weights and tokenizer; model2vec's own saving leaves files open, and says where MiniLM lies."""
    from safetensors.numpy import save

    # model2vec's matrix lies column by column, and safetensors writes an array as it lies in memory: without the copy,
    # another matrix would be read back
    arrays = {"embeddings": static.embedding}
    if static.weights is not None:  # since model2vec 0.10 they are in the vectors
        arrays["weights"] = np.asarray(static.weights)
    # As bytes, written here: what the libraries raise of a full disk is no OSError
    (folder / _VECTORS).write_bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
    (folder / _TOKENIZER).write_text(static.tokenizer.to_str(pretty=False), encoding="utf-8", newline="\n")


def _read(folder: Path) -> StaticModel:
    """Read what `_write` wrote."""
    from model2vec import StaticModel
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    arrays = load_file(folder / _VECTORS)
    tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
    return StaticModel(arrays["embeddings"], tokenizer, normalize=True, weights=arrays.get("weights"))


def _distil() -> StaticModel:
    """Distil MiniLM, in float32 and on one thread: with two, the order of sums changes the vectors from run to run."""
    try:
        import torch
        from model2vec.distill import distill_from_model
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]
        from transformers import AutoModel, AutoTokenizer
    except ImportError as error:
        raise _missing(error.name or "model2vec[distill]") from None
    path = str(embedded_model_path())
    notice(f"{STATIC_MODEL}: distilling it from {EMBEDDED_MODEL}, once on this machine; 15 seconds to a minute")
    with quiet_loading():
        # Objects of its own: model2vec changes the model that it distils
        model = AutoModel.from_pretrained(path, local_files_only=True, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
    bar = io.StringIO()  # model2vec's own bar would write hundreds of lines to a log
    with one_thread(), threadpool_limits(1), redirect_stderr(bar):
        static = distill_from_model(model, tokenizer, device="cpu", **_SETTINGS)
    # MiniLM's tokenizer fills short texts up to 128 tokens, which would count in the mean, and cuts long ones
    static.tokenizer.no_truncation()
    static.tokenizer.no_padding()
    return static


def _is_whole(folder: Path) -> bool:
    return all(is_file(folder / name) for name in _FILES)


@lru_cache(maxsize=4)
def _hash(path: Path, _changed: int) -> str:
    """Return the hash of a file, computed once for each state of it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# The static embedded model as an Embedder: two orders of magnitude faster than the transformer it comes from.


_BATCH_SIZE = 1024


class StaticEmbedder:
    """Static vectors distilled from the embedded MiniLM, made on this machine when the first text needs them.

    It computes in float32 always, and reads texts of any length to their end.
    """

    batches_queries = True
    """Whether queries may be embedded many at a time: a vector does not depend on its batch."""

    @property
    def identity(self) -> str:
        """The source's weights, the dimensions, how they were distilled, and a hash of the vectors."""
        return static_identity()

    @property
    def has_known_identity(self) -> bool:
        """Whether the identity can be determined without distilling the model first."""
        return is_distilled()

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        """Sort by characters. No vector depends on its batch: this only sets how often the cache is written."""
        ordered = sorted(texts, key=lambda text: (len(text), text))
        return [ordered[begin : begin + _BATCH_SIZE] for begin in range(0, len(ordered), _BATCH_SIZE)]

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:  # noqa: ARG002
        """Return one row per text, the mean of its tokens' vectors; zeros for a text without a known token."""
        model = load_static_model()
        # model2vec reads 512 tokens unless told otherwise
        vectors = model.encode([encodable(text) for text in texts], max_length=None, use_multiprocessing=False)
        return np.asarray(vectors, dtype=np.float32)

    def read_in_part(self, texts: Sequence[str]) -> list[bool]:
        """Return False for each text: a mean has no maximum length."""
        return [False] * len(texts)
