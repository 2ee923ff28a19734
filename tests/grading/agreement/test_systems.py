"""Whether a model's labels rank systems in the same order as people's."""

from dataclasses import replace

import pytest

from raglift.errors import ConfigurationError
from raglift.grading.comparing import system_agreement
from raglift.types.labels import Annotator, Fact, Passage


def model_labels(evaluation, moved):
    """Return the model's labels: people's, but for the queries in `moved` another text."""
    return [
        replace(query, facts=(Fact((Passage(moved.get(number, query.facts[0].passages[0].text)),)),))
        for number, query in enumerate(evaluation.dataset)
    ]


FIRST = "nothing to the point, line 1"


@pytest.mark.slow
def test_systems_are_ranked_under_both_labels(ranked):
    systems = {"a": ranked([1, 1, 1]), "b": ranked([2, 2, 2]), "c": ranked([3, 3, None])}
    same = system_agreement(systems, systems["a"].dataset, systems["a"].dataset, metric="rr@3", judge="gpt")
    assert (same.kendall, same.swapped, same.compared) == (1, 0, 3)
    assert same.people == same.model == pytest.approx((1, 1 / 2, 2 / 9))
    # line 1 is second with a, first with b and c
    other = system_agreement(
        systems, systems["a"].dataset, model_labels(systems["a"], {0: FIRST, 1: FIRST, 2: FIRST}), metric="rr@3"
    )
    assert other.model == pytest.approx((1 / 2, 1, 1))
    assert (other.swapped, other.compared) == (2, 3)
    assert other.kendall == pytest.approx(-2 / 6**0.5)
    text = str(other)
    assert "3 systems by mean RR@3 under labels of people and of the model: 3 questions" in text
    assert "Kendall's tau-b −0.82" in text
    assert "; 2 of 3 pairs of systems swap places; of fewer than 30 questions" in " ".join(text.split())
    assert [line.split() for line in text.splitlines() if line.startswith("c/")] == [
        ["c/retrieve", "0.222", "1.000", "3", "1"]
    ]


def test_every_stage_is_a_system_and_only_queries_that_both_labelled_count(ranked):
    evaluation = ranked([2, 2, 2], reranked=[1, 1, 1])
    people = list(evaluation.dataset)
    model = model_labels(evaluation, {1: FIRST})[1:]
    found = system_agreement(evaluation, people, model, metric="rr@3")
    assert (found.systems, found.queries) == (("retrieve", "rerank"), 2)
    assert found.model == pytest.approx((3 / 4, 3 / 4))
    assert found.kendall is None
    assert found.why == "2 of the 3 systems that an order takes at least"
    assert "no rank correlation: 2 of the 3 systems" in str(found)


def test_equal_means_and_no_common_query_have_no_order(ranked):
    systems = [ranked([1, 1]), ranked([1, 1]), ranked([1, 1])]
    people = systems[0].dataset
    flat = system_agreement(systems, people, people, metric="rr@3")
    assert (flat.kendall, flat.why) == (None, "all systems have one mean under one of the two")
    by_model = [
        replace(query, facts=(Fact((replace(query.facts[0].passages[0], annotator=Annotator("m", "p", "d")),)),))
        for query in people
    ]
    none = system_agreement(systems, by_model, people, metric="rr@3")
    assert (none.queries, none.why) == (0, "no question that both labelled")
    for text in (str(none), none.to_markdown(), none._repr_html_(), str(flat), flat.to_markdown()):
        assert "nan" not in text.lower()
    assert "no question that both labelled" in str(none)


def test_a_metric_deeper_than_the_runs_is_refused(ranked):
    evaluation = ranked([1, 1])
    with pytest.raises(ConfigurationError, match="at most 6"):
        system_agreement(evaluation, evaluation.dataset, evaluation.dataset)
