from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from raglift.datasets.corpora.descriptor import CorpusText, Descriptor, read_descriptor
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
    described = Descriptor(
        "Tides", "A text about tides.", "en", "CC0-1.0", ("https://example.org/tides",), "documents", None
    )
    assert read(tmp_path, HEAD + 'documents = "documents"') == described


def test_text(tmp_path: Path) -> None:
    text = CorpusText("tides", "tides.txt", "plain", ("https://example.org/tides.txt",), 1000)
    assert read(tmp_path, HEAD + TEXT).text == text
    assert read(tmp_path, HEAD + TEXT + 'sha256 = "ab"').text == CorpusText(
        text.doc, text.file, text.format, text.urls, text.max_bytes, "ab"
    )


@pytest.mark.parametrize(
    ("content", "where", "found", "expected"),
    [
        (b"\xff", "corpus.toml:1", "0xff", "UTF-8"),
        ("title = ", "corpus.toml", "no valid TOML (Invalid value (at end of document))", "TOML"),
        ("title = 1\ntitle 2", "corpus.toml", "(at line 2, column 7)", "TOML"),
        (HEAD, "corpus.toml", "neither documents nor [text]", "one of the two"),
        (HEAD + "documents = 'd'" + TEXT, "corpus.toml", "documents and [text]", "one of the two"),
        (
            HEAD + TEXT.replace("[text]", "[texts]"),
            "corpus.toml: texts",
            "an unknown field",
            'nearest: "text"',
        ),
        (HEAD + "text = 'tides.txt'", "corpus.toml: text", '"tides.txt"', "a table: [text]"),
        (HEAD.replace('"Tides"', '" "') + TEXT, "corpus.toml: title", '" "', "not empty"),
        (HEAD.replace("language", "# ") + TEXT, "corpus.toml: language", "no such field", "a text"),
        (
            HEAD.replace('["https://example.org/tides"]', "[]") + TEXT,
            "corpus.toml: sources",
            "a list of 0",
            "texts",
        ),
        (HEAD.replace('["https', '[7, "https') + TEXT, "corpus.toml: sources[0]", "7", "a text"),
        (HEAD + "documents = '../secret'", "corpus.toml: documents", '"../secret"', "without any path"),
        (HEAD + "documents = '/etc'", "corpus.toml: documents", '"/etc"', "without any path"),
        (HEAD + r'documents = "a\u0000b"', "corpus.toml: documents", r'"a\u0000b"', "without any path"),
        (HEAD + TEXT.replace("tides.txt", r"a\u001b[31m", 1), "corpus.toml: text.file", "[31m", "a name in the folder"),
        (HEAD + "documents = " + "9" * 5000, "corpus.toml", "no valid TOML", "TOML"),
        (HEAD + "documents = '..'", "corpus.toml: documents", '".."', "without any path"),
        (
            HEAD + TEXT.replace("tides.txt", "a/b.txt", 1),
            "corpus.toml: text.file",
            '"a/b.txt"',
            "without any path",
        ),
        (HEAD + TEXT.replace("plain", "html"), "corpus.toml: text.format", '"html"', "gutenberg, plain"),
        (HEAD + TEXT.replace("https", "http"), "corpus.toml: text.urls[0]", "http://", "https://"),
        (HEAD + TEXT.replace("1_000", "0"), "corpus.toml: text.max_bytes", "0", "above 0"),
        (HEAD + TEXT.replace("1_000", "true"), "corpus.toml: text.max_bytes", "true", "above 0"),
        (HEAD + TEXT.replace("max_bytes", "# "), "corpus.toml: text.max_bytes", "no such field", "above 0"),
        (HEAD + TEXT + "checksum = 'x'", "corpus.toml: text.checksum", "an unknown field", "one of"),
    ],
)
def test_malformed(tmp_path: Path, content: str | bytes, where: str, found: str, expected: str) -> None:
    with pytest.raises(DatasetError) as caught:
        read(tmp_path, content)
    faults = [fault for fault in caught.value.faults if fault.where == where]
    assert len(faults) == 1
    assert found in faults[0].found
    assert expected in faults[0].expected


def test_every_fault_is_listed(tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        read(tmp_path, "[text]")
    assert len(caught.value.faults) == 10
    with pytest.raises(DatasetError, match="No such file"):
        read_descriptor(tmp_path / "nowhere" / "corpus.toml")
