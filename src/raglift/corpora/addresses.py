"""Which addresses raglift downloads from."""

from __future__ import annotations

from urllib.parse import urlsplit

__all__ = ["is_allowed"]

_THIS_MACHINE = frozenset({"127.0.0.1", "localhost", "::1"})


def is_allowed(url: str, *, came_from: str | None = None) -> bool:
    """Return whether a download may go there: over https, or over http to this machine.

    Args:
        url: the address.
        came_from: the address that redirected there: only this machine may redirect to this machine.
    """
    scheme, local = _scheme_and_local(url)
    if scheme == "https":
        return True
    return scheme == "http" and local and (came_from is None or _scheme_and_local(came_from)[1])


def _scheme_and_local(url: str) -> tuple[str, bool]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", False
    # an address without a host leads nowhere
    return (parts.scheme if parts.hostname else ""), parts.hostname in _THIS_MACHINE
