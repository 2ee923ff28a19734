"""`[tool.raglift]` in a project's pyproject.toml: what some options are where the command line does not name them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from raglift.errors import ConfigurationError
from raglift.matching.rule import MODES
from raglift.metrics.parsing import parse_depth
from raglift.utilities.display import printable
from raglift.utilities.limits import is_file, is_there, user_path
from raglift.utilities.settings import Bounds, OneOf, fields_of
from raglift.utilities.strict_files import decode_text, read_bytes
from raglift.utilities.validation import Location, described, unknown_field

_FILE = "pyproject.toml"
_THRESHOLD = re.compile(r"\s*(?P<metric>[^<>=\s][^<>]*?)\s*>=\s*(?P<bound>[0-9.]+)\s*")


@dataclass(frozen=True, kw_only=True)
class ProjectSettings:
    """The keys of `[tool.raglift]`, all of them optional."""

    dataset: str | None = None
    """Labelled queries, as `raglift evaluate` takes them; a path is relative to the file."""
    k: int | str | Sequence[int | str] | None = None
    """Depths of the metrics: numbers of hits, and budgets such as `tokens(2000)`."""
    match: Annotated[str | None, OneOf(lambda: MODES)] = None
    """What counts as a match."""
    budget: Annotated[int | None, Bounds(least=1, unit="tokens")] = None
    """Tokens of hits in a prompt."""
    target: str | Sequence[str] | None = None
    """The lowest means that `raglift gate` passes, such as `ndcg@10 >= 0.7`."""


@dataclass(frozen=True)
class Project:
    """What was found in a pyproject.toml."""

    file: Path
    """The file."""
    written: Mapping[str, Any]
    """Its settings as they are written."""
    options: Mapping[str, Any]
    """The same settings as the command line has them: depths and thresholds are lists of texts."""

    def taken(self, keys: Collection[str], unless: str = "") -> str:
        """Return a line that says which settings were taken from the file; empty for none."""
        named = ", ".join(f"{key} = {json.dumps(self.written[key])}" for key in self.written if key in keys)
        return printable(f"{self.file}: [tool.raglift] {named}{unless}") + "\n" if named else ""


def find_project() -> Project | None:
    """Return the settings of the nearest pyproject.toml with `[tool.raglift]`, from the working folder upwards."""
    try:
        here = Path.cwd()
        files = [folder / _FILE for folder in (here, *here.parents) if is_file(folder / _FILE)]
    except OSError:  # the working folder was removed, or one above it may not be looked into
        return None
    for file in files:
        table = _table(file)
        if table is not None:
            return _checked(file, table)
    return None


def _table(file: Path) -> Any:
    """Return what `[tool.raglift]` holds; None if the file has no such table."""
    location = Location(str(file), [])
    data = read_bytes(file, location)
    if data is not None and b"raglift" not in data:
        return None
    import tomllib

    text = None if data is None else decode_text(data, location)
    tables: dict[str, Any] = {}
    try:
        tables = tomllib.loads(text or "")
    except (ValueError, RecursionError) as error:
        location.fault(f"no valid TOML ({error})", "TOML")
    if location.faults:
        raise ConfigurationError("\n".join(map(str, location.faults)))
    tools = tables.get("tool")
    return tools.get("raglift") if isinstance(tools, Mapping) else None


def _checked(file: Path, table: Any) -> Project:
    top = Location(str(file), [], field="tool.raglift")
    known = fields_of(ProjectSettings)
    options: dict[str, Any] = {}
    if not isinstance(table, Mapping):
        top.fault(described(table), "a table, [tool.raglift]")
        table = {}
    for key, value in table.items():
        if key not in known:
            (top / key).fault(*unknown_field(key, known))
        elif key in _SEVERAL:
            read, expected = _SEVERAL[key]
            texts = [read(each) for each in (value if isinstance(value, list) else [value])]
            if not texts or None in texts:
                (top / key).fault(described(value), expected)
            options[key] = texts
        elif not known[key].fits(value):
            (top / key).fault(described(value), known[key].expected)
        else:
            options[key] = _from(file.parent, value) if key == "dataset" else value
    if top.faults:
        raise ConfigurationError("\n".join(map(str, top.faults)))
    return Project(file, table, options)


def _from(folder: Path, dataset: str) -> str:
    """Return a path in full where there is something in the project's folder; else a name, as it is."""
    path = folder / user_path(dataset)
    return str(path) if is_there(path) else dataset


def _depth(value: object) -> str | None:
    is_one = isinstance(value, int | str) and not isinstance(value, bool) and parse_depth(str(value)) is not None
    return str(value) if is_one else None


def _threshold(value: object) -> str | None:
    """Return `ndcg@10 >= 0.7` as the command line has it, `ndcg@10=0.7`."""
    match = _THRESHOLD.fullmatch(value) if isinstance(value, str) else None
    return match and f"{match['metric']}={match['bound']}"


_SEVERAL = {
    "k": (_depth, "depths of 1 or more, such as 10 or [1, 5, 'tokens(2000)']"),
    "target": (_threshold, "'METRIC >= MEAN' or a list of such, such as 'ndcg@10 >= 0.7'"),
}
"""The settings that may be a list: what reads one value, and what was expected."""
