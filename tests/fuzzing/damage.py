"""What is done to well-formed files: at any byte, in the structure of JSON, and to whole files.

Hypothesis draws the edits, so what fails is shrunk to few and small ones.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from .reader import Bench, Damage

# fmt: off
_TOKENS = (
    b"\0", b"\x1b[31m", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\t", b"\xe2\x80\xae", b"\\ud800", b"../canary.txt",
    b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"NaN", b"-1", b"1e999", b"9" * 400, b"=", b"@", b"!!python/x",
)
# fmt: on
_VALUES = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    st.sampled_from(["", " ", "../canary.txt", "\ud800", "\x1b[31m", 10**30, [], {}, [[]], {"a": None}, [{}]]),
)


@st.composite
def damages(draw: st.DrawFn, bench: Bench) -> Damage:
    """Draw new bytes for one of the bench's files."""
    path = draw(st.sampled_from(bench.targets))
    data = bench.seed[path]
    way = draw(st.sampled_from(("bytes", "tree", "tree", "file")))
    if way == "file":
        return {path: draw(st.sampled_from([None, b"", b"\xef\xbb\xbf", b"\n", b"\0", *bench.seed.values()]))}
    if way == "tree" and (changed := _changed_line(draw, data)) is not None:
        return {path: changed}
    for _ in range(draw(st.integers(1, 3))):
        data = _changed_bytes(draw, data)
    return {path: data}


def _changed_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    at = draw(st.integers(0, len(data)))
    end = at + draw(st.integers(1, 64))
    return draw(
        st.sampled_from(
            (
                data[:at],
                data[:at] + draw(st.sampled_from(_TOKENS)) + data[at:],
                data[:at] + draw(st.binary(min_size=1, max_size=8)) + data[at + 1 :],
                data[:at] + data[end:],
                data[:end] + data[at:end] * 100 + data[end:],
            )
        )
    )


def _changed_line(draw: st.DrawFn, data: bytes) -> bytes | None:
    """Return a file of JSON, or of a value a line, with other values in one; None if it is no such file."""
    lines = [data] if data[:1] in b"{[" and b"\n{" not in data else data.split(b"\n")
    number = draw(st.integers(0, len(lines) - 1))
    try:
        tree = json.loads(lines[number])
    except ValueError:
        return None
    for _ in range(draw(st.integers(1, 3))):
        tree = _changed_tree(draw, tree)
    return b"\n".join([*lines[:number], json.dumps(tree).encode(), *lines[number + 1 :]])


def _changed_tree(draw: st.DrawFn, tree: Any) -> Any:
    if not isinstance(tree, (dict, list)) or not tree or draw(st.integers(0, 3)) == 0:
        return draw(_VALUES)
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree))
    at = draw(st.integers(0, len(items) - 1))
    name, value = items[at]
    edit = draw(st.sampled_from(("inside", "inside", "drop", "repeat", "rename")))
    if edit == "inside":
        items[at] = (name, _changed_tree(draw, value))
    elif edit == "drop":
        del items[at]
    elif edit == "rename":
        items[at] = (draw(st.sampled_from([*(other for other, _ in items), "", "unknown", "id", "\x1b"])), value)
    else:
        items += [(name, value)] * draw(st.sampled_from((1, 300)))
    return dict(items) if isinstance(tree, dict) else [value for _, value in items]
