"""Each fact comes to one end, the first that applies, and the ends add up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.analysis.outcomes import fact_outcomes
from raglift.errors import ConfigurationError, QueryFailed
from raglift.matching.rule import MatchRule
from raglift.metrics.rank_measures import Recall
from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

WICK, LAMP, BOOK, TIDE = (
    "the wick is trimmed at dusk",
    "the lamp has four",
    "the book is kept by hand",
    "the tide is low",
)
SPLIT = "the fog horn sounds twice a minute"
HALVES = (SPLIT[:17], SPLIT[17:])
CHUNKS = [WICK, LAMP, BOOK, TIDE, *HALVES, "nothing to the point", "nothing at all"]


def query(name: str, *facts: str | tuple[str, ...], **settings: bool) -> Query:
    alternatives = [(fact,) if isinstance(fact, str) else fact for fact in facts]
    return Query(name, name, tuple(Fact(tuple(map(Passage, texts))) for texts in alternatives), **settings)


DATA = Dataset(
    (
        query("first", WICK, LAMP, BOOK, TIDE, SPLIT),
        query("fails", WICK, LAMP),
        query("unlabelled"),
        query("not answerable", WICK, answerable=False),
    )
)
RETRIEVED = {"first": [CHUNKS[6], WICK, BOOK, LAMP], "fails": RuntimeError("no index"), "unlabelled": [WICK]}
RERANKER = FakeReranker({WICK: 3.0, CHUNKS[6]: 2.0, LAMP: 1.0}, top_n=3)


def measured(**options: object) -> Evaluation:
    return evaluate(FakeRetriever(RETRIEVED), DATA, reranker=RERANKER, ks=(1, 2), depth="deployed", **options)  # type: ignore[arg-type]


def ends(evaluation: Evaluation, k: int | None = None) -> dict[str, tuple[int, tuple[str, ...]]]:
    return {loss.outcome: (loss.facts, loss.query_ids) for loss in evaluation.failure_analysis(k).losses}


def test_each_fact_takes_the_first_end_that_applies() -> None:
    evaluation = measured(chunks=CHUNKS)
    assert ends(evaluation, 1) == {
        "failed": (2, ("fails",)),
        "found": (1, ("first",)),  # the wick
        "below_k": (1, ("first",)),  # the lamp, at rank 3
        "dropped": (1, ("first",)),  # the book
        "not_retrieved": (1, ("first",)),  # the tide
        "not_attainable": (1, ("first",)),  # the split one
    }
    assert evaluation.failure_analysis().k == 2
    assert ends(evaluation, 3)["below_k"] == (0, ())
    assert evaluation.failure_analysis().of("dropped", "rerank").facts == 1
    assert evaluation.failure_analysis().of("dropped", "no such stage").facts == 0


def test_the_end_of_each_single_fact_can_be_asked_for() -> None:
    all_outcomes = fact_outcomes(measured(chunks=CHUNKS), 1)
    assert [all_outcomes.outcomes[outcome_of_fact] for outcome_of_fact in all_outcomes.outcome_of_fact.tolist()] == [
        ("found", None),
        ("below_k", None),
        ("dropped", "rerank"),
        ("not_retrieved", None),
        ("not_attainable", None),
        ("failed", None),
        ("failed", None),
    ]
    assert all_outcomes.query.tolist() == [0] * 5 + [1] * 2
    assert all_outcomes.ranks.tolist() == [[2, 4, 3, 0, 0, 0, 0], [1, 3, 0, 0, 0, 0, 0]]
    assert (all_outcomes.k, all_outcomes.chunks_known) == (1, True)
    assert not fact_outcomes(measured()).chunks_known


@pytest.mark.slow
def test_without_the_chunks_the_last_two_are_one_and_it_is_said() -> None:
    losses = measured().failure_analysis()
    assert not losses.chunks_known
    assert [loss.outcome for loss in losses.losses] == ["failed", "found", "below_k", "dropped", "missed"]
    assert losses.of("missed").facts == 2
    assert "not retrieved, or lost in chunking (not known which)" in str(losses)
    assert "not known" not in str(measured(chunks=CHUNKS).failure_analysis())


def test_what_the_chunks_allow_depends_on_the_rule() -> None:
    label = Fact((Passage(SPLIT, "horn", 0, len(SPLIT)),))
    data = Dataset((Query("q", "?", (label,)),), (Document("horn", SPLIT),))
    chunks = [Chunk(SPLIT[a:b], doc_id="horn", start=a, end=b) for a, b in ((0, 17), (17, len(SPLIT)))]
    evaluation = evaluate(FakeRetriever({}), data, chunks=chunks, ks=(2,))
    assert ends(evaluation)["not_attainable"][0] == 1
    assert ends(rescore(evaluation, ks=(2,), match="coverage"))["not_retrieved"][0] == 1
    by_all = rescore(evaluation, ks=(2,), match=MatchRule("coverage", threshold=1))
    assert ends(by_all)["not_retrieved"][0] == 1
    one_half = evaluate(FakeRetriever({}), data, chunks=chunks[:1], ks=(2,), match=MatchRule("coverage", threshold=0.6))
    assert ends(one_half)["not_attainable"][0] == 1


@pytest.mark.parametrize(
    "wider", [MatchRule(minimum_length=5), MatchRule("coverage", unicode_folding=True), MatchRule("fuzzy")], ids=str
)
def test_by_a_wider_rule_than_was_looked_for_nothing_is_claimed(wider: MatchRule) -> None:
    """A short chunk, or one that only folding makes equal, is not in the inventory: it might satisfy the fact."""
    evaluation = evaluate(FakeRetriever({}), Dataset((query("q", SPLIT),)), chunks=["horn sounds"], ks=(2,))
    assert ends(evaluation)["not_attainable"][0] == 1
    assert ends(rescore(evaluation, ks=(2,), match=wider))["missed"][0] == 1


def test_facts_that_a_later_stage_made_findable_are_counted_apart() -> None:
    class Expanding:
        """Puts the neighbour in front of each hit, as context expansion does."""

        def rerank(self, queries: list[str], rankings: list[Ranking]) -> list[Ranking]:
            return [
                Ranking.of((replace(hit.chunk, text=f"{SPLIT}. {hit.chunk.text}", id=""), None) for hit in ranking)
                for ranking in rankings
            ]

    evaluation = evaluate(FakeRetriever(RETRIEVED), DATA, reranker=Expanding(), ks=(1,), chunks=CHUNKS)
    losses = evaluation.failure_analysis()
    (made,) = losses.made_findable
    assert (made.stage, made.facts, made.query_ids) == ("rerank", 1, ("first",))
    assert losses.of("found").facts == 1
    assert losses.of("not_attainable").facts == 0
    assert "1 fact of these only since rerank, no candidate held them: first" in str(losses)


def test_what_a_stage_made_findable_and_a_later_one_dropped_is_distinguished_too() -> None:
    """No candidate held it, though it counts as dropped: that is not the retriever's merit."""
    retrieved = {"?": ["the keeper", "the horn"]}
    windows = {"the keeper": "the keeper trims the wick at dusk", "the horn": "the horn sounds in fog, twice a minute"}
    data = Dataset((Query("q", "?", (Fact((Passage(windows["the keeper"]),)), Fact((Passage(windows["the horn"]),)))),))

    class Expanding:
        def rerank(self, queries: list[str], rankings: list[Ranking]) -> list[Ranking]:
            return [
                Ranking.of((replace(hit.chunk, text=windows[hit.chunk.text], id=""), None) for hit in ranking)
                for ranking in rankings
            ]

    first_alone = FakeReranker({windows["the keeper"]: 1.0}, top_n=1)
    evaluation = evaluate(FakeRetriever(retrieved), data, reranker=[Expanding(), first_alone], ks=(2,))
    losses = evaluation.failure_analysis()
    before, expanded, last = evaluation.scores.stages
    assert (losses.of("found").facts, losses.of("dropped", last).facts) == (1, 1)
    assert [(made.stage, made.facts) for made in losses.made_findable] == [(expanded, 2)]
    assert losses.of("dropped", before).facts == 0


def test_the_last_stage_that_held_a_fact_lost_nothing() -> None:
    """The first reranker keeps three, the second one: what each dropped is kept apart."""
    first, second = FakeReranker({WICK: 3.0, LAMP: 2.0, BOOK: 1.0}, top_n=2), FakeReranker({WICK: 1.0}, top_n=1)
    evaluation = evaluate(FakeRetriever(RETRIEVED), DATA, reranker=[first, second], ks=(1,), depth="deployed")
    losses = evaluation.failure_analysis()
    _, one, other = evaluation.scores.stages
    assert (losses.of("dropped", one).facts, losses.of("dropped", other).facts) == (1, 1)


def test_a_frame_and_a_text_show_every_end() -> None:
    losses = measured(chunks=CHUNKS).failure_analysis(1)
    frame = losses.to_frame()
    assert frame["facts"].sum() == losses.facts == 7
    assert frame["share"].sum() == pytest.approx(1)
    assert frame.set_index("outcome").loc["failed", "query_ids"] == ("fails",)
    assert "dropped by rerank" in str(losses)


def test_without_labels_nothing_is_lost() -> None:
    losses = evaluate(FakeRetriever({}), Dataset((query("q"),)), ks=(1,)).failure_analysis()
    assert losses.facts == 0
    assert all(loss.facts == 0 for loss in losses.losses)
    assert "No question has a fact." in str(losses)


def test_a_depth_that_was_not_asked_of_the_system_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="expected an integer from 1 to 50"):
        measured().failure_analysis(51)


def test_what_a_stage_made_findable_before_the_query_failed_counts_as_failed_alone() -> None:
    class Finding:
        def rerank(self, queries: list[str], rankings: list[Ranking]) -> list[Ranking]:
            return [Ranking.of([(Chunk(WICK), None)]) for _ in rankings]

    class Failing:
        def rerank(self, queries: list[str], rankings: list[Ranking]) -> list[Ranking]:
            raise RuntimeError("no model")

    data = Dataset((query("q", WICK),))
    with pytest.raises(QueryFailed) as caught:
        evaluate(FakeRetriever({"q": [BOOK]}), data, reranker=[Finding(), Failing()], ks=(1,), retries=0)
    evaluation: Evaluation = caught.value.evaluation
    assert evaluation.match_table[1].first.rank.tolist() == [1]
    assert evaluation.failure_analysis().made_findable == ()
    assert ends(evaluation)["failed"] == (1, ("q",))


texts = st.sampled_from(CHUNKS)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(texts, min_size=1, max_size=2), min_size=1, max_size=4),
    st.lists(texts, max_size=6),
    st.dictionaries(texts, st.floats(0, 1)),
    st.integers(1, 4),
    st.sampled_from([None, CHUNKS, CHUNKS[:4]]),
    st.sampled_from(["containment", "coverage"]),
)
def test_the_ends_add_up_and_found_is_recall(
    labels: list[list[str]],
    retrieved: list[str],
    scores: dict[str, float],
    k: int,
    chunks: list[str] | None,
    match: str,
) -> None:
    data = Dataset((query("q", *map(tuple, labels)),))
    reranker = FakeReranker(scores, top_n=3)
    evaluation = evaluate(
        FakeRetriever({"q": retrieved}), data, reranker=reranker, ks=(k,), match=match, chunks=chunks, depth="deployed"
    )
    losses = evaluation.failure_analysis()
    assert sum(loss.facts for loss in losses.losses) == losses.facts == len(labels)
    assert losses.of("found").facts / len(labels) == pytest.approx(evaluation.scores.mean("rerank", Recall @ k))
    assert sum(loss.facts for loss in losses.made_findable) == 0
