"""YAML read strictly: plain values, each field once, bounded in size; every fault says its line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from raglift.errors import Fault
from raglift.faults import quoted
from raglift.printable import encodable, printable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Keys", "NotYaml", "YamlFields", "path_text"]

Keys: TypeAlias = tuple[str | int, ...]
"""The keys and list places that lead to a value."""

_MOST_BYTES = 100_000
_MOST_VALUES = 10_000
_DEEPEST = 20
_PLAIN_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


def path_text(keys: Keys) -> str:
    """Return a path as it is read, and can be printed: `chunkers[1].size`."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return printable(text)


class NotYaml(Exception):
    """A file of which nothing can be read, and why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class _TooMuch(Exception):
    """The values are too many, or lie too deep."""


@dataclass
class YamlFields:
    """The fields of a YAML file: its faults, and the line of each value."""

    name: str
    """Of the file."""
    wanted: str
    """What the file should hold, as `the fields of a sweep, as dataset: lighthouse`."""
    faults: list[tuple[int, Fault]] = field(default_factory=list)
    """Each with its line."""
    lines: dict[Keys, int] = field(default_factory=dict)
    """Where each value's key, or a list's item, begins."""
    lines_said: dict[str, int] = field(default_factory=dict)
    """The line of each place that was given out."""
    values: int = 0
    """How many were read; an alias counts with all that it stands for."""

    def read(self, file: Path) -> dict[str, Any]:
        """Return the fields of a file; what is wrong with some of them is noted as faults.

        Raises:
            NotYaml: there is no such file, it is not one YAML document in UTF-8, or it has no fields, or too many.
        """
        return self._top(self._root(file))

    def locate(self, keys: Keys) -> str:
        """Return where a value is; for one that is missing, where it should be."""
        known = next((keys[:length] for length in range(len(keys), 0, -1) if keys[:length] in self.lines), ())
        line = self.lines.get(known)
        where = f"{self.name}: {path_text(keys)}" if line is None else f"{self.name}:{line}: {path_text(keys)}"
        self.lines_said[where] = line or 0
        return where

    def _root(self, file: Path) -> yaml.Node:
        """Return the document of a file, its aliases not expanded."""
        try:
            data = file.read_bytes()
            if len(data) > _MOST_BYTES:
                raise self._unusable(f"{len(data):,} bytes", f"a file of at most {_MOST_BYTES:,}")
            root = yaml.compose(data.decode("utf-8-sig"), Loader=yaml.SafeLoader)
        except OSError as error:
            raise self._unusable(error.strerror or type(error).__name__, f"a YAML file at {file}") from None
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise self._unusable("bytes that are not UTF-8", "text in UTF-8", line) from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            said = ", ".join(part for part in (error.context, error.problem) if part)
            at = None if mark is None else mark.line + 1
            raise self._unusable(f"what is not YAML ({said})", "one document in YAML", at) from None
        except (yaml.YAMLError, RecursionError) as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise self._unusable(f"what is not YAML ({said})", "one document in YAML") from None
        if root is None:
            raise self._unusable("an empty file", self.wanted)
        return root

    def _top(self, root: yaml.Node) -> dict[str, Any]:
        """Return the fields of the document."""
        line = root.start_mark.line + 1
        if not isinstance(root, yaml.MappingNode):
            raise self._unusable("no fields", self.wanted, line)
        try:
            given: dict[str, Any] = self._value(root, ())
        except _TooMuch as error:
            raise self._unusable(str(error), f"at most {_MOST_VALUES:,} values, {_DEEPEST} deep") from None
        return given

    def _unusable(self, found: str, expected: str, line: int | None = None) -> NotYaml:
        """Return the error of a file of which nothing can be read."""
        where = self.name if line is None else f"{self.name}:{line}"
        return NotYaml(Fault(where, found, expected))

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
            elif encodable(key) != key:
                self._fault(line, keys, f"{quoted(key)} for a field's name, which has half a character", "Unicode text")
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
