"""How long does it take to read traces, and does it grow with their number alone?

python benchmarks/traces.py [SPANS]

Traces of an agent with three searches and rerankers, ten hits of 500 characters each, as OTLP's JSON: 10 spans a trace.
Reading is compared with `json.loads` of the same lines, which is the least that any reader does.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import raglift as rl
from raglift.types import Fact, Passage, Query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HITS, LENGTH, SEARCHES, PER_TRACE = 10, 500, 3, 10
ROUNDS = 3


def text_of(number: int) -> str:
    """Return the text of a passage."""
    return (f"passage {number} of the handbook says what it says; " * 20)[:LENGTH]


def attribute(name: str, value: str) -> dict[str, Any]:
    """Return an attribute as OTLP has it."""
    return {"key": name, "value": {"stringValue": value}}


def documents(prefix: str, numbers: list[int]) -> Iterator[dict[str, Any]]:
    """Yield the attributes of hits."""
    for place, number in enumerate(numbers):
        yield attribute(f"{prefix}.{place}.document.content", text_of(number))
        yield attribute(f"{prefix}.{place}.document.id", f"p{number}")
        yield attribute(f"{prefix}.{place}.document.metadata", json.dumps({"doc_id": f"d{number % 97}"}))


def trace(number: int, query: str) -> Iterator[dict[str, Any]]:
    """Yield the spans of a trace: the root last, as exporters send them."""

    def span(name: str, kind: str, parent: str, found: list[Any]) -> dict[str, Any]:
        begun = 1_700_000_000_000_000_000 + number * 10**9 + int(name[1:]) * 10**7
        return {
            "traceId": f"{number + 1:032x}",
            "spanId": f"{int(name[1:]) + 1:016x}",
            "parentSpanId": parent,
            "name": name,
            "startTimeUnixNano": str(begun),
            "endTimeUnixNano": str(begun + 10**6),
            "attributes": [attribute("openinference.span.kind", kind), *found],
        }

    root = f"{1:016x}"
    prompt = []
    for search in range(SEARCHES):
        numbers = [(number * 31 + search * 7 + each) % 5_000 for each in range(HITS)]
        kept = numbers[: HITS // 2]
        yield span(
            f"s{search * 3 + 1}",
            "RETRIEVER",
            root,
            [attribute("input.value", query), *documents("retrieval.documents", numbers)],
        )
        lists = [*documents("reranker.input_documents", numbers), *documents("reranker.output_documents", kept)]
        yield span(f"s{search * 3 + 2}", "RERANKER", root, lists)
        prompt += [text_of(each) for each in kept]
        said = [attribute("llm.input_messages.0.message.content", "\n".join(prompt))]
        yield span(f"s{search * 3 + 3}", "LLM", root, said)
    yield span("s0", "AGENT", "", [attribute("input.value", query)])


def timed(work: Callable[[], Any]) -> float:
    """Return the least processor time of several rounds, in seconds."""
    times = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def main(spans: int) -> None:
    """Make traces, read and score them, and print the times."""
    say(f"{'spans':>8} {'MB':>7} {'read_traces':>12} {'json.loads':>11} {'ratio':>6} {'a span':>9} {'evaluate':>9}")
    for count in (spans // 10, spans):
        traces = count // PER_TRACE
        data = rl.Dataset(
            tuple(Query(f"q{each}", f"question {each}", (Fact((Passage(text_of(each)),)),)) for each in range(traces))
        )
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "traces.jsonl"
            with file.open("w", encoding="utf-8") as out:
                for number in range(traces):
                    found = {"resourceSpans": [{"scopeSpans": [{"spans": list(trace(number, f"question {number}"))}]}]}
                    out.write(json.dumps(found) + "\n")
            imported = rl.read_traces(file, data)
            if imported.faults or [len(session.calls) for session in imported.sessions] != [SEARCHES] * traces:
                raise SystemExit(str(imported))
            took = timed(lambda: rl.read_traces(file, data))  # noqa: B023 — called here
            least = timed(lambda: [json.loads(line) for line in file.open(encoding="utf-8")])  # noqa: B023
            begun = time.process_time()
            rl.evaluate_sessions(imported.sessions, data)
            scored = time.process_time() - begun
            size = file.stat().st_size / 1e6
        each = took / count * 1e6
        say(f"{count:8,} {size:7.1f} {took:10.2f} s {least:9.2f} s {took / least:6.1f} {each:6.0f} µs {scored:7.2f} s")


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
