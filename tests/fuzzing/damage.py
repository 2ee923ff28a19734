"""What is done to well-formed files: at any byte, in their structure, and to whole files.

An edit is a function from bytes to bytes, or from a tree to a tree; Hypothesis draws what it needs to be one, so what
fails is shrunk to few and small edits.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .reader import Bench, Damage
from .tokens import NAMES, TOKENS, VALUES
from .trees import Pairs

__all__ = ["damages"]

_MOST_EDITS = 3
_BYTE_EDITS = ("flip", "delete", "insert", "overwrite", "repeat", "truncate", "token", "move")
_TREE_EDITS = ("replace", "drop", "repeat", "rename", "graft", "nest", "extend", "many", "change")
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
    if isinstance(tree, Pairs):
        children = [item for _, item in tree]
    else:
        children = tree if isinstance(tree, list) else []
    for index, item in enumerate(children):
        found += [(index, *path) for path in _paths(item)]
    return found


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
    edit = draw(st.sampled_from(_TREE_EDITS))
    paths = _paths(tree)
    path = paths[draw(st.integers(0, len(paths) - 1))]
    value = _at(tree, path)
    parent = _at(tree, path[:-1]) if path else None
    name = parent[path[-1]][0] if isinstance(parent, Pairs) else None

    def entry(new: Any) -> Any:
        return new if name is None else (name, new)

    match edit:
        case "drop":
            return _with(tree, path, [])
        case "repeat":
            return _with(tree, path, [entry(value), entry(value)])
        case "many":
            return _with(tree, path, [entry(value)] * draw(st.sampled_from((10, 300))))
        case "rename" if name is not None:
            return _with(tree, path, [(draw(_names(tree)), value)])
        case "graft":
            return _with(tree, path, [entry(_at(tree, draw(st.sampled_from(paths))))])
        case "nest":
            return _with(tree, path, [entry(_nested(draw, value))])
        case "extend" if isinstance(value, Pairs):
            return _with(tree, path, [entry(Pairs([*value, (draw(_names(tree)), draw(VALUES))]))])
        case "extend" if isinstance(value, list):
            return _with(tree, path, [entry([*value, draw(VALUES)])])
        case "change":
            return _with(tree, path, [entry(_changed(draw, value))])
        case _:
            return _with(tree, path, [entry(draw(VALUES))])


def _names(tree: Any) -> st.SearchStrategy[str]:
    """Return names of fields: those that stand elsewhere in the tree, and others."""
    known = {name for path in _paths(tree) if isinstance(node := _at(tree, path), Pairs) for name, _ in node}
    return st.sampled_from((*sorted(known), *NAMES))


def _nested(draw: st.DrawFn, value: Any) -> Any:
    for _ in range(draw(st.sampled_from((1, 1, 2, 60)))):
        value = [value] if draw(st.booleans()) else Pairs([("a", value)])
    return value


def _changed(draw: st.DrawFn, value: Any) -> Any:
    """Return a value of the same type that is a little, or much, another."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return draw(st.sampled_from((-value, value + 1, value - 1, value * 10**6, value / 3, str(value))))
    if isinstance(value, str):
        token = draw(st.sampled_from(TOKENS)).decode("utf-8", "surrogateescape")
        at = draw(st.integers(0, len(value)))
        return value[:at] + token + value[at:]
    return draw(VALUES)
