"""How the fields of a sweep are written: single values, generic field types, and chunkers and systems as mappings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import lru_cache
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    GetCoreSchemaHandler,
    PlainValidator,
    Tag,
    ValidationInfo,
)

from raglift.adapters.adapt import adapt_reranker
from raglift.adapters.splitters import chunker_by_name
from raglift.datasets.corpora.catalogue import find_corpus
from raglift.datasets.formats.catalogue import named_format
from raglift.errors import ConfigurationError, CorpusError, MappingError, MissingDependency
from raglift.metrics.parsing import parse, parse_depth
from raglift.retrieval.bm25 import K1, B, BM25Settings
from raglift.retrieval.chunkers import CHUNKERS as SPLITTERS
from raglift.retrieval.chunkers import UNITS, Chunker, RecursiveChunker
from raglift.retrieval.devices import checked_device
from raglift.retrieval.headings import HEADINGS, ContextualChunker
from raglift.retrieval.models import EMBEDDED_MODEL, MINILM, nearly
from raglift.retrieval.onnx_files import PREFIX as ONNX
from raglift.retrieval.retrievers import RRF_CONSTANT, RetrieverSpec, parse_retriever
from raglift.retrieval.services.addresses import (
    checked_address,
    is_http_address,
    is_mcp_reference,
    parse_mcp_reference,
    perhaps_address,
    shown_address,
)
from raglift.retrieval.services.mapping import load_mapping
from raglift.sweep.race import Effort
from raglift.sweep.specification.cells import NO_RERANKER, Cell, Exclusion, SystemSpec
from raglift.types.dataset import Dataset
from raglift.types.metric import Tokens
from raglift.utilities.limits import is_folder, is_there, user_path
from raglift.utilities.settings import Bounds, OneOf
from raglift.utilities.strict_files import check_encoding
from raglift.utilities.validation import described, quoted, shown, wrong

if TYPE_CHECKING:
    from pydantic_core import CoreSchema, PydanticCustomError


Result = TypeVar("Result")

# Single values of a sweep: parsed from the user's input, or refused with what was expected.


_EMBEDDED = (EMBEDDED_MODEL, MINILM)
_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
# a grammar, and after it what in particular is wrong
_INNER = re.compile(r"; expected KIND.*?: ((?:chunker|chunk \w+|encoding): found .*)", re.DOTALL)
_PATH_STARTS = ("/", "./", "../", "~")


def as_fault(error: ConfigurationError, value: object) -> PydanticCustomError:
    """Return the error of a value in the words of the part of raglift that refused it."""
    inner = _INNER.search(str(error))
    head, _, expected = (inner[1] if inner else str(error)).partition("; expected ")
    about, _, found = head.rpartition("found ")
    subject = about.removesuffix(": ").rpartition(": ")[2]
    if not expected:
        return wrong(shown(value), str(error))
    return wrong(f"{subject} {found}" if subject.startswith(("chunk ", "fusion ", "bm25 ")) else found, expected)


def by(parse: Callable[[Any], Result], value: Any) -> Result:
    """Return what another part of raglift makes of a value; what it refuses is a fault in its words."""
    try:
        return parse(value)
    except ConfigurationError as error:
        raise as_fault(error, value) from None


def as_list(value: Any) -> Any:
    """Return several values as a list, and a single one as a list of one."""
    if isinstance(value, (list, tuple, range)):
        return list(value)
    return value if value is None or isinstance(value, (set, frozenset)) else [value]


def text(value: Any) -> str:
    """Read a text that is not blank."""
    if not isinstance(value, str):
        raise wrong(described(value), "a text: in YAML a name such as 2024 or no stands in quotation marks")
    if not value.strip():
        raise wrong(shown(value), "a text that is not empty")
    return value.strip()


def text_encoding(value: Any) -> str:
    """Read the name of a text encoding, and return it as Python knows it."""
    return by(check_encoding, text(value)) or ""


def dataset(value: Any, folder: Path | None) -> str:
    """Read where a dataset is: a path that exists, a name as `hf:mteb/scifact`, or a corpus that comes with raglift."""
    name = text(str(value) if isinstance(value, Path) else value)
    if named_format(name) is not None:
        return name
    path = _resolved(name, folder)
    if is_there(path):
        return name if folder is None else str(path)
    try:
        find_corpus(Path(name).name)
    except CorpusError as error:
        known = str(error).partition("; expected ")[2] or str(error)
        raise wrong(
            quoted(name), f"a file or a folder, of which there is none at {path}, or a corpus: {known}"
        ) from None
    return name


def short_chunker(value: Any) -> str:
    """Read a chunker, and return its shortest text form."""
    given = str(value) if isinstance(value, Chunker) and not isinstance(value, str) else text(value)
    plain = given.removesuffix(HEADINGS)
    if _REFERENCE.fullmatch(plain) and plain.partition(":")[0] not in SPLITTERS:
        return given  # what it makes matters where the sweep is run
    chunker = by(_chunker, given)
    if value is not given and chunker != value:
        raise wrong(quoted(given), "a chunker whose text form says all of it, as recursive:1000/100")
    return _short(chunker)


def _short(chunker: Chunker) -> str:
    if isinstance(chunker, ContextualChunker):
        return f"{_short(chunker.chunker)}{HEADINGS}"
    # characters are what a recursive chunker counts anyway; others say their unit where it is not their own
    return str(chunker).removesuffix(":characters") if isinstance(chunker, RecursiveChunker) else str(chunker)


@lru_cache(maxsize=256)
def _chunker(given: str) -> Chunker:
    return chunker_by_name(given)


def device(value: Any) -> str:
    """Read the name of a device; whether it is there matters where the sweep is run."""
    return by(checked_device, text(value))


def embedding(value: Any, folder: Path | None) -> str:
    """Read an embedding model: a name, or the path of a folder that exists."""
    name = text(value)
    if name in _EMBEDDED:
        return name
    near = nearly(name, _EMBEDDED)
    if near and not is_there(_resolved(name, folder)):
        raise wrong(quoted(name), f"{near!r}, a path, a hub id, or provider:model")
    return _model(name, folder)


def reranker(value: Any, folder: Path | None) -> str:
    """Read a reranker: a name, or the path of a folder that exists; null is `none`."""
    if value is None:
        return NO_RERANKER
    name = text(value)
    if name.lower() == NO_RERANKER:
        return NO_RERANKER
    with suppress(MissingDependency):  # whether it is installed matters where the sweep is run
        by(adapt_reranker, name)
    return _model(name, folder)


def _model(name: str, folder: Path | None) -> str:
    """Return a name as it is, and the path of a folder as it is seen from here."""
    prefix = ONNX if name.startswith(ONNX) else ""
    path = _resolved(name.removeprefix(prefix), folder)
    if is_folder(path) or (prefix and is_there(path)):
        return name if folder is None else f"{prefix}{path}"
    if name.removeprefix(prefix).startswith(_PATH_STARTS):
        raise wrong(quoted(name), f"the folder of a model; there is none at {path}")
    return name


def _resolved(name: str, folder: Path | None) -> Path:
    path = user_path(name)
    return path if folder is None else folder / path


def existing(value: Any, folder: Path | None) -> str:
    """Read the path of a file or folder that exists."""
    name = text(str(value) if isinstance(value, Path) else value)
    path = _resolved(name, folder)
    if not is_there(path):
        raise wrong(quoted(name), f"a file or a folder; there is none at {path}")
    return name if folder is None else str(path)


def retriever(value: Any) -> RetrieverSpec:
    """Read a retriever from its text form."""
    return value if isinstance(value, RetrieverSpec) else by(parse_retriever, text(value))


def effort(value: Any) -> str:
    """Read how much a sweep may do, and return its canonical text form."""
    return str(by(Effort.parse, text(value)))


def metric(value: Any) -> str:
    """Read a metric, and return its canonical text form."""
    return str(by(parse, text(value if value is None or isinstance(value, (bool, int, float)) else str(value))))


def depth(value: Any) -> int | str:
    """Read a depth at which metrics are taken: a number of hits, or the text of a budget of tokens."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        if int(value) >= 1:
            return int(value)
    else:
        found = parse_depth(value) if isinstance(value, str) else value
        if isinstance(found, int) and not isinstance(found, bool):
            return found
        if isinstance(found, Tokens):
            return str(found)
    raise wrong(described(value), "an integer of 1 or more, or a budget of tokens, as tokens(2000)")


def reference(value: str) -> str:
    """Read `module:name`, the address of an HTTP service, or an MCP server; nothing is imported, asked or started."""
    if is_http_address(value):
        return by(checked_address, value)
    if is_mcp_reference(value):
        by(parse_mcp_reference, value)
        return value.strip()
    if not _REFERENCE.fullmatch(value):
        expected = "module:name of a retriever or of a function that makes one, as my_rag:retriever, or an address"
        raise wrong(quoted(shown_address(value) if perhaps_address(value) else value), f"{expected} with http://")
    return value


def mapping(value: Any, folder: Path | None) -> str | None:
    """Read the path of the file that describes an HTTP service or MCP server, and look at what is in it."""
    if value is None:
        return None
    path = existing(value, folder)
    try:
        load_mapping(path)
    except MappingError as error:
        raise wrong(
            f"{quoted(str(value))}, of which {error.faults[0]}",
            "a mapping, as docs/how-to/http.md (for MCP servers docs/how-to/mcp.md) describes it",
        ) from None
    return path


# Generic field types of a sweep, for pydantic.


class Form:
    """For `Annotated`: how a field is written if that is more than its type: one value for a list, or a mapping."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return how pydantic reads the field."""
        return handler.generate_schema(self.kind)


AS_MAPPING, AS_OTHER = "<mapping>", "<other>"
"""What pydantic adds to the path of a value that may be written in several ways."""


def form(value: Any) -> str:
    """Tell whether a value is written as a mapping."""
    return AS_MAPPING if isinstance(value, Mapping) else AS_OTHER


def in_folder(read: Callable[..., Any]) -> PlainValidator:
    """Return the check of a value that may be a path relative to the folder of the sweep's file."""

    def validate(value: Any, info: ValidationInfo) -> Any:
        return read(value, (info.context or {}).get("folder"))

    return PlainValidator(validate)


def _unpacked(value: Any) -> Any:
    """Return a record of a checked sweep as the mapping that it was made of."""
    if not isinstance(value, (Cell, Exclusion, SystemSpec)):
        return value
    parts = ((field.name, getattr(value, field.name)) for field in fields(value))
    return {name: part for name, part in parts if part is not None}


def _not_empty(value: Any) -> Any:
    if not value:
        raise wrong("an empty list", "at least one")
    return value


def _distinct(value: list[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(value))


Text = Annotated[str, PlainValidator(text)]
Integer = Annotated[int, Bounds()]
Number = Annotated[float, Bounds()]
AsList = BeforeValidator(as_list)
Unpacked = BeforeValidator(_unpacked)
Distinct = AfterValidator(_distinct)
NotEmpty = AfterValidator(_not_empty)
NoneIsNone = BeforeValidator(lambda value: NO_RERANKER if value is None else value)


class Model(BaseModel):
    """A mapping of known fields."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


# How the fields of a sweep are written, as pydantic models: texts, mappings and lists, in their canonical forms.


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
