"""Recall of nuggets: by hand, against what the track's paper defines, and under every way to match."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.metrics import NuggetRecall, Recall, VitalRecall, WeightedRecall, nugget_scores
from raglift.records import Fact, Passage, Query

SUPPORTS = ("support", "partial_support", "not_support")
NAMES = {
    "all": "nugget_recall@5",
    "all_strict": "nugget_recall(support=strict)@5",
    "vital": "vital_recall@5",
    "vital_strict": "vital_recall(support=strict)@5",
    "weighted": "weighted_recall@5",
    "weighted_strict": "weighted_recall(support=strict)@5",
}
nuggets = st.lists(st.tuples(st.sampled_from(("vital", "okay")), st.sampled_from(SUPPORTS)), min_size=1, max_size=8)


def by_the_paper(pairs: list[tuple[str, str]]) -> dict[str, float]:
    """The six scores of Pradeep et al. 2024, section 4, written out."""
    lenient, strict = {"support": 1.0, "partial_support": 0.5}, {"support": 1.0}

    def mean(of: list[str], credit: dict[str, float]) -> float:
        return sum(credit.get(assignment, 0.0) for assignment in of) / len(of) if of else 0.0

    every = [assignment for _, assignment in pairs]
    vital = [assignment for importance, assignment in pairs if importance == "vital"]
    okay = [assignment for importance, assignment in pairs if importance == "okay"]

    def weighted(credit: dict[str, float]) -> float:
        total = sum(credit.get(one, 0.0) for one in vital) + 0.5 * sum(credit.get(one, 0.0) for one in okay)
        return total / (len(vital) + 0.5 * len(okay))

    return {
        "all": mean(every, lenient),
        "all_strict": mean(every, strict),
        "vital": mean(vital, lenient),
        "vital_strict": mean(vital, strict),
        "weighted": weighted(lenient),
        "weighted_strict": weighted(strict),
    }


def fact(importance: str | None, *ids: str, partial: tuple[str, ...] = (), weight: float | None = None) -> Fact:
    passages = (*(Passage(chunk_id=name) for name in ids), *(Passage(chunk_id=name, partial=True) for name in partial))
    return Fact(passages, importance, weight)


def scored(facts: tuple[Fact, ...], hits: list[str], *metrics: object, **options) -> list[float]:
    dataset = rl.Dataset((Query("q", "?", facts),))
    found = [rl.Chunk(f"text of {name}", id=name) for name in hits]
    evaluation = rl.evaluate(lambda _: found, dataset, metrics=list(metrics), **options)
    return [evaluation.scores.mean("retrieve", str(metric)) for metric in metrics]


@given(nuggets)
@settings(max_examples=200, deadline=None)
def test_scores_of_assignments_are_the_papers(pairs) -> None:
    given_nuggets = [{"importance": importance, "assignment": assignment} for importance, assignment in pairs]
    assert vars(nugget_scores(given_nuggets)) == pytest.approx(by_the_paper(pairs))


@given(nuggets)
@settings(max_examples=25, deadline=None)
def test_measures_of_hits_are_the_papers_scores_of_the_context_that_they_make(pairs) -> None:
    # one hit that supports, supports in part, or is no evidence of each nugget
    facts = tuple(
        fact(
            importance,
            *(("hit",) if assignment == "support" else ()),
            partial=("hit",) if assignment == "partial_support" else (),
        )
        if assignment != "not_support"
        else fact(importance, f"elsewhere {number}")
        for number, (importance, assignment) in enumerate(pairs)
    )
    assert dict(zip(NAMES, scored(facts, ["hit"], *NAMES.values()), strict=True)) == pytest.approx(by_the_paper(pairs))


def test_by_hand() -> None:
    # vital: a supported at rank 1, b in part at rank 2; okay: c supported at rank 3, d not found
    facts = (fact("vital", "a"), fact("vital", "b9", partial=("b",)), fact("okay", "c"), fact("okay", "d"))
    metrics = list(NAMES.values())
    assert scored(facts, ["a", "b", "c"], *metrics) == pytest.approx(
        [2.5 / 4, 2 / 4, 1.5 / 2, 1 / 2, (1.5 + 0.5) / 3, (1 + 0.5) / 3]
    )


def test_only_the_first_k_hits_count() -> None:
    facts = (fact("vital", "a"), fact("okay", "b"))
    assert scored(facts, ["b", "a"], VitalRecall @ 1, VitalRecall @ 2, NuggetRecall @ 1) == [0, 1, 0.5]


def test_full_support_found_later_makes_good_for_partial_support_of_a_higher_grade() -> None:
    facts = (Fact((Passage(chunk_id="a", grade=3, partial=True), Passage(chunk_id="b"))),)
    assert scored(facts, ["a", "b"], NuggetRecall @ 1, NuggetRecall @ 2) == [0.5, 1]


def test_facts_without_an_importance_are_vital_and_partial_evidence_satisfies_recall() -> None:
    facts = (fact(None, "a"), fact(None, partial=("b",)))
    assert scored(facts, ["a", "b"], VitalRecall @ 2, Recall @ 2, "vital_recall(support=strict)@2") == [0.75, 1, 0.5]


def test_weights_of_their_own() -> None:
    facts = (fact("vital", "a", weight=3), fact("okay", "b"), fact("okay", "c", weight=1.5))
    assert scored(facts, ["a"], WeightedRecall @ 1) == [3 / 5]
    assert scored(facts, ["b", "c"], WeightedRecall @ 2) == [2 / 5]


def test_a_query_without_vital_facts_counts_0_as_in_the_track() -> None:
    assert scored((fact("okay", "a"),), ["a"], VitalRecall @ 1) == [0]


def test_by_text_and_by_coverage() -> None:
    words = "The lamp burns whale oil and is trimmed by the keeper every four hours of the night."
    half, rest = words[:52], words[52:]
    query = Query(
        "q", "?", (Fact((Passage(words, partial=True),), "vital"), Fact((Passage("The horn is blown."),), "okay"))
    )
    dataset = rl.Dataset((query,))
    one = rl.evaluate(lambda _: [half, rest], dataset, metrics=["nugget_recall@1", "vital_recall@2"], match="coverage")
    assert one.scores.mean("retrieve", "nugget_recall@1") == 0.25
    assert one.scores.mean("retrieve", "vital_recall@2") == 0.5
    threshold = rl.MatchRule("coverage", threshold=0.9)
    one = rl.evaluate(lambda _: [half, rest], dataset, metrics=["nugget_recall@1", "vital_recall@2"], match=threshold)
    assert one.scores.mean("retrieve", "nugget_recall@1") == 0
    assert one.scores.mean("retrieve", "vital_recall@2") == 0.5


def test_coverage_by_the_context_of_a_session() -> None:
    facts = (fact("vital", "a"), fact("okay", "b", partial=("c",)))
    chunk = {name: rl.Chunk(f"text of {name}", id=name) for name in "abcx"}
    dataset = rl.Dataset(tuple(Query(name, f"{name}?", facts) for name in ("known", "unknown")))
    calls = [rl.Call.of("search", [chunk["a"], chunk["b"]])]
    sessions = [rl.Session("known", calls, context=[chunk["c"], chunk["x"]]), rl.Session("unknown", calls)]
    expected = {
        "context_coverage": 0.25,
        "context_coverage(facts=vital)": 0.0,
        "context_coverage(facts=weighted)": 0.25 / 1.5,
        "context_coverage(facts=weighted,support=strict)": 0.0,
        "weighted_recall@1": 1 / 1.5,
    }
    scores = rl.evaluate_sessions(sessions, dataset, metrics=list(expected)).scores
    assert {name: scores.mean(scores.stages[-1], name) for name in expected} == pytest.approx(expected)
    assert scores.n(scores.stages[-1], "context_coverage") == 1


def test_saved_and_rescored(tmp_path) -> None:
    facts = (fact("vital", "a"), Fact((Passage(chunk_id="b", partial=True),), "okay", 2.0, "it is trimmed"))
    dataset = rl.Dataset((Query("q", "?", facts),))
    evaluation = rl.evaluate(lambda _: [rl.Chunk("b", id="b")], dataset, metrics=["weighted_recall@1"])
    evaluation.save(tmp_path / "run")
    loaded = rl.load_evaluation(tmp_path / "run")
    assert loaded.dataset.queries == dataset.queries
    assert rl.rescore(loaded, metrics=["weighted_recall@1"]).scores.mean("retrieve", "weighted_recall@1") == 1 / 3


@pytest.mark.parametrize(
    ("nugget", "message"),
    [
        ({"importance": "nice", "assignment": "support"}, "'vital' or 'okay'"),
        ({"importance": "vital", "assignment": "yes"}, "partial_support"),
    ],
)
def test_what_is_no_assignment_is_refused(nugget, message) -> None:
    with pytest.raises(ConfigurationError, match=message):
        nugget_scores([nugget])
