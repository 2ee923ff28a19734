"""A run under other labels of the same queries."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.evaluation.spec import dataset_hash
from raglift.printable import counted
from raglift.records import Dataset, Query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records import Run

__all__ = ["relabelled", "relabelling_notes"]

_SHOWN = 3


def relabelled(run: Run, dataset: Dataset, labels: Dataset | Sequence[Query]) -> tuple[Run, Dataset]:
    """Return a run and its dataset under other labels of its queries.

    A query of the run that the labels lack is unlabelled; one that only the labels have is ignored: both are counted in
    the run's spec. What is known of the index's chunks is of the old labels, and is kept only where no fact changes.

    Args:
        run: what a system returned.
        dataset: what it was asked.
        labels: the same queries, by id and text, with other labels.

    Raises:
        ConfigurationError: something that holds no queries, two of one id, another text under an id of the run, or no
            query of the run at all.
    """
    given = {query.id: query for query in _checked(dataset, labels)}
    queries = tuple(given.get(query.id, replace(query, facts=(), judged_irrelevant=())) for query in dataset.queries)
    before = run.spec.get("relabelled", {}).get("dataset", run.spec["dataset"])
    source = labels.name if isinstance(labels, Dataset) else "other labels"
    documents = (labels.documents if isinstance(labels, Dataset) else ()) or dataset.documents
    found = Dataset(queries, documents, f"{before['name']} (labels: {source})")
    spec = {
        **run.spec,
        "dataset": {"name": found.name, "queries": len(found), "hash": dataset_hash(found)},
        "relabelled": {
            "dataset": before,
            "unlabelled": sum(query.id not in given for query in dataset.queries),
            "ignored": sum(query_id not in dataset.query_by_id for query_id in given),
        },
    }
    unchanged = [_facts(query) for query in dataset.queries] == [_facts(query) for query in queries]
    return replace(run, spec=spec, inventory=run.inventory if unchanged else None), found


def relabelling_notes(run: Run) -> list[str]:
    """Return how the labels fit the queries of a run that was scored under other ones than it was asked with."""
    found = run.spec.get("relabelled", {})
    notes = []
    if found.get("unlabelled"):
        notes.append(f"{counted(found['unlabelled'], 'query')} of the run not among the labels: unlabelled")
    if found.get("ignored"):
        notes.append(f"{counted(found['ignored'], 'query')} of the labels not in the run: ignored")
    return notes


def _checked(dataset: Dataset, labels: Dataset | Sequence[Query]) -> Sequence[Query]:
    queries = labels.queries if isinstance(labels, Dataset) else labels
    if not isinstance(queries, (list, tuple)) or not all(isinstance(query, Query) for query in queries):
        raise ConfigurationError(
            f"rescore: labels: found a {type(labels).__name__}; expected a Dataset, from load_dataset(), or a list of "
            "queries"
        )
    ids = [query.id for query in queries]
    known = dataset.query_by_id
    for what, faulty in (
        ("an id more than once", [query_id for query_id, times in Counter(ids).items() if times > 1]),
        ("another text under the id", [q.id for q in queries if q.id in known and known[q.id].text != q.text]),
    ):
        if faulty:
            more = f" and {len(faulty) - _SHOWN:,} more" if len(faulty) > _SHOWN else ""
            raise ConfigurationError(
                f"rescore: labels: found {what}: {', '.join(faulty[:_SHOWN])}{more}; expected the queries that the "
                "run was asked, each once: the same ids and texts, with other labels"
            )
    if known.keys().isdisjoint(ids):
        found = f"{ids[0]}, …" if ids else "no query"
        raise ConfigurationError(
            f"rescore: labels: found none of the run's queries ({found}); expected the same ids, as {next(iter(known))}"
        )
    return queries


def _facts(query: Query) -> object:
    return query.facts, query.answerable
