"""Options of several values: repeated, with commas, or both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from raglift.cli.app import app
from raglift.cli.arguments import separate

ROOT = typer.main.get_command(app)
REPEATED_ONLY = {"decode", "where"}
"""Options whose values have commas of their own."""
COMMANDS = ROOT.commands | {
    f"{group} {name}": command
    for group in ROOT.commands
    for name, command in getattr(ROOT.commands[group], "commands", {}).items()
}
OPTIONS = [
    (name, option)
    for name, command in COMMANDS.items()
    for option in command.params
    if getattr(option, "multiple", False) and option.name not in REPEATED_ONLY
]


def required(command: Any, but: Any) -> Iterator[str]:
    for each in command.params:
        if each.required and each is not but:
            yield from ("x",) if each.param_type_name == "argument" else (each.opts[0], "x")


@pytest.mark.slow
@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=lambda each: getattr(each, "name", each))
def test_commas_and_repetition_say_the_same(command: str, option: Any, run, monkeypatch) -> None:
    read: list[Any] = []
    declared = COMMANDS[command]
    monkeypatch.setattr(declared.function.replace(":", "."), read.append)
    name = option.opts[0]
    rest = [*command.split(), *required(declared, option)]
    for values in ((name, "a=1", name, "b=2", name, "c=3"), (name, "a=1, b=2", name, "c=3")):
        assert run(*rest, *values)[0] == 0
    repeated, with_commas = (getattr(each, option.name) for each in read)
    assert len(repeated) == 3
    assert repeated == with_commas


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (("a, b", "c"), ("a", "b", "c")),
        (("ndcg(gain=exponential,log=2)@10=0.75,mrr=1",), ("ndcg(gain=exponential,log=2)@10=0.75", "mrr=1")),
        (("1,,5",), ("1", "5")),
        ((",",), (",",)),
        (("",), ("",)),
    ],
)
def test_commas_in_brackets_do_not_separate(given: tuple[str, ...], found: tuple[str, ...]) -> None:
    assert separate(given) == found
