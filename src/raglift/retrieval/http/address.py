"""Addresses of HTTP services: what is one, and what may be shown of it."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import parse_qsl, urlsplit

from raglift.errors import ConfigurationError
from raglift.faults import quoted
from raglift.redaction import is_secret_name

__all__ = ["checked_address", "is_http_address", "is_loopback", "perhaps_address", "shown_address"]

_SCHEMES = ("http://", "https://")
_NEARLY = re.compile(
    r"(https?:/?[^/\s]|[a-z]+://|localhost[:/]|\d{1,3}(\.\d{1,3}){3}[:/]|[\w.-]+:\d+(/|$)|[\w-]+(\.[\w-]+)+/)",
    re.IGNORECASE,
)
"""How an address begins that lacks `http://`, has half of it, or is of something else; no `module:name` does."""


def is_http_address(reference: str) -> bool:
    """Whether a text is meant as the address of an HTTP service."""
    return reference.strip().lower().startswith(_SCHEMES)


def perhaps_address(reference: str) -> bool:
    """Whether a text is no address of an HTTP service and was probably meant as one: `localhost:8000/search`."""
    return not is_http_address(reference) and _NEARLY.match(reference.strip()) is not None


def checked_address(address: str) -> str:
    """Return the address of a service, without white space around it.

    Raises:
        ConfigurationError: it has no host or an impossible port, or holds what belongs elsewhere: a secret, a query.
    """
    text = address.strip()
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise _wrong(shown_address(text), f"an address, as http://localhost:8000/search ({error})") from None
    if not is_http_address(text) or not host or any(letter.isspace() or not letter.isprintable() for letter in text):
        raise _wrong(quoted(shown_address(text)), "an address, as http://localhost:8000/search")
    if "@" in parts.netloc:
        raise _wrong(
            f"a user's name or password in {shown_address(text)}",
            "none there: it would be kept with every run. Set it in the environment, and name it in the mapping: "
            'headers: {Authorization: "Basic ${SEARCH_LOGIN}"}',
        )
    secret = next((name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if is_secret_name(name)), "")
    if secret:
        raise _wrong(
            f"{quoted(secret)} in the query of {shown_address(text)}",
            "no secret there: it would be kept with every run. Set it in the environment, and name it in the mapping: "
            f"params: {{{secret}: ${{SEARCH_KEY}}}}",
        )
    if "{query}" in text or "{k}" in text:
        raise _wrong(
            f"{{query}} or {{k}} in {shown_address(text)}",
            'them in the mapping: method: GET, and params: {q: "{query}", size: "{k}"}',
        )
    return text


def shown_address(address: str) -> str:
    """Return an address without what may be secret in it: user, password, query and fragment."""
    before, _, rest = address.strip().partition("://")
    if not rest:
        return before.partition("?")[0]
    place = re.split(r"[?#]", rest, maxsplit=1)[0]
    host, slash, path = place.partition("/")
    return f"{before.lower()}://{host.rpartition('@')[2]}{slash}{path}"


def is_loopback(address: str) -> bool:
    """Whether an address leads to this machine, so that no proxy could reach it."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _wrong(found: str, expected: str) -> ConfigurationError:
    return ConfigurationError(f"system: found {found}; expected {expected}")
