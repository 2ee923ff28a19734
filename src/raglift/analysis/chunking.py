"""Whether systems retrieve the same chunks, how long their hits are, and what share of an index k hits are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

from raglift.analysis.upper_bound import match_tables_of
from raglift.text.normalization import normalize

if TYPE_CHECKING:
    from raglift.results.evaluation import Evaluation
    from raglift.types.documents import Chunk
    from raglift.types.rankings import Hit, Inventory


LONGER = 1.25
"""From how many times the length on hits are of another length: by more than a quarter."""
LARGE_SHARE = 0.1
"""Above this share of an index, the first k hits find much of what is there, whatever ranks them."""
_IN_COMMON = 0.5
"""From this share of common hits on, systems whose chunks are not known retrieve the same chunks."""
_MANY = 10
"""From so many facts on that both find, systems of the same chunks find one by the same hit, whatever ranks them."""


def hit_length(evaluation: Evaluation, k: int | None) -> float:
    """Return how long the first k hits of the last stage are, in characters: the mean over all hits of all queries.

    It is the mean because k times it is what a prompt of k hits holds. 0 without hits, or where no hit has a text.

    Args:
        evaluation: the evaluation.
        k: how many hits of each query count; None for all.
    """
    lengths = [len(hit.chunk.text) for hits in last_hits(evaluation) for hit in hits[:k]]
    return sum(lengths) / len(lengths) if lengths else 0.0


def last_hits(evaluation: Evaluation) -> Iterator[tuple[Hit, ...]]:
    """Yield the hits of each query after the last stage; of one that failed before it, none."""
    for trace in evaluation.run.traces:
        found = [done.ranking.hits for done in trace.stages if done.stage == evaluation.after]
        yield found[-1] if found else ()


def differ_in_length(lengths: Mapping[str, float]) -> bool:
    """Whether the longest hits are more than a quarter longer than the shortest; not where some have no text."""
    least, most = min(lengths.values()), max(lengths.values())
    return 0 < least * LONGER < most


def differently_chunked(systems: Mapping[str, Evaluation], lengths: Mapping[str, float]) -> bool:
    """Whether some systems retrieve other chunks of the documents than others.

    Two do if the chunks of both indexes are known and not the same. If they are not known (or a stage changes its
    hits), two do if fewer than half of the hits of the one with fewer are hits of the other, and their hits differ in
    length by more than a quarter, or both find ten facts or more and no hit is the same. Labels that are chunk ids hold
    for one chunking, so with these alone no two do.
    """
    if not any(has_words(evaluation) for evaluation in systems.values()):
        return False
    return any(
        _differ(systems[one], systems[other], {name: lengths[name] for name in (one, other)})
        for one, other in combinations(systems, 2)
    )


def has_words(evaluation: Evaluation) -> bool:
    """Whether some label is a text or a place in a document, and not the id of a chunk."""
    return any(
        passage.chunk_id is None
        for query in evaluation.dataset
        if query.is_labelled
        for fact in query.facts
        for passage in fact.passages
    )


def _differ(one: Evaluation, other: Evaluation, lengths: Mapping[str, float]) -> bool:
    first, second = one.run.inventory, other.run.inventory
    changes = any(stage.changed_hits is not None for each in (one, other) for stage in each.run.stages)
    if first is not None and second is not None and not changes:
        if first.chunks != second.chunks:
            return True
        same_labels = one.dataset.queries == other.dataset.queries
        return same_labels and _settings(first) == _settings(second) and _touching(first) != _touching(second)
    texts, others = (each.once("texts of hits", partial(_texts, each)) for each in (one, other))
    common = len(texts & others)
    if common >= _IN_COMMON * min(len(texts), len(others)):
        return False
    return differ_in_length(lengths) or (not common and len(_facts_found(one) & _facts_found(other)) >= _MANY)


def _texts(evaluation: Evaluation) -> set[str]:
    """Return the normalized texts of the hits of the last stage."""
    return {normalize(hit.chunk.text) for hits in last_hits(evaluation) for hit in hits}


def _facts_found(evaluation: Evaluation) -> set[tuple[str, int]]:
    """Return the facts that hits of the last stage match: each a query's id, and the number among its facts."""
    table = match_tables_of(evaluation)[-1]
    found = table.matches.take(table.matches.relevant)
    ids = [query.id for query in evaluation.dataset]
    numbers = found.fact - table.facts.first_of_query(found.query)
    return {(ids[query], number) for query, number in zip(found.query.tolist(), numbers.tolist(), strict=True)}


def _settings(inventory: Inventory) -> tuple[int, bool]:
    """Return what decides which chunks of an index an inventory names."""
    return inventory.minimum_length, inventory.unicode_folding


def _touching(inventory: Inventory) -> set[tuple[object, ...]]:
    return {_identity(chunk) for chunk in inventory.touching}


def _identity(chunk: Chunk) -> tuple[object, ...]:
    return chunk.text, chunk.doc_id, chunk.start, chunk.end


def index_share(evaluation: Evaluation, k: int | None) -> float | None:
    """Return which share of its index k hits are, where that is more than a tenth; None otherwise, and if not known."""
    inventory = evaluation.run.inventory
    if k is None or inventory is None or not inventory.chunks:
        return None
    share = min(k / inventory.chunks, 1.0)
    return share if share > LARGE_SHARE else None
