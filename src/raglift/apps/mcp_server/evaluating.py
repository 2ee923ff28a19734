"""Evaluations, each in a process of its own: new code is read anew, and a crash does not end the server."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.datasets.corpora.catalogue import known_corpora
from raglift.errors import ConfigurationError, QueryTimeout, RunError
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from raglift.apps.mcp_server.workspace import Workspace

_OWN_RETRIEVER = re.compile(r"(dense|bm25|hybrid)(\([\w=.,\-]{0,80}\))?")
_CHUNKER = re.compile(r"(recursive|token):\d{1,6}(/\d{1,6})?(:(characters|tokens))?")
_RERANKERS = ("none", "cross-encoder", "late-interaction")
_READ = 20_000


@dataclass(frozen=True)
class EvaluationRequest:
    """What an agent wants to have measured."""

    dataset: str
    system: str | None
    mapping: str | None
    documents: str | None
    retriever: str
    chunker: str
    reranker: str
    k: Sequence[int]
    concurrency: int
    seconds: float


async def evaluate_in_process(workspace: Workspace, request: EvaluationRequest, output: Path) -> str:
    """Evaluate, and save the run in a folder; return what the command said beside the run.

    Raises:
        ConfigurationError: something that may not be done, or that cannot be used.
        QueryTimeout: it took too long.
        RunError: there is no run; the message is what the command said.
    """
    command = [sys.executable, "-P", "-m", "raglift", *_arguments(workspace, request, output)]
    with tempfile.TemporaryFile() as stderr:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=workspace.root,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=os.name == "posix",
        )
        _running.add(process.pid)
        try:
            async with asyncio.timeout(request.seconds):
                code = await process.wait()
        except TimeoutError:
            raise QueryTimeout(
                f"the evaluation was ended after {request.seconds:g} s; expected less work, or more seconds"
            ) from None
        finally:
            if process.returncode is None:
                _kill(process.pid)
                await process.wait()
            _running.discard(process.pid)
        stderr.seek(max(0, stderr.tell() - _READ))
        said = stderr.read(_READ).decode("utf-8", "replace")
        message = said.rpartition("raglift: error: ")[2].strip()  # without what the system printed before
    if not output.exists():
        raise RunError(message or f"the evaluation ended with exit code {code} and said nothing")
    return message if code else ""


_running: set[int] = set()
"""The evaluations that have not ended."""


def end_evaluations() -> None:
    """End what is under way, at the end of the server."""
    for pid in tuple(_running):
        _kill(pid)


def _kill(pid: int) -> None:
    """End a process, and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)


def _arguments(workspace: Workspace, request: EvaluationRequest, output: Path) -> list[str]:
    """Return the arguments of `raglift evaluate`; values stand behind `=`, so that none is taken for an option."""
    needs_code = {"system": request.system, "mapping": request.mapping}
    for name, value in needs_code.items():
        if value is not None and not workspace.allow_code:
            raise ConfigurationError(
                f"found {name} {quoted(value[:200])}, which runs code; expected a retriever of raglift's own, or a "
                "server that was started with --allow-code"
            )
    _require(_OWN_RETRIEVER.fullmatch(request.retriever), "retriever", request.retriever, "dense, bm25 or hybrid")
    _require(_CHUNKER.fullmatch(request.chunker), "chunker", request.chunker, "recursive:1000/100 or token:256/20")
    _require(request.reranker in _RERANKERS, "reranker", request.reranker, " or ".join(_RERANKERS))
    _require(bool(request.k) and all(1 <= k <= 10_000 for k in request.k), "k", str(list(request.k)), "integers from 1")
    _require(1 <= request.concurrency <= 64, "concurrency", str(request.concurrency), "an integer from 1 to 64")
    options = [f"--output={output}", f"--reranker={request.reranker}", f"--concurrency={request.concurrency}"]
    options += ["-k", ",".join(map(str, request.k))]
    if request.system is None:
        options += [f"--retriever={request.retriever}", f"--chunker={request.chunker}"]
    else:
        options.append(f"--system={request.system}")
    if request.mapping is not None:
        options.append(f"--mapping={workspace.readable(request.mapping)}")
    if request.documents is not None:
        options.append(f"--documents={_source(workspace, request.documents)}")
    return ["evaluate", *options, "--", _source(workspace, request.dataset)]


def _source(workspace: Workspace, name: str) -> str:
    """Return a corpus that comes with raglift, or a path in the folder."""
    if any(name == corpus.name for corpus in known_corpora()) and not (workspace.root / name).exists():
        return name
    return str(workspace.readable(name))


def _require(fits: object, name: str, found: str, expected: str) -> None:
    if not fits:
        raise ConfigurationError(f"{name}: found {quoted(found[:200])}; expected {expected}")
