"""Settings in files of the user's: `.env`, and the mapping of an HTTP service."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import chdir
from dataclasses import fields
from pathlib import Path
from typing import Any

from raglift.errors import ConfigurationError, MappingError
from raglift.integrations._keys import load_dot_env
from raglift.retrieval import HttpMapping
from raglift.retrieval.http.mapping import load_mapping

from .reader import Reader

__all__ = ["READERS"]

_ENV = (
    '# keys\nRAGLIFT_FUZZ_A=sk-0123456789abcdef\nexport RAGLIFT_FUZZ_B="two words"\nRAGLIFT_FUZZ_C=${RAGLIFT_FUZZ_A}x\n'
)


def _write(folder: Path) -> None:
    (folder / ".env").write_text(_ENV, encoding="utf-8")


def _environment(folder: Path) -> dict[str, str]:
    """Load the folder's `.env`; return what it set, and take that back."""
    before = dict(os.environ)
    logging.getLogger("dotenv").setLevel(logging.ERROR)  # it warns of each line that it cannot read
    try:
        with chdir(folder):
            load_dot_env()
        return {name: value for name, value in os.environ.items() if before.get(name) != value}
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


_YAML = """\
method: POST
headers:
  Authorization: Bearer ${RAGLIFT_FUZZ_TOKEN}
  X-Team: search
params: {language: en, depth: "{k}", exact: true}
json:
  query: {match: {body: "{query}"}}
  size: "{k}"
  fields: [title, body, 1, 0.5, null]
response:
  hits: hits.hits
  text: _source.body
  id: [_id]
  score: _score
timeout: 2.5
most_bytes: 100000
"""
_JSON = (
    '{"method": "GET", "params": {"q": "{query}", "n": "{k}", "page": 1}, "headers": {"Accept": "application/json"}, '
    '"response": {"hits": ".", "text": ["a.b", "c"]}, "timeout": 5}'
)


def _written(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


def _check(mapping: HttpMapping) -> None:
    """Assert that it is one again when it is made of its own fields, and tells no header."""
    given: dict[str, Any] = {field.name: getattr(mapping, field.name) for field in fields(mapping)}
    assert HttpMapping(**given) == mapping
    assert "Bearer" not in repr(mapping)


READERS: Sequence[Reader] = (
    Reader(".env", _write, _environment, (ConfigurationError,), targets=(".env",)),
    Reader(
        "HTTP mapping, yaml",
        _written("mapping.yaml", _YAML),
        lambda folder: load_mapping(folder / "mapping.yaml"),
        (MappingError,),
        _check,
    ),
    Reader(
        "HTTP mapping, json",
        _written("mapping.json", _JSON),
        lambda folder: load_mapping(folder / "mapping.json"),
        (MappingError,),
        _check,
    ),
)
"""All of the readers here."""
