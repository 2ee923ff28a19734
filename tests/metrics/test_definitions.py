from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift import metrics
from raglift.errors import ConfigurationError
from raglift.metrics import MEASURES, PROFILES, Metric, compute, mean_title, parse, title, tokens


@st.composite
def every_metric(draw: st.DrawFn) -> Metric:
    measure = MEASURES[draw(st.sampled_from(sorted(MEASURES)))]
    parameters = {name: draw(st.sampled_from(values)) for name, values in measure.parameters if draw(st.booleans())}
    metric = Metric(measure.name)(**parameters)
    number = draw(st.integers(1, 10**9 - 1))
    depth = draw(st.sampled_from([None, number] if measure.needs_k else [None, number, tokens(number)]))
    return metric if depth is None or not measure.takes_k else metric @ depth


@given(every_metric())
def test_a_metric_is_its_text(metric: Metric) -> None:
    assert parse(str(metric)) == metric
    spaced = str(metric).replace("@", " @ ").replace("(", " ( ").replace(")", " ) ")
    assert parse(f"  {spaced} ") == metric
    assert parse(str(metric).upper()) == metric


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("ndcg@10", metrics.NDCG @ 10),
        ("NDCG @ 10", metrics.NDCG @ 10),
        ("MRR", metrics.RR),
        ("map@5", metrics.AP @ 5),
        ("hit@1", metrics.HitRate @ 1),
        ("HitRate@1", metrics.HitRate @ 1),
        ("P@3", metrics.Precision @ 3),
        ("r@3", metrics.Recall @ 3),
        ("f1@3", metrics.F1 @ 3),
        ("SpanIoU@5", metrics.SpanIoU @ 5),
        ("SpanPrecisionOmega", metrics.SpanPrecisionOmega),
        ("ndcg()@3", metrics.NDCG @ 3),
        ("DCG( Gain = Exponential )@3", metrics.DCG(gain="exponential") @ 3),
        ("idcg(gain=linear)", metrics.IDCG(gain="linear")),
        ("Recall @ tokens(2000)", metrics.Recall @ tokens(2000)),
        ("ndcg(gain=exponential)@Tokens( 20 )", metrics.NDCG(gain="exponential") @ tokens(20)),
        ("ContextTokens@5", metrics.ContextTokens @ 5),
    ],
)
def test_what_people_write(text: str, metric: Metric) -> None:
    assert parse(text) == metric


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ndgc@10", "found 'ndgc' .did you mean 'ndcg'.*; expected one of hit_rate, precision, .*, mrr, map"),
        ("zzz@3", "found 'zzz'; expected one of hit_rate"),
        ("", "found ''; expected a name and a depth, as 'ndcg@10'"),
        ("ndcg@", "expected a name and a depth"),
        ("ndcg@-1", "expected a name and a depth"),
        ("ndcg@9999999999", "of up to 9 digits"),
        ("ndcg@2.5", "expected a name and a depth"),
        ("ndcg@tokens", "expected a name and a depth"),
        ("ndcg@tokens(2,000)", "expected a name and a depth, as 'ndcg@10' or 'ndcg@tokens.2000.'"),
        ("ndcg@tokens(1000000000)", "of up to 9 digits"),
        ("ndcg@tokens(0)", "expected a depth of 1 or more"),
        ("span_precision_omega@tokens(5)", "it does not depend on one"),
        ("ndcg@0", "found 'ndcg@0'; expected a depth of 1 or more"),
        ("ndcg(gain=log)@3", "ndcg: found the setting 'gain=log'; expected gain=linear|exponential"),
        ("ndcg(gain)@3", "ndcg: found the setting 'gain'; expected gain=linear|exponential"),
        ("recall(gain=linear)@3", "recall: found the setting 'gain=linear'; expected no settings"),
        (
            "ndcg(gain=linear,gain=exponential)",
            "ndcg: found the setting 'gain=exponential'; expected gain once",
        ),
    ],
)
def test_what_is_no_metric(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message.replace("|", "[|]")):
        parse(text)


@pytest.mark.parametrize("k", [0, -3, True, 2.0, "5", None])
def test_a_depth_is_a_positive_integer(k: object) -> None:
    with pytest.raises(ConfigurationError, match=r"ndcg @ k: found .*; expected an integer, 1 or more"):
        metrics.NDCG @ k


def test_settings_are_merged_and_sorted() -> None:
    assert str(metrics.NDCG(gain="linear")(gain="exponential") @ 3) == "ndcg(gain=exponential)@3"
    assert metrics.NDCG(gain="exponential") @ 3 == (metrics.NDCG @ 3)(gain="exponential")


@pytest.mark.parametrize(
    ("metric", "of_one", "of_mean"),
    [
        ("rr@10", "RR@10", "MRR@10"),
        ("ap", "AP", "MAP"),
        ("hit_rate@1", "HitRate@1", "HitRate@1"),
        ("rr@tokens(9)", "RR@tokens(9)", "MRR@tokens(9)"),
        ("context_tokens@5", "ContextTokens@5", "ContextTokens@5"),
        ("ndcg(gain=exponential)@3", "NDCG(gain=exponential)@3", "NDCG(gain=exponential)@3"),
    ],
)
def test_titles(metric: str, of_one: str, of_mean: str) -> None:
    assert (title(parse(metric)), mean_title(parse(metric))) == (of_one, of_mean)


@pytest.mark.parametrize(
    ("metric", "profile", "message"),
    [
        (metrics.NDCG @ 3, "trek", "profile: found 'trek'; expected one of default, tutorial, autorag"),
        (Metric("ndgc", 3), "default", "did you mean 'ndcg'"),
        (Metric("ndcg", 0), "default", "expected a depth of 1 or more"),
        (metrics.NDCG(gain="log") @ 3, "default", "found the setting 'gain=log'"),
        (metrics.Precision, "default", "precision: found no depth; expected one, as 'precision@10'"),
        (metrics.F1, "tutorial", "f1: found no depth; expected one, as 'f1@10'"),
    ],
)
def test_what_cannot_be_computed(judged, metric: Metric, profile: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        compute(judged((["A"], ["A"])), metric, profile)


def test_a_mean_of_reciprocal_ranks_is_computed_by_its_own_name(judged) -> None:
    assert compute(judged((["A"], ["X", "A"])), Metric("mrr", 5)).tolist() == [0.5]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if not measure.needs_chunks])
def test_no_queries_and_no_labels_are_no_error(judged, name: str, profile: str) -> None:
    assert compute(judged(), Metric(name, 3), profile).shape == (0,)
    cost = 1 if MEASURES[name].is_cost else 0  # a prompt costs the same, whatever was wanted
    assert compute(judged(([], ["A"]), ([], ["B"])), Metric(name, 3), profile).tolist() == [cost, cost]


def test_a_profile_names_only_measures_that_exist() -> None:
    assert {name for profile in PROFILES.values() for name in profile.functions} <= set(MEASURES)
    assert PROFILES["default"].functions == {}


def test_every_measure_has_a_name_to_import() -> None:
    values = {value.name for value in vars(metrics).values() if isinstance(value, Metric)}
    assert values == set(MEASURES)
