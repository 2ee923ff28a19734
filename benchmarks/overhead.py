"""What the harness itself costs a query: time and memory of `evaluate()` with a retriever that answers at once.

The rankings are ready before; a retriever hands them out, all at once or one query at a time. What is measured is
everything else: calling, finding each hit's document, matching texts to labels, the 28 default metrics, the notes; then
saving and loading. It is linear when a query costs as much among 100,000 as among 1,000. Each measurement has a process
of its own, and memory one of its own again, as counting it takes time. Run it as

    python benchmarks/overhead.py [--sizes 1000 10000 100000] [--repetitions 3]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import raglift as rl
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HITS = 10
DOCUMENTS, CHUNKS_PER_DOCUMENT, WORDS_PER_CHUNK = 500, 10, 80
LABEL = slice(50, 150)
FOUND = 0.7
"""For how many of the queries what answers them is among the hits."""
WARM = 50
TIMES = {
    "batch": "evaluate, all queries at once",
    "one": "evaluate, one query at a time",
    "save": "save",
    "load": "load",
}
MEMORY = {"peak": "evaluate, at its peak", "kept": "evaluate, kept in the result", "load": "load, at its peak"}


class AllAtOnce:
    """Answers all queries in one call."""

    def __init__(self, answers: dict[str, Ranking]) -> None:
        self._answers = answers

    def retrieve(self, queries: Sequence[str], k: int) -> list[Ranking]:  # noqa: ARG002
        """Return the rankings that are ready."""
        return [self._answers[query] for query in queries]


class OneAtATime:
    """Answers one query a call."""

    def __init__(self, answers: dict[str, Ranking]) -> None:
        self._answers = answers

    def retrieve_one(self, query: str, k: int) -> Ranking:  # noqa: ARG002
        """Return the ranking that is ready."""
        return self._answers[query]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each size in processes of its own, print what a query costs and the ratios between the sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--measure", choices=["time", "memory"], help="measure one size in this process, print JSON")
    asked = parser.parse_args(arguments)
    if asked.repetitions < 1 or min(asked.sizes) < 1:
        parser.error("--repetitions and --sizes: expected 1 or more")
    if asked.measure:
        measure = times if asked.measure == "time" else memory
        say(json.dumps(measure(asked.sizes[0])))
        return 0
    say(f"{HITS} hits a query; median of {asked.repetitions}, sizes in turn\n")
    taken: dict[int, list[dict[str, float]]] = {size: [] for size in asked.sizes}
    for _ in range(asked.repetitions):
        for size in asked.sizes:
            taken[size].append(in_a_process("time", size))
    seconds = {size: median_of(found) for size, found in taken.items()}
    table("processor time, microseconds a query", TIMES, seconds, 1e6)
    table("memory, MB for 1,000 queries", MEMORY, {size: in_a_process("memory", size) for size in asked.sizes}, 1e-3)
    return 0


def in_a_process(what: str, size: int) -> dict[str, float]:
    """Return what a process of its own measured."""
    command = [sys.executable, __file__, "--measure", what, "--sizes", str(size)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def median_of(found: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of each figure."""
    return {name: statistics.median(each[name] for each in found) for name in found[0]}


def table(title: str, rows: dict[str, str], found: dict[int, dict[str, float]], scale: float) -> None:
    """Print a row a figure, a column a size, and how the largest size compares to each smaller one."""
    sizes = sorted(found)
    compared = [f"{sizes[-1]:,} : {size:,}" for size in sizes[:-1]]
    say(f"{title:38}" + "".join(f"{size:>11,}" for size in sizes) + "".join(f"{pair:>20}" for pair in compared))
    for name, words in rows.items():
        *smaller, largest = figures = [found[size][name] / size * scale for size in sizes]
        shown = "".join(f"{figure:11.2f}" if figure < 10 else f"{figure:11.0f}" for figure in figures)
        say(f"  {words:36}{shown}" + "".join(f"{largest / figure:20.2f}" for figure in smaller))
    say("")


def times(size: int) -> dict[str, float]:
    """Return the processor time of each step, for all queries together."""
    dataset, answers = prepared(size)
    warm_up(dataset, answers)
    found = {}
    found["batch"], _ = timed(
        lambda: rl.evaluate(AllAtOnce(answers), dataset, depth="deep", candidates=HITS, progress=False)
    )
    found["one"], evaluation = timed(
        lambda: rl.evaluate(OneAtATime(answers), dataset, depth="deep", candidates=HITS, progress=False)
    )
    with tempfile.TemporaryDirectory() as folder:
        found["save"], _ = timed(lambda: evaluation.save(Path(folder) / "run"))
        found["load"], _ = timed(lambda: rl.load_evaluation(Path(folder) / "run"))
    return found


def memory(size: int) -> dict[str, float]:
    """Return the bytes that Python and NumPy held beyond what was there before, for all queries together."""
    dataset, answers = prepared(size)
    warm_up(dataset, answers)
    tracemalloc.start()
    evaluation = rl.evaluate(AllAtOnce(answers), dataset, depth="deep", candidates=HITS, progress=False)
    kept, peak = tracemalloc.get_traced_memory()
    with tempfile.TemporaryDirectory() as folder:
        evaluation.save(Path(folder) / "run")
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        loaded = rl.load_evaluation(Path(folder) / "run")
        load = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    del loaded
    return {"peak": peak, "kept": kept, "load": load}


def prepared(size: int) -> tuple[Dataset, dict[str, Ranking]]:
    """Return labelled queries, with the documents they are about, and the ranking that answers each."""
    random_ = random.Random(0)  # noqa: S311
    words = [f"{random_.randrange(10**7):x}" for _ in range(5_000)]
    documents, chunks = [], []
    for number in range(DOCUMENTS):
        parts = [" ".join(random_.choices(words, k=WORDS_PER_CHUNK)) for _ in range(CHUNKS_PER_DOCUMENT)]
        documents.append(Document(f"document {number}", "\n\n".join(parts)))
        start = 0
        for part in parts:
            end = start + len(part)
            chunks.append(Chunk(part, id=f"{number}:{start}", doc_id=documents[-1].id, start=start, end=end))
            start = end + 2
    queries, answers = [], {}
    for number in range(size):
        hits = random_.sample(chunks, HITS)
        source = random_.choice(hits if random_.random() < FOUND else chunks)
        query = Query(f"q{number}", f"question {number}?", (Fact((Passage(source.text[LABEL]),)),))
        queries.append(query)
        answers[query.text] = Ranking.of((chunk, 1 / rank) for rank, chunk in enumerate(hits, start=1))
    return Dataset(tuple(queries), tuple(documents)), answers


def warm_up(dataset: Dataset, answers: dict[str, Ranking]) -> None:
    """Import everything, and fill what is kept for good, so that it is not counted."""
    some = Dataset(dataset.queries[:WARM], dataset.documents)  # with labels that no hit matches
    evaluation = rl.evaluate(OneAtATime(answers), some, depth="deep", candidates=HITS, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        rl.load_evaluation(evaluation.save(Path(folder) / "run"))


def timed(work: Callable[[], rl.Evaluation]) -> tuple[float, rl.Evaluation]:
    """Return the processor time of something, and what it made: on a shared machine the clock says more of others."""
    begin = time.process_time()
    made = work()
    return time.process_time() - begin, made


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
