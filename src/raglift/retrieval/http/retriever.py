"""`HttpRetriever`: any search service that answers with JSON, in any language."""

from __future__ import annotations

import asyncio
import json
import time
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError, ServiceFailed, ServiceUnusable
from raglift.event_loop import event_loop
from raglift.printable import encodable
from raglift.records import Ranking
from raglift.retrieval.http.address import checked_address, shown_address
from raglift.retrieval.http.answers import AnswerReader
from raglift.retrieval.http.connections import Connections
from raglift.retrieval.http.mapping import HttpMapping, load_mapping, mapping_of
from raglift.retrieval.http.template import filled, resolved

if TYPE_CHECKING:
    import os

    import httpx

    from raglift.retrieval.http.exchange import Exchange, NoConnection

__all__ = ["HttpRetriever"]

_PATIENCE_AT_FIRST = 2.0
_FIRST_WAIT = 0.25
_PATIENCE_LATER = 60.0
_SHORTEST_SECRET = 6  # a shorter one would hide common words in messages
_HEADERS = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "raglift"}


class HttpRetriever:
    """Asks an HTTP service for the hits of each query.

    How many queries are under way at once, how often a failure is tried again and how long a query may take are said
    where it is measured (`evaluate(…, concurrency=16, retries=2, timeout=20)`). Connections are kept open, one for each
    query under way. Redirects to another server are not followed.

    Args:
        address: of the service, as `http://localhost:8000/search`.
        mapping: what is sent and where the hits are in the answer: an `HttpMapping`, its fields, or the path of a YAML
            or JSON file with them; by default `{"query": …, "k": …}` is posted and the usual names are looked for.

    Raises:
        ConfigurationError: the address is none, or holds a secret.
        MappingError: the mapping is not described as it must be; every fault is listed.
        MissingKey: an environment variable that the mapping names is not set.
    """

    def __init__(
        self, address: str, mapping: HttpMapping | Mapping[str, Any] | str | os.PathLike[str] | None = None
    ) -> None:
        self._address = checked_address(address)
        self.mapping = _mapping_of(mapping)
        headers, in_headers = resolved(self.mapping.headers, "the header")
        texts = {name: value for name, value in (self.mapping.params or {}).items() if isinstance(value, str)}
        params, in_params = resolved(texts, "the parameter")
        self._headers = {**_HEADERS, **{name.lower(): _sendable(name, value) for name, value in headers.items()}}
        self._params = {**(self.mapping.params or {}), **params}
        kept = {*in_headers, *in_params, *headers.values()}
        self._secrets = sorted((one for one in kept if len(one) >= _SHORTEST_SECRET), key=len, reverse=True)
        self._reader = AnswerReader(self.mapping.response)
        self._connections = Connections(self._address, self.mapping.timeout)
        weakref.finalize(self, self._connections.close_soon).atexit = False  # the process closes them itself
        self._first_asked: float | None = None
        self._last_reached: float | None = None

    def __str__(self) -> str:
        return f"HTTP {self.mapping.method} {shown_address(self._address)}"

    def __repr__(self) -> str:
        return f"HttpRetriever({shown_address(self._address)!r}, {self.mapping!r})"

    @property
    def depth_fixed(self) -> tuple[str, ...]:
        """What cannot be told how many hits are wanted; empty where it can."""
        return () if self.mapping.sends_k else (f"{self} (the mapping sends no {{k}})",)

    def retrieve_one(self, query: str, k: int) -> Ranking:
        """Return the hits of one query.

        Raises:
            ServiceFailed: there was no usable answer.
            ServiceUnusable: the service cannot be asked like this, or is not there.
            ConfigurationError: called on raglift's own event loop, which would wait for itself.
        """
        loop = event_loop()
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is loop:
            raise ConfigurationError("HttpRetriever: found retrieve_one in an async function; expected aretrieve_one")
        return asyncio.run_coroutine_threadsafe(self.aretrieve_one(query, k), loop).result()

    async def aretrieve_one(self, query: str, k: int) -> Ranking:
        """Return the hits of one query, without blocking.

        Raises:
            ServiceFailed: there was no usable answer.
            ServiceUnusable: the service cannot be asked like this, or is not there.
        """
        from raglift.retrieval.http.exchange import Exchange

        with self._connections.lent() as client:
            exchange = Exchange(client, self.mapping.timeout, self.mapping.most_bytes, self._secrets)
            answer = await self._reached(exchange, self._request(client, query, k))
        return Ranking.of(self._reader.read(answer)[:k])

    def _request(self, client: httpx.AsyncClient, query: str, k: int) -> httpx.Request:
        headers = self._headers
        content = None
        if self.mapping.json is not None:
            content = json.dumps(filled(self.mapping.json, query, k)).encode()
            headers = {"content-type": "application/json", **headers}
        params = {name: _in_address(filled(value, query, k)) for name, value in self._params.items()}
        request = client.build_request(self.mapping.method, self._address, headers=headers, content=content)
        if params:  # beside what the address has already
            request.url = request.url.copy_merge_params(params)
        return request

    async def _reached(self, exchange: Exchange, request: httpx.Request) -> Any:
        """Return the answer; a service that was not there yet is waited for, but not by each query anew."""
        from raglift.retrieval.http.exchange import NoConnection

        wait = _FIRST_WAIT
        while True:
            now = time.monotonic()
            self._first_asked = now if self._first_asked is None else self._first_asked
            try:
                answer = await exchange.json(request)
            except NoConnection as error:
                if self._last_reached is not None or now - self._first_asked > _PATIENCE_AT_FIRST:
                    raise self._not_there(error) from self._passing(error)
                await asyncio.sleep(wait)
                wait *= 2
            except (ServiceFailed, ServiceUnusable):
                self._last_reached = time.monotonic()
                raise
            else:
                self._last_reached = time.monotonic()
                return answer

    def _not_there(self, error: NoConnection) -> Exception:
        address = shown_address(self._address)
        if self._last_reached is None:
            return ServiceUnusable(f"no connection to {address}: {error}; expected a service there: is it running?")
        return ServiceFailed(f"no connection to {address} any more — {error}")

    def _passing(self, error: NoConnection) -> BaseException | None:
        """Return what makes a failure worth another try: none after a while, since every query would wait for it."""
        lately = self._last_reached is not None and time.monotonic() - self._last_reached < _PATIENCE_LATER
        return error.__cause__ if lately else None

    async def aclose(self) -> None:
        """Close the connections of the running loop; the next query opens new ones."""
        await self._connections.aclose()


def _mapping_of(given: Any) -> HttpMapping:
    if given is None:
        return HttpMapping()
    if isinstance(given, HttpMapping):
        return given
    return mapping_of(given) if isinstance(given, Mapping) else load_mapping(given)


def _sendable(name: str, value: str) -> str:
    """Return the value of a header, unless no header can have it; what it is stays unsaid."""
    if not (value.isascii() and value.isprintable()):
        raise ConfigurationError(f"the header {name}: found letters that no header can have; expected printable ASCII")
    return value


def _in_address(value: Any) -> str:
    """Return a parameter as it stands in an address, where only what UTF-8 can write is possible."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return encodable(str(value))
