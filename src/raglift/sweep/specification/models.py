"""The specification of a sweep as pydantic models: its fields, their canonical forms, and how they fit together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, TypeAlias, cast

from pydantic import AfterValidator, BeforeValidator, Discriminator, PlainValidator, Tag

from raglift.analysis.paired_statistics import is_quality, primary_of
from raglift.base.settings import OneOf
from raglift.base.validation import Keys, described, nearest, quoted, several_wrong, unknown_field, wrong
from raglift.components.bm25 import K1, B, BM25Settings
from raglift.components.chunkers import UNITS
from raglift.components.headings import HEADINGS
from raglift.components.models import EMBEDDED_MODEL
from raglift.components.retrievers import RRF_CONSTANT, RetrieverSpec
from raglift.components.services.addresses import is_http_address, is_mcp_reference
from raglift.errors import ConfigurationError
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import choose_metrics
from raglift.metrics.parsing import parse
from raglift.records.dataset import Dataset
from raglift.sweep.specification.cells import NO_RERANKER, Cell, Exclusion, SystemSpec, grid
from raglift.sweep.specification.values import (
    AS_LIST,
    AS_MAPPING,
    AS_TEXT,
    AsList,
    Distinct,
    Flag,
    Form,
    Given,
    Integer,
    Model,
    NoneIsNone,
    NotEmpty,
    Number,
    Text,
    Unpacked,
    as_fault,
    dataset,
    depth,
    device,
    effort,
    embedding,
    existing,
    form,
    in_folder,
    list_or_mapping,
    mapping,
    metric,
    no_mapping,
    reference,
    reranker,
    retriever,
    short_chunker,
    text,
    text_encoding,
)

# Cross-field validation of a sweep; each fault is reported where the user would fix it.


DEFAULT_CHUNKER = "recursive:1000/100"

Note: TypeAlias = Callable[[Keys, str, str], None]
"""Notes that something else was found at a location than was expected."""

_GRID: dict[str, tuple[Any, ...]] = {
    "chunkers": (DEFAULT_CHUNKER,),
    "embeddings": (EMBEDDED_MODEL,),
    "retrievers": (RetrieverSpec(),),
}
"""The parts of the grid, and what they are unless said otherwise."""
_CELLS = {*_GRID, "rerankers", "exclude", "include", "systems"}


def note_disagreements(values: dict[str, Any], faulty: set[str], note: Note) -> None:
    """Fill in the parts of the grid that were not named, and note what does not go together.

    Args:
        values: every field, each right by itself.
        faulty: the fields that were not, for which `values` holds something else.
        note: where faults go.
    """
    if not faulty & _CELLS:
        if _fill_grid(values, note):
            _note_exclusions(values, note)
        _note_names(values, note)
    if not faulty & {"ks", "metrics", "candidates"}:
        _note_depths(values, note)
    if not faulty & {"ks", "metrics"}:
        _settle_primary(values, faulty, note)
    if not faulty & {"match", "match_threshold", "profile"}:
        _note_threshold(values, note)
    if isinstance(values["dataset"], Dataset) and "dataset" not in faulty:
        for name in ("documents", "include_files", "encoding"):
            if name not in faulty and values[name]:
                given = values[name] if isinstance(values[name], str) else ", ".join(values[name])
                note((name,), quoted(given), "none: a Dataset brings its own documents")


def _fill_grid(values: dict[str, Any], note: Note) -> bool:
    """Put in the defaults of the grid; return whether it has all that it needs, or is not wanted."""
    values["rerankers"] = values["rerankers"] or (NO_RERANKER,)
    if (values["include"] or values["systems"]) and not any(values[name] for name in _GRID):
        values |= dict.fromkeys(_GRID, ())
        return True
    for name, default in _GRID.items():
        if values[name] is None:
            values[name] = default
        elif not values[name]:
            note((name,), "an empty list", "at least one")
    return all(values[name] for name in _GRID)


def _note_exclusions(values: Mapping[str, Any], note: Note) -> None:
    """Note exclusions that name what the grid does not have, or that leave out nothing, or everything."""
    lists = (values["chunkers"], values["embeddings"], values["retrievers"], values["rerankers"])
    cells = grid(*lists) if all(lists[::2]) else []
    if values["exclude"] and not any(values[name] for name in _GRID):
        note(("exclude",), "exclusions without a grid", "chunkers, embeddings or retrievers to make one, or none")
        return
    known = dict(zip((field.name for field in fields(Exclusion)), lists, strict=True))
    for place, exclusion in enumerate(values["exclude"]):
        keys = ("exclude", place)
        if not _note_unknown(exclusion, known, keys, note) and not any(exclusion.matches(cell) for cell in cells):
            note(keys, "an exclusion that leaves out no cell", "no embedding with bm25, which uses none")
    left = [cell for cell in cells if not any(exclusion.matches(cell) for exclusion in values["exclude"])]
    if values["exclude"] and cells and not left and not (values["include"] or values["systems"]):
        note(("exclude",), "exclusions that leave out every cell", "at least one cell that is left")


def _note_unknown(exclusion: Exclusion, known: Mapping[str, Sequence[Any]], keys: Keys, note: Note) -> bool:
    """Note each value that is not among the grid's; return whether there is one."""
    found = False
    for part, grid_values in known.items():
        for place, value in enumerate(getattr(exclusion, part) or ()):
            if value not in grid_values:
                found = True
                note((*keys, part, place), quoted(value), nearest(str(value), [str(each) for each in grid_values]))
    return found


def _note_names(values: Mapping[str, Any], note: Note) -> None:
    """Note systems that share a name."""
    count = Counter(system.name for system in values["systems"])
    for place, system in enumerate(values["systems"]):
        if count[system.name] > 1:
            note(("systems", place), f"the name {quoted(system.name)} {count[system.name]} times", "a name of its own")


def _note_depths(values: Mapping[str, Any], note: Note) -> None:
    """Note depths that exceed the candidates."""
    candidates = values["candidates"]
    expected = f"at most {candidates}, the number of candidates; or more candidates"
    for place, k in enumerate(values["ks"]):
        if isinstance(k, int) and k > candidates:
            note(("ks", place), str(k), expected)
    for place, asked in enumerate(values["metrics"]):
        k = parse(asked).k
        if isinstance(k, int) and k > candidates:
            note(("metrics", place), quoted(asked), f"a depth of {expected}")


def _settle_primary(values: dict[str, Any], faulty: set[str], note: Note) -> None:
    """Fill in the primary metric that was not named; note one that is not taken, or measures not for these depths."""
    try:
        taken = choose_metrics(values["metrics"], values["ks"])
    except ConfigurationError as error:
        found, _, expected = str(error).removeprefix("metric: found ").partition("; expected ")
        note(("metrics",), found, expected)
        return
    better = [str(metric) for metric in taken if is_quality(metric)]
    if not better:
        note(("metrics",), f"no measure of quality among {', '.join(map(str, taken))}", "one of which more is better")
    elif values["primary"] is None:
        values["primary"] = str(primary_of(None, taken))
    elif "primary" not in faulty and values["primary"] not in better:
        note(
            ("primary",),
            quoted(values["primary"]),
            f"a metric that is taken and of which more is better, {nearest(values['primary'], better)}",
        )


def _note_threshold(values: Mapping[str, Any], note: Note) -> None:
    """Note a threshold that the match does not have."""
    try:
        MatchRule.for_profile(values["profile"], values["match"], threshold=values["match_threshold"])
    except ConfigurationError as error:
        found, _, expected = str(error).removeprefix("match threshold: found ").partition("; expected ")
        note(("match_threshold",), found, expected)


# The pydantic models of a sweep's fields, each converted to its canonical form.


_DEFAULT_RETRIEVER = "dense"


class _Chunker(Model):
    """A chunker as a mapping."""

    splitter: Text
    size: Integer | None = None
    overlap: Integer | None = None
    unit: Annotated[str, OneOf(lambda: UNITS)] | None = None
    encoding: Text | None = None
    headings: Flag = False

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
        fusion = self.hybrid
        try:
            settings = BM25Settings(fusion.language, fusion.stemmer, fusion.k1, fusion.b)
            return RetrieverSpec("hybrid", (fusion.dense, fusion.bm25), fusion.constant, settings)
        except ConfigurationError as error:
            raise as_fault(error, fusion) from None


_ChunkerName = Annotated[
    Annotated[str, PlainValidator(short_chunker), Tag(AS_TEXT)]
    | Annotated[_Chunker, AfterValidator(_Chunker.read), Tag(AS_MAPPING)],
    Discriminator(form),
]
_RetrieverName = Annotated[
    Annotated[RetrieverSpec, PlainValidator(retriever), Tag(AS_TEXT)]
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
        try:
            chunker = cast("str", self.chunker)
            return Cell(chunker, embedding, retriever, self.reranker)
        except ConfigurationError as error:
            raise as_fault(error, self) from None


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


_NoMapping = Annotated[Any, PlainValidator(no_mapping), Tag(AS_TEXT)]
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
    return reference(text(value)) if isinstance(value, str) else value


def _needs_address(system: Any, mapping: str | None) -> None:
    if mapping is not None and not (isinstance(system, str) and (is_http_address(system) or is_mcp_reference(system))):
        raise wrong(f"a mapping with {described(system)}", "one with an HTTP service or an MCP server alone")


_MappingFile = Annotated[str | None, in_folder(mapping)]


class _System(Model):
    """A system of the user's; the name stands in a mapping of names, or beside it in a list."""

    name: Text | None = None
    system: Annotated[Any, PlainValidator(_system)]
    mapping: _MappingFile = None
    version: Text | None = None
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
        return SystemSpec(name, self.system, self.rerankers, self.mapping, self.version)


def _as_mapping(value: Any) -> Any:
    """Return a system as a mapping of its settings."""
    return value if isinstance(value, Mapping) else {"system": value}


def _with_names(systems: Any) -> Any:
    """Return a mapping of names to systems as one in which every system has its name."""
    if not isinstance(systems, Mapping):
        return systems
    for name, system in systems.items():
        if isinstance(system, Mapping) and "name" in system:
            raise several_wrong(
                [((name, "name"), *unknown_field("name", ("system", "mapping", "version", "rerankers")))]
            )
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
        | Annotated[list[_AnySystem], AsList, AfterValidator(tuple), Tag(AS_LIST)],
        Discriminator(list_or_mapping),
    ]
)
EFFORT = Form(Annotated[str, PlainValidator(effort)] | None)
DEPTHS = Form(Annotated[list[Annotated[Any, PlainValidator(depth)]], AsList, NotEmpty, Distinct])
METRICS = Form(Annotated[list[Annotated[str, PlainValidator(metric)]], AsList, NotEmpty, Distinct])
METRIC = Form(Annotated[str, PlainValidator(metric)] | None)
DEVICE = Form(Annotated[str, PlainValidator(device)])
TEXT = Form(Text | None)
