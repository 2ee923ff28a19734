from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from raglift.datasets.corpora.catalogue import Descriptor, read_descriptor
from raglift.errors import DatasetError

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """
title = "Tides"
description = "A text about tides."
language = "en"
licence = "CC0-1.0"
sources = ["https://example.org/tides"]
"""
TEXT = """
[text]
doc = "tides"
file = "tides.txt"
format = "plain"
urls = ["https://example.org/tides.txt"]
max_bytes = 1_000
"""


def read(folder: Path, content: str | bytes) -> Descriptor:
    path = folder / "corpus.toml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_descriptor(path)


def test_text(tmp_path: Path) -> None:
    text = read(tmp_path, HEAD + TEXT).text
    assert text is not None
    assert (text.doc, text.file, text.format, text.max_bytes, text.sha256) == (
        "tides",
        "tides.txt",
        "plain",
        1000,
        None,
    )


@pytest.mark.parametrize(
    ("content", "where", "found", "expected"),
    [
        (b"\xff", "corpus.toml:1", "0xff", "UTF-8"),
        ("title = 1\ntitle 2", "corpus.toml", "(at line 2, column 7)", "TOML"),
        (HEAD, "corpus.toml", "neither documents nor [text]", "one of the two"),
        (HEAD + TEXT.replace("[text]", "[texts]"), "corpus.toml: texts", "an unknown field", 'nearest: "text"'),
        (HEAD.replace('"Tides"', '" "') + TEXT, "corpus.toml: title", '" "', "not empty"),
        (HEAD.replace("language", "# ") + TEXT, "corpus.toml: language", "nothing", "a text"),
        (HEAD + "documents = '../secret'", "corpus.toml: documents", '"../secret"', "without any path"),
        (HEAD + TEXT.replace("https", "http"), "corpus.toml: text.urls[0]", "http://", "https://"),
        (HEAD + TEXT.replace("1_000", "0"), "corpus.toml: text.max_bytes", "0", "above 0"),
    ],
)
def test_malformed(tmp_path: Path, content: str | bytes, where: str, found: str, expected: str) -> None:
    with pytest.raises(DatasetError) as caught:
        read(tmp_path, content)
    (fault,) = (fault for fault in caught.value.faults if fault.where == where)
    assert found in fault.found
    assert expected in fault.expected
