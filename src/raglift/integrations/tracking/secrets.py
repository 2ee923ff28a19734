"""What must not be shown of addresses and messages: passwords in addresses, and keys of the environment."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

from raglift.printable import shorten
from raglift.redaction import secrets_of_environment

__all__ = ["place_of", "reason_of", "without_secrets"]

_USER = re.compile(r"(?<=//)[^/\s]*@")  # to the last @: a password may have one too


def without_secrets(text: str) -> str:
    """Return a message without users and passwords in addresses, and without the values of secret variables."""
    for value in sorted(secrets_of_environment(), key=len, reverse=True):
        text = text.replace(value, "***")
    return _USER.sub("", text)


def place_of(address: str) -> str:
    """Return an address without user, password, query and fragment, any of which may hold a secret."""
    try:
        parts = urlsplit(address)
    except ValueError:  # no address at all, as http://[
        return without_secrets(address.partition("?")[0])
    shown = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    # urlunsplit writes sqlite:////data/x.db with two of its slashes only
    return without_secrets(address.partition("?")[0] if not parts.netloc else shown)


def reason_of(error: BaseException) -> str:
    """Return what went wrong in one line, without what may be secret."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):  # its first line counts only, and what was found may be a key
        details = error.errors(include_url=False, include_context=False, include_input=False)
        told = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in details)
        return shorten(without_secrets(told), 500)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return shorten(without_secrets(lines[0] if lines else type(error).__name__).rstrip(".:"), 500)
