"""What recall up to and at a prompt size says of chunk sizes, and of the same prompt cut finer.

BM25 over chunks of 150 to 6,000 characters, read until prompts are full. The hits of 1,000 characters are cut in 2, 4
and 8 as well, in the same order: at equal lengths, and at blanks that are stripped, as splitters do. Queries are drawn
with replacement to see how often a verdict prefers either, which none may; then what difference between sizes 100 and
300 queries show with 80 % power.

    python benchmarks/prompt_sizes.py [--dataset shop_support lighthouse] [--samples 500]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

import raglift as rl
from raglift.analysis.paired_statistics import NOT_SIGNIFICANT, method_of, verdict
from raglift.matching.match import match_rankings
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import compute
from raglift.metrics.prompt_measures import NAMED_BUDGETS, PromptRecall, RecallArea, scale_of_labels
from raglift.retrieval import BM25Retriever
from raglift.stats.paired_tests import paired_differences
from raglift.stats.power import minimum_detectable_effects
from raglift.text.tokens import TokenCounts
from raglift.types.metric import Tokens
from raglift.types.rankings import Ranking

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raglift.types.documents import Chunk
    from raglift.types.labels import Query
    from raglift.types.metric import Metric

    Numbers = NDArray[np.float64]

SIZES = (150, 400, 1000, 2000, 6000)
WHOLE = 1000
CUTS = (2, 4, 8)
HITS = 400
"""Enough to fill prompts of 4,000 tokens with all but the smallest chunks."""
QUERIES = (40, 100, 300)
POWER_QUERIES = (100, 300)
BUDGET = Tokens(2000)


@dataclass(frozen=True)
class Corpus:
    """Labelled queries of a dataset, and what BM25 finds for each in chunks of each size."""

    queries: Sequence[Query]
    rankings: dict[int, list[Ranking]]
    characters_per_token: float

    @classmethod
    def of(cls, dataset: str, sizes: Sequence[int] = SIZES) -> Corpus:
        """Return what BM25 finds."""
        data = rl.load_dataset(dataset)
        queries = [query for query in data.queries if query.is_labelled]
        found = {}
        for size in sizes:
            chunks = list(rl.RecursiveChunker(size, 0).split(data.documents))
            retriever = BM25Retriever(chunks)
            found[size] = list(retriever.retrieve([query.text for query in queries], min(HITS, len(chunks))))
        return cls(queries, found, scale_of_labels(queries, TokenCounts(progress=False)))

    def values(self, rankings: Sequence[Ranking], metrics: Sequence[Metric], threshold: float = 0.5) -> Numbers:
        """Return metrics of rankings by coverage: metrics × queries."""
        (table,) = match_rankings(self.queries, [list(rankings)], MatchRule("coverage", threshold=threshold))
        table = replace(table, characters_per_token=self.characters_per_token)
        return np.stack([compute(table, metric) for metric in metrics])


def recut(rankings: Sequence[Ranking], parts: int, *, at_blanks: bool = False) -> list[Ranking]:
    """Return the same prompts with each hit cut in so many parts; at blanks, these are stripped."""
    cut = ([part for hit in one.hits for part in _parts(hit.chunk, parts, at_blanks)] for one in rankings)
    return [Ranking.of((part, None) for part in chunks) for chunks in cut]


def _parts(chunk: Chunk, parts: int, at_blanks: bool) -> Iterator[Chunk]:
    text, start = chunk.text, chunk.start or 0
    cuts = [len(text) * part // parts for part in range(parts + 1)]
    if at_blanks:
        cuts[1:-1] = [cut if (blank := text.find(" ", cut)) < 0 else blank for cut in cuts[1:-1]]
    for first, last in pairwise(cuts):
        part = text[first:last]
        left = len(part) - len(part.lstrip()) if at_blanks else 0
        part = part.strip() if at_blanks else part
        if part:
            yield replace(chunk, text=part, id="", start=start + first + left, end=start + first + left + len(part))


def table_of(corpus: Corpus, threshold: float) -> dict[str, Numbers]:
    """Return the means of each chunk size and recut: areas, then recalls, at the named prompt sizes."""
    metrics = [measure @ Tokens(most) for measure in (RecallArea, PromptRecall) for most in NAMED_BUDGETS]
    systems = {f"{size:,}": rankings for size, rankings in corpus.rankings.items()}
    systems |= {f"{WHOLE:,} in {parts}": recut(corpus.rankings[WHOLE], parts) for parts in CUTS[:2]}
    return {name: corpus.values(rankings, metrics, threshold).mean(axis=1) for name, rankings in systems.items()}


def verdicts(differences: Numbers, n: int, samples: int, seed: int = 0) -> float:
    """Return the share of samples of n queries, drawn with replacement, that get a verdict."""
    drawn = differences[np.random.default_rng(seed).integers(0, len(differences), size=(n, samples))]
    method = method_of(seed, 0.95)
    found = paired_differences(drawn, seed=seed, bounds=[1.0] * samples)
    return float(np.mean([verdict(one, one.p, method) != NOT_SIGNIFICANT for one in found]))


def detectable(differences: Numbers, n: int, samples: int = 100, seed: int = 0) -> float:
    """Return the minimum detectable effect that samples of n queries state, on average."""
    drawn = differences[np.random.default_rng(seed).integers(0, len(differences), size=(n, samples))]
    return float(np.nanmean(minimum_detectable_effects(drawn, seed=seed)))


def report(dataset: str, samples: int) -> None:
    """Print the tables of a dataset."""
    corpus = Corpus.of(dataset)
    area = [RecallArea @ BUDGET]
    say(f"{dataset}: {len(corpus.queries)} queries, {corpus.characters_per_token:.2f} characters a token")
    for threshold in (0.5, 1.0):
        head = "".join(f"{most:>16,}" for most in NAMED_BUDGETS)
        say(f"\nrecall up to / at, threshold {threshold:.1f}".ljust(34) + head)
        for name, means in table_of(corpus, threshold).items():
            areas, recalls = np.split(means, 2)
            cells = (f"{up_to:.3f} / {at:.3f}" for up_to, at in zip(areas, recalls, strict=True))
            say(f"  {name:31}" + "".join(f"{cell:>16}" for cell in cells))
    whole = corpus.values(corpus.rankings[WHOLE], area)[0]
    say(f"\n{WHOLE:,} characters cut finer: largest difference of a query, and samples of {samples:,} with a verdict")
    say(" " * 33 + "".join(f"{each:>16}" for each in _titles(QUERIES)))
    for at_blanks in (False, True):
        for parts in CUTS:
            differences = corpus.values(recut(corpus.rankings[WHOLE], parts, at_blanks=at_blanks), area)[0] - whole
            shares = "".join(f"{verdicts(differences, n, samples):>16.1%}" for n in QUERIES)
            name = f"in {parts}{', at blanks' if at_blanks else ''}"
            say(f"  {name:20}{np.abs(differences).max():>11.1e}{shares}")
    say(
        "\nminimum detectable effect".ljust(34) + "".join(f"{each:>16}" for each in ("spread", *_titles(POWER_QUERIES)))
    )
    values = {size: corpus.values(rankings, area)[0] for size, rankings in corpus.rankings.items()}
    for one, other in combinations(values, 2):
        differences = values[other] - values[one]
        effects = "".join(f"{detectable(differences, n):>16.3f}" for n in POWER_QUERIES)
        name = f"{one:,} against {other:,}"
        say(f"  {name:31}{differences.std(ddof=1):>16.3f}{effects}")
    say("")


def _titles(numbers: Sequence[int]) -> list[str]:
    return [f"{n} queries" for n in numbers]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", nargs="+", default=["shop_support", "lighthouse"])
    parser.add_argument("--samples", type=int, default=500)
    asked = parser.parse_args()
    for dataset in asked.dataset:
        report(dataset, asked.samples)


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
