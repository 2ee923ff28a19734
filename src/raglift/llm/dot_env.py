"""Keys and settings from `.env`; no key goes to a server that somebody else may have named."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from raglift.base.display import printable
from raglift.base.limits import resolved
from raglift.base.progress import notice
from raglift.base.secrets import is_secret_name
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_SERVER = re.compile(r"(?P<whose>[A-Z0-9_]+?)(?:_API)?_(?:BASE_URL|BASE|URL|URI|ENDPOINT|HOST)")
"""The names of variables that say which server is asked: `OPENAI_BASE_URL`, `AZURE_OPENAI_ENDPOINT`."""
_ALLOWED = "RAGLIFT_SEND_KEY_TO"
_FILE = Path(".env")


@dataclass(frozen=True)
class _Mixture:
    """A server and a key of which one is from `.env` and the other from the environment."""

    server: str
    """The variable that names the server."""
    address: str
    """Host, port and path, without what may be secret."""
    key: str
    """The variable that holds the key."""
    is_server_from_file: bool

    def __str__(self) -> str:
        here, there = (self.server, self.key) if self.is_server_from_file else (self.key, self.server)
        return (
            f"{resolved(_FILE)}: found {here} there and {there} in the environment, so that {self.key} would be sent "
            f"to {self.address}"
        )


def load_dot_env() -> None:
    """Read `.env` of the working directory, if python-dotenv is installed; the environment wins.

    A folder that somebody else wrote may have a `.env` too. Where it names a server and the key to it is from the
    environment, or the other way round, the user is asked at a terminal, and elsewhere it is refused, but for servers
    on this machine and those that `RAGLIFT_SEND_KEY_TO` of the environment names.

    Raises:
        ConfigurationError: the file cannot be read, or holds what no environment can, or would send a key to a server
            that is not from the same place; no value of a key is in the message.
    """
    try:
        from dotenv import dotenv_values
    except ImportError:
        return
    try:
        found = {name: value for name, value in dotenv_values(_FILE).items() if value is not None}
        # What the file itself allows is not allowed by anybody else
        added = {name: value for name, value in found.items() if name not in os.environ and name != _ALLOWED}
        for mixture in _mixtures(added):
            _ask(mixture)
        os.environ.update(added)
    except UnicodeDecodeError:
        raise _unusable("bytes that are no UTF-8") from None
    except OSError as error:
        raise _unusable(f"what cannot be read or set ({error.strerror or type(error).__name__})") from None
    except ValueError:  # os.environ's, of a NUL
        raise _unusable("a name or a value that no environment can hold, as one with a NUL character") from None


def address_of(url: str) -> str:
    """Return host, port and path of an address, without what may be secret in it."""
    address = urlsplit(url)
    return address.netloc.rpartition("@")[2] + address.path.rstrip("/")


def _mixtures(added: Mapping[str, str]) -> Iterator[_Mixture]:
    """Yield each server whose key is from another place: what `.env` adds, or the environment."""
    known = {**os.environ, **added}
    for server, url in known.items():
        named = _SERVER.fullmatch(server)
        if named is None or not url.strip() or _is_here(url):
            continue
        for key, value in known.items():
            of_same = key.startswith(f"{named['whose']}_") and is_secret_name(key) and key != server
            if of_same and value.strip() and (server in added) != (key in added):
                yield _Mixture(server, _shown(url), key, server in added)


def _is_here(url: str) -> bool:
    """Whether a server is on this machine; what is no address is sent nothing."""
    from raglift.components.http.client import is_loopback

    try:
        return "://" not in url or is_loopback(url)
    except ValueError:
        return False


def _shown(url: str) -> str:
    try:
        return printable(" ".join(address_of(url.strip()).split()))
    except ValueError:
        return "an address that cannot be read"


def _ask(mixture: _Mixture) -> None:
    """Let the user decide; nobody there to ask, refuse.

    Raises:
        ConfigurationError: it is not allowed.
    """
    allowed = [name.strip() for name in os.environ.get("RAGLIFT_SEND_KEY_TO", "").split(",")]
    host = mixture.address.partition("/")[0]
    if host in allowed or mixture.address in allowed:
        notice(f"raglift: {mixture.key} is sent to {mixture.address}, as {_ALLOWED} allows", show=True)
        return
    if _is_somebody_there():
        sys.stderr.write(f"raglift: {mixture}. Send it there? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
    raise ConfigurationError(
        f"{mixture}; expected both from one place: set {mixture.server} and {mixture.key} together, or allow it by "
        f"{_ALLOWED}={host} in the environment"
    )


def _is_somebody_there() -> bool:
    return sys.stdin is not None and sys.stderr is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _unusable(found: str) -> ConfigurationError:
    return ConfigurationError(
        f"{resolved(_FILE)}: found {found}; expected lines as OPENAI_API_KEY=… in UTF-8: mend the file, or "
        "remove it and set the variables in the environment"
    )
