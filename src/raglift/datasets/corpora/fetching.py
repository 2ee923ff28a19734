"""A corpus's text downloaded from its publisher: one bounded download, the checks, and the cache folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

import httpx
from tenacity import Retrying

from raglift.datasets.corpora.catalogue import Corpus, CorpusText, find_corpus, is_allowed
from raglift.datasets.jsonl import resolve_queries
from raglift.errors import CorpusError, DatasetError
from raglift.utilities.replacing import staging_folder
from raglift.utilities.retrying import RetryPolicy, is_transient
from raglift.utilities.validation import Location

# Download of one file over https: bounded in size and time, complete or an error.


_SECONDS = 120.0
"""For one address, retries included."""
_ATTEMPTS = 3
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 4.0
_STALLED_SECONDS = 10.0
_HTML = (b"<!doctype html", b"<html")


def _download(url: str, max_bytes: int) -> bytes:
    """Return the bytes of the text at an address, at most so many."""
    if not is_allowed(url):
        raise CorpusError("only https:// addresses are downloaded from (http:// only on this machine)")
    ends = time.monotonic() + _SECONDS
    policy = RetryPolicy(
        _ATTEMPTS,
        first_wait=_FIRST_WAIT_SECONDS,
        longest_backoff=_LONGEST_WAIT_SECONDS,
        longest_retry_after=_LONGEST_WAIT_SECONDS,
        retry_on=lambda error: is_transient(error) and ends - time.monotonic() > 1,
    )
    try:
        return Retrying(**policy.for_tenacity())(_attempt, url, max_bytes, ends)
    except httpx.TimeoutException:
        raise CorpusError(f"no answer in time (timeout: {_SECONDS:g} seconds in all)") from None
    except httpx.HTTPStatusError as error:
        raise CorpusError(f"HTTP {error.response.status_code} {error.response.reason_phrase}") from None
    except (httpx.HTTPError, httpx.InvalidURL, ImportError) as error:  # ImportError: a SOCKS proxy
        raise CorpusError(f"the download failed: {error or type(error).__name__}") from None


def _attempt(url: str, max_bytes: int, ends: float) -> bytes:
    def check_address(request: httpx.Request) -> None:
        if not is_allowed(str(request.url), came_from=url):
            raise CorpusError(f"redirected to {request.url}, which is not https://")

    with (
        httpx.Client(
            follow_redirects=True,
            timeout=min(_STALLED_SECONDS, max(ends - time.monotonic(), 0.001)),
            event_hooks={"request": [check_address]},
            headers={"Accept-Encoding": "identity", "User-Agent": "raglift"},
        ) as client,
        client.stream("GET", url) as response,
    ):
        response.raise_for_status()
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > max_bytes:
                raise CorpusError(f"too large: over {max_bytes} bytes")
            if time.monotonic() > ends:
                raise CorpusError("not finished in time; try again")
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type == "text/html" or bytes(body[:200]).lstrip(b"\xef\xbb\xbf \r\n\t").lower().startswith(_HTML):
        raise CorpusError("an HTML page, expected a plain text")
    return bytes(body)


# Download of a corpus's text from its publisher to the cache folder, checked against the labels.


_FAULTS_SHOWN = 5


def fetch(corpus: str | Corpus, *, url: str | None = None) -> Path:
    """Download the text of a corpus, check that its labels resolve in it, and return where it was put.

    Editions of a book differ in header, wrapping and spelling, so the labels judge the text, not a checksum: at least
    half of them must resolve, and those that do not are left out when the corpus is loaded. Nothing is written before
    the whole text has passed.

    Args:
        corpus: the name of a corpus that comes with raglift, or a corpus.
        url: the address to download from, in place of the corpus's own.

    Raises:
        CorpusError: the corpus is unknown or has nothing to fetch, or no address gave a text that its labels
            are about; the message says for each address why.
    """
    corpus = find_corpus(corpus) if isinstance(corpus, str) else corpus
    text, target = corpus.text_to_fetch()
    reasons = []
    for address in (url,) if url else text.urls:
        try:
            data = _download(address, text.max_bytes)
            _check(data, text, corpus)
        except CorpusError as error:
            reasons.append(f"  {address}: {error}")
        else:
            _put(data, target)
            return target
    raise CorpusError(
        f"corpus {corpus.name!r} could not be fetched:\n"
        + "\n".join(reasons)
        + "\nWithout a network: set RAGLIFT_CORPORA "
        f"to a folder that holds {corpus.name}/{text.file}, or give another address with --url"
    )


def _check(data: bytes, text: CorpusText, corpus: Corpus) -> None:
    """Raise unless data is a text in which half of the corpus's labels or more resolve."""
    location = Location("the text", [])
    document = text.parse(data, location)
    if document is None:
        raise CorpusError("; ".join(str(fault) for fault in location.faults))
    try:
        resolution = resolve_queries(corpus.queries_path, (document,), partly=True)[1]
        faults = [label.fault for label in resolution.left_out]
        if 2 * len(faults) <= resolution.labels:
            return
    except DatasetError as error:
        faults = list(error.faults)
    shown = "".join(f"\n    {fault}" for fault in faults[:_FAULTS_SHOWN])
    raise CorpusError(
        f"not the text that the labels are about; {len(faults)} of them do not resolve, the first:{shown}", faults
    )


def _put(data: bytes, target: Path) -> None:
    """Write a file whole or not at all."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with staging_folder(target) as temporary:
            written = temporary / "written"
            with written.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            written.replace(target)
    except OSError as error:
        raise CorpusError(
            f"the text cannot be written to {target}: {error}; set RAGLIFT_CACHE to a folder that can"
        ) from error
