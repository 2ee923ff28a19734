"""Documents, and questions that they answer: three small corpora written for this purpose."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import yaml

from raglift.types import Document, Fact, Passage, Query

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA = Path(__file__).parents[1] / "data" / "planted_defects"


class Question(NamedTuple):
    """A question with the passages that it needs, separated by ` | `; if it is planted, the last one is lost."""

    group: str
    """`easy`, `planted` (of a case), `hard` (found by no usual system), or `borderline` (found by some)."""
    id: str
    question: str
    document: str
    passages: str


@dataclass(frozen=True)
class Corpus:
    """Documents, and questions that they answer."""

    documents: Mapping[str, str]
    questions: Mapping[str, Question]

    @property
    def all_documents(self) -> tuple[Document, ...]:
        """The documents as records."""
        return tuple(Document(*each) for each in self.documents.items())

    def group(self, name: str) -> list[str]:
        """Return the ids of the questions of a group."""
        return [each.id for each in self.questions.values() if each.group == name]

    def volumes(self, size: int, separator: str) -> Corpus:
        """Return the same questions on long documents, each made of up to `size` of these, later ones first."""
        ids = list(self.documents)[::-1]
        count = -(-len(ids) // size)
        bound = {f"volume-{number + 1}": ids[number::count] for number in range(count)}
        volume_of = {each: name for name, several in bound.items() for each in several}
        questions = {each.id: each._replace(document=volume_of[each.document]) for each in self.questions.values()}
        texts = {name: separator.join(self.documents[each] for each in several) for name, several in bound.items()}
        return Corpus(texts, questions)

    def __or__(self, other: Corpus) -> Corpus:
        """Return the documents and questions of both."""
        return Corpus({**self.documents, **other.documents}, {**self.questions, **other.questions})


@cache
def corpus(name: str) -> Corpus:
    """Read `ferry`, `town` or `bees`."""
    content = yaml.safe_load((DATA / f"{name}.yaml").read_text(encoding="utf-8"))
    documents = dict(content["documents"])
    for template in content["templates"]:
        documents |= {template["id"].format(*row): template["text"].format(*row) for row in template["rows"]}
    with (DATA / f"{name}.tsv").open(encoding="utf-8", newline="") as lines:
        questions = [Question(**row) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]
    return Corpus(documents, {each.id: each for each in questions})


def query(texts: Corpus, name: str) -> Query:
    """Return a question with its passages where they stand in its document."""
    asked = texts.questions[name]
    document = Document(asked.document, texts.documents[asked.document])
    return Query(name, asked.question, tuple(fact(document, each) for each in asked.passages.split(" | ")))


def fact(document: Document, passage: str) -> Fact:
    """Return a passage as a fact."""
    start = document.text.index(passage)
    return Fact((Passage(passage, document.id, start, start + len(passage)),))
