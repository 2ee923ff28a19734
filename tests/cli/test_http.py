"""HTTP services on the command line and in a sweep."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.search_server import SearchAnswer, SearchRequest, SearchServer

from raglift.sweep.specification.record import Sweep, load_sweep

pytestmark = pytest.mark.slow

LABELS = """\
{"id": "lamp", "question": "When is the lamp lit?", "relevant": ["lit at dusk"]}
{"id": "bad", "question": "Bad?", "relevant": ["lit at dusk"]}
"""
MAPPING = """
headers: {X-Key: "${HTTP_TEST_KEY}"}
json: {question: "{query}", top: "{k}"}
response: {hits: found, text: words, id: nr}
"""


def reply(request: SearchRequest) -> object:
    if request.headers.get("x-key") != "open-sesame":
        return SearchAnswer(status=401, body={"detail": "who are you?"})
    if request.json["question"] == "Bad?":
        return SearchAnswer(status=400, body={"detail": "a bad question"})
    return {"found": [{"nr": 1, "words": "The lamp is lit at dusk."}, {"nr": 2, "words": "The horn."}]}


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a service, in a folder with labels and a mapping."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HTTP_TEST_KEY", "open-sesame")
    Path("labels.jsonl").write_text(LABELS, encoding="utf-8")
    Path("search.yaml").write_text(MAPPING, encoding="utf-8")
    with SearchServer(reply) as server:
        yield server.address


def evaluate(run, address: str, *more: str) -> tuple[int, str, str]:
    return run("evaluate", "labels.jsonl", "--system", address, "--reranker", "none", "-k", "1", *more)


def test_evaluate_asks_a_service_by_its_mapping_and_lists_what_failed(run, address: str) -> None:
    code, out, _ = evaluate(
        run, address, "--mapping", "search.yaml", "--metrics", "recall", "--json", "--output", "kept"
    )
    told = json.loads(out)
    assert code == 0
    assert told["stages"] == [{"name": "retrieve", "system": f"HTTP POST {address}"}]
    assert [(each["cause"], each["query_ids"]) for each in told["failures"]] == [
        ("retrieve: HTTP 400 Bad Request", ["bad"])
    ]
    assert not [file for file in Path("kept").rglob("*") if file.is_file() and b"open-sesame" in file.read_bytes()]


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ("{hits: hits, text: wrds}", 'no hit has text: wrds — found {"hits": [1'),
        ("{hits: hitz}", "nothing at hits: hitz"),
        ("{hits: hits, text: words, id: nummer}", "no hit has id: nummer"),
    ],
)
def test_a_misspelt_mapping_is_one_error_and_nothing_is_saved(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mapping: str, said: str
) -> None:
    def reply(request: SearchRequest) -> object:  # one slow query and one error object beside the mapping's fault
        if request.json["query"] == "Slow?":
            return SearchAnswer(seconds=30)
        good = request.json["query"] != "Broken?"
        return {"hits": [{"nr": 1, "words": "The lamp is lit at dusk."}]} if good else {"error": "shard 3 is offline"}

    monkeypatch.chdir(tmp_path)
    asked = ["Slow?", "Broken?", "When?", "Why?", "Who?"]
    lines = [json.dumps({"id": query, "query": query, "relevant": ["lit at dusk"]}) for query in asked]
    Path("labels.jsonl").write_text("\n".join(lines), encoding="utf-8")
    Path("search.yaml").write_text(f"timeout: 1\nresponse: {mapping}\n", encoding="utf-8")
    with SearchServer(reply) as server:
        code, out, err = evaluate(
            run, server.address, "--mapping", "search.yaml", "--retries", "0", "--output", "runs/bad"
        )
    assert (code, out) == (2, "")
    assert err.count(said) == 1
    assert "every question failed, 1 of 5 of another cause" in err
    assert not [str(x) for x in Path("runs").rglob("*")]


def test_a_variable_in_dot_env_is_enough(run, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HTTP_TEST_KEY")
    code, _, err = evaluate(run, address, "--mapping", "search.yaml")
    assert code != 0
    assert "set HTTP_TEST_KEY in the environment or in .env" in err
    monkeypatch.setenv("HTTP_TEST_KEY", "")  # so that what .env sets is forgotten afterwards
    monkeypatch.delenv("HTTP_TEST_KEY")
    Path(".env").write_text("HTTP_TEST_KEY=open-sesame\n", encoding="utf-8")
    code, _, _ = evaluate(run, address, "--mapping", "search.yaml")
    assert code == 0


def test_a_sweep_measures_services_with_a_mapping_each(address: str) -> None:
    Path("sweep.yaml").write_text(
        "dataset: ./labels.jsonl\nks: [1]\nmetrics: [recall]\nretries: 0\n"
        f"systems:\n  mine: {{system: '{address}', mapping: search.yaml}}\n",
        encoding="utf-8",
    )
    sweep = load_sweep("sweep.yaml")
    assert Sweep(**sweep.to_dict()) == sweep
    assert sweep.systems[0].mapping == str(Path("search.yaml").resolve())
    result = sweep.run("swept", progress=False)
    assert result.results[0].evaluation is not None
    assert result.results[0].evaluation.scores.mean("retrieve", "recall@1") == 0.5
    assert not [file for file in Path("swept").rglob("*") if file.is_file() and b"open-sesame" in file.read_bytes()]
