"""`rl.evaluate_sessions`: an agent's searches become an ordinary evaluation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import raglift as rl
from raglift.analysis import fact_outcomes, repetition_components, values_by_repetition
from raglift.errors import ConfigurationError, DatasetError, RunError
from raglift.metrics.session_measures import SessionNDCG
from raglift.testing.fakes import FakeRetriever
from raglift.types import Fact, Passage, Query

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {
    "lamp": "The lamp of the lighthouse was first lit in the winter of 1871.",
    "keeper": "Its first keeper was Maud Ellery, who served for thirty years.",
    "horn": "In fog the horn gives two blasts every forty-five seconds.",
    "tower": "The tower has two hundred and four steps and one landing.",
    "gulls": "Gulls nest on the rocks below the northern wall in spring.",
    "boat": "The supply boat comes on the first Tuesday of every month.",
}
WANTED = {"who-and-when": ("lamp", "keeper"), "fog": ("horn",), "steps": ("tower",)}
QUESTIONS = {
    "who-and-when": "when was the lamp first lit, and who kept it?",
    "fog": "how often does the horn sound in fog?",
    "steps": "how many steps has the tower?",
}


@pytest.fixture(scope="module")
def data() -> rl.Dataset:
    return rl.Dataset(
        tuple(
            Query(name, QUESTIONS[name], tuple(Fact((Passage(TEXTS[one]),)) for one in wanted))
            for name, wanted in WANTED.items()
        )
    )


def chunks(*names: str) -> list[rl.Chunk]:
    return [rl.Chunk(TEXTS[name], id=name) for name in names]


def call(query: str, *names: str, **known: Any) -> rl.Call:
    return rl.Call.of(query, chunks(*names), **known)


@pytest.fixture(scope="module")
def sessions() -> list[rl.Session]:
    """Two calls with a fact each, of which one is left out; a call in vain; a search for something else."""
    return [
        rl.Session(
            "who-and-when",
            [
                call("lamp lit year", "gulls", "lamp", tool="search", arguments={"top": 2}, tokens=40, seconds=0.5),
                call("keeper of the lamp", "keeper", "gulls"),
            ],
            context=chunks("keeper", "gulls"),
        ),
        rl.Session("fog", [call(QUESTIONS["fog"], "boat", "gulls"), call("horn fog", "horn")], context=chunks("horn")),
        rl.Session("steps", [call("gulls nest rocks", "gulls"), rl.Call("boat", error="timeout")], context=[]),
    ]


@pytest.fixture(scope="module")
def evaluation(sessions: list[rl.Session], data: rl.Dataset) -> rl.Evaluation:
    return rl.evaluate_sessions(sessions, data)


def values(evaluation: rl.Evaluation, metric: str) -> list[float]:
    return evaluation.scores.of(evaluation.after, metric).tolist()


# The figures.


def test_figures_by_hand(evaluation: rl.Evaluation) -> None:
    assert values(evaluation, "session_recall@10") == [1.0, 1.0, 0.0]
    assert values(evaluation, "session_recall@1") == [0.5, 1.0, 0.0]
    assert values(evaluation, "recall@calls(1)") == [0.5, 0.0, 0.0]
    assert values(evaluation, "calls") == [2.0, 2.0, 2.0]
    assert values(evaluation, "recovery") == [1.0, 1.0, 0.0]
    assert values(evaluation, "wasted_calls") == [0.0, 0.5, 1.0]
    assert values(evaluation, "kept")[:2] == [0.5, 1.0]
    assert values(evaluation, "final_recall") == [0.5, 1.0, 0.0]
    assert values(evaluation, "final_precision") == [0.5, 1.0, 0.0]
    assert np.isnan(values(evaluation, "kept")[2])
    assert np.isnan(values(evaluation, "first_call")[2])


def test_one_call_for_each_query_gives_the_figures_of_evaluate(data: rl.Dataset) -> None:
    found = {QUESTIONS["who-and-when"]: ("gulls", "lamp"), QUESTIONS["fog"]: ("boat", "horn"), QUESTIONS["steps"]: ()}
    retriever = FakeRetriever({text: [(chunk, None) for chunk in chunks(*names)] for text, names in found.items()})
    metrics = ["ndcg", "recall", "precision", "rr", "ap", "session_ndcg", "calls", "recovery", "wasted_calls"]
    plain = rl.evaluate(retriever, data, metrics=metrics, ks=(1, 5), k=5)
    of_sessions = rl.evaluate_sessions(
        [rl.Session(name, [call(text, *found[text])]) for name, text in QUESTIONS.items()],
        data,
        metrics=metrics,
        ks=(1, 5),
    )
    np.testing.assert_array_equal(of_sessions.scores.values, plain.scores.values)
    ours, theirs = fact_outcomes(of_sessions, 1), fact_outcomes(plain, 1)
    assert ours.outcome_of_fact.tolist() == theirs.outcome_of_fact.tolist()


def test_stages_of_calls_are_before_and_after_reranking(data: rl.Dataset) -> None:
    reranked = rl.Call.of("?", {"retrieve": chunks("gulls", "lamp"), "rerank": chunks("lamp")})
    dropped = rl.Call.of("?", {"retrieve": chunks("keeper", "gulls"), "rerank": chunks("gulls")})
    found = rl.evaluate_sessions([rl.Session("who-and-when", [reranked, dropped])], data)
    assert found.scores.stages == ("retrieve", "rerank")
    assert found.scores.of("retrieve", "session_recall@10")[0] == 1.0
    assert found.scores.of("rerank", "session_recall@10")[0] == 0.5
    assert [fact.outcome for fact in found.session_analysis().facts[:2]] == ["found", "dropped"]


# Where each fact was lost.


def test_each_fact_has_the_call_that_found_it_and_an_outcome(evaluation: rl.Evaluation) -> None:
    found = evaluation.session_analysis()
    assert [(fact.query_id, fact.fact, fact.outcome, fact.call, fact.rank) for fact in found.facts] == [
        ("who-and-when", 1, "left_out", 1, 2),
        ("who-and-when", 2, "found", 2, 1),
        ("fog", 1, "found", 2, 1),
        ("steps", 1, "never_asked", None, None),
    ]
    assert {loss.outcome: loss.facts for loss in found.losses if loss.facts} == {
        "found": 2,
        "left_out": 1,
        "never_asked": 1,
    }
    assert found.recall_after == pytest.approx([0.5 / 3, 2 / 3])
    assert found.failed_calls == 1
    assert found.to_frame()["call"].tolist()[:3] == [1, 2, 2]


def test_facts_of_a_session_that_failed_are_failed(data: rl.Dataset) -> None:
    stopped = rl.Session("steps", [call("tower", "tower")], error="recursion limit")
    found = rl.evaluate_sessions([stopped, rl.Session("fog", [call("horn", "horn")], context=chunks("horn"))], data)
    assert _outcome(found, "steps") == "failed"
    assert values(found, "session_recall@10")[2] == 1.0  # its searches count
    assert values(found, "final_recall") == [0.0, 1.0, 0.0]  # its answer never came


def _outcome(evaluation: rl.Evaluation, query_id: str) -> str:
    return next(fact.outcome for fact in evaluation.session_analysis().facts if fact.query_id == query_id)


def test_an_evaluation_of_a_system_that_is_asked_once_has_no_sessions(data: rl.Dataset) -> None:
    plain = rl.evaluate(lambda _: chunks("lamp"), data)
    with pytest.raises(ConfigurationError, match="asked once"):
        plain.session_analysis()


# Repetitions.


@pytest.fixture(scope="module")
def repeated(data: rl.Dataset) -> rl.Evaluation:
    """Of each query two runs; the second of the first query finds nothing."""
    runs = [
        rl.Session(name, [call(QUESTIONS[name], *wanted)], repetition=number)
        for number in (1, 2)
        for name, wanted in WANTED.items()
        if (number, name) != (2, "who-and-when")
    ]
    runs.append(rl.Session("who-and-when", [call("gulls", "gulls")], repetition=2, context=chunks("gulls")))
    return rl.evaluate_sessions(reversed(runs), data)


def test_the_value_of_a_query_is_the_mean_over_its_runs(repeated: rl.Evaluation) -> None:
    assert values(repeated, "session_recall@10") == [0.5, 1.0, 1.0]
    assert values_by_repetition(repeated, "session_recall@10").tolist() == [[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    assert values(rl.rescore(repeated, metrics=["recall"], ks=(1,)), "recall@1") == [0.25, 1.0, 1.0]
    assert any("each question was run 2 times" in note for note in repeated.notes)


def test_variances_tell_runs_from_queries(repeated: rl.Evaluation, evaluation: rl.Evaluation) -> None:
    found = repetition_components(repeated, "session_recall@10")
    assert found is not None
    assert found.within_queries == pytest.approx(0.5 / 3)
    assert found.between_queries == 0.0
    assert repetition_components(evaluation, "session_recall@10") is None
    assert "from run to run of the same question" in str(repeated)


def test_agents_are_compared_query_by_query_over_the_means_of_their_runs(
    repeated: rl.Evaluation, evaluation: rl.Evaluation
) -> None:
    compared = rl.compare({"one": evaluation, "other": repeated}, primary="session_recall@10", baseline="one")
    (row,) = [row for row in compared.rows if row.system == "other" and str(row.metric) == "session_recall@10"]
    assert row.difference is not None
    assert row.difference.mean == pytest.approx((0.5 + 1 + 1) / 3 - 2 / 3)


# Saved and loaded.


@pytest.mark.slow
@pytest.mark.parametrize("name", ["evaluation", "repeated"])
def test_sessions_are_saved_with_the_run(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    saved: rl.Evaluation = request.getfixturevalue(name)
    loaded = rl.load_evaluation(saved.save(tmp_path / "run"))
    assert loaded.run.traces == saved.run.traces
    np.testing.assert_array_equal(loaded.scores.values, saved.scores.values)
    assert str(loaded.session_analysis()) == str(saved.session_analysis())
    again = rl.rescore(loaded, metrics=["session_ndcg", "recall@calls(1)", "kept"], ks=(2, 50))
    np.testing.assert_array_equal(again.scores.of("retrieve", "kept"), saved.scores.of("retrieve", "kept"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda line: line["calls"][0].update(tokens=-1), "tokens"),
        (lambda line: line["calls"][0]["stages"][0].update(stage="other"), "found the stages"),
        (lambda line: line.update(context=[[0]]), "hits"),
    ],
)
def test_damaged_sessions_are_refused_with_the_line(
    evaluation: rl.Evaluation, tmp_path: Path, change: Any, told: str
) -> None:
    folder = evaluation.save(tmp_path / "run")
    lines = (folder / "traces.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    change(first)
    (folder / "traces.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    with pytest.raises(RunError, match=rf"traces\.jsonl:1: damaged: .*{told}"):
        rl.load_evaluation(folder)


# What cannot be used.


def test_unknown_and_repeated_queries_are_all_listed(data: rl.Dataset) -> None:
    given = [rl.Session("fogg", []), rl.Session("fog", []), rl.Session("fog", []), rl.Session("fog", [], repetition=2)]
    with pytest.raises(DatasetError) as caught:
        rl.evaluate_sessions(given, data)
    _, first, second = str(caught.value).splitlines()
    assert (
        'session 1: found the question "fogg"; expected one of "fog", "steps", "who-and-when"; nearest: "fog"' in first
    )
    assert 'session 3: found the question "fog" a second time as repetition 1; expected' in second


def test_a_query_without_a_session_counts_as_failed(data: rl.Dataset) -> None:
    found = rl.evaluate_sessions([rl.Session("fog", [call("horn", "horn")])], data)
    assert values(found, "session_recall@10") == [0.0, 1.0, 0.0]
    assert any("2 questions without a session" in note for note in found.notes)


@pytest.mark.parametrize(
    ("sessions", "told"),
    [
        ([], "found none; expected at least one"),
        (["fog"], "as number 1; expected a Session"),
        ("fog", 'sessions: found "fog"; expected a list of Session'),
        (7, "sessions: found 7; expected a list of Session"),
    ],
)
def test_what_are_no_sessions_is_refused(data: rl.Dataset, sessions: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        rl.evaluate_sessions(sessions, data)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: rl.Call.of("q", [], tokens=float("nan")), "Call.tokens: found NaN; expected an integer, 0 or more"),
        (lambda: rl.Call.of(7, []), "Call.query: found 7; expected a text"),
        (lambda: rl.Call.of("q", "text"), "expected a list of chunks"),
        (lambda: rl.Call.of("q", ["text"]), "as number 1; expected a Chunk or a Hit"),
    ],
)
def test_what_is_no_session_says_so(made: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        made()


def test_runs_that_failed_and_contexts_that_are_not_known_are_counted(data: rl.Dataset) -> None:
    given = [
        rl.Session("fog", [call("horn", "horn")], context=chunks("horn")),
        rl.Session("fog", [], error="timeout", repetition=2),
        rl.Session("steps", [call("steps", "tower")]),
        rl.Session("steps", [call("steps", "tower")], repetition=2),
    ]
    notes = rl.evaluate_sessions(given, data).run.notes
    assert "1 repeated run failed" in notes
    assert "the final context of 1 session is not known: excluded from its figures" in notes


def test_secrets_of_the_environment_are_not_kept(data: rl.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_API_KEY", secret := "sk-averyveryverysecretkey0123456789")
    leaking = rl.Call.of(
        f"horn {secret}", chunks("horn"), arguments={"headers": {"key": secret}}, error=f"401 {secret}"
    )
    found = rl.evaluate_sessions([rl.Session("fog", [leaking], error=f"stopped: {secret}")], data)
    assert secret not in repr(found.run.traces)


def test_a_query_is_explained_call_by_call(evaluation: rl.Evaluation) -> None:
    found = evaluation.explain("who-and-when")
    earned = found.earnings()
    assert earned["session_recall@10"].tolist() == [0.0, 0.5, 0.5, 0.0]
    assert earned["session_recall@1"].tolist() == [0.0, 0.0, 0.5, 0.0]
    assert earned["recall@calls(1)"].tolist() == [0.0, 0.5, 0.0, 0.0]
    assert earned["session_ndcg@10"].sum() == pytest.approx(found.values[found.metrics.index(SessionNDCG @ 10)])


def test_measures_of_sessions_are_named_and_may_be_of_no_query(evaluation: rl.Evaluation, data: rl.Dataset) -> None:
    assert evaluation.session_analysis().mean("recovery") == pytest.approx(2 / 3)
    with pytest.raises(ConfigurationError, match="measure: found 'speed'; expected one of "):
        evaluation.session_analysis().mean("speed")
    unlabelled = rl.Dataset((Query("fog", QUESTIONS["fog"]),))
    found = rl.evaluate_sessions([rl.Session("fog", [call("horn", "horn")])], unlabelled).session_analysis()
    assert np.isnan(found.recall_after).all()
    assert np.isnan(found.mean("recovery"))


# What is shown.


@pytest.mark.slow
def test_the_text_has_a_section_of_the_sessions(evaluation: rl.Evaluation) -> None:
    text = str(evaluation)
    assert "Recall after each search" in text
    assert "found, left out of the prompt" in text
    assert "never searched for" in text
    assert "Where recall was lost" not in text
    lead = evaluation.view().lead
    assert "found 67% of a question's facts on average" in lead
    assert str(evaluation.session_analysis()).startswith("Sessions: recall after each search")
    assert "Sessions" in evaluation.to_markdown()


# Other analyses know the calls too.


@pytest.mark.slow
def test_every_report_of_an_evaluation_can_be_made_of_sessions(
    evaluation: rl.Evaluation, repeated: rl.Evaluation, tmp_path: Path
) -> None:
    assert evaluation.report(tmp_path / "report.html").stat().st_size > 10_000
    for made in (evaluation, repeated):
        assert made.to_text()
        assert len(made.to_frame())
        assert len(made.per_query())
        assert made.failure_analysis()
        assert made.headroom()
        made.to_trec(tmp_path / made.run.traces[0].query_id / str(len(made.notes)))
    page = rl.compare({"one": evaluation, "other": repeated}).report(tmp_path / "comparison.html")
    assert page.stat().st_size > 10_000
