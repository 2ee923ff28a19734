from __future__ import annotations

import json
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import raglift as rl
from raglift.retrieval.bm25 import BM25Retriever

pytestmark = pytest.mark.slow


def test_version(run) -> None:
    assert run("--version")[:2] == (0, f"raglift {rl.__version__}\n")


def test_evaluate_prints_a_table_and_saves_what_it_printed(run, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "first"
    system = ("--retriever", "bm25", "--reranker", "cross-encoder", "--candidates", "5", "--chunker", "recursive:200/0")
    code, out, err = run("evaluate", "lighthouse", *system, "-k", "1,5", "--output", str(folder))
    assert code == 0
    assert "before [95%]" in out or "before  " in out
    assert f"saved to {folder}" in err
    saved = rl.load_evaluation(folder)
    assert saved.run.stages[0].system.startswith("bm25")
    assert {metric.k for metric in saved.scores.metrics} == {1, 5}


def test_evaluate_as_json_is_json_and_agrees_with_the_library(run) -> None:
    arguments = ("--retriever", "bm25", "--reranker", "none", "--metrics", "mrr,ndcg@3", "-k", "5", "--json")
    code, out, _ = run("evaluate", "lighthouse", *arguments)
    report = json.loads(out)
    assert code == 0
    assert [row["metric"] for row in report["metrics"]] == ["rr@5", "ndcg@3"]
    data = rl.load_dataset("lighthouse")
    retriever = rl_bm25(data)
    expected = rl.evaluate(retriever, data, metrics=["mrr", "ndcg@3"], ks=(5,)).to_frame()
    assert [row["mean"] for row in report["metrics"]] == pytest.approx(expected["mean"].tolist())
    assert not any("lift" in row for row in report["metrics"])


def test_evaluate_matches_as_it_is_told_and_its_json_says_where_recall_was_lost(run) -> None:
    arguments = ("--retriever", "bm25", "-k", "1,3", "--depth", "deep", "--candidates", "5", "--json")
    code, out, _ = run("evaluate", "lighthouse", *arguments, "--match", "coverage", "--match-threshold", "0.8")
    report = json.loads(out)
    assert code == 0
    assert (report["spec"]["match"]["mode"], report["spec"]["match"]["threshold"]) == ("coverage", 0.8)
    loss = report["failure_analysis"]
    assert (loss["k"], loss["chunks_known"]) == (3, True)
    assert sum(outcome["facts"] for outcome in loss["outcomes"]) == loss["facts"]
    assert [outcome["outcome"] for outcome in loss["outcomes"]] == [
        "failed",
        "found",
        "below_k",
        "not_retrieved",
        "not_attainable",
    ]
    recall = next(row for row in report["metrics"] if row["metric"] == "recall@3")
    assert report["headroom"]["recall"] >= recall["mean"]


def rl_bm25(data: rl.Dataset) -> BM25Retriever:
    return BM25Retriever(rl.RecursiveChunker(1000, 100).split(data.documents))


def test_evaluate_takes_the_users_own_system_by_reference(run, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "rag_by_reference.py").write_text(
        "def search(query, k):\n    return ['nothing'] * k\n\ndef make():\n    return search\n", encoding="utf-8"
    )
    (tmp_path / "q.jsonl").write_text('{"id": 1, "question": "q", "relevant": ["a text to find"]}\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("search", "make"):
        code, out, err = run("evaluate", "q.jsonl", "--system", f"rag_by_reference:{name}", "--reranker", "none")
        assert (code, err) == (0, "")
        assert out.startswith("q: function\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("evaluate", "lighthous"), "lighthouse"),
        (("evaluate", "lighthouse", "--retriever", "hybrid(dense=0)"), "expected 2 numbers above 0"),
        (("evaluate", "lighthouse", "-k", "1,x"), "-k: found '1,x'"),
        (("evaluate", "lighthouse", "--retriever", "bm25", "--reranker", "late_interaction"), "'late-interaction'"),
        (("evaluate", "lighthouse", "--match", "cover"), "match: found 'cover'; expected one of 'containment'"),
        (("evaluate", "lighthouse", "--match-threshold", "0.5"), "found 0.5 with containment, which has none"),
        (("evaluate", "lighthouse", "--chunker", "words"), "chunker: found 'words'; expected recursive or token"),
        (("evaluate", "lighthouse", "--system", "no_such_module:x"), "cannot be imported"),
        (("walkthrough", "--corpus", "lighthouse", "--question", "who was Napoleon"), "is not in lighthouse"),
        (("corpus", "show", "war_and_piece"), "war_and_peace"),
        (("corpus", "fetch", "lighthouse"), "nothing to fetch"),
    ],
)
def test_a_mistake_ends_with_one_clear_message(run, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("raglift: error: ")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.full
def test_the_walkthrough_as_json_is_its_evaluation(run) -> None:
    code, out, _ = run("walkthrough", "--corpus", "lighthouse", "-k", "3", "--json")
    told = json.loads(out)
    assert (code, told["queries"]) == (0, 1)
    assert {row["metric"].partition("@")[2] for row in told["metrics"]} == {"1", "3"}


def test_walkthrough_without_the_text_says_how_to_get_it(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("RAGLIFT_CORPORA", str(tmp_path / "none"))
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path / "cache"))
    code, _, err = run("walkthrough")
    assert code == 2
    assert "raglift corpus fetch war_and_peace" in err
    assert "RAGLIFT_CORPORA" in err


def test_a_system_that_fails_on_every_query_is_no_success(run, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "broken_rag.py").write_text(
        "def search(question):\n    raise KeyError('index')\n\ndef make():\n    raise RuntimeError('no database')\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    code, out, err = run("evaluate", "lighthouse", "--system", "broken_rag:search", "--reranker", "none")
    assert code == 2
    assert "every question failed; the first: retrieve: KeyError: 'index'" in err
    code, out, err = run("evaluate", "lighthouse", "--system", "broken_rag:make", "--reranker", "none")
    assert (code, out) == (2, "")
    assert "broken_rag:make() failed: RuntimeError: no database" in err


def test_corpus_list_and_show(run) -> None:
    code, out, _ = run("corpus", "list")
    assert code == 0
    assert "lighthouse" in out
    assert "war_and_peace" in out
    code, out, _ = run("corpus", "show", "war_and_peace")
    assert code == 0
    assert "gutenberg.org" in out
    corpora = {corpus["name"]: corpus for corpus in json.loads(run("corpus", "list", "--json")[1])}
    assert corpora["war_and_peace"] == json.loads(run("corpus", "show", "war_and_peace", "--json")[1])
    assert corpora["lighthouse"]["path"]
    assert corpora["lighthouse"]["queries"] == len(rl.load_dataset("lighthouse"))


def test_output_cut_off_by_its_reader_is_no_error() -> None:
    script = f"{sys.executable} -m raglift corpus show war_and_peace | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", script], capture_output=True, text=True)
    assert done.stdout.startswith("name:")
    assert "Traceback" not in done.stderr


def test_corpus_fetch_puts_a_text_into_the_cache_whose_labels_resolve(
    run, book_path: Path, tmp_path: Path, monkeypatch
) -> None:
    handler = partial(SimpleHTTPRequestHandler, directory=str(book_path.parent))
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path))
    monkeypatch.delenv("RAGLIFT_CORPORA", raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/{book_path.name}"
        code, out, err = run("corpus", "fetch", "war_and_peace", "--url", url)
        missing = run("corpus", "fetch", "war_and_peace", "--url", url + ".missing")
        server.shutdown()
    assert (code, out.strip()) == (0, f"{tmp_path}/corpora/war_and_peace/2600-0.txt: all labels resolve")
    assert err == ""
    assert len(rl.load_dataset("war_and_peace").documents) == 1
    assert missing[0] == 2
    assert "404" in missing[2]


def test_a_text_that_is_at_hand_is_not_fetched(run, book_path: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RAGLIFT_CORPORA", str(book_path.parents[1]))
    said = f"{book_path}: at hand, nothing was downloaded (--url downloads all the same)\n"
    assert run("corpus", "fetch", "war_and_peace") == (0, f"{said}{book_path}: all labels resolve\n", "")
    code, out, err = run("corpus", "fetch", "war_and_peace", "--json")
    assert (code, err) == (0, said)
    assert json.loads(out) == {"path": str(book_path), "labels_left_out": [], "notes": []}
    other = tmp_path / "war_and_peace" / book_path.name
    other.parent.mkdir()
    other.write_text("Some other book.", encoding="utf-8")
    monkeypatch.setenv("RAGLIFT_CORPORA", str(tmp_path))
    code, out, err = run("corpus", "fetch", "war_and_peace")
    assert (code, out.startswith(f"{other}: at hand, nothing was downloaded")) == (0, True)
    assert err.startswith("! ")
    assert str(other) in err
