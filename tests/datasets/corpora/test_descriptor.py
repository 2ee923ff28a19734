from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from raglift.datasets.corpora.descriptor import Descriptor, read_descriptor
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


def test_documents(tmp_path: Path) -> None:
    found = read(tmp_path, HEAD + 'documents = "documents"')
    assert (found.title, found.sources) == ("Tides", ("https://example.org/tides",))
    assert (found.documents, found.text) == ("documents", None)


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
        (HEAD + "documents = " + "9" * 5000, "corpus.toml", "no valid TOML", "TOML"),
        (HEAD, "corpus.toml", "neither documents nor [text]", "one of the two"),
        (HEAD + "documents = 'd'" + TEXT, "corpus.toml", "documents and [text]", "one of the two"),
        (HEAD + TEXT.replace("[text]", "[texts]"), "corpus.toml: texts", "an unknown field", 'nearest: "text"'),
        (HEAD + "text = 'tides.txt'", "corpus.toml: text", '"tides.txt"', "a mapping"),
        (HEAD.replace('"Tides"', '" "') + TEXT, "corpus.toml: title", '" "', "not empty"),
        (HEAD.replace("language", "# ") + TEXT, "corpus.toml: language", "nothing", "a text"),
        (HEAD.replace('["https', '[7, "https') + TEXT, "corpus.toml: sources[0]", "7", "a text"),
        (HEAD + "documents = '../secret'", "corpus.toml: documents", '"../secret"', "without any path"),
        (HEAD + "documents = '..'", "corpus.toml: documents", '".."', "without any path"),
        (HEAD + TEXT.replace("tides.txt", r"a\u001b[31m", 1), "corpus.toml: text.file", "[31m", "a name in the folder"),
        (HEAD + TEXT.replace("tides.txt", "a/b.txt", 1), "corpus.toml: text.file", '"a/b.txt"', "without any path"),
        (HEAD + TEXT.replace("plain", "html"), "corpus.toml: text.format", '"html"', "'gutenberg' or 'plain'"),
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


def test_every_fault_is_listed(tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        read(tmp_path, "[text]")
    assert len(caught.value.faults) == 10
    with pytest.raises(DatasetError, match="No such file"):
        read_descriptor(tmp_path / "nowhere" / "corpus.toml")
