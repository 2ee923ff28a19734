"""How a command is declared: a record of its arguments and options, with its panel, examples and exit codes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import ArgumentInfo, OptionInfo

from raglift.cli.arguments import choice
from raglift.utilities.settings import Setting, fields_of, hints_of

START, MEASURE, LABELS, CI, FILES, MORE = "Start", "Measure", "Labels", "CI", "Files", "More"
PANELS = (START, MEASURE, LABELS, CI, FILES, MORE)
"""The panels of `raglift --help`, in their order."""
EXIT_CODES = {
    0: "Done.",
    2: "Error in the command, its input or the run; the message says what to change.",
    130: "Stopped with Ctrl-C.",
}
"""The exit codes of every command; a command may describe them more exactly."""
FIRST_STEPS = (
    "raglift demo",
    "raglift evaluate shop_support -o runs/first",
    "raglift report runs/first",
    "raglift COMMAND --help",
)

_WIDE = 76
"""The width from which long names of options have a column of their own."""

Options = TypeVar("Options")
"""The arguments and options of a command as a frozen dataclass."""


RARE = "rare"
"""For `Annotated`: only `--help-all` lists the option."""


@dataclass(frozen=True)
class FromProject:
    """For `Annotated`: where the command line leaves the parameter out, `[tool.raglift]` of the project sets it."""

    key: str
    """The key in that table."""


class Command(TyperCommand):
    """A command whose help ends with examples and its exit codes; `--help-all` lists options that few need too."""

    function: ClassVar[str]
    """The function that runs it, as `module:name`."""
    examples: ClassVar[Sequence[str]] = ()
    """Lines to type, each of at most 58 characters so that no terminal breaks it."""
    exit_codes: ClassVar[Mapping[int, str]] = EXIT_CODES
    """What each exit code means."""
    rare: ClassVar[frozenset[str]] = frozenset()
    """The options that only `--help-all` lists."""
    project: ClassVar[Mapping[str, str]] = {}
    """The parameters whose defaults a project can set, and the key of `[tool.raglift]` for each."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; what it leaves out is as the project says, and a line on stderr says so."""
        is_help = ctx.resilient_parsing or _HELP.intersection(args)
        project = None if is_help or not self.project else resolve_name("raglift.cli.project:find_project")()
        if project is not None:
            keys = [(each, self.project.get(each.name or "")) for each in self.params]
            ctx.default_map = {
                each.name or "": _value_of(each, project.options[key]) for each, key in keys if key in project.options
            }
        rest = super().parse_args(ctx, args)
        if project is not None:
            sources = {key: ctx.get_parameter_source(name) for name, key in self.project.items()}
            taken = [key for key, source in sources.items() if source is not None and source.name == "DEFAULT_MAP"]
            sys.stderr.write(project.taken(taken))
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options, in a narrow terminal with more space for what they mean."""
        names_width = 30 if formatter.width >= _WIDE else 18
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], "More options": []}
        for parameter in self.get_params(ctx):
            is_rare = parameter.name in self.rare
            is_argument = parameter.param_type_name == "argument"
            heading = "Arguments" if is_argument else "More options" if is_rare else "Options"
            record = None if is_rare and _HELP_ALL not in ctx.meta else _help_record(parameter, ctx)
            rows[heading] += [_fitting(*record, formatter.width)] if record else []
        widest = max(len(name) for heading, listed in rows.items() if heading != "Arguments" for name, _ in listed)
        for heading, listed in rows.items():
            column = 0 if heading == "Arguments" else min(widest, names_width)  # the same in all sections of options
            if listed:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(column), meaning) for name, meaning in listed], col_max=names_width)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 — as click calls it
        """Write the examples and the exit codes."""
        _write_lines(formatter, "Examples", self.examples)
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in sorted(self.exit_codes.items())])


class Group(TyperGroup):
    """A group that lists its commands in panels, with whole summaries."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section for each panel; a group without panels has one."""
        listed = [row for name in self.list_commands(ctx) for row in self._rows(name)]
        width = max(len(name) for name, _, _ in listed)
        for panel in (*PANELS, None):
            rows = [(name.ljust(width), summary) for name, summary, its_panel in listed if its_panel == panel]
            if rows:
                with formatter.section(panel or "Commands"):
                    formatter.write_dl(rows)

    def _rows(self, name: str) -> Iterator[tuple[str, str, str | None]]:
        """Return what is listed for a command: name, summary and panel; a group with a panel of its own in full."""
        command = self.commands[name]
        panel = getattr(command, "rich_help_panel", None)
        is_alone = [getattr(each, "rich_help_panel", None) for each in self.commands.values()].count(panel) == 1
        if is_alone and isinstance(command, TyperGroup):
            for inner, each in command.commands.items():
                yield f"{name} {inner}", each.short_help or "", panel
        else:
            yield name, command.short_help or command.get_short_help_str(), panel

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the first steps below the list of all commands."""
        if ctx.parent is None:
            _write_lines(formatter, "First steps", FIRST_STEPS)


def _value_of(parameter: Any, value: Any) -> Any:
    """Return a setting of the project as click takes it: a list where several values can be given."""
    is_several = parameter.nargs == -1 or getattr(parameter, "multiple", False)
    return [value] if is_several and not isinstance(value, list) else value


def _help_record(parameter: Any, ctx: Any) -> tuple[str, str] | None:
    """Return the row of help for an argument or option; a switch that is off has no second name to turn it off."""
    if getattr(parameter, "is_bool_flag", False) and parameter.default is False:
        parameter = copy(parameter)
        parameter.secondary_opts, parameter.show_default = [], False
    record: tuple[str, str] | None = parameter.get_help_record(ctx)
    return record


def _fitting(names: str, meaning: str, width: int) -> tuple[str, str]:
    """Return a row of help; a list of choices that does not fit in a line is moved to the text, which is wrapped."""
    names = names.replace("<list[Path]>", "<path>")
    if len(names) + 2 <= width or " [" not in names:
        return names, meaning
    name, _, listed = names.partition(" [")
    choices, _, several = listed.partition("]")
    return f"{name} <str>{several}", f"{meaning}  [{', '.join(choices.split('|'))}]"


def _write_lines(formatter: Any, heading: str, lines: Sequence[str]) -> None:
    with formatter.section(heading):
        for line in lines:
            formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def new_group(**settings: Any) -> typer.Typer:
    """Return an empty group of commands. Its help is plain text, which needs no colours and no wide terminal."""
    return typer.Typer(cls=Group, rich_markup_mode=None, no_args_is_help=True, **settings)


def command(
    group: typer.Typer,
    name: str,
    panel: str | None,
    summary: str,
    *,
    run: str,
    examples: Sequence[str],
    exit_codes: Mapping[int, str] | None = None,
) -> Callable[[type[Options]], type[Options]]:
    """Add a command to a group: a frozen dataclass whose fields are its arguments and options.

    Args:
        group: the group that the command belongs to.
        name: the name of the command.
        panel: the panel of `raglift --help` that lists the command; None in a group without panels.
        summary: the summary in that list, at most 45 characters. The docstring of the class is the command's own help.
        run: the function that runs the command, as `module:name`; it is imported when it is called.
        examples: command lines at the end of its help.
        exit_codes: those that are not in `EXIT_CODES`, or mean something more exact.
    """

    def declare(options: type[Options]) -> type[Options]:
        attributes = {
            "function": run,
            "examples": tuple(examples),
            "exit_codes": {**EXIT_CODES, **(exit_codes or {})},
            "rare": frozenset(name for name, field in _fields(options).items() if field.is_rare),
            "project": {name: field.project for name, field in _fields(options).items() if field.project},
        }
        cls = type(options.__name__, (Command,), attributes)
        group.command(name, cls=cls, help=options.__doc__, short_help=summary, rich_help_panel=panel)(
            _callback(options, run)
        )
        return options

    return declare


def _show_all(ctx: typer.Context, is_set: bool) -> None:
    if is_set:
        ctx.meta[_HELP_ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


_HELP = {"--help", "--help-all"}
_HELP_ALL = "help_all"
_HELP_ALL_PARAMETER = inspect.Parameter(
    _HELP_ALL,
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool, typer.Option("--help-all", is_eager=True, callback=_show_all, help="Show all options and exit.")
    ],
)


@dataclass(frozen=True)
class _Field:
    """An argument or option, as a class declares it or as it follows from a setting."""

    base: Any
    """The type that typer reads."""
    extras: tuple[Any, ...]
    """The description for typer and, of several values, what separates them."""
    default: Any
    is_rare: bool
    project: str
    """The key of `[tool.raglift]` that sets its default; empty for none."""


def _fields(options: type) -> dict[str, _Field]:
    """Return the arguments and options: what the class declares, then the settings that it inherits.

    The docstring below a field is its help, unless its description for typer has one; a field without such a
    description is an option of its type. One that the class only inherits is rare. A setting that no command line can
    state, such as a list of chunks, is left out.
    """
    hints, settings = hints_of(options), fields_of(options)
    declared_names = list(options.__annotations__)
    declared: dict[str, _Field] = {}
    for name in (*declared_names, *(name for name in settings if name not in declared_names)):
        setting = settings[name]
        base, *extras = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        info = next((extra for extra in extras if isinstance(extra, OptionInfo | ArgumentInfo)), None)
        if info is None:
            if setting.choices or setting.kind in (bool, int, float, str, Path):
                base = str if setting.choices else setting.kind
                base = base | None if setting.is_optional else base
            elif get_origin(base) is not tuple:
                continue
            info = _option(setting)
        is_rare = RARE in extras or name not in declared_names
        project = next((extra.key for extra in extras if isinstance(extra, FromProject)), "")
        extras = [extra for extra in extras if inspect.isfunction(extra)]
        declared[name] = _Field(base, (_with_help(info, setting, project), *extras), setting.default, is_rare, project)
    return declared


def _option(setting: Setting) -> Any:
    """Return the option for a field; a switch that is off has no second name to turn it off."""
    if setting.choices:
        return choice(setting.choices)
    is_off = setting.kind is bool and setting.default is False
    return typer.Option(f"--{setting.name.replace('_', '-')}") if is_off else typer.Option()


def _with_help(info: OptionInfo | ArgumentInfo, setting: Setting, project: str) -> OptionInfo | ArgumentInfo:
    info = copy(info)
    info.help = info.help or setting.description.replace("`", "")
    info.help += f" [pyproject.toml: {project}]" if project else ""
    return info


def _callback(options: type[Any], run: str) -> Callable[..., None]:
    """Return the function that typer reads the parameters from and calls.

    Several values are a tuple in the dataclass, empty if none are given. typer has a list for them, or None. If
    the annotation holds a function that separates values, such as `choices.separate`, it is applied.
    """
    parameters = []
    separators: dict[str, Callable[[Sequence[Any]], Sequence[Any]]] = {}
    for name, field in _fields(options).items():
        base: Any = field.base
        extras, default = list(field.extras), field.default
        if get_origin(base) is tuple:
            item: Any = get_args(base)[0]
            separators[name] = separator = next(filter(inspect.isfunction, extras), tuple)
            extras = [_of_several(extra, item, separator) for extra in extras]
            base = list[item]
        if default == ():
            base, default = base | None, None  # typer's own value for none
        default = inspect.Parameter.empty if default is MISSING else default
        annotation = Annotated[base, *extras]
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    if any(field.is_rare for field in _fields(options).values()):
        parameters.append(_HELP_ALL_PARAMETER)

    def callback(**values: Any) -> None:
        values.pop(_HELP_ALL, None)
        several = {name: tuple(separator(values[name] or ())) for name, separator in separators.items()}
        resolve_name(run)(options(**{**values, **several}))

    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    callback.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return callback


def _of_several(extra: Any, item: type, separator: object) -> Any:
    """Return the description of an option with a metavar that says whether commas separate several values."""
    if not isinstance(extra, OptionInfo):
        return extra
    extra = copy(extra)
    one = extra.metavar or f"<{item.__name__.lower()}>"
    extra.metavar = one if separator is tuple else f"{one},..."
    return extra
