"""One query's metrics under every profile: the values, what explains each difference, and which query is shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import raglift as rl
from raglift.errors import ConfigurationError, DatasetError
from raglift.matching.rule import MatchRule
from raglift.metrics.custom import metric as own_metric
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.profiles.registry import PROFILES
from raglift.metrics.rank_measures import Precision
from raglift.metrics.registry import MEASURES
from raglift.records.checking import has_words
from raglift.records.dataset import Dataset
from raglift.records.documents import Chunk
from raglift.records.labels import Fact, Passage, Query
from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore
from raglift.testing.fakes import FakeReranker, FakeRetriever

KEEPER = "the keeper climbed the tower at dusk"
LAMP = "the lamp was lit at nightfall"


def by_text(*hits: str, facts: tuple[tuple[str, ...], ...] = ((KEEPER,), (LAMP,)), **options: object) -> Evaluation:
    query = Query("q", "What did he do?", tuple(Fact(tuple(map(Passage, alternatives))) for alternatives in facts))
    return evaluate(FakeRetriever({query.text: list(hits)}), Dataset((query,)), **{"ks": (3,), **options})  # type: ignore[arg-type]


def test_the_worked_example_has_each_tools_numbers(three_of_which_two_were_found: Evaluation) -> None:
    found = three_of_which_two_were_found.explain_metrics("q")
    values = {
        (metric, profile): found.of(metric, profile).value
        for metric in ("precision@5", "ap@5", "rr@5", "ndcg@5")
        for profile in PROFILES
    }
    assert values["precision@5", "default"] == pytest.approx(0.4)
    assert values["precision@5", "trec"] == pytest.approx(0.4)
    assert [values["precision@5", name] for name in ("autorag", "llamaindex", "ragas")] == pytest.approx([2 / 3] * 3)
    assert [values["ap@5", name] for name in ("default", "trec", "llamaindex")] == pytest.approx([5 / 9] * 3)
    assert values["ap@5", "ragas"] == pytest.approx(0.8333, abs=1e-4)
    assert values["ap@5", "autorag"] == pytest.approx(0.4444, abs=1e-4)
    assert values["rr@5", "autorag"] == pytest.approx(0.4444, abs=1e-4)
    assert values["ndcg@5", "default"] == pytest.approx(0.7039, abs=1e-4)
    assert values["ndcg@5", "tutorial"] == pytest.approx(0.9197, abs=1e-4)


def test_the_numbers_of_the_worked_example_are_those_that_can_be_counted(
    three_of_which_two_were_found: Evaluation,
) -> None:
    found = three_of_which_two_were_found.explain_metrics("q")
    assert found.of("precision@5").numbers == "2 relevant hits / 5 (k)"
    assert found.of("precision@5", "autorag").numbers == "2 relevant ids / 3 hits that came back"
    assert found.of("precision@5", "llamaindex").numbers == "2 relevant ids / 3 distinct ids that came back"
    assert found.of("ap@5", "ragas").numbers == "(1/1 + 2/3) / 2 relevant hits that came back"
    assert found.of("recall@5").numbers == "2 facts found / 3 facts"
    assert found.of("ap@5").numbers == "(1/1 + 2/3) / 3 facts"
    assert found.of("ap@5", "autorag").numbers == "(1/1 + 1/3 + 0) / 3 groups"
    assert found.of("ndcg@5", "tutorial").numbers == "DCG 1.5000 / IDCG 1.6309"


ids = st.sampled_from("ABCDEFG")
relevant = st.lists(ids, min_size=1, max_size=4, unique=True)
ranked = st.lists(ids, max_size=6, unique=True)


@pytest.mark.slow
@settings(max_examples=40)
@given(queries=st.lists(st.tuples(relevant, ranked), min_size=1, max_size=4))
def test_values_means_and_n_are_those_of_score_rankings_and_every_difference_is_explained(
    by_chunk_ids: Callable[..., Evaluation], queries: list[tuple[list[str], list[str]]]
) -> None:
    labels = {f"q{number}": dict.fromkeys(wanted, 1) for number, (wanted, _) in enumerate(queries)}
    rankings = {f"q{number}": found for number, (_, found) in enumerate(queries)}
    evaluation = by_chunk_ids({name: [[one] for one in wanted] for name, wanted in labels.items()}, rankings, ks=(1, 4))
    metrics = evaluation.scores.metrics
    expected = {profile: rl.score_rankings(rankings, labels, metrics, profile=profile) for profile in PROFILES}
    for place, name in enumerate(labels):
        found = evaluation.explain_metrics(name)
        for each in found.metrics:
            for one in each.values:
                scores = expected[one.profile]
                value = scores.of(each.metric)[place]
                assert one.value == pytest.approx(value, nan_ok=True, abs=1e-12)
                assert one.mean == pytest.approx(scores.mean(each.metric), nan_ok=True, abs=1e-12)
                assert one.n == scores.n(each.metric)
                overrides = each.metric.name in PROFILES[one.profile].functions
                assert one.agrees or overrides
                assert bool(one.why) != one.agrees


@settings(max_examples=40)
@given(wanted=st.lists(relevant, min_size=1, max_size=3), found=st.lists(ids, max_size=6))
def test_groups_and_repeated_ids_give_each_profiles_own_values_and_numbers_for_every_usual_measure(
    by_chunk_ids: Callable[..., Evaluation], wanted: list[list[str]], found: list[str]
) -> None:
    explained = by_chunk_ids({"q": wanted}, {"q": found}, ks=(3,)).explain_metrics("q")
    expected = {name: by_chunk_ids({"q": wanted}, {"q": found}, ks=(3,), profile=name).scores for name in PROFILES}
    for each in explained.metrics:
        for one in each.values:
            value = expected[one.profile].of("retrieve", each.metric)[0]
            assert one.value == pytest.approx(value, nan_ok=True, abs=1e-12)
            assert bool(one.why) != one.agrees
            if each.metric.name != "hit_rate" and not math.isnan(one.value):
                assert one.numbers, (each.metric, one)


def test_a_profile_that_agrees_needs_no_words(three_of_which_two_were_found: Evaluation) -> None:
    found = three_of_which_two_were_found.explain_metrics("q", metrics="hit_rate@5")
    (each,) = found.metrics
    assert (each.differing, each.means_agree, {one.why for one in each.values}) == ((), True, {""})


def test_the_query_that_differs_most_is_shown_unless_one_is_asked_for(by_chunk_ids: Callable[..., Evaluation]) -> None:
    labels = {"same": [["A"]], "some": [["A"], ["B"]], "most": [["A"], ["B"], ["C"]], "little": [["A"], ["B"]]}
    rankings = {"same": "A", "some": "AX", "most": "AXXX", "little": "AB"}
    evaluation = by_chunk_ids(labels, rankings, metrics=["rr"])
    found = evaluation.explain_metrics()
    choice = found.choice
    assert choice is not None
    assert (found.query.id, choice.others, choice.differing) == ("most", ("some", "little"), 3)
    assert (str(choice.metric), choice.low, choice.high) == ("rr@5", "autorag", "default")
    assert (choice.lowest, choice.highest) == (pytest.approx(1 / 3), 1)
    assert evaluation.explain_metrics("same").choice is None


def test_where_no_values_differ_the_first_labelled_query_is_shown(by_chunk_ids: Callable[..., Evaluation]) -> None:
    evaluation = by_chunk_ids({"unlabelled": [], "first": [["A"]], "second": [["A"]]}, {}, metrics=["judged"])
    choice = evaluation.explain_metrics().choice
    assert choice is not None
    assert (evaluation.explain_metrics().query.id, choice.metric, choice.differing) == ("first", None, 0)


def test_without_labels_there_is_nothing_to_choose_but_a_query_can_be_named(
    by_chunk_ids: Callable[..., Evaluation],
) -> None:
    evaluation = by_chunk_ids({"q": []}, {"q": "AB"})
    with pytest.raises(ConfigurationError, match="found 1 queries, none of them labelled; expected one at least"):
        evaluation.explain_metrics()
    found = evaluation.explain_metrics("q")
    assert all(math.isnan(one.value) and one.agrees for each in found.metrics for one in each.values)
    assert "Without labels: excluded from all averages" in str(found)


def test_a_failed_query_counts_0_in_every_profile_and_one_that_came_back_empty_is_left_out_by_some(
    by_chunk_ids: Callable[..., Evaluation],
) -> None:
    labels = {"failed": [["A"]], "empty": [["A"]], "found": [["A"]]}
    rankings = {"failed": RuntimeError("no index"), "empty": [], "found": ["A"]}
    evaluation = by_chunk_ids(labels, rankings, metrics=["recall"])
    failed, empty = (evaluation.explain_metrics(name) for name in ("failed", "empty"))
    assert {one.value for one in failed.metrics[0].values} == {0.0}
    assert "no index" in (failed.error or "")
    assert "Failed, so it counts 0 in every profile" in str(failed)
    left_out = empty.of("recall@5", "autorag")
    assert math.isnan(left_out.value)
    assert left_out.why == "Nothing came back, and such a query is left out of the mean; the default counts it 0."
    assert (left_out.n, empty.of("recall@5").n) == (2, 3)
    assert "The profile autorag leaves out 1 query of 3." in " ".join(str(empty).split())


def test_a_profile_that_leaves_queries_out_of_some_means_says_of_which(
    by_chunk_ids: Callable[..., Evaluation],
) -> None:
    labels, rankings = {"empty": [["A"]], "found": [["A"]]}, {"empty": [], "found": ["A"]}
    evaluation = by_chunk_ids(labels, rankings, metrics=["ndcg", "precision", "recall", "f1"])
    told = " ".join(str(evaluation.explain_metrics("found")).split())
    assert "ragas leaves out 1 query of 2 (in Precision, F1)" in told
    assert "The profile autorag leaves out 1 query of 2." in told
    assert "came back empty" not in told  # that is no reason for a value of a query that has hits


def test_the_match_rule_of_a_profile_is_distinguished_from_its_convention() -> None:
    short = "the keeper climbed"
    found = by_text(short, "nothing", f"{LAMP} and {KEEPER}").explain_metrics("q")
    alone = "Its match rule has no length guard, so rank 1 counts as relevant; that alone makes the difference."
    assert found.of("precision@3", "tutorial").value == pytest.approx(2 / 3)
    assert found.of("precision@3", "tutorial").why == alone
    assert found.of("precision@3", "tutorial").numbers == "2 relevant hits / 3 (k)"
    assert found.hits[0].only_under == ("tutorial",)
    both = found.of("ndcg@3", "tutorial").why
    assert both.endswith(" Its match rule has no length guard, so rank 1 counts as relevant, too.")
    assert PROFILES["tutorial"].differences["ndcg"] in both


def test_where_the_rule_changes_nothing_the_convention_alone_is_named() -> None:
    found = by_text("nothing", LAMP).explain_metrics("q")
    assert found.of("ndcg@3", "tutorial").why == PROFILES["tutorial"].differences["ndcg"]


@pytest.mark.slow
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_a_profiles_values_are_those_of_a_run_evaluated_under_it(profile: str) -> None:
    hits = ("the keeper climbed", LAMP, LAMP, "nothing", f"{KEEPER} when {LAMP}")
    facts = ((KEEPER, "the wick"), (LAMP,))
    expected = by_text(*hits, facts=facts, ks=(1, 3, 5), profile=profile).scores
    for scored_by in PROFILES:
        found = by_text(*hits, facts=facts, ks=(1, 3, 5), profile=scored_by).explain_metrics("q")
        for each in found.metrics:
            assert found.of(each.metric, profile).value == pytest.approx(expected.mean("retrieve", each.metric))


def test_a_length_guard_of_the_users_own_is_kept_but_under_the_tutorial() -> None:
    evaluation = by_text("climbed", "the keeper climbed", match=MatchRule(minimum_length=10))
    found = evaluation.explain_metrics("q", metrics=Precision @ 2)
    assert [found.of("precision@2", profile).value for profile in ("default", "autorag", "tutorial")] == [0.5, 0.5, 1.0]


def test_a_saved_run_says_the_same_without_its_system(tmp_path: Path) -> None:
    evaluation = by_text(
        "the keeper climbed",
        LAMP,
        chunks=[Chunk(LAMP), Chunk("the keeper climbed")],
        metrics=["span_precision_omega", "ndcg", "recall@tokens(5)"],
    )
    loaded = rl.load_evaluation(evaluation.save(tmp_path / "run"))
    assert str(loaded.explain_metrics()) == str(evaluation.explain_metrics())
    assert loaded.explain_metrics().of("span_precision_omega", "tutorial").agrees


def test_a_metric_that_was_not_scored_is_computed_from_the_run(three_of_which_two_were_found: Evaluation) -> None:
    found = three_of_which_two_were_found.explain_metrics("q", metrics=["ndcg", NDCG @ 2, "ndcg@2"])
    assert [str(each.metric) for each in found.metrics] == ["ndcg", "ndcg@2"]
    rescored = rescore(three_of_which_two_were_found, metrics=["ndcg@2"], ks=(2,))
    assert found.of("ndcg@2").value == rescored.scores.mean("retrieve", "ndcg@2")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"metrics": "precision"}, "precision: found no depth; expected one, as 'precision@10'"),
        ({"metrics": "f1@51"}, "found f1@51; expected a depth of at most 10"),
        ({"metrics": []}, "metrics: found none"),
        ({"metrics": "ndgc"}, "did you mean 'ndcg'"),
        ({"metrics": "precision@tokens(20)"}, "it divides by a number of chunks"),
        ({"metrics": "span_precision_omega"}, "found a run whose system did not tell its chunks"),
        ({"stage": "rerank"}, "stage: found 'rerank'; expected one of retrieve"),
    ],
)
def test_what_cannot_be_computed_is_said(
    three_of_which_two_were_found: Evaluation, wrong: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said.replace("(", r"\(")):
        three_of_which_two_were_found.explain_metrics("q", **wrong)  # type: ignore[arg-type]


def test_an_unknown_query_and_an_unknown_cell_are_said(three_of_which_two_were_found: Evaluation) -> None:
    with pytest.raises(DatasetError, match='expected one of "q"'):
        three_of_which_two_were_found.explain_metrics("p")
    found = three_of_which_two_were_found.explain_metrics("q")
    with pytest.raises(ConfigurationError, match=r"found ndcg@3, which was not looked at"):
        found.of("ndcg@3")
    with pytest.raises(ConfigurationError, match=r"profile: found 'ranx'; expected one of default"):
        found.of("ndcg@5", "ranx")


def test_a_stage_that_cut_its_hits_is_said() -> None:
    query = Query("q", "?", (Fact((Passage(LAMP),)),))

    class TopOne(FakeReranker):
        def rerank(self, queries, rankings):
            return [type(ranking)(ranking.hits[:1]) for ranking in super().rerank(queries, rankings)]

    evaluation = evaluate(
        FakeRetriever({"?": [KEEPER, LAMP]}), Dataset((query,)), reranker=TopOne({LAMP: 1.0}), ks=(1, 2), metrics=["rr"]
    )
    notes = " ".join(evaluation.explain_metrics("q").notes)
    assert "rerank returned no more than 1 hit, as deployed" in notes
    assert "(MRR@2)" in notes
    assert "returned no more" not in " ".join(evaluation.explain_metrics("q", stage="retrieve").notes)


def test_a_run_that_was_scored_by_another_profile_says_so(by_chunk_ids: Callable[..., Evaluation]) -> None:
    found = by_chunk_ids({"q": [["A"]]}, {"q": "AX"}, profile="ragas").explain_metrics("q")
    assert found.profile == "ragas"
    assert "The run was scored by the profile ragas" in " ".join(found.notes)
    assert found.of("precision@5").value == pytest.approx(0.2)


def test_labels_that_are_texts_make_the_other_profiles_an_analogy(three_of_which_two_were_found: Evaluation) -> None:
    assert "by analogy" in " ".join(by_text(LAMP).explain_metrics("q").notes)
    assert three_of_which_two_were_found.explain_metrics("q").notes == ()
    notes = " ".join(by_text(LAMP, facts=((LAMP, KEEPER),)).explain_metrics("q").notes)
    assert "Some facts have alternatives" in notes


def test_every_measure_that_can_be_computed_is_the_same_where_no_profile_has_its_own() -> None:
    refused = [name for name, measure in MEASURES.items() if measure.needs_irrelevant]  # nothing was judged irrelevant
    asked = {name: measure for name, measure in MEASURES.items() if name not in refused and measure.check is None}
    names = [name for name, measure in asked.items() if not measure.needs_chunks]
    evaluation = by_text("nothing", f"{LAMP} and {KEEPER}", LAMP, metrics=names)
    for each in evaluation.explain_metrics("q").metrics:
        for one in each.values:
            assert one.agrees or each.metric.name in PROFILES[one.profile].functions


def test_a_token_budget_is_a_depth_like_any_other() -> None:
    hits = ("nothing to the point", LAMP, KEEPER)
    evaluation = by_text(*hits, facts=((LAMP, "the wick"), (KEEPER,)), metrics=["recall", "ap"], ks=("tokens(12)",))
    found = evaluation.explain_metrics("q")
    assert found.of("recall@tokens(12)").numbers == "1 fact found / 2 facts"
    assert found.of("recall@tokens(12)", "trec").numbers == "1 label found / 3 labels"
    assert found.of("ap@tokens(12)", "ragas").numbers == "(1/2) / 1 relevant hit that came back"
    assert len(found.hits) == len(hits)


@pytest.fixture
def own_names() -> Iterator[None]:
    """Forget what a test registers."""
    before = dict(MEASURES)
    yield
    MEASURES.clear()
    MEASURES.update(before)


@pytest.mark.usefixtures("own_names")
def test_a_users_own_metric_is_the_same_in_every_profile_and_named_where_it_is_not_installed(
    tmp_path: Path, by_chunk_ids: Callable[..., Evaluation]
) -> None:
    lead = own_metric("lead", title="Lead")(lambda ranking: ranking.relevant[0])
    evaluation = by_chunk_ids({"q": [["A"]]}, {"q": "AX"}, metrics=[lead @ 2, "precision@2"])
    assert evaluation.explain_metrics("q").of(lead @ 2, "ragas").agrees
    folder = evaluation.save(tmp_path / "run")
    MEASURES.pop("lead")
    found = rl.load_evaluation(folder).explain_metrics("q")
    assert [str(each.metric) for each in found.metrics] == ["precision@2"]
    assert "the functions of these metrics are not installed here: Lead@2." in " ".join(found.notes)
    with pytest.raises(ConfigurationError, match="that is not installed here"):
        rl.load_evaluation(folder).explain_metrics("q", metrics="lead@2")


def test_a_metric_that_such_labels_do_not_allow_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="alpha_ndcg@3: found a label that is a text"):
        by_text(LAMP).explain_metrics("q", metrics="alpha_ndcg@3")


def test_an_unanswerable_query_is_said_to_be_one() -> None:
    query = Query("q", "?", (), answerable=False)
    found = evaluate(FakeRetriever({"?": [LAMP]}), Dataset((query,)), ks=(1,)).explain_metrics("q")
    assert "Not answerable: excluded from all averages, in every profile" in str(found)


spans = st.tuples(st.integers(0, 60), st.integers(1, 40)).map(lambda span: (span[0], span[0] + span[1]))
TEXT = "The keeper climbed the tower at dusk, trimmed the wick, and wrote the day into his book. Then he slept."


@pytest.mark.slow
@settings(max_examples=25)
@given(
    facts=st.lists(st.lists(spans, min_size=1, max_size=2), min_size=1, max_size=3),
    cuts=st.lists(spans, max_size=4),
    match=st.sampled_from(["containment", "coverage"]),
    scored_by=st.sampled_from(["default", "tutorial", "ragas"]),
)
def test_texts_of_any_shape_give_each_profiles_own_values_with_a_reason_for_each_difference(
    facts: list[list[tuple[int, int]]], cuts: list[tuple[int, int]], match: str, scored_by: str
) -> None:
    assume(all(has_words(TEXT[a:b]) for of_fact in facts for a, b in of_fact))
    labels = tuple(Fact(tuple(Passage(TEXT[a:b], "d", a, b) for a, b in spans)) for spans in facts)
    hits = [Chunk(TEXT[a:b], doc_id="d", start=a, end=b) for a, b in cuts]
    data, system = Dataset((Query("q", "?", labels),)), FakeRetriever({"?": hits})
    options = {"ks": (1, 3), "match": match}
    found = evaluate(system, data, profile=scored_by, **options).explain_metrics("q")  # type: ignore[arg-type]
    for profile in PROFILES:
        expected = evaluate(system, data, profile=profile, **options).scores  # type: ignore[arg-type]
        for metric in expected.metrics:
            one = found.of(metric, profile)
            assert one.value == pytest.approx(expected.of("retrieve", metric)[0], nan_ok=True, abs=1e-12)
            assert bool(one.why) != one.agrees


def test_the_frame_has_a_row_a_metric_and_profile(three_of_which_two_were_found: Evaluation) -> None:
    found = three_of_which_two_were_found.explain_metrics("q")
    frame = found.to_frame()
    assert len(frame) == len(found.metrics) * len(PROFILES)
    row = frame[(frame["metric"] == "precision@5") & (frame["profile"] == "autorag")].iloc[0]
    assert np.isclose(row["value"], 2 / 3)
    assert row["numbers"] == "2 relevant ids / 3 hits that came back"
