"""A sweep from a YAML file: read strictly, every fault listed with its line."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from raglift.dataset.faults import quoted
from raglift.errors import ConfigurationError, Fault, SweepError
from raglift.sweep.specification.record import Sweep
from raglift.sweep.specification.spec import checked, path_text

if TYPE_CHECKING:
    from raglift.sweep.specification.together import Keys

__all__ = ["load_sweep"]

_MOST_BYTES = 100_000
_MOST_VALUES = 10_000
_DEEPEST = 20
_PLAIN_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


def load_sweep(path: str | os.PathLike[str]) -> Sweep:
    """Read a sweep from a YAML file; docs/sweeps.md describes it.

    The fields are those of `Sweep`, each value in its text form. Relative paths are relative to the folder of the file.
    Nothing is run or imported, and no model is loaded.

    Args:
        path: the file.

    Raises:
        SweepError: the file is not there, is not YAML, or does not describe a sweep; every fault is listed.
        ConfigurationError: `path` is not a path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ConfigurationError(f"load_sweep: found a {type(path).__name__}; expected the path of a YAML file")
    file = Path(path).expanduser()
    reading = _Reading(file.name)
    given = reading.top(_root(file, reading))
    try:
        values = checked(given, reading.locate, folder=file.resolve().parent)
    except SweepError as error:
        reading.faults += [(reading.lines_said.get(fault.where, 0), fault) for fault in error.faults]
    if reading.faults:
        raise SweepError(str(path), [fault for _, fault in sorted(reading.faults, key=lambda each: each[0])])
    return Sweep(**values)


def _root(file: Path, reading: _Reading) -> yaml.Node:
    """Return the document of a file, its aliases not expanded.

    Raises:
        SweepError: there is no such file, or it is not one YAML document in UTF-8.
    """
    try:
        data = file.read_bytes()
        if len(data) > _MOST_BYTES:
            raise reading.unusable(f"{len(data):,} bytes", f"a file of at most {_MOST_BYTES:,}")
        root = yaml.compose(data.decode("utf-8-sig"), Loader=yaml.SafeLoader)
    except OSError as error:
        raise reading.unusable(error.strerror or type(error).__name__, f"a YAML file at {file}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise reading.unusable("bytes that are not UTF-8", "text in UTF-8", line) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(part for part in (error.context, error.problem) if part)
        at = None if mark is None else mark.line + 1
        raise reading.unusable(f"what is not YAML ({said})", "one document in YAML", at) from None
    except (yaml.YAMLError, RecursionError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise reading.unusable(f"what is not YAML ({said})", "one document in YAML") from None
    if root is None:
        raise reading.unusable("an empty file", "the fields of a sweep, as dataset: lighthouse")
    return root


class _TooMuch(Exception):
    """The values are too many, or lie too deep."""


@dataclass
class _Reading:
    """A file being read: its faults, and the line of each value."""

    name: str
    """Of the file."""
    faults: list[tuple[int, Fault]] = field(default_factory=list)
    """Each with its line."""
    lines: dict[Keys, int] = field(default_factory=dict)
    """Where each value's key, or a list's item, begins."""
    lines_said: dict[str, int] = field(default_factory=dict)
    """The line of each place that was given out."""
    values: int = 0
    """How many were read; an alias counts with all that it stands for."""

    def top(self, root: yaml.Node) -> dict[str, Any]:
        """Return the fields of the document.

        Raises:
            SweepError: it has no fields, or more than any sweep.
        """
        line = root.start_mark.line + 1
        if not isinstance(root, yaml.MappingNode):
            raise self.unusable("no fields", "the fields of a sweep, as dataset: lighthouse", line)
        try:
            given: dict[str, Any] = self._value(root, ())
        except _TooMuch as error:
            raise self.unusable(str(error), f"at most {_MOST_VALUES:,} values, {_DEEPEST} deep") from None
        return given

    def locate(self, keys: Keys) -> str:
        """Return where a value is; for one that is missing, where it should be."""
        known = next((keys[:length] for length in range(len(keys), 0, -1) if keys[:length] in self.lines), ())
        line = self.lines.get(known)
        where = f"{self.name}: {path_text(keys)}" if line is None else f"{self.name}:{line}: {path_text(keys)}"
        self.lines_said[where] = line or 0
        return where

    def unusable(self, found: str, expected: str, line: int | None = None) -> SweepError:
        """Return the error of a file of which nothing can be read."""
        where = self.name if line is None else f"{self.name}:{line}"
        return SweepError(self.name, [Fault(where, found, expected)])

    def _value(self, node: yaml.Node, keys: Keys) -> Any:
        self.values += 1
        if self.values > _MOST_VALUES:
            raise _TooMuch("more values, aliases counted with all that they stand for")
        if len(keys) > _DEEPEST:
            raise _TooMuch("values that lie deeper")
        if not isinstance(node, yaml.ScalarNode) and node.tag not in _PLAIN_TAGS:
            self._fault(node.start_mark.line + 1, keys, f"the tag {quoted(node.tag)}", "a plain list or mapping")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, keys)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(item, (*keys, place)) for place, item in enumerate(node.value)]
        return self._scalar(node, keys)

    def _item(self, node: yaml.Node, keys: Keys) -> Any:
        self.lines[keys] = node.start_mark.line + 1
        return self._value(node, keys)

    def _mapping(self, node: yaml.MappingNode, keys: Keys) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key_node.tag != "tag:yaml.org,2002:str" or key is None:
                shown = "a list or a mapping" if key is None else quoted(key)
                self._fault(
                    line, keys, f"{shown} for a field's name", "a text, in quotation marks if it looks otherwise"
                )
            elif key in read:
                first = self.lines[(*keys, key)]
                self._fault(line, (*keys, key), f"{quoted(key)} again, after line {first}", "each field once")
            else:
                self.lines[(*keys, key)] = line
                read[key] = self._value(value_node, (*keys, key))
        return read

    def _scalar(self, node: yaml.Node, keys: Keys) -> Any:
        loader = yaml.SafeLoader("")
        try:
            return loader.construct_object(node)
        except (yaml.YAMLError, ValueError, AttributeError) as error:  # PyYAML's own, of dates that are none
            said = getattr(error, "problem", None) or str(error)
            self._fault(
                node.start_mark.line + 1, keys, f"{quoted(node.value)}, which cannot be read: {said}", "a plain value"
            )
            return node.value
        finally:
            loader.dispose()

    def _fault(self, line: int, keys: Keys, found: str, expected: str) -> None:
        path = path_text(keys)
        where = f"{self.name}:{line}: {path}" if path else f"{self.name}:{line}"
        self.faults.append((line, Fault(where, found, expected)))
