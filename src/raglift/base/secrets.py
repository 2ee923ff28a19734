"""Secrets: which values are some, where objects hold them, and how they are hidden in the texts of others.

A value is known to be a secret by the name it is kept under (an environment variable `SEARCH_AUTH`, an attribute
`api_key`, a header `Authorization`) or by its type (pydantic's `SecretStr`). Services repeat what they were sent in
many forms, so a secret is also found where it is escaped once or twice, is a part of something in base64, or is cut
off.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import os
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, unquote, urlsplit

from raglift.base.limits import user_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


# Which values are secret: by their names, and what else is one in them.


SHORTEST_SECRET = 8
"""A shorter value is taken for no secret: hiding it would hide common words in messages."""
_SHORTEST_IN_AN_ANSWER = 6
_LONGEST_WORD = 20
"""So many letters may be a word, or a name like `bert-base-uncased`."""
_SECRET_NAME = re.compile(r"key|token|secret(?!ar)|passw|passphrase|credential|signature", re.IGNORECASE)
_SECRET_WORD = re.compile(
    r"(?:^|[^a-z])(?:pw|pwd|pass|auth|authorization|creds?|dsn|login|cookie|bearer|jwt|pat)(?:[^a-z]|$)", re.IGNORECASE
)
_NO_SECRET_NAME = re.compile(
    r"tokenizer|keyboard|keyring|keyword|monkey|(?:^|_)(?:old)?pwd$|ssh_auth_sock", re.IGNORECASE
)
_NO_TOKEN_NAME = re.compile(
    r"_(?:paths?|files?|dirs?|folder|names?|ur[il]s?|host|server|port|addr(?:ess)?|users?|regions?|expir\w*|ttl|dates?|"
    r"ids?|types?|kinds?|patterns?|formats?|fields?|columns?|prefix|version|models?|encoding|counts?|counter|usage|"
    r"limits?|budget)$|max_?tokens",
    re.IGNORECASE,
)
"""What has such a name says something of a secret, and is none: `KEY_VAULT_NAME`, `TOKEN_EXPIRES`."""
_PUBLIC_HEADER = re.compile(r"accept.*|content-.*|user-agent|host|connection|cache-control|via|te", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z-]* +(\S+)")
"""`Bearer …`, `Basic …`, `ApiKey …`, as a header has it."""
_SETTING = re.compile(r"(?:^|[\s;?&])[\w-]*(?:password|passwd|pwd|secret|token|key)=([^\s;&]+)", re.IGNORECASE)
"""A setting in an address or a connection string: `password=…`."""
_WORDS = re.compile(r"[a-z]+(?:[-_. /][a-z]+)*|[A-Z]+|[A-Z][a-z]+")
_MARKER = re.compile(r"(?:[a-z]{2,6}[-_])+")
"""With what the keys of a provider begin, which is no secret: `sk-proj-`, `ghp_`."""


def is_secret_name(name: str) -> bool:
    """Whether a value of this name may be a secret, as a parameter of an address or an environment variable."""
    if _NO_SECRET_NAME.search(name):
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
    return set(_secret_variables().values())


def tokens_of_environment() -> set[str]:
    """Return what of the environment is so surely a secret that it may be taken out of documents."""
    return {token for name, value in _secret_variables().items() for token in tokens_in(name, value)}


def _secret_variables() -> dict[str, str]:
    found = os.environ.items()
    return {name: value for name, value in found if len(value) >= SHORTEST_SECRET and may_hold_secrets(name)}


def tokens_in(name: str, value: str) -> set[str]:
    """Return what may be taken out of documents of a value that is secret by its name and nothing else.

    Names tell little: below `password_reset` there may be a page of a manual, below `token_expires` a date. So the
    value has to look like a token, or be an address with a password.
    """
    if "://" in value and login_in(value)[1] and not _has_space(value):
        return {value}
    if _NO_TOKEN_NAME.search(name):
        return set()
    scheme = _AUTHENTICATION.fullmatch(value)
    token = scheme[1] if scheme else value
    if _has_token_shape(token):
        return {value, token}
    return set(filter(_has_token_shape, _SETTING.findall(value)))


def is_one_word(value: str) -> bool:
    """Whether a value is without white space, but for what a header begins with: `Bearer …`."""
    return not _has_space(value) or _AUTHENTICATION.fullmatch(value) is not None


def _has_space(value: str) -> bool:
    return any(letter.isspace() for letter in value)


def _has_token_shape(value: str) -> bool:
    """Whether a value looks as if it was made by chance: no prose, path, date, number, or address."""
    if not _SHORTEST_TOKEN <= len(value) <= _LONGEST_TOKEN or "://" in value or _has_space(value):
        return False
    if _DATE.match(value) or _NUMBER.fullmatch(value) or _MAIL.fullmatch(value):
        return False
    # A key in base64 may begin with a slash too; in it letters and digits take turns all the time
    if _PATH.match(value) and len(_TURN.findall(value)) * _RARE_TURNS < len(value):
        return False
    return _is_no_word(value)


_SHORTEST_TOKEN, _LONGEST_TOKEN = 12, 8_192
_RARE_TURNS = 5
_AUTHENTICATION = re.compile(r"(?:[\w-]+[=:] *)?(?:Bearer|Basic|Token|Digest|ApiKey|Api-Key|Key) +(\S+)", re.IGNORECASE)
TURNS = re.compile("[A-Za-z][0-9]|[0-9][A-Za-z]|[a-z][A-Z]")
"""Where letters, capitals and digits take turns, as they do in a key."""
_TURN = re.compile(f"(?={TURNS.pattern})")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?!\w)|\d{4}-\d\d-\d\dT\d\d:")
_NUMBER = re.compile(r"[-+]?[\d_.,]+(?:e[-+]?\d+)?", re.IGNORECASE)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PATH = re.compile(r"(?:~|\.{1,2})?[/\\]|[A-Za-z]:[/\\]")


def is_unmistakable(value: str) -> bool:
    """Whether a secret is no word, name or place that a document may have too, so that it may be taken out of texts."""
    if len(value) < SHORTEST_SECRET or (_WORDS.fullmatch(value) and len(value) < _LONGEST_WORD):
        return False
    if value.startswith(("/", "~", "./")) and os.path.lexists(user_path(value)):
        return False
    return "://" not in value or bool(login_in(value)[1])


def login_in(address: str) -> tuple[str, str]:
    """Return user and password of an address; two empty texts where it has none."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "", ""
    return parts.username or "", parts.password or ""


def _parts_of(value: str) -> Iterator[str]:
    """Yield a secret, and what in it is one for itself: the token of `Bearer …`, the password of an address."""
    yield value
    scheme = _SCHEME.fullmatch(value)
    token = scheme[1] if scheme else value
    if scheme:
        yield token
    login = _decoded(token)
    if login is not None:
        yield login
        yield login.partition(":")[2]
    if "://" in value:
        user, password = login_in(value)
        if password:
            yield f"{user}:{password}"
            yield unquote(password)
            yield password
    yield from _SETTING.findall(value)


def _decoded(token: str) -> str | None:
    """Return user and password that a token holds in base64; None where it does not."""
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return text if ":" in text and text.isprintable() else None


# How secrets are hidden in texts.


_LONGEST_FORM = 18
"""How many characters may stand for one: `%5Cu002f`, `&amp;quot;`."""
_CASES = re.compile("[a-z][A-Z]")
_LEAST_WITHOUT_DIGITS, _LEAST_CASES = 12, 3
"""`LangChainRetriever` is a word of programs, and has capitals inside too."""
_LEAST_BASE64 = 8
_LEAST_ANCHOR = 3
HIDDEN = "***"
"""What stands in place of a secret."""


class KnownSecrets:
    """Hides values in texts of others, also where they are escaped for an address, JSON or HTML, or cut off.

    Args:
        values: what is to be hidden.
        unmistakable: leave out what a document may have by chance.

    Attributes:
        values: those that are long enough to be hidden.
        longest: how many characters may stand for the longest of them.
    """

    def __init__(self, values: Iterable[str], *, unmistakable: bool = False) -> None:
        parts = {part for value in values for part in _parts_of(value) if len(part) >= _SHORTEST_IN_AN_ANSWER}
        if unmistakable:
            parts = set(filter(is_unmistakable, parts))
        self.values = frozenset(parts)
        self._forms = tuple(map(_form_of, sorted(parts, key=len, reverse=True)))
        starts = [start for form in self._forms for start in form.patterns]
        self._pattern = re.compile("|".join(starts)) if starts else None
        anchors = [anchor for form in self._forms for anchor in form.anchors]
        self._anchors = tuple(dict.fromkeys(anchors)) if all(anchors) else None
        """One of these is in every text that has a secret in it; None where that cannot be said."""
        self.longest = _LONGEST_FORM * max(map(len, parts), default=0)

    def may_be_in(self, text: str) -> bool:
        """Whether a text may hold a secret; told fast, since there may be millions of texts."""
        if self._anchors is None:
            return self._pattern is not None
        return any(anchor in text for anchor in self._anchors)

    def cleared(self, text: str) -> str:
        """Return a text with `***` in place of secrets; the same text where there are none."""
        if self._pattern is None or not self.may_be_in(text):
            return text
        pieces: list[str] = []
        at = 0
        for match in self._pattern.finditer(text):
            if match.start() >= at:
                pieces += (text[at : match.start()], HIDDEN)
                at = max(form.end(text, match) for form in self._forms)
        return "".join((*pieces, text[at:])) if pieces else text


class _Form:
    """How one secret may stand in a text.

    Attributes:
        patterns: of its beginning, by which it is known, and of it in base64.
        anchors: for each of these, letters and digits that are in every text that matches; "" where there are none.
    """

    def __init__(self, secret: str) -> None:
        known = _known_by(secret)
        self._letters = tuple(map(_any_form, secret))
        self._known = known
        self._beginning = re.compile("".join(self._letters[:known]))
        in_base64 = _in_base64(secret) if len(secret) >= SHORTEST_SECRET else ()
        self.patterns = (self._beginning.pattern, *("".join(map(_any_form, each)) for each in in_base64))
        self.anchors = tuple(map(_anchor, (secret[:known], *in_base64)))

    def end(self, text: str, match: re.Match[str]) -> int:
        """Return where a match of any secret ends, as far as this one goes on there: it may be cut off."""
        beginning = self._beginning.match(text, match.start())
        if beginning is None:
            return match.end()
        at = beginning.end()
        for letter in self._letters[self._known :]:
            following = _compiled(letter).match(text, at)
            if following is None:
                break
            at = following.end()
        return max(at, match.end())


@lru_cache(maxsize=256)
def _form_of(secret: str) -> _Form:
    return _Form(secret)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _known_by(secret: str) -> int:
    """Return of how many characters the beginning of a secret is known as one, for services cut off what they repeat.

    Eight or more, beyond what all keys of a provider begin with, and so many that they are no word; all of a secret
    that may begin as other texts do.
    """
    whole = len(secret)
    if "://" in secret or any(letter.isspace() for letter in secret):
        return whole
    marker = _MARKER.match(secret)
    begin = marker.end() if marker and whole - marker.end() >= SHORTEST_SECRET else 0
    for end in range(begin + SHORTEST_SECRET, whole):
        if _is_no_word(secret[begin:end]):
            return end
    return whole


def _is_no_word(part: str) -> bool:
    """Whether what a secret begins with is like nothing that a document has: `a1b2c3d4`, `cmFnbGlmdDpo`."""
    if any(letter.isdigit() for letter in part) and any(letter.isalpha() for letter in part):
        return True
    return len(part) >= _LEAST_WITHOUT_DIGITS and len(_CASES.findall(part)) >= _LEAST_CASES


def _in_base64(secret: str) -> tuple[str, ...]:
    """Return what of base64 stands for a secret and nothing else, by how many bytes are before it: `user:` and it."""
    data = secret.encode("utf-8", "replace")
    found = []
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data).decode()
        first, last = -(-before * 8 // 6), (before + len(data)) * 8 // 6
        found.append(encoded[first:last])
    urls = [each.replace("+", "-").replace("/", "_") for each in found]
    return tuple(dict.fromkeys(each for each in (*found, *urls) if len(each) >= _LEAST_BASE64))


def _anchor(text: str) -> str:
    """Return the longest run of letters and digits, which no form escapes; "" where it is too short to be rare."""
    longest = max(re.findall(r"[A-Za-z0-9]+", text), key=len, default="")
    return longest if len(longest) >= _LEAST_ANCHOR else ""


@cache
def _any_form(letter: str) -> str:
    """Return a pattern of all that may stand for a character of a secret, escaped once or twice."""
    if letter.isascii() and letter.isalnum():
        return letter
    once = _escaped(letter)
    forms = {letter, *once, *(twice for form in once for twice in _escaped(form))}
    return f"(?:{'|'.join(re.escape(form) for form in sorted(forms, key=len, reverse=True))})"


def _escaped(text: str) -> set[str]:
    """Return a character, or what stands for one, as addresses, JSON and HTML have it."""
    percent = quote(text, safe="", errors="replace")
    forms = {f"\\{text}", json.dumps(text)[1:-1], percent, percent.lower(), quote_plus(text, errors="replace")}
    forms.add(html.escape(text))
    if len(text) == 1:
        code = ord(text)
        forms |= {f"\\u{code:04x}", f"\\u{code:04X}", f"%{code:02X}", f"%{code:02x}", f"&#{code};", f"&#x{code:x};"}
    return forms


@lru_cache(maxsize=16)
def known_secrets(values: frozenset[str]) -> KnownSecrets:
    """Return what hides some values; the same object for the same values, which are often those of the environment."""
    return KnownSecrets(values)
