"""YAML that other tools wrote: plain values alone, and no more of them than the file could have been meant to hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from raglift.base.validation import Location


_MOST_CHARACTERS = 4_000_000
_MOST_VALUES = 2_000_000
"""An alias counts with all that it stands for: otherwise a few lines could stand for billions of values."""


def read_plain_yaml(text: str, location: Location) -> tuple[Any, yaml.Node] | None:
    """Return the value of a YAML document and its nodes, which know their lines; None, and a fault, without one.

    Args:
        text: the document. A tag that would make anything but a plain value is a fault.
        location: the file, for faults.
    """
    if len(text) > _MOST_CHARACTERS:
        location.fault(f"{len(text):,} characters of YAML", f"at most {_MOST_CHARACTERS:,}")
        return None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            location.fault("an empty file", "a document in YAML")
            return None
        if _size(root, {}) > _MOST_VALUES:
            expected = f"at most {_MOST_VALUES:,}"
            location.fault("too many values, aliases counted with all that they stand for", expected)
            return None
        return yaml.SafeLoader("").construct_document(root), root
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(part for part in (error.context, error.problem) if part)
        (location if mark is None else location.at_line(mark.line + 1)).fault(f"what is not YAML ({said})", "YAML")
    # The rest is of nesting that never ends, of dates that are none, and of names that are lists
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, OverflowError, AttributeError) as error:
        said = " ".join(str(error).split())[:100]
        location.fault(f"what is not YAML ({said})", "one document in YAML")
    return None


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Return how many values a node stands for, with its aliases written out.

    Args:
        node: the node.
        known: the sizes of nodes by identity; a node that is being counted has none that is finite.
    """
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = _MOST_VALUES + 1  # a node that holds itself would never end
    inner: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        inner = [each for pair in node.value for each in pair]
    elif isinstance(node, yaml.SequenceNode):
        inner = node.value
    known[id(node)] = 1 + sum(_size(each, known) for each in inner)
    return known[id(node)]
