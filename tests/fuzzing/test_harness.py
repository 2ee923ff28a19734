"""The harness sees what it is there to see: each of these readers does one thing that none may."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raglift.errors import DatasetError, Fault

from .damage import damages
from .reader import CANARY, Bench, BrokenError, Damage, Reader
from .running import check, survey
from .tokens import TOKENS
from .trees import CODECS, Pairs, Raw, codec_of

ENTRY = {"id": 1, "names": ["a", {"b": None}], "x": 0.5}


def write(folder: Path) -> None:
    (folder / "input.json").write_text(json.dumps(ENTRY), encoding="utf-8")


def bench(tmp_path: Path, read: Callable[[Path], object], **options: Any) -> Bench:
    return Bench(Reader("a reader", write, read, **options), tmp_path)


def refuse(message: str) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        raise DatasetError(message, [Fault("where", "this", "that")])

    return read


def loop(_: Path) -> object:
    while True:
        try:
            sum(range(1000))
        except Exception:  # noqa: BLE001, S112 — what swallows all there is cannot swallow the end of its time
            continue


def allocate(_: Path) -> object:
    # Far more than the 50 MB that it may: the kernel may take pages of other things from the process meanwhile
    return len(bytearray(400 * 2**20))


def strict(folder: Path) -> object:
    """Return the object, or refuse what is none: a reader as it should be."""
    try:
        found = json.loads((folder / "input.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetError("input.json", [Fault("input.json", "no JSON", "JSON")]) from error
    return found


@pytest.mark.slow
def test_a_reader_that_returns_or_refuses_is_whole(tmp_path: Path):
    outcomes = check(bench(tmp_path, strict), 100)
    assert outcomes.keys() == {"returned", "refused"}
    assert min(outcomes.values()) > 5


@pytest.mark.parametrize(
    ("read", "options", "kind"),
    [
        (lambda folder: {}["a"], {}, "KeyError"),
        (loop, {"seconds": 0.2}, "too long"),
        (allocate, {"megabytes": 50}, "too much memory"),
        (lambda folder: (folder / "new").write_text("x"), {}, "reading made the file new"),
        (lambda folder: (folder / "input.json").write_text("x"), {}, "reading changed the file input.json"),
        (lambda folder: (folder / "input.json").unlink(), {}, "reading deleted the file input.json"),
        (lambda folder: (folder.parent / "new").mkdir(), {}, "outside the folder"),
        (lambda folder: (folder / "../canary.txt").read_text(), {}, "a file outside the folder was read"),
        (refuse("no \x1b[31m"), {}, "cannot be printed"),
        (refuse("a" * 50_000), {}, "a message of 50k"),
        (refuse('Traceback (most recent call last):\n  File "a.py", line 1, in f'), {}, "traceback"),
        (refuse(CANARY), {}, "tells of a file outside"),
        (refuse("a message"), {"errors": ()}, "DatasetError"),
        (lambda folder: 1, {"check": lambda result: result["a"]}, "what became of a result: TypeError"),
    ],
)
def test_what_no_reader_may_do_is_seen(tmp_path: Path, read, options: dict[str, Any], kind: str):
    with pytest.raises(BrokenError, match=kind):
        bench(tmp_path, read, **options).attempt({})


def test_a_result_that_is_not_valid_is_seen(tmp_path: Path):
    def valid(found: Any) -> None:
        assert isinstance(found, dict)

    with pytest.raises(BrokenError, match="a result that is not valid: assert isinstance"):
        bench(tmp_path, strict, check=valid).attempt({"input.json": b"7"})


def test_files_are_put_right_again(tmp_path: Path):
    made = bench(tmp_path, lambda folder: (folder / "input.json-journal").write_text("x"), changes=("*-journal",))
    made.attempt({"input.json": None})
    made.attempt({"input.json": b"{"})
    assert {path.name: path.read_bytes() for path in made.folder.iterdir()} == made.seed


@pytest.mark.slow
def test_the_long_run_continues_after_faults_and_draws_the_same_again(tmp_path: Path):
    def read(folder: Path) -> object:
        return strict(folder)["id"]

    broken: list[tuple[str, Damage]] = []
    runs = []
    made = bench(tmp_path, read)
    for number in (1, 1, 2):
        broken.clear()
        outcomes = survey(made, 60, number, lambda error, damage: broken.append((error.kind, damage)))
        assert outcomes["fault"] == len(broken) > 0
        assert outcomes.total() == 60
        runs.append([*broken])
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.parametrize("name", ["json", "jsonl", "yaml", "toml", "csv", "tsv", "words", "parquet"])
def test_a_tree_comes_back_from_what_it_was_written_as(name: str):
    rows = [["a", "b;c"], ["ü", "1"]]
    trees = {
        "jsonl": [Pairs([("a", 1), ("b", [None, True])])],
        "csv": rows,
        "tsv": rows,
        "words": rows,
        "parquet": Pairs([("a", [1, 2]), ("b", [["x"], []])]),
        "toml": Pairs([("a", 1), ("b", Pairs([("c", ["x", 0.5])]))]),
    }
    tree = trees.get(name, Pairs([("a", 1), ("b", [None, 0.5, "ü", Pairs([("c", False)])])]))
    codec = CODECS[name]
    assert codec.decode(codec.encode(tree)) == tree
    codec.encode([Raw("NaN"), Pairs([("\ud800", 10**30), ("a", Raw("["))]), "\0"])  # any other is written somehow


def test_fields_can_come_twice_and_compressed_files_have_trees(tmp_path: Path):
    assert CODECS["json"].encode(Pairs([("a", 1), ("a", Raw("NaN"))])) == b'{"a": 1, "a": NaN}'
    codec = codec_of("input.jsonl.gz")
    assert codec is not None
    assert codec.decode(codec.encode([1, 2])) == [1, 2]
    assert codec_of("input.db") is None


@pytest.mark.slow
def test_damage_reaches_bytes_structure_and_whole_files(tmp_path: Path):
    seen: list[Damage] = []

    def read(folder: Path) -> object:
        path = folder / "input.json"
        seen.append({path.name: path.read_bytes() if path.exists() else None})
        return None

    made = bench(tmp_path, read)
    check(made, 300)
    inputs = [damage["input.json"] for damage in seen]
    assert None in inputs
    assert b"" in inputs
    texts = [data or b"" for data in inputs]
    assert any(text.startswith(b'{"id": 1') and not text.endswith(b"}") for text in texts)
    assert any(token in text for text in texts for token in TOKENS[:3])
    parsed = [found for text in texts if (found := _parsed(text)) not in (None, ENTRY)]
    assert len(parsed) > 50
    assert damages(made) is not None


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
