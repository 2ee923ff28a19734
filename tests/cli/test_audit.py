"""`raglift labels check` and `raglift labels anchor`: what they print, and their exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]

TEXT = "The keeper climbed the tower at dusk, trimmed the wick, and wrote the day into his book. It blew. It blew.\n"


def dataset(folder: Path, *relevant: Any) -> Path:
    (folder / "documents").mkdir(parents=True)
    (folder / "documents" / "tower.txt").write_text(TEXT, encoding="utf-8")
    line = json.dumps({"id": "q1", "query": "Who?", "relevant": list(relevant)})
    (folder / "queries.jsonl").write_text(line + "\n", encoding="utf-8")
    return folder


def test_an_audit_is_printed_and_ends_well(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("labels", "check", dataset(tmp_path / "lights", "trimmed the wick, and wrote", "it blew"))
    assert code == 0
    assert "No label of 1 question is broken; 2 warnings." in out
    assert "recursive:1000/100" in out  # the default way to chunk
    assert "recall ceiling@10" in out


def test_a_page_has_the_faults_too(run: Run, tmp_path: Path) -> None:
    folder, page = dataset(tmp_path / "lights", "trimmed the wicked, and wrote"), tmp_path / "labels.html"
    code, _, err = run("labels", "check", folder, "--embedding", "none", "-o", page)
    assert (code, f"written to {page}" in err) == (0, True)
    assert "1 of 1 question has a label that no chunk can match" in page.read_text(encoding="utf-8")
    (tmp_path / "mine.html").write_text("mine", encoding="utf-8")
    assert run("labels", "check", folder, "--embedding", "none", "-o", tmp_path / "mine.html")[0] == 2
    assert (tmp_path / "mine.html").read_text(encoding="utf-8") == "mine"


def test_json_has_every_finding_and_chunker(run: Run, tmp_path: Path) -> None:
    folder = dataset(tmp_path / "lights", "trimmed the wicked, and wrote", "wrote the day into his")
    code, out, _ = run(
        "labels", "check", folder, "--json", "--chunker", "recursive:50/0", "--chunker", "recursive:9/0", "-k", "2"
    )
    report = json.loads(out)
    assert code == 0
    assert run("labels", "check", folder, "--strict", "--embedding", "none")[0] == 1
    assert (report["broken"], report["warnings"]) == (1, 0)
    (finding,) = report["findings"]
    assert (finding["kind"], finding["where"]) == ("nowhere", "relevant[0]")
    assert finding["nearest"]["text"].startswith("trimmed the wick, and wrote")
    assert [each["chunker"] for each in report["chunkers"]] == ["recursive:50/0:characters", "recursive:9/0:characters"]
    assert report["chunkers"][0]["attainable_recall"] == [{"k": 2, "recall": 0.5, "exact": True}]
    assert out.isascii()


def test_each_dataset_is_checked_with_the_documents_beside_it_whatever_becomes_of_the_others(
    run: Run, tmp_path: Path
) -> None:
    queries = dataset(tmp_path / "lights", "trimmed the mast") / "queries.jsonl"
    check = ("labels", "check", "--strict", "--embedding", "none", "--json")
    code, out, _ = run(*check, queries)
    assert (code, json.loads(out)["documents"], json.loads(out)["broken"]) == (1, 1, 1)
    code, out, err = run(*check, "nosuch", queries, tmp_path / "none")
    missing, found, _ = json.loads(out)
    assert (code, found["broken"], err.count("no such file or folder")) == (2, 1, 2)
    assert missing["error"] in err


def test_labels_that_do_not_resolve_are_all_shown(run: Run, tmp_path: Path) -> None:
    lost = [{"doc": "tower.txt", "from": f"nowhere {number}", "to": "dusk"} for number in range(25)]
    folder = dataset(tmp_path / "lights", *lost)
    code, out, err = run("labels", "check", folder)
    assert (code, out) == (2, "")
    assert err.count("nowhere") == 25
    assert "relevant[24].from" in err
    code, out, _ = run("labels", "check", folder, "--strict", "--json", "-o", tmp_path / "labels.html")
    assert code == 1
    assert (tmp_path / "labels.html").read_text(encoding="utf-8").count("nowhere ") == 25
    assert len(json.loads(out)["faults"]) == 25


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--chunker", "words:3"), "chunker: found 'words:3'"),
        (("--chunker", "langchain.Words:3/0"), "chunker: found 'langchain.Words"),
        (("--match", "fuzzy"), "expected 'coverage' or 'containment'"),
        (("lighthouse", "-o", "labels.html"), "--output: found it with 2 datasets; expected one"),
        (("-k", "0"), "-k: found '0'"),
        (("--documents", "no such place"), "no such file or folder"),
    ],
)
def test_bad_usage_exits_2_also_when_strict(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    code, _, err = run("labels", "check", dataset(tmp_path / "lights", "trimmed the wick"), "--strict", *arguments)
    assert code == 2
    assert message in err


def test_relabel_writes_a_new_file_and_says_what_was_left(run: Run, tmp_path: Path) -> None:
    folder = dataset(tmp_path / "lights", "trimmed the wick, and wrote", "it blew")
    new = tmp_path / "new.jsonl"
    code, out, _ = run("labels", "anchor", folder, "-o", new)
    assert code == 0
    assert "1 of 2 literal texts moved, 1 left as they are" in out
    assert 'relevant[1]: "it blew": it occurs 2 times' in out
    relevant = json.loads(new.read_text(encoding="utf-8"))["relevant"]
    assert relevant == [{"doc": "tower.txt", "from": "trimmed the wick, and", "to": "the wick, and wrote"}, "it blew"]
    before = new.read_text(encoding="utf-8")
    code, _, err = run("labels", "anchor", folder, "-o", new)
    assert (code, new.read_text(encoding="utf-8")) == (2, before)
    assert "found a file that is already there; expected a new one, or --overwrite" in err
    code, out, _ = run("labels", "anchor", folder, "-o", new, "--overwrite", "--json")
    (left,) = json.loads(out).pop("left")
    assert (code, json.loads(out)["moved"], json.loads(out)["path"]) == (0, 1, str(new))
    assert (left["query"], left["where"], left["text"]) == ("q1", "relevant[1]", "it blew")


def test_relabel_lists_twenty_of_what_was_left_and_counts_the_rest(run: Run, tmp_path: Path) -> None:
    folder = dataset(tmp_path / "lights", *(f"no such text {number}" for number in range(25)))
    code, out, _ = run("labels", "anchor", folder, "-o", tmp_path / "new.jsonl")
    assert code == 0
    assert out.count("no such text") == 20
    assert "… and 5 more: raglift labels check lists what is wrong with each" in out


def test_a_corpus_is_named_as_anywhere_else(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run("labels", "anchor", "lighthouse", "-o", tmp_path / "new.jsonl")
    assert (code, " literal texts moved" in out) == (0, True)
    monkeypatch.setenv("RAGLIFT_CORPORA", str(tmp_path / "none"))
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path / "cache"))
    code, out, err = run("labels", "check", "war_and_peace", "--strict")
    assert (code, out) == (2, "")
    assert "raglift: error: the text of corpus 'war_and_peace' is not on this machine" in err


def test_relabel_reads_json_lines_and_needs_documents(run: Run, tmp_path: Path) -> None:
    folder = dataset(tmp_path / "lights", "trimmed the wick, and wrote")
    assert "found no documents" in run("labels", "anchor", folder / "queries.jsonl", "-o", tmp_path / "new.jsonl")[2]
    assert (
        "expected one of 'anchors', 'offsets'"
        in run("labels", "anchor", folder, "-o", tmp_path / "new.jsonl", "--to", "ids")[2]
    )
    other = tmp_path / "labels.csv"
    other.write_text("id,query\n", encoding="utf-8")
    code, _, err = run("labels", "anchor", other, "-o", tmp_path / "new.jsonl")
    assert code == 2
    assert "JSON Lines" in err
    assert not (tmp_path / "new.jsonl").exists()


def test_what_is_not_read_of_a_folder_is_said_once_and_can_be_included(run: Run, tmp_path: Path) -> None:
    lights = dataset(tmp_path / "lights", "in fog the horn is blown")
    (lights / "documents" / "fog.qmd").write_text("In fog the horn is blown.")
    code, out, err = run("labels", "check", lights, "--json", "--chunker", "recursive:50/0")
    assert (code, json.loads(out)["broken"]) == (0, 1)
    assert err == (
        f"raglift: warning: {lights / 'documents'}: 1 of 2 files not read: 1 *.qmd (as fog.qmd); "
        "to read *.qmd as text too: include='*.qmd', or --include '*.qmd'\n"
    )
    code, out, err = run("labels", "check", lights, "--json", "--chunker", "recursive:50/0", "--include", "*.qmd")
    assert (code, json.loads(out)["broken"], err) == (0, 0, "")
