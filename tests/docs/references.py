"""The pages that follow from the code: docs/command_line.md and docs/api.md. Run as a program it writes them."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import raglift
from raglift import records, results
from raglift.cli.app import app
from raglift.running.options import Options

DOCS = Path(__file__).parents[2] / "docs"
RECORDS = (
    ("Evaluation", results.Evaluation),
    ("Comparison", results.Comparison),
    ("Dataset", records.Dataset),
)
"""What functions return, whose methods and properties are listed."""


def command_line() -> str:
    """The page on the command line."""
    root = typer.main.get_command(app)
    lines = ["# Command line", "", "`raglift COMMAND --help` prints the same in a terminal. Defaults are in brackets."]
    for name, command in _commands(root, "raglift"):
        lines += ["", f"## {name}", "", command.help.strip(), "", "```text", _usage(name, command), "```", ""]
        lines += [_told(parameter) for parameter in command.params if not parameter.hidden]
    return "\n".join(lines) + "\n"


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _usage(name: str, command: Any) -> str:
    arguments = [parameter for parameter in command.params if _is_argument(parameter)]
    words = [_argument(parameter) for parameter in arguments]
    options = [] if len(arguments) == len(command.params) else ["[OPTIONS]"]
    return " ".join([name, *options, *words])


def _argument(parameter: Any) -> str:
    word = parameter.name.upper() + ("..." if parameter.nargs == -1 else "")
    return word if parameter.required else f"[{word}]"


def _is_argument(parameter: Any) -> bool:
    return not parameter.opts[0].startswith("-")


def _told(parameter: Any) -> str:
    """An argument or option with its default and its help."""
    if _is_argument(parameter):
        return f"- `{_argument(parameter)}`: {parameter.help}"
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    default = parameter.default
    shown = "" if default is None or isinstance(default, bool) or default == () else f" (`{default}`)"
    return f"- {names}{' (required)' if parameter.required else shown}: {parameter.help}"


def api() -> str:
    """The page on the public names."""
    lines = [
        "# Python",
        "",
        "```python",
        "import raglift as rl",
        "```",
        "",
        "What it offers, and what its functions return. The records behind them are in `raglift.records`, metrics as",
        "values in `raglift.metrics` ([metrics](metrics.md)), its own retrievers in `raglift.retrieval`, statistics",
        "for numbers from elsewhere in `raglift.significance` ([statistics](statistics.md)), test doubles in",
        "`raglift.testing` ([functions and objects](functions.md#test-doubles)).",
    ]
    for name in raglift.__all__:
        lines += ["", f"## rl.{name}", *_described(f"rl.{name}", getattr(raglift, name))]
    for name, record in RECORDS:
        lines += ["", f"## What {_article(name)} offers"]
        members = {member: value for cls in reversed(record.__mro__[:-1]) for member, value in vars(cls).items()}
        for member, value in sorted(members.items()):
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, (property, classmethod))):
                lines += ["", f"### {name}.{member}", *_described(f"{name}.{member}", _function(value))]
    return "\n".join(lines) + "\n"


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _function(value: Any) -> Any:
    """The function behind a method; a property stays one."""
    return value.__func__ if isinstance(value, classmethod) else value


def _described(name: str, value: Any) -> list[str]:
    """A signature and a docstring as Markdown."""
    signature = [] if isinstance(value, property) else ["", "```text", _signature(name, value), "```"]
    fields = _fields(value) if inspect.isclass(value) else []
    if value is raglift.evaluate:
        fields = ["", "**Options**", *_fields(Options)]
    return [*signature, "", _docstring(value), *fields]


def _signature(name: str, value: Any) -> str:
    if inspect.isclass(value) and issubclass(value, Exception):
        return f"class {name}(Exception)"
    parameters = inspect.signature(value).parameters.values()
    parts: list[str] = []
    for parameter in parameters:
        if parameter.name in {"self", "cls"}:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(_parameter(parameter))
    inner = ", ".join(parts)
    if len(name) + len(inner) < 100:
        return f"{name}({inner})"
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def _parameter(parameter: inspect.Parameter) -> str:
    """One parameter unchanged in the code, where annotations are texts already."""
    name = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
    annotation = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
    return name + annotation + ("" if parameter.default is parameter.empty else f" = {parameter.default!r}")


def _fields(cls: type) -> list[str]:
    """The fields of a record that say what they are, in the line below each."""
    found = {}
    for base in (base for base in reversed(cls.__mro__) if base.__module__.startswith("raglift")):
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(definition, ast.ClassDef)
        for field, below in itertools.pairwise(definition.body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                said = inspect.cleandoc(below.value.value).replace("\n", "\n  ")
                found[ast.unparse(field.target)] = f"- `{ast.unparse(field.target)}`: {said}"
    return ["", *found.values()] if found else []


def _docstring(value: Any) -> str:
    """A Google docstring, whose sections become lists."""
    lines: list[str] = []
    section = ""
    for line in (inspect.getdoc(value) or "").splitlines():
        if line.rstrip() in {"Args:", "Raises:", "Returns:"}:
            section = line.rstrip()
            lines += [f"**{section[:-1]}**", ""]
        elif section in {"Args:", "Raises:"} and (entry := re.match(r"    (\**\w+): (.*)", line)):
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        elif section:
            lines.append(("  " if section != "Returns:" else "") + line.strip() if line.strip() else "")
        elif line.startswith("    "):
            lines += ["```python", line.strip(), "```"]
        else:
            lines.append(line)
    return "\n".join(lines).strip()


PAGES = {"command_line.md": command_line, "api.md": api}

if __name__ == "__main__":
    for page, text in PAGES.items():
        (DOCS / page).write_text(text(), encoding="utf-8")
