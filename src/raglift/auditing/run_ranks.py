"""Where the systems of saved runs rank the paragraphs of the documents, for each question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.analysis.records import EvaluationRecord
    from raglift.records.documents import Chunk, Document
    from raglift.records.labels import Query
    from raglift.records.rankings import Ranking


_FEWEST = 2
_LEAST_SHARED = 0.5
"""Of the shorter of a hit and a paragraph, this share at least must lie in the other."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """Where systems rank each chunk for each question."""

    systems: tuple[str, ...]
    """Their names."""
    weighted: NDArray[np.float64]
    """The logarithm of the rank, a weighted mean over the systems that answered; NaN where none did. Shape (queries,
    chunks)."""
    logs: NDArray[np.float64]
    """That of each system alone, NaN where it did not answer. Shape (systems, queries, chunks). What a system does not
    return ranks right behind all that it does."""
    worst: float
    """The weighted mean for a chunk that no system returns."""

    def of(self, rows: Sequence[int]) -> Ranks:
        """Return the ranks for some of the questions, in their order."""
        return Ranks(self.systems, self.weighted[rows], self.logs[:, rows], self.worst)

    def best(self, row: int, chunks: NDArray[np.intp]) -> dict[str, int]:
        """Return the best rank that some chunks have for a question in each system that answered."""
        logs = self.logs[:, row][:, chunks].min(axis=1)
        return {
            name: round(float(np.exp(log))) for name, log in zip(self.systems, logs, strict=True) if not np.isnan(log)
        }


def ranks_of_runs(
    runs: Mapping[str, EvaluationRecord],
    queries: Sequence[Query],
    chunks: Sequence[Chunk],
    documents: Mapping[str, Document],
) -> Ranks:
    """Return where the last rankings of some runs have each paragraph; each run counts the same.

    A hit is at the paragraphs of which it holds at least half, or that hold at least half of it.

    Args:
        runs: the evaluations, by name.
        queries: the questions.
        chunks: the paragraphs, with their places in the documents.
        documents: by id.

    Raises:
        ConfigurationError: fewer than two runs; a run of other queries; or one whose hits are nowhere in the documents.
    """
    if len(runs) < _FEWEST:
        raise ConfigurationError(
            f"suspects: runs: found {len(runs)}; expected two or more: a single system disagrees with every label that "
            "it does not find"
        )
    places = _Places(chunks, documents)
    logs = np.stack([_logs(name, run, queries, len(chunks), places) for name, run in runs.items()])
    answered = ~np.isnan(logs)
    total = np.where(answered, logs, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        weighted = total / answered.sum(axis=0)
    return Ranks(tuple(runs), weighted, logs, float(np.mean([_worst(run) for run in runs.values()])))


def _logs(
    name: str, run: EvaluationRecord, queries: Sequence[Query], count: int, places: _Places
) -> NDArray[np.float64]:
    texts = {query.id: query.text for query in run.dataset.queries}
    if not any(texts.get(query.id) == query.text for query in queries):
        raise ConfigurationError(
            f"suspects: runs: found none of the dataset's labelled queries in {name!r}; expected a run of this dataset"
        )
    rankings = {trace.query_id: _last_ranking(run, number) for number, trace in enumerate(run.run.traces)}
    found = np.full((len(queries), count), np.nan)
    at_all = 0
    for row, query in zip(found, queries, strict=True):
        ranking = rankings.get(query.id) if texts.get(query.id) == query.text else None
        if ranking is None:
            continue
        row[:] = _worst(run)
        for hit in reversed(ranking.hits):
            at = places.of(hit.chunk)
            row[at] = np.log(hit.rank)
            at_all += len(at)
    if not at_all:
        raise ConfigurationError(
            f"suspects: runs: found no hit of {name!r} that is a place in the documents; expected hits with the id of "
            "a document of the dataset"
        )
    return found


def _worst(run: EvaluationRecord) -> float:
    """Return the logarithm of the rank right behind the deepest hit of a run."""
    rankings = (_last_ranking(run, number) for number in range(len(run.run.traces)))
    return float(np.log(max((len(one.hits) for one in rankings if one is not None), default=0) + 1))


def _last_ranking(run: EvaluationRecord, number: int) -> Ranking | None:
    """Return the ranking after the last stage; None for a query that failed before it."""
    stages = run.run.traces[number].stages
    return stages[-1].ranking if len(stages) == len(run.run.stages) else None


class _Places:
    """At which paragraphs hits are."""

    def __init__(self, chunks: Sequence[Chunk], documents: Mapping[str, Document]) -> None:
        self._documents = documents
        spans: dict[str | None, list[tuple[int, int, int]]] = {}
        for place, chunk in enumerate(chunks):
            spans.setdefault(chunk.doc_id, []).append((place, chunk.start or 0, chunk.end or 0))
        self._spans = {doc_id: np.array(found, dtype=np.int64).T for doc_id, found in spans.items()}
        self._known: dict[tuple[str | None, int | None, int | None, str], NDArray[np.int64]] = {}

    def of(self, chunk: Chunk) -> NDArray[np.int64]:
        """Return the numbers of the paragraphs that a hit is at; none where its place is not known."""
        key = (chunk.doc_id, chunk.start, chunk.end, chunk.text)
        if key not in self._known:
            self._known[key] = np.array(sorted(set(self._at(chunk))), dtype=np.int64)
        return self._known[key]

    def _at(self, chunk: Chunk) -> Iterator[int]:
        document = self._documents.get(chunk.doc_id or "")
        if document is None or chunk.doc_id not in self._spans:
            return
        start = chunk.start if chunk.start is not None else document.text.find(chunk.text)
        if start < 0 or not chunk.text:
            return
        end = chunk.end if chunk.end is not None else start + len(chunk.text)
        places, starts, ends = self._spans[chunk.doc_id]
        shared = np.minimum(ends, end) - np.maximum(starts, start)
        wanted = _LEAST_SHARED * np.minimum(ends - starts, end - start)
        yield from places[(shared > 0) & (shared >= wanted)].tolist()
