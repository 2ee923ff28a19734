"""`raglift trace`: files of traces are evaluated, and what is wrong with the command is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from raglift.results import load_evaluation

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parents[1] / "tracing" / "fixtures"
TRACES = FIXTURES / "phoenix_api.json"
COLUMNS = ("--column", "span=id,parent=parent_run_id,kind=run_type,input=inputs,output=outputs")
Run = Callable[..., tuple[int, str, str]]


def test_traces_are_evaluated_printed_and_saved(run: Run, tmp_path: Path) -> None:
    code, out, err = run("trace", TRACES, "--data", "lighthouse", "-o", tmp_path / "run", "--name", "helper")
    assert code == 0, err
    assert "2 traces of 2 became sessions (2 by text): 2 of 43 queries, 4 calls." in out
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
    assert {row["metric"] for row in found["evaluation"]["metrics"]} == {"SessionRecall"}
    assert [row["k"] for row in found["evaluation"]["metrics"]] == [1, 3]


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
    assert "1 trace of 2 not joined to a query, and left out: 1 no such query" in saved.run.notes
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
