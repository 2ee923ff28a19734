"""The saved forms of records, validated strictly by pydantic: `"1"` and `true` are not accepted as numbers.

A record is saved as an object of its own fields: `Saved` reads it by the types and defaults of its dataclass, so that a
record is written down once. What is saved otherwise has a model here: the header, `run.json`, and a line of the traces.
`run.json` and its spec may have fields that no model lists: what a later raglift adds is not damage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from functools import partial
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    InstanceOf,
    PlainValidator,
    Strict,
    TypeAdapter,
)
from pydantic_core import core_schema

from raglift.analysis.records import Note
from raglift.errors import DatasetError
from raglift.matching.rule import MatchRule
from raglift.metrics.profiles.registry import PROFILES
from raglift.types.checking import trusted
from raglift.types.documents import Chunk
from raglift.types.filters import Filter
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Cost, StageInfo
from raglift.utilities.validation import Expected, shown, wrong

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


T = TypeVar("T")

_MOST = 10**18
"""As in labels, an integer has at most 18 digits: what is larger fits into no array."""
_NOT_FINITE = ("nan", "inf", "-inf")
"""How numbers are saved that JSON has none of."""


def is_number(value: Any) -> bool:
    """Whether a value is a number as it is saved: NaN and infinities are texts."""
    return abs(value) < _MOST if type(value) is int else isinstance(value, float) or value in _NOT_FINITE


def _number(value: Any) -> float:
    if not is_number(value):
        raise wrong(shown(value), "a number")
    return float(value)


def is_place(value: Any) -> bool:
    """Whether a value can be saved as a location in a text."""
    return type(value) is int and abs(value) < _MOST


# Not pydantic's own texts: a saved text may hold half a character, as what a system returned may
Text = Annotated[str, InstanceOf(), Expected("a text")]
Flag = Annotated[bool, Strict(), Expected("true or false")]
Integer = Annotated[int, Field(strict=True, gt=-_MOST, lt=_MOST), Expected("an integer of at most 18 digits")]
Count = Annotated[int, Field(strict=True, ge=0, lt=_MOST), Expected("an integer, 0 or more")]
AtLeastOne = Annotated[int, Field(strict=True, ge=1, lt=_MOST), Expected("an integer, 1 or more")]
Number = Annotated[float, PlainValidator(_number), Expected("a number")]
Object = Annotated[dict[str, Any], InstanceOf(), Expected("an object")]
TextOrInteger = Annotated[Text | Integer, Expected("a text or a number")]
# JSON has lists alone; the first fault of a damaged one is enough
Several = Annotated[tuple[T, ...], Strict(strict=False), FailFast()]


_LABELS = (Query, Fact, Passage)


class Saved:
    """For `Annotated`: a record, read from the object of its fields that it is saved as."""

    def __get_pydantic_core_schema__(self, record: type[Any], handler: GetCoreSchemaHandler) -> CoreSchema:
        hints = get_type_hints(record, localns={"Mapping": Mapping})
        known = {
            field.name: core_schema.typed_dict_field(
                handler.generate_schema(_OTHERWISE.get((record, field.name)) or _saved_as(hints[field.name])),
                required=field.default is MISSING and field.default_factory is MISSING,
            )
            for field in fields(record)
            if field.compare  # a framework's own object, which no two records are told apart by, is not saved
        }
        form = core_schema.typed_dict_schema(known, extra_behavior="forbid", strict=True)
        # The record's own constructor: what pydantic would fill in by itself takes more memory. Labels are taken as
        # they were when they were scored.
        make = partial(trusted, record) if record in _LABELS else lambda given: record(**given)
        return core_schema.no_info_after_validator_function(make, form)


def _saved_as(hint: Any) -> Any:
    """Return the form in which a value of a record's field is saved."""
    parts = get_args(hint)
    if get_origin(hint) is UnionType:
        return _saved_as(parts[0]) | None
    if get_origin(hint) is tuple:
        return Several[_saved_as(parts[0])]  # type: ignore[misc]
    if get_origin(hint) is Mapping:
        return Object if parts[1] is Any else dict[Text, _saved_as(parts[1])]  # type: ignore[misc]
    return Annotated[hint, Saved()] if is_dataclass(hint) else _PLAIN[hint]


def _filter(value: Any) -> Filter | None:
    """Read the filter of a query, written as in labels."""
    try:
        return None if value is None else Filter.of(value)
    except DatasetError as error:
        raise wrong(shown(value), str(error)) from None


_PLAIN: Mapping[type, Any] = {str: Text, bool: Flag, int: Count, float: Number}
# A system may say of a chunk that it begins at -1
_OTHERWISE: Mapping[tuple[type, str], Any] = {
    **{(record, name): Integer | None for record in (Chunk, Passage) for name in ("start", "end")},
    (Query, "filter"): Annotated[Filter | None, PlainValidator(_filter)],
    (Note, "kind"): Text,
    (Fact, "passages"): Annotated[Several[Annotated[Passage, Saved()]], Field(min_length=1)],
}
"""The fields whose types do not say all."""


class SavedModel(BaseModel):
    """What is saved in another form than a record's; fields that are not listed are left alone."""

    model_config = ConfigDict(strict=True, frozen=True)


Hits = Annotated[list[Any], InstanceOf(), Expected("a list")]


class SavedStage(SavedModel):
    """The hits of a stage."""

    model_config = ConfigDict(extra="forbid")

    stage: Text
    seconds: Number
    hits: Hits
    """Number of the chunk and score of each; there are many, and what reads them checks them."""
    retries: Count = 0


class SavedCall(SavedModel):
    """A search of a session."""

    model_config = ConfigDict(extra="forbid")

    query: Text
    tool: Text
    arguments: Object
    tokens: Count | None
    seconds: Number | None
    error: Text | None
    stages: Several[SavedStage]


class SavedRun(SavedModel):
    """One run of a query."""

    model_config = ConfigDict(extra="forbid")

    query_id: Text
    stages: Several[SavedStage]
    error: Text | None
    # These may be missing, but not null
    calls: Several[SavedCall] = Field(default=None)  # type: ignore[arg-type]
    context: Hits = Field(default=None)  # type: ignore[arg-type]
    retries: Count = 0


class SavedTrace(SavedRun):
    """A line of the traces; what only sessions or filters have is missing in others."""

    repetitions: Several[SavedRun] = ()
    matching: Count = Field(default=None)  # type: ignore[assignment]


class SavedInventory(SavedModel):
    """What is known of an index's chunks; each is saved as its number."""

    model_config = ConfigDict(extra="forbid")

    chunks: Count
    touching: Several[Integer]
    touches: Several[
        Annotated[tuple[Integer, Integer, Integer, Integer], Strict(strict=False), Expected("a list of four integers")]
    ]
    minimum_length: Count
    unicode_folding: Flag


class _Relabelled(SavedModel):
    dataset: dict[Text, TextOrInteger]
    unlabelled: Count
    ignored: Count


class _SweepMark(SavedModel):
    name: Text = ""
    read_in_part: Count = 0
    cell: dict[Text, Text] = {}
    models: dict[Text, Text] = {}


class _FilteredMark(SavedModel):
    stage: Text
    k: AtLeastOne
    taken: Flag


def _match_rule(settings: dict[str, Any]) -> dict[str, Any]:
    MatchRule(**settings)  # raises where what counted as a match is no rule: it could not be matched again
    return settings


def _moment(text: str) -> str:
    try:
        datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise wrong(shown(text), "a date with a time, as 2026-11-21T10:00:00+00:00") from None
    return text


class _Spec(SavedModel):
    """What reports, comparisons and rescoring take from what was asked."""

    candidates: AtLeastOne
    match: Annotated[Object, AfterValidator(_match_rule)]
    depth: Text = "deep"
    deployed_depth: Count = 0
    budget: Count = 0
    filled: Count = 0
    profile: Text = ""
    ks: Several[AtLeastOne] = ()
    metrics: Several[Text] = ()
    dataset: dict[Text, TextOrInteger] = {}
    environment: dict[Text, Text] = {}
    # These may be missing, but not null
    started: Annotated[Text, AfterValidator(_moment)] = ""
    returned: Count = Field(default=None)  # type: ignore[assignment]
    k: AtLeastOne = Field(default=None)  # type: ignore[assignment]
    parts: dict[Text, Text] = {}
    relabelled: _Relabelled = Field(default=None)  # type: ignore[assignment]
    sweep: _SweepMark = Field(default=None)  # type: ignore[assignment]
    filtered: _FilteredMark = Field(default=None)  # type: ignore[assignment]


def _profile(name: str) -> str:
    if name not in PROFILES:
        raise wrong(shown(name), f"one of {', '.join(PROFILES)}")
    return name


def _names(stages: tuple[StageInfo, ...]) -> tuple[StageInfo, ...]:
    names = [stage.name for stage in stages]
    if len(set(names)) < len(names):
        raise wrong(", ".join(map(shown, names)), "each name once")
    return stages


class Header(SavedModel):
    """`run.json`, besides its format."""

    stages: Annotated[Several[Annotated[StageInfo, Saved()]], Field(min_length=1), AfterValidator(_names)]
    dataset: Text
    spec: _Spec
    run_notes: Several[Text]
    profile: Annotated[Text, AfterValidator(_profile)]
    metrics: Several[Text]
    truncated: dict[Text, Count]
    truncated_tokens: dict[Text, Count] = {}
    beyond_candidates: dict[Text, Count] = {}
    notes: Several[Annotated[Note, Saved()]]
    inventory: SavedInventory | None = None
    cost: Annotated[Cost, Saved()] | None = None
    own_metrics: dict[Text, Object] = {}
    files: dict[Text, Text] = {}


CHUNK: TypeAdapter[Chunk] = TypeAdapter(Annotated[Chunk, Saved()])
QUERY: TypeAdapter[Query] = TypeAdapter(Annotated[Query, Saved()])
TRACE: TypeAdapter[SavedTrace] = TypeAdapter(SavedTrace)
HEADER: TypeAdapter[Header] = TypeAdapter(Header)
