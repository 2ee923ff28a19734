"""Users' own metrics: what a function is given, what becomes of its value, and what it may not return."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import raglift as rl
from raglift.analysis.paired_statistics import is_quality
from raglift.errors import ConfigurationError, MetricFailed
from raglift.metrics import registry
from raglift.metrics.budgets import tokens
from raglift.metrics.computing import compute
from raglift.metrics.custom import QueryRanking, metric
from raglift.metrics.measure import Choice, Number, per_query, relevant_hits, sum_by
from raglift.metrics.parsing import parse
from raglift.metrics.registry import MEASURES
from raglift.testing.fakes import FakeRetriever
from raglift.types.metric import Metric


def seen(value: Callable[..., float], *arguments: Any) -> QueryRanking:
    """What a user's function is given."""
    found: list[QueryRanking] = []

    @metric("spy")
    def spy(ranking: QueryRanking) -> float:
        found.append(ranking)
        return 0.0

    value(*arguments)
    MEASURES.pop("spy")
    return found[0]


def test_what_a_function_is_given(value) -> None:
    ranking = seen(value, "spy@4", [("a", 3), [("b", 1), ("c", 2)], "z"], ["x", "c", "a", "b", "z"])
    assert (ranking.query_id, ranking.k) == ("q0", 4)
    assert ranking.grades == (0, 2, 3, 1)
    assert ranking.relevant == (False, True, True, True)
    assert ranking.ranks == (3, 2, None)
    assert ranking.ideal_grades == (3, 2, 1)
    assert (ranking.facts, ranking.found) == (3, 2)
    assert [hit.chunk.id for hit in ranking.hits] == ["x", "c", "a", "b"]
    assert seen(value, "spy", ["a"], ["a", "x"]).grades == (1, 0)


names = st.sampled_from("abcdef")
cases = st.lists(
    st.tuples(st.lists(names, max_size=4, unique=True), st.lists(names, max_size=6, unique=True)),
    min_size=1,
    max_size=5,
)


@pytest.mark.slow
@given(cases, st.integers(1, 7) | st.none())
def test_recall_and_precision_written_anew_are_raglifts(judged, pairs, k: int | None) -> None:
    MEASURES.pop("own_recall", None)
    MEASURES.pop("own_relevant", None)

    @metric("own_recall")
    def own_recall(ranking: QueryRanking) -> float:
        return ranking.found / ranking.facts

    @metric("own_relevant", vectorized=True)
    def own_relevant(match_table, metric):
        query, _, _ = relevant_hits(match_table, metric.k)
        shown = np.minimum(match_table.hits, metric.k or 99).astype(float)
        return per_query(sum_by(query, np.ones(len(query)), match_table.queries), shown)

    match_table = judged(*pairs)
    at = [Metric(name, k) for name in ("own_recall", "recall", "own_relevant")]
    ours, theirs, relevant = (compute(match_table, each).tolist() for each in at)
    assert ours == theirs
    for share, (wanted, found) in zip(relevant, pairs, strict=True):
        first = found[:k]
        expected = sum(name in wanted for name in first) / len(first) if first and wanted else 0
        assert share == pytest.approx(expected)


def test_the_decorated_name_is_a_metric() -> None:
    @metric("lead", title="Lead", source="us")
    def lead(ranking: QueryRanking) -> float:
        """1 if the first hit is relevant.

        And more on that.
        """
        return ranking.relevant[0]

    assert lead == Metric("lead")
    assert str(lead @ 5) == "lead@5"
    assert parse("LEAD@tokens(9)") == lead @ tokens(9)
    measure = MEASURES["lead"]
    assert (measure.title, measure.formula, measure.source) == ("Lead", "1 if the first hit is relevant.", "us")
    assert measure.origin.startswith("test_custom:") or ".test_custom:" in measure.origin
    assert "And more on that." in measure.description


DATA = rl.Dataset.from_dict({"Who?": ["the keeper"], "Where?": ["the tower"], "When?": ["at dusk"]})
SYSTEM = FakeRetriever({"Who?": ["the keeper", "x"], "Where?": ["x", "the tower"], "When?": []})


@pytest.mark.slow
def test_it_is_usable_wherever_a_metric_is(tmp_path: Path) -> None:
    @metric("lead")
    def lead(ranking: QueryRanking) -> float:
        return ranking.relevant[0]

    evaluation = rl.evaluate(SYSTEM, DATA, metrics=[lead, "lead", "ndcg"], ks=(1, 2, "tokens(50)"))
    assert evaluation.scores.of("retrieve", lead @ 2).tolist() == [1, 0, 0]  # what came back empty counts 0
    assert evaluation.scores.mean("retrieve", "lead@tokens(50)") == pytest.approx(1 / 3)
    assert "lead@1" in evaluation.to_text()
    assert evaluation.explain("q1").hits[0].earned[:2] == (1, 1)
    assert evaluation.over_k("lead", ks=(1, 2))["retrieve"].tolist() == [1 / 3, 1 / 3]
    compared = rl.compare({"one": evaluation, "two": evaluation}, primary="lead@2")
    assert compared.primary == lead @ 2
    assert rl.score_rankings({"q": ["a"]}, {"q": ["a"]}, [lead]).mean(lead) == 1
    evaluation.save(tmp_path / "run")
    assert rl.load_evaluation(tmp_path / "run").scores.metrics == evaluation.scores.metrics


def test_settings_come_as_keywords(value) -> None:
    @metric("weighed", settings=(Number("w", 0, 1, default=0.5), Choice("by", ("found", "facts"))))
    def weighed(ranking: QueryRanking, *, w: float, by: str) -> float:
        return w * ranking.found if by == "found" else w / ranking.facts

    assert value("weighed", ["a", "b"], ["a"]) == 0.5
    assert value("weighed(w=0.250)@3", ["a", "b"], ["a"]) == 0.25
    assert value(str(weighed(by="facts", w=1) @ 3), ["a", "b"], ["a"]) == 0.5
    with pytest.raises(ConfigurationError, match=r"weighed: found the setting 'w=2'; expected w=a number from 0 to 1"):
        parse("weighed(w=2)")


def test_texts_of_hits() -> None:
    @metric("brief", needs_text=True, is_bounded=False, is_neutral=True)
    def brief(ranking: QueryRanking) -> float:
        return sum(len(hit.chunk.text) for hit in ranking.hits)

    found = rl.evaluate(SYSTEM, DATA, metrics=[brief @ 2, "ndcg@2"])
    assert found.scores.of("retrieve", brief @ 2).tolist() == [11, 10, 0]
    assert not is_quality(brief)
    with pytest.raises(ConfigurationError, match="brief: found ids alone; expected the texts of the hits"):
        rl.score_rankings({"q": ["a"]}, {"q": ["a"]}, [brief])


def test_one_that_divides_by_k() -> None:
    @metric("share", needs_k=True)
    def share(ranking: QueryRanking) -> float:
        return sum(ranking.relevant) / ranking.k

    assert rl.score_rankings({"q": ["a"]}, {"q": ["a"]}, [share @ 4]).mean("share@4") == 0.25
    with pytest.raises(ConfigurationError, match="share: found no depth"):
        rl.score_rankings({"q": ["a"]}, {"q": ["a"]}, [share])
    with pytest.raises(ConfigurationError, match="it divides by a number of chunks"):
        rl.evaluate(SYSTEM, DATA, metrics=["share@tokens(5)"])


def divide_by_zero(_: QueryRanking) -> float:
    return 1 / 0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda ranking: math.nan, "found nan; expected a number from 0 to 1$"),
        (lambda ranking: 1.5, r"found 1.5; expected a number from 0 to 1 \(is_bounded=False says"),
        (lambda ranking: "1", "found '1'; expected a number"),
        (divide_by_zero, "the metric's own function failed: ZeroDivisionError: division by zero"),
    ],
)
def test_what_a_function_may_not_do(function: Callable[[QueryRanking], Any], message: str) -> None:
    bad = metric("bad")(function)
    with pytest.raises(ConfigurationError, match=f"bad@1, question 'q7': {message}"):
        rl.score_rankings({"q7": ["a"], "q1": []}, {"q1": ["a"], "q7": ["a"]}, [bad @ 1])


@pytest.mark.slow
def test_what_was_retrieved_is_kept_when_metrics_fail(tmp_path: Path) -> None:
    data = rl.Dataset.from_dict({"Who keeps the lamp?": ["the keeper"]})
    asked = []

    def system(question: str) -> list[str]:
        asked.append(question)
        return ["the keeper", "x"]

    metric("late")(lambda ranking: ranking.relevant[9])
    metric("bad")(divide_by_zero)
    with pytest.raises(MetricFailed, match=r"late@2, question .*: the metric's own function failed") as failure:
        rl.evaluate(system, data, metrics=["late", "ndcg", "bad"], ks=(2,))
    kept = failure.value.evaluation
    assert list(map(str, kept.scores.metrics)) == ["ndcg@2"]
    with pytest.raises(MetricFailed) as failure:
        rl.evaluate(system, data, metrics=["late"], ks=(2,))
    folder = failure.value.evaluation.save(tmp_path / "run")
    again = rl.rescore(rl.load_evaluation(folder), metrics=["ndcg"], ks=(2,))
    assert again.scores.mean("retrieve", "ndcg@2") == kept.scores.mean("retrieve", "ndcg@2") == 1.0
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([0.5, math.nan], "bad, question 'q2': found nan"),
        ([0.5], r"bad: found values of the shape \(1,\); expected one a question, \(2,\)"),
        ("no", "bad, 2 questions at once: the metric's own function failed: ValueError"),
    ],
)
def test_what_a_vectorized_function_may_not_do(found: Any, message: str) -> None:
    bad = metric("bad", vectorized=True)(lambda match_table, metric: found)
    with pytest.raises(ConfigurationError, match=message):
        rl.score_rankings({"q1": ["a"], "q2": ["a"]}, {"q1": ["a"], "q2": ["a"]}, [bad])


@pytest.mark.parametrize("vectorized", [False, True])
def test_an_order_to_stop_is_no_failure_of_a_metric(vectorized: bool) -> None:
    def stop(*_: Any) -> float:
        raise KeyboardInterrupt

    stopping = metric("stopping", vectorized=vectorized)(stop)
    with pytest.raises(KeyboardInterrupt):
        rl.score_rankings({"q1": ["a"]}, {"q1": ["a"]}, [stopping])


def test_a_metric_without_bounds_must_still_be_a_number() -> None:
    bad = metric("bad", is_bounded=False)(lambda ranking: math.inf)
    with pytest.raises(ConfigurationError, match="found inf; expected a number that is finite and no larger than"):
        rl.score_rankings({"q1": ["a"]}, {"q1": ["a"]}, [bad])


def test_a_vectorized_function_need_not_care_for_queries_without_hits() -> None:
    divided = metric("divided", vectorized=True)(lambda match_table, metric: np.where(match_table.hits, 1.0, np.nan))
    assert rl.score_rankings({"q1": ["a"], "q2": []}, {"q1": ["a"], "q2": ["a"]}, [divided]).mean(divided) == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "ndcg"}, "found the name 'ndcg', by which raglift reads 'ndcg'; choose another"),
        ({"name": "Mine"}, "found the name 'Mine'; expected lower case letters, digits and underscores"),
        ({"name": "mine", "title": "a|b"}, "metric mine: found the title 'a[|]b'"),
        ({"name": "mine", "aliases": ("Ours",)}, "metric mine: found the alias 'Ours'; expected lower case letters"),
        (
            {"name": "mine", "settings": (Choice("gain", ("linear", "High")),)},
            "metric mine: found 'High' in a setting; expected lower case letters",
        ),
    ],
)
def test_what_cannot_be_registered(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        metric(**arguments)(lambda ranking: 0.0)


def test_what_is_no_function_is_no_metric() -> None:
    with pytest.raises(ConfigurationError, match="metric mine: found a float; expected a function"):
        metric("mine")(0.5)  # type: ignore[arg-type]


def test_a_name_is_taken_once_but_the_same_definition_may_come_again(value) -> None:
    def define(result: float) -> Metric:
        @metric("mine")
        def mine(ranking: QueryRanking) -> float:
            return result

        return mine

    define(0.25)
    assert value("mine", ["a"], ["a"]) == 0.25
    define(0.5)  # as when a notebook's cell is run again
    assert value("mine", ["a"], ["a"]) == 0.5
    with pytest.raises(ConfigurationError, match=r"found the name 'mine' for .*divide_by_zero; .* taken by .*mine"):
        metric("mine")(divide_by_zero)


@pytest.mark.slow
def test_a_saved_run_is_shown_where_its_metric_is_not_installed(tmp_path: Path) -> None:
    lead = metric("lead", title="Lead", formula="first", settings=(Number("w", 0, 1),))(
        lambda ranking, w: ranking.relevant[0]
    )
    rl.evaluate(SYSTEM, DATA, metrics=[lead(w=0.5) @ 2, "ndcg@2"]).save(tmp_path / "run")
    MEASURES.pop("lead")
    loaded = rl.load_evaluation(tmp_path / "run")
    assert loaded.scores.mean("retrieve", "lead(w=0.5)@2") == pytest.approx(1 / 3)
    assert "Lead(w=0.5)@2" in loaded.to_text()
    assert rl.compare({"a": loaded, "b": loaded}, primary="lead(w=0.5)@2").primary == lead(w=0.5) @ 2
    assert [str(one) for one in loaded.explain("q1").metrics] == ["ndcg@2"]
    with pytest.raises(ConfigurationError, match=r"lead@2: found a metric of a user's, .*, that is not installed here"):
        rl.rescore(loaded, metrics=["lead"], ks=(2,))
    with pytest.raises(ConfigurationError, match="not installed here; expected the package that offers it"):
        rl.evaluate(SYSTEM, DATA, metrics=["lead@1"])
    loaded.save(tmp_path / "again")
    metric("lead")(lambda ranking: 1.0)  # installed after all
    assert rl.rescore(loaded, metrics=["lead"], ks=(2,)).scores.mean("retrieve", "lead@2") == pytest.approx(2 / 3)


def test_what_a_damaged_run_says_of_a_metric_is_not_believed(tmp_path: Path) -> None:
    metric("lead")(lambda ranking: ranking.relevant[0])
    rl.evaluate(SYSTEM, DATA, metrics=["lead@2"]).save(tmp_path / "run")
    MEASURES.pop("lead")
    file = tmp_path / "run" / "run.json"
    head = json.loads(file.read_text(encoding="utf-8"))
    kept = {"title": "<b>\x1b[31m|", "is_cost": "yes", "is_installed": True, "origin": "\x1b]0;x", "compute": "os"}
    head["own_metrics"] = {"lead": kept}
    file.write_text(json.dumps(head), encoding="utf-8")
    loaded = rl.load_evaluation(tmp_path / "run")
    measure = MEASURES["lead"]
    assert (measure.title, measure.is_cost, measure.is_installed) == ("lead", False, False)
    assert "\x1b" not in measure.origin
    assert loaded.scores.mean("retrieve", "lead@2") == pytest.approx(1 / 3)
    MEASURES.pop("lead")
    file.write_text(json.dumps(head | {"own_metrics": {}}), encoding="utf-8")
    with pytest.raises((ConfigurationError, rl.errors.RunError), match="found 'lead'"):
        rl.load_evaluation(tmp_path / "run")


def test_a_change_of_a_function_is_noticed() -> None:
    def define(power: int) -> str | None:
        return registry.code_of(metric("powered")(lambda ranking: ranking.relevant[0] ** power))

    assert define(2) == define(2) != define(3)
    assert registry.code_of(parse("ndcg")) is None


def test_an_object_that_can_be_called_has_no_code_to_compare() -> None:
    class Powered:
        def __init__(self, power: int) -> None:
            self.power = power

        def __call__(self, ranking: QueryRanking) -> float:
            return float(ranking.relevant[0] ** self.power)

    powered = metric("powered")(Powered(2))
    code = registry.code_of(powered)
    assert code is not None
    MEASURES.pop("powered")
    assert registry.code_of(metric("powered")(Powered(2))) == code
