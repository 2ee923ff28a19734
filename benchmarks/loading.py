"""How long a saved evaluation takes to load, and in how much memory, against parsing its files with json and pyarrow.

An evaluation of 20,000 queries × 50 hits (1,000,000 hits of 100,000 distinct chunks) is made up and saved with
`save_evaluation`. `load_evaluation` reads and checks every field and builds raglift's records; the peer is `json.loads`
of every line and `pyarrow.parquet.read_table`, which check nothing and build dictionaries and lists. Each run is a
process of its own, with the libraries loaded and a tiny evaluation loaded before; memory is the most that the process
held, less what it held before it opened the first file. The second part reads a file of labels, one query on each line.
Run it as

    python benchmarks/loading.py [--queries 20000] [--hits 50] [--labels 100000] [--repetitions 3]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HITS = 50
"""So many for each query."""
CHUNKS_PER_QUERY = 5
"""So many distinct chunks there are for each query: the same chunk comes back for several queries."""
WAYS = ("raglift", "json and pyarrow")


def main(arguments: Sequence[str] | None = None) -> int:
    """Save, measure each way, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--hits", type=int, default=HITS)
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.measure:
        say(json.dumps(measured(asked.measure[0], Path(asked.measure[1]))))
        return 0
    if min(asked.queries, asked.hits, asked.labels, asked.repetitions) < 1:
        parser.error("expected at least 1 query, 1 hit, 1 label and 1 repetition")
    say(f"median of {asked.repetitions} rounds in which each has its turn; each run is a process of its own")
    with tempfile.TemporaryDirectory() as folder:
        run, labels = Path(folder) / "run", Path(folder) / "queries.jsonl"
        seconds = save_run(run, asked.queries, asked.hits)
        say(f"saved in {seconds:.1f} s")
        report(f"a saved evaluation of {asked.queries:,} queries × {asked.hits} hits", run, asked.repetitions)
        save_labels(labels, asked.labels)
        report(f"a file of labels, {asked.labels:,} lines", labels, asked.repetitions)
    return 0


def report(title: str, path: Path, repetitions: int) -> None:
    """Measure each way and print a line for it."""
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(repetitions):
        for way in WAYS:
            command = [sys.executable, __file__, "--measure", way, str(path)]
            done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 — this file
            found[way].append(json.loads(done.stdout))
    files = [path] if path.is_file() else list(path.iterdir())
    say(f"\n{title}, {sum(file.stat().st_size for file in files) / 1e6:.0f} MB")
    say(f"  {'':18} {'seconds':>9} {'processor':>9} {'MB':>6}")
    for way, of_each in found.items():
        took = {kind: middle(of_each, kind) for kind in ("seconds", "processor", "memory")}
        line = f"  {way:18} {took['seconds']:9.2f} {took['processor']:9.2f} {took['memory']:6.0f}"
        if way != WAYS[0]:
            times = middle(found[WAYS[0]], "processor") / took["processor"]
            memory = middle(found[WAYS[0]], "memory") / took["memory"]
            line += f"   raglift takes {times:.1f} times as long, and {memory:.0%} of the memory"
        say(line)


def middle(found: Sequence[dict[str, float]], kind: str) -> float:
    """Return the median of one figure."""
    return statistics.median(each[kind] for each in found)


def save_run(folder: Path, queries: int, hits: int = HITS) -> float:
    """Save a made-up evaluation, of which half of the facts were found; return the seconds that saving took."""
    import numpy as np

    from raglift.metrics.computing import Scores
    from raglift.metrics.parsing import parse
    from raglift.results.evaluation import Evaluation
    from raglift.storage.saving import save_evaluation
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Chunk
    from raglift.types.labels import Fact, Passage, Query
    from raglift.types.rankings import Ranking, Run, StageInfo, StageTrace, Trace

    random_ = random.Random(0)  # noqa: S311
    chunks = [
        Chunk(f"text of chunk {number} " + "word " * 30, f"chunk{number:07}", f"doc{number // 20}", 0, 180)
        for number in range(max(hits, queries * CHUNKS_PER_QUERY))
    ]
    asked, traces = [], []
    for number in range(queries):
        found = random_.sample(chunks, hits)
        facts = (Fact((Passage(found[number % hits].text),)), Fact((Passage(f"not found {number}", grade=2),)))
        asked.append(Query(f"q{number:07}", f"question number {number}?", facts, tags=("made-up",)))
        ranking = Ranking.of((chunk, round(1 - place / hits, 6)) for place, chunk in enumerate(found))
        traces.append(Trace(asked[-1].id, (StageTrace("retrieve", ranking, 0.001),)))
    metrics = tuple(map(parse, ("recall@10", "rr@10", "ndcg@10", "hit_rate@10")))
    ids = tuple(query.id for query in asked)
    values = np.random.default_rng(0).random((1, len(metrics), queries))
    match = {"mode": "containment"}
    evaluation = Evaluation(
        Run((StageInfo("retrieve", "made up"),), tuple(traces), {"candidates": hits, "match": match}),
        Dataset(tuple(asked)),
        Scores(ids, ("retrieve",), metrics, values),
    )
    began = time.perf_counter()
    save_evaluation(evaluation, folder)
    return time.perf_counter() - began


def save_labels(path: Path, lines: int) -> None:
    """Write a file of made-up labels: a text, alternatives with a grade, a chunk id, and two texts that do not help."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(lines):
            relevant = [
                f"the words of fact {number}",
                [{"text": f"one {number}", "grade": 2}, {"text": f"another {number}", "doc": "d.txt"}],
                {"chunk": f"chunk{number}"},
            ]
            entry: dict[str, Any] = {"id": f"q{number:07}", "query": f"question number {number}?", "relevant": relevant}
            entry |= {"tags": ["made-up"], "judged_irrelevant": [f"beside {number}", {"text": f"far {number}"}]}
            file.write(json.dumps(entry) + "\n")


def measured(way: str, path: Path) -> dict[str, float]:
    """Return how much was read, the seconds and the MB of one way, in this process."""
    is_run = path.is_dir()
    read = READERS[way, is_run]
    with tempfile.TemporaryDirectory() as folder:  # loads the libraries
        tiny = Path(folder) / "tiny"
        (save_run if is_run else save_labels)(tiny, 2)
        read(tiny)
    held = peak()
    began, began_here = time.perf_counter(), time.process_time()
    count = read(path)
    seconds, processor = time.perf_counter() - began, time.process_time() - began_here
    return {"seconds": seconds, "processor": processor, "memory": peak() - held, "count": count}


def peak() -> float:
    """Return the most that this process has held so far, in MB; Linux says it."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def load_run(folder: Path) -> int:
    """Load with raglift; return the number of hits."""
    from raglift.results.evaluation import load_evaluation

    evaluation = load_evaluation(folder)
    return sum(len(stage.ranking) for trace in evaluation.run.traces for stage in trace.stages)


def parse_run(folder: Path) -> int:
    """Parse each file, and keep what is in it; return the number of hits."""
    from pyarrow import parquet

    head = json.loads((folder / "run.json").read_bytes())
    lines = {name: parse_lines(folder / f"{name}.jsonl") for name in ("queries", "chunks", "traces")}
    kept = head, lines, parquet.read_table(folder / "scores.parquet")
    return sum(len(stage["hits"]) for trace in kept[1]["traces"] for stage in trace["stages"])


def load_labels(path: Path) -> int:
    """Load with raglift; return the number of queries."""
    from raglift.datasets.jsonl import read_queries

    return len(read_queries(path))


def parse_lines(path: Path) -> list[Any]:
    """Parse each line."""
    with path.open("rb") as file:
        return [json.loads(line) for line in file]


READERS: dict[tuple[str, bool], Callable[[Path], int]] = {
    ("raglift", True): load_run,
    ("raglift", False): load_labels,
    ("json and pyarrow", True): parse_run,
    ("json and pyarrow", False): lambda path: len(parse_lines(path)),
}


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
