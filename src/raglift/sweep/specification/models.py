"""How the fields of a sweep are written, as pydantic models: texts, mappings and lists, in their canonical forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Discriminator, PlainValidator, Tag

from raglift.retrieval.bm25 import K1, B, BM25Settings
from raglift.retrieval.chunkers import UNITS
from raglift.retrieval.headings import HEADINGS
from raglift.retrieval.models import EMBEDDED_MODEL
from raglift.retrieval.retrievers import RRF_CONSTANT, RetrieverSpec
from raglift.retrieval.services.addresses import is_http_address, is_mcp_reference
from raglift.sweep.specification.cells import NO_RERANKER, Cell, Exclusion, SystemSpec
from raglift.sweep.specification.values import (
    AS_MAPPING,
    AS_OTHER,
    AsList,
    Distinct,
    Form,
    Integer,
    Model,
    NoneIsNone,
    NotEmpty,
    Number,
    Text,
    Unpacked,
    by,
    dataset,
    depth,
    device,
    effort,
    embedding,
    existing,
    form,
    in_folder,
    mapping,
    metric,
    reference,
    reranker,
    retriever,
    short_chunker,
    text,
    text_encoding,
)
from raglift.types.dataset import Dataset
from raglift.utilities.settings import OneOf
from raglift.utilities.validation import described, wrong

DEFAULT_CHUNKER = "recursive:1000/100"

_DEFAULT_RETRIEVER = "dense"


class _Chunker(Model):
    """A chunker as a mapping."""

    splitter: Text
    size: Integer | None = None
    overlap: Integer | None = None
    unit: Annotated[str, OneOf(lambda: UNITS)] | None = None
    encoding: Text | None = None
    headings: bool = False

    def read(self) -> str:
        if (self.size is None) != (self.overlap is None):
            raise wrong("a size without an overlap, or an overlap without a size", "both; 0 for no overlap")
        unit = self.unit or (None if self.encoding is None else "tokens")
        sizes = None if self.size is None else f"{self.size}/{self.overlap}"
        named = ":".join(filter(None, (self.splitter, sizes, unit, self.encoding)))
        return short_chunker(named + (HEADINGS if self.headings else ""))


class _Fusion(Model):
    """How a hybrid retriever fuses its parts, and how its BM25 reads texts."""

    dense: Number = 1.0
    bm25: Number = 1.0
    constant: Integer = RRF_CONSTANT
    language: Text | None = None
    stemmer: Text | None = None
    k1: Number = K1
    b: Number = B


class _Hybrid(Model):
    """A hybrid retriever as a mapping."""

    hybrid: _Fusion

    def read(self) -> RetrieverSpec:
        return by(_hybrid, self.hybrid)


def _hybrid(fusion: _Fusion) -> RetrieverSpec:
    settings = BM25Settings(fusion.language, fusion.stemmer, fusion.k1, fusion.b)
    return RetrieverSpec("hybrid", (fusion.dense, fusion.bm25), fusion.constant, settings)


_ChunkerName = Annotated[
    Annotated[str, PlainValidator(short_chunker), Tag(AS_OTHER)]
    | Annotated[_Chunker, AfterValidator(_Chunker.read), Tag(AS_MAPPING)],
    Discriminator(form),
]
_RetrieverName = Annotated[
    Annotated[RetrieverSpec, PlainValidator(retriever), Tag(AS_OTHER)]
    | Annotated[_Hybrid, AfterValidator(_Hybrid.read), Tag(AS_MAPPING)],
    Discriminator(form),
]
_EmbeddingName = Annotated[str, in_folder(embedding)]
_RerankerName = Annotated[str, in_folder(reranker)]


class _Cell(Model):
    """A cell as a mapping; parts that are left out are raglift's defaults."""

    chunker: _ChunkerName = DEFAULT_CHUNKER
    embedding: _EmbeddingName | None = None
    retriever: _RetrieverName = RetrieverSpec(_DEFAULT_RETRIEVER)
    reranker: _RerankerName = NO_RERANKER

    def read(self) -> Cell:
        retriever = cast("RetrieverSpec", self.retriever)  # what the mapping was read as
        embedding = EMBEDDED_MODEL if self.embedding is None and retriever.needs_embedding else self.embedding
        chunker = cast("str", self.chunker)
        return by(lambda _: Cell(chunker, embedding, retriever, self.reranker), self)


class _Exclusion(Model):
    """An exclusion as a mapping."""

    # what is not named is None; null, for a reranker, is `none`
    chunker: Annotated[list[_ChunkerName] | None, AsList, NotEmpty, Distinct] = None
    embedding: Annotated[list[_EmbeddingName] | None, AsList, NotEmpty, Distinct] = None
    retriever: Annotated[list[_RetrieverName] | None, AsList, NotEmpty, Distinct] = None
    reranker: Annotated[list[_RerankerName] | None, AsList, NoneIsNone, NotEmpty, Distinct] = None

    def read(self) -> Exclusion:
        if not self.model_fields_set:
            raise wrong("an exclusion that names nothing", "a part, such as {reranker: cross-encoder}")
        return Exclusion(self.chunker, self.embedding, self.retriever, self.reranker)  # type: ignore[arg-type]


_IncludedCell = Annotated[_Cell, Unpacked, AfterValidator(_Cell.read)]
_ExcludedCells = Annotated[_Exclusion, Unpacked, AfterValidator(_Exclusion.read)]


def _system(value: Any) -> Any:
    """Read a reference; an object of Python's is what it is."""
    if value is None or isinstance(value, (bool, int, float, list, tuple)):
        raise wrong(described(value), "module:name, as my_rag:retriever, or in Python an object")
    return reference(text(value)) if isinstance(value, str) else value


_MappingFile = Annotated[str | None, in_folder(mapping)]


class _System(Model):
    """A system of the user's; the name stands in a mapping of names, or beside it in a list."""

    name: Text | None = None
    system: Annotated[Any, PlainValidator(_system)]
    mapping: _MappingFile = None
    rerankers: Annotated[list[_RerankerName], AsList, NotEmpty, Distinct] | None = None

    def read(self) -> SystemSpec:
        is_reference = isinstance(self.system, str)
        if self.mapping is not None and not (
            is_reference and (is_http_address(self.system) or is_mcp_reference(self.system))
        ):
            raise wrong(f"a mapping with {described(self.system)}", "one with an HTTP service or an MCP server alone")
        name = self.system if self.name is None and is_reference else self.name
        if name is None:
            raise wrong(f"a {type(self.system).__name__} without a name", "a name: systems={'mine': …}")
        return SystemSpec(name, self.system, self.rerankers, self.mapping)


def _as_mapping(value: Any) -> Any:
    """Return a system as a mapping of its settings."""
    return value if isinstance(value, Mapping) else {"system": value}


def _with_names(systems: Any) -> Any:
    """Return a mapping of names to systems as one in which every system has its name."""
    if not isinstance(systems, Mapping):
        return systems
    return {name: {**_as_mapping(system), "name": name} for name, system in systems.items()}


_AnySystem = Annotated[_System, BeforeValidator(_as_mapping), Unpacked, AfterValidator(_System.read)]


def _dataset(value: Any, folder: Any) -> Any:
    return value if isinstance(value, Dataset) else dataset(value, folder)


# How the fields of a sweep are written, for the annotations of `Sweep`.

DATASET = Form(Annotated[Any, in_folder(_dataset)])
PATH = Form(Annotated[str, in_folder(existing)] | None)
PATTERNS = Form(Annotated[list[Text], AsList, Distinct])
ENCODING = Form(Annotated[str, PlainValidator(text_encoding)] | None)
CHUNKERS = Form(Annotated[list[_ChunkerName], AsList, Distinct] | None)
EMBEDDINGS = Form(Annotated[list[_EmbeddingName], AsList, Distinct] | None)
RETRIEVERS = Form(Annotated[list[_RetrieverName], AsList, Distinct] | None)
RERANKERS = Form(Annotated[list[_RerankerName], AsList, NotEmpty, Distinct] | None)
EXCLUSIONS = Form(Annotated[list[_ExcludedCells], AsList, AfterValidator(tuple)])
CELLS = Form(Annotated[list[_IncludedCell], AsList, AfterValidator(tuple)])
SYSTEMS = Form(
    Annotated[
        Annotated[
            dict[Text, _AnySystem],
            BeforeValidator(_with_names),
            AfterValidator(lambda one: tuple(one.values())),
            Tag(AS_MAPPING),
        ]
        | Annotated[list[_AnySystem], AsList, AfterValidator(tuple), Tag(AS_OTHER)],
        Discriminator(form),
    ]
)
EFFORT = Form(Annotated[str, PlainValidator(effort)] | None)
DEPTHS = Form(Annotated[list[Annotated[Any, PlainValidator(depth)]], AsList, NotEmpty, Distinct])
METRICS = Form(Annotated[list[Annotated[str, PlainValidator(metric)]], AsList, NotEmpty, Distinct])
METRIC = Form(Annotated[str, PlainValidator(metric)] | None)
DEVICE = Form(Annotated[str, PlainValidator(device)])
TEXT = Form(Text | None)
