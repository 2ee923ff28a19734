"""`raglift labels grade` as it is typed, against a server on this machine that plays the model."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift.grading.rubrics import relevance_prompt
from raglift.running.systems import LocalSystem, build_retriever
from raglift.testing.openai_server import OpenAIServer
from raglift.types.dataset import Dataset

pytestmark = pytest.mark.slow

QUERIES = 6
BLOCK = re.compile(r"<<<(\w+) ([0-9a-f]{16})\n(.*?)\n\2 \1>>>", re.DOTALL)
Run = Callable[..., tuple[int, str, str]]


def shared_words(messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Grade by how many words of the question are in the passage."""
    assert schema is not None
    data = {name: set(re.findall(r"\w{4,}", text.lower())) for name, _, text in BLOCK.findall(messages[1]["content"])}
    shared = len(data["question"] & data["passage"])
    return {"reason": f"They share {shared} words.", "grade": min(shared, 3)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saved runs of BM25 and of a dense retriever over a few queries of the lighthouse."""
    folder = tmp_path_factory.mktemp("runs")
    whole = rl.load_dataset("lighthouse")
    data = Dataset(whole.queries[:QUERIES], whole.documents, "lighthouse")
    with OpenAIServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", "test")
        for retriever in ("bm25", "dense"):
            system = build_retriever(data, LocalSystem(retriever, embedding="openai:text-embedding-3-small"))
            rl.evaluate(system, data, ks=(1, 3), depth="deep", candidates=5).save(folder / retriever)
    return folder


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[OpenAIServer]:
    with OpenAIServer(replies=shared_words) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path / "cache"))
        monkeypatch.chdir(tmp_path)
        yield server


@pytest.fixture
def command(runs: Path) -> list[str]:
    return ["labels", "grade", str(runs / "bm25"), str(runs / "dense"), "-k", "3", "--output", "labels.jsonl"]


def asked(server: OpenAIServer) -> list[str]:
    return [request.body["messages"][1]["content"] for request in server.requests]


def test_from_runs_to_labels_to_figures(run: Run, server: OpenAIServer, command: list[str], runs: Path) -> None:
    code, out, err = run(*command)
    assert code == 0, err
    pairs = len(server.requests)
    assert f"lighthouse: {pairs} pairs graded by openai:gpt-4o-mini" in out
    assert err.startswith(f"openai:gpt-4o-mini: {pairs} prompts, about ")
    assert "no person has seen them" in out
    assert "openai:gpt-4o-mini against people" in out
    assert "Kendall" in out or "no rank correlation" in out
    assert "raglift rescore" in err
    assert "raglift labels review labels.jsonl" in err
    assert "sk-secret" not in out + err + Path("labels.jsonl").read_text(encoding="utf-8")

    labels = rl.load_dataset("labels.jsonl")
    assert labels.queries == rl.load_dataset("labels.jsonl", documents="lighthouse").queries
    graded = [passage for query in labels for fact in query.facts for passage in fact.passages]
    irrelevant = [passage for query in labels for passage in query.judged_irrelevant]
    assert len(graded) + len(irrelevant) == pairs
    assert {each.annotator and each.annotator.prompt for each in graded + irrelevant} == {relevance_prompt(3).version}
    assert all(each.start is not None for each in graded + irrelevant)

    code, out, err = run("rescore", runs / "dense", "--labels", "labels.jsonl", "--json")
    assert code == 0, err
    rescored = json.loads(out)
    expected = rl.rescore(rl.load_evaluation(runs / "dense"), labels=labels, ks=(1, 3))
    figures = {row["metric"]: row["mean"] for row in rescored["metrics"]}
    assert figures["ndcg@3"] == pytest.approx(expected.scores.mean("retrieve", "ndcg@3"))


def test_json_has_every_grade_with_its_reason(run: Run, server: OpenAIServer, command: list[str]) -> None:
    code, out, _ = run(*command, "--json")
    assert code == 0
    found = json.loads(out)
    assert len(found["pairs"]) == len(server.requests)
    assert sum(found["counts"].values()) == len(found["pairs"])
    for pair in found["pairs"]:
        assert pair["reason"] == f"They share {pair['reason'].split()[2]} words."
        assert pair["grade"] == min(int(pair["reason"].split()[2]), 3)
    assert {system["name"] for system in found["systems"]} == {"bm25/retrieve", "dense/retrieve"}
    assert found["agreement"]["pairs"] == len(found["pairs"])


def test_the_estimate_asks_nothing_needs_no_key_and_writes_nothing(
    run: Run, server: OpenAIServer, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    code, out, err = run(*command[:-2], "--estimate")
    assert (code, out) == (0, "")
    assert re.search(r"\d+ prompts, about [\d,]+ tokens to read and [\d,]+ to write", err)
    assert server.requests == []
    assert not Path("labels.jsonl").exists()


def test_filling_keeps_the_labels_of_people(run: Run, server: OpenAIServer, command: list[str], runs: Path) -> None:
    code, out, _ = run(*command, "--fill")
    assert code == 0
    assert re.search(
        r"labels: \d+ passages judged by openai:gpt-4o-mini \(relevance@\w+\), \d+ by people", " ".join(out.split())
    )
    before = rl.load_evaluation(runs / "bm25").dataset
    filled = rl.load_dataset("labels.jsonl", documents="lighthouse")
    for old, new in zip(before, filled, strict=True):
        for fact, kept in zip(old.facts, new.facts, strict=False):
            assert kept.passages[: len(fact.passages)] == fact.passages
    assert any(len(new.facts) > len(old.facts) for old, new in zip(before, filled, strict=True))
    assert server.requests


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--output", "labels.csv"], "expected the .jsonl file"),
        (["--output", "there.jsonl"], "--overwrite"),
        (["--output", "there.jsonl/labels.jsonl"], "expected a place that can be written to"),
        (["-k", "0"], "-k: found '3,0'"),
        (["--scale", "4"], "scale: found 4; expected 3 or 5"),
        (["--relevant-from", "4"], "relevant_from: found 4; expected an integer from 1 to 3"),
        (["--rubric", "nowhere.txt"], "nowhere.txt: cannot be read"),
        (["--temperature", "hot"], "--temperature: found 'hot'"),
        (["--documents", "nowhere"], "nowhere"),
    ],
)
def test_a_mistake_is_told_before_anything_is_asked(
    run: Run, server: OpenAIServer, command: list[str], options: list[str], message: str
) -> None:
    Path("there.jsonl").write_text("mine", encoding="utf-8")
    code, out, err = run(*command, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert server.requests == []
    assert Path("there.jsonl").read_text(encoding="utf-8") == "mine"


@pytest.mark.full
def test_a_command_that_was_stopped_resumes_where_it_stopped(
    run: Run, server: OpenAIServer, command: list[str]
) -> None:
    def slowly(messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None) -> dict[str, Any]:
        time.sleep(0.02)
        return shared_words(messages, schema)

    server.replies = slowly
    start = "from raglift.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", start, *command, "--concurrency", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while len(server.requests) < 8 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == b""
    assert process.returncode == 130
    assert b"the same command continues from there: what was answered is kept, and no file was written" in err
    assert not Path("labels.jsonl").exists()
    before = asked(server)
    assert len(before) >= 8
    code, printed, _ = run(*command, "--json")
    after = asked(server)[len(before) :]
    assert code == 0
    assert after
    assert len(set(before) & set(after)) <= 2 + 1  # those under way, and one whose answer was not yet written
    assert len(json.loads(printed)["pairs"]) == len(set(before) | set(after))


# Figures corrected by people's grades of a sample.


@pytest.fixture
def sampled(run: Run, server: OpenAIServer, runs: Path) -> Path:
    """A sample of 20 pairs, with grades by people who count words otherwise than the model does."""
    code, out, err = run(
        "labels", "sample", runs / "bm25", runs / "dense", "-k", "3", "-n", "20", "-o", "to_grade.jsonl"
    )
    assert (code, out) == (0, ""), err
    assert "20 pairs to grade (of " in err
    assert "-k 3 -o graded.jsonl --human to_grade.jsonl" in err
    path = Path("to_grade.jsonl")
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for number, entry in enumerate(entries):
        entry["grade"] = min(len(set(re.findall(r"\w{5,}", entry["question"])) & set(entry["text"].split())), 3)
        entry["grade"] = entry["grade"] if number else 3
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def test_figures_are_corrected_by_a_sample_that_people_graded(run: Run, command: list[str], sampled: Path) -> None:
    code, out, err = run(*command, "--human", sampled, "-m", "precision@3,dcg@3", "--report", "corrected.html")
    assert code == 0, err
    assert "report written to corrected.html" in err
    assert "Figures corrected by 20 human grades" in Path("corrected.html").read_text(encoding="utf-8")
    assert "lighthouse: corrected by 20 human grades" in out
    steps = [out.index(f"  {step}: ") for step in ("The model", "People", "Corrected")]
    assert steps == sorted(steps)
    assert "if people had graded every pair" in " ".join(out.split())
    code, out, err = run(*command, "--human", sampled, "--estimand", "population", "--overwrite", "--json")
    assert code == 0, err
    found = json.loads(out)["correction"]
    assert found["statement"] == "corrected by 20 human grades"
    assert found["estimand"] == "population"
    names = {(figure["metric"], figure["name"]) for figure in found["figures"]}
    assert ("dcg@3", "dense/retrieve − bm25/retrieve") in names
    for figure in found["figures"]:
        assert (figure["low"] is None) == bool(figure["reason"])


def test_labels_of_the_review_page_give_the_grades_of_a_sample(run: Run, command: list[str], sampled: Path) -> None:
    entries = [json.loads(line) for line in sampled.read_text(encoding="utf-8").splitlines()]
    labels: dict[str, dict[str, Any]] = {}
    for entry in entries:
        query = labels.setdefault(
            entry["query"], {"id": entry["query"], "query": entry["question"], "relevant": [], "judged_irrelevant": []}
        )
        passage = {name: entry[name] for name in ("text", "doc", "start", "end")}
        if entry["grade"]:
            query["relevant"].append(passage | {"grade": entry["grade"]})
        else:
            query["judged_irrelevant"].append(passage)
        entry["grade"] = None
    Path("labels_by_people.jsonl").write_text(
        "".join(json.dumps(query) + "\n" for query in labels.values()), encoding="utf-8"
    )
    sampled.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    code, out, err = run(*command, "--human", "labels_by_people.jsonl", "--sample", sampled)
    assert code == 0, err
    assert "corrected by 20 human grades" in out


def test_a_sample_that_does_not_fit_is_refused_before_anything_is_asked(
    run: Run, server: OpenAIServer, command: list[str], sampled: Path, runs: Path
) -> None:
    code, _, err = run("labels", "grade", runs / "bm25", "-k", "3", "-o", "labels.jsonl", "--human", sampled)
    assert code == 2
    assert "expected the same evaluations, all of them" in " ".join(err.split())
    code, _, err = run(*command, "--metrics", "dcg@3")
    assert code == 2
    assert "--metrics: found it without --human" in err
    sampled.write_text(sampled.read_text(encoding="utf-8").replace('"grade"', '"mark"'), encoding="utf-8")
    code, _, err = run(*command, "--human", sampled)
    assert code == 2
    assert "unknown field" in err
    assert server.requests == []


def test_a_sample_is_written_once_and_never_over_something(run: Run, runs: Path, tmp_path: Path) -> None:
    output = tmp_path / "to_grade.jsonl"
    about = ["labels", "sample", runs / "bm25", "-k", "3", "-o", output]
    assert run(*about, "-n", "3", "--queries")[0] == 0
    before = output.read_text(encoding="utf-8")
    assert len({json.loads(line)["query"] for line in before.splitlines()}) == 3
    code, _, err = run(*about, "-n", "3")
    assert code == 2
    assert "expected a free name, or --overwrite" in err
    assert output.read_text(encoding="utf-8") == before
    for options, message in ((["-n", "1000", "--overwrite"], "expected at most"),):
        code, _, err = run(*about, *options)
        assert code == 2
        assert message in " ".join(err.split())
    code, _, err = run("labels", "sample", runs / "bm25", "-o", "to_grade.csv")
    assert code == 2
    assert "expected the .jsonl file" in err


def test_what_cannot_be_corrected_is_refused_before_anything_is_asked(
    run: Run, server: OpenAIServer, command: list[str], sampled: Path
) -> None:
    for options, message in (
        (["-m", "ndcg@3"], "NDCG@3: cannot be corrected by grades of single pairs"),
        (["--estimand", "everything"], "estimand: found 'everything'; expected one of 'these-queries', 'population'"),
    ):
        code, _, err = run(*command, "--human", sampled, *options)
        assert code == 2
        assert message in " ".join(err.split())
    lines = sampled.read_text(encoding="utf-8").splitlines(keepends=True)
    without = [json.dumps(json.loads(line) | {"grade": None}) + "\n" for line in lines]
    sampled.write_text("".join(without), encoding="utf-8")
    code, _, err = run(*command, "--human", sampled)
    assert code == 2
    assert "human: found 0 graded pairs; expected at least 20: grade 20 more" in " ".join(err.split())
    assert server.requests == []


def test_without_any_grade_nothing_is_written(run: Run, server: OpenAIServer, runs: Path) -> None:
    server.replies = lambda messages, schema: {"reason": "It is good.", "grade": 99}
    code, out, err = run("labels", "grade", runs / "bm25", "-k", "1", "-o", "labels.jsonl")
    assert (code, out) == (2, "")
    assert "no pair was graded, and nothing was written; the first: " in err
    assert not Path("labels.jsonl").exists()


def test_grades_whose_file_cannot_be_written_are_kept(run: Run, server: OpenAIServer, command: list[str]) -> None:
    def taken(messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None) -> dict[str, Any]:
        Path("labels.jsonl").write_text("mine", encoding="utf-8")
        return shared_words(messages, schema)

    server.replies = taken
    code, out, err = run(*command)
    assert (code, out, Path("labels.jsonl").read_text(encoding="utf-8")) == (2, "", "mine")
    assert "the grades are kept in the cache: the same command with another --output writes them" in err
    before = len(server.requests)
    assert run(*command[:-1], "others.jsonl")[0] == 0
    assert len(server.requests) == before
