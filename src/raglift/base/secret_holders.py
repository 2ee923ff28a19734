"""Where a user's objects hold secrets, and clearing what a system returns of them before it is kept."""

from __future__ import annotations

import re
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from raglift.base.held_objects import HEADERS, attribute_of, contents_of, is_of_numbers, some_of
from raglift.base.secrets import (
    TURNS,
    KnownSecrets,
    is_one_word,
    is_public_header,
    is_secret_name,
    is_unmistakable,
    login_in,
    secrets_of_environment,
    tokens_in,
    tokens_of_environment,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# Where a user's objects hold secrets.


_MOST_OBJECTS = 3_000
_DEEPEST = 10
_NO_HOLDERS = ("numpy", "torch", "faiss", "pandas", "scipy", "pyarrow", "sqlite3", "threading", "asyncio", "_thread")
_SPECIAL_TOKEN = re.compile(r"(?:pad|bos|eos|unk|cls|sep|mask|stop|special|image)_?tokens?", re.IGNORECASE)
_SECRET_NAME = re.compile(
    r"tokens?(?![a-z])|secret(?!ar)|passw|passphrase|credential|"
    r"(?:^|[^a-z])(?:pw|pwd|pass|auth|authorization|creds?|dsn|cookie|bearer|jwt|pat)(?:[^a-z]|$)",
    re.IGNORECASE,
)
"""Fewer names than of variables: an object has many that are no setting, and holds what the user searches."""
_SOME_KEY = re.compile(r"(?<!mon)(?<!tur)keys?$", re.IGNORECASE)
_KEY_TO_A_SERVICE = re.compile(
    r"(?:api|access|secret|private|subscription|auth|account|admin|master|service|client|signing)[-_]?keys?$",
    re.IGNORECASE,
)
_KEY_TO_A_FIELD = re.compile(
    r"(?:primary|foreign|partition|sort|cache|doc|text|metadata|content|id|vector|input|output|memory|index|group)"
    r"[-_]?keys?$",
    re.IGNORECASE,
)
_MOST_VALUES = 100
_LEAST_TURNS = 3
"""How often letters, capitals and digits take turns in a key that is called no more than `key`."""
_TEXTS = ("text", "page_content", "content")
"""A mapping with one of these is a document of the user's, and so is an object with what frameworks give theirs."""
_PARTS_OF_DOCUMENTS = (("page_content",), ("get_content", "metadata"), ("get_content", "node"), ("content", "meta"))
_DOCUMENTS = re.compile(
    r"_*(?:documents?|docs?|chunks|nodes|passages|corpus|texts|metadatas?|metadata_dict|meta)_*", re.IGNORECASE
)
"""What is called so and is a list or mapping has documents or what they carry along in it."""
_STORE = re.compile(
    r"(?:Simple|InMemory)\w*(?:Docstore|DocumentStore|KVStore|ByteStore|BaseStore|IndexStore|StoreData)"
)


@dataclass(frozen=True)
class Held:
    """What objects hold that is secret."""

    sure: frozenset[str]
    """By its type, or as a header or the password of an address."""
    named: frozenset[str]
    """By its name alone."""
    tokens: frozenset[str]
    """What of these looks like a token, and may be taken out of documents."""


def secrets_held_by(*objects: Any) -> Held:
    """Return the secrets that objects hold: pydantic's and Haystack's, values under secret names, and headers.

    Attributes, items of lists and mappings, and what functions use are looked at; nothing is called but what reveals a
    secret that is marked as one. Documents are not looked into: what is below a name there is the user's text.
    """
    sure: set[str] = set()
    named: dict[str, set[str]] = {}
    seen: set[int] = set()
    waiting: deque[tuple[int, Any]] = deque((0, each) for each in objects)
    while waiting and len(seen) < _MOST_OBJECTS:
        depth, held = waiting.popleft()
        if id(held) in seen:
            continue
        seen.add(id(held))
        with suppress(Exception):  # whatever a user's object does when it is looked at
            if (shown := _shown_by(held)) is not None:
                sure |= shown
                continue
            if _is_no_holder(held):
                continue
            for name, value in contents_of(held):
                sure.update(_in_headers_or_addresses(name, value))
                for secret in secrets_by_name(name, value):
                    named.setdefault(secret, set()).update(tokens_in(name, secret))
                if depth < _DEEPEST and not (_DOCUMENTS.fullmatch(name) and isinstance(value, (dict, list, tuple))):
                    waiting.append((depth + 1, value))
    tokens = frozenset(token for tokens in named.values() for token in tokens)
    return Held(frozenset(filter(None, sure)), frozenset(named), tokens)


def _shown_by(held: Any) -> set[str] | None:
    """Return the secrets that an object is there for; None for any other object."""
    if isinstance(held, KnownSecrets):
        return set(held.values)
    secret = _revealed(held)
    return None if secret is None else {secret}


def _is_no_holder(held: Any) -> bool:
    if held is None or isinstance(held, (str, bytes, int, float, type, ModuleType)):
        return True
    kind = type(held)
    return kind.__module__.partition(".")[0] in _NO_HOLDERS or _is_document(held)


def _is_document(held: Any) -> bool:
    """Whether an object is a document of the user's, or a store of nothing else."""
    if isinstance(held, dict):
        return any(isinstance(dict.get(held, name), str) for name in _TEXTS)
    kind = type(held)
    if kind.__module__.startswith("raglift.records.") or _STORE.fullmatch(kind.__name__):
        return True
    attributes = attribute_of(held, "__dict__")
    own = attributes if isinstance(attributes, dict) else {}
    return any(
        all(name in own or any(name in vars(base) for base in kind.__mro__) for name in names)
        for names in _PARTS_OF_DOCUMENTS
    )


def _revealed(held: Any) -> str | None:
    """Return what a `SecretStr` of pydantic or a `Secret` of Haystack holds; None for anything else."""
    for method in ("get_secret_value", "resolve_value"):
        reveal = getattr(type(held), method, None)
        if reveal is not None:
            try:
                value = reveal(held)
            except Exception:  # noqa: BLE001 — a variable that is not set, or an object that only has the name
                return ""
            if isinstance(value, bytes):
                value = value.decode(errors="replace")
            return value if isinstance(value, str) else ""
    return None


def _in_headers_or_addresses(name: str, value: Any) -> Iterator[str]:
    """Yield the headers in a value of this name that are not public, or the address in it that has a password."""
    if isinstance(value, str):
        if "://" in value and "@" in value and len(value) < _LONGEST_ADDRESS and is_one_word(value):
            yield from [value] if login_in(value)[1] else []
    elif "header" in name.lower() and (isinstance(value, dict) or type(value).__name__ in HEADERS):
        for key, each in some_of(value.items()):
            text = _decoded(each)
            if (
                not is_public_header(str(key))
                and is_unmistakable(text)
                and (is_one_word(text) or is_secret_name(str(key)))
            ):
                yield text


def secrets_by_name(name: str, value: Any) -> Iterator[str]:
    """Yield what is secret of a value by its name."""
    is_some_key = _SOME_KEY.search(name) is not None and _KEY_TO_A_SERVICE.search(name) is None
    if _SPECIAL_TOKEN.search(name) or (is_some_key and _KEY_TO_A_FIELD.search(name)):
        return
    if _SOME_KEY.search(name) is None and _SECRET_NAME.search(name) is None:
        return
    values = value[:_MOST_VALUES] if isinstance(value, (list, tuple)) else [value]  # user and password, as requests has
    for text in map(_decoded, values):
        is_like_one = is_unmistakable(text) and is_one_word(text)
        if is_like_one and (not is_some_key or len(TURNS.findall(text)) >= _LEAST_TURNS):
            yield text


def _decoded(value: Any) -> str:
    """Return a text, or the text that bytes hold; "" of anything else."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else ""


_LONGEST_ADDRESS = 2_000


# What a system returned, before it is kept.


class Clearance:
    """Takes the secrets of a system and of the environment out of what the system returns.

    In messages everything that is secret by its name is hidden; out of documents is taken only what no document has by
    chance, since a changed text may no longer match its labels.

    Args:
        objects: the system.
    """

    def __init__(self, *objects: Any) -> None:
        held = secrets_held_by(*objects)
        sure = held.sure | held.tokens | tokens_of_environment()
        self.held = KnownSecrets(sure | held.named | secrets_of_environment())
        """Everything that is secret by its name or its type."""
        self._sure = KnownSecrets(sure, unmistakable=True)

    @property
    def has_any(self) -> bool:
        """Whether there is anything that would be taken out of documents."""
        return bool(self._sure.values)

    def text(self, text: str) -> str:
        """Return a text of a document."""
        return self._sure.cleared(text)

    def message(self, text: str) -> str:
        """Return a text that says something of the system."""
        return self.held.cleared(text)

    def may_be_in(self, *values: Any) -> bool:
        """Whether values, as JSON has them, may hold a secret."""
        return self.has_any and any(is_in(value, self._sure.may_be_in) for value in values)

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return a value, as JSON has it, with its texts cleared."""
        if isinstance(value, str):
            return self.text(value)
        if depth >= _DEEPEST_VALUE or value is None or isinstance(value, (int, float)):
            return value
        if isinstance(value, (list, tuple)):
            return value if is_of_numbers(value) else [self.value(each, depth + 1) for each in value]
        if isinstance(value, dict):
            return {self.value(key, depth + 1): self.value(each, depth + 1) for key, each in value.items()}
        text = _text_of(value)
        return value if self.text(text) == text else self.text(text)


_DEEPEST_VALUE = 60


def is_in(value: Any, test: Callable[[str], bool], depth: int = 0) -> bool:
    """Whether a test is true of a text in a value, as JSON has it."""
    if isinstance(value, str):
        return test(value)
    if value is None or isinstance(value, (int, float)) or depth >= _DEEPEST_VALUE:
        return False
    if isinstance(value, dict):
        return is_in(list(value), test, depth + 1) or is_in(list(value.values()), test, depth + 1)
    if isinstance(value, (list, tuple)):
        return not is_of_numbers(value) and any(is_in(each, test, depth + 1) for each in value)
    return test(_text_of(value))


def _text_of(value: Any) -> str:
    """Return the text that a saved run has of a value that JSON does not know; "" of numbers."""
    if type(value).__module__ == "numpy" and getattr(getattr(value, "dtype", None), "kind", "") not in "OUS":
        return ""
    if type(value).__module__ == "torch":
        return ""
    try:
        return str(value.tolist() if hasattr(value, "tolist") else value)
    except Exception:  # noqa: BLE001 — a user's object; saving it says what is the matter
        return ""
