"""`HttpRetriever`: any search service that answers with JSON, in any language."""

from __future__ import annotations

import copy
import json
import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.base.display import Secrets, encodable
from raglift.base.event_loops import is_own_loop, result_of
from raglift.base.secrets import is_public_header
from raglift.components.http.answers import AnswerReader
from raglift.components.http.availability import Availability, CircuitBreaker
from raglift.components.http.client import Connections, checked_address, shown_address
from raglift.components.http.mapping import HttpMapping, filled, load_mapping, mapping_of, resolved
from raglift.errors import ConfigurationError
from raglift.records.rankings import Ranking

if TYPE_CHECKING:
    import os

    import httpx

    from raglift.records.filters import Filter


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
        in_clear = (value for name, value in headers.items() if not is_public_header(name))
        self._secrets = Secrets((*in_headers, *in_params, *in_clear))
        self._reader = AnswerReader(self.mapping.response, self._secrets)
        self._connections = Connections(self._address)
        weakref.finalize(self, self._connections.close_soon).atexit = False  # the process closes them itself
        self._availability = Availability(shown_address(self._address))
        self._circuit_breaker = CircuitBreaker()
        self._lender: HttpRetriever | None = None

    def __str__(self) -> str:
        return f"HTTP {self.mapping.method} {shown_address(self._address)}"

    def __repr__(self) -> str:
        return f"HttpRetriever({shown_address(self._address)!r}, {self.mapping!r})"

    @property
    def depth_fixed(self) -> tuple[str, ...]:
        """What cannot be told how many hits are wanted; empty if it can."""
        return () if self.mapping.sends_k else (f"{self} (the mapping sends no {{k}})",)

    @property
    def takes_filters(self) -> bool:
        """Whether the service is told the metadata filter of a query."""
        return self.mapping.sends_filter

    def retrieve_one(self, query: str, k: int, given: Filter | None = None) -> Ranking:
        """Return the hits of one query, among what matches its filter.

        Raises:
            ServiceFailed: there was no usable answer.
            ServiceUnusable: the service cannot be asked like this, or is not there.
            ConfigurationError: called on raglift's own event loop, which would wait for itself.
        """
        if is_own_loop():
            raise ConfigurationError("HttpRetriever: found retrieve_one in an async function; expected aretrieve_one")
        return result_of(self.aretrieve_one(query, k, given))

    async def aretrieve_one(self, query: str, k: int, given: Filter | None = None) -> Ranking:
        """Return the hits of one query, among what matches its filter, without blocking.

        Raises:
            ServiceFailed: there was no usable answer.
            ServiceUnusable: the service cannot be asked like this, or is not there.
        """
        from raglift.components.http.client import Exchange

        request = self._request(query, k, given)
        exchange = Exchange(self._connections, self.mapping.timeout, self.mapping.most_bytes, self._secrets)

        async def asked() -> Ranking:
            return Ranking.of(self._reader.read(await exchange.json(request))[:k])

        # A service that is not there is the business of its availability alone
        ranking: Ranking = await self._availability.call(lambda: self._circuit_breaker.call(asked))
        return ranking

    def _request(self, query: str, k: int, given: Filter | None) -> httpx.Request:
        import httpx

        headers = self._headers
        content = None
        if self.mapping.json is not None:
            content = json.dumps(filled(self.mapping.json, query, k, given)).encode()
            headers = {"content-type": "application/json", **headers}
        params = {name: _in_address(filled(value, query, k)) for name, value in self._params.items()}
        url = httpx.URL(self._address)
        if params:  # beside what the address has already
            url = url.copy_merge_params(params)
        return httpx.Request(self.mapping.method, url, headers=headers, content=content)

    def with_doc_key(self, doc_key: str | None) -> HttpRetriever:
        """Return one that reads documents' ids under a key of the hits, where the mapping says nothing of them."""
        if doc_key is None:
            return self
        other = copy.copy(self)
        # It holds this one, whose end would close the connections that both have
        vars(other).update(_reader=replace(self._reader, doc_key=doc_key), _lender=self)
        return other

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
    """Return a parameter unchanged in an address, where only what UTF-8 can write is possible."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return encodable(str(value))
