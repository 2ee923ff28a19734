"""`raglift trace`: files of traces are evaluated, and what is wrong with the command is told."""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.tracing.spans import kind, request, retriever, span

from raglift.datasets.loading import load_dataset
from raglift.results import load_evaluation

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parents[1] / "tracing" / "fixtures"
TRACES = FIXTURES / "phoenix_api.json"
COLUMNS = ("--column", "span=id,parent=parent_run_id,kind=run_type,input=inputs,output=outputs")
Run = Callable[..., tuple[int, str, str]]


def test_traces_are_evaluated_printed_and_saved(run: Run, tmp_path: Path) -> None:
    code, out, err = run("trace", TRACES, "--data", "lighthouse", "-o", tmp_path / "run", "--name", "helper")
    assert code == 0, err
    assert "2 traces of 2 became sessions (2 by text): 2 of 43 questions, 4 calls." in out
    assert "SessionNDCG@10" in out
    assert f"Next: raglift report {tmp_path / 'run'}" in out
    saved = load_evaluation(tmp_path / "run")
    assert saved.run.stages[0].system == "helper"
    assert len(next(trace for trace in saved.run.traces if trace.calls).calls or ()) == 2


def test_json_has_the_traces_and_the_evaluation(run: Run) -> None:
    code, out, _ = run(
        *("trace", FIXTURES / "langsmith_runs.jsonl", TRACES, "--data", "lighthouse", "--json"),
        *(*COLUMNS, "--join-by", "extra.metadata.query_id", "-k", "1,3", "--metrics", "session_recall"),
    )
    assert code == 0
    found = json.loads(out)
    assert (found["traces"]["traces"], found["traces"]["joined"], found["traces"]["not_joined"]) == (4, 4, [])
    assert [row["repetition"] for row in found["traces"]["sessions"]] == [1, 1, 2, 2]
    assert [row["metric"] for row in found["evaluation"]["metrics"]] == ["session_recall@1", "session_recall@3"]


def test_queries_that_were_not_asked_may_be_left_out(run: Run, tmp_path: Path) -> None:
    more = tmp_path / "more.jsonl"
    text = (FIXTURES / "langsmith_runs.jsonl").read_text(encoding="utf-8")
    more.write_text(
        text.replace("price for one adult, museum and tower", "price of a cat") + "{oops\n", encoding="utf-8"
    )
    folder = tmp_path / "run"
    code, _, err = run("trace", more, "--data", "lighthouse", *COLUMNS, "--only-joined", "-o", folder, "--json")
    assert code == 0, err
    saved = load_evaluation(folder)
    assert [trace.query_id for trace in saved.run.traces] == ["fog-signal-interval"]
    assert "1 trace of 2 not joined to a question, and left out: 1 no such query" in saved.run.notes
    assert "1 fault in the files of traces: what could not be read is left out" in saved.run.notes


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "FILES: found none; expected files of traces, or --listen"),
        ([TRACES, "--idle", "3"], "--idle: found it without --listen"),
        ([TRACES, "--keep", "x"], "--keep: found it without --listen"),
        ([TRACES, "--listen"], "--listen: found it with files"),
        (["--listen", "--stop-after", "0"], "--stop-after: found 0; expected a number above 0"),
        (["--listen", "--address", "0.0.0.0:4318"], "expected an address and port of this machine"),
        (["none.jsonl"], "no readable file"),
        ([TRACES, "-k", "0"], "-k: found"),
        ([TRACES, "--column", "span"], "--column: found 'span'; expected a part of a span and its column"),
    ],
)
def test_a_command_that_contradicts_itself_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run("trace", "--data", "lighthouse", *arguments)
    assert code == 2
    assert said in err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def free_address() -> str:
    """An address of this machine that nobody listens on."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


@pytest.fixture
def at_work(free_address: str) -> Iterator[None]:
    """An application that exports one trace, with a span that cannot be read, as soon as somebody listens."""
    labelled = load_dataset("lighthouse").queries[0]
    spans = [
        retriever("a", "lamp", "lamp", trace="t1", at=1),
        span("agent", kind("AGENT", labelled.text), trace="t1"),
        span("odd", {}, trace="t1") | {"startTimeUnixNano": "never"},
    ]
    stopped = threading.Event()

    def export() -> None:
        body, url = json.dumps(request(spans)).encode(), f"http://{free_address}/v1/traces"
        made = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        while not stopped.wait(0.01):
            with suppress(OSError):
                urllib.request.urlopen(made, timeout=20).close()  # noqa: S310
                return

    thread = threading.Thread(target=export)
    thread.start()
    yield
    stopped.set()
    thread.join()


@pytest.mark.parametrize("limit", ["--stop-after", "--idle"])
def test_traces_are_received_until_a_limit_and_evaluated(
    run: Run, tmp_path: Path, free_address: str, at_work: None, limit: str
) -> None:
    kept, folder = tmp_path / "kept.jsonl", tmp_path / "run"
    listening = ("--listen", "--address", free_address, "--keep", kept)
    code, out, err = run("trace", "--data", "lighthouse", *listening, limit, "1", "-o", folder)
    assert code == 0, out + err
    assert f"receiving on http://{free_address}; Ctrl-C stops and evaluates\n" in err
    assert f"OTEL_EXPORTER_OTLP_ENDPOINT=http://{free_address}\n" in err
    assert f"kept in {kept}\n" in err
    assert 'spans[2].startTimeUnixNano: found "never"' in err
    assert "received 2 spans, 1 trace in whole\n" in err
    assert "1 trace of 1 became sessions (1 by text): 1 of 43 questions, 1 call." in out
    assert "42 of 43 questions have no trace and count 0; --only-joined leaves them out" in err
    assert load_evaluation(folder).run.has_sessions
    # What was kept before is evaluated also when nothing more comes
    code, out, err = run("trace", "--data", "lighthouse", *listening, "--idle", "0.1")
    assert code == 0, out + err
    assert "received 0 spans" in err
    assert "1 trace of 1 became sessions" in out


def test_without_any_trace_nothing_is_evaluated(
    run: Run, tmp_path: Path, free_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run("trace", "--data", "lighthouse", "--listen", "--address", free_address, "--idle", "0.1")
    assert (code, out) == (2, "")
    assert "1 fault; nothing was evaluated" in err
    assert f"found no spans; expected an application with OTEL_EXPORTER_OTLP_ENDPOINT=http://{free_address}" in err


def test_traces_of_no_query_are_listed_and_not_evaluated(run: Run, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"id": "q1", "question": "How deep is it?", "relevant": ["four fathoms"]}\n', encoding="utf-8")
    code, out, err = run("trace", TRACES, "--data", labels, "-o", tmp_path / "run")
    assert code == 2
    assert "no such query" in out
    assert "found 2 traces of no question of labels, for the reasons above" in err
    assert not (tmp_path / "run").exists()
    code, out, _ = run("trace", TRACES, "--data", labels, "--json")
    assert (code, json.loads(out)["evaluation"]) == (2, None)
