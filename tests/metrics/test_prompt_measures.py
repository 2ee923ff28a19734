"""Recall up to and at a budget of tokens, by the characters that are read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings
from raglift.matching.matches import MatchTable
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import choose_metrics, compute, mean_title, title
from raglift.metrics.parsing import parse
from raglift.metrics.prompt_measures import PromptRecall, RecallArea, scale_of, scale_of_labels
from raglift.text.tokens import TokenCounts, characters_per_token
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.metric import Metric, Tokens
from raglift.types.rankings import Ranking

LAMP = "The lamp is lit at dusk, and again when fog comes in from the sea."
HORN = "The horn sounds twice a minute as long as the other shore is hidden."


def query(*facts: str) -> Query:
    return Query("q", "?", tuple(Fact((Passage(text),)) for text in facts))


def read(asked: Query, *texts: str, scale: float | None = None) -> MatchTable:
    (found,) = match_rankings([asked], [[Ranking.of((Chunk(text), None) for text in texts)]], MatchRule("coverage"))
    return replace(found, characters_per_token=scale)


def value(table: MatchTable, metric: Metric) -> float:
    return float(compute(table, metric)[0])


def test_one_fact_of_two_after_a_quarter_of_the_prompt() -> None:
    # 33 of the 66 characters of LAMP are enough, and 967 are before it; the other fact is never found
    half = len(LAMP) // 2
    table = read(query(LAMP, HORN), "x" * (1000 - half), LAMP, "x" * 9000, scale=4.0)
    assert value(table, RecallArea @ Tokens(1000)) == (1 - 1000 / 4000) / 2
    assert value(table, PromptRecall @ Tokens(1000)) == 1 / 2
    assert [value(table, PromptRecall @ Tokens(most)) for most in (249, 250)] == [0, 1 / 2]
    assert value(table, RecallArea @ Tokens(250)) == 0


@pytest.mark.slow
def test_the_end_of_a_prompt_cuts_a_hit_where_recall_at_whole_hits_leaves_it_out() -> None:
    table = read(query(LAMP), LAMP + " and so on" * 100)
    assert value(table, PromptRecall @ Tokens(50)) == 1
    assert value(table, parse("recall@tokens(50)")) == 0


@pytest.mark.slow
@given(st.lists(st.sampled_from([LAMP, HORN, "x" * 50, LAMP[:40], HORN[30:]]), max_size=8), st.integers(1, 400))
def test_the_area_is_the_mean_of_recall_over_all_prompt_sizes(texts: list[str], most: int) -> None:
    table = read(query(LAMP, HORN), *texts, scale=1.0)  # so that recall changes at whole tokens alone
    curve = [value(table, PromptRecall @ Tokens(size)) for size in range(1, most)]
    assert value(table, RecallArea @ Tokens(most)) == pytest.approx(sum(curve) / most, abs=1e-12)
    assert curve == sorted(curve)


@pytest.mark.slow
def test_a_token_has_the_characters_of_the_labelled_passages() -> None:
    labels = [LAMP, HORN, LAMP + HORN, HORN + LAMP]
    asked, counter = query(*labels), TokenCounts(progress=False)
    expected = sum(map(len, labels)) / int(counter.of(labels).sum())
    assert expected != 4
    assert characters_per_token([*labels, LAMP], counter) == expected  # each text once
    assert scale_of_labels([asked, replace(asked, id="again")], counter) == expected
    table = read(asked, "x")
    assert scale_of(table) == expected
    assert scale_of(replace(table, characters_per_token=2.5)) == 2.5


def test_where_labels_have_hardly_any_text_a_token_has_four_characters(judged) -> None:
    assert scale_of(judged((["a"], ["a"]))) == 4
    assert scale_of(read(query(LAMP), LAMP)) == 4
    assert scale_of_labels([], TokenCounts(progress=False)) == 4


@pytest.mark.parametrize("metric", [RecallArea, PromptRecall])
def test_they_are_taken_at_a_budget_alone(metric: Metric) -> None:
    for text in (f"{metric}@10", f"{metric}@calls(2)"):
        with pytest.raises(ConfigurationError, match="expected a budget of tokens"):
            parse(text)
    with pytest.raises(ConfigurationError, match="found no budget of tokens"):
        compute(read(query(LAMP), LAMP), metric)
    assert parse(str(metric @ Tokens(7))) == metric @ Tokens(7)


def test_without_a_budget_they_are_scored_at_those_of_the_evaluation_or_2000_tokens() -> None:
    assert choose_metrics(["recall_area"], [5, Tokens(300)]) == (RecallArea @ Tokens(300),)
    assert choose_metrics(["recall_area"], [5]) == (RecallArea @ Tokens(2000),)


def test_their_titles_say_how_much_is_read() -> None:
    assert title(RecallArea @ Tokens(2000)) == mean_title(RecallArea @ Tokens(2000)) == "Recall up to 2,000 tokens"
    assert title(PromptRecall @ Tokens(500)) == "Recall at 500 tokens"
