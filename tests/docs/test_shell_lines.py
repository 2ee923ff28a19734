"""Every command line that the documentation shows could be typed unchanged: its options and files are there."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import raglift as rl
from raglift.cli.app import app

from .pages import PAGES, ROOT, Block, Page, differ, differing, excused, read_page

pytestmark = pytest.mark.slow

COMMANDS = typer.main.get_command(app)
READ = {str(path.relative_to(ROOT)): read_page(path) for path in PAGES}
GROUP = type(COMMANDS)
FOLLOWING = {"docs/how-to/gates.md": (0, 1), "docs/tutorials/case_study.md": (0, 0, 0, 0)}
"""Pages with commands that need what earlier ones leave behind, and the exit codes of those whose output is shown."""
ELSEWHERE = {"README.md", "docs/how-to/abstention.md", "docs/how-to/tuning.md", *FOLLOWING}
INLINE = re.compile(r"`raglift ([^`]+)`")


def lines(page: Page) -> list[str]:
    """The command lines of a page, whole where they are continued, without what is printed below them."""
    found = []
    for block in page.of("sh", "console"):
        shown = block.text.replace("\\\n", " ").splitlines()
        if block.language == "console":
            shown = [line.removeprefix("$ ") for line in shown if line.startswith("$ ")]
        found += [line for line in shown if line.strip() and not line.startswith("#")]
    return found


def shown(page: Page) -> list[tuple[Block, Block]]:
    """The commands of a page that stand alone, with what is shown right below them."""
    pairs = ((output.follows, output) for output in page.of("text") if not excused(output, "not compared"))
    return [(command, output) for command, output in pairs if command and re.fullmatch(r"raglift .*\n", command.text)]


def parse(arguments: list[str]) -> None:
    """Read a command line as raglift would, and do nothing.

    Raises:
        UsageError: it would be refused.
    """
    context = COMMANDS.make_context("raglift", list(arguments), resilient_parsing=False)
    command = COMMANDS
    while isinstance(command, GROUP):
        rest = [*context._protected_args, *context.args]
        name, command, rest = command.resolve_command(context, rest)
        assert command
        context = command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("name", [name for name, page in READ.items() if lines(page)])
def test_the_command_lines_of_a_page_can_be_typed(name: str) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for line in lines(READ[name]):
        words = [word for word in shlex.split(line, comments=True) if not re.match(r"[A-Z_]+=", word)]
        match words:
            case ["raglift", *arguments]:
                parse(arguments)
            case ["make", *wanted]:
                assert set(wanted) <= targets, line
            case ["python" | ".venv/bin/python", script, *_] if script.endswith(".py"):
                assert (ROOT / script).is_file(), line


@pytest.mark.parametrize("name", [name for name, page in READ.items() if lines(page)])
def test_no_command_of_a_page_writes_where_an_earlier_one_wrote(name: str) -> None:
    written = [
        target
        for line in lines(READ[name])
        if not re.search("--overwrite|--resume|--estimate", line)
        for target in re.findall(r"^raglift (?:evaluate|score|labels \w+) .*(?:-o|--output) (\S+)", line)
    ]
    assert sorted(written) == sorted(set(written))


@pytest.mark.parametrize("name", READ)
def test_the_options_that_a_page_speaks_of_are_there(name: str) -> None:
    for command in INLINE.findall(READ[name].path.read_text(encoding="utf-8").replace("\n", " ")):
        words = command.split()
        assert words[0].startswith("-") or words[0].isupper() or words[0] in COMMANDS.commands, command
        if words[0] in COMMANDS.commands and isinstance(COMMANDS.commands[words[0]], GROUP):
            assert len(words) == 1 or words[1] in COMMANDS.commands[words[0]].commands, command
        known = options(words)
        assert {word.partition("=")[0] for word in words if word.startswith("-")} <= known, command


def options(words: list[str]) -> set[str]:
    """The options of the command that words begin with."""
    command = COMMANDS.commands.get(words[0], COMMANDS)
    if isinstance(command, GROUP) and command is not COMMANDS:
        command = command.commands.get("".join(words[1:2]), command)
    return {text for parameter in command.params for text in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}


@pytest.mark.parametrize("name", [name for name, page in READ.items() if name not in ELSEWHERE and shown(page)])
def test_a_command_prints_what_is_shown_below_it(name: str, tmp_path: Path) -> None:
    for command, output in shown(READ[name]):
        call = [sys.executable, "-m", *shlex.split(command.text)]
        printed = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        assert differing(output.text, printed) is None


@pytest.mark.full
@pytest.mark.parametrize("name", FOLLOWING)
def test_the_commands_of_a_page_follow_from_one_another(name: str, tmp_path: Path) -> None:
    page = READ[name]
    shown = [output for output in page.of("text") if output.follows in page.of("sh")]
    outputs = [output for output in shown if not excused(output, "not compared")]
    for output, code in zip(outputs, FOLLOWING[name], strict=True):
        for line in output.follows.text.splitlines():
            done = subprocess.run(
                [sys.executable, "-m", *shlex.split(line)], cwd=tmp_path, capture_output=True, text=True
            )
        assert done.returncode == code, done.stderr
        assert differ(page, output.text, done.stdout) is None


def test_the_commands_of_the_quick_start_follow_from_its_files(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = READ["docs/tutorials/quick_start.md"]
    exec(page.python[0].text, {})  # noqa: S102 — the documentation's own
    assert len(lines(page)) == 5
    for line in lines(page):
        program, *arguments = shlex.split(line)
        assert (program, run(*arguments)[0]) == ("raglift", 0), line
    assert (tmp_path / "report.html").exists()


@pytest.mark.full
def test_the_commands_of_the_datasets_page_run(tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "tests" / "datasets" / "fixtures", tmp_path / "fixtures")
    (block,) = READ["docs/how-to/datasets.md"].of("console")
    rows = [{"inputs": {"ask": "When is the lamp lit?"}, "split": "test", "evidence": "at dusk|by the keeper"}]
    (folder / "export.json").write_text(json.dumps({"rows": rows}))
    outputs = []
    for line in lines(READ["docs/how-to/datasets.md"]):
        call = [sys.executable, "-m", *shlex.split(line)]
        outputs.append(subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True).stdout)
    assert len(outputs) == len(lines(READ["docs/how-to/datasets.md"]))
    assert any(output in block.text for output in outputs)


def test_the_files_for_other_tools_are_those_that_the_page_exports(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    labels = rl.Dataset.from_dict({"When is the lamp lit?": ["at dusk"]})
    rl.evaluate(lambda question, k: ["It is lit at dusk."], labels).save("runs/first")
    commands = [shlex.split(line) for line in lines(READ["docs/reference/run_files.md"])]
    for words in commands:
        if words[:2] == ["raglift", "export"]:
            assert CliRunner().invoke(app, words[1:]).exit_code == 0, words
    read = {word for words in commands if words[1:2] != ["export"] for word in words if word.startswith("exports/")}
    assert len(read) == 2
    assert [name for name in sorted(read) if not Path(name).is_file()] == []
