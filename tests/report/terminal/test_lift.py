"""Reranker lift as text."""

import dataclasses

import pytest

from raglift.rendering.terminal import as_text, document_parts
from raglift.types.dataset import Dataset

pytestmark = pytest.mark.slow

BEFORE = [2, 3, 1, 5, 1, None] * 6
AFTER = [1, 1, 2, 2, 1, 1] * 6


def test_the_verdict_comes_first_then_the_metric_that_decides_and_all_are_in_a_table(ranked):
    lift = ranked(BEFORE, reranked=AFTER).reranker_lift("rr@3")
    lines = str(lift).splitlines()
    before, after = lift.row().before_interval, lift.row().after_interval
    assert lines[:2] == ["stones: fake + fake", "36 questions, 36 facts; 6 candidates; match by containment"]
    assert lines[3] == "The reranker helped: MRR@3 rose from 0.472 to 0.667."
    assert lines[7].split(" [")[0].split() == ["MRR@3", "0.472"]
    assert f"0.667 [{after.low:.3f}, {after.high:.3f}]" in lines[7]
    assert f"0.472 [{before.low:.3f}, {before.high:.3f}]" in lines[7]
    assert lines[7].endswith("better")
    said = "RR@3 improved for 18 questions, got worse for 6 and stayed the same for 12; effect size +0.48."
    assert said in " ".join(lines)
    assert "Minimum detectable effect in MRR@3 (80% power): 0.20" in str(lift)
    table = str(lift).partition("Every metric at every depth\n")[2].splitlines()
    assert [line.split()[0] for line in table[3:8] if line] == ["MRR@1", "MRR@3", "Recall@1", "Recall@3"]
    assert max(map(len, lines)) <= 110


def test_a_long_question_is_cut_and_a_hostile_one_is_shown_as_it_is(ranked):
    evaluation = ranked(BEFORE, reranked=AFTER)
    queries = tuple(
        dataclasses.replace(query, text=f"[red]\x1b[31m\n{'word ' * 60}") for query in evaluation.dataset.queries
    )
    text = str(dataclasses.replace(evaluation, dataset=Dataset(queries, name="[b]x")).reranker_lift("rr@3"))
    assert "[red]�[31m" in text
    assert "…" in text
    assert max(map(len, text.splitlines())) <= 100
    assert text.startswith("[b]x: fake + fake")


def test_nothing_moved_and_no_fair_pair_are_said(ranked):
    text = str(ranked([1, 2], reranked=[1, 2]).reranker_lift("rr@3"))
    assert "The reranker did not change MRR@3 for any question: it stays at 0.750 on 2 questions." in text
    assert "moved up" not in text
    assert "moved down" not in text
    cut = str(ranked([1, 2, 3], reranked=[1, 1, 1], top_n=2).reranker_lift("rr@3"))
    assert "Lift is not reported: " in cut
    assert "† deeper than what the stage returned" in cut
    assert "! no lift in MRR@3" in cut
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
    text = as_text(document_parts(lift.view()), width=120)
    *_, row = (line for line in text.splitlines() if line.startswith("ContextTokens@3"))
    assert row.split()[-2] == "–"
    assert lift.to_frame().set_index("metric").loc["context_tokens@3", ["wins", "losses"]].isna().all()
    assert next(line for line in text.splitlines() if line.startswith("MRR@1")).split()[-2].count("/") == 2


def test_a_reranker_that_hurts_is_to_be_left_out_first_of_all(ranked):
    text = ranked([1] * 30 + [2] * 6, reranked=[3] * 30 + [1] * 6).reranker_lift("rr@3").to_text()
    assert "Next: leave the reranker out, or try another one: without it MRR@3 is 0.917 instead of 0.444." in " ".join(
        text.split()
    )
