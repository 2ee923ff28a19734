"""Inputs that broke a reader once, and no longer do; those of a file's own tests are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .catalogue import READERS
from .reader import Bench

BY_NAME = {reader.name: reader for reader in READERS}
_CORPUS = b'title = "a"\ndescription = "b"\nlanguage = "en"\nlicence = "CC0-1.0"\nsources = ["c"]\n'


@pytest.mark.parametrize(
    ("name", "path", "data"),
    [
        # control characters in the name of a field
        ("HTTP mapping", "mapping.yaml", json.dumps({"\0": 1}).encode()),
        ("HTTP mapping", "mapping.yaml", json.dumps({"response": {"\x1b[31m": "a"}}).encode()),
        # half a character in the name of a field
        ("HTTP mapping", "mapping.yaml", rb'{"he\ud800aders": 1}'),
        ("HTTP mapping", "mapping.yaml", rb'{"response": {"\ud800": 1}}'),
        ("sweep.yaml", "sweep.yaml", rb'{"dataset": "lighthouse", "\ud800": 1}'),
        # control characters that a metric's name may have around it
        ("notation: bound, at least", "0.txt", b"ndcg\t@10=x"),
        # a name longer than any file's
        ("corpus with a folder", "corpus.toml", _CORPUS + b'documents = "' + b"a" * 2_000 + b'"'),
        # byte-order marks and nothing else
        ("judgements, twice.trec", "twice.trec", b"\xef\xbb\xbf" * 2 + b"\n"),
        ("rankings, run.trec", "run.trec", b"\xef\xbb\xbf" * 2 + b"\n"),
        # what is in place of a head was quoted in full
        ("response of a service", "response", b"HTTP/" + b"[" * 100_000 + b"\r\n\r\n"),
    ],
)
def test_it_is_refused_in_words(name: str, path: str, data: bytes, tmp_path: Path):
    assert Bench(BY_NAME[name], tmp_path).attempt({path: data}) == "refused"
