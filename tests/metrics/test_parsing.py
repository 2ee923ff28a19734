from __future__ import annotations

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift import metrics
from raglift.errors import ConfigurationError
from raglift.metrics.budgets import tokens
from raglift.metrics.computing import compute, mean_title, title
from raglift.metrics.measure import Choice, Number
from raglift.metrics.parsing import parse
from raglift.metrics.profiles.registry import PROFILES
from raglift.metrics.registry import MEASURES
from raglift.types.metric import Metric


def setting(parameter: Choice | Number) -> st.SearchStrategy[str | float]:
    if isinstance(parameter, Choice):
        return st.sampled_from(parameter.values)
    low, high = parameter.low, parameter.high
    numbers = st.integers(int(low), int(high)) | st.integers(int(low), int(high)).map(float)
    fractions = st.floats(low, high, exclude_min=parameter.is_open, exclude_max=parameter.is_open)
    return numbers.filter(lambda _: not parameter.is_open) if parameter.is_whole else fractions


@st.composite
def every_metric(draw: st.DrawFn) -> Metric:
    measure = MEASURES[draw(st.sampled_from(sorted(MEASURES)))]
    parameters = {each.name: draw(setting(each)) for each in measure.parameters if draw(st.booleans())}
    metric = Metric(measure.name)(**parameters)
    number = draw(st.integers(1, 10**9 - 1))
    depths = {"k": number, "tokens": tokens(number)}
    depth = draw(st.sampled_from([None, *(depths[each] for each in measure.depths if each in depths)]))
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
        ("MRR", metrics.RR),
        ("map@5", metrics.AP @ 5),
        ("P@3", metrics.Precision @ 3),
        ("SpanIoU@5", metrics.SpanIoU @ 5),
        ("DCG( Gain = Exponential )@3", metrics.DCG(gain="exponential") @ 3),
        ("Recall @ tokens(2000)", metrics.Recall @ tokens(2000)),
        ("ndcg(gain=exponential)@Tokens( 20 )", metrics.NDCG(gain="exponential") @ tokens(20)),
        ("Success@5", metrics.Success @ 5),
        ("RPrec", metrics.RPrecision),
        ("rbp(p=0.950)@10", metrics.RBP(p=0.95) @ 10),
    ],
)
def test_what_people_write(text: str, metric: Metric) -> None:
    assert parse(text) == metric


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ndgc@10", "found 'ndgc' .did you mean 'ndcg'.*; expected one of hit_rate, precision, .*, mrr, map"),
        ("", "found ''; expected a name and a depth, as 'ndcg@10'"),
        ("ndcg@9999999999", "of up to 9 digits"),
        ("ndcg@tokens(2,000)", "expected a name and a depth, as 'ndcg@10' or 'ndcg@tokens.2000.'"),
        ("ndcg@tokens(0)", "expected a depth of 1 or more"),
        ("span_precision_omega@tokens(5)", "it does not depend on one"),
        ("ndcg@0", "found 'ndcg@0'; expected a depth of 1 or more"),
        ("ndcg(gain=log)@3", "ndcg: found the setting 'gain=log'; expected gain=linear|exponential"),
        ("rbp(p=1)@3", r"rbp: found the setting 'p=1'; expected p=a number above 0 and below 1 \(0.8 unless given\)"),
        ("rbp(p=nan)@3", "found the setting 'p=nan'; expected p=a number above 0"),
        ("r_precision@5", "expected 'r_precision' without a depth"),
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
        ("rr@tokens(9)", "RR@tokens(9)", "MRR@tokens(9)"),
        ("ndcg(gain=exponential)@3", "NDCG(gain=exponential)@3", "NDCG(gain=exponential)@3"),
    ],
)
def test_titles(metric: str, of_one: str, of_mean: str) -> None:
    assert (title(parse(metric)), mean_title(parse(metric))) == (of_one, of_mean)


@pytest.mark.parametrize(
    ("metric", "profile", "message"),
    [
        (metrics.NDCG @ 3, "trek", "profile: found 'trek'; expected one of default, tutorial, autorag"),
        (Metric("ndcg", 0), "default", "expected a depth of 1 or more"),
        (metrics.Precision, "default", "precision: found no depth; expected one, as 'precision@10'"),
    ],
)
def test_what_cannot_be_computed(judged, metric: Metric, profile: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        compute(judged((["A"], ["A"])), metric, profile)


def test_a_mean_of_reciprocal_ranks_is_computed_by_its_own_name(judged) -> None:
    assert compute(judged((["A"], ["X", "A"])), Metric("mrr", 5)).tolist() == [0.5]


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_no_queries_and_no_labels_are_no_error(judged, profile: str) -> None:
    # a prompt costs the same whatever was wanted, and the one call of these found nothing
    of_hits = {"context_tokens": 1, "calls": 1, "wasted_calls": 1}
    of_context = ("first_call", "kept", "final_recall", "final_precision")
    for name, measure in MEASURES.items():
        if measure.needs_chunks:
            continue
        metric = Metric(name, tokens(3) if measure.needs_budget else 3 if measure.takes_k else None)
        assert compute(judged(), metric, profile).shape == (0,)
        expected = nan if name in of_context else of_hits.get(name, 0)
        found = compute(judged(([], ["A"]), ([], ["B"])), metric, profile).tolist()
        assert found == pytest.approx([expected, expected], nan_ok=True), name


def test_a_profile_names_only_measures_that_exist() -> None:
    assert {name for profile in PROFILES.values() for name in profile.functions} <= set(MEASURES)
    assert PROFILES["default"].functions == {}


def test_every_measure_has_a_name_to_import() -> None:
    values = {value.name for value in (getattr(metrics, name) for name in dir(metrics)) if isinstance(value, Metric)}
    assert values == {measure.name for measure in MEASURES.values() if not measure.origin}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (0.95, "p=0.95"),
        ("0.50", "p=0.5"),
        ("5E-1", "p=0.5"),
    ],
)
def test_a_number_has_one_text(given: str | float, text: str) -> None:
    assert str(metrics.RBP(p=given) @ 10) == f"rbp({text})@10"
    assert parse(f"rbp(p={given})@10") == metrics.RBP(p=given) @ 10


def test_every_measure_has_a_formula_and_a_source() -> None:
    for measure in [each for each in MEASURES.values() if not each.origin]:
        assert measure.formula
        assert measure.source
        assert measure.description.startswith(measure.title)
