"""One file over https: bounded in size and time, and the whole of it or an error."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import httpx
from tenacity import Retrying

from raglift.corpora.addresses import is_allowed
from raglift.errors import CorpusError
from raglift.retries import RetryPolicy, is_transient

__all__ = ["Progress", "download"]

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the bytes received so far and the bytes expected, None when the server does not say."""

_ATTEMPTS = 3
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 4.0
_STALLED_SECONDS = 10.0
_HTML = (b"<!doctype html", b"<html")


@dataclass(frozen=True)
class _Deadline:
    """A moment that everything together must not pass."""

    seconds: float
    moment: float

    @classmethod
    def after(cls, seconds: float) -> _Deadline:
        return cls(seconds, time.monotonic() + seconds)

    @property
    def left(self) -> float:
        return self.moment - time.monotonic()

    def check(self) -> None:
        if self.left <= 0:
            raise CorpusError(f"not finished within {self.seconds:g} seconds; try again, or raise the timeout")


def download(url: str, *, max_bytes: int, timeout: float, on_progress: Progress | None = None) -> bytes:
    """Return the bytes of the text at an address.

    Args:
        url: an https address, or an http address on this machine.
        max_bytes: the most that is read.
        timeout: seconds for everything, retries included.
        on_progress: told of each piece that arrives.

    Raises:
        CorpusError: the address is not allowed, does not answer, or answers with something else than the
            whole of a text of at most `max_bytes`.
    """
    if not is_allowed(url):
        raise CorpusError("only https:// addresses are downloaded from (http:// only on this machine)")
    deadline = _Deadline.after(timeout)
    policy = RetryPolicy(
        _ATTEMPTS,
        first_wait=_FIRST_WAIT_SECONDS,
        longest_backoff=_LONGEST_WAIT_SECONDS,
        longest_retry_after=_LONGEST_WAIT_SECONDS,
        retry_on=lambda error: is_transient(error) and deadline.left > 1,
    )
    try:
        return Retrying(**policy.for_tenacity())(_attempt, url, max_bytes, deadline, on_progress)
    except httpx.TimeoutException:
        raise CorpusError(f"no answer in time (timeout: {timeout:g} seconds in all)") from None
    except httpx.HTTPStatusError as error:
        raise CorpusError(f"HTTP {error.response.status_code} {error.response.reason_phrase}") from None
    except (httpx.HTTPError, httpx.InvalidURL, ImportError) as error:  # ImportError: a SOCKS proxy
        raise CorpusError(f"the download failed: {error or type(error).__name__}") from None


def _attempt(url: str, max_bytes: int, deadline: _Deadline, on_progress: Progress | None) -> bytes:
    def check_address(request: httpx.Request) -> None:
        if not is_allowed(str(request.url), came_from=url):
            raise CorpusError(f"redirected to {request.url}, which is not https://")

    deadline.check()
    with (
        httpx.Client(
            follow_redirects=True,
            timeout=min(_STALLED_SECONDS, deadline.left),
            event_hooks={"request": [check_address]},
            headers={"Accept-Encoding": "identity", "User-Agent": "raglift"},
        ) as client,
        client.stream("GET", url) as response,
    ):
        response.raise_for_status()
        return _receive(response, max_bytes, deadline, on_progress)


def _receive(response: httpx.Response, max_bytes: int, deadline: _Deadline, on_progress: Progress | None) -> bytes:
    length = response.headers.get("Content-Length", "")
    total = int(length) if length.isdecimal() and "Content-Encoding" not in response.headers else None
    if total is not None and total > max_bytes:
        raise CorpusError(f"too large: {total} bytes, expected at most {max_bytes}")
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        if len(body) > max_bytes:
            raise CorpusError(f"too large: over {max_bytes} bytes")
        deadline.check()
        if on_progress is not None:
            on_progress(len(body), total)
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type == "text/html" or bytes(body[:200]).lstrip(b"\xef\xbb\xbf \r\n\t").lower().startswith(_HTML):
        raise CorpusError("an HTML page, expected a plain text")
    return bytes(body)
