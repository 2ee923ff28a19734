"""Requests of the review page: who may send them, how they are validated, and what they do."""

from __future__ import annotations

import json
import secrets
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar
from urllib.parse import parse_qs

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from raglift.apps.review import evidence as operations
from raglift.errors import ConfigurationError
from raglift.records.labels import Query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from raglift.apps.review.page import Desk
    from raglift.records.documents import Chunk, Document


# Authorization: only the page may send requests, in a browser that has the printed address.


LOOPBACK = "127.0.0.1"

_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_NO_PAGE = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")


class Guard:
    """An application that lets requests through to another one, or answers 403.

    Every request names this host, so that no name that was made to point here gets an answer. Every request knows the
    token: by the address of the page, once, and by a cookie from then on, which no script reads and no other site
    sends. Every write comes from this origin, as JSON.

    Args:
        app: the application behind.
        token: what must be known.
        host: the address and port, as browsers name it.
    """

    def __init__(self, app: ASGIApp, *, token: str, host: str) -> None:
        self._app, self._token, self._host = app, token, host.encode()
        # cookies of one host are sent to all its ports: the name distinguishes them
        self._cookie = f"raglift-review-{host.rpartition(':')[2]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message["headers"])
                named = {name.lower() for name, _ in given}
                policy = [] if _NO_PAGE[0] in named else [_NO_PAGE]
                message = {**message, "headers": [*given, *_HEADERS, *policy, *self._new_cookie(scope)]}
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, with_headers)
            return
        body = json.dumps({"error": refusal}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        refused = [*headers, *_HEADERS, _NO_PAGE]
        await send({"type": "http.response.start", "status": 403, "headers": refused})
        await send({"type": "http.response.body", "body": body})

    def _refusal(self, scope: Scope) -> str | None:
        """Return why a request is refused; None for one that is not."""
        if _values(scope, b"host") != [self._host]:
            return "found another host than expected: open the address that raglift printed"
        if not self._knows_by_cookie(scope) and not self._knows_by_address(scope):
            return "found no token of this start: open the address that raglift printed"
        if scope["method"] in ("GET", "HEAD"):
            return None
        if _values(scope, b"origin") != [b"http://" + self._host]:
            return "found a request from another page; expected one from this"
        if [kind.partition(b";")[0].strip() for kind in _values(scope, b"content-type")] != [b"application/json"]:
            return "found a body that is not JSON; expected what the page sends"
        return None

    def _knows_by_address(self, scope: Scope) -> bool:
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        return len(given) == 1 and self._is_token(given[0])

    def _knows_by_cookie(self, scope: Scope) -> bool:
        pairs = (pair for header in _values(scope, b"cookie") for pair in header.decode("latin-1").split(";"))
        cookies = (pair.strip().partition("=") for pair in pairs)
        return any(name == self._cookie and self._is_token(value) for name, _, value in cookies)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def _new_cookie(self, scope: Scope) -> Sequence[tuple[bytes, bytes]]:
        if not self._knows_by_address(scope):
            return ()
        value = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        return ((b"set-cookie", value.encode()),)


def _values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key.lower() == name]


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback address, and on no other.

    Args:
        port: 0 for any that is free.

    Raises:
        ConfigurationError: the port is not a port, or is taken.
    """
    if not 0 <= port <= 2**16 - 1:
        raise ConfigurationError(f"--port: found {port}; expected 0 (any that is free) to 65535")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform != "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen()
    except OSError as error:
        listener.close()
        reason = error.strerror or error
        raise ConfigurationError(
            f"--port: found {port}, where nothing can be served ({reason}); expected one that is free: choose another, "
            "or 0 for any"
        ) from error
    return listener


# Validation of the page's requests: the decision, its subject, and the version it was made on.


Operation = Callable[[Query], Query]
Model = TypeVar("Model", bound=BaseModel)
_Number = Annotated[int, Field(ge=0, le=1_000_000)]
_Destination = _Number | Literal["another"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True)
class Subject:
    """What a decision is about."""

    desk: Desk
    index: int
    """Of the query."""
    documents: Mapping[str, Document]

    def chunk(self, number: int) -> Chunk:
        """Return a chunk of the query's pool.

        Raises:
            ConfigurationError: there is none of that number.
        """
        chunks = len(self.desk.pool.queries[self.index].chunks)
        if number >= chunks:
            raise ConfigurationError(f"chunk: found number {number}; expected one of the {chunks} of this query")
        return self.desk.chunk(self.index, number)

    def check_grade(self, grade: int, lowest: int) -> None:
        """Raise a ConfigurationError unless the scale has a grade."""
        if not lowest <= grade <= self.desk.highest:
            raise ConfigurationError(f"grade: found {grade}; expected {lowest} to {self.desk.highest}")


class Grade(_Strict):
    """A grade of a chunk."""

    kind: Literal["grade"]
    chunk: _Number
    grade: _Number
    seen: _Number | None
    """The grade that the page showed: chunks share words, so a grade of one can be a grade of another."""
    fact: _Destination | None = None
    """Which fact the chunk is evidence of, if it becomes a passage; None for one with the same words, or another."""

    def on(self, subject: Subject) -> Operation:
        """Return what it does to the query; every kind has this."""
        subject.check_grade(self.grade, 0)
        subject.chunk(self.chunk)
        known = subject.desk.grades(subject.index)[self.chunk]
        if known != self.seen:
            grade = "no grade" if known is None else f"the grade {known}"
            raise ConfigurationError(
                f"chunk {self.chunk + 1}: found {grade} meanwhile, by words that it shares with another; expected a "
                "look at it first: grade it again if it is to have another"
            )
        return _graded(subject, self.chunk, self.grade, self.fact)


class Clear(_Strict):
    """No grade of a chunk."""

    kind: Literal["clear"]
    chunk: _Number

    def on(self, subject: Subject) -> Operation:
        """Take the grade back."""
        chunk = subject.chunk(self.chunk)
        return lambda query: operations.clear_grade(query, chunk)


class Accept(_Strict):
    """The models' grade of a chunk is the person's too."""

    kind: Literal["accept"]
    chunk: _Number
    fact: _Destination | None = None
    """As with a grade."""

    def on(self, subject: Subject) -> Operation:
        """Give the chunk the models' grade."""
        subject.chunk(self.chunk)
        grade = subject.desk.model_grade(subject.index, self.chunk)
        if grade is None:
            raise ConfigurationError("the chunk: found no grade by a model; expected one to accept")
        return _graded(subject, self.chunk, grade, self.fact)


class Keep(_Strict):
    """The person's grade stays, whatever models say."""

    kind: Literal["keep"]
    chunk: _Number

    def on(self, subject: Subject) -> Operation:
        """Leave the query as it is."""
        subject.chunk(self.chunk)
        return lambda query: query


class Words(_Strict):
    """Words of a chunk are a passage: of a fact, or a fact of their own."""

    kind: Literal["words"]
    chunk: _Number
    start: _Number
    end: _Number
    text: str
    """What the page takes to be there."""
    fact: _Number | None

    def on(self, subject: Subject) -> Operation:
        """Add them if the file is unchanged."""
        chunk, part = subject.chunk(self.chunk), (self.start, self.end)
        if chunk.text[self.start : self.end] != self.text:
            raise ConfigurationError(
                f"the words: found others at characters {self.start} to {self.end} of the chunk than were selected; "
                "expected the same: select them again"
            )
        return lambda query: operations.add_words(query, chunk, part, subject.documents, fact=self.fact)


class SetGrade(_Strict):
    """Another grade of a passage."""

    kind: Literal["set-grade"]
    fact: _Number
    alternative: _Number
    grade: _Number

    def on(self, subject: Subject) -> Operation:
        """Give the passage that grade."""
        subject.check_grade(self.grade, 1)
        return lambda query: operations.set_grade(query, self.fact, self.alternative, self.grade)


class MoveChunk(_Strict):
    """A graded chunk is evidence of another fact."""

    kind: Literal["move-chunk"]
    chunk: _Number
    fact: _Destination

    def on(self, subject: Subject) -> Operation:
        """Move the passages that it contains."""
        chunk = subject.chunk(self.chunk)
        return lambda query: operations.move_chunk(query, chunk, self.fact)


class MovePassage(_Strict):
    """A passage is an alternative of another fact."""

    kind: Literal["move-passage"]
    fact: _Number
    alternative: _Number
    to: _Destination

    def on(self, _: Subject) -> Operation:
        """Move it."""
        return lambda query: operations.move_passage(query, self.fact, self.alternative, self.to)


class RemovePassage(_Strict):
    """A passage less."""

    kind: Literal["remove-passage"]
    fact: _Number
    alternative: _Number

    def on(self, _: Subject) -> Operation:
        """Remove it."""
        return lambda query: operations.remove_passage(query, self.fact, self.alternative)


class RemoveFact(_Strict):
    """A fact less."""

    kind: Literal["remove-fact"]
    fact: _Number

    def on(self, _: Subject) -> Operation:
        """Remove it."""
        return lambda query: operations.remove_fact(query, self.fact)


class Answerable(_Strict):
    """Whether the documents answer the question."""

    kind: Literal["answerable"]
    answerable: bool

    def on(self, _: Subject) -> Operation:
        """Mark the question."""
        return lambda query: operations.mark_answerable(query, answerable=self.answerable)


def _graded(subject: Subject, chunk: int, grade: int, fact: operations.Destination | None) -> Operation:
    found = subject.chunk(chunk)
    return lambda query: operations.grade_chunk(query, found, grade, subject.documents, fact=fact)


class Decision(_Strict):
    """What a person decided about a query."""

    start: str
    """Of which start of the review the page is: another counts its versions anew."""
    tab: Annotated[str, Field(min_length=1, max_length=64)]
    version: _Number
    """Of the query, as the page showed it."""
    operation: Annotated[
        Grade
        | Clear
        | Accept
        | Keep
        | Words
        | SetGrade
        | MoveChunk
        | MovePassage
        | RemovePassage
        | RemoveFact
        | Answerable,
        Field(discriminator="kind"),
    ]


class Undo(_Strict):
    """The last change of a tab is to be taken back."""

    start: str
    tab: Annotated[str, Field(min_length=1, max_length=64)]


def read_request(kind: type[Model], body: bytes) -> Model:
    """Return a request of a kind.

    Raises:
        ConfigurationError: it is not what the page sends.
    """
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the request"
        raise ConfigurationError(f"{where}: {first['msg']}; expected what the page sends: load it again") from None
