"""How fast rankings in files are read and scored, and in how much memory, against pytrec_eval and ranx.

1,000,000 hits as 1,000 queries × 1,000 and as 10,000 × 100, in each form of file: TREC, TREC compressed with gzip, JSON
Lines, Parquet. What is timed is all from the file to the values of 6 metrics: pytrec_eval reads TREC by its own
`parse_run` and `parse_qrel`, ranx by `Run.from_file` and `Qrels.from_file`. Each run is a process of its own, with the
libraries loaded and warm before; memory is the most that the process held, less what it held before it opened the file.
First it is asserted that all give the same means. Run it as

    python benchmarks/run_files.py [--hits 1000000] [--repetitions 3]
    python benchmarks/run_files.py --growth 1000000 10000000

With `--growth`, TREC runs of so many lines, 100 a query of 200,000 documents, are read and scored by raglift alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

METRICS = {
    "precision@10": ("P_10", "precision@10"),
    "recall@100": ("recall_100", "recall@100"),
    "rr": ("recip_rank", "mrr"),
    "ap": ("map", "map"),
    "ndcg@10": ("ndcg_cut_10", "ndcg@10"),
    "ndcg@100": ("ndcg_cut_100", "ndcg@100"),
}
"""raglift's name; what trec_eval answers; ranx's name."""
JUDGED = 10
"""So many ids are judged for a query; half of them came back."""
FILES = {
    "raglift, TREC": "run.trec",
    "raglift, TREC with gzip": "run.trec.gz",
    "raglift, JSON Lines": "run.jsonl",
    "raglift, Parquet": "run.parquet",
    "pytrec_eval, TREC": "run.trec",
    "ranx, TREC": "run.trec",
}
"""Who reads what; raglift with TREC first: the others are compared with it."""

Means = dict[str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the values, take the times, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hits", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--growth", type=int, nargs="+", metavar="LINES", default=())
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.measure:
        say(json.dumps(measured(asked.measure[0], Path(asked.measure[1]))))
        return 0
    if asked.growth:
        report_growth(asked.growth)
        return 0
    if asked.hits < 1000 or asked.repetitions < 1:
        parser.error("expected at least 1,000 hits and 1 repetition")
    say(
        f"{len(METRICS)} metrics; by the clock and of the processors, median of {asked.repetitions} rounds in which "
        "each has its turn; each run is a process of its own"
    )
    for of_query in (1000, 100):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), asked.hits // of_query, of_query)
            report(f"{asked.hits // of_query:,} queries × {of_query:,} hits", Path(folder), asked.repetitions)
    return 0


def report_growth(lines: Sequence[int]) -> None:
    """Print what runs of more and more lines take in time and memory."""
    say("TREC, raglift alone: memory beyond what the process held before; a hit is held as 4 bytes of its id")
    for count in lines:
        with tempfile.TemporaryDirectory() as folder:
            write_trec(Path(folder), count // 100, 100)
            size = (Path(folder) / "run.trec").stat().st_size / 1e6
            took = measured_apart("raglift, TREC", Path(folder))
        say(
            f"  {count:12,} lines {size:6.0f} MB {took['seconds']:7.2f} s {took['memory']:7.0f} MB of memory: "
            f"{took['memory'] * 2**20 / count:.0f} bytes a line"
        )


def report(title: str, folder: Path, repetitions: int) -> None:
    """Measure each way and print a line for it."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in FILES}
    for _ in range(repetitions):
        for name in FILES:
            found[name].append(measured_apart(name, folder))
    assert_equal({name: of_each[0] for name, of_each in found.items()})
    size = (folder / "run.trec").stat().st_size / 1e6
    say(f"\n{title}, {size:.0f} MB as TREC; all give the same means")
    say(f"  {'':24} {'seconds':>9} {'processor':>9} {'MB':>6}")
    ours = {kind: middle(found["raglift, TREC"], kind) for kind in ("seconds", "processor", "memory")}
    for name, of_each in found.items():
        took = {kind: middle(of_each, kind) for kind in ours}
        line = f"  {name:24} {took['seconds']:9.2f} {took['processor']:9.2f} {took['memory']:6.0f}"
        if not name.startswith("raglift"):
            times = took["seconds"] / ours["seconds"]
            line += f"   raglift is {times:.1f} times as fast, in {ours['memory'] / took['memory']:.0%} of the memory"
        say(line)


def measured_apart(name: str, folder: Path) -> dict[str, float]:
    """Return the means, seconds and MB of one way, in a process of its own."""
    command = [sys.executable, __file__, "--measure", name, str(folder)]
    done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 — this file
    found: dict[str, float] = json.loads(done.stdout)
    return found


def middle(found: Sequence[dict[str, float]], kind: str) -> float:
    """Return the median of one figure."""
    return statistics.median(each[kind] for each in found)


def write(folder: Path, queries: int, hits: int) -> None:
    """Write the same run in each form, and its qrels."""
    import pyarrow as pa
    from pyarrow import parquet

    random_ = random.Random(0)  # noqa: S311
    documents = [f"doc{number:07}" for number in range(max(200_000, 2 * (hits + JUDGED)))]
    columns: dict[str, list[object]] = {"query_id": [], "id": [], "score": []}
    with (
        (folder / "run.trec").open("w") as trec,
        (folder / "run.jsonl").open("w") as lines,
        (folder / "qrels").open("w") as qrels,
    ):
        for number in range(queries):
            query, ids = f"q{number:07}", random_.sample(documents, hits)
            scores = [round(30 - place / hits - random_.random() / hits / 10, 6) for place in range(hits)]
            rows = zip(ids, scores, strict=True)
            trec.writelines(f"{query} Q0 {id_} {rank} {score:.6f} bench\n" for rank, (id_, score) in enumerate(rows, 1))
            objects = [{"id": id_, "score": score} for id_, score in zip(ids, scores, strict=True)]
            lines.write(json.dumps({"query_id": query, "hits": objects}) + "\n")
            for name, values in (("query_id", [query] * hits), ("id", ids), ("score", scores)):
                columns[name] += values
            judged = dict.fromkeys([*random_.sample(ids, JUDGED // 2), *random_.sample(documents, JUDGED // 2)])
            # The first is relevant: queries without relevant ids are not tested here
            qrels.writelines(f"{query} 0 {id_} {random_.randint(int(not n), 3)}\n" for n, id_ in enumerate(judged))
    parquet.write_table(pa.table(columns), folder / "run.parquet")
    with (folder / "run.trec").open("rb") as plain, gzip.open(folder / "run.trec.gz", "wb", compresslevel=6) as packed:
        packed.write(plain.read())


def write_trec(folder: Path, queries: int, hits: int) -> None:
    """Write a run as TREC, and its qrels."""
    import numpy as np

    random_ = np.random.default_rng(0)
    documents = np.array([f"doc{number:07}" for number in range(200_000)])
    with (folder / "run.trec").open("w") as trec, (folder / "qrels").open("w") as qrels:
        for number in range(queries):
            query, ids = f"q{number:07}", documents[random_.choice(len(documents), hits, replace=False)].tolist()
            scores = np.sort(random_.random(hits))[::-1].tolist()
            rows = enumerate(zip(ids, scores, strict=True), 1)
            trec.writelines(f"{query} Q0 {id_} {rank} {score:.6f} bench\n" for rank, (id_, score) in rows)
            qrels.writelines(
                f"{query} 0 {id_} {grade}\n" for id_, grade in zip(ids[:JUDGED], (1, 2) * (JUDGED // 2), strict=True)
            )


def measured(name: str, folder: Path) -> dict[str, float]:
    """Return the means, seconds and MB of one way, in this process."""
    tool = TOOLS[name.partition(",")[0]]
    warm_up(tool)
    held = peak()
    began, began_here = time.perf_counter(), time.process_time()
    means = tool(folder / FILES[name], folder / "qrels")
    seconds, processor = time.perf_counter() - began, time.process_time() - began_here
    return {"seconds": seconds, "processor": processor, "memory": peak() - held, **means}


def warm_up(tool: Callable[[Path, Path], Means]) -> None:
    """Load the libraries, and let ranx compile."""
    with tempfile.TemporaryDirectory() as folder:
        run, qrels = Path(folder) / "run.trec", Path(folder) / "qrels"
        run.write_text("q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.0 t\nq2 Q0 a 1 2.0 t\n")
        qrels.write_text("q1 0 a 1\nq2 0 b 1\n")
        tool(run, qrels)


def peak() -> float:
    """Return the most that this process has held so far, in MB; Linux says it."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def with_raglift(run: Path, qrels: Path) -> Means:
    """Score with raglift."""
    from raglift.storage.rankings.scoring import score_files

    scores = score_files(run, qrels, list(METRICS)).runs[0].scores
    return {name: scores.mean(name) for name in METRICS}


def with_pytrec_eval(run: Path, qrels: Path) -> Means:
    """Score with pytrec_eval, which reads by itself."""
    import pytrec_eval

    with qrels.open() as file:
        labels = pytrec_eval.parse_qrel(file)
    with run.open() as file:
        rankings = pytrec_eval.parse_run(file)
    asked = {"P.10", "recall.100", "recip_rank", "map", "ndcg_cut.10,100"}
    found = pytrec_eval.RelevanceEvaluator(labels, asked).evaluate(rankings)
    return {
        name: statistics.fmean(of_query[theirs] for of_query in found.values()) for name, (theirs, _) in METRICS.items()
    }


def with_ranx(run: Path, qrels: Path) -> Means:
    """Score with ranx, which reads by itself."""
    import ranx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels, rankings = ranx.Qrels.from_file(str(qrels), kind="trec"), ranx.Run.from_file(str(run), kind="trec")
        found = ranx.evaluate(labels, rankings, [theirs for _, theirs in METRICS.values()])
    return {name: float(found[theirs]) for name, (_, theirs) in METRICS.items()}


TOOLS = {"raglift": with_raglift, "pytrec_eval": with_pytrec_eval, "ranx": with_ranx}


def assert_equal(found: dict[str, dict[str, float]]) -> None:
    """Stop unless all give the same mean of every metric."""
    ours = found["raglift, TREC"]
    for name, means in found.items():
        for metric in METRICS:
            if abs(means[metric] - ours[metric]) > 1e-9:
                raise SystemExit(f"{name}: {metric} is {means[metric]}, and {ours[metric]} with raglift")


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
