"""Some queries of a dataset."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.dataset.faults import nearest
from raglift.dataset.in_memory import unknown_query
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records import Dataset

__all__ = ["only", "sample"]


def sample(dataset: Dataset, n: int, seed: int) -> Dataset:
    """Return a dataset of some queries, drawn at random: see `Dataset.sample`."""
    for name, value in (("n", n), ("seed", seed)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigurationError(f"{name}: found {value!r}; expected an integer")
    if not 1 <= n <= len(dataset):
        raise ConfigurationError(f"n: found {n}; expected 1 to {len(dataset):,}, the queries of {dataset.name}")
    drawn = sorted(random.Random(seed).sample(range(len(dataset)), n))  # noqa: S311 — no secret
    return replace(dataset, queries=tuple(dataset.queries[place] for place in drawn))


def only(dataset: Dataset, tags: str | Sequence[str], ids: str | Sequence[str]) -> Dataset:
    """Return a dataset of the queries with some tags or ids: see `Dataset.only`."""
    wanted_tags, wanted_ids = ({given} if isinstance(given, str) else set(given) for given in (tags, ids))
    if not wanted_tags and not wanted_ids:
        raise ConfigurationError('only: found neither tags nor ids; expected one of them, as only(tags="hard")')
    known = list(dict.fromkeys(tag for query in dataset for tag in query.tags))
    for tag in sorted(wanted_tags.difference(known)):
        raise ConfigurationError(f"tags: found {tag!r}, which no query has; expected {nearest(tag, known)}")
    for query_id in sorted(wanted_ids.difference(dataset.query_by_id)):
        raise unknown_query(dataset, query_id)
    chosen = tuple(
        query
        for query in dataset
        if (not wanted_tags or wanted_tags.intersection(query.tags)) and (not wanted_ids or query.id in wanted_ids)
    )
    if not chosen:
        raise ConfigurationError("only: found no query with one of the ids and one of the tags; expected at least one")
    return replace(dataset, queries=chosen)
