"""Decisions as the page sends them: how they are validated, and what they do to a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from raglift.apps.review import evidence
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from raglift.apps.review.page import Desk
    from raglift.types.labels import Query


_Number = Annotated[int, Field(ge=0, le=1_000_000)]
_Destination = _Number | Literal["another"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Grade(_Strict):
    """A grade of a chunk."""

    kind: Literal["grade"]
    chunk: _Number
    grade: _Number
    fact: _Destination | None = None
    """Which fact the chunk is evidence of, if it becomes a passage; None for one with the same words, or another."""

    def apply(self, query: Query, desk: Desk, index: int) -> Query:
        """Return the query with the decision in its labels; every kind has this."""
        desk.check_grade(self.grade, 0)
        return evidence.grade_chunk(query, desk.chunk(index, self.chunk), self.grade, desk.documents, fact=self.fact)


class Clear(_Strict):
    """No grade of a chunk."""

    kind: Literal["clear"]
    chunk: _Number

    def apply(self, query: Query, desk: Desk, index: int) -> Query:
        """Take the grade back."""
        return evidence.clear_grade(query, desk.chunk(index, self.chunk))


class Accept(_Strict):
    """The models' grade of a chunk is the person's too."""

    kind: Literal["accept"]
    chunk: _Number
    fact: _Destination | None = None
    """As with a grade."""

    def apply(self, query: Query, desk: Desk, index: int) -> Query:
        """Give the chunk the models' grade."""
        chunk = desk.chunk(index, self.chunk)
        grade = desk.model_grade(index, self.chunk)
        if grade is None:
            raise ConfigurationError("the chunk: found no grade by a model; expected one to accept")
        return evidence.grade_chunk(query, chunk, grade, desk.documents, fact=self.fact)


class Keep(_Strict):
    """The person's grade stays, whatever models say."""

    kind: Literal["keep"]
    chunk: _Number

    def apply(self, query: Query, desk: Desk, index: int) -> Query:
        """Leave the query as it is."""
        desk.chunk(index, self.chunk)
        return query


class Words(_Strict):
    """Words of a chunk are a passage: of a fact, or a fact of their own."""

    kind: Literal["words"]
    chunk: _Number
    start: _Number
    end: _Number
    text: str
    """What the page takes to be there."""
    fact: _Number | None

    def apply(self, query: Query, desk: Desk, index: int) -> Query:
        """Add them if they are the words there."""
        chunk = desk.chunk(index, self.chunk)
        if chunk.text[self.start : self.end] != self.text:
            raise ConfigurationError(
                f"the words: found others at characters {self.start} to {self.end} of the chunk than were selected; "
                "expected the same: select them again"
            )
        return evidence.add_words(query, chunk, (self.start, self.end), desk.documents, fact=self.fact)


class SetGrade(_Strict):
    """Another grade of a passage."""

    kind: Literal["set-grade"]
    fact: _Number
    alternative: _Number
    grade: _Number

    def apply(self, query: Query, desk: Desk, _: int) -> Query:
        """Give the passage that grade."""
        desk.check_grade(self.grade, 1)
        return evidence.set_grade(query, self.fact, self.alternative, self.grade)


class Remove(_Strict):
    """A passage less, or a fact."""

    kind: Literal["remove"]
    fact: _Number
    alternative: _Number | None = None
    """None for the whole fact."""

    def apply(self, query: Query, _: Desk, __: int) -> Query:
        """Remove it."""
        return evidence.remove(query, self.fact, self.alternative)


class Answerable(_Strict):
    """Whether the documents answer the question."""

    kind: Literal["answerable"]
    answerable: bool

    def apply(self, query: Query, _: Desk, __: int) -> Query:
        """Mark the question."""
        return evidence.mark_answerable(query, answerable=self.answerable)


class Decision(_Strict):
    """What a person decided about a query."""

    version: Annotated[str, Field(max_length=64)]
    """Of the query, as the page showed it."""
    operation: Annotated[
        Grade | Clear | Accept | Keep | Words | SetGrade | Remove | Answerable,
        Field(discriminator="kind"),
    ]


def read_decision(body: bytes) -> Decision:
    """Return the decision in a request."""
    try:
        return Decision.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the request"
        raise ConfigurationError(f"{where}: {first['msg']}; expected what the page sends: load it again") from None
