"""Systems of different chunks are matched by coverage, and compared at an equal budget of context tokens."""

import dataclasses

import numpy as np
import pytest

import raglift.analysis.fairness
from raglift.analysis.chunking import differently_chunked, hit_length
from raglift.components.bm25 import BM25Retriever
from raglift.components.chunkers import RecursiveChunker
from raglift.datasets.loading import load_dataset
from raglift.matching.rule import MatchRule
from raglift.metrics.budgets import ContextTokens
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.parsing import parse
from raglift.records.dataset import Dataset
from raglift.records.documents import Chunk
from raglift.records.labels import Fact, Passage, Query
from raglift.report.fairness import fairness_sentences
from raglift.report.sentences import comparison_sentence
from raglift.results.comparison import compare
from raglift.results.evaluation import load_evaluation
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore


def of_chunks(size, **options):
    """BM25 over the lighthouse, in chunks of so many characters."""
    data = load_dataset("lighthouse")
    return evaluate(BM25Retriever(RecursiveChunker(size, 0).split(data.documents)), data, **options)


@pytest.fixture(scope="module")
def systems():
    return {str(size): of_chunks(size) for size in (150, 6000)}


@pytest.fixture(scope="module")
def comparison(systems):
    return compare(systems, baseline="150")


# The case that matters: ten hits of 6,000 characters against ten of 150.


def test_the_verdict_does_not_fall_for_ten_hits_that_are_forty_times_as_long(comparison):
    unbudgeted = comparison.row("6000", NDCG @ 10)
    assert unbudgeted.difference.low > 0.25  # what the verdict was before: better by far more than noise
    assert unbudgeted.exploratory
    assert comparison.primary.budget is not None
    assert comparison.row("6000").verdict == "worse"
    assert comparison_sentence(comparison).startswith(f"150 is better than 6000: NDCG@{comparison.primary.budget} ")


def test_the_first_lines_say_what_decides_and_the_table_has_both_figures(comparison):
    lines = str(comparison).replace("\n", " ")
    title = f"NDCG@{comparison.primary.budget}"
    assert f"- {title} is the primary metric, at an equal token budget, because hits differ in length" in lines
    table = comparison.to_markdown().split("\n| ")[1:]
    titles = f"system | {title} [95%] | difference [95%] | p | verdict | NDCG@10 | NDCG@10 by containment"
    assert table[0].startswith(titles)
    assert [row.split(" | ")[5] for row in table[2:4]] == ["0.329", "0.717"]


def test_the_budget_is_the_smallest_median_of_context_tokens_of_ten_hits(systems, comparison):
    medians = {}
    for name, evaluation in systems.items():
        tokens = rescore(evaluation, metrics=[ContextTokens @ 10]).scores.values[0, 0]
        medians[name] = float(np.median(tokens[~np.isnan(tokens)]))
    assert comparison.fairness.smallest == "150" == min(medians, key=medians.get)
    assert comparison.primary.budget.most == int(medians["150"])


def test_the_budgeted_figures_are_those_of_rescoring_at_that_budget(systems, comparison):
    for name, evaluation in systems.items():
        again = rescore(evaluation, metrics=[comparison.primary], match="coverage")
        assert comparison.row(name).mean == again.scores.mean("retrieve", comparison.primary)


def test_saved_runs_without_token_counts_give_the_same_verdict(systems, comparison, tmp_path):
    folders = [evaluation.save(tmp_path / name) for name, evaluation in systems.items()]
    again = compare(folders, baseline="150")
    assert str(again) == str(comparison)
    # and a comparison changes nothing in the evaluations that it was given
    assert load_evaluation(folders[0]).scores.metrics == systems["150"].scores.metrics


def test_a_primary_metric_that_was_named_decides_with_a_warning_and_the_budgeted_one_beside_it(systems, comparison):
    named = compare(systems, baseline="150", primary="ndcg@10")
    assert named.primary == NDCG @ 10
    assert named.row("6000").verdict == "better"
    title = f"NDCG@{comparison.primary.budget}"
    (warning,) = [one for one in named.warnings if one.startswith("not like for like")]
    assert warning.endswith(f"at an equal token budget 150 leads, not 6000 ({title})")
    assert named.row("6000", comparison.primary).mean == comparison.row("6000").mean
    assert f"| {title} | NDCG@10 by containment |" in named.to_markdown()
    assert not any("is the primary metric" in sentence for sentence in fairness_sentences(named))


def test_a_budget_that_was_named_decides_though_no_run_was_scored_at_it(systems):
    named = compare(systems, baseline="150", primary="ndcg@tokens(1500)")
    assert str(named.primary) == "ndcg@tokens(1500)"
    assert named.fairness.smallest is None
    (sentence, *_) = fairness_sentences(named)
    assert sentence.startswith("NDCG@tokens(1500) is the primary metric")
    assert "median" not in sentence


# Matched by coverage, with containment beside it.


def test_runs_that_were_scored_by_containment_are_scored_again_by_coverage(systems, comparison):
    assert comparison.fairness.rescored == ("150", "6000")
    for name, evaluation in systems.items():
        assert comparison.evaluation(name).run.spec["match"]["mode"] == "coverage"
        assert comparison.fairness.containment[name] == evaluation.scores.mean("retrieve", NDCG @ 10)
    assert (
        "Chunks differ, so hits are matched by coverage; NDCG@10 by containment, as the runs were scored, is shown "
        "beside it."
    ) in fairness_sentences(comparison)


def test_containment_is_respected_where_it_is_asked_for(systems):
    asked = compare(systems, baseline="150", match="containment")
    assert asked.fairness.rescored == ()
    assert asked.fairness.containment is None
    assert asked.evaluation("150").run.spec["match"]["mode"] == "containment"
    assert any(one.startswith("different chunks are compared by containment") for one in asked.warnings)
    assert asked.primary.budget is not None  # a budget decides by any rule


def test_cells_of_a_sweep_that_were_matched_by_containment_on_purpose_stay_so(systems):
    def cell(evaluation):
        run = dataclasses.replace(evaluation.run, spec={**evaluation.run.spec, "sweep": {"name": ""}})
        return dataclasses.replace(evaluation, run=run)

    found = compare({name: cell(one) for name, one in systems.items()})
    assert found.evaluation("150").run.spec["match"]["mode"] == "containment"


def test_a_run_by_coverage_and_one_by_containment_are_compared_by_the_coverage_rule(systems):
    strict = rescore(systems["6000"], match=MatchRule("coverage", threshold=0.8))
    found = compare({"150": systems["150"], "6000": strict})
    assert found.fairness.rescored == ("150",)
    assert found.evaluation("150").run.spec["match"]["threshold"] == 0.8


def test_runs_of_the_same_chunks_are_compared_as_they_were_scored(systems):
    deeper = of_chunks(6000, depth="deep", candidates=20)
    found = compare({"a": systems["6000"], "b": deeper})
    assert found.fairness is None
    assert (found.primary, found.evaluation("a").run.spec["match"]["mode"]) == (NDCG @ 10, "containment")


def test_chunks_of_nearly_one_length_are_matched_by_coverage_and_need_no_budget(systems):
    found = compare({"6000": systems["6000"], "5500": of_chunks(5500)})
    assert found.fairness.budgeted is None
    assert found.primary == NDCG @ 10
    assert found.evaluation("6000").run.spec["match"]["mode"] == "coverage"


# Small cases, with texts of which every token is known.

LAMP = "The keeper trims the lamp at dusk."  # 9 tokens
FOG = "In fog the horn is blown twice a minute."  # 10 tokens
LONG = f"{LAMP} {FOG} Herring is salted and packed in barrels of oak. Tar and rope are kept in the shed."


def asked(*hits, label=LAMP, queries=1, **options):
    """A system that returns these texts for each query."""
    data = Dataset.from_dict({f"Who trims the lamp {number}?": [label] for number in range(queries)})
    return evaluate(lambda query: list(hits), data, ks=(2,), **options)


def test_a_first_hit_that_is_larger_than_the_budget_counts_0():
    found = compare({"short": asked(FOG, LAMP), "long": asked(LONG, LONG[:-10])})
    assert found.primary.budget.most == 19
    assert found.row("short").mean == pytest.approx(1 / np.log2(3))
    assert found.row("long").mean == 0.0
    assert found.fairness.nothing_fits == {"short": 0, "long": 1}
    assert any("the first hit alone has more tokens than the budget" in warning for warning in found.warnings)


def test_only_whole_hits_count_at_the_budget():
    # 19 tokens hold both short hits; of the long ones the first fits, and the second, with the answer, no more
    found = compare({"short": asked(FOG, LAMP), "long": asked("Herring is salted.", LONG)})
    assert found.primary.budget.most == 19
    assert found.row("long").mean == 0.0
    assert found.fairness.nothing_fits == {"short": 0, "long": 0}


def test_the_median_of_an_even_number_is_rounded_down_and_empty_answers_are_no_prompt():
    data = Dataset.from_dict({question: [LAMP] for question in ("a", "b", "c")})
    hits = {"a": [FOG], "b": [FOG, "Tar."], "c": []}
    short = evaluate(lambda query: hits[query], data, ks=(2,))
    long = evaluate(lambda query: [LONG, LONG[:-9]], data, ks=(2,))
    tokens = rescore(short, metrics=[ContextTokens @ 2]).scores.values[0, 0].tolist()
    assert tokens == [10, 12, 0]
    assert compare({"short": short, "long": long}).primary.budget.most == 11


def test_without_an_encoding_at_hand_tokens_are_estimated_and_the_reader_is_told(monkeypatch):
    monkeypatch.setattr(raglift.analysis.fairness, "is_at_hand", lambda: False)
    found = compare({"short": asked(FOG, LAMP), "long": asked(LONG)})
    assert found.fairness.is_estimated
    assert found.primary.budget.most == -(-len(FOG) // 4) + -(-len(LAMP) // 4)
    assert found.row("short").mean > found.row("long").mean == 0.0
    assert any("tokens are estimated, four characters each" in warning for warning in found.warnings)


def test_hits_without_texts_have_no_length_and_so_no_budget():
    found = compare({"one": asked("", ""), "other": asked(LONG)})
    assert found.fairness is None
    assert found.primary == NDCG @ 2


def test_where_labels_are_ids_of_chunks_nothing_changes():
    data = Dataset((Query("q", "?", (Fact((Passage(chunk_id="a"),)),)),))
    short = evaluate(lambda query: [Chunk(LAMP, id="a")], data, ks=(1,))
    long = evaluate(lambda query: [Chunk(LONG, id="a")], data, ks=(1,))
    found = compare({"short": short, "long": long})
    assert (found.fairness, found.primary) == (None, NDCG @ 1)


def test_a_metric_that_has_no_meaning_at_a_budget_decides_as_it_is():
    pair = {"short": asked(FOG, LAMP, metrics=["precision"]), "long": asked(LONG, LONG[:-10], metrics=["precision"])}
    found = compare(pair)
    assert found.primary == parse("precision@2")
    assert found.fairness.budgeted is None
    (warning,) = [one for one in found.warnings if "not like for like" in one]
    assert warning.endswith("compare at an equal token budget too, e.g. recall@tokens(100)")


def test_another_tools_conventions_keep_their_way_of_matching():
    found = compare({"short": asked(FOG, LAMP, profile="autorag"), "long": asked(LONG, LONG[:-10], profile="autorag")})
    assert found.evaluation("short").run.spec["match"]["mode"] == "containment"


# Which systems have different chunks.


def test_the_length_of_hits_is_the_mean_down_to_the_depth():
    one = asked(LAMP, LONG, FOG)
    assert hit_length(one, 1) == len(LAMP)
    assert hit_length(one, 2) == (len(LAMP) + len(LONG)) / 2


@pytest.mark.parametrize(
    ("first", "second", "differ"),
    [
        ((LAMP, FOG), (LONG, LONG[:-10]), True),
        ((LAMP, FOG), (FOG, LAMP), False),
        ((LAMP, FOG), (LAMP + " Oh.", FOG), False),  # longer by less than a quarter
        ((LAMP, LONG), (LAMP, FOG), False),  # half of the hits are the same chunks
    ],
)
def test_where_chunks_are_not_known_lengths_and_common_hits_tell_whether_they_differ(first, second, differ):
    pair = {"one": asked(*first), "other": asked(*second)}
    lengths = {name: hit_length(evaluation, 2) for name, evaluation in pair.items()}
    assert differently_chunked(pair, lengths) is differ


def test_known_chunks_tell_whether_they_differ_whatever_the_length_of_the_hits():
    alike = {"one": asked(LAMP, chunks=[LAMP, LONG]), "other": asked(LONG, chunks=[LAMP, LONG])}
    assert compare(alike).fairness is None
    other = {"one": asked(LAMP, chunks=[LAMP, FOG]), "other": asked(LAMP, chunks=[LAMP, FOG, "Tar."])}
    assert compare(other).fairness is not None


# What share of an index k hits are.


def test_the_verdict_says_where_k_hits_are_more_than_a_tenth_of_an_index(comparison):
    assert fairness_sentences(comparison)[-1] == "10 hits are 42% of the index of 6000 (24 chunks)."


@pytest.mark.parametrize(
    ("chunks", "share"), [(5, "2 hits are 40 % of the index (5 chunks)"), (20, None), (19, "11 %")]
)
def test_an_evaluation_notes_that_k_hits_are_more_than_a_tenth_of_the_index(chunks, share):
    one = asked(LAMP, FOG, chunks=[LAMP, FOG, *(f"Barrel number {number}." for number in range(chunks - 2))])
    found = [note for note in one.notes if "of the index" in note]
    assert (len(found) == 1 and share in found[0]) if share else not found
