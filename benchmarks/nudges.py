"""Lost facts that small moves of the chunks find, and how many of them `repairs` claims a cause for.

Each dataset is searched with chunks of 800 characters that overlap by 80, and again with eleven sizes and overlaps that
differ by up to a tenth. Most facts that one of these finds are lost again with most others: they are found by luck.

    python -m benchmarks.nudges [--dataset shop_support] [--retriever bm25] [--chunker recursive:400/40]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import raglift as rl
from raglift.adapters.splitters import chunker_by_name
from raglift.repairing.changes import nudged
from raglift.repairing.records import AGREEING, UNEXPLAINED
from raglift.repairing.systems import NO_RERANKER, System, Trials
from raglift.running.systems import LocalSystem, build_retriever

DATASETS = ("shop_support", "lighthouse", "war_and_peace")
CHUNKER, K = "recursive:800/80", 10
COLUMNS = ("lost", "found by some", "found by half", "by these alone", "claimed of these")
MOVING = ("chunk size", "overlap")
"""The changes that move chunks."""


def counts(dataset: rl.Dataset, retriever: str, chunker: str = CHUNKER) -> dict[str, int]:
    """Return the lost facts of a dataset, by what finds them and by what is claimed of them."""
    system = build_retriever(dataset, LocalSystem(retriever, chunker_by_name(chunker)), progress=False)
    evaluation = rl.evaluate(system, dataset, ks=(K,), candidates=K, depth="deep", latency=0, progress=False)
    parts = {"retriever": retriever, "chunker": chunker, "embedding": "bge-small", "reranker": NO_RERANKER}
    run = replace(evaluation.run, spec={**evaluation.run.spec, "parts": parts})
    repairs = replace(evaluation, run=run).repairs(dataset, k=K, proposing=False, progress=False)
    trials = Trials(dataset, rl.MatchRule(), {}, progress=False)
    described = System(retriever, chunker, "bge-small" if retriever != "bm25" else None, NO_RERANKER, K, K)
    places = list(range(len(trials.queries)))
    numbers = {query.id: place for place, query in enumerate(trials.queries)}
    finding = [{place for place, rank in trials.ranks(one, places).items() if rank <= K} for one in nudged(described)]
    found = dict.fromkeys(COLUMNS, 0)
    for lost in repairs.lost:
        share = sum((numbers[lost.query_id], lost.fact - 1) in one for one in finding) / len(finding)
        others = [tried for tried in lost.tried if tried.explains and tried.change.cause not in MOVING]
        is_luck = 0 < share < AGREEING and not others
        found["lost"] += 1
        found["found by some"] += share > 0
        found["found by half"] += share >= AGREEING
        found["by these alone"] += is_luck
        found["claimed of these"] += is_luck and lost.cause != UNEXPLAINED
    return found


def say(line: str) -> None:
    """Write a line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(argv: list[str] | None = None) -> None:
    """Print a row for each dataset and retriever."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dataset", action="append", help=f"by default {', '.join(DATASETS)}")
    parser.add_argument("--retriever", choices=("bm25", "dense"), action="append")
    parser.add_argument("--chunker", default=CHUNKER)
    asked = parser.parse_args(argv)
    say(f"{'dataset':16}{'retriever':12}" + "".join(f"{title:>18}" for title in COLUMNS))
    for name in asked.dataset or DATASETS:
        for retriever in asked.retriever or ("bm25", "dense"):
            found = counts(rl.load_dataset(name), retriever, asked.chunker)
            say(f"{name:16}{retriever:12}" + "".join(f"{found[title]:>18,}" for title in COLUMNS))


if __name__ == "__main__":
    main()
