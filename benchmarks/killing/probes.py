"""What a process that may be killed writes down as it works: one write to one file a line, in order."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from killing.process import Command

__all__ = ["PHASES", "digest", "install"]

PHASES = {
    "begins": "starting: arguments, files, loading models",
    "embeds": "a batch is embedded",
    "scores": "a batch of pairs is scored",
    "keeps": "a batch or an answer is written to the cache",
    "kept": "between batches: splitting, retrieving, matching, asking",
    "saves": "an evaluation is written",
    "saved": "between evaluations, or at the end",
    "writes": "a file of labels is written",
    "wrote": "a file of labels was written",
}
"""What a process is at after each kind of event."""
_CHANGING = ("os.mkdir", "os.rename", "os.rmdir", "os.remove", "os.truncate", "os.link", "os.symlink")


def digest(item: object) -> str:
    """Return a short name of anything."""
    return hashlib.sha256(repr(item).encode()).hexdigest()[:16]


class _Log:
    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def __call__(self, kind: str, items: Sequence[str] = ()) -> None:
        os.write(self._file, (json.dumps([os.getpid(), kind, list(items), time.monotonic()]) + "\n").encode())


def install(command: Command) -> None:
    """Have this process write down what it does, and kill itself where the command says so."""
    log = _Log(command.log)
    _watch_models(log)
    _watch_writers(log)
    if command.stop_before is not None:
        _stop(command.folder, command.stop_before, log)
    log("begins")


def _watch_models(log: _Log) -> None:
    """Write down each batch before a model computes it, and after it is safely in the cache."""
    from raglift.retrieval.cross_encoder import CrossEncoderReranker
    from raglift.retrieval.embedding import SentenceTransformerEmbedder
    from raglift.retrieval.late_interaction import LateInteractionReranker
    from raglift.utilities.cache import Cache

    own = threading.local()
    embed, put = SentenceTransformerEmbedder.embed, Cache.put_many

    def begin(kind: str, items: Sequence[object]) -> None:
        names = [digest(item) for item in items]
        own.computing = [*getattr(own, "computing", []), *names]
        log(kind, names)

    def embed_logged(self: Any, texts: Sequence[str], kind: Any) -> Any:
        begin("embeds", [(self.identity, kind, text) for text in texts])
        return embed(self, texts, kind)

    def put_logged(self: Any, entries: Mapping[bytes, bytes]) -> None:
        log("keeps", [key.hex() for key in entries])
        put(self, entries)
        log("kept", [*getattr(own, "computing", []), *(key.hex() for key in entries)])
        own.computing = []

    SentenceTransformerEmbedder.embed = embed_logged  # type: ignore[method-assign]
    Cache.put_many = put_logged  # type: ignore[method-assign]
    for reranker in (CrossEncoderReranker, LateInteractionReranker):
        reranker.score = _scoring(reranker.score, begin)  # type: ignore[method-assign]


def _scoring(score: Callable[..., Any], begin: Callable[[str, Sequence[object]], None]) -> Callable[..., Any]:
    def logged(self: Any, batch: Sequence[Any]) -> Any:
        begin("scores", batch)
        return score(self, batch)

    return logged


def _watch_writers(log: _Log) -> None:
    """Write down when evaluations and files of labels begin to be written, and when they are there."""
    from raglift.apps.review.labels_file import LabelsFile
    from raglift.results import evaluation as results

    save, write = results.save_evaluation, LabelsFile.write

    def saved(*given: Any, **options: Any) -> Any:
        log("saves")
        found = save(*given, **options)
        log("saved")
        return found

    def written(*given: Any, **options: Any) -> Any:
        log("writes")
        found = write(*given, **options)
        log("wrote")
        return found

    results.save_evaluation = saved  # type: ignore[attr-defined]
    LabelsFile.write = written  # type: ignore[method-assign]


def _stop(folder: Path, before: int, log: _Log) -> None:
    """Kill the process before one of its operations that change a file or folder below `folder`, counted from 0."""
    inside = str(folder.resolve())
    count = 0

    def watch(event: str, given: tuple[Any, ...]) -> None:
        nonlocal count
        if not _changes(event, given, inside):
            return
        if count == before:
            log("stops", [event, *(str(each)[-80:] for each in given[:2])])
            os.kill(os.getpid(), signal.SIGKILL)
        count += 1

    sys.addaudithook(watch)


def _changes(event: str, given: tuple[Any, ...], inside: str) -> bool:
    if event == "open":
        path, mode, flags = given
        writes = isinstance(mode, str) and any(letter in mode for letter in "wax+")
        if not writes and not (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
            return False
        return isinstance(path, (str, bytes, os.PathLike)) and _is_inside(path, inside)
    if event not in _CHANGING:
        return False
    if given[-1] not in (-1, None):  # relative to an open folder, as a tree is removed
        return True
    return _is_inside(given[0], inside)


def _is_inside(path: Any, folder: str) -> bool:
    # without following links, and without asking the file system, which would be an event of its own
    return os.path.abspath(os.fsdecode(path)).startswith(folder)  # noqa: PTH100
