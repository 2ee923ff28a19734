"""Prompts as files, identified by the hash of their text.

A file `NAME.md` has two parts, under the lines `# System` and `# User`; `$name` stands for what is filled in. What a
model is told about data in delimiters (`data.md`) is part of every system part.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from raglift.llm.replies import FilledPrompt
from raglift.utilities.display import encodable

_FOLDER = Path(__file__).parent
_SYSTEM, _USER = "# System\n", "# User\n"


@dataclass(frozen=True)
class Prompt:
    """A template: a task, and where the data goes."""

    name: str
    system: str
    user: str

    @cached_property
    def version(self) -> str:
        """Name and hash of the words, as `relevance@3f9a1c07`: any change of them makes another version."""
        words = f"{self.system}\x00{self.user}".encode()
        return f"{self.name}@{hashlib.sha256(words).hexdigest()[:8]}"

    def with_settings(self, **texts: str) -> Prompt:
        """Return the prompt with texts of the caller's own put into its task, as a rubric: part of its version."""
        return Prompt(self.name, string.Template(self.system).safe_substitute(texts), self.user)

    def fill(self, **data: str | Sequence[str]) -> FilledPrompt:
        """Return the prompt about data: each text is delimited, and nothing in it can end its delimiters.

        Several texts under one name are numbered from 1.
        """
        texts = {name: _data(name, value) for name, value in data.items()}
        return FilledPrompt(self.version, self.system, string.Template(self.user).substitute(texts))


@lru_cache(maxsize=32)
def load_prompt(name: str) -> Prompt:
    """Return one of raglift's prompts.

    Args:
        name: its file in this folder, without `.md`.
    """
    text = read_prompt_part(name)
    system, _, user = text.partition(_SYSTEM)[2].partition(_USER)
    return Prompt(name, f"{system.strip()}\n\n{read_prompt_part('data').strip()}", user.strip())


def read_prompt_part(name: str) -> str:
    """Return the words of a file in this folder, as they are."""
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def _data(name: str, value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return delimited(name, value)
    return "\n\n".join(delimited(f"{name} {number}", text) for number, text in enumerate(value, start=1))


def delimited(name: str, text: str) -> str:
    """Return data between two lines that it cannot contain: they hold a hash of it."""
    text = encodable(text)
    code = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"<<<{name} {code}\n{text}\n{code} {name}>>>"
