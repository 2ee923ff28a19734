"""`raglift labels update`: what it prints and writes, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift.types import Passage
from raglift.updating.deciding import text_hash

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]

LAMP = "The keeper lights the lamp at dusk, and trims it at midnight."
HORN = "In fog the horn is sounded twice a minute, and the boat answers once; then it waits for the second signal."
OIL = "The oil store holds two hundred litres of paraffin, and is filled in April and in September."
NEW_OIL = OIL.replace("two", "three")


def anchor(doc: str, text: str) -> dict[str, str]:
    words = text.split()
    return {"doc": doc, "from": " ".join(words[:4]), "to": " ".join(words[-4:])}


def write_documents(folder: Path, **texts: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def write_labels(path: Path, **labels: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"id": name, "query": f"What of the {name}?", "relevant": [label]} for name, label in labels.items()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Three labels: one is in a document that stays, one will be elsewhere, and one in other words."""
    write_documents(tmp_path / "mine" / "documents", lamp=f"# Lamp\n\n{LAMP}\n", fog=f"# Fog\n\n{HORN}\n\n{OIL}\n")
    write_labels(tmp_path / "mine" / "queries.jsonl", lamp=LAMP, horn=anchor("fog.md", HORN), oil=anchor("fog.md", OIL))
    return tmp_path / "mine"


@pytest.fixture
def new(tmp_path: Path) -> Path:
    signals = f"# Signals\n\nRead this.\n\n{HORN}\n\n{NEW_OIL}\n"
    return write_documents(tmp_path / "v2", lamp=f"# Lamp\n\n{LAMP}\n", signals=signals)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_what_became_of_labels_is_printed_and_nothing_is_written(run: Run, old: Path, new: Path) -> None:
    before = sorted(old.rglob("*"))
    code, out, err = run("labels", "update", old, new)
    assert (code, err) == (1, "")
    assert "1 of 3 labels moved, 1 edited; 1 unchanged. 2 of 3 questions can be written; 1 waits" in " ".join(
        out.split()
    )
    assert f"Next: raglift labels update {old} {new} --page updates.html" in out
    assert sorted(old.rglob("*")) == before


def test_json_has_every_label_with_its_proof(run: Run, old: Path, new: Path) -> None:
    code, out, _ = run("labels", "update", old / "queries.jsonl", new, "--json")
    found = json.loads(out)
    assert code == 1
    assert [found["counts"][kind] for kind in ("unchanged", "moved", "edited")] == [1, 1, 1]
    assert (found["questions"], found["waiting"], found["path"]) == (3, ["oil"], None)
    lamp, horn, oil = found["passages"]
    assert (lamp["kind"], horn["kind"], horn["new"]["doc"], oil["new"]) == ("unchanged", "moved", "signals.md", None)
    assert horn["rule"]
    assert oil["candidates"][0]["text"] == NEW_OIL


def test_certain_labels_are_written_beside_the_old_ones(run: Run, old: Path, new: Path) -> None:
    labels = (old / "queries.jsonl").read_bytes()
    code, out, err = run("labels", "update", old, new, "--write")
    written = old / "queries.updated.jsonl"
    assert (code, f"written to {written}" in err) == (1, True)
    assert "--page updates.html" in out
    assert [query.id for query in rl.load_dataset(written, documents=new)] == ["lamp", "horn"]
    assert lines_of(written)[0]["relevant"] == [LAMP]
    assert (old / "queries.updated.history.json").exists()
    assert (old / "queries.jsonl").read_bytes() == labels
    code, _, err = run("labels", "update", old, new, "--write")
    assert (code, "already there" in err) == (2, True)
    assert run("labels", "update", old, new, "--write", "--overwrite")[0] == 1


def test_decisions_are_applied_and_then_nothing_is_left_to_do(run: Run, old: Path, new: Path, tmp_path: Path) -> None:
    page, decisions, target = tmp_path / "u.html", tmp_path / "decisions.jsonl", tmp_path / "out" / "new.jsonl"
    code, out, err = run("labels", "update", old, new, "--page", page)
    assert (code, f"written to {page}" in err, "--decisions decisions.jsonl --write" in out) == (1, True, True)
    assert NEW_OIL in page.read_text(encoding="utf-8")
    oil = json.loads(run("labels", "update", old, new, "--json")[1])["passages"][2]
    chosen = {name: oil["candidates"][0][name] for name in ("doc", "start", "end", "text")}
    line = {"query": "oil", "where": "relevant[0]", "old": text_hash(Passage(oil["old"]["text"])), "choose": chosen}
    decisions.write_text(json.dumps(line), encoding="utf-8")
    code, out, _ = run("labels", "update", old, new, "--decisions", decisions)
    assert (code, "Decided (1)" in out, out.rstrip().endswith("--write")) == (1, True, True)
    code, out, _ = run("labels", "update", old, new, "--decisions", decisions, "-o", target)
    assert (code, f"Next: raglift evaluate {target} --documents {new}" in out) == (0, True)
    assert rl.load_dataset(target, documents=new).query("oil").facts[0].passages[0].text == NEW_OIL
    labels = write_labels(tmp_path / "two.jsonl", oil=anchor("fog.md", OIL), other=OIL)
    code, out, _ = run("labels", "update", labels, new, "--documents", old, "--decisions", decisions)
    assert (code, f"--decisions {decisions} --page" in out) == (1, True)
    decisions.write_text(json.dumps({**line, "old": "000000000000"}), encoding="utf-8")
    code, _, err = run("labels", "update", old, new, "--decisions", decisions, "-o", tmp_path / "other.jsonl")
    assert (code, "decisions.jsonl:1: old" in err, (tmp_path / "other.jsonl").exists()) == (2, True, False)


def test_labels_that_stay_right_are_no_reason_to_write(run: Run, old: Path, tmp_path: Path) -> None:
    longer = f"# Fog\n\n{HORN}\n\n{OIL}\n\nAnd more.\n"
    new = write_documents(tmp_path / "v2", lamp=f"# Lamp\n\n{LAMP}\n", fog=longer)
    code, out, _ = run("labels", "update", old, new)
    assert (code, "No label changed." in out, "Nothing has to be written" in out) == (0, True, True)
    # What stands further down in its document is right as an anchor, and wrong as offsets
    (new / "fog.md").write_text(f"Read this.\n\n{longer}", encoding="utf-8")
    assert run("labels", "update", old, new)[0] == 0
    start = len(f"# Fog\n\n{HORN}\n\n")
    write_labels(old / "queries.jsonl", oil={"doc": "fog.md", "start": start, "end": start + len(OIL)})
    code, out, _ = run("labels", "update", old, new)
    assert (code, "other offsets" in out, out.rstrip().endswith("--write")) == (1, True, True)
    code, out, _ = run("labels", "update", old, new, "--write")
    assert (code, "other offsets" in out) == (0, False)
    assert rl.load_dataset(old / "queries.updated.jsonl", documents=new).query("oil").facts[0].passages[0].text == OIL


def test_the_exit_code_is_the_same_if_nobody_reads_the_output(old: Path, new: Path) -> None:
    command = f"{sys.executable} -m raglift labels update {old} {new} | true"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_literal_text_that_moved_is_right_as_it_is(run: Run, old: Path, new: Path) -> None:
    write_labels(old / "queries.jsonl", horn=HORN)
    code, out, _ = run("labels", "update", old, new)
    assert (code, "1 of 1 label moved" in out, "Nothing has to be written" in out) == (0, True, True)
    write_labels(old / "queries.jsonl", horn={"text": HORN, "doc": "fog.md"})
    assert run("labels", "update", old, new)[0] == 1


def test_two_runs_show_what_the_documents_changed(run: Run, old: Path, new: Path, tmp_path: Path) -> None:
    options = ("--retriever", "bm25", "--chunker", "recursive:200/0", "--reranker", "none")
    assert run("evaluate", old, *options, "-o", tmp_path / "before")[0] == 0
    assert run("labels", "update", old, new, "--write")[0] == 1
    labels = old / "queries.updated.jsonl"
    assert run("evaluate", labels, "--documents", new, *options, "-o", tmp_path / "after")[0] == 0
    runs = ("--runs", tmp_path / "before", tmp_path / "after")
    code, out, _ = run("labels", "update", old, new, *runs)
    assert (code, "in two versions of the documents" in out) == (1, True)
    change = json.loads(run("labels", "update", old, new, *runs, "--json")[1])["change"]
    assert change["metric"] == "ndcg@10"
    assert change["total"] == pytest.approx(change["moved"] + change["died"] + change["system"])
    code, _, err = run("labels", "update", old, new, "--runs", *runs[:0:-1])
    assert (code, "over the old ones first" in err) == (2, True)


def test_nothing_is_written_where_every_question_waits(run: Run, old: Path, new: Path) -> None:
    write_labels(old / "queries.jsonl", oil=anchor("fog.md", OIL))
    code, _, err = run("labels", "update", old, new, "--write")
    assert (code, err) == (1, "")
    assert not (old / "queries.updated.jsonl").exists()


def test_documents_elsewhere_are_named(run: Run, old: Path, new: Path, tmp_path: Path) -> None:
    labels = write_labels(tmp_path / "labels.jsonl", lamp=LAMP, horn={"text": HORN, "doc": "fog.md"})
    code, _, err = run("labels", "update", labels, new)
    assert (code, "documents" in err) == (2, True)
    code, out, _ = run("labels", "update", labels, new, "--documents", old / "documents")
    assert (code, f"--documents {old / 'documents'} --write" in out) == (1, True)
    assert run("labels", "update", labels, new, "--documents", old, "--write")[0] == 0
    assert [line["relevant"] for line in lines_of(tmp_path / "labels.updated.jsonl")] == [
        [LAMP],
        [{"text": HORN, "doc": "signals.md"}],
    ]


def test_another_format_needs_the_name_of_the_new_file(run: Run, old: Path, new: Path, tmp_path: Path) -> None:
    assert run("labels", "convert", old, "-o", tmp_path / "beir", "--to", "beir")[0] == 2  # its labels are no documents
    code, _, err = run("labels", "update", "lighthouse", new, "--write")
    assert (code, "-o FILE" in err) == (2, True)
    code, _, err = run("labels", "update", "lighthouse", "lighthouse")
    assert (code, "nothing can have changed" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("{old}", "{old}"), "nothing can have changed"),
        (("{old}", "{old}/documents"), "nothing can have changed"),
        (("{old}", "{tmp}/none"), "no such file or folder"),
        (("{old}", "{tmp}/empty"), "without documents"),
        (("{old}", "{tmp}/bad.md"), "NUL byte"),
        (("{old}", "{new}", "--encoding", "klingon"), "klingon"),
        (("{old}", "{new}", "-o", "{old}/queries.jsonl", "--overwrite"), "old labels"),
        (("{old}", "{new}", "-o", "{tmp}/updated.txt"), "a .jsonl file"),
        (("{old}", "{new}", "--page", "{old}/queries.jsonl"), "not a report of raglift"),
        (("{old}", "{new}", "--decisions", "{old}/queries.jsonl"), 'unknown field "id"'),
        (("{old}", "{new}", "--runs", "{tmp}/a", "{tmp}/b"), "no such folder"),
        (("{tmp}/none.jsonl", "{new}"), "no such file"),
        (("{tmp}/chunks.jsonl", "{new}", "--documents", "{old}"), "chunk id"),
        (("{tmp}/unlabelled.jsonl", "{new}", "--documents", "{old}"), "no labels"),
        (("{tmp}/wrong.jsonl", "{new}", "--documents", "{old}"), "wrong.jsonl:1: relevant[0].from"),
    ],
)
def test_unusable_input_is_an_error_that_says_what_is_wrong(
    run: Run, old: Path, new: Path, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.md").write_bytes(b"\x00\x01")
    write_labels(tmp_path / "chunks.jsonl", q1={"chunk": "c7"})
    write_labels(tmp_path / "wrong.jsonl", q1={"doc": "fog.md", "from": "Nobody says this", "to": "once."})
    (tmp_path / "unlabelled.jsonl").write_text('{"query": "Who?"}', encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    code, out, err = run("labels", "update", *(each.format(old=old, new=new, tmp=tmp_path) for each in arguments))
    assert (code, out) == (2, "")
    assert said in err
    assert sorted(tmp_path.rglob("*")) == before
