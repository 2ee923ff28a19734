"""Comparisons as text: the tables, what is said in words, and names that would rather be markup."""

import dataclasses
import io
import re

import numpy as np
import pytest
from rich.console import Console

from raglift.report.terminal.comparison import comparison_parts
from raglift.report.terminal.rendering import write
from raglift.results.comparison import compare

GOLDEN = """\
stones: 12 queries, 11 of them scored, match by containment

system          MRR@3 [95 %]        difference [95 %]       p
─────────────────────────────────────────────────────────────────────
sparse  0.591 [{base.low:.3f}, {base.high:.3f}]                 baseline
dense   0.909 [{other.low:.3f}, {other.high:.3f}]  +0.318 [{gain.low:+.3f}, {gain.high:+.3f}]  0.0391  better

query by query  wins  ties  losses  effect size
───────────────────────────────────────────────
dense              8     2       1        +0.94

Baseline: sparse (the first of two).
Minimum detectable effect in MRR@3 (80% power): {minimum_detectable_effect:.3f}; smaller ones often go unseen.

Exploratory: differences to sparse in the other metrics (Δ), beside its means. * is p ≤ 0.05,
uncorrected: one such mark in 20 comes by chance where nothing differs.
metric  sparse (mean)  Δ dense
──────────────────────────────
MRR@1           0.182  +0.727*
"""


@pytest.fixture
def comparison(ranked):
    base = ranked([1, 1, *[2] * 10], unlabelled=[11], metrics=["rr"])
    other = ranked([1, 1, *[1] * 8, 4, 1], unlabelled=[11], metrics=["rr"])
    return compare({"sparse": base, "dense": other}, primary="rr@3")


def shown(comparison, **settings):
    console = Console(file=io.StringIO(), **settings)
    write(console, comparison_parts(comparison))
    return console.file.getvalue()


def with_values(evaluation, values):
    return dataclasses.replace(evaluation, scores=dataclasses.replace(evaluation.scores, values=values))


def many(ranked, names, seed=0):
    """As many systems as names, of random values on 40 queries."""
    random = np.random.default_rng(seed)
    base = ranked([1, 2, 3, 4] * 10)
    return {name: with_values(base, random.random(base.scores.values.shape)) for name in names}


def test_the_whole_text(comparison):

    base, other = comparison.of(comparison.primary)
    intervals = {"base": base.interval, "other": other.interval, "gain": other.difference}
    assert str(comparison).startswith(
        GOLDEN.format(**intervals, minimum_detectable_effect=other.minimum_detectable_effect)
    )
    assert "\n! only 11 queries count: with fewer than 30, intervals and p-values say little\n" in str(comparison)
    assert "Method: p by paired sign-flip permutation test" in str(comparison)
    assert str(comparison).endswith("nothing to correct for: one comparison; seed 0.")


def test_the_baseline_comes_first_and_then_the_best(ranked):
    systems = {"worst": ranked([3] * 30), "base": ranked([2] * 30), "best": ranked([1] * 30)}
    lines = str(compare(systems, baseline="base", primary="rr@3")).splitlines()
    assert [line.split()[0] for line in lines[4:7]] == ["base", "best", "worst"]
    assert [line.split()[-1] for line in lines[4:7]] == ["baseline", "better", "worse"]
    assert "p (Holm)" in lines[2]
    assert "p uncorrected" in lines[8]


def test_what_was_held_out_is_said(ranked):
    comparison = compare({"a": ranked([2] * 40), "b": ranked([1] * 40)}, primary="rr@3", hold_out=True)
    text = " ".join(str(comparison).split())
    assert "Held out: b was best on 20 queries (+0.500 there). On the 20 others it has 1.000, a 0.500: +0.500" in text
    assert text.count("p 0.0001: better.") == 1


def test_truncated_figures_are_marked(ranked):
    text = str(compare({"a": ranked([1, 2, 3] * 10), "b": ranked([1, 2, 3] * 10, top_n=2)}, primary="rr@3"))
    row = next(line for line in text.splitlines() if line.startswith("b "))
    assert "]†" in row
    assert row.rstrip().endswith("–")
    assert "shown with † and without a p-value" in " ".join(text.split())


def test_thirty_systems_with_long_names_stay_readable(ranked):
    names = [f"recursive {100 * number} · minilm-static · dense + bm25 · late-interaction" for number in range(30)]
    text = str(compare(many(ranked, names), primary="rr@3", baseline=0))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert f" [30] {names[29]}" in lines
    first = lines.index(next(line for line in lines if line.startswith("system")))
    assert lines[first + 2].startswith("[1] ")
    assert all(line.startswith("[") for line in lines[first + 2 : first + 32])
    assert "The 6 best in MRR@3; the others are in to_frame() and --json." in lines


@pytest.mark.parametrize("length", [1, 12, 24, 25, 200])
def test_no_line_is_longer_than_a_hundred_columns(ranked, length):
    names = [f"{number}".ljust(length, "x") for number in range(6)]
    text = str(compare(many(ranked, names), primary="rr@3", hold_out=True))
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    "text", ["[red]x[/red]", "[/bold]", "[link=file:///etc]x[/link]", ":smile:", "\\[x]", "{x} %s"]
)
def test_hostile_names_are_shown_as_they_are(ranked, text):
    comparison = compare({text: ranked([1] * 30), f"{text}2": ranked([2] * 30)}, primary="rr@3")
    told = shown(comparison, force_terminal=True, color_system=None, width=300)
    assert told.count(text) >= 3
    assert f"differences to {text} in" in told


@pytest.mark.parametrize("text", ["\x1b[31m", "\x9b2J", "\r", "\x00", "\ud800"], ids=ascii)
def test_control_characters_are_not_obeyed(ranked, text):
    comparison = compare({f"<{text}>": ranked([1] * 30), "other": ranked([2] * 30)}, primary="rr@3")
    told = shown(comparison, force_terminal=True, color_system=None, width=300)
    assert text not in told
    assert "�" in told
    told.encode("utf-8")


def test_a_terminal_shows_verdicts_in_colour(ranked):
    comparison = compare({"a": ranked([2] * 30), "b": ranked([1] * 30)}, primary="rr@3")
    told = shown(comparison, force_terminal=True, color_system="256", width=100)
    colours = re.findall(r"\x1b\[1;([\d;]+)m *(better|\+0\.500)", told)
    assert len(colours) == 2
    assert colours[0][0] == colours[1][0]
    assert "\x1b" not in str(comparison)


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
    assert frame.iloc[0][["difference", "p", "wins", "p_holm"]].isna().all()


def test_what_is_asked_of_a_comparison_by_a_wrong_name(comparison):
    from raglift.errors import ConfigurationError
    from raglift.metrics.graded_measures import NDCG

    with pytest.raises(ConfigurationError, match="system: found 'bm25'; expected one of 'sparse', 'dense'"):
        comparison.row("bm25")
    with pytest.raises(ConfigurationError, match="found ndcg@3, which was not compared; expected one of rr@3, rr@1"):
        comparison.row("dense", NDCG @ 3)
    assert repr(comparison) == "Comparison('sparse', 'dense'; rr@3, 12 queries; print() shows the table)"


def test_where_no_query_has_a_value_nothing_is_counted_and_nothing_is_nan(ranked):
    nothing = ranked([1, 2], unlabelled=[0, 1], metrics=["rr", "context_tokens"])
    text = str(compare({"a": nothing, "b": nothing}, primary="rr@3"))
    assert "2 queries, 0 of them scored" in text
    assert "query by query" not in text
    assert "nan" not in text
