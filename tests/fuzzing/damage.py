"""What is done to well-formed files: at any byte, in their structure, and to whole files.

An edit is a function from bytes to bytes, or from a tree to a tree; Hypothesis draws what it needs to be one, so what
fails is shrunk to few and small edits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from .reader import Bench, Damage
from .tokens import NAMES, TOKENS, VALUES
from .trees import Pairs

__all__ = ["damages"]

_MOST_EDITS = 3
_BYTE_EDITS = ("flip", "delete", "insert", "overwrite", "repeat", "truncate", "token", "move")
_WAYS = ("bytes", "tree", "tree", "tree", "both", "file")


@st.composite
def damages(draw: st.DrawFn, bench: Bench) -> Damage:
    """Draw new bytes for one of the bench's files.

    Args:
        draw: Hypothesis's.
        bench: the reader and its well-formed input.
    """
    path = draw(st.sampled_from(bench.targets))
    way = draw(st.sampled_from(_WAYS if path in bench.trees else ("bytes", "bytes", "bytes", "file")))
    if way == "file":
        others = [None, b"", b"\xef\xbb\xbf", b"\n", b"\0", *bench.seed.values()]
        return {path: draw(st.sampled_from(others))}
    data = bench.seed[path]
    if way in ("tree", "both"):
        codec, tree = bench.trees[path]
        for _ in range(draw(st.integers(1, _MOST_EDITS))):
            tree = _edited_tree(draw, tree)
        data = codec.encode(tree)
    if way in ("bytes", "both"):
        for _ in range(draw(st.integers(1, _MOST_EDITS))):
            data = _edited_bytes(draw, data)
    return {path: data}


def _edited_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    edit = draw(st.sampled_from(_BYTE_EDITS))
    at = draw(st.integers(0, len(data)))
    if edit == "truncate":
        return data[:at]
    if edit == "insert":
        return data[:at] + draw(st.binary(min_size=1, max_size=8)) + data[at:]
    if edit == "token":
        return data[:at] + draw(st.sampled_from(TOKENS)) + data[at:]
    if edit == "flip":
        return data[:at] + bytes(byte ^ (1 << draw(st.integers(0, 7))) for byte in data[at : at + 1]) + data[at + 1 :]
    if edit == "overwrite":
        new = draw(st.binary(min_size=1, max_size=8))
        return data[:at] + new + data[at + len(new) :]
    end = at + draw(st.integers(1, 64))
    if edit == "delete":
        return data[:at] + data[end:]
    if edit == "repeat":
        return data[:end] + data[at:end] * draw(st.sampled_from((1, 2, 100))) + data[end:]
    rest = data[:at] + data[end:]
    to = draw(st.integers(0, len(rest)))
    return rest[:to] + data[at:end] + rest[to:]


def _paths(tree: Any) -> list[tuple[int, ...]]:
    """Return where each node of a tree is: the numbers of the items on the way; the root's is empty."""
    found: list[tuple[int, ...]] = [()]
    for index, item in enumerate(_children(tree)):
        found += [(index, *path) for path in _paths(item)]
    return found


def _children(tree: Any) -> list[Any]:
    if isinstance(tree, Pairs):
        return [item for _, item in tree]
    return tree if isinstance(tree, list) else []


def _at(tree: Any, path: tuple[int, ...]) -> Any:
    for index in path:
        tree = tree[index][1] if isinstance(tree, Pairs) else tree[index]
    return tree


def _with(tree: Any, path: tuple[int, ...], new: list[Any]) -> Any:
    """Return a tree with other nodes, or pairs, or none, in the place of one; nothing of the old one is changed."""
    if not path:
        return new[0] if new else None
    index, rest = path[0], path[1:]
    if not rest:
        items: list[Any] = [*tree[:index], *new, *tree[index + 1 :]]
    else:
        item = tree[index][1] if isinstance(tree, Pairs) else tree[index]
        changed = _with(item, rest, new)
        items = [*tree]
        items[index] = (tree[index][0], changed) if isinstance(tree, Pairs) else changed
    return Pairs(items) if isinstance(tree, Pairs) else items


def _edited_tree(draw: st.DrawFn, tree: Any) -> Any:
    paths = _paths(tree)
    path = paths[draw(st.integers(0, len(paths) - 1))]
    parent = _at(tree, path[:-1]) if path else None
    spot = _Spot(tree, _at(tree, path), parent[path[-1]][0] if isinstance(parent, Pairs) else None)
    edit = _TREE_EDITS[draw(st.sampled_from(tuple(_TREE_EDITS)))]
    return _with(tree, path, edit(draw, spot))


@dataclass(frozen=True)
class _Spot:
    """A node of a tree that is to be edited."""

    tree: Any
    value: Any
    name: str | None
    """The name of the field that it is the value of."""

    def entry(self, value: Any) -> Any:
        """Return what is in the parent in the place of the node."""
        return value if self.name is None else (self.name, value)


def _replace(draw: st.DrawFn, spot: _Spot) -> list[Any]:
    return [spot.entry(draw(VALUES))]


def _drop(_: st.DrawFn, __: _Spot) -> list[Any]:
    return []


def _repeat(draw: st.DrawFn, spot: _Spot) -> list[Any]:
    return [spot.entry(spot.value)] * draw(st.sampled_from((2, 2, 10, 300)))


def _rename(draw: st.DrawFn, spot: _Spot) -> list[Any]:
    return _replace(draw, spot) if spot.name is None else [(draw(_names(spot.tree)), spot.value)]


def _graft(draw: st.DrawFn, spot: _Spot) -> list[Any]:
    return [spot.entry(_at(spot.tree, draw(st.sampled_from(_paths(spot.tree)))))]


def _nest(draw: st.DrawFn, spot: _Spot) -> list[Any]:
    value = spot.value
    for _ in range(draw(st.sampled_from((1, 1, 2, 60)))):
        value = [value] if draw(st.booleans()) else Pairs([("a", value)])
    return [spot.entry(value)]


def _extend(draw: st.DrawFn, spot: _Spot) -> list[Any]:
    if isinstance(spot.value, Pairs):
        return [spot.entry(Pairs([*spot.value, (draw(_names(spot.tree)), draw(VALUES))]))]
    return [spot.entry([*spot.value, draw(VALUES)])] if isinstance(spot.value, list) else _replace(draw, spot)


def _change(draw: st.DrawFn, spot: _Spot) -> list[Any]:
    """Make of a value one of the same type that is a little, or much, another."""
    value = spot.value
    if isinstance(value, bool):
        return [spot.entry(not value)]
    if isinstance(value, (int, float)):
        others = (-value, value + 1, value - 1, value * 10**6, value / 3, str(value))
        return [spot.entry(draw(st.sampled_from(others)))]
    if isinstance(value, str):
        token = draw(st.sampled_from(TOKENS)).decode("utf-8", "surrogateescape")
        at = draw(st.integers(0, len(value)))
        return [spot.entry(value[:at] + token + value[at:])]
    return _replace(draw, spot)


_TREE_EDITS: dict[str, Callable[[st.DrawFn, _Spot], list[Any]]] = {
    "replace": _replace,
    "drop": _drop,
    "repeat": _repeat,
    "rename": _rename,
    "graft": _graft,
    "nest": _nest,
    "extend": _extend,
    "change": _change,
}
"""Each returns what is in the place of a node: a value, or a field with its name; several, or nothing."""


def _names(tree: Any) -> st.SearchStrategy[str]:
    """Return names of fields: those that stand elsewhere in the tree, and others."""
    known = {name for path in _paths(tree) if isinstance(node := _at(tree, path), Pairs) for name, _ in node}
    return st.sampled_from((*sorted(known), *NAMES))
