"""Addresses of HTTP services, and references to MCP servers: the command that starts one or its address, and a tool."""

from __future__ import annotations

import ipaddress
import re
import shlex
from dataclasses import dataclass
from urllib.parse import parse_qsl, urldefrag, urlsplit
from urllib.request import getproxies, proxy_bypass

from raglift.errors import ConfigurationError
from raglift.retrieval.services.mapping import variables_of
from raglift.utilities.secrets import is_secret_name, login_in
from raglift.utilities.validation import quoted

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
    """Whether a text is not an address of an HTTP service and was probably meant as one: `localhost:8000/search`."""
    return not is_http_address(reference) and _NEARLY.match(reference.strip()) is not None


def checked_address(address: str) -> str:
    """Return the address of a service, without white space around it.

    Raises:
        ConfigurationError: it has no host or an impossible port, or holds a secret.
    """
    text, expected = address.strip(), "an address, for example http://localhost:8000/search"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise _wrong(shown_address(text), f"{expected} ({error})") from None
    if not is_http_address(text) or not host or any(letter.isspace() or not letter.isprintable() for letter in text):
        raise _wrong(quoted(shown_address(text)), expected)
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
    """Whether an address is of this machine, which no proxy could reach."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def proxy_of(address: str) -> str | None:
    """Return the proxy that the environment names for an address."""
    parts = urlsplit(address)
    if is_loopback(address) or proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


# References to MCP servers.


_STDIO, _HTTP = "mcp:", "mcp+"
_TOOL = re.compile(r"[^\s#'\"]{1,128}")
_EXPECTED = (
    "mcp: and the command that starts a server, for example mcp:python server.py#search, or mcp+ and its address, for "
    "example mcp+http://127.0.0.1:8000/mcp#search"
)
_ASSIGNED = re.compile(r"-{0,2}([A-Za-z][\w.-]*)=(.+)", re.DOTALL)
_OPTION = re.compile(r"--?([A-Za-z][\w.-]*)")


@dataclass(frozen=True)
class McpAddress:
    """Where a server is, and which of its tools is meant."""

    command: tuple[str, ...] = ()
    """What starts it, word by word; empty for one with an address."""
    url: str = ""
    """Its address for streamable HTTP; empty for one that is started."""
    tool: str | None = None
    """The name of its tool; None to find it."""

    @property
    def shown(self) -> str:
        """Its command, with the names of variables for their values, or its address."""
        return shlex.join(self.command) if self.command else shown_address(self.url)


def is_mcp_reference(reference: str) -> bool:
    """Whether a text is meant as an MCP server."""
    return reference.strip().lower().startswith((_STDIO, _HTTP))


def parse_mcp_reference(reference: str) -> McpAddress:
    """Return the server and the tool that a reference names.

    Raises:
        ConfigurationError: it is neither, or holds a secret, which would be kept with every run.
    """
    text = reference.strip()
    if text.lower().startswith(_HTTP):
        return _of_url(text[len(_HTTP) :])
    if not text.lower().startswith(_STDIO):
        raise _wrong(quoted(text), _EXPECTED)
    rest = text[len(_STDIO) :].strip()
    if is_http_address(rest):
        raise _wrong(f"an address behind {_STDIO}", f"{_HTTP} before an address: mcp+{shown_address(rest)}")
    before, mark, after = rest.rpartition("#")
    if mark and not after:
        raise _wrong("# without the name of a tool", "a name behind it, or no #")
    has_tool = _TOOL.fullmatch(after) is not None and bool(mark)
    try:
        command = tuple(shlex.split(before if has_tool else rest))
    except ValueError as error:
        raise _wrong(f"a command that cannot be read ({error})", "every quotation mark closed") from None
    if not command:
        raise _wrong("no command", _EXPECTED)
    _refuse_secrets(command)
    return McpAddress(command=command, tool=after if has_tool else None)


def _of_url(text: str) -> McpAddress:
    if not is_http_address(text):
        scheme = text.partition("://")[0] if "://" in text else shown_address(text)
        raise _wrong(quoted(_HTTP + scheme), "mcp+http:// or mcp+https://; a server over stdio is mcp:COMMAND")
    url, tool = urldefrag(text)
    if tool and not _TOOL.fullmatch(tool):
        raise _wrong(f"the tool {quoted(tool)}", "the name of a tool behind #, without spaces")
    return McpAddress(url=checked_address(url), tool=tool or None)


def _refuse_secrets(command: tuple[str, ...]) -> None:
    """Raise for a word that is secret by its name; a command is kept with every run, and other users can list it."""
    for before, word in zip(("", *command), command, strict=False):
        if variables_of(word):
            continue
        assigned, option = _ASSIGNED.fullmatch(word), _OPTION.fullmatch(before)
        name = assigned[1] if assigned else option[1] if option and not word.startswith("-") else ""
        is_secret = bool(name) and is_secret_name(name)
        if is_secret or ("://" in word and login_in(word)[1]):
            raise _wrong(
                f"{f'the value of {quoted(name)}' if is_secret else 'an address with a password'} in the command of a "
                "server",
                "no secret there: it would be kept with every run. Set it in the environment, and name the variable: "
                "${NAME} in the command, or env: {NAME: ${NAME}} in the mapping",
            )


def _wrong(found: str, expected: str) -> ConfigurationError:
    return ConfigurationError(f"system: found {found}; expected {expected}")
