"""Pools for judging, as in TREC: which hits are judged, and which labels they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from raglift.errors import ConfigurationError
from raglift.matching.match import grade_by_labels
from raglift.matching.rule import MatchRule, Text
from raglift.results.evaluation import Evaluation
from raglift.results.sources import distinct_names
from raglift.text.normalization import normalize
from raglift.types.labels import Query
from raglift.utilities.display import listed

if TYPE_CHECKING:
    from raglift.types.documents import Chunk
    from raglift.types.rankings import Ranking


# The labels of pooled chunks.


def label_grades(
    pool: Pool, queries: Sequence[Query], rule: MatchRule | None = None
) -> tuple[tuple[int | None, ...], ...]:
    """Return the grade that labels give to each pooled chunk, query by query in the order of the pool.

    It is the highest grade of a passage that the chunk matches; 0 where it matches none, and is or lies inside what was
    judged irrelevant; None if the labels do not cover it.
    """
    rule = rule or MatchRule()
    text = Text(rule)
    by_id = {query.id: query for query in queries}
    labelled = [by_id.get(each.query.id, Query(each.query.id, each.query.text)) for each in pool.queries]
    return tuple(
        tuple(grade_by_labels(query, pooled.chunk, rule, text) for pooled in each.chunks)
        for query, each in zip(labelled, pool.queries, strict=True)
    )


# Pooling, as in TREC: the union of the first hits of several systems is judged.


@dataclass(frozen=True)
class PooledChunk:
    """A chunk that some system returned among its first hits."""

    chunk: Chunk
    ranks: Mapping[str, int]
    """Its best rank in each system that returned it, by the names of `Pool.systems`."""


@dataclass(frozen=True)
class PooledQuery:
    """A query, and what the systems returned for it."""

    query: Query
    """With the labels that it has so far."""
    chunks: tuple[PooledChunk, ...]
    """Each distinct one once, by document and start, then words: an order that tells nothing of ranks."""


@dataclass(frozen=True, repr=False)
class Pool:
    """The pairs of query and chunk that are to be judged."""

    queries: tuple[PooledQuery, ...]
    systems: tuple[str, ...]
    """One a run and stage, as `a/retrieve`; the name of the stage alone where there is one run."""
    depth: int
    """How many hits of each ranking are in it."""
    name: str
    """The dataset's."""

    def __len__(self) -> int:
        return sum(len(each.chunks) for each in self.queries)

    def __repr__(self) -> str:
        of = f"the first {self.depth:,} hits of {', '.join(self.systems)}"
        return f"Pool({self.name!r}, {len(self.queries):,} queries, {len(self):,} pairs, {of})"


def check_pool(pool: object) -> None:
    """Raise unless something is a pool."""
    if not isinstance(pool, Pool):
        found = f"found {type(pool).__module__}.{type(pool).__qualname__}"
        raise ConfigurationError(f"pool: {found}; expected a Pool, as pool(evaluation) makes one")


def pool(
    evaluations: Evaluation | Sequence[Evaluation] | Mapping[str, Evaluation],
    *,
    depth: int = 10,
) -> Pool:
    """Pool the first hits of every stage of every evaluation.

    Two hits are one chunk where they are the same span of a document and have the same text, or where one's location is
    not known, the words are the same and nothing says that the documents differ. The same text at two known locations
    are two chunks. Words are compared after normalization.

    Args:
        evaluations: of the same queries, from `evaluate` or `load_evaluation`; labelled or not.
        depth: how many hits of each ranking.

    Raises:
        ConfigurationError: the queries or their labels differ, there is no hit, or the depth is none.
    """
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise ConfigurationError(f"pool: depth: found {depth!r}; expected an integer, 1 or more")
    systems = systems_of(evaluations)
    first_name, (first, _) = next(iter(systems.items()))
    for name, (evaluation, _) in systems.items():
        _check_same(first_name, first, name, evaluation)
    rankings = {name: _rankings(*system) for name, system in systems.items()}
    normalized = cache(normalize)
    queries = tuple(
        PooledQuery(query, _pooled({name: found[query.id] for name, found in rankings.items()}, depth, normalized))
        for query in first.dataset.queries
    )
    if not any(query.chunks for query in queries):
        raise ConfigurationError("pool: found no hit in any ranking; expected evaluations in which something came back")
    return Pool(queries, tuple(systems), depth, first.dataset.name)


def systems_of(
    evaluations: Evaluation | Sequence[Evaluation] | Mapping[str, Evaluation],
) -> dict[str, tuple[Evaluation, int]]:
    """Return each system by name, with its evaluation and the number of its stage: one a run and stage.

    Runs are called as `compare` calls them, unless a mapping names them; where there is one, a stage's name is enough.
    """
    sources: object = [evaluations] if isinstance(evaluations, Evaluation) else evaluations
    found = list(
        sources.values() if isinstance(sources, Mapping) else sources if isinstance(sources, Sequence) else [sources]
    )
    wrong = [each for each in found if not isinstance(each, Evaluation)]
    if wrong or not found:
        raise ConfigurationError(
            f"pool: found {f'a {type(wrong[0]).__name__}' if wrong else 'no evaluation'}; expected an Evaluation, from "
            "evaluate() or load_evaluation(), a list of them, or a mapping from names to them"
        )
    names = map(str, sources) if isinstance(sources, Mapping) else distinct_names(found, found)
    return {
        stage.name if len(found) == 1 else f"{name}/{stage.name}": (evaluation, number)
        for name, evaluation in zip(names, found, strict=True)
        for number, stage in enumerate(evaluation.run.stages)
    }


def _check_same(first: str, reference: Evaluation, name: str, evaluation: Evaluation) -> None:
    """Raise unless two evaluations are of the same queries with the same labels."""
    ours, theirs = reference.dataset.query_by_id, evaluation.dataset.query_by_id
    for what, differing in (
        ("queries", [key for key in {**ours, **theirs} if key not in ours or key not in theirs]),
        ("text of queries", [key for key in ours if key in theirs and ours[key].text != theirs[key].text]),
        ("labels of queries", [key for key in ours if key in theirs and _labels(ours[key]) != _labels(theirs[key])]),
    ):
        if differing:
            raise ConfigurationError(
                f"pool: the {what} differ between {first!r} and {name!r}: found {listed(differing, _SHOWN)}; "
                "expected the same: evaluate both on one dataset, or score one again with rescore(…, labels=…)"
            )


_SHOWN = 3


def _labels(query: Query) -> object:
    return query.facts, query.answerable, query.judged_irrelevant


def _rankings(evaluation: Evaluation, number: int) -> dict[str, Ranking | None]:
    """Return each query's ranking after a stage; None for a query that failed before it."""
    return {
        trace.query_id: trace.stages[number].ranking if number < len(trace.stages) else None
        for trace in evaluation.run.traces
    }


def _pooled(
    rankings: Mapping[str, Ranking | None], depth: int, normalized: Callable[[str], str]
) -> tuple[PooledChunk, ...]:
    """Return what systems returned for one query, each distinct chunk once."""
    chunks: dict[_Key, Chunk] = {}
    ranks: dict[_Key, dict[str, int]] = {}
    for system, ranking in rankings.items():
        for hit in ranking.hits[:depth] if ranking is not None else ():
            key = _key(hit.chunk, normalized)
            chunks.setdefault(key, hit.chunk)
            best = ranks.setdefault(key, {})
            best[system] = min(hit.rank, best.get(system, hit.rank))
    ranks_of_one: dict[_Key, dict[str, int]] = {}
    by_words: dict[str, list[_Key]] = {}
    for key in sorted(chunks):  # what is known best comes first, and takes in what is known less
        same = [other for other in by_words.get(key.words, ()) if _may_be_one(key, other)]
        if not same:
            by_words.setdefault(key.words, []).append(key)
            ranks_of_one[key] = dict(ranks[key])
            continue
        for system, rank in ranks[key].items():
            ranks_of_one[same[0]][system] = min(rank, ranks_of_one[same[0]].get(system, rank))
    return tuple(PooledChunk(chunks[key], ranks_of_one[key]) for key in sorted(ranks_of_one, key=_place))


class _Key(NamedTuple):
    """What a chunk is known by."""

    unknown: int
    """0 for a span of a document, 1 for a piece of one somewhere, 2 for words alone."""
    doc_id: str
    start: int
    end: int
    words: str


def _key(chunk: Chunk, normalized: Callable[[str], str]) -> _Key:
    words = normalized(chunk.text)
    if chunk.doc_id is None:
        return _Key(2, "", 0, 0, words)
    if chunk.start is None or chunk.end is None:
        return _Key(1, chunk.doc_id, 0, 0, words)
    return _Key(0, chunk.doc_id, chunk.start, chunk.end, words)


def _may_be_one(key: _Key, other: _Key) -> bool:
    """Whether a chunk may be another one of the same text, of which as much is known or more."""
    return key.unknown > 0 and (key.unknown > 1 or key.doc_id == other.doc_id)


def _place(key: _Key) -> tuple[object, ...]:
    """Return what pooled chunks are sorted by: document and start; what has no document comes last."""
    return key.unknown > 1, key.doc_id, key.start, key.words, key.end
