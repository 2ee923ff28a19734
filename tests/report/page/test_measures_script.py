"""The measures that a page computes by other settings equal those of Python, on evaluations of every kind."""

from __future__ import annotations

import gzip
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import raglift as rl
from raglift.analysis.lift import reranker_lift
from raglift.analysis.paired_statistics import method_of
from raglift.analysis.upper_bound import rule_of
from raglift.matching.match import match_rankings
from raglift.metrics.budgets import within_budget
from raglift.metrics.computing import compute, rankings_by_stage
from raglift.metrics.measure import first_satisfactions
from raglift.report.page.rendering import asset
from raglift.report.page.what_if import what_if
from raglift.results.evaluation import Evaluation
from raglift.retrieval.rerankers import Pair, PairReranker
from raglift.retrieval.retrievers import fuse
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.metric import Metric, Tokens
from raglift.types.rankings import Ranking

WORDS = "amber bell cliff dusk ember fog gull harbour island jetty keel lamp mast night oar pier quay rope sail tide".split()
METRICS = ["ndcg", "ndcg(gain=exponential)", "recall", "rr", "hit_rate", "precision", "f1", "ap"]
KINDS = ("spans", "texts", "ids")


class Shuffling(PairReranker):
    """Scores pairs by their letters, in few steps, so that many are tied."""

    identity = "letters"

    def score(self, batch: Sequence[Pair]) -> list[float]:
        return [float(sum(map(ord, query + text)) % 5) for query, text in batch]


def corpus(draw: random.Random) -> list[Document]:
    return [Document(f"d{n}", " ".join(draw.choices(WORDS, k=draw.randint(60, 160)))) for n in range(draw.randint(3, 6))]


def passage_of(draw: random.Random, kind: str, documents: Sequence[Document], chunks: Sequence[Any]) -> Passage:
    grade = draw.choice([1, 1, 1, 2, 3])
    if kind == "ids":
        return Passage(chunk_id=draw.choice(chunks).id, grade=grade)
    document = draw.choice(documents)
    words = document.text.split(" ")
    first = draw.randrange(len(words) - 8)
    start = len(" ".join(words[:first])) + (first > 0)
    text = " ".join(words[first : first + draw.randint(4, 14)])
    if kind == "texts":
        return Passage(text, grade=grade)
    return Passage(text, document.id, start, start + len(text), grade=grade)


def questions(draw: random.Random, kind: str, documents: Sequence[Document], chunks: Sequence[Any]) -> Iterator[Query]:
    """Some have several facts with alternatives of several grades, some none, and some have no answer."""
    for number in range(draw.choice([9, 16, 30])):
        what = draw.random()
        facts: dict[tuple[Passage, ...], None] = {}
        while what > 0.15 and len(facts) < draw.choice([1, 1, 2, 3]):
            passages = dict.fromkeys(passage_of(draw, kind, documents, chunks) for _ in range(draw.choice([1, 1, 2, 3])))
            facts[tuple(passages)] = None
        tags = tuple(draw.sample(["easy", "hard", "old"], draw.choice([0, 1, 1, 2])))
        facts_of = tuple(map(Fact, facts))
        yield Query(f"q{number}", f"where is {number}?", facts_of, tags, answerable=bool(facts_of) or what > 0.07)


def evaluated(seed: int) -> Evaluation:
    """An evaluation of a random retriever with a reranker, some of whose questions fail."""
    draw = random.Random(seed)
    kind = KINDS[seed % 3]
    documents = corpus(draw)
    chunks = rl.RecursiveChunker(draw.choice([60, 120]), overlap=draw.choice([0, 20])).split(documents)
    dataset = Dataset(tuple(questions(draw, kind, documents, chunks)), tuple(documents), f"random {seed}")
    deep = min(len(chunks), draw.choice([6, 12, 20]))
    orders = {query.text: draw.sample(chunks, min(len(chunks), deep + 5)) for query in dataset.queries}
    failing = {query.text for query in dataset.queries if draw.random() < 0.05}

    def search(question: str, k: int) -> list[Any]:
        if question in failing:
            raise ValueError("no answer")
        return orders[question][:k]

    by = {"spans": draw.choice(["coverage", "containment"]), "texts": draw.choice(["containment", "coverage"])}
    return rl.evaluate(
        search,
        dataset,
        reranker=Shuffling() if seed % 4 else None,
        candidates=deep,
        metrics=[*METRICS, "context_tokens", "recall_area", "prompt_recall"],
        ks=[1, min(5, deep)],
        match=rl.MatchRule(by.get(kind, "containment"), minimum_length=5),
        chunks=chunks if seed % 5 else None,
        on_error="keep",
        depth="deep",
        retries=0,
        latency=0,
    )


@dataclass(frozen=True)
class Setting:
    """What a reader of the page chooses."""

    k: int | None = None
    tokens: int | None = None
    candidates: int | None = None
    weight: float | None = None
    grade: int | None = None
    tag: str | None = None


def setting_of(draw: random.Random, evaluation: Evaluation) -> Setting:
    deep = int(evaluation.run.spec["candidates"])
    candidates = draw.choice([None, draw.randint(1, deep)])
    return Setting(
        k=draw.randint(1, candidates or deep),
        tokens=draw.choice([None, None, draw.randint(1, 400)]),
        candidates=candidates,
        weight=draw.choice([None, None, draw.choice([0.0, 1.0, 0.5, round(draw.random(), 2)])]),
        grade=draw.choice([None, None, 2, 3]),
        tag=draw.choice([None, None, "easy", "hard", "none of them"]),
    )


def changed(evaluation: Evaluation, setting: Setting) -> list[list[Ranking]]:
    """The rankings of a setting: really reranked, and really fused."""
    stages = rankings_by_stage(evaluation.run)
    if len(stages) == 1:
        return stages
    first, last = stages
    texts = [query.text for query in evaluation.dataset.queries]
    few = [Ranking(one.hits[: setting.candidates]) for one in first]
    if setting.candidates is not None:
        reranked = Shuffling().rerank(texts, few)
        last = [new if len(old) else old for new, old in zip(reranked, last, strict=True)]
    if setting.weight is not None:
        weight = setting.weight
        last = few if weight <= 0 else last if weight >= 1 else fuse([few, last], (1 - weight, weight))
    return [few, last]


def graded(dataset: Dataset, least: int | None) -> list[Query]:
    """The questions without the passages below a grade."""
    if least is None:
        return list(dataset.queries)
    found = []
    for query in dataset.queries:
        kept = [tuple(one for one in fact.passages if one.grade >= least) for fact in query.facts]
        found.append(replace(query, facts=tuple(Fact(one) for one in kept if one)))
    return found


def at(metric: Metric, setting: Setting, area: int) -> Metric:
    if metric.name in ("recall_area", "prompt_recall"):
        return Metric(metric.name, Tokens(setting.tokens or area), metric.parameters)
    return metric if setting.k is None else metric @ setting.k


def expected(evaluation: Evaluation, setting: Setting, metrics: Sequence[Metric], area: int) -> list[dict[str, Any]]:
    """What Python says of each stage by a setting."""
    queries, found = graded(evaluation.dataset, setting.grade), []
    counts = [query.is_labelled and setting.tag in (None, *query.tags) for query in queries]
    scale = evaluation.match_table[0].characters_per_token
    if scale is None:
        from raglift.metrics.prompt_measures import scale_of

        scale = scale_of(evaluation.match_table[0])
    for rankings in changed(evaluation, setting):
        (table,) = match_rankings(queries, [rankings], rule_of(evaluation))
        table = replace(table, characters_per_token=scale)
        cut = table if setting.tokens is None else within_budget(table, Tokens(setting.tokens))
        of_metrics = [compute(table if one.name in ("recall_area", "prompt_recall") else cut, at(one, setting, area)) for one in metrics]
        first = first_satisfactions(table)
        ranks = {(int(query), rank) for query, rank in zip(first.query, first.rank.tolist(), strict=True) if counts[query]}
        found.append({"values": [np.where(counts, values, np.nan) for values in of_metrics], "ranks": ranks})
    return found


RUN = """([packed, settings]) => {
  const data = prepared(packed);
  return settings.map((setting) => data.sides.map((side) => {
    const { values, ranks } = measured(data, side, setting, data.metrics);
    return { values: values.map((one) => [...one]), ranks: [...ranks] };
  }));
}"""


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page()
    yield page
    page.close()


def compared(page: Any, seed: int, count: int) -> int:
    """Compare so many settings of one evaluation, and return how many values were compared."""
    evaluation = evaluated(seed)
    metrics = [rl.metrics.parse(name) if False else Metric("ndcg") for name in ()]
    primary = evaluation.scores.metrics[0]
    sides = [("", stage) for stage in evaluation.scores.stages]
    packed = what_if({"": evaluation}, sides, primary, method_of(seed, 0.95), 5)
    assert packed is not None
    content = json.loads(gzip.decompress(packed))
    from raglift.metrics.parsing import parse

    metrics = [parse(name) for name in (*METRICS, "context_tokens")] + [Metric("recall_area"), Metric("prompt_recall")]
    content["metrics"] = [
        {"name": one.name, "gain": one.parameter("gain", "linear"), "tokens": 300} for one in metrics
    ]
    draw = random.Random(seed + 1_000_000)
    settings = [setting_of(draw, evaluation) for _ in range(count)]
    script = "\n".join([asset("measures.js"), f"return ({RUN})(given);"])
    found = page.evaluate(f"(given) => {{ {script} }}", [content, [vars(one) for one in settings]])
    values = 0
    for setting, sides_found in zip(settings, found, strict=True):
        for stage, (mine, theirs) in enumerate(zip(sides_found, expected(evaluation, setting, metrics, 300), strict=True)):
            is_moved = len(evaluation.scores.stages) > 1 and (setting.candidates is not None or (stage and setting.weight is not None))
            for metric, one, other in zip(metrics, mine["values"], theirs["values"], strict=True):
                if metric.name in ("recall_area", "prompt_recall") and is_moved:
                    assert np.isnan(np.array(one, dtype=float)).all()
                    continue
                np.testing.assert_allclose(np.array(one, dtype=float), other, rtol=0, atol=1e-12, err_msg=f"{seed} {setting} {stage} {metric}")
                values += len(other)
    return values


@pytest.mark.parametrize("seed", range(30))
def test_values_equal_those_of_python_by_random_settings(page: Any, seed: int) -> None:
    assert compared(page, seed, 20) > 0
