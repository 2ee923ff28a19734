"""What the section on unjudged hits costs on a large run, beside scoring it.

5,000 queries of 100 hits by id, three relevant and five irrelevant passages a query, so that 92% of the hits are not
judged. Timed is the processor time of `raglift.rescore`, which matches and scores the run by three metrics, and of
`evaluation.holes(metric)`. Run it as

    python benchmarks/holes.py [--queries 5000] [--hits 100]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from typing import TYPE_CHECKING

import raglift as rl
from raglift.records.labels import Fact, Passage, Query

if TYPE_CHECKING:
    from collections.abc import Callable

METRICS = ("ndcg@10", "ndcg@100", "recall@100")


def large_run(queries: int, hits: int) -> rl.Evaluation:
    """Return a run whose hits nearly nobody judged."""
    chance = random.Random(0)  # noqa: S311 — no secret
    found, labelled = {}, []
    for number in range(queries):
        ids = [f"d{one}" for one in chance.sample(range(100_000), hits)]
        relevant = chance.sample(ids[: hits // 5], 3)
        irrelevant = chance.sample(ids[hits // 5 : hits // 2], 5)
        facts = tuple(Fact((Passage(chunk_id=one, grade=chance.randint(1, 3)),)) for one in relevant)
        judged = tuple(Passage(chunk_id=one, grade=0) for one in irrelevant)
        labelled.append(Query(f"q{number}", f"question {number}", facts, judged_irrelevant=judged))
        found[f"question {number}"] = [rl.Chunk(f"words of {one}", id=one) for one in ids]
    data = rl.Dataset(tuple(labelled), name="large")
    return rl.evaluate(lambda question: found[question], data, metrics=list(METRICS), ks=(10, hits), progress=False)


def processor_time(work: Callable[[], object]) -> float:
    """Return how many seconds of the processor something takes: the least of three."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main(arguments: list[str]) -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--hits", type=int, default=100)
    given = parser.parse_args(arguments)
    evaluation = large_run(given.queries, given.hits)
    scoring = processor_time(lambda: rl.rescore(evaluation))
    sys.stdout.write(f"matching and scoring: {scoring:.2f} s\n")
    for metric in METRICS:
        seconds = processor_time(lambda metric=metric: evaluation.holes(metric))  # type: ignore[misc]
        sys.stdout.write(f"holes of {metric}: {seconds:.2f} s, {seconds / scoring:.2f} of that\n")


if __name__ == "__main__":
    main(sys.argv[1:])
