"""Earlier names of commands and options: they do the same, and no help or completion shows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from raglift.cli.app import app
from raglift.cli.old_names import COMMANDS, OPTIONS

ROOT = typer.main.get_command(app)


@pytest.fixture
def read(run, monkeypatch) -> Callable[..., Any]:
    """Return what a command is given by a command line."""

    def given(function: str, *words: object) -> Any:
        found: list[Any] = []
        monkeypatch.setattr(f"raglift.cli.{function}", found.append)
        code, _, err = run(*words)
        assert (code, err) == (0, "")
        return found[0]

    return given


@pytest.mark.parametrize("old", COMMANDS)
def test_an_earlier_name_is_the_same_command(old: str, run) -> None:
    assert run(old, "--help") == run(*COMMANDS[old], "--help")
    assert run(old, "--help")[0] == 0
    assert old not in ROOT.commands


@pytest.mark.parametrize(("name", "old"), [(name, old) for name, options in OPTIONS.items() for old in options])
def test_an_earlier_spelling_is_not_in_help(name: str, old: str, run) -> None:
    groups = [(), ("labels",), ("files",)]
    words = next((*group, name) for group in groups if name in (ROOT.commands[group[0]] if group else ROOT).commands)
    _, out, _ = run(*words, "--help")
    assert f" {OPTIONS[name][old]}" in out
    assert f"{old} " not in out


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        ("evaluate.run", "evaluate x --save out --ks 1,5", "evaluate x -o out -k 1,5"),
        ("sweep.run", "sweep x.yaml --out out", "sweep x.yaml --output out"),
        ("rescore.run", "rescore x --save out --ks 1", "files rescore x -o out -k 1"),
        ("audit.run", "audit x --ks 1", "labels check x -k 1"),
        ("review.run", "review x y --depth 5", "labels review x y -k 5"),
        ("grade.run", "grade x -o y --depth 5", "labels grade x -o y -k 5"),
        ("generate.run", "generate x -o y.jsonl --report z.md", "labels generate x -o y.jsonl,z.md"),
        ("score.run", "score --run x --qrels y --form trec", "files score --run x --qrels y --from trec"),
    ],
)
def test_an_earlier_spelling_means_the_same(function: str, old: str, new: str, read) -> None:
    assert read(function, *old.split()) == read(function, *new.split())


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("scroe",), "'raglift files score'"),
        (("check",), "'raglift labels check'"),
        (("labels", "score"), "'raglift files score'"),
        (("files", "exprt"), "'raglift files export'"),
        (("relabl",), "'raglift labels anchor'"),
        (("evalute",), "'raglift evaluate'"),
        (("corpus", "shw"), "'raglift corpus show'"),
    ],
)
def test_a_mistyped_name_suggests_the_command_with_its_group(typed: tuple[str, ...], meant: str, run) -> None:
    code, _, err = run(*typed)
    assert code == 2
    assert f"Did you mean {meant}" in err


def test_a_name_like_none_points_to_the_list(run) -> None:
    assert run("xyzzy")[2].endswith("No such command 'xyzzy'. raglift --help lists them all.\n")


def test_files_may_be_given_by_position_as_before_but_not_twice(run, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    assert run("convert", "lighthouse", old)[0] == 0
    assert run("labels", "convert", "lighthouse", "-o", new)[0] == 0
    assert (old / "queries.jsonl").read_bytes() == (new / "queries.jsonl").read_bytes()
    for words in (("-o", tmp_path / "x", tmp_path / "y"), ()):
        code, _, err = run("labels", "convert", "lighthouse", *words)
        assert (code, err.startswith("raglift: error: --output: found ")) == (2, True)


def test_the_size_of_chunks_is_not_given_twice(run) -> None:
    code, _, err = run("evaluate", "lighthouse", "--chunker", "token:40/0", "--chunk-overlap", "3")
    assert code == 2
    assert (
        err == "raglift: error: --chunk-overlap: found it with --chunker token:40/0; expected all of it in --chunker\n"
    )
