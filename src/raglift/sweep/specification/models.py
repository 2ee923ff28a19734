"""The fields of a sweep as pydantic checks them, each turned into its shortest form."""

from __future__ import annotations

from typing import Annotated, Any, cast, get_args

from pydantic import AfterValidator, Discriminator, PlainValidator, Tag

from raglift.chunking import UNITS
from raglift.errors import ConfigurationError
from raglift.matching.rule import MODES
from raglift.metrics import PROFILES
from raglift.models import EMBEDDED_MODEL, Dtype
from raglift.records import Dataset
from raglift.retrieval.http.address import is_http_address
from raglift.retrieval.notation import RRF_CONSTANT, RetrieverSpec
from raglift.sweep.specification import values
from raglift.sweep.specification.cells import NO_RERANKER, Cell, Exclusion, SystemSpec
from raglift.sweep.specification.kinds import (
    AS_LIST,
    AS_MAPPING,
    AS_TEXT,
    AsList,
    Distinct,
    Given,
    Integer,
    Model,
    NoneIsNone,
    NotEmpty,
    Number,
    Text,
    Unpacked,
    above_zero,
    at_least,
    form,
    in_folder,
    list_or_mapping,
    one_of,
)
from raglift.sweep.specification.together import DEFAULT_CHUNKER
from raglift.validation import described, wrong

__all__ = ["SweepModel"]


_DEFAULT_RETRIEVER = "dense"


class _Chunker(Model):
    """A chunker as a mapping."""

    splitter: Text
    size: Integer | None = None
    overlap: Integer | None = None
    unit: Annotated[str, one_of(UNITS)] | None = None
    encoding: Text | None = None

    def read(self) -> str:
        if (self.size is None) != (self.overlap is None):
            raise wrong("a size without an overlap, or an overlap without a size", "both; 0 for no overlap")
        unit = self.unit or (None if self.encoding is None else "tokens")
        sizes = None if self.size is None else f"{self.size}/{self.overlap}"
        return values.short_chunker(":".join(filter(None, (self.splitter, sizes, unit, self.encoding))))


class _Fusion(Model):
    """How a hybrid retriever fuses its parts."""

    dense: Number = 1.0
    bm25: Number = 1.0
    constant: Integer = RRF_CONSTANT


class _Hybrid(Model):
    """A hybrid retriever as a mapping."""

    hybrid: _Fusion

    def read(self) -> RetrieverSpec:
        fusion = self.hybrid
        try:
            return RetrieverSpec("hybrid", (fusion.dense, fusion.bm25), fusion.constant)
        except ConfigurationError as error:
            raise values.told(error, fusion) from None


_ChunkerName = Annotated[
    Annotated[str, PlainValidator(values.short_chunker), Tag(AS_TEXT)]
    | Annotated[_Chunker, AfterValidator(_Chunker.read), Tag(AS_MAPPING)],
    Discriminator(form),
]
_RetrieverName = Annotated[
    Annotated[RetrieverSpec, PlainValidator(values.retriever), Tag(AS_TEXT)]
    | Annotated[_Hybrid, AfterValidator(_Hybrid.read), Tag(AS_MAPPING)],
    Discriminator(form),
]
_EmbeddingName = Annotated[str, in_folder(values.embedding)]
_RerankerName = Annotated[str, in_folder(values.reranker)]


class _Cell(Model):
    """A cell as a mapping; parts that are left out are raglift's defaults."""

    chunker: _ChunkerName = DEFAULT_CHUNKER
    embedding: _EmbeddingName | None = None
    retriever: _RetrieverName = RetrieverSpec(_DEFAULT_RETRIEVER)
    reranker: _RerankerName = NO_RERANKER

    def read(self) -> Cell:
        retriever = cast("RetrieverSpec", self.retriever)  # what the mapping was read as
        embedding = EMBEDDED_MODEL if self.embedding is None and retriever.needs_embedding else self.embedding
        try:
            return Cell(cast("str", self.chunker), embedding, retriever, self.reranker)
        except ConfigurationError as error:
            raise values.told(error, self) from None


class _Exclusion(Model):
    """An exclusion as a mapping."""

    # what is not named is None; null is refused, and for a reranker it is `none`
    chunker: Annotated[list[_ChunkerName] | None, Given, AsList, NotEmpty, Distinct] = None
    embedding: Annotated[list[_EmbeddingName] | None, Given, AsList, NotEmpty, Distinct] = None
    retriever: Annotated[list[_RetrieverName] | None, Given, AsList, NotEmpty, Distinct] = None
    reranker: Annotated[list[_RerankerName] | None, AsList, NoneIsNone, NotEmpty, Distinct] = None

    def read(self) -> Exclusion:
        if not self.model_fields_set:
            raise wrong("an exclusion that names nothing", "a part, as {reranker: late-interaction}")
        return Exclusion(self.chunker, self.embedding, self.retriever, self.reranker)  # type: ignore[arg-type]


_NoMapping = Annotated[Any, PlainValidator(values.no_mapping), Tag(AS_TEXT)]
_IncludedCell = Annotated[
    Annotated[_Cell, AfterValidator(_Cell.read), Tag(AS_MAPPING)] | _NoMapping, Discriminator(form), Unpacked
]
_ExcludedCells = Annotated[
    Annotated[_Exclusion, AfterValidator(_Exclusion.read), Tag(AS_MAPPING)] | _NoMapping, Discriminator(form), Unpacked
]


def _system(value: Any) -> Any:
    """Read a reference; an object of Python's is what it is."""
    if value is None or isinstance(value, (bool, int, float, list, tuple)):
        raise wrong(described(value), "module:name, as my_rag:retriever, or in Python an object")
    return values.reference(values.text(value)) if isinstance(value, str) else value


_MappingFile = Annotated[str | None, in_folder(values.mapping)]


def _needs_address(system: Any, mapping: str | None) -> None:
    if mapping is not None and not (isinstance(system, str) and is_http_address(system)):
        raise wrong(f"a mapping with {described(system)}", "one with the address of an HTTP service alone")


class _NamedSystem(Model):
    """A system of the user's in a list."""

    name: Text | None = None
    system: Annotated[Any, PlainValidator(_system)]
    mapping: _MappingFile = None
    rerankers: Annotated[list[_RerankerName], AsList, NotEmpty, Distinct] | None = None

    def read(self) -> SystemSpec:
        _needs_address(self.system, self.mapping)
        name = self.system if self.name is None and isinstance(self.system, str) else self.name
        if name is None:
            raise wrong(f"a {type(self.system).__name__} without a name", "a name: systems={'mine': …}")
        return SystemSpec(name, self.system, self.rerankers, self.mapping)


_ListedSystem = Annotated[
    Annotated[
        Any,
        PlainValidator(_system),
        AfterValidator(
            lambda system: _NamedSystem.model_construct(name=None, system=system, mapping=None, rerankers=None).read()
        ),
        Tag(AS_TEXT),
    ]
    | Annotated[_NamedSystem, AfterValidator(_NamedSystem.read), Tag(AS_MAPPING)],
    Discriminator(form),
    Unpacked,
]


class _MappedSystem(Model):
    """A system of the user's in a mapping of names."""

    system: Annotated[Any, PlainValidator(_system)]
    mapping: _MappingFile = None
    rerankers: Annotated[list[_RerankerName], AsList, NotEmpty, Distinct] | None = None

    def read(self) -> _MappedSystem:
        _needs_address(self.system, self.mapping)
        return self


_SystemOfName = Annotated[
    Annotated[
        Any,
        PlainValidator(_system),
        AfterValidator(lambda system: _MappedSystem.model_construct(system=system, mapping=None, rerankers=None)),
        Tag(AS_TEXT),
    ]
    | Annotated[_MappedSystem, AfterValidator(_MappedSystem.read), Tag(AS_MAPPING)],
    Discriminator(form),
]


def _named(systems: dict[str, _MappedSystem]) -> tuple[SystemSpec, ...]:
    return tuple(SystemSpec(name, each.system, each.rerankers, each.mapping) for name, each in systems.items())


def _dataset(value: Any, folder: Any) -> Any:
    return value if isinstance(value, Dataset) else values.dataset(value, folder)


class SweepModel(Model):
    """Every field of a sweep."""

    dataset: Annotated[Any, in_folder(_dataset)]
    documents: Annotated[str, in_folder(values.existing)] | None
    chunkers: Annotated[list[_ChunkerName], AsList, Distinct] | None
    embeddings: Annotated[list[_EmbeddingName], AsList, Distinct] | None
    retrievers: Annotated[list[_RetrieverName], AsList, Distinct] | None
    rerankers: Annotated[list[_RerankerName], AsList, NotEmpty, Distinct] | None
    exclude: Annotated[list[_ExcludedCells], AsList, AfterValidator(tuple)]
    include: Annotated[list[_IncludedCell], AsList, AfterValidator(tuple)]
    systems: Annotated[
        Annotated[dict[Text, _SystemOfName], AfterValidator(_named), Tag(AS_MAPPING)]
        | Annotated[list[_ListedSystem], AsList, AfterValidator(tuple), Tag(AS_LIST)],
        Discriminator(list_or_mapping),
    ]
    candidates: Annotated[Integer, at_least(1)]
    ks: Annotated[list[Annotated[Any, PlainValidator(values.depth)]], AsList, NotEmpty, Distinct]
    metrics: Annotated[list[Annotated[str, PlainValidator(values.metric)]], AsList, NotEmpty, Distinct]
    primary: Annotated[str, PlainValidator(values.metric)] | None
    match: Annotated[str, one_of(MODES)]
    match_threshold: Number | None
    profile: Annotated[str, one_of(tuple(PROFILES))]
    dtype: Annotated[str, one_of(get_args(Dtype))]
    doc_key: Text | None
    concurrency: Annotated[Integer, at_least(1)]
    timeout: Annotated[Number, above_zero()] | None
    retries: Annotated[Integer, at_least(0)]
    latency: Annotated[Integer, at_least(0)]
    seed: Annotated[Integer, at_least(0)]
    name: Text | None
