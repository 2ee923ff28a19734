"""What the page asks for, checked: which decision, about what, made on which version."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from raglift.errors import ConfigurationError
from raglift.review import operations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from raglift.records import Chunk, Document, Query
    from raglift.review.showing import Desk

__all__ = ["Decision", "Undo", "operation_of", "read_request"]

Model = TypeVar("Model", bound=BaseModel)
_Number = Annotated[int, Field(ge=0, le=1_000_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Grade(_Strict):
    """A grade of a chunk."""

    kind: Literal["grade"]
    chunk: _Number
    grade: _Number


class Clear(_Strict):
    """No grade of a chunk."""

    kind: Literal["clear"]
    chunk: _Number


class Accept(_Strict):
    """The models' grade of a chunk is the person's too."""

    kind: Literal["accept"]
    chunk: _Number


class Keep(_Strict):
    """The person's grade stays, whatever models say."""

    kind: Literal["keep"]
    chunk: _Number


class Words(_Strict):
    """Words of a chunk are a passage: of a fact, or a fact of their own."""

    kind: Literal["words"]
    chunk: _Number
    start: _Number
    end: _Number
    text: str
    """What the page takes to stand there."""
    fact: _Number | None


class SetGrade(_Strict):
    """Another grade of a passage."""

    kind: Literal["set-grade"]
    fact: _Number
    alternative: _Number
    grade: _Number


class RemovePassage(_Strict):
    """A passage less."""

    kind: Literal["remove-passage"]
    fact: _Number
    alternative: _Number


class RemoveFact(_Strict):
    """A fact less."""

    kind: Literal["remove-fact"]
    fact: _Number


class Answerable(_Strict):
    """Whether the documents answer the question."""

    kind: Literal["answerable"]
    answerable: bool


class Decision(_Strict):
    """What a person decided about a query."""

    tab: Annotated[str, Field(min_length=1, max_length=64)]
    version: _Number
    """Of the query, as the page showed it."""
    operation: Annotated[
        Grade | Clear | Accept | Keep | Words | SetGrade | RemovePassage | RemoveFact | Answerable,
        Field(discriminator="kind"),
    ]


class Undo(_Strict):
    """The last change of a tab is to be taken back."""

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


def operation_of(
    decision: Decision, index: int, desk: Desk, documents: Mapping[str, Document]
) -> Callable[[Query], Query]:
    """Return what a decision does to its query.

    Raises:
        ConfigurationError: there is no such chunk or grade, models did not grade the chunk, or the words are others.
    """
    match decision.operation:
        case Grade(chunk=chunk, grade=grade):
            if grade not in desk.scale:
                raise ConfigurationError(f"grade: found {grade}; expected 0 to {desk.scale.highest}")
            return partial(_grade, _chunk(desk, index, chunk), grade, documents)
        case Clear(chunk=chunk):
            return partial(_clear, _chunk(desk, index, chunk))
        case Accept(chunk=chunk):
            found = _chunk(desk, index, chunk)
            model = desk.model_grade(index, chunk)
            if model is None:
                raise ConfigurationError("the chunk: found no grade by a model; expected one to accept")
            return partial(_grade, found, model, documents)
        case Keep(chunk=chunk):
            _chunk(desk, index, chunk)
            return lambda query: query
        case Words() as words:
            return _words(words, _chunk(desk, index, words.chunk), documents)
        case SetGrade(fact=fact, alternative=alternative, grade=grade):
            if grade not in desk.scale or not grade:
                raise ConfigurationError(f"grade: found {grade}; expected 1 to {desk.scale.highest}")
            return lambda query: operations.set_grade(query, fact, alternative, grade)
        case RemovePassage(fact=fact, alternative=alternative):
            return lambda query: operations.remove_passage(query, fact, alternative)
        case RemoveFact(fact=fact):
            return lambda query: operations.remove_fact(query, fact)
        case Answerable(answerable=answerable):
            return lambda query: operations.mark_answerable(query, answerable=answerable)


def _words(words: Words, chunk: Chunk, documents: Mapping[str, Document]) -> Callable[[Query], Query]:
    if chunk.text[words.start : words.end] != words.text:
        raise ConfigurationError(
            f"the words: found others at characters {words.start} to {words.end} of the chunk than were selected; "
            "expected the same: select them again"
        )
    part = (words.start, words.end)
    return lambda query: operations.add_words(query, chunk, part, documents, fact=words.fact)


def _grade(chunk: Chunk, grade: int, documents: Mapping[str, Document], query: Query) -> Query:
    return operations.grade_chunk(query, chunk, grade, documents)


def _clear(chunk: Chunk, query: Query) -> Query:
    return operations.clear_grade(query, chunk)


def _chunk(desk: Desk, index: int, chunk: int) -> Chunk:
    chunks = desk.pool.queries[index].chunks
    if chunk >= len(chunks):
        raise ConfigurationError(f"chunk: found number {chunk}; expected one of the {len(chunks)} of this query")
    return chunks[chunk].chunk
