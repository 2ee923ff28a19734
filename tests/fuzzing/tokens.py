"""What has broken readers before: bytes to put anywhere, and values to put in the place of others."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .trees import Pairs, Raw

__all__ = ["NAMES", "TOKENS", "VALUES"]

_OTHER_TYPES = ("nan", "inf", "-inf", "1e999", "-0.0", "1_000", "0x1f", "１２", "²", "true", "null", "~", "2024-01-01")
_PATHS = ("../canary.txt", "..\\canary.txt", "../input/../canary.txt", "/etc/passwd", "C:\\x", "a/b", ".", "..", "con")
_TEXTS = (
    "",
    " ",
    "\0",
    "\ufeff",
    "\u202eabc",
    "\x1b[31mred",
    "\u2028",
    "e\u0301",
    "😀",
    "a" * 2000,
    "=1+1",
    "{}",
    "%s",
)
_YAML = (
    # what would be carried out ends this very process, which nobody overlooks
    "!!python/object/apply:os._exit [86]",
    "!!python/name:os.system",
    "!!binary aGVsbG8=",
    "!!set {a, b}",
    "&a [*a, *a]",
    "*unknown",
    "{<<: {a: 1}}",
    "2024-01-01",
    "012",
    "1:30",
    "? a",
)
_DEEP = ("[" * 3000 + "]" * 3000, "[" * 100_000, '{"a":' * 3000 + "1" + "}" * 3000, '{"a":' * 50_000)
_NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 19, "9" * 5000, "-0", "01", "1.", ".5", "0x1F")
_BOMB = b"".join(
    b"%c: &%c [%s]\n" % (97 + level, 97 + level, b",".join([b"*%c" % (96 + level) if level else b"x"] * 9))
    for level in range(9)
)

TOKENS: tuple[bytes, ...] = (
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x00",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\x85",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\\ud800",
    b"\\u0000",
    b'"',
    b'""',
    b"'",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b";",
    b"\t",
    b"#",
    b"---\n",
    b"- ",
    b"<top>",
    b"<num>",
    b"</top>",
    _BOMB,
    *(text.encode() for text in (*_OTHER_TYPES, *_PATHS, *_TEXTS, *_YAML, *_DEEP, *_NUMBERS)),
)
"""Bytes to put in anywhere."""

NAMES: tuple[str, ...] = (
    "",
    "id",
    "_id",
    "version",
    "a",
    "\0",
    "\ufeffid",
    "../canary.txt",
    "__class__",
    "<<",
    "A" * 300,
)
"""Names for fields."""

_PLAIN: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**18, 10**30, 0.5, -0.0, 1e308, 5e-324),
    *([], Pairs(), [[]], [None], Pairs([("a", 1)]), [1, "a", None]),
)
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        (
            *_PLAIN,
            *(Raw(text) for text in (*_NUMBERS, *_YAML, *_DEEP, '"\\ud800"', '"\\u0000"')),
            *(*_OTHER_TYPES, *_PATHS, *_TEXTS),
        )
    ),
    st.sampled_from((*_PLAIN, *_TEXTS, *_PATHS)),
    st.integers(-(10**6), 10**6),
    st.floats(),
    st.text(max_size=12),
)
"""Values to put in the place of others."""
