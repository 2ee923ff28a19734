"""Systems of different chunks are matched by coverage, and compared by what is read of prompts of one size."""

import numpy as np
import pytest

import raglift.analysis.fairness
from raglift.analysis.chunking import differently_chunked, hit_length
from raglift.analysis.fairness import Lead, prompts_of
from raglift.datasets.loading import load_dataset
from raglift.matching.rule import MatchRule
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.parsing import parse
from raglift.metrics.prompt_measures import PromptRecall, RecallArea, scale_of_labels
from raglift.report.fairness import fairness_sentences
from raglift.report.sentences import comparison_sentence
from raglift.report.views.comparison import comparison_headline
from raglift.results.comparison import compare
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.chunkers import RecursiveChunker
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.metric import Tokens
from raglift.types.rankings import Ranking

pytestmark = pytest.mark.slow

AREA, RECALL = RecallArea @ Tokens(2000), PromptRecall @ Tokens(2000)
DEEP = {"depth": "deep", "candidates": 100}
"""So many hits that prompts are full, but of the smallest chunks."""


def of_chunks(size, b=0.75, **options):
    """BM25 over the lighthouse, in chunks of so many characters."""
    data = load_dataset("lighthouse")
    chunks = list(RecursiveChunker(size, 0).split(data.documents))
    return evaluate(BM25Retriever(chunks, b=b), data, chunks=chunks, **options)


@pytest.fixture(scope="module")
def systems():
    """As they are deployed: ten hits."""
    return {str(size): of_chunks(size) for size in (150, 6000)}


@pytest.fixture(scope="module")
def full():
    return {str(size): of_chunks(size, **DEEP) for size in (150, 400, 1000, 6000)}


@pytest.fixture(scope="module")
def comparison(full):
    return compare(full, baseline="150")


# The case that matters: ten hits of 6,000 characters against ten of 150.


def test_chunks_that_are_forty_times_as_long_are_not_better_for_it(comparison):
    in_hits = comparison.row("6000", NDCG @ 10)
    assert in_hits.difference.low > 0.25
    assert in_hits.exploratory
    assert comparison.primary == AREA
    assert comparison.row("6000").difference.mean < 0
    assert comparison.row("6000").verdict == "not significant"


def test_the_first_lines_say_what_decides_and_the_table_has_the_figures_beside_it(comparison):
    lines = " ".join(str(comparison).split())
    assert "- Chunks differ, so systems are compared by what is read: Recall up to 2,000 tokens is recall" in lines
    table = comparison.to_markdown().split("\n| ")[1:]
    assert table[0].split(" | ")[:9] == [
        *("system", "Recall up to 2,000 tokens [95%]", "difference [95%]", "p (Holm)", "verdict"),
        *("Recall at 2,000 tokens", "HitRate@10", "tokens in 10 hits", "index |"),
    ]


def test_the_budget_is_2000_tokens_in_characters_of_the_labels(full, comparison):
    data = load_dataset("lighthouse")
    scale = scale_of_labels(data.queries, comparison.evaluations[0].match_table[0].counter)
    assert comparison.fairness.characters_per_token == scale
    assert 3 < scale < 5
    asked = compare(full, baseline="150", budget=500)
    assert asked.primary == RecallArea @ Tokens(500)
    assert asked.fairness.characters_per_token == scale


def test_the_figures_are_those_of_rescoring(full, comparison):
    for name, evaluation in full.items():
        again = rescore(evaluation, metrics=[AREA, RECALL], match="coverage")
        assert comparison.row(name).mean == again.scores.mean("retrieve", AREA)
        assert comparison.row(name, RECALL).mean == again.scores.mean("retrieve", RECALL)


def test_what_is_sent_and_what_fills_the_prompt_are_in_tokens(full, comparison):
    scale = comparison.fairness.characters_per_token
    labelled = [place for place, query in enumerate(load_dataset("lighthouse").queries) if query.is_labelled]
    hits = [full["6000"].run.traces[place].stages[-1].ranking.hits for place in labelled]
    lengths = [[len(hit.chunk.text) for hit in one] for one in hits]
    assert comparison.fairness.sent["6000"] == pytest.approx(np.mean([sum(one[:10]) for one in lengths]) / scale)
    in_prompt = [min(sum(one), 2000 * scale) for one in lengths]
    assert comparison.fairness.filled["6000"] == pytest.approx(np.mean(in_prompt) / scale)


def test_a_primary_metric_that_was_named_decides_with_a_warning_and_what_is_read_beside_it(full, comparison):
    named = compare(full, baseline="150", primary="ndcg@10")
    assert named.primary == NDCG @ 10
    assert named.row("6000").verdict == "better"
    assert (named.fairness.decides, named.fairness.area) == (False, AREA)
    (warning,) = [one for one in named.warnings if one.startswith("not like for like")]
    assert "by what is read of the same prompt" in warning
    assert warning.endswith("(Recall up to 2,000 tokens)")
    assert named.row("6000", AREA).mean == comparison.row("6000").mean
    assert "| Recall up to 2,000 tokens | tokens in 10 hits | index |" in named.to_markdown()
    assert not any(sentence.startswith("Chunks differ") for sentence in fairness_sentences(named))


@pytest.mark.parametrize("primary", ["recall_area@tokens(1500)", "ndcg@tokens(1500)"])
def test_a_budget_that_was_named_decides_though_no_run_was_scored_at_it(full, primary):
    named = compare(full, baseline="150", primary=primary)
    assert str(named.primary) == primary
    assert named.fairness.area == RecallArea @ Tokens(1500)
    assert named.fairness.decides == (named.primary == named.fairness.area)


# Each pair is decided by itself.


def same_pair(row):
    """What a row says of a pair alone: all but what is corrected for the number of systems."""
    return (row.metric, row.mean, row.baseline_mean, row.n, row.interval, row.difference)


@pytest.mark.parametrize("third", ["150", "6000"])
def test_a_third_system_changes_no_figure_of_a_pair(full, third):
    pair = compare({name: full[name] for name in ("400", "1000")}, baseline="400")
    three = compare({name: full[name] for name in ("400", "1000", third)}, baseline="400")
    assert pair.primary == three.primary
    for metric in pair.metrics:
        assert same_pair(pair.row("1000", metric)) == same_pair(three.row("1000", metric))


def test_systems_of_the_same_chunks_are_decided_as_where_they_are_alone(full):
    """By NDCG@10, by containment, as they were scored; the third has other chunks."""
    pair = {"b 0.75": full["1000"], "b 0": of_chunks(1000, b=0.0, **DEEP)}
    alone = compare(pair, baseline="b 0.75")
    assert (alone.fairness, alone.primary) == (None, NDCG @ 10)
    three = compare({**pair, "150": full["150"]}, baseline="b 0.75")
    assert three.primary == AREA
    assert three.fairness.apart == ("150",)
    assert same_pair(three.deciding("b 0")) == same_pair(alone.row("b 0"))
    assert three.row("b 0").exploratory
    assert three.deciding("150").metric == AREA
    (sentence,) = [one for one in fairness_sentences(three) if "the chunks of" in one]
    assert sentence.startswith("b 0 has the chunks of b 0.75, or about as long ones, so NDCG@10 decides")
    assert three.deciding("b 0").verdict in str(three)


# The same text in the same order, cut finer.


def same_text(documents, of_sentence, *, strips, seed=1):
    """Questions on documents of 24 sentences, and the pieces of each, by how many sentences they have."""
    drawn = np.random.default_rng(seed)
    texts, queries, hits = [], [], {size: {} for size in of_sentence}
    for number in range(documents):
        sentences = [" ".join(f"word{drawn.integers(3000)}" for _ in range(12)) + "." for _ in range(24)]
        text = " ".join(sentences)
        at = [text.index(sentence) for sentence in sentences] + [len(text) + 1]
        gold, name = int(drawn.integers(20)), f"d{number}"
        passage = Passage(sentences[gold], name, at[gold], at[gold] + len(sentences[gold]))
        texts.append(Document(name, text))
        queries.append(Query(f"q{number}", f"question {number}", (Fact((passage,)),)))
        for size in of_sentence:
            bounds = [(at[first], at[first + size] - strips) for first in range(0, 24, size)]
            bounds[-1] = (bounds[-1][0], len(text))
            hits[size][f"question {number}"] = [
                Chunk(text[start:end], doc_id=name, start=start, end=end) for start, end in bounds
            ]
    return Dataset(tuple(queries), tuple(texts), name="same text"), hits


@pytest.mark.parametrize("strips", [False, True], ids=["at blanks", "stripped"])
def test_the_same_prompt_cut_finer_gets_no_verdict(strips):
    data, hits = same_text(40, (8, 2, 1), strips=strips)
    pieces = {
        str(size): evaluate(hits[size].__getitem__, data, depth="deep", candidates=30, progress=False)
        for size in (8, 2, 1)
    }
    found = compare(pieces, baseline="8")
    assert found.primary == AREA
    for name in ("2", "1"):
        row = found.row(name)
        assert (row.difference.mean, row.difference.wins, row.difference.losses) == (0.0, 0, 0)
        assert row.verdict == "not significant"
        assert found.row(name, NDCG @ 3).difference.mean < -0.1  # which a measure of hits calls worse


# Prompts that end before the budget.


def test_a_verdict_that_what_did_not_come_could_turn_is_none(systems):
    found = compare(systems, baseline="150")
    assert found.row("6000").verdict == "not comparable by size"
    assert found.row("6000").difference is not None
    assert found.fairness.unfilled["150"] > 30
    assert found.fairness.filled["150"] < 500
    assert comparison_sentence(found).startswith("Not comparable by size: 150 sends 222 of 2,000 tokens; as deployed")
    assert any("raglift evaluate … --budget 2000" in sentence for sentence in fairness_sentences(found))


def test_more_hits_than_there_are_cannot_come(full):
    """All 24 chunks of 6,000 characters were returned."""
    prompts = prompts_of(rescore(full["6000"], metrics=[RecallArea @ Tokens(10**6)]), RecallArea @ Tokens(10**6))
    assert not prompts.unfilled.any()
    np.testing.assert_array_equal(prompts.lowest, prompts.highest)


def test_a_prompt_without_its_fact_may_have_it_where_it_ends():
    one = rescore(asked(FOG, LAMP), metrics=[AREA], ks=(2,))
    none = rescore(asked(FOG, "Tar."), metrics=[AREA], ks=(2,))
    limit = 2000 * 4
    found = 1 - (len(FOG) + len(LAMP)) / limit
    assert prompts_of(one, AREA).highest == prompts_of(one, AREA).lowest == pytest.approx(found)
    assert prompts_of(none, AREA).lowest == 0
    assert prompts_of(none, AREA).highest == pytest.approx(1 - (len(FOG) + len("Tar.")) / limit)


@pytest.mark.parametrize(("other", "verdict"), [("Tar.", "not comparable by size"), ("x" * 7000, "worse")])
def test_a_verdict_stands_that_nothing_that_could_come_would_turn(other, verdict):
    found = compare({"good": asked(FOG, LAMP, queries=30), "other": asked(other, queries=30)}, baseline="good")
    assert found.fairness.unfilled == {"good": 30, "other": 30}
    assert found.row("other").verdict == verdict
    stands = any("whatever the rest holds" in sentence for sentence in fairness_sentences(found))
    assert stands == (verdict != "not comparable by size")


def test_a_retriever_that_returns_so_many_hits_cuts_the_prompts_of_its_reranker_too():
    class Longer:
        def rerank(self, queries, rankings):
            return [Ranking.of((Chunk(f"{hit.chunk.text} Oh."), None) for hit in ranking) for ranking in rankings]

    one = rescore(asked(FOG, "Tar.", reranker=Longer(), candidates=5), metrics=[AREA])
    assert one.truncated == {"retrieve": 2}
    assert prompts_of(one, AREA).unfilled.all()


# Who leads at which prompt size.


def test_the_leaders_are_those_of_recall_at_each_size_that_all_fill(full, comparison):
    leads = comparison.fairness.leads
    assert [lead.budget.most for lead in leads] == [500, 2000]  # two share it at 1,000; not all fill 4,000
    for lead in leads:
        recalls = {
            name: rescore(one, metrics=[PromptRecall @ lead.budget], match="coverage").scores.mean(
                "retrieve", PromptRecall @ lead.budget
            )
            for name, one in full.items()
        }
        assert (lead.recall, lead.system) == (max(recalls.values()), max(recalls, key=recalls.get))


def two_sizes(queries, early, late):
    """Two systems of one long hit: of the first the fact is early in some queries, of the second late in others."""
    data = Dataset.from_dict({f"Who trims lamp {number}?": [LAMP] for number in range(queries)})

    def system(position, length, of):
        found = {query.text: place < of * queries for place, query in enumerate(data.queries)}

        def search(query):
            return [("x" * position + LAMP * found[query]).ljust(length, "y")]

        return evaluate(search, data, ks=(1,), progress=False)

    return {"early": system(100, 20000, early), "late": system(4500, 40000, late)}


def test_a_change_of_lead_is_claimed_where_both_are_significant():
    found = compare(two_sizes(60, 0.4, 0.9), baseline="early")
    low, high = found.fairness.change
    assert (low.budget.most, low.system, high.budget.most, high.system) == (500, "early", 2000, "late")
    (sentence,) = [one for one in fairness_sentences(found) if one.startswith("Recall by prompt size")]
    assert sentence.startswith("Recall by prompt size: early leads at 500 tokens, late at 2,000, both significantly")


@pytest.mark.parametrize(("early", "late"), [(0.4, 0.45), (0.03, 0.9)])
def test_a_change_of_lead_that_may_be_chance_at_either_size_is_none(early, late):
    found = compare(two_sizes(60, early, late), baseline="early")
    assert [lead.system for lead in found.fairness.leads] == ["early", "early", "late", "late"]
    assert found.fairness.change is None
    assert any("no significant change of lead" in one for one in fairness_sentences(found))


def test_another_order_where_all_of_a_passage_must_be_read_is_told(comparison):
    whole = {
        name: rescore(one, metrics=[AREA], match=MatchRule("coverage", threshold=1.0)).scores.mean("retrieve", AREA)
        for name, one in zip(comparison.names, comparison.evaluations, strict=True)
    }
    best = max(whole, key=whole.get)
    assert best != max(comparison.names, key=lambda name: comparison.row(name).mean)
    assert comparison.fairness.at_whole == Lead(Tokens(2000), best, pytest.approx(whole[best]))
    assert any(one.startswith("The order depends on how much of a passage") for one in fairness_sentences(comparison))


# Matched by coverage, with containment beside it.


def test_runs_that_were_scored_by_containment_are_scored_again_by_coverage(systems):
    comparison = compare(systems, baseline="150")
    assert comparison.fairness.rescored == ("150", "6000")
    for name, evaluation in systems.items():
        assert comparison.evaluation(name).run.spec["match"]["mode"] == "coverage"
        assert comparison.fairness.containment[name] == evaluation.scores.mean("retrieve", NDCG @ 10)
    (sentence,) = [one for one in fairness_sentences(comparison) if "by containment" in one]
    assert all(f"{mean:.3f} ({name})" in sentence for name, mean in comparison.fairness.containment.items())


def test_containment_is_respected_where_it_is_asked_for(systems):
    asked = compare(systems, baseline="150", match="containment")
    assert asked.fairness.rescored == ()
    assert asked.fairness.containment is None
    assert asked.evaluation("150").run.spec["match"]["mode"] == "containment"
    assert any(one.startswith("different chunks are compared by containment") for one in asked.warnings)
    assert asked.primary == AREA  # what is read decides by any rule


# Small cases, with texts of which every token is known.

LAMP = "The keeper trims the lamp at dusk."  # 9 tokens
FOG = "In fog the horn is blown twice a minute."  # 10 tokens
LONG = f"{LAMP} {FOG} Herring is salted and packed in barrels of oak. Tar and rope are kept in the shed."


def asked(*hits, label=LAMP, queries=1, **options):
    """A system that returns these texts for each query."""
    data = Dataset.from_dict({f"Who trims the lamp {number}?": [label] for number in range(queries)})
    return evaluate(lambda query: list(hits), data, ks=(2,), **options)


def test_without_an_encoding_at_hand_tokens_are_estimated_and_the_reader_is_told(monkeypatch):
    monkeypatch.setattr(raglift.analysis.fairness, "is_encoding_available", lambda: False)
    pair = {"short": asked(FOG, LAMP, label=LONG * 2), "long": asked(LONG, label=LONG * 2)}
    assert compare(pair, primary="ndcg@2").fairness.characters_per_token == 4
    found = compare(pair)
    assert found.fairness.is_estimated
    assert found.fairness.characters_per_token == 4
    assert any("tokens are estimated, four characters each" in warning for warning in found.warnings)


def test_labels_that_are_longer_than_the_prompt_are_warned_of():
    page = " ".join(f"Line {number} of the log." for number in range(100))
    pair = {"short": asked(FOG, LAMP, label=page), "long": asked(page, label=page)}
    found = compare(pair, budget=50)
    assert found.fairness.long_facts == 1
    assert any("the labels of 1 of 1 fact are longer than the prompt" in warning for warning in found.warnings)
    assert compare(pair).fairness.long_facts == 0


def test_where_labels_are_ids_of_chunks_nothing_changes():
    data = Dataset((Query("q", "?", (Fact((Passage(chunk_id="a"),)),)),))
    short = evaluate(lambda query: [Chunk(LAMP, id="a")], data, ks=(1,))
    long = evaluate(lambda query: [Chunk(LONG, id="a")], data, ks=(1,))
    found = compare({"short": short, "long": long})
    assert (found.fairness, found.primary) == (None, NDCG @ 1)


# Which systems have different chunks.


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


@pytest.mark.parametrize(
    ("other", "queries", "differ"),
    [
        (f"Oh. {LAMP}", 10, True),  # both find ten facts, by no common hit
        (f"Oh. {LAMP}", 9, False),
        (FOG, 10, False),  # what finds nothing may have searched the same chunks
        (f"{LAMP} Oh.\n", 10, False),
    ],
)
def test_hits_of_one_length_are_of_other_chunks_if_many_facts_are_found_by_none_in_common(other, queries, differ):
    pair = {"one": asked(f"{LAMP} Oh.", queries=queries), "other": asked(other, queries=queries)}
    assert differently_chunked(pair, {name: hit_length(evaluation, 2) for name, evaluation in pair.items()}) is differ


def test_known_chunks_tell_whether_they_differ_whatever_the_length_of_the_hits():
    alike = {"one": asked(LAMP, chunks=[LAMP, LONG]), "other": asked(LONG, chunks=[LAMP, LONG])}
    assert compare(alike).fairness is None
    other = {"one": asked(LAMP, chunks=[LAMP, FOG]), "other": asked(LAMP, chunks=[LAMP, FOG, "Tar."])}
    assert compare(other).fairness is not None


# What share of an index k hits are.


def test_the_verdict_says_where_k_hits_are_more_than_a_tenth_of_an_index(comparison):
    told = "10 hits are 42% of the index of 6000 (24 chunks), 10% of the index of 1000 (99 chunks)."
    assert fairness_sentences(comparison)[-1] == told


# Systems of the baseline's chunks beside others, and prompts that are not full.


@pytest.fixture(scope="module")
def three():
    """Two systems of one index and one of another, ten hits each, so that the prompts of small chunks are not full."""
    return {"600": of_chunks(600), "600 b": of_chunks(600, b=0.2), "6000": of_chunks(6000)}


def test_a_recommendation_leaves_out_the_best_where_its_prompts_are_not_full(three):
    comparison = compare(three, baseline="600")
    assert comparison.best != "6000"
    found = comparison.recommend()
    assert found.choice == "6000"
    assert found.left_out == ("600", "600 b")
    assert found.recommended is None, "those that are left out have the higher figures"
    assert "Left out for prompts that end before the budget" in " ".join(str(found).split())


def test_a_column_is_matched_by_one_rule_and_only_what_decides_is_as_it_was_scored(three):
    comparison = compare(three, baseline="600")
    pair = compare({name: three[name] for name in ("600", "600 b")}, baseline="600")
    assert comparison.deciding("600 b").mean == pair.row("600 b").mean
    for metric in (NDCG @ 5, parse("recall@10")):
        by_coverage = comparison.evaluation("600 b").scores.mean("retrieve", metric)
        assert comparison.row("600 b", metric).mean == pytest.approx(by_coverage)
    table = comparison_headline(comparison)
    column = table.columns.index("HitRate@10")
    shown = {row[0].text: row[column].text for row in table.rows}
    for name, evaluation in zip(comparison.names, comparison.evaluations, strict=True):
        assert shown[name] == f"{evaluation.scores.mean('retrieve', parse('hit_rate@10')):.3f}"
