"""`Sweep`: the user's specification of what to measure, and how it is read from a YAML file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from raglift.datasets.loading import title_of
from raglift.errors import ConfigurationError, SweepError
from raglift.matching.rule import MODES, MatchRule
from raglift.metrics.computing import DEFAULT_METRICS
from raglift.metrics.parsing import parse
from raglift.metrics.prompt_measures import DEFAULT_BUDGET
from raglift.metrics.registry import code_of
from raglift.retrieval.bm25 import BM25_VERSION
from raglift.retrieval.retrievers import RetrieverSpec
from raglift.retrieval.services.mapping import mapping_digest
from raglift.running.settings import MeasuringSettings
from raglift.stats.margins import MARGIN
from raglift.sweep.specification import models
from raglift.sweep.specification.cells import Cell, Exclusion, SystemSpec, grid
from raglift.sweep.specification.validation import checked
from raglift.utilities.limits import resolved, user_path
from raglift.utilities.settings import Bounds, OneOf
from raglift.utilities.strict_files import InvalidYaml, YamlFields

if TYPE_CHECKING:
    from raglift.sweep.engine import EngineName
    from raglift.sweep.planning import Plan
    from raglift.sweep.result import SweepResult
    from raglift.types.dataset import Dataset


_HASH_LENGTH = 16
_HOW_CALLED = ("concurrency", "timeout", "retries")
"""May change while a sweep is stopped: a system that could not bear so many calls at once is asked more gently."""
_HOW_COMPARED = ("margin",)
"""May change without anything being measured again."""
_EFFORT = "effort"
"""May change while a sweep is stopped, but a race is another sweep than one of all cells."""


@dataclass(frozen=True, kw_only=True)
class Sweep(MeasuringSettings):
    """Systems to be measured on one dataset: a grid, what is left out of it, what is added, and the user's own.

    What is accepted is what a YAML file may hold (see `load_sweep` and docs/reference/sweep_files.md), and objects if a
    field says so; what is kept is checked and in its shortest text form, so two sweeps that mean the same are equal.

    Raises:
        SweepError: something that raglift cannot use; every fault is listed.
    """

    dataset: Annotated[str | Dataset, models.DATASET]
    """Labelled queries: the name of a corpus, a path, or a Dataset."""
    documents: Annotated[str | None, models.PATH] = None
    """The documents, where the dataset does not bring them: a path."""
    include_files: Annotated[str | Sequence[str], models.PATTERNS] = ()
    """What is also read of a folder of documents, as text: patterns of names (`*.qmd`) or of the ends of paths."""
    encoding: Annotated[str | None, models.ENCODING] = None
    """Of the documents that are not in UTF-8 and have no byte-order mark, as `cp1252`."""
    chunkers: Annotated[Sequence[Any] | None, models.CHUNKERS] = None
    """Ways to split documents: `recursive:1000/100`, `token:250/125`, or `module:factory` for any splitter; by default
    `recursive:1000/100`."""
    embeddings: Annotated[Sequence[str] | None, models.EMBEDDINGS] = None
    """Embedding models: `bge-small` (the default), `minilm`, `onnx:FOLDER`, a path, a hub id, or `provider:model`."""
    retrievers: Annotated[Sequence[Any] | None, models.RETRIEVERS] = None
    """`dense` (the default), `bm25`, `bm25(language=de,k1=0.9,b=0.4)`, `hybrid`, `hybrid(dense=0.7,bm25=0.3)`."""
    rerankers: Annotated[Sequence[str | None] | None, models.RERANKERS] = None
    """`none` (the default), `cross-encoder`, `late-interaction`, `onnx:FOLDER`, or a cross-encoder's path or hub id."""
    exclude: Annotated[Sequence[Any], models.EXCLUSIONS] = ()
    """Which cells of the grid are left out: mappings from `chunker`, `embedding`, `retriever` or `reranker` to a value
    or to a list of values; one that names several parts leaves out the cells that match in all of them."""
    include: Annotated[Sequence[Any], models.CELLS] = ()
    """Cells besides the grid: mappings from the same parts to one value each. Where this or `systems` is given, and no
    chunker, embedding or retriever, there is no grid."""
    systems: Annotated[Any, models.SYSTEMS] = ()
    """Systems of the user's: `module:factory` or an address, or a mapping from a name to one or to an object, or
    `SystemSpec`s."""
    effort: Annotated[str | None, models.EFFORT] = None
    """How much may be done, if not all: `40%` of the questions that all cells would be asked, or `30 minutes`. Then
    the cells race: all are asked a few queries, and the better ones more."""
    candidates: Annotated[int, Bounds(least=1, unit="hits")] = 50
    """How many hits are retrieved for the rerankers."""
    budget: Annotated[int | None, Bounds(least=1, unit="tokens")] = DEFAULT_BUDGET
    """How many tokens of hits a prompt has: without a reranker, every query is asked for as many hits as fill it. They
    change no metric at a number of hits. None leaves prompts at `candidates` hits."""
    ks: Annotated[Sequence[int | str], models.DEPTHS] = (1, 5, 10)
    """The depths at which metrics are taken."""
    metrics: Annotated[Sequence[Any], models.METRICS] = DEFAULT_METRICS
    """Measures to take, at each of `ks` where they name no depth of their own."""
    primary: Annotated[str | None, models.METRIC] = None
    """The metric by which cells are compared; None for NDCG@10 or, where that is not taken, NDCG at the deepest depth
    that is, else the first measure of quality at its deepest. Unless it is named, recall up to 2,000 tokens ranks them
    where chunks differ: see `raglift.compare`."""
    match: Annotated[str, OneOf(lambda: MODES)] = "coverage"
    """What counts as a match; with coverage, chunk sizes are compared fairly."""
    match_threshold: Annotated[float | None, Bounds()] = None
    """The part to be covered, or how alike texts must be; None for the match's own."""
    device: Annotated[str, models.DEVICE] = "auto"
    """Where they compute: `auto` (the best that there is), `cpu`, `cuda`, `cuda:1` or `mps`."""
    doc_key: Annotated[str | None, models.TEXT] = None
    """The metadata key of the hits of the user's systems that holds document ids."""
    latency: Annotated[int, Bounds(least=0, unit="questions")] = 0
    """How many queries each cell's stages are timed on, in a pass of their own; 0 for none."""
    margin: Annotated[float, Bounds(least=0)] = MARGIN
    """How far below another mean a cell may truly be that counts as equally good, for the recommendation."""
    seed: Annotated[int, Bounds(least=0)] = 0
    """Of everything that is drawn at random."""
    name: Annotated[str | None, models.TEXT] = None
    """A title; by default the dataset's."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_names_primary", self.primary is not None)
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in checked(type(self), given, DEFAULTS).items():
            object.__setattr__(self, name, value)

    @property
    def names_primary(self) -> bool:
        """Whether the primary metric was named: then it decides as it is, also where chunks differ in length."""
        return bool(getattr(self, "_names_primary", True))

    def cells(self) -> tuple[Cell, ...]:
        """Return the systems to be measured, each once: what is left of the grid, what is included, the user's own."""
        kept = [cell for cell in self.grid() if not any(exclusion.matches(cell) for exclusion in self.exclude)]
        return tuple(dict.fromkeys([*kept, *self.include, *self._own_cells()]))

    def grid(self) -> list[Cell]:
        """Return every combination of the sweep's parts, without regard to exclusions."""
        return grid(self.chunkers or (), self.embeddings or (), self.retrievers or (), self._reranker_names)

    def _own_cells(self) -> Iterator[Cell]:
        for system in self.systems:
            for reranker in self._reranker_names if system.rerankers is None else system.rerankers:
                yield Cell(reranker=reranker, system=system.name)

    @property
    def _reranker_names(self) -> Sequence[str]:
        return [reranker for reranker in self.rerankers or () if reranker is not None]

    def system(self, name: str) -> SystemSpec:
        """Return one of the sweep's systems.

        Raises:
            KeyError: none has that name.
        """
        by_name: dict[str, SystemSpec] = {system.name: system for system in self.systems}
        return by_name[name]

    def plan(self, folder: str | Path | None = None) -> Plan:
        """Count what the sweep would do: see `raglift.sweep.plan_sweep`."""
        from raglift.sweep.engine import plan_sweep

        return plan_sweep(self, folder)

    def run(
        self,
        folder: str | Path,
        *,
        resume: bool = False,
        engine: EngineName = "local",
        address: str | None = None,
        progress: bool | None = None,
    ) -> SweepResult:
        """Measure every cell, each distinct piece of work once: see `raglift.sweep.run_sweep`."""
        from raglift.sweep.engine import run_sweep

        return run_sweep(self, folder, resume=resume, engine=engine, address=address, progress=progress)

    @property
    def title(self) -> str:
        """The name, or else the dataset's."""
        if self.name is not None:
            return self.name
        return title_of(self.dataset) if isinstance(self.dataset, str) else self.dataset.name

    @property
    def rule(self) -> MatchRule:
        """What counts as a match, with the threshold and the profile's guards."""
        return MatchRule.for_profile(self.profile, self.match, threshold=self.match_threshold)

    def to_dict(self) -> dict[str, Any]:
        """Return the sweep as JSON has it: `Sweep(**d)` is the same sweep where no object takes part.

        Objects are there by their names: a dataset by its own, a system as None.
        """
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @property
    def hash(self) -> str:
        """What tells whether two sweeps measure the same, in hexadecimal; of objects it knows only the names."""
        left_out = (*_HOW_CALLED, *_HOW_COMPARED, _EFFORT)
        taken = [parse(metric) for metric in (*self.metrics, *([] if self.primary is None else [self.primary]))]
        measured = {
            **{name: value for name, value in self.to_dict().items() if name not in left_out},
            "races": self.effort is not None,
            "bm25": BM25_VERSION,
            "mappings": {each.name: mapping_digest(each.mapping) for each in self.systems if each.mapping is not None},
            "own_metrics": {metric.name: code for metric in taken if (code := code_of(metric)) is not None},
        }
        text = json.dumps(measured, sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]


DEFAULTS: Mapping[str, Any] = {field.name: field.default for field in fields(Sweep) if field.default is not MISSING}
"""What a field of a sweep is where nothing was written for it."""


def _plain(value: Any) -> Any:
    """Return a value of a checked sweep as JSON has it."""
    if isinstance(value, (Cell, Exclusion)):
        return value.to_dict()
    if isinstance(value, SystemSpec):
        rerankers = None if value.rerankers is None else list(value.rerankers)
        mapping = {} if value.mapping is None else {"mapping": value.mapping}
        return {"name": value.name, "system": value.reference, "rerankers": rerankers, **mapping}
    if isinstance(value, RetrieverSpec):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (str, int, float)) else value.name


def load_sweep(path: str | os.PathLike[str], *, defaults: Mapping[str, Any] | None = None) -> Sweep:
    """Read a sweep from a YAML file; docs/reference/sweep_files.md describes it.

    The fields are those of `Sweep`, each value in its text form. Relative paths are relative to the folder of the file.
    Nothing is run or imported, and no model is loaded.

    Args:
        path: the file.
        defaults: what fields are where the file does not say, instead of the defaults of `Sweep`.

    Raises:
        SweepError: the file is not there, is not YAML, or does not describe a sweep; every fault is listed.
        ConfigurationError: `path` is not a path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ConfigurationError(f"load_sweep: found a {type(path).__name__}; expected the path of a YAML file")
    file = user_path(path)
    reading = YamlFields(file.name, "the fields of a sweep, as dataset: lighthouse")
    try:
        given = reading.read(file)
    except InvalidYaml as error:
        raise SweepError(file.name, [error.fault]) from None
    try:
        values = checked(Sweep, given, {**DEFAULTS, **(defaults or {})}, reading.locate, folder=resolved(file).parent)
    except SweepError as error:
        raise SweepError(str(path), reading.with_faults(error.faults)) from None
    if reading.faults:
        raise SweepError(str(path), reading.with_faults(()))
    named = given.get("primary") is not None
    return Sweep(**values if named else {**values, "primary": None})
