"""What both transports tell the client of a request whose answer cannot be read."""

from __future__ import annotations

from typing import Any

OWN_ERROR = -32_999
"""The code of errors that raglift makes itself, which no server sends."""
TOO_LONG = "too long"
"""The message of the one for an answer that is longer than may be read."""


def failed_reply(request_id: int | str, code: int, message: str) -> Any:
    """Return an answer to a request that says that it failed."""
    from mcp_types import ErrorData, JSONRPCError

    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))
