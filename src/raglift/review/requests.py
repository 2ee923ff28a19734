"""What the page asks for, checked: which decision, about what, made on which version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from raglift.errors import ConfigurationError
from raglift.records import Query
from raglift.review import operations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raglift.records import Chunk, Document
    from raglift.review.showing import Desk

__all__ = ["Accept", "Decision", "Grade", "Keep", "Subject", "Undo", "read_request"]

Operation = Callable[[Query], Query]
Model = TypeVar("Model", bound=BaseModel)
_Number = Annotated[int, Field(ge=0, le=1_000_000)]


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
        return _graded(subject, self.chunk, self.grade)


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

    def on(self, subject: Subject) -> Operation:
        """Give the chunk the models' grade."""
        subject.chunk(self.chunk)
        grade = subject.desk.model_grade(subject.index, self.chunk)
        if grade is None:
            raise ConfigurationError("the chunk: found no grade by a model; expected one to accept")
        return _graded(subject, self.chunk, grade)


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
    """What the page takes to stand there."""
    fact: _Number | None

    def on(self, subject: Subject) -> Operation:
        """Add them, if they are what stands there."""
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


def _graded(subject: Subject, chunk: int, grade: int) -> Operation:
    found = subject.chunk(chunk)
    return lambda query: operations.grade_chunk(query, found, grade, subject.documents)


class Decision(_Strict):
    """What a person decided about a query."""

    start: str
    """Of which start of the review the page is: another counts its versions anew."""
    tab: Annotated[str, Field(min_length=1, max_length=64)]
    version: _Number
    """Of the query, as the page showed it."""
    operation: Annotated[
        Grade | Clear | Accept | Keep | Words | SetGrade | RemovePassage | RemoveFact | Answerable,
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
