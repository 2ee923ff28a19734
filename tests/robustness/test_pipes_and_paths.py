"""Pipes, FIFOs, links in a circle, names too long and a removed folder in place of files: a clear line, or it works."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import raglift as rl
from raglift.analysis.frames import export
from raglift.base.replacing import RUN_FILES
from raglift.base.streams import is_stream
from raglift.datasets.loading import load_documents
from raglift.errors import DatasetError, MissingDependency, RunError, is_out_of_memory
from raglift.results.evaluation import Evaluation
from raglift.storage import loading

Run = Callable[..., tuple[int, str, str]]
LONG = "n" * 300
TREC = "q1 Q0 d1 1 1.0 x\nq2 Q0 d3 1 1.0 x\n"
QRELS = "q1 0 d1 1\nq2 0 d2 1\n"
QUERIES = '{"id": "q1", "query": "When is the lamp lit?", "relevant": ["The lamp is lit at dusk."]}\n'
SYSTEM = 'def find(query, k=5):\n    return ["The lamp is lit at dusk.", "Fog horn."][:k]\n'


@pytest.fixture
def place(evaluation: Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a saved run, rankings, labels, queries, a file of the user's own, and a link in a circle."""
    evaluation.save(tmp_path / "run")
    for name, text in (("r.trec", TREC), ("r.qrels", QRELS), ("q.jsonl", QUERIES), ("notes.txt", "my own notes\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "piped_system.py").write_text(SYSTEM, encoding="utf-8")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def piped() -> Iterator[Callable[[str], str]]:
    """Give the path of a pipe that holds a text, as the shell's `<(…)` does."""
    opened: list[int] = []

    def pipe(text: str) -> str:
        reader, writer = os.pipe()
        opened.append(reader)
        with os.fdopen(writer, "wb") as file:  # short enough to fit into the pipe
            file.write(text.encode())
        return f"/dev/fd/{reader}"

    yield pipe
    for reader in opened:
        os.close(reader)


def reads(path: Path, most: int) -> tuple[threading.Thread, list[bytes]]:
    """Read the beginning of a FIFO in a thread, as `head -c` does."""
    found: list[bytes] = []

    def read() -> None:
        with path.open("rb", buffering=0) as file:
            found.append(file.read(most))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread, found


# Reading.


@pytest.mark.parametrize("form", ["trec", "jsonl"])
def test_rankings_and_labels_are_read_from_pipes(place: Path, piped: Callable[[str], str], run: Run, form: str) -> None:
    lines = '{"query_id": "q1", "id": "d1", "score": 1}\n{"query_id": "q2", "id": "d3", "score": 1}\n'
    given = piped(TREC if form == "trec" else lines)
    code, out, err = run("score", "--run", given, "--qrels", piped(QRELS), "--from", form, "--names", "x")
    assert (code, err) == (0, "")
    assert out == run("score", "--run", place / "r.trec", "--qrels", place / "r.qrels", "--names", "x")[1]


def test_queries_are_read_from_a_pipe(piped: Callable[[str], str]) -> None:
    dataset = rl.load_dataset(piped(QUERIES))
    assert [query.id for query in dataset.queries] == ["q1"]
    with pytest.raises(DatasetError, match=r"\.jsonl:1: "):
        rl.load_dataset(piped("no JSON"))


def test_a_pipe_that_never_ends_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGLIFT_MAX_BYTES", "100000")
    with pytest.raises(DatasetError, match="more than 100,000 bytes"):
        rl.load_dataset("/dev/zero")


def test_documents_have_no_name_in_a_pipe(piped: Callable[[str], str]) -> None:
    with pytest.raises(DatasetError, match="a pipe or a device"):
        load_documents(piped("The lamp is lit."))


# Writing to pipes.


@pytest.mark.slow
@pytest.mark.parametrize("form", ["html", "markdown"])
def test_a_report_goes_through_a_fifo_whose_reader_stops_reading(place: Path, run: Run, form: str) -> None:
    os.mkfifo(place / "fifo")
    reader, begun = reads(place / "fifo", 15)
    code, _, err = run("report", "run", "--output", "fifo", "--format", form)
    reader.join(30)
    assert code == 0, err
    assert begun == [b"<!DOCTYPE html>" if form == "html" else b"### island: fak"]
    assert is_stream(place / "fifo")


@pytest.mark.parametrize("option", ["--junit", "--markdown"])
def test_the_files_of_a_gate_may_be_pipes(place: Path, run: Run, option: str) -> None:
    os.mkfifo(place / "fifo")
    reader, begun = reads(place / "fifo", 3)
    assert run("gate", "run", "--min", "ndcg@5=0", option, "fifo")[0] == 0
    reader.join(30)
    assert len(begun[0]) == 3


# What raglift did not write.


@pytest.mark.parametrize("option", ["--junit", "--markdown"])
def test_a_gate_replaces_its_own_files_and_no_others(place: Path, run: Run, option: str) -> None:
    code, out, err = run("gate", "run", "--min", "ndcg@5=0", option, "notes.txt")
    assert (code, out) == (2, "")
    assert "notes.txt: found a file that raglift gate did not write; expected another name, or --overwrite" in err
    assert (place / "notes.txt").read_text(encoding="utf-8") == "my own notes\n"
    assert run("gate", "run", "--min", "ndcg@5=0", option, "notes.txt", "--overwrite")[0] == 0
    assert run("gate", "run", "--min", "ndcg@5=0", option, "notes.txt")[0] == 0  # now it is a gate's
    (place / "empty").touch()
    assert run("gate", "run", "--min", "ndcg@5=0", option, "empty")[0] == 0


@pytest.mark.parametrize("mistake", ["--min=ndcg@5", "--min=nonsense=1"])
def test_a_gate_with_a_mistake_replaces_no_file_either(place: Path, run: Run, mistake: str) -> None:
    assert run("gate", "run", mistake, "--junit", "notes.txt")[0] == 2
    assert (place / "notes.txt").read_text(encoding="utf-8") == "my own notes\n"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("gate", "run", "--min", "ndcg@5=0", "--overwrite", "--junit"), id="gate --junit"),
        pytest.param(("gate", "run", "--min", "ndcg@5=0", "--overwrite", "--markdown"), id="gate --markdown"),
        pytest.param(("report", "run", "--overwrite", "--format", "markdown", "-o"), id="report markdown"),
        pytest.param(("report", "run", "--overwrite", "-o"), id="report"),
        pytest.param(("labels", "anchor", "q.jsonl", "--documents", "notes.txt", "--overwrite"), id="relabel"),
    ],
)
def test_no_command_replaces_a_file_of_a_saved_run(place: Path, run: Run, arguments: tuple[str, ...]) -> None:
    files = {name: (place / "run" / name).read_bytes() for name in RUN_FILES}
    for name in ("run.json", "scores.parquet"):
        code, _, err = run(*arguments, f"run/{name}")
        assert (code, "Traceback" in err) == (2, False), name
    assert {name: (place / "run" / name).read_bytes() for name in RUN_FILES} == files


def test_the_scores_of_a_saved_run_are_no_place_for_a_table(place: Path, evaluation: Evaluation) -> None:
    with pytest.raises(RunError, match="a file of a saved evaluation"):
        export(evaluation, place / "run" / "scores.parquet", overwrite=True)


# Names and links that nothing can be at.


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("export", "run", "--output", LONG), id="export"),
        pytest.param(("labels", "convert", "q.jsonl", LONG, "--to", "csv"), id="convert to csv"),
        pytest.param(("labels", "convert", "q.jsonl", LONG, "--to", "jsonl"), id="convert to jsonl"),
        pytest.param(("labels", "convert", LONG, "new", "--to", "csv"), id="convert from"),
        pytest.param(("report", "run", "-o", f"{LONG}.html"), id="report"),
        pytest.param(("report", "run", "-o", f"{LONG}.csv"), id="report as table"),
        pytest.param(("gate", LONG, "--min", "ndcg@5=0"), id="gate"),
        pytest.param(("gate", "run", "--min", "ndcg@5=0", "--junit", LONG), id="gate --junit"),
        pytest.param(("compare", LONG, "run"), id="compare"),
        pytest.param(("score", "--run", LONG, "--qrels", "r.qrels"), id="score"),
        pytest.param(
            ("evaluate", "q.jsonl", "--system", "piped_system:find", "--output", LONG), id="evaluate --output"
        ),
        pytest.param(("report", "run", "-o", "loop"), id="report into a circle of links"),
        pytest.param(("report", "run", "-o", "loop", "--format", "markdown"), id="report markdown into a circle"),
        pytest.param(("report", "run", "-o", "loop/page.html"), id="report below a circle"),
        pytest.param(("gate", "loop", "--min", "ndcg@5=0"), id="gate of a circle"),
        pytest.param(
            ("gate", "run", "--min", "ndcg@5=0", "--junit", "loop", "--markdown", "m"), id="gate into a circle"
        ),
        pytest.param(("export", "run", "--output", "loop"), id="export into a circle"),
        pytest.param(("labels", "convert", "q.jsonl", "loop", "--to", "csv"), id="convert into a circle"),
        pytest.param(("compare", "loop", "run"), id="compare with a circle"),
        pytest.param(("score", "--run", "loop", "--qrels", "r.qrels"), id="score a circle"),
        pytest.param(("evaluate", "loop", "--system", "piped_system:find"), id="evaluate a circle"),
    ],
)
def test_a_path_that_nothing_can_be_at_is_one_clear_error(place: Path, run: Run, arguments: tuple[str, ...]) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert err.splitlines()[-1].count(LONG[:30]) < 40
    assert any(line.startswith("raglift: error: ") for line in err.splitlines())
    assert (place / "loop").is_symlink()


# The surroundings of the process.


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(("gate", "{run}", "--min", "ndcg@5=0"), 0, id="gate"),
        pytest.param(("compare", "{run}", "{run}"), 0, id="compare"),
        pytest.param(("gate", ".", "--min", "ndcg@5=0"), 2, id="gate of the folder itself"),
        pytest.param(("report", "{run}"), 2, id="report"),
        pytest.param(("export", "{run}", "--output", "x"), 2, id="export"),
        pytest.param(("labels", "convert", "{run}/queries.jsonl", "x", "--to", "jsonl"), 2, id="convert"),
        pytest.param(("evaluate", "{run}/queries.jsonl", "--system", "json:loads", "--output", "x"), 2, id="evaluate"),
    ],
)
def test_a_working_folder_that_was_removed(place: Path, run: Run, arguments: tuple[str, ...], code: int) -> None:
    gone = place / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        ended = run(*(part.format(run=place / "run") for part in arguments))
    finally:
        os.chdir(place)
    assert ended[0] == code, ended
    assert "Traceback" not in ended[2]


def test_a_chat_without_standard_input_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)  # as after `<&-`
    code, out, err = run("chat", "lighthouse", "--model", "none")
    assert (code, out) == (2, "")
    assert "found no standard input" in err
    assert "--question" in err


@pytest.mark.parametrize("columns", ["0", "00", "-0", "-3", "1", "x", "1000000000000"])
def test_a_terminal_of_any_width_shows_something(
    place: Path, run: Run, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    code, out, _ = run("compare", "run", "run")
    assert code == 0
    assert out.strip()


# Memory.


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(MemoryError(), "not enough memory to load", id="MemoryError"),
        pytest.param(
            ImportError("libtorch.so: failed to map segment from shared object"), "not enough memory", id="map"
        ),
        pytest.param(ImportError("libx.so: cannot allocate memory in static TLS block"), "not enough memory", id="TLS"),
        pytest.param(OSError(12, "Cannot allocate memory"), "not enough memory to load", id="ENOMEM"),
        pytest.param(
            ImportError("cannot import name 'x'"), "cannot be imported (cannot import name 'x')", id="version"
        ),
        pytest.param(ModuleNotFoundError("No module named 'x'"), "is not installed", id="not installed"),
    ],
)
def test_a_package_that_cannot_be_loaded_is_not_said_to_be_missing(error: Exception, said: str) -> None:
    def load() -> None:
        raise error

    def load_lazily() -> None:  # as transformers does
        try:
            load()
        except (ImportError, MemoryError, OSError) as cause:
            raise ModuleNotFoundError("Could not import module 'PreTrainedModel'") from cause

    def use(importing: Callable[[], None]) -> None:
        try:
            importing()
        except (ImportError, MemoryError, OSError):
            raise MissingDependency("x", "local", "a test") from None

    with pytest.raises(MissingDependency) as direct:
        use(load)
    assert said in str(direct.value)
    with pytest.raises(MissingDependency) as lazy:
        use(load_lazily)
    assert (said in str(lazy.value)) == ("memory" in said or "not installed" in said)
    assert is_out_of_memory(error) == ("memory" in said)


def test_scores_for_which_there_is_no_memory_are_not_damaged(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object, **__: object) -> object:
        raise MemoryError("malloc of size 64 failed")

    monkeypatch.setattr("pyarrow.parquet.read_table", no_memory)
    with pytest.raises(RunError, match="cannot be read"):  # memory there is, so the file asks for too much
        rl.load_evaluation(place / "run")
    monkeypatch.setattr(loading, "_has_memory_for", lambda _: False)
    with pytest.raises(MemoryError, match=r"scores\.parquet"):
        rl.load_evaluation(place / "run")


def test_a_pipe_in_a_saved_run_is_not_waited_for(place: Path) -> None:
    (place / "run" / "chunks.jsonl").unlink()
    os.mkfifo(place / "run" / "chunks.jsonl")
    with pytest.raises(RunError, match=r"chunks\.jsonl: damaged: found a pipe or a device; expected a file"):
        rl.load_evaluation(place / "run")
