"""The fields of a sweep as pydantic checks them, each turned into its shortest form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    PlainValidator,
    Tag,
    ValidationInfo,
)

from raglift.chunking import UNITS
from raglift.dataset.faults import nearest, quoted
from raglift.errors import ConfigurationError
from raglift.matching.rule import MODES
from raglift.metrics import PROFILES
from raglift.models import EMBEDDED_MODEL, Dtype
from raglift.records import Dataset
from raglift.retrieval.notation import RRF_CONSTANT, RetrieverSpec
from raglift.sweep import values
from raglift.sweep.cells import NO_RERANKER, Cell, Exclusion
from raglift.sweep.record import SystemSpec
from raglift.sweep.together import DEFAULT_CHUNKER

__all__ = ["TAGS", "SweepModel", "fields_at"]


_DEFAULT_RETRIEVER = "dense"

_AS_TEXT, _AS_MAPPING, _AS_LIST, _AS_RECORD = TAGS = ("<text>", "<mapping>", "<list>", "<record>")
"""What pydantic adds to the path of a value that may be written in several ways."""


def _form(value: Any) -> str:
    if isinstance(value, Mapping):
        return _AS_MAPPING
    return _AS_RECORD if isinstance(value, (Cell, Exclusion, SystemSpec)) else _AS_TEXT


def _list_or_mapping(value: Any) -> str:
    return _AS_MAPPING if isinstance(value, Mapping) else _AS_LIST


def _in_folder(read: Callable[..., Any]) -> PlainValidator:
    """Return the check of a value that may be a path relative to the folder of the sweep's file."""

    def validate(value: Any, info: ValidationInfo) -> Any:
        return read(value, (info.context or {}).get("folder"))

    return PlainValidator(validate)


def _one_of(known: tuple[str, ...]) -> PlainValidator:
    def validate(value: Any) -> str:
        name = values.text(value)
        if name not in known:
            raise values.wrong(quoted(name), nearest(name, known))
        return name

    return PlainValidator(validate)


def _at_least(least: int) -> AfterValidator:
    def validate(value: int) -> int:
        if value < least:
            raise values.wrong(str(value), f"an integer, {least} or more")
        return value

    return AfterValidator(validate)


def _not_empty(value: Any) -> Any:
    if not value:
        raise values.wrong("an empty list", "at least one")
    return value


def _not_null(value: Any) -> Any:
    if value is None:
        raise values.wrong("null", "a value, or the part left out for any")
    return value


def _distinct(value: list[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(value))


_Text = Annotated[str, PlainValidator(values.text)]
_Integer = Annotated[int, PlainValidator(values.integer)]
_Number = Annotated[float, PlainValidator(values.number)]
_AsList = BeforeValidator(values.as_list)
_Distinct = AfterValidator(_distinct)
_NotEmpty = AfterValidator(_not_empty)
_Given = AfterValidator(_not_null)
_NoneIsNone = BeforeValidator(lambda value: NO_RERANKER if value is None else value)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


class _Chunker(_Model):
    """A chunker as a mapping."""

    splitter: _Text
    size: _Integer | None = None
    overlap: _Integer | None = None
    unit: Annotated[str, _one_of(UNITS)] | None = None
    encoding: _Text | None = None

    def read(self) -> str:
        if (self.size is None) != (self.overlap is None):
            raise values.wrong("a size without an overlap, or an overlap without a size", "both; 0 for no overlap")
        unit = self.unit or (None if self.encoding is None else "tokens")
        sizes = None if self.size is None else f"{self.size}/{self.overlap}"
        return values.short_chunker(":".join(filter(None, (self.splitter, sizes, unit, self.encoding))))


class _Fusion(_Model):
    """How a hybrid retriever fuses its parts."""

    dense: _Number = 1.0
    bm25: _Number = 1.0
    constant: _Integer = RRF_CONSTANT


class _Hybrid(_Model):
    """A hybrid retriever as a mapping."""

    hybrid: _Fusion

    def read(self) -> RetrieverSpec:
        fusion = self.hybrid
        try:
            return RetrieverSpec("hybrid", (fusion.dense, fusion.bm25), fusion.constant)
        except ConfigurationError as error:
            raise values.told(error, fusion) from None


_ChunkerName = Annotated[
    Annotated[str, PlainValidator(values.short_chunker), Tag(_AS_TEXT)]
    | Annotated[_Chunker, AfterValidator(_Chunker.read), Tag(_AS_MAPPING)],
    Discriminator(_form),
]
_RetrieverName = Annotated[
    Annotated[RetrieverSpec, PlainValidator(values.retriever), Tag(_AS_TEXT)]
    | Annotated[_Hybrid, AfterValidator(_Hybrid.read), Tag(_AS_MAPPING)],
    Discriminator(_form),
]
_EmbeddingName = Annotated[str, _in_folder(values.embedding)]
_RerankerName = Annotated[str, _in_folder(values.reranker)]


class _Cell(_Model):
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


class _Exclusion(_Model):
    """An exclusion as a mapping."""

    # what is not named is None; null is refused, and for a reranker it is `none`
    chunker: Annotated[list[_ChunkerName] | None, _Given, _AsList, _NotEmpty, _Distinct] = None
    embedding: Annotated[list[_EmbeddingName] | None, _Given, _AsList, _NotEmpty, _Distinct] = None
    retriever: Annotated[list[_RetrieverName] | None, _Given, _AsList, _NotEmpty, _Distinct] = None
    reranker: Annotated[list[_RerankerName] | None, _AsList, _NoneIsNone, _NotEmpty, _Distinct] = None

    def read(self) -> Exclusion:
        if not self.model_fields_set:
            raise values.wrong("an exclusion that names nothing", "a part, as {reranker: late-interaction}")
        return Exclusion(self.chunker, self.embedding, self.retriever, self.reranker)  # type: ignore[arg-type]


def _system(value: Any) -> Any:
    """Read a reference; an object of Python's is what it is."""
    if value is None or isinstance(value, (bool, int, float, list, tuple)):
        raise values.wrong(values.kind(value), "module:name, as my_rag:retriever, or in Python an object")
    return values.reference(values.text(value)) if isinstance(value, str) else value


class _NamedSystem(_Model):
    """A system of the user's in a list."""

    name: _Text | None = None
    system: Annotated[Any, PlainValidator(_system)]
    rerankers: Annotated[list[_RerankerName], _AsList, _NotEmpty, _Distinct] | None = None

    def read(self) -> SystemSpec:
        name = self.system if self.name is None and isinstance(self.system, str) else self.name
        if name is None:
            raise values.wrong(f"a {type(self.system).__name__} without a name", "a name: systems={'mine': …}")
        return SystemSpec(name, self.system, self.rerankers)


_Record = Annotated[Any, PlainValidator(lambda value: value), Tag(_AS_RECORD)]
_ListedSystem = Annotated[
    Annotated[
        Any,
        PlainValidator(_system),
        AfterValidator(lambda system: _NamedSystem.model_construct(name=None, system=system, rerankers=None).read()),
        Tag(_AS_TEXT),
    ]
    | Annotated[_NamedSystem, AfterValidator(_NamedSystem.read), Tag(_AS_MAPPING)]
    | _Record,
    Discriminator(_form),
]


class _MappedSystem(_Model):
    """A system of the user's in a mapping of names."""

    system: Annotated[Any, PlainValidator(_system)]
    rerankers: Annotated[list[_RerankerName], _AsList, _NotEmpty, _Distinct] | None = None


_SystemOfName = Annotated[
    Annotated[
        Any,
        PlainValidator(_system),
        AfterValidator(lambda system: _MappedSystem.model_construct(system=system, rerankers=None)),
        Tag(_AS_TEXT),
    ]
    | Annotated[_MappedSystem, Tag(_AS_MAPPING)],
    Discriminator(_form),
]


def _named(systems: dict[str, _MappedSystem]) -> tuple[SystemSpec, ...]:
    return tuple(SystemSpec(name, each.system, each.rerankers) for name, each in systems.items())


def _dataset(value: Any, folder: Any) -> Any:
    return value if isinstance(value, Dataset) else values.dataset(value, folder)


class SweepModel(_Model):
    """Every field of a sweep."""

    dataset: Annotated[Any, _in_folder(_dataset)]
    documents: Annotated[str, _in_folder(values.existing)] | None
    chunkers: Annotated[list[_ChunkerName], _AsList, _Distinct] | None
    embeddings: Annotated[list[_EmbeddingName], _AsList, _Distinct] | None
    retrievers: Annotated[list[_RetrieverName], _AsList, _Distinct] | None
    rerankers: Annotated[list[_RerankerName], _AsList, _NotEmpty, _Distinct] | None
    exclude: Annotated[
        list[
            Annotated[
                Annotated[_Exclusion, AfterValidator(_Exclusion.read), Tag(_AS_MAPPING)]
                | Annotated[Any, PlainValidator(values.no_mapping), Tag(_AS_TEXT)]
                | _Record,
                Discriminator(_form),
            ]
        ],
        _AsList,
        AfterValidator(tuple),
    ]
    include: Annotated[
        list[
            Annotated[
                Annotated[_Cell, AfterValidator(_Cell.read), Tag(_AS_MAPPING)]
                | Annotated[Any, PlainValidator(values.no_mapping), Tag(_AS_TEXT)]
                | _Record,
                Discriminator(_form),
            ]
        ],
        _AsList,
        AfterValidator(tuple),
    ]
    systems: Annotated[
        Annotated[dict[_Text, _SystemOfName], AfterValidator(_named), Tag(_AS_MAPPING)]
        | Annotated[list[_ListedSystem], _AsList, AfterValidator(tuple), Tag(_AS_LIST)],
        Discriminator(_list_or_mapping),
    ]
    candidates: Annotated[_Integer, _at_least(1)]
    ks: Annotated[list[Annotated[Any, PlainValidator(values.depth)]], _AsList, _NotEmpty, _Distinct]
    metrics: Annotated[list[Annotated[str, PlainValidator(values.metric)]], _AsList, _NotEmpty, _Distinct]
    primary: Annotated[str, PlainValidator(values.metric)]
    match: Annotated[str, _one_of(MODES)]
    match_threshold: _Number | None
    profile: Annotated[str, _one_of(tuple(PROFILES))]
    dtype: Annotated[str, _one_of(get_args(Dtype))]
    doc_key: _Text | None
    latency: Annotated[_Integer, _at_least(0)]
    seed: Annotated[_Integer, _at_least(0)]
    name: _Text | None


_PARTS: dict[str, type[_Model]] = {
    "chunkers": _Chunker,
    "chunker": _Chunker,
    "retrievers": _Hybrid,
    "retriever": _Hybrid,
    "hybrid": _Fusion,
    "exclude": _Exclusion,
    "include": _Cell,
    "systems": _NamedSystem,
}


def fields_at(keys: tuple[str | int, ...]) -> list[str]:
    """Return the names of the fields of the mapping that keys and list places lead to."""
    names = [key for key in keys if isinstance(key, str)]
    if not names:
        return list(SweepModel.model_fields)
    of_mapped_system = names[0] == "systems" and len(names) > 1
    return list((_MappedSystem if of_mapped_system else _PARTS[names[-1]]).model_fields)
