"""References to MCP servers: the command that starts one, or the address of one, and the name of a tool."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from urllib.parse import urldefrag

from raglift.base.secrets import is_secret_name, login_in
from raglift.base.validation import quoted
from raglift.components.http.client import checked_address, shown_address
from raglift.components.http.mapping import variables_of
from raglift.errors import ConfigurationError

STDIO, HTTP = "mcp:", "mcp+"
_TOOL = re.compile(r"[^\s#'\"]{1,128}")
_SCHEMES = ("http://", "https://")
_EXPECTED = (
    "mcp: and the command that starts a server, as mcp:python server.py#search, or mcp+ and its address, as "
    "mcp+http://127.0.0.1:8000/mcp#search"
)
_ASSIGNED = re.compile(r"-{0,2}([A-Za-z][\w.-]*)=(.+)", re.DOTALL)
_OPTION = re.compile(r"--?([A-Za-z][\w.-]*)")


@dataclass(frozen=True)
class McpAddress:
    """Where a server is, and which of its tools is meant."""

    command: tuple[str, ...] = ()
    """What starts it, word by word; empty where it has an address."""
    url: str = ""
    """Its address for streamable HTTP; empty where it is started."""
    tool: str | None = None
    """The name of its tool; None to find it."""

    @property
    def shown(self) -> str:
        """What is said of the server: its command, with the names of variables for their values, or its address."""
        return shlex.join(self.command) if self.command else shown_address(self.url)


def is_mcp_reference(reference: str) -> bool:
    """Whether a text is meant as an MCP server."""
    return reference.strip().lower().startswith((STDIO, HTTP))


def parse_mcp_reference(reference: str) -> McpAddress:
    """Return the server and the tool that a reference names.

    Args:
        reference: `mcp:COMMAND#tool` or `mcp+http://…#tool`; the tool may be left out. `${NAME}` in the command is an
            environment variable.

    Raises:
        ConfigurationError: it is neither, or holds a secret, which would be kept with every run.
    """
    text = reference.strip()
    if text.lower().startswith(HTTP):
        return _of_address(text[len(HTTP) :])
    if not text.lower().startswith(STDIO):
        raise _wrong(quoted(text), _EXPECTED)
    rest = text[len(STDIO) :].strip()
    if rest.lower().startswith(_SCHEMES):
        raise _wrong(f"an address behind {STDIO}", f"{HTTP} before an address: mcp+{shown_address(rest)}")
    before, mark, after = rest.rpartition("#")
    has_tool = bool(mark) and _TOOL.fullmatch(after) is not None
    if mark and not after:
        raise _wrong("# without the name of a tool", "a name behind it, or no #")
    try:
        command = tuple(shlex.split(before if has_tool else rest))
    except ValueError as error:
        raise _wrong(f"a command that cannot be read ({error})", "every quotation mark closed") from None
    if not command:
        raise _wrong("no command", _EXPECTED)
    _refuse_secrets(command)
    return McpAddress(command=command, tool=after if has_tool else None)


def _of_address(text: str) -> McpAddress:
    if not text.lower().startswith(_SCHEMES):
        found = text.partition("://")[0] if "://" in text else shown_address(text)
        raise _wrong(f"{quoted(HTTP + found)}", "mcp+http:// or mcp+https://; a server over stdio is mcp:COMMAND")
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
        if (name and is_secret_name(name)) or ("://" in word and login_in(word)[1]):
            what = f"the value of {quoted(name)}" if name and is_secret_name(name) else "an address with a password"
            raise _wrong(
                f"{what} in the command of a server",
                "no secret there: it would be kept with every run. Set it in the environment, and name the variable: "
                "${NAME} in the command, or env: {NAME: ${NAME}} in the mapping",
            )


def _wrong(found: str, expected: str) -> ConfigurationError:
    return ConfigurationError(f"system: found {found}; expected {expected}")
