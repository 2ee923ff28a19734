"""Secrets: the values of environment variables that are named for one, and hiding them in texts.

A system or service may repeat a key that it was sent, in an error or in a document. Whatever raglift writes is cleared
of the keys that it can know: those of the environment, and what a client was given by variables.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import quote, quote_plus, unquote, urlsplit

from raglift.utilities.limits import user_path

HIDDEN = "***"
"""Takes the place of a secret."""
SHORTEST_SECRET = 8
"""A shorter value of a variable is not taken for a secret: hiding it would hide common words in messages."""
_SHORTEST_HIDDEN = 6
_LONGEST_WORD = 20
"""So many letters may be a word, or a name such as `bert-base-uncased`."""
_SECRET_NAME = re.compile(r"key|token|secret(?!ar)|passw|passphrase|credential|signature", re.IGNORECASE)
_SECRET_WORD = re.compile(
    r"(?:^|[^a-z])(?:pw|pwd|pass|auth|authorization|creds?|dsn|login|cookie|bearer|jwt|pat)(?:[^a-z]|$)", re.IGNORECASE
)
_PUBLIC_NAME = re.compile(
    r"tokenizer|keyboard|keyring|keyword|(?:^|_)(?:old)?pwd$|ssh_auth_sock|"
    r"_(?:path|file|dir|folder|name|host|port|user|region|expires|ttl|id|type|pattern|format|version|model|limit)s?$",
    re.IGNORECASE,
)
"""Names that contain such a word and say something about a secret, or of another thing: `KEY_VAULT_NAME`."""
_PUBLIC_HEADER = re.compile(
    r"accept.*|content-.*|user-agent|host|connection|cache-control|via|te|x-title", re.IGNORECASE
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z-]* +(\S+)")
"""`Bearer …`, `Basic …`, `ApiKey …` in a header."""
_SETTING = re.compile(r"(?:^|[\s;?&])[\w-]*(?:password|passwd|pwd|secret|token|key)=([^\s;&]+)", re.IGNORECASE)
"""A setting in an address or a connection string: `password=…`."""
_ORDINARY = re.compile(r"[a-z]+(?:[-_. /][a-z]+)*|[A-Z]+|[A-Z][a-z]+|[\W\d_]+")
"""Words, names and numbers."""


def is_secret_name(name: str) -> bool:
    """Whether a value of this name may be a secret, in the query of an address or the environment."""
    if _PUBLIC_NAME.search(name):
        return False
    return _SECRET_NAME.search(name) is not None or _SECRET_WORD.search(name) is not None


def may_hold_secrets(name: str) -> bool:
    """Whether a variable or setting of this name may be a secret, or hold headers that are."""
    return is_secret_name(name) or "header" in name.lower()


def is_public_header(name: str) -> bool:
    """Whether a header of this name says nothing that is secret."""
    return _PUBLIC_HEADER.fullmatch(name.strip()) is not None


def secrets_of_environment() -> set[str]:
    """Return the values of the environment variables that are secret by their names."""
    return {value for name, value in os.environ.items() if len(value) >= SHORTEST_SECRET and may_hold_secrets(name)}


def login_in(address: str) -> tuple[str, str]:
    """Return user and password of an address; two empty texts if it has none."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "", ""
    return parts.username or "", parts.password or ""


def is_distinctive(value: str) -> bool:
    """Whether a secret is no word, name, number or place that a document may contain too.

    Only such a value may be taken out of documents, whose texts are matched to labels.
    """
    if len(value) < SHORTEST_SECRET or any(letter.isspace() for letter in value):
        return False
    if _ORDINARY.fullmatch(value) and (len(value) < _LONGEST_WORD or not value.isalpha()):
        return False
    if value.startswith(("/", "~", "./")) and os.path.lexists(user_path(value)):
        return False
    return "://" not in value or bool(login_in(value)[1])


class KnownSecrets:
    """Hides secrets in texts, also if they are escaped there for an address, JSON or HTML.

    Attributes:
        values: those that are long enough to be hidden.
        longest: how many characters may stand for the longest of them.
    """

    def __init__(self, values: Iterable[str], *, distinctive: bool = False) -> None:
        parts = {part for value in values for part in _parts_of(value) if len(part) >= _SHORTEST_HIDDEN}
        self.values = frozenset(filter(is_distinctive, parts) if distinctive else parts)
        forms = {form for value in self.values for form in _forms_of(value)}
        self._forms = sorted(forms, key=len, reverse=True)
        self.longest = max(map(len, forms), default=0)

    def may_be_in(self, text: str) -> bool:
        """Whether a text contains a secret."""
        return any(form in text for form in self._forms)

    def cleared(self, text: str) -> str:
        """Return a text with `***` in place of secrets; the same text if it contains none."""
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return text


def _parts_of(value: str) -> Iterator[str]:
    """Yield a secret, and what in it is one by itself: the token of `Bearer …`, the password of an address."""
    yield value
    scheme = _SCHEME.fullmatch(value)
    if scheme:
        yield scheme[1]
    user, password = login_in(value) if "://" in value else ("", "")
    if password:
        yield from (f"{user}:{password}", unquote(password), password)
    yield from _SETTING.findall(value)


def _forms_of(secret: str) -> set[str]:
    """Return how a secret may be written in an address, JSON or HTML."""
    percent = {quote(secret, errors="replace"), quote(secret, safe="", errors="replace")}
    percent.add(quote_plus(secret, errors="replace"))
    in_json = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return {secret, html.escape(secret), *percent, *in_json, *(text.replace("/", "\\/") for text in in_json)}


@lru_cache(maxsize=16)
def known_secrets(values: frozenset[str]) -> KnownSecrets:
    """Return what hides some values; the same object for the same values, which are often those of the environment."""
    return KnownSecrets(values)
