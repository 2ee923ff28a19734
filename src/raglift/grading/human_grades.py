"""Samples of pairs or queries for people to grade: drawn at random, written, read with their grades."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from raglift.errors import ConfigurationError, DatasetError, Fault
from raglift.grading.graded_pool import frame_of
from raglift.grading.labels import labels_of_people
from raglift.grading.pooling import Pool, PooledQuery, label_grades, pool
from raglift.results.comparison import Comparison
from raglift.stats.intervals import checked_integer
from raglift.types.parsing import read_id
from raglift.utilities.limits import user_path
from raglift.utilities.replacing import replacing_file
from raglift.utilities.strict_files import decode_lines, parse_object, read_bytes
from raglift.utilities.validation import Location, faults_of, quoted, shown

if TYPE_CHECKING:
    from raglift.grading.grading import Evaluations
    from raglift.matching.rule import MatchRule
    from raglift.types.labels import Query


Drawn = Literal["pairs", "queries"]
"""What was drawn at random: pairs of query and hit, or queries with all their pairs."""
HIGHEST_GRADE = 1000
"""Above it nothing is taken for a grade."""


@dataclass(frozen=True)
class SampledPair:
    """A pair of query and chunk for people to grade."""

    query: str
    """The query's id."""
    chunk: str
    """The chunk's id."""
    grade: int | None = None
    """What people said: 0 is irrelevant; None if they have not yet."""
    question: str = ""
    """The query's text."""
    text: str = ""
    """The chunk's text."""
    doc: str | None = None
    """The chunk's document."""
    start: int | None = None
    """Where the chunk begins there, in characters."""
    end: int | None = None
    """Where it ends."""


@dataclass(frozen=True, repr=False)
class HumanSample:
    """A sample for people to grade, or that they graded."""

    pairs: tuple[SampledPair, ...]
    """In random order: the first n are a sample too."""
    sampled: Drawn = "pairs"
    """What was drawn."""
    k: int | None = None
    """How deep the rankings are from whose hits it was drawn; None if that is not known."""
    of: int | None = None
    """How many pairs, or queries, it was drawn from."""
    frame: str = ""
    """A hash of the ids of all pairs that it was drawn from; empty if that is not known."""
    seed: int | None = None
    """Of the draw."""

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        graded = sum(pair.grade is not None for pair in self.pairs)
        return f"HumanSample({len(self):,} pairs, {graded:,} graded; {self.sampled} drawn)"

    @property
    def graded(self) -> tuple[SampledPair, ...]:
        """The pairs with a grade."""
        return tuple(pair for pair in self.pairs if pair.grade is not None)

    def with_grades(self, grades: Mapping[tuple[str, str], int]) -> HumanSample:
        """Return the sample with grades filled in.

        Args:
            grades: by the ids of query and chunk.

        Raises:
            ConfigurationError: a grade of a pair that was not sampled, or that is no grade.
        """
        known = {(pair.query, pair.chunk) for pair in self.pairs}
        for (query, chunk), grade in grades.items():
            if (query, chunk) not in known:
                raise ConfigurationError(
                    f"human grades: found one of query {quoted(query)} and chunk {quoted(chunk)}; expected pairs of "
                    "the sample only: what people chose to grade themselves says nothing about the rest"
                )
            if type(grade) is not int or not 0 <= grade <= HIGHEST_GRADE:
                raise ConfigurationError(
                    f"human grades: query {quoted(query)}, chunk {quoted(chunk)}: found {grade!r}; expected an integer "
                    f"from 0 to {HIGHEST_GRADE:,}"
                )
        return replace(
            self,
            pairs=tuple(replace(pair, grade=grades.get((pair.query, pair.chunk), pair.grade)) for pair in self.pairs),
        )

    def with_labels(
        self, evaluations: Evaluations | Comparison, labels: Iterable[Query], *, rule: MatchRule | None = None
    ) -> HumanSample:
        """Return the sample with the grades that people's labels give its pairs, as those of the review page.

        Args:
            evaluations: those that it was drawn from.
            labels: queries with labels; what a model labelled is not looked at.
            rule: what counts as a match of a chunk and a label; containment by default.
        """
        pairs = pool(runs_of(evaluations), depth=self.k or 10)
        found = label_grades(pairs, [labels_of_people(query) for query in labels], rule)
        by_pair = {
            (entry.query.id, pooled.chunk.id): grade
            for entry, row in zip(pairs.queries, found, strict=True)
            for pooled, grade in zip(entry.chunks, row, strict=True)
            if grade is not None
        }
        wanted = {(pair.query, pair.chunk) for pair in self.pairs}
        return self.with_grades({key: grade for key, grade in by_pair.items() if key in wanted})

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the pairs as JSON Lines, with a `grade` to fill in.

        Args:
            path: the file.
            overwrite: replace a file that is there.

        Returns:
            The path.

        Raises:
            DatasetError: it cannot be written, or is there and may not be replaced.
        """
        target = user_path(path)
        about = {"sampled": self.sampled, "k": self.k, "of": self.of, "seed": self.seed, "frame": self.frame}
        with replacing_file(target, overwrite=overwrite) as file:
            for pair in self.pairs:
                line = {name: value for name, value in asdict(pair).items() if value is not None or name == "grade"}
                line |= {name: value for name, value in about.items() if value not in (None, "")}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return target


# Drawing a sample.


def sample_for_grading(
    evaluations: Evaluations | Comparison,
    n: int,
    *,
    k: int = 10,
    sampled: Drawn = "pairs",
    seed: int = 0,
) -> HumanSample:
    """Draw pairs of query and hit for people to grade, from the first k hits of every stage of every evaluation.

    Pairs are enough for metrics that are sums over hits: Precision, DCG, RBP, and their differences. For others draw
    queries, of which all pairs are then graded.

    Args:
        evaluations: the systems that are to be compared, all of them: what no system returned among its first k hits is
            not drawn, and says nothing about them.
        n: how many pairs, or queries, to draw; all of them is a census.
        k: how deep; the deepest metric that is to be corrected.
        sampled: what to draw: "pairs" or "queries".
        seed: of the draw.

    Raises:
        ConfigurationError: an argument that cannot be used, such as more than there are.
    """
    if sampled not in ("pairs", "queries"):
        raise ConfigurationError(f"sampled: found {sampled!r}; expected 'pairs' or 'queries'")
    n, seed = checked_integer("n", n, least=1), checked_integer("seed", seed, least=0)
    pairs = pool(runs_of(evaluations), depth=k)
    frame = frame_of(pairs, k)
    # What is drawn together: a pair, or all pairs of a query
    by_query: dict[int, list[tuple[int, int]]] = {}
    for place in frame:
        by_query.setdefault(place[0], []).append(place)
    units = list(by_query.values()) if sampled == "queries" else [[place] for place in frame]
    if n > len(units):
        raise ConfigurationError(
            f"n: found {n:,}; expected at most {len(units):,}: there are no more {sampled} to draw from"
        )
    order = np.random.default_rng(seed).permutation(len(units))[:n].tolist()
    chosen = tuple(_sampled(pairs, place) for unit in order for place in units[unit])
    return HumanSample(chosen, sampled, k, len(units), frame_hash(pairs, k), seed)


def frame_hash(pairs: Pool, k: int) -> str:
    """Return a hash of the ids of all pairs that a sample of a pool is drawn from."""
    ids = (
        [pairs.queries[query].query.id, pairs.queries[query].chunks[chunk].chunk.id]
        for query, chunk in frame_of(pairs, k)
    )
    return hashlib.sha256(json.dumps(sorted(ids)).encode()).hexdigest()[:16]


def runs_of(evaluations: Evaluations | Comparison) -> Evaluations:
    """Return the evaluations of a comparison by name; others as they are."""
    if isinstance(evaluations, Comparison):
        return dict(zip(evaluations.names, evaluations.evaluations, strict=True))
    return evaluations


def _sampled(pairs: Pool, place: tuple[int, int]) -> SampledPair:
    entry: PooledQuery = pairs.queries[place[0]]
    chunk = entry.chunks[place[1]].chunk
    return SampledPair(
        query=entry.query.id,
        chunk=chunk.id,
        question=entry.query.text,
        text=chunk.text,
        doc=chunk.doc_id,
        start=chunk.start,
        end=chunk.end,
    )


# Reading a file of human grades, strictly.


_Count = Annotated[int, Field(ge=1)]
_Place = Annotated[int, Field(ge=0)]
_ABOUT = ("sampled", "k", "of", "seed", "frame")


class _Line(BaseModel):
    """What a line says besides the ids of query and chunk."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    grade: Annotated[int, Field(ge=0, le=HIGHEST_GRADE)] | None = None
    question: str = ""
    text: str = ""
    doc: str | None = None
    start: _Place | None = None
    end: _Place | None = None
    sampled: Drawn = "pairs"
    k: _Count | None = None
    of: _Count | None = None
    seed: _Place | None = None
    frame: str = ""


_LINE = TypeAdapter(_Line)
_IDS = ("query", "chunk")


def read_human_sample(path: str | os.PathLike[str]) -> HumanSample:
    """Read a sample that was written by `HumanSample.write`, with the grades that people filled in.

    Args:
        path: a file of JSON Lines: `query`, `chunk`, `grade` (null if there is none yet), and what else the sample was
            written with.

    Raises:
        DatasetError: anything in the file is malformed; every fault is listed.
    """
    source = user_path(path)
    faults: list[Fault] = []
    location = Location(source.name, faults)
    pairs: list[SampledPair] = []
    about: dict[str, Any] = {}
    for here, text in decode_lines(read_bytes(source, location) or b"", location):
        entry = parse_object(text, here)
        line = None if entry is None else _read_line(entry, here)
        if entry is None or line is None:
            continue
        query, chunk = (read_id(entry.get(name), here / name) for name in _IDS)
        for name in _ABOUT:
            if about.setdefault(name, getattr(line, name)) != getattr(line, name):
                (here / name).fault(shown(entry.get(name)), f"{shown(about[name])}, as above: one sample a file")
        if query is None or chunk is None:
            continue
        pairs.append(SampledPair(query, chunk, **line.model_dump(exclude=set(_ABOUT))))
    if not pairs and not faults:
        location.fault("no pairs", "one JSON object on each line, as `raglift labels sample` writes them")
    if faults:
        raise DatasetError(str(path), faults)
    return HumanSample(tuple(pairs), **about)


def _read_line(entry: Mapping[str, Any], here: Location) -> _Line | None:
    try:
        return _LINE.validate_python({name: value for name, value in entry.items() if name not in _IDS})
    except ValidationError as error:
        for finding in faults_of(error, _LINE):
            (here / ".".join(map(str, finding.keys))).fault(finding.found, finding.expected)
        return None
