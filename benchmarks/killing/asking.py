"""Grading and generating: prompts that are paid for, asked of a server on this machine in a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any

from killing.corpus import part_of_lighthouse, write_part
from killing.job import Count, Fault, left_over
from killing.process import Command, call, events_of, prepare
from raglift.retrieval.chunkers import parse_chunker
from raglift.running.evaluation import evaluate
from raglift.running.systems import LocalSystem, build_retriever
from raglift.testing.openai_server import OpenAIServer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Asking", "Generating", "Grading"]

CONCURRENCY = 4
SECONDS = 0.05
"""How long the model takes for an answer."""
_DATA = re.compile(r"<<<(?P<name>\w+) (?P<code>\w+)\n(?P<text>.*?)\n(?P=code) (?P=name)>>>", re.DOTALL)
_SENTENCE = re.compile(r"[^.!?]{30,250}[.!?]")
_WORD = re.compile(r"\w{5,}")
_PATIENCE = 60.0


class Asking(ABC):
    """A command that asks a language model, killed and given again.

    Args:
        place: where its inputs are written, and what the server was asked.
    """

    name = ""
    output = ""
    """The file that the command writes, and nothing else does."""

    def __init__(self, place: Path) -> None:
        prepare()
        place.mkdir(parents=True, exist_ok=True)
        self._asked = place / "asked.log"
        self._begun: dict[Path, int] = {}
        self._lost: dict[Path, list[int]] = {}
        address = place / "address"
        self._server = call(serve, str(address), str(self._asked))
        end = time.monotonic() + _PATIENCE
        while not address.exists():
            if time.monotonic() > end:
                raise TimeoutError("the server on this machine does not start")
            time.sleep(0.01)
        self._address = address.read_text("utf-8")
        self.arguments = self.inputs(place)

    @abstractmethod
    def inputs(self, place: Path) -> tuple[str, ...]:
        """Write the inputs, and return the command's arguments."""

    def begin(self, folder: Path) -> None:
        """Note what the server was asked before."""
        self._begun[folder] = len(self._requests(None))
        self._lost[folder] = []

    def command(self, folder: Path, number: int) -> Command:  # noqa: ARG002 — the same command goes on
        """Return the command."""
        own = {"RAGLIFT_CACHE": str(folder / "cache"), "OPENAI_BASE_URL": self._address, "OPENAI_API_KEY": "test"}
        return Command(self.arguments, folder, own)

    def look(self, folder: Path, whole: Path) -> None:
        """The file is there whole, or not at all; what was asked and not kept is at most what was under way."""
        lost = len(self._requests(folder)) - self._kept(folder) - sum(self._lost[folder])
        self._lost[folder].append(lost)
        if lost > CONCURRENCY:
            raise Fault(f"{lost} answers were lost by one kill, with {CONCURRENCY} at a time")
        self._check_output(folder, whole)

    def _check_output(self, folder: Path, whole: Path) -> None:
        written = folder / self.output
        if written.exists() and written.read_bytes() != (whole / self.output).read_bytes():
            raise Fault(f"{self.output}: found {written.stat().st_size} bytes that are not those without a kill")

    def compare(self, folder: Path, whole: Path) -> None:
        """The same file, byte for byte, and nothing next to it."""
        if not (folder / self.output).exists():
            raise Fault(f"{self.output}: found none")
        self._check_output(folder, whole)
        left_over(folder)

    def count(self, folder: Path, killed: int) -> Count:
        """Count prompts: a killed process loses the answers that were under way."""
        asked = Counter(self._requests(folder))
        again = asked.total() - len(asked)
        if again > killed * CONCURRENCY:
            raise Fault(f"{again} prompts were paid for again after {killed} kills with {CONCURRENCY} at a time")
        return Count(len(asked), again, max(self._lost[folder], default=0))

    def close(self) -> None:
        """End the server."""
        self._server.kill()
        self._server.join()

    def _kept(self, folder: Path) -> int:
        return sum(kind == "kept" for _, kind, *_ in events_of(self.command(folder, 0)))

    def _requests(self, folder: Path | None) -> list[str]:
        lines = self._asked.read_text("utf-8").splitlines() if self._asked.exists() else []
        return lines[0 if folder is None else self._begun[folder] :]


class Grading(Asking):
    """`raglift labels grade` of two saved runs."""

    name = "grade"
    output = "labels.jsonl"

    def inputs(self, place: Path) -> tuple[str, ...]:
        """Save two runs of BM25 over two ways of chunking."""
        data, runs = part_of_lighthouse(8, 8), []
        for size in (900, 400):
            system = build_retriever(data, LocalSystem("bm25", parse_chunker(f"recursive:{size}/0")))
            run = evaluate(system, data, reranker=None, ks=(1, 3), depth="deep", candidates=6, progress=False)
            runs.append(str(run.save(place / f"run-{size}")))
        own = ("-k", "6", "--concurrency", str(CONCURRENCY), "--output", self.output, "--overwrite")
        return ("labels", "grade", *runs, *own)


class Generating(Asking):
    """`raglift labels generate` from real documents."""

    name = "generate"
    output = "queries.jsonl"

    def inputs(self, place: Path) -> tuple[str, ...]:
        """Write the documents."""
        source = write_part(place / "texts", 8, 8) / "documents.jsonl"
        own = ("-n", "16", "--concurrency", str(CONCURRENCY), "--output", self.output, "--overwrite")
        return ("labels", "generate", str(source), *own)


def serve(address: str, asked: str) -> None:
    """Play the model until the process is ended, and write down each prompt as it comes."""
    file = os.open(asked, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def reply(messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
        told = json.dumps([messages, schema], sort_keys=True)
        os.write(file, (hashlib.sha256(told.encode()).hexdigest() + "\n").encode())
        time.sleep(SECONDS)
        return answer(messages)

    with OpenAIServer(key="test", replies=reply) as server:
        part = f"{address}.part"
        with open(part, "w", encoding="utf-8") as written:  # noqa: PTH123 — its name may be seen when it is whole
            written.write(server.base_url)
        os.replace(part, address)  # noqa: PTH105 — as above
        while True:
            time.sleep(_PATIENCE)


def answer(messages: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Answer as a model would: grades by shared words, questions about sentences, and whether these are answered."""
    data = {found["name"]: found["text"] for found in _DATA.finditer(messages[-1]["content"])}
    if "passage" in data and "question" in data:
        shared = set(_WORD.findall(data["question"].lower())) & set(_WORD.findall(data["passage"].lower()))
        return {"reason": f"They share {len(shared)} words.", "grade": min(len(shared), 3)}
    if "question" in data:
        words = set(_WORD.findall(data["question"])) - {"beside"}
        return {"answerable": all(word in data["passages"] for word in words)}
    quotes = [
        max(_SENTENCE.findall(text), key=lambda found: len(_WORD.findall(found))).strip() for text in data.values()
    ]
    words = [" ".join(sorted(set(_WORD.findall(quote)), key=lambda word: (len(word), word))[-5:]) for quote in quotes]
    question = f"What is told of {' beside '.join(words)}?"
    if "whether a search engine over a collection of documents knows" in messages[0]["content"]:
        return {"question": f"{question[:-1]} Zanzibar?", "quotes": []}
    return {"question": question, "quotes": quotes}
