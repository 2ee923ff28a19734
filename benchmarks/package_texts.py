"""Texts of the installed packages whose licence allows it: read where they are installed, and written nowhere."""

from __future__ import annotations

import inspect
import re
from importlib import metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


LEAST = 200
"""Texts of fewer characters are left out."""
_ALLOWED = re.compile(r"\b(MIT|BSD|Apache|ISC|PSF|Python Software Foundation|HPND|Unlicense)\b", re.IGNORECASE)
_REFUSED = re.compile(r"GPL|General Public|proprietary|commercial", re.IGNORECASE)
_DOCUMENTS = (".md", ".rst")
_SOURCES = (".py", ".pyi")
_LARGEST = 2_000_000
# Found by how they are written: to parse half a gigabyte of source takes ten minutes
_DOCSTRING = re.compile(r'^[ \t]*[rRuU]?("""|\'\'\')(?P<text>.*?)\1', re.MULTILINE | re.DOTALL)


def package_texts() -> Iterator[str]:
    """Yield documentation and docstrings, each text once."""
    return _distinct(texts_of, (*_SOURCES, *_DOCUMENTS))


def package_code() -> Iterator[str]:
    """Yield the source of modules without their docstrings, each text once."""
    return _distinct(code_of, _SOURCES)


def _distinct(texts: Callable[[metadata.Distribution, str], Iterator[str]], suffixes: tuple[str, ...]) -> Iterator[str]:
    seen: set[int] = set()
    for distribution in sorted(metadata.distributions(), key=lambda one: (one.metadata["Name"] or "").lower()):
        if not is_allowed(distribution):
            continue
        for file in sorted(distribution.files or (), key=str):
            for text in texts(distribution, str(file)) if file.suffix in suffixes else ():
                if len(text) >= LEAST and hash(text) not in seen:
                    seen.add(hash(text))
                    yield text


def is_allowed(distribution: metadata.Distribution) -> bool:
    """Whether a package names a permissive licence, and no other."""
    told = distribution.metadata
    named = [told.get("License-Expression") or "", (told.get("License") or "")[:100]]
    named += [one for one in told.get_all("Classifier") or () if one.startswith("License ::")]
    said = " ".join(named)
    return bool(_ALLOWED.search(said)) and not _REFUSED.search(said)


def texts_of(distribution: metadata.Distribution, name: str) -> Iterator[str]:
    """Yield the docstrings of a module, or the text of a file of documentation."""
    text = _read(distribution, name)
    if name.endswith(_DOCUMENTS):
        yield text
        return
    for found in _DOCSTRING.finditer(text):
        yield inspect.cleandoc(found["text"])


def code_of(distribution: metadata.Distribution, name: str) -> Iterator[str]:
    """Yield the source of a module without its docstrings."""
    yield _DOCSTRING.sub("", _read(distribution, name))


def _read(distribution: metadata.Distribution, name: str) -> str:
    """Return the text of a file; nothing of one that is missing, very large or no text."""
    try:
        text: str = distribution.locate_file(name).read_text(encoding="utf-8")  # type: ignore[attr-defined]
    except (OSError, UnicodeDecodeError):
        return ""
    return text if len(text) <= _LARGEST else ""
