"""The review page and its data, as one HTML file."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from raglift.apps.review.evidence import RULE, Match, fact_like, grades_of, irrelevant_matches, matches_of
from raglift.errors import ConfigurationError, MissingDependency
from raglift.grading.labels import labels_of_models, labels_of_people
from raglift.matching.rule import Text
from raglift.report.page.rendering import ICON, asset, one_script, source_hash

if TYPE_CHECKING:
    from raglift.apps.review.session import Session
    from raglift.grading.pooling import Pool
    from raglift.types.documents import Chunk, Document
    from raglift.types.labels import Passage, Query


# The data of the page as JSON: queries, their pooled chunks, and the grades of people and models.


_ASKED = 300
"""How much of a question the list of queries shows, in characters."""

Grades = tuple[int | None, ...]


class Desk:
    """Everything that lies before the person who judges."""

    def __init__(
        self,
        pool: Pool,
        session: Session,
        opinions: Mapping[str, Query],
        highest: int,
        documents: Mapping[str, Document],
    ) -> None:
        self.documents = documents
        self.pool, self.session, self.highest = pool, session, highest
        self._opinions = {key: labels_of_models(query) for key, query in opinions.items()}
        self._models = [
            self._grades(index, self._opinions.get(each.query.id)) for index, each in enumerate(pool.queries)
        ]
        self._people: list[tuple[str, Grades]] = [("", ())] * len(pool.queries)
        self._settled: dict[tuple[int, int], int | None] = {}
        self._texts = lru_cache(maxsize=32)(lambda _: Text(RULE))

    def chunk(self, index: int, number: int) -> Chunk:
        """Return a chunk of a query's pool."""
        chunks = self.pool.queries[index].chunks
        if number >= len(chunks):
            raise ConfigurationError(
                f"chunk: found number {number}; expected one of the {len(chunks)} of this question"
            )
        return chunks[number].chunk

    def check_grade(self, grade: int, lowest: int) -> None:
        """Raise a ConfigurationError unless the scale has a grade."""
        if not lowest <= grade <= self.highest:
            raise ConfigurationError(f"grade: found {grade}; expected {lowest} to {self.highest}")

    def model_grade(self, index: int, chunk: int) -> int | None:
        """Return what models say of a chunk; None if they say nothing."""
        return self._models[index][chunk]

    def settle(self, index: int, chunk: int) -> None:
        """Note that a person has seen a disagreement and decided for the grade that the chunk has now.

        That holds until the review ends, or the chunk has another grade, as after an undo.
        """
        self._settled[index, chunk] = self.grades(index)[chunk]

    def disagrees(self, index: int, chunk: int) -> bool:
        """Whether people and models say different things of a chunk, and nobody has decided between them."""
        return chunk in self._disagreements(index)

    def overview(self) -> dict[str, Any]:
        """Return what the page needs once: the settings, and every query in short."""
        return {
            "highest": self.highest,
            "saving": self.session.saving.as_json(),
            "models": any(grade is not None for grades in self._models for grade in grades),
            "queries": [self.summary(index) for index in range(len(self.session))],
        }

    def summary(self, index: int) -> dict[str, Any]:
        """Return a summary of a query."""
        query, grades = self.session.query(index), self.grades(index)
        judged = sum(grade is not None for grade in grades)
        return {
            "index": index,
            "version": self.session.version(index),
            "id": query.id,
            "text": query.text[:_ASKED],
            "chunks": len(grades),
            "judged": judged,
            "done": judged == len(grades) or not query.answerable,
            "disagreements": len(self._disagreements(index)),
            "unlabelled": query.answerable and not query.facts,
            "answerable": query.answerable,
        }

    def detail(self, index: int) -> dict[str, Any]:
        """Return a query in full, with its chunks."""
        query, grades = self.session.query(index), self.grades(index)
        text, disagreements = self._texts(index), self._disagreements(index)
        chunks = [
            self._chunk(index, number, query, text)
            | {
                "grade": grades[number],
                "disagrees": number in disagreements,
                "settled": self._is_settled(index, number),
            }
            for number in range(len(grades))
        ]
        return self.summary(index) | {
            "whole": query.text,
            "tags": query.tags,
            "facts": [[_passage(passage) for passage in fact.passages] for fact in query.facts],
            "irrelevant": len(query.judged_irrelevant),
            "pool": chunks,
        }

    def grades(self, index: int) -> Grades:
        """Return what people say of the chunks of a query."""
        version = self.session.version(index)
        known, grades = self._people[index]
        if known != version:
            grades = self._grades(index, labels_of_people(self.session.query(index)))
            self._people[index] = (version, grades)
        return grades

    def _grades(self, index: int, labels: Query | None) -> Grades:
        chunks = self.pool.queries[index].chunks
        return (None,) * len(chunks) if labels is None else grades_of(labels, (each.chunk for each in chunks))

    def _disagreements(self, index: int) -> Sequence[int]:
        pairs = zip(self.grades(index), self._models[index], strict=True)
        return [
            number
            for number, (person, model) in enumerate(pairs)
            if None not in (person, model) and person != model and not self._is_settled(index, number)
        ]

    def _is_settled(self, index: int, chunk: int) -> bool:
        return (index, chunk) in self._settled and self._settled[index, chunk] == self.grades(index)[chunk]

    def _chunk(self, index: int, number: int, query: Query, text: Text) -> dict[str, Any]:
        chunk, grade = self.chunk(index, number), self._models[index][number]
        matches = matches_of(query, chunk, text)
        model = None if grade is None else {"grade": grade, "by": sorted(set(self._judges(index, chunk, grade)))}
        return {
            "document": chunk.doc_id,
            "start": chunk.start,
            "end": chunk.end,
            "text": chunk.text,
            "model": model,
            "marks": [(match.fact, match.alternative, match.start, match.end) for match in matches],
            "like": fact_like(query, chunk, matches),
            "facts": _supported(matches),
        }

    def _judges(self, index: int, chunk: Chunk, grade: int) -> Iterator[str]:
        """Yield the models that gave a chunk its grade."""
        query = self._opinions[self.session.query(index).id]
        matches = matches_of(query, chunk) if grade else irrelevant_matches(query, chunk)
        for match in matches:
            if match.passage.grade == grade and match.passage.annotator is not None:
                yield str(match.passage.annotator)


def _supported(matches: Sequence[Match]) -> list[int]:
    """Return which facts a chunk is evidence of by people's labels."""
    people = [match for match in matches if match.passage.annotator is None]
    return sorted({match.fact for match in people if not match.inside} or {match.fact for match in people})


def _passage(passage: Passage) -> dict[str, Any]:
    return {
        "document": passage.doc_id,
        "start": passage.start,
        "end": passage.end,
        "text": passage.text,
        "chunk": passage.chunk_id,
        "grade": passage.grade,
        "model": None if passage.annotator is None else str(passage.annotator),
    }


# The review page: one HTML file with inlined styles and scripts.


_PACKAGE = "raglift.apps.review"
_SHARED_STYLES = ("page.css", "explorer.css")
_STYLES = ("review.css",)
_SHARED_SCRIPTS = ("elements.js", "texts.js")
_SCRIPTS = (
    "server.js",
    "selection.js",
    "listing.js",
    "cards.js",
    "facts.js",
    "keys.js",
    "decisions.js",
    "review.js",
)
_LAST = "scheme.js"


@dataclass(frozen=True)
class Page:
    """What is sent to a browser."""

    html: str
    policy: str
    """Its content security policy, as a header."""


def check_installed() -> None:
    """Raise a MissingDependency unless what the page needs is installed, before anything is read or made for it."""
    for name in ("uvicorn", "starlette", "jinja2", "filelock"):
        if importlib.util.find_spec(name) is None:
            raise MissingDependency(name, "review", "raglift labels review")


def build_page(name: str) -> Page:
    """Return the page; what it shows of queries and chunks it asks the server for."""
    check_installed()
    from jinja2 import Environment, StrictUndefined

    scripts = [asset(part, _PACKAGE) for part in _SCRIPTS]
    script = one_script(*map(asset, _SHARED_SCRIPTS), *scripts, asset(_LAST))
    style = "\n".join([*map(asset, _SHARED_STYLES), *(asset(part, _PACKAGE) for part in _STYLES)])
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(asset("review.html.j2", _PACKAGE))
    policy = (
        f"default-src 'none'; script-src {source_hash(script)}; style-src {source_hash(style)}; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Page(template.render(name=name, icon=ICON, style=style, script=script), policy)
