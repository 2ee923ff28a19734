"""The pages that follow from the code: the command line, and the Python API. Run as a program it writes them.

The pages of the API hold one directive of mkdocstrings for each public name, for which the signature and the docstring
are put in when the site is built.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import typer

import raglift
from raglift.cli.app import app
from raglift.types.metric import Metric

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "reference"
PACKAGE = ROOT / "src" / "raglift"
LAYER = re.compile(r"^\| `(\w+)` \| (.+) \|$", re.MULTILINE)
"""A package and what it holds, in the table of docs/reference/architecture.md."""
COMMAND_LINE = """\
`raglift COMMAND --help` prints the same in a terminal. Defaults are in brackets. An option of several values
takes them with commas, by repetition, or both: `-k 1,5 -k 10`.

`raglift --install-completion` lets bash, zsh, fish or PowerShell complete commands, options and their values.
"""


def command_line() -> str:
    """The page on the command line."""
    root = typer.main.get_command(app)
    lines = ["# Command line", "", *COMMAND_LINE.splitlines()]
    for name, command in commands(root, "raglift"):
        lines += ["", f"## {name}", "", command.help.strip(), "", "```text", _usage(name, command), "```", ""]
        lines += [_told(parameter) for parameter in command.params if not parameter.hidden]
        lines += ["", "Examples:", "", "```sh", *command.examples, "```", ""]
        exit_codes = sorted(command.exit_codes.items())
        lines += ["Exit codes:", "", *(f"- `{code}`: {meaning}" for code, meaning in exit_codes)]
    return "\n".join(lines) + "\n"


def commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield each command that is no group, with its words."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _usage(name: str, command: Any) -> str:
    shown = [parameter for parameter in command.params if not parameter.hidden]
    words = [_argument(parameter) for parameter in shown if _is_argument(parameter)]
    options = [] if len(words) == len(shown) else ["[OPTIONS]"]
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
    no = () if parameter.default is False else parameter.secondary_opts
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *no))
    default = parameter.default
    if isinstance(default, tuple | list):
        default = ",".join(default) or None
    shown = "" if default is None or isinstance(default, bool) else f" (`{default}`)"
    metavar = (parameter.metavar or "").removesuffix(",...")
    word = "One of" if metavar == parameter.metavar else "Any of"
    choices = metavar.strip("[]").split("|") if metavar.startswith("[") else []
    listed = f" {word} {', '.join(f'`{each}`' for each in choices)}." if choices else ""
    return f"- {names}{' (required)' if parameter.required else shown}: {parameter.help}{listed}"


@dataclass(frozen=True)
class PublicName:
    """A name that a package offers."""

    package: str
    """The package, as `raglift.metrics`."""
    name: str
    """The name in it."""
    module: str
    """The module that defines it."""

    @property
    def path(self) -> str:
        """The dotted name by which users import it."""
        return f"{self.package}.{self.name}"

    @property
    def documented_as(self) -> str:
        """The dotted name under which it is documented: that of `raglift` itself where it has one."""
        value = getattr(importlib.import_module(self.package), self.name)
        return f"raglift.{self.name}" if getattr(raglift, self.name, None) is value else self.path


def public_names() -> dict[str, list[PublicName]]:
    """Return the public names by package: `raglift` first, then the packages in the order of their layers."""
    found = {"raglift": _of_stub(PACKAGE / "__init__.pyi")}
    for layer, _ in layers():
        if layer == "errors":
            found["raglift.errors"] = _errors()
        for stub in sorted((PACKAGE / layer).rglob("__init__.pyi")):
            found[_dotted(stub)] = _of_stub(stub)
    return found


def layers() -> list[tuple[str, str]]:
    """Return the packages right below raglift and what each holds, as docs/reference/architecture.md lists them."""
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    return LAYER.findall(page.partition("<!-- layers -->")[2].partition("<!-- end of layers -->")[0])


def _dotted(stub: Path) -> str:
    return ".".join(("raglift", *stub.parent.relative_to(PACKAGE).parts))


def _of_stub(stub: Path) -> list[PublicName]:
    package = _dotted(stub)
    return [
        PublicName(package, alias.asname or alias.name, f"{package}.{node.module}")
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]


def _errors() -> list[PublicName]:
    """Return the classes of raglift.errors, a module without a stub whose names are all public."""
    tree = ast.parse((PACKAGE / "errors.py").read_text(encoding="utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    return [PublicName("raglift.errors", name, "raglift.errors") for name in names]


def api() -> str:
    """The page on the names of raglift itself, and the list of the pages on its packages."""
    lines = [
        "# Python",
        "",
        "```python",
        "import raglift as rl",
        "```",
        "",
        "This page documents the names of `raglift` itself. Each package has a page with the names that can be",
        "imported from it, as in `from raglift.metrics import NDCG`. A name on none of these pages may change without",
        "notice.",
        "",
        "| package | what it holds |",
        "|---|---|",
        *(f"| [raglift.{layer}](api/{layer}.md) | {about} |" for layer, about in layers() if _of_layer(layer)),
    ]
    for name in sorted(public_names()["raglift"], key=lambda name: name.name.casefold()):
        lines += ["", *_directive(name, heading_level=2)]
    return "\n".join(lines) + "\n"


def _of_layer(layer: str) -> dict[str, list[PublicName]]:
    """Return the public names of a package and of the packages in it."""
    return {
        package: names
        for package, names in public_names().items()
        if package == f"raglift.{layer}" or package.startswith(f"raglift.{layer}.")
    }


def api_package(layer: str) -> str:
    """The page on the names of one package and of the packages in it."""
    lines = [f"# raglift.{layer}", "", dict(layers())[layer]]
    for package, names in _of_layer(layer).items():
        is_inner = package != f"raglift.{layer}"
        if is_inner:
            lines += ["", f"## {package}", "", _about(package)]
        at_the_top = [f"[{name.name}][{name.documented_as}]" for name in names if name.documented_as != name.path]
        if at_the_top:
            lines += ["", f"Also here, and documented as names of `raglift`: {', '.join(at_the_top)}."]
        for name in names:
            if name.documented_as == name.path:
                lines += ["", *_directive(name, heading_level=3 if is_inner else 2)]
    return "\n".join(lines) + "\n"


def _about(package: str) -> str:
    """Return the first paragraph of a package's docstring."""
    return (inspect.getdoc(importlib.import_module(package)) or "").partition("\n\n")[0]


def _directive(name: PublicName, heading_level: int) -> list[str]:
    """Return the lines for which mkdocstrings puts the documentation of a name."""
    options = [] if heading_level == 2 else [f"      heading_level: {heading_level}"]
    if isinstance(getattr(importlib.import_module(name.package), name.name), Metric):
        options.append("      show_signature: false")  # a metric is a value, though a decorated function defines it
    return [f"::: {name.path}", *(["    options:", *options] if options else [])]


PAGES: dict[str, Callable[[], str]] = {
    "command_line.md": command_line,
    "api.md": api,
    **{f"api/{layer}.md": partial(api_package, layer) for layer, _ in layers() if _of_layer(layer)},
}

if __name__ == "__main__":
    (DOCS / "api").mkdir(exist_ok=True)
    for stale in set((DOCS / "api").glob("*.md")) - {DOCS / page for page in PAGES}:
        stale.unlink()
    for page, text in PAGES.items():
        (DOCS / page).write_text(text(), encoding="utf-8")
