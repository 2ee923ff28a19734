"""How fast rankings that are lists of ids are scored, against pytrec_eval and ranx.

10,000 queries of 100 hits each, 8 metrics that all three define alike. Each is given Python lists of ids and a
dictionary of grades; what is timed is everything from there to the tool's own result, so the conversion to its own form
is included. All are warm: ranx's functions are compiled before. First it is asserted that all give the same values.
Run it as

    python benchmarks/scoring.py [--queries 10000] [--hits 100] [--repetitions 7]
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.metrics.computing import RankingScores, score_rankings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Values = dict[str, np.ndarray[Any, np.dtype[np.float64]]]

METRICS = {
    "hit_rate@10": ("success.10", "success_10", "hit_rate@10"),
    "precision@10": ("P.10", "P_10", "precision@10"),
    "recall@10": ("recall.10", "recall_10", "recall@10"),
    "recall@{hits}": ("recall.{hits}", "recall_{hits}", "recall@{hits}"),
    "rr": ("recip_rank", "recip_rank", "mrr"),
    "ap@{hits}": ("map_cut.{hits}", "map_cut_{hits}", "map@{hits}"),
    "ndcg@10": ("ndcg_cut.10", "ndcg_cut_10", "ndcg@10"),
    "ndcg@{hits}": ("ndcg_cut.{hits}", "ndcg_cut_{hits}", "ndcg@{hits}"),
}
"""raglift's name; what trec_eval is asked for, and answers; ranx's name."""
JUDGED = 12
"""At most so many ids are judged for a query; about half of them come back."""
DOCUMENTS_PER_QUERY = 20


@dataclass(frozen=True)
class Input:
    """What is scored."""

    name: str
    rankings: dict[str, list[str]]
    relevant: dict[str, dict[str, int]]
    metrics: dict[str, tuple[str, str, str]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the values, take the times, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--hits", type=int, default=100)
    parser.add_argument("--repetitions", type=int, default=7)
    asked = parser.parse_args(arguments)
    if min(asked.queries, asked.hits, asked.repetitions) < 1:
        parser.error("expected numbers of 1 or more")
    say(
        f"{asked.queries:,} queries × {asked.hits:,} hits, {len(METRICS)} metrics; processor time, "
        f"median (least to most) of {asked.repetitions} rounds in which each has its turn"
    )
    for given in (own_texts(asked.queries, asked.hits), shared_texts(asked.queries, asked.hits)):
        assert_equal({name: tool.values(given, tool.score(given)) for name, tool in TOOLS.items()})  # all are warm now
        say(f"\n{given.name}; all three give the same values")
        times: dict[str, list[float]] = {name: [] for name in TOOLS}
        for _ in range(asked.repetitions):
            for name, tool in TOOLS.items():
                times[name].append(seconds(tool, given))
        ours = statistics.median(times["raglift"])
        for name, taken in times.items():
            middle = statistics.median(taken)
            ratio = "" if name == "raglift" else f"   raglift is {middle / ours:.1f} times as fast"
            say(f"  {name:12} {middle * 1e3:7.1f} ms ({min(taken) * 1e3:.1f} to {max(taken) * 1e3:.1f}){ratio}")
    return 0


def own_texts(queries: int, hits: int) -> Input:
    """Return rankings in which every hit is a text of its own, as from JSON or a vector store."""
    given = shared_texts(queries, hits)
    rankings = {query: ["".join(list(name)) for name in ids] for query, ids in given.rankings.items()}
    return Input("each id a text of its own, as read from a file", rankings, given.relevant, given.metrics)


def shared_texts(queries: int, hits: int) -> Input:
    """Return rankings that share their ids' texts with each other and with the labels, as from a list in memory."""
    random_ = random.Random(0)  # noqa: S311
    documents = [f"doc{number:07}" for number in range(max(queries * DOCUMENTS_PER_QUERY, 2 * (hits + JUDGED)))]
    rankings, relevant = {}, {}
    for number in range(queries):
        ids = random_.sample(documents, hits)
        judged = random_.randint(2, JUDGED)
        labels = random_.sample(ids, min(judged // 2, hits)) + random_.sample(documents, judged - judged // 2)
        rankings[f"q{number:07}"] = ids
        # The first is relevant: others leave a query without relevant ids in their means, or out of them
        relevant[f"q{number:07}"] = {name: random_.randint(int(not place), 3) for place, name in enumerate(labels)}
    metrics = {
        name.format(hits=hits): tuple(part.format(hits=hits) for part in names) for name, names in METRICS.items()
    }
    return Input("ids that share their texts with the labels", rankings, relevant, metrics)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Tool:
    """One way to score."""

    score: Callable[[Input], Any]
    """From the lists to the tool's own result; this is timed."""
    values: Callable[[Input, Any], Values]
    """The values in the result, in the order of the labels; this is not."""


def with_raglift(given: Input) -> RankingScores:
    """Score with raglift: it takes the lists as they are."""
    return score_rankings(given.rankings, given.relevant, list(given.metrics))


def with_pytrec_eval(given: Input) -> dict[str, dict[str, float]]:
    """Score with pytrec_eval: a dictionary of scores for each query, strictly descending."""
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(given.relevant, {asked for asked, _, _ in given.metrics.values()})
    found: dict[str, dict[str, float]] = evaluator.evaluate(scored(given.rankings))
    return found


def with_ranx(given: Input) -> Values:
    """Score with ranx: the same dictionaries, made into its Qrels and Run."""
    import ranx

    wanted = [name for _, _, name in given.metrics.values()]
    qrels, run = ranx.Qrels(given.relevant), ranx.Run(scored(given.rankings))
    found: Values = ranx.evaluate(qrels, run, wanted, return_mean=False)
    return found


TOOLS = {
    "raglift": Tool(with_raglift, lambda given, scores: {name: scores.of(name) for name in given.metrics}),
    "pytrec_eval": Tool(
        with_pytrec_eval,
        lambda given, found: {
            name: np.array([found[query][answer] for query in given.relevant])
            for name, (_, answer, _) in given.metrics.items()
        },
    ),
    "ranx": Tool(
        with_ranx, lambda given, found: {name: found[theirs] for name, (_, _, theirs) in given.metrics.items()}
    ),
}


def scored(rankings: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    """Return what both want: for each query its ids with strictly descending scores."""
    longest = max(map(len, rankings.values()))
    scores = [float(longest - place) for place in range(longest)]
    return {query: dict(zip(ids, scores, strict=False)) for query, ids in rankings.items()}


def assert_equal(values: dict[str, Values]) -> None:
    """Stop unless all give the same value for every query and metric."""
    for name, theirs in values.items():
        for metric, ours in values["raglift"].items():
            np.testing.assert_allclose(theirs[metric], ours, rtol=0, atol=1e-9, err_msg=f"{name}: {metric}")


def seconds(tool: Tool, given: Input) -> float:
    """Return the processor time of one run: on a shared machine the clock says more of the others."""
    begin = time.process_time()
    tool.score(given)
    return time.process_time() - begin


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
