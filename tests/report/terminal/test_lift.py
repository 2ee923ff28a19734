"""Reranker lift as text."""

import dataclasses

import pytest

import raglift as rl
from raglift.records.dataset import Dataset

BEFORE = [2, 3, 1, 5, 1, None] * 6
AFTER = [1, 1, 2, 2, 1, 1] * 6


def test_the_primary_metric_is_said_in_words_and_all_are_in_the_table(ranked):
    lift = ranked(BEFORE, reranked=AFTER).reranker_lift("rr@3")
    lines = str(lift).splitlines()
    before, after = lift.row().before_interval, lift.row().after_interval
    assert lines[0] == "stones: 36 queries, match by containment"
    assert lines[4] == (
        f"MRR@3 is 0.472 [{before.low:.3f}, {before.high:.3f}] before (retrieve) and "
        f"0.667 [{after.low:.3f}, {after.high:.3f}] after (rerank)."
    )
    assert lines[5].startswith("Lift +0.194 [+0.0")
    assert lines[5].endswith(": better.")
    assert lines[6] == "18 queries won, 12 tied, 6 lost; effect size +0.48."
    assert lines[7].startswith("Minimum detectable effect in MRR@3 (80% power): 0.20")
    rows = [line.split()[0] for line in lines[11:18] if line]
    assert rows == ["MRR@3", "MRR@1", "Recall@1", "Recall@3", "MRR@3"]
    assert max(map(len, lines)) <= 100


def test_the_match_rule_is_said_with_its_threshold(ranked):
    lift = rl.rescore(ranked(BEFORE, reranked=AFTER), match="coverage", ks=[1, 3]).reranker_lift("rr@3")
    assert str(lift).splitlines()[0] == "stones: 36 queries, match by coverage (threshold 0.5)"


def test_the_queries_that_moved_most_have_values_ranks_and_their_question(ranked):
    text = " ".join(str(ranked(BEFORE, reranked=AFTER).reranker_lift("rr@3", moved=1)).split())
    assert "q0001 0.333 → 1.000 3 → 1 Where does stone number 0001 lie?" in text
    assert "q0002 1.000 → 0.500 1 → 2 Where does stone number 0002 lie?" in text


def test_a_long_question_is_cut_and_a_hostile_one_is_shown_as_it_is(ranked):
    evaluation = ranked(BEFORE, reranked=AFTER)
    queries = tuple(
        dataclasses.replace(query, text=f"[red]\x1b[31m\n{'word ' * 60}") for query in evaluation.dataset.queries
    )
    text = str(dataclasses.replace(evaluation, dataset=Dataset(queries, name="[b]x")).reranker_lift("rr@3"))
    assert "[red]�[31m word" in text
    assert "…" in text
    assert max(map(len, text.splitlines())) <= 100
    assert text.startswith("[b]x: 36 queries")


def test_nothing_moved_and_no_fair_pair_are_said(ranked):
    text = str(ranked([1, 2], reranked=[1, 2]).reranker_lift("rr@3"))
    assert "No query moved up in RR@3." in text
    assert "No query moved down in RR@3." in text
    cut = str(ranked([1, 2, 3], reranked=[1, 1, 1], top_n=2).reranker_lift("rr@3"))
    assert "MRR@3: no fair pair, so nothing is said about the lift." in cut
    assert "† k is deeper than a stage returned" in cut
    assert "! no fair pair on MRR@3" in cut
    assert "nan" not in str(ranked([1], reranked=[1], unlabelled=[0]).reranker_lift("rr@3"))


def test_the_frame_is_complete(ranked):
    lift = ranked(BEFORE, reranked=AFTER).reranker_lift("rr@3")
    frame = lift.to_frame()
    assert frame["metric"].tolist() == ["rr@3", "rr@1", "recall@1", "recall@3"]
    row = frame.iloc[0]
    assert row["after"] - row["before"] == pytest.approx(row["difference"])
    assert (row["wins"], row["ties"], row["losses"], row["verdict"]) == (18, 12, 6, "better")
    assert repr(lift) == "Lift('stones', rr@3; print() shows the table)"


def test_more_tokens_are_no_win(ranked):
    lift = ranked(BEFORE, reranked=AFTER, metrics=("rr", "context_tokens")).reranker_lift("rr@3")
    row = next(line for line in str(lift).splitlines() if line.startswith("ContextTokens@3"))
    assert row.split()[-1] == "–"
    assert lift.to_frame().set_index("metric").loc["context_tokens@3", ["wins", "losses"]].isna().all()
    assert next(line for line in str(lift).splitlines() if line.startswith("MRR@1")).split()[-1].count("/") == 2


def test_where_no_query_is_named_none_is_said_to_have_stayed(ranked):
    told = str(ranked([2, 1, 1], reranked=[1, 1, 1]).reranker_lift("rr@3", moved=0))
    assert "moved up" not in told
    assert "No query moved down in RR@3." in told
    assert "1 query won, 2 tied, 0 lost" in told
