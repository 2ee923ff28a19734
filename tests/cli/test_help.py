"""What `--help` says: panels, whole summaries, examples that can be typed, and exit codes, at any width."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import typer

from raglift.adapters import adapt
from raglift.apps.generation.questions import STYLES
from raglift.apps.tracking.tracking import TRACKERS
from raglift.auditing.relabelling import Form as RelabelForm
from raglift.cli import arguments
from raglift.cli.app import app
from raglift.cli.command import PANELS
from raglift.cli.report import FORMATS as REPORT_FORMATS
from raglift.datasets.formats.catalogue import FORMATS
from raglift.datasets.formats.writing import WRITTEN_FORMATS
from raglift.grading.sampled_units import ESTIMANDS
from raglift.matching.rule import Mode
from raglift.metrics.profiles.registry import PROFILES
from raglift.retrieval.devices import Dtype
from raglift.storage.rankings.forms import Form, WrittenForm

ROOT = typer.main.get_command(app)


def commands(group: Any = ROOT, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


COMMANDS = dict(commands())
WIDTHS = ("60", "80", "120")


def option(command: str, name: str) -> Any:
    return next(each for each in COMMANDS[command].params if name in each.opts)


@pytest.mark.slow
def test_every_command_is_in_a_panel_with_its_whole_summary(run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    sections = re.split(r"^(\w[\w ]*):\n", out, flags=re.MULTILINE)
    assert [heading for heading in sections[1::2] if heading in PANELS] == list(PANELS)
    listed = re.findall(r"^  ([a-z]+(?: [a-z]+)?) {2,}(\S.*)$", "".join(sections[4::2]), re.MULTILINE)
    assert dict(listed).pop("corpus") == ROOT.commands["corpus"].short_help
    summaries = {name: command.short_help for name, command in COMMANDS.items() if not name.startswith("corpus ")}
    assert {name: summary for name, summary in listed if name != "corpus"} == summaries


@pytest.mark.parametrize("name", COMMANDS)
def test_a_summary_has_at_most_45_characters(name: str) -> None:
    assert 0 < len(COMMANDS[name].short_help) <= 45


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_and_exit_codes_at_any_width(name: str, run, monkeypatch) -> None:
    for width in WIDTHS:
        monkeypatch.setenv("COLUMNS", width)
        code, out, _ = run(*name.split(), "--help")
        assert code == 0
        assert "\x1b" not in out
        assert max(map(len, out.splitlines())) <= int(width)
        _, examples, exit_codes = re.split(r"\n\n(?:Examples|Exit codes):\n", out)
        assert [line.removeprefix("  ") for line in examples.splitlines()] == list(COMMANDS[name].examples)
        told = dict(re.findall(r"^  (\d+) +(\S.*)", exit_codes, re.MULTILINE))
        assert {"0", "2", "130"} <= told.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_no_word_of_help_is_broken_at_60_columns(name: str) -> None:
    texts = [COMMANDS[name].help, *(parameter.help for parameter in COMMANDS[name].params)]
    assert [word for text in texts for word in re.split(r"\s|(?<=-)", text) if len(word) > 36] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_can_be_typed(name: str) -> None:
    lines = "\n".join(COMMANDS[name].examples).replace("\\\n", " ").splitlines()
    assert any(line.startswith(f"raglift {name}") for line in lines)
    for line in lines:
        words = shlex.split(line)[1:]
        command = next(found for found in (" ".join(words[:2]), words[0]) if found in COMMANDS)
        COMMANDS[command].make_context(command, words[len(command.split()) :])


@pytest.mark.slow
def test_help_lists_the_options_that_matter_and_help_all_the_rest(run) -> None:
    code, some, _ = run("evaluate", "--help")
    _, every, _ = run("evaluate", "--help-all")
    assert code == 0
    named = [option.opts[-1] for option in COMMANDS["evaluate"].params if option.opts[0].startswith("-")]
    in_some = [name for name in named if re.search(rf"^  (-o, )?{name}\b", some, re.MULTILINE)]
    assert 12 <= len(in_some) <= 17
    assert [name for name in named if not re.search(rf"^  (-\w, )?{name}\b", every, re.MULTILINE)] == []


@pytest.mark.parametrize(
    ("command", "name", "known"),
    [
        ("evaluate", "--profile", PROFILES),
        ("evaluate", "--match", get_args(Mode)),
        ("evaluate", "--dtype", get_args(Dtype)),
        ("labels convert", "--from", FORMATS),
        ("labels convert", "--to", WRITTEN_FORMATS),
        ("labels anchor", "--to", get_args(RelabelForm)),
        ("report", "--format", REPORT_FORMATS),
        ("score", "--from", get_args(Form)),
        ("export", "--format", get_args(WrittenForm)),
        ("track", "--to", TRACKERS),
    ],
)
def test_the_choices_in_help_are_those_of_the_library(command: str, name: str, known: Any) -> None:
    listed = option(command, name).metavar.removesuffix(",...").strip("[]").split("|")
    assert listed == [str(each) for each in known]


def test_the_styles_that_are_completed_are_those_of_the_library() -> None:
    assert arguments.ESTIMANDS == ESTIMANDS
    assert list(arguments.QUESTION_STYLES) == list(STYLES)
    assert adapt.LATE_INTERACTION in arguments.RERANKERS
