"""Comparisons as text: the tables, what is said in words, and names that would rather be markup."""

import dataclasses
import re

import numpy as np
import pytest

from raglift.rendering.document import Detail
from raglift.rendering.terminal import as_text, document_parts
from raglift.report.format import signed
from raglift.report.views.comparison import by_mean, comparison_headline, comparison_view
from raglift.results.comparison import compare

GOLDEN = """\
stones: 2 systems compared
12 questions, 11 of them labelled, 11 facts; match by containment
Baseline: sparse (the first of two).

dense is better than sparse: MRR@3 0.909 against 0.591, statistically significant on 11 questions.

system           MRR@3 [95%]         difference [95%]      p  verdict   tokens
──────────────────────────────────────────────────────────────────────────────
dense   0.909 [{other.low:.3f}, {other.high:.3f}]  +0.318 [{low}, {high}]  0.039  better        26
sparse  0.591 [{base.low:.3f}, {base.high:.3f}]                                  baseline      26

! only 11 labelled questions: below 30, intervals and p-values are unreliable"""


@pytest.fixture
def comparison(ranked):
    base = ranked([1, 1, *[2] * 10], unlabelled=[11], metrics=["rr"])
    other = ranked([1, 1, *[1] * 8, 4, 1], unlabelled=[11], metrics=["rr"])
    return compare({"sparse": base, "dense": other}, primary="rr@3")


def printed(comparison, width, detail=Detail.SUMMARY):
    """As a terminal so wide prints it."""
    return as_text(document_parts(comparison_view(comparison, detail=detail), detail), width=width)


def with_values(evaluation, values):
    return dataclasses.replace(evaluation, scores=dataclasses.replace(evaluation.scores, values=values))


def many(ranked, names, seed=0):
    """As many systems as names, of random values on 40 queries."""
    random = np.random.default_rng(seed)
    base = ranked([1, 2, 3, 4] * 10)
    return {name: with_values(base, random.random(base.scores.values.shape)) for name in names}


@pytest.mark.slow
def test_the_whole_text(comparison):
    base, other = comparison.of(comparison.primary)
    intervals = {
        "base": base.interval,
        "other": other.interval,
        "low": signed(other.difference.low),
        "high": signed(other.difference.high),
    }
    assert str(comparison) == GOLDEN.format(**intervals)
    assert str(comparison) == comparison.to_text(details=False)


@pytest.mark.slow
def test_the_details_hold_the_pairs_every_metric_and_the_method(comparison):
    text = comparison.to_text()
    assert re.search(r"\ndense +8 +2 +1 +\+0\.94 +0\.039 ", text)
    assert re.search(r"\nMRR@1 +0\.182 +\+0\.727\*\n", text)
    assert "Method: p by paired sign-flip permutation test" in text
    for heading in ("Differences", "Where recall was lost", "All metrics", "What was measured"):
        assert f"\n{heading}\n" in text
        assert f"\n{heading}\n" not in str(comparison)


def test_truncated_figures_are_marked(ranked):
    text = str(compare({"a": ranked([1, 2, 3] * 10), "b": ranked([1, 2, 3] * 10, top_n=2)}, primary="rr@3"))
    row = next(line for line in text.splitlines() if line.startswith("b "))
    assert "0.000† [" in row
    assert row.split()[-4:] == ["–", "–", "0.000†", "14"]  # difference, p, Recall@3, which was named, and tokens
    assert "- † deeper than what the system returned, so it cannot be compared" in text


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 120])
def test_names_stand_in_the_rows_whole_above_their_figures_where_they_are_long(ranked, width):
    names = [f"{100 * number} · minilm · dense · late-interaction" for number in range(1, 31)]
    comparison = compare(many(ranked, names), primary="rr@3", baseline=0)
    lines = printed(comparison, width).splitlines()
    assert max(map(len, lines)) <= width
    first = next(place for place, line in enumerate(lines) if line.startswith("──")) + 1
    for number, row in enumerate(by_mean(comparison)):
        assert lines[first + 2 * number] == row.system
        figures = lines[first + 2 * number + 1]
        assert f"  {row.mean:.3f} " in figures
        assert (row.verdict or "baseline") in figures


@pytest.mark.slow
def test_a_terminal_too_narrow_says_which_columns_it_leaves_out(ranked):
    table = comparison_headline(compare(many(ranked, ["a", "b"]), primary="rr@3"))
    table = dataclasses.replace(table, optional=(3,))
    assert as_text([table], width=80).splitlines()[0].split()[-3:] == ["verdict", "Recall@3", "tokens"]
    narrow = as_text([table], width=70).splitlines()
    assert "p" not in narrow[0].split()
    assert narrow[-1] == "(more columns in a wider terminal: p)"


def test_the_frame_is_complete(comparison):
    frame = comparison.to_frame()
    assert list(frame.columns) == [
        *("metric", "system", "stage", "n", "mean", "mean_low", "mean_high", "baseline_mean"),
        *("difference", "low", "high", "p", "wins", "ties", "losses", "effect_size"),
        *("p_holm", "minimum_detectable_effect", "verdict", "exploratory", "truncated"),
    ]
    assert frame["metric"].tolist() == ["rr@3", "rr@3", "rr@1", "rr@1"]
    row = frame.iloc[1]
    assert (row["system"], row["n"], row["wins"], row["ties"], row["losses"]) == ("dense", 11, 8, 2, 1)
    found = comparison.row("dense")
    assert (row["difference"], row["p"], row["p_holm"]) == (found.difference.mean, found.difference.p, found.p_holm)
    assert frame["exploratory"].tolist() == [False, False, True, True]
    assert frame["verdict"].tolist() == ["baseline", found.verdict, "baseline", "exploratory"]
    assert frame.iloc[0][["difference", "p", "wins", "p_holm"]].isna().all()


def test_what_is_asked_of_a_comparison_by_a_wrong_name(comparison):
    from raglift.errors import ConfigurationError
    from raglift.metrics.graded_measures import NDCG

    with pytest.raises(ConfigurationError, match="system: found 'bm25'; expected one of 'sparse', 'dense'"):
        comparison.row("bm25")
    with pytest.raises(ConfigurationError, match="found ndcg@3, which was not compared; expected one of rr@3, rr@1"):
        comparison.row("dense", NDCG @ 3)
    assert repr(comparison) == "Comparison('sparse', 'dense'; rr@3, 12 questions; print() shows the table)"


def test_where_no_query_has_a_value_nothing_is_counted_and_nothing_is_nan(ranked):
    nothing = ranked([1, 2], unlabelled=[0, 1], metrics=["rr", "context_tokens"])
    text = str(compare({"a": nothing, "b": nothing}, primary="rr@3"))
    assert "No question has labels that count, so MRR@3 cannot be computed." in text
    assert "nan" not in text
