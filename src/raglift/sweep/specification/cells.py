"""The cells of a sweep: each is one system over the sweep's dataset."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from raglift.errors import ConfigurationError
from raglift.retrieval.retrievers import RetrieverSpec, parse_retriever

NO_RERANKER = "none"
"""The name that stands for no reranker."""

_SLUG_LENGTH = 60
_HASH_LENGTH = 8


@dataclass(frozen=True)
class SystemSpec:
    """A system of the user's that takes part in a sweep."""

    name: str
    """What it is called; unique in the sweep."""
    system: Any
    """`module:factory`, the address of an HTTP service, or a retriever, or a function without arguments that makes
    one."""
    rerankers: Sequence[str] | None = None
    """What it is measured with; None for the sweep's rerankers."""
    mapping: str | None = None
    """Of an HTTP service: the file that says what is sent, and where its hits are in the answer."""

    @property
    def reference(self) -> str | None:
        """The `module:factory`, or the address; None for an object."""
        return self.system if isinstance(self.system, str) else None


@dataclass(frozen=True)
class Cell:
    """One system of a sweep: raglift's own parts, or a system of the user's, and a reranker.

    Raises:
        ConfigurationError: neither a system nor a chunker and a retriever, or both; or an embedding model where none
            takes part, or none if one does.
    """

    chunker: str | None = None
    """How documents are split, in the short text form of `chunker_by_name`; None for a system of the user's."""
    embedding: str | None = None
    """The embedding model; None if none takes part."""
    retriever: RetrieverSpec | None = None
    """Which of raglift's retrievers; None for a system of the user's."""
    reranker: str = NO_RERANKER
    """`none`, `cross-encoder`, `late-interaction`, or a cross-encoder's path or hub id."""
    system: str | None = None
    """The name of one of the sweep's systems."""

    def __post_init__(self) -> None:
        own = self.chunker is not None and self.retriever is not None
        if own == (self.system is not None) or (self.chunker is None) != (self.retriever is None):
            raise ConfigurationError(
                f"configuration: found {self.name!r}; expected a chunker and a retriever, or a system"
            )
        wanted = self.retriever is not None and self.retriever.needs_embedding
        if wanted != (self.embedding is not None):
            found = "no embedding" if wanted else f"the embedding {self.embedding!r}"
            wants = "one" if wanted else "none"
            raise ConfigurationError(
                f"configuration: found {found} with {self.retriever or self.system}; expected {wants}"
            )

    @property
    def name(self) -> str:
        """What a reader sees: `recursive:1000/100 · bge-small · dense · cross-encoder`; unique in a sweep."""
        parts = (self.system, self.chunker, self.embedding, self.retriever, self.reranker)
        return " · ".join(str(part) for part in parts if part is not None)

    @property
    def key(self) -> str:
        """A name for a folder: lower-case ASCII letters, digits and `-`, ending in a hash of the content."""
        slug = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[:_SLUG_LENGTH].strip("-")
        parts = asdict(self)
        if self.retriever is not None:  # settings of BM25 that are the defaults are left out
            del parts["retriever"]["bm25"]
            parts["retriever"].update({f"bm25 {name}": value for name, value in self.retriever.bm25.changed().items()})
        content = json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass")
        return f"{slug or 'cell'}-{hashlib.sha256(content).hexdigest()[:_HASH_LENGTH]}"

    def to_dict(self) -> dict[str, str]:
        """Return the parts that it has, as texts."""
        return {part: str(value) for part in PARTS if (value := getattr(self, part)) is not None}

    @classmethod
    def of(cls, parts: Mapping[str, str]) -> Cell:
        """Return the cell that `to_dict` described.

        Raises:
            ConfigurationError: a part that there is not.
        """
        named = {part: parts[part] for part in ("chunker", "embedding", "reranker", "system") if part in parts}
        retriever = parse_retriever(parts["retriever"]) if "retriever" in parts else None
        return cls(retriever=retriever, **named)

    def __str__(self) -> str:
        return self.name


PARTS = tuple(field.name for field in fields(Cell))
"""What a cell is made of."""


@dataclass(frozen=True)
class Exclusion:
    """Cells of the grid that are left out: those that have one of the values given for each part that is named."""

    chunker: tuple[str, ...] | None = None
    """None for any."""
    embedding: tuple[str, ...] | None = None
    """None for any, and for none."""
    retriever: tuple[RetrieverSpec, ...] | None = None
    """None for any."""
    reranker: tuple[str, ...] | None = None
    """None for any."""

    def matches(self, cell: Cell) -> bool:
        """Whether a cell is left out."""
        named: list[tuple[str, tuple[Any, ...] | None]] = [
            (field.name, getattr(self, field.name)) for field in fields(self)
        ]
        return all(values is None or getattr(cell, part) in values for part, values in named)

    def to_dict(self) -> dict[str, list[str]]:
        """Return the parts that it names, and their values as texts."""
        named = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {part: [str(value) for value in values] for part, values in named if values is not None}


def grid(
    chunkers: Sequence[str],
    embeddings: Sequence[str],
    retrievers: Sequence[RetrieverSpec],
    rerankers: Sequence[str],
) -> list[Cell]:
    """Return every combination, each once: a retriever without an embedding model has one cell, not one a model."""
    cells = (
        Cell(chunker, embedding if retriever.needs_embedding else None, retriever, reranker)
        for chunker, embedding, retriever, reranker in itertools.product(
            chunkers, embeddings or (None,), retrievers, rerankers
        )
    )
    return list(dict.fromkeys(cells))
