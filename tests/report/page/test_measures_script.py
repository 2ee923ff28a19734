"""What a page computes by other settings equals what Python computes, on evaluations of every kind."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import raglift as rl
from raglift.analysis.paired_statistics import bound_of, interval_of, method_of, verdict, within_reach
from raglift.analysis.upper_bound import rule_of
from raglift.matching.match import match_rankings
from raglift.matching.matches import MatchTable
from raglift.metrics.budgets import prefix_lengths, within_budget
from raglift.metrics.computing import compute, rankings_by_stage
from raglift.metrics.prompt_measures import scale_of
from raglift.report.page.rendering import WORKER, asset, evaluation_page
from raglift.results.evaluation import Evaluation
from raglift.retrieval.rerankers import Pair
from raglift.retrieval.retrievers import fuse
from raglift.stats.paired_tests import paired_differences
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.metric import Metric, Tokens
from raglift.types.rankings import Ranking

from .random_evaluations import BUDGET, METRICS, READ, Measured, Shuffling, corpus, graded


@dataclass(frozen=True)
class Setting:
    """What a reader of the page chooses."""

    k: int
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
        tokens=draw.choice([None, None, draw.randint(1, BUDGET)]),
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
    few = [Ranking(one.hits[: setting.candidates]) for one in first]
    if setting.candidates is not None:
        last = Shuffling().rerank([query.text for query in evaluation.dataset.queries], few)
    weight = setting.weight
    if weight is not None:
        last = few if weight <= 0 else last if weight >= 1 else fuse([few, last], (1 - weight, weight))
    return [few, last]


class Expected:
    """What Python says of each stage by a setting."""

    def __init__(self, evaluation: Evaluation, setting: Setting) -> None:
        queries = graded(evaluation.dataset.queries, setting.grade)
        self.counts = np.array([query.is_labelled and setting.tag in (None, *query.tags) for query in queries])
        scale = scale_of(evaluation.match_table[0])
        self.tables: list[MatchTable] = []
        self.values, self.lengths = [], []
        for rankings in changed(evaluation, setting):
            (table,) = match_rankings(queries, [rankings], rule_of(evaluation))
            table = replace(table, characters_per_token=scale)
            cut = table if setting.tokens is None else within_budget(table, Tokens(setting.tokens))
            values = [self._values(table, cut, metric, setting) for metric in METRICS]
            fitting = table.hits if setting.tokens is None else prefix_lengths(table, Tokens(setting.tokens))
            self.tables.append(table)
            self.values.append([np.where(self.counts, one, np.nan) for one in values])
            self.lengths.append(np.minimum(fitting, setting.k))

    @staticmethod
    def _values(table: MatchTable, cut: MatchTable, metric: Metric, setting: Setting) -> Any:
        if metric.name in READ:
            return compute(table, metric @ Tokens(setting.tokens or BUDGET))
        return compute(cut, metric @ setting.k)

    def found(self, stage: int) -> dict[tuple[int, int], str]:
        """Of each fact that counts, whether it is found, ranked too low, or missing, by question and number."""
        first = self.tables[stage].first
        ranks = dict(zip(first.fact.tolist(), first.rank.tolist(), strict=True))
        return {
            (query, fact): "missing"
            if fact not in ranks
            else "found"
            if ranks[fact] <= self.lengths[stage][query]
            else "low"
            for fact, query in enumerate(self.tables[stage].facts.query.tolist())
            if self.counts[query]
        }


RUN = """([packed, settings, measure]) => {
  data = prepared(packed);
  data.asMeasured = new Map();
  return settings.map((setting) => {
    const found = figuresOf(data, setting);
    const result = summarized(data, found, measure);
    const values = found.of.map((one) => one.values.map((of) => [...of]));
    return { result, tests: testsOf(data, found, measure), values };
  });
}"""


@pytest.fixture(scope="module")
def compute_in_page(browser: Any) -> Iterator[Any]:
    """Run the page's script on some settings: figures, tests and values of each question."""
    page = browser.new_page()
    script = "\n".join(["let onmessage; const postMessage = () => {};", *map(asset, WORKER), f"return ({RUN})(given);"])
    yield lambda content, settings: page.evaluate(
        f"(given) => {{ {script} }}", [content, [vars(setting) for setting in settings], 0]
    )
    page.close()


def columns_of(evaluation: Evaluation) -> dict[str, Any]:
    packed = evaluation_page(evaluation).what_if
    assert packed is not None
    columns: dict[str, Any] = json.loads(gzip.decompress(packed))
    metrics = [{"name": one.name, "gain": one.parameter("gain", "linear"), "tokens": BUDGET} for one in METRICS]
    return columns | {"metrics": metrics}


def check_figures(found: dict[str, Any], expected: Expected, method: Any, where: str, moved: Sequence[bool]) -> int:
    """Compare the figures of one setting, and return how many there were."""
    checked = 0
    for place, metric in enumerate(METRICS):
        values = [of_stage[place] for of_stage in expected.values]
        row, tests = found["result"]["rows"][place], found["tests"][place]
        if metric.name in READ and any(moved):
            assert all(
                np.isnan(np.array(one[place], dtype=float)).all()
                for one, is_moved in zip(found["values"], moved, strict=True)
                if is_moved
            )
            continue
        for mine, side, theirs in zip(found["values"], row["sides"], values, strict=True):
            np.testing.assert_allclose(
                np.array(mine[place], dtype=float), theirs, rtol=0, atol=1e-12, err_msg=f"{where} {metric}"
            )
            counted = theirs[~np.isnan(theirs)]
            interval = interval_of(metric, theirs, 0.95) if len(counted) else None
            assert side["n"] == len(counted)
            np.testing.assert_allclose(side["mean"], counted.mean() if len(counted) else np.nan, rtol=1e-12, atol=1e-12)
            assert (side["interval"] is None) == (interval is None), where
            np.testing.assert_allclose(side["interval"] or [], interval or [], rtol=1e-9, atol=1e-9, err_msg=where)
            checked += len(theirs)
        if len(values) > 1:
            (theirs,) = paired_differences(
                (values[1] - values[0])[:, None], seed=method.seed, bounds=[bound_of(metric)]
            )
            theirs = within_reach(metric, theirs)
            mine = tests[0]
            assert (mine["n"], mine["wins"], mine["ties"], mine["losses"]) == (
                theirs.n,
                theirs.wins,
                theirs.ties,
                theirs.losses,
            )
            np.testing.assert_allclose(
                [mine[name] for name in ("mean", "low", "high")],
                [theirs.mean, theirs.low, theirs.high],
                rtol=1e-9,
                atol=1e-9,
                err_msg=where,
            )
            if theirs.n:
                assert mine["p"] == pytest.approx(theirs.p, abs=1e-12), where
                assert mine["verdict"] == verdict(theirs, theirs.p, method), where
            checked += 1
    return checked


def compared(compute_in_page: Any, seed: int, count: int) -> int:
    """Compare so many settings of one evaluation, and return how many figures were compared."""
    evaluation = Measured(seed).evaluation()
    draw = random.Random(seed + 1_000_000)  # noqa: S311
    settings = [setting_of(draw, evaluation) for _ in range(count)]
    usual = evaluation_page(evaluation).queries
    assert usual is not None
    before, method, checked = Expected(evaluation, Setting(usual.k)), method_of(0, 0.95), 0
    for setting, found in zip(settings, compute_in_page(columns_of(evaluation), settings), strict=True):
        expected, where = Expected(evaluation, setting), f"{seed} {setting}"
        reranked = len(evaluation.scores.stages) > 1
        moved = [
            reranked and setting.candidates is not None,
            reranked and (setting.candidates, setting.weight) != (None, None),
        ]
        checked += check_figures(found, expected, method, where, moved[: len(expected.values)])
        result = found["result"]
        stands = [expected.found(stage) for stage in range(len(expected.tables))]
        failed = {place for place, trace in enumerate(evaluation.run.traces) if trace.error is not None}
        outcomes = Counter(
            "failed"
            if fact[0] in failed
            else {"found": "found", "low": "below_k"}.get(stand)
            or ("dropped" if len(stands) > 1 and stands[0][fact] != "missing" else "lost")
            for fact, stand in stands[-1].items()
        )
        lost = sum(result["losses"].get(name, 0) for name in ("not_retrieved", "not_attainable", "missed"))
        assert {
            **{name: n for name, n in result["losses"].items() if name in ("failed", "found", "below_k", "dropped")},
            **({"lost": lost} if lost else {}),
        } == dict(outcomes), where
        assert result["facts"][-1] == {"found": outcomes["found"], "all": len(stands[-1])}
        recall = np.nanmean(np.append(expected.values[-1][2], np.nan)) if expected.counts.any() else 0.0
        end = result["curves"][1][-1][1] if result["curves"][1] else 0.0
        assert end == pytest.approx(recall, abs=1e-12), where
        change = expected.values[-1][0] - before.values[-1][0]
        assert result["against"]["n"] == np.count_nonzero(~np.isnan(change))
        np.testing.assert_allclose(
            result["against"]["mean"], np.nanmean(change) if result["against"]["n"] else np.nan, rtol=0, atol=1e-12
        )
    return checked


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 7, 8, 10, 12, 13, 14, 15, 18, 19])
def test_figures_equal_those_of_python_by_random_settings(compute_in_page: Any, seed: int) -> None:
    assert compared(compute_in_page, seed, 12) > 0


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 300))
def test_figures_equal_those_of_python_by_ten_thousand_settings(compute_in_page: Any, seed: int) -> None:
    assert compared(compute_in_page, seed, 50) > 0


@pytest.mark.parametrize("seed", [1, 2, 3, 6, 7, 9])
def test_fewer_candidates_and_a_least_grade_are_what_a_run_with_them_gives(compute_in_page: Any, seed: int) -> None:
    evaluation = Measured(seed).evaluation()
    draw = random.Random(seed)  # noqa: S311
    candidates = draw.randint(2, int(evaluation.run.spec["candidates"]) - 1)
    setting = Setting(draw.randint(1, min(5, candidates)), candidates=candidates, grade=draw.choice([None, 2]))
    metrics = [str(metric @ setting.k) for metric in METRICS if metric.name not in READ]
    again = rl.rescore(Measured(seed).evaluation(candidates, setting.grade), metrics=metrics)
    (found,) = compute_in_page(columns_of(evaluation), [setting])
    for metric, values in zip(METRICS, found["values"][-1], strict=True):
        if metric.name not in READ:
            np.testing.assert_allclose(
                np.array(values, dtype=float), again.scores.of(again.after, metric @ setting.k), rtol=0, atol=1e-12
            )
    losses = again.failure_analysis(setting.k).losses
    assert found["result"]["losses"] == {one.outcome: one.facts for one in losses if one.facts}


def test_rankings_are_fused_as_python_fuses_them(browser: Any) -> None:
    draw = random.Random(7)  # noqa: S311
    pairs = [
        ([draw.sample(range(120), draw.randint(0, 100)) for _ in range(2)], draw.choice([0.5, round(draw.random(), 2)]))
        for _ in range(300)
    ]
    page = browser.new_page()
    script = f"{asset('measures.js')}\nreturn given.map(([[one, other], weight]) => fused(one, other, weight));"
    found = page.evaluate(f"(given) => {{ {script} }}", pairs)
    page.close()
    for (parts, weight), numbers in zip(pairs, found, strict=True):
        if 0 < weight < 1:
            rankings = [[Ranking.of((Chunk(str(n), str(n)), None) for n in part)] for part in parts]
            (theirs,) = fuse(rankings, (1 - weight, weight))
            assert list(map(str, numbers)) == [hit.chunk.id for hit in theirs]


def shuffled(*, twice: bool = False, failing: str = "", candidates: int = 12) -> Evaluation:
    """A reranked system some of whose chunks come twice, or whose reranker fails on a question."""
    draw = random.Random(1)  # noqa: S311
    documents = corpus(draw)
    chunks = rl.RecursiveChunker(60, overlap=0).split(documents)
    queries = [
        Query(f"q{n}", f"where is {n}?", (Fact((Passage(chunk_id=draw.choice(chunks).id),)),)) for n in range(12)
    ]
    orders = {query.text: draw.choices(chunks, k=12) if twice else draw.sample(chunks, 12) for query in queries}

    class Failing(Shuffling):
        def score(self, batch: Sequence[Pair]) -> list[float]:
            if failing in {query for query, _ in batch}:
                raise ValueError("no answer")
            return super().score(batch)

    return rl.evaluate(
        lambda question, k: orders[question][:k],
        Dataset(tuple(queries), tuple(documents), "shuffled"),
        reranker=Failing(),
        candidates=candidates,
        metrics=["ndcg@5"],
        on_error="keep",
        retries=0,
        latency=0,
    )


@pytest.mark.parametrize("case", [{"twice": True}, {"failing": "where is 3?"}])
def test_fewer_candidates_are_known_of_chunks_that_come_twice_and_of_failures(
    compute_in_page: Any, case: dict[str, Any]
) -> None:
    measured, fewer = shuffled(**case), shuffled(**case, candidates=7)
    (found,) = compute_in_page(columns_of(measured), [Setting(5, candidates=7)])
    np.testing.assert_allclose(
        np.array(found["values"][-1][0], dtype=float), fewer.scores.of(fewer.after, "ndcg@5"), rtol=0, atol=1e-12
    )


def test_a_question_that_failed_counts_nothing_by_any_weight(compute_in_page: Any) -> None:
    measured = shuffled(failing="where is 3?")
    for found in compute_in_page(columns_of(measured), [Setting(12, weight=weight) for weight in (0.0, 0.5)]):
        assert found["values"][-1][0][3] == 0


def test_without_a_way_to_count_tokens_a_page_leaves_out_what_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    Measured(1).evaluation().save(tmp_path / "run")
    monkeypatch.setattr("raglift.report.page.what_if.is_encoding_available", lambda: False)
    packed = evaluation_page(rl.load_evaluation(tmp_path / "run"), primary="ndcg@1").what_if
    assert packed is not None
    assert not {one["name"] for one in json.loads(gzip.decompress(packed))["metrics"]} & {*READ}


def test_without_a_depth_no_measure_is_there_that_needs_one() -> None:
    evaluation = rl.rescore(Measured(1).evaluation(), metrics=["ndcg@tokens(50)"])
    packed = evaluation_page(evaluation, primary="ndcg@tokens(50)").what_if
    assert packed is not None
    assert "precision" not in {one["name"] for one in json.loads(gzip.decompress(packed))["metrics"]}


class FirstTen(Shuffling):
    """Reranks, and passes on ten hits."""

    def rerank(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:
        return [Ranking(ranking.hits[:10]) for ranking in super().rerank(queries, rankings)]


def test_candidates_are_not_known_of_rerankers_that_cut_or_rank_in_their_own_way() -> None:
    evaluation = Measured(1).evaluation()
    cut = replace(evaluation, truncated={"rerank": 5})
    found = [json.loads(gzip.decompress(evaluation_page(one).what_if or b""))["systems"] for one in (evaluation, cut)]
    assert [bool(systems[0]["whyNotFewer"]) for systems in found] == [False, True]
    assert Shuffling().by_pair
    assert not FirstTen().by_pair


def test_a_lift_that_is_not_fair_is_not_shown_by_other_settings() -> None:
    evaluation = replace(Measured(1).evaluation(), beyond_candidates={"ndcg@1": 3})
    assert len(columns_of(evaluation)["sides"]) == 1
