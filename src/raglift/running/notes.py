"""Notes of a run, the depths that it has figures at, and a run under other labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.adapters.stages import RetrieveStage, Stage
from raglift.analysis.scoring import cut_stages
from raglift.errors import ConfigurationError
from raglift.metrics.computing import rankings_by_stage
from raglift.retrieval.services.retriever import ServiceRetriever
from raglift.running.settings import DEFAULT_KS
from raglift.running.spec import dataset_hashes
from raglift.types.dataset import Dataset
from raglift.types.labels import Query
from raglift.utilities.display import counted, listed

if TYPE_CHECKING:
    from raglift.matching.provenance import Provenance
    from raglift.types.rankings import Run


# A run under other labels of the same queries.


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
    labelled = {query.id: query for query in _checked(dataset, labels)}
    unlabelled = {query.id: replace(query, facts=(), judged_irrelevant=()) for query in dataset.queries}
    queries = tuple(labelled.get(query.id, unlabelled[query.id]) for query in dataset.queries)
    before = run.spec.get("relabelled", {}).get("dataset", run.spec["dataset"])
    source = labels.name if isinstance(labels, Dataset) else "other labels"
    documents = (labels.documents if isinstance(labels, Dataset) else ()) or dataset.documents
    found = Dataset(queries, documents, f"{before['name']} (labels: {source})")
    spec = {
        **run.spec,
        "dataset": {"name": found.name, "queries": len(found), **dataset_hashes(found)},
        "relabelled": {
            "dataset": before,
            "unlabelled": sum(query.id not in labelled for query in dataset.queries),
            "ignored": sum(query_id not in dataset.query_by_id for query_id in labelled),
        },
    }
    unchanged = [_facts(query) for query in dataset.queries] == [_facts(query) for query in queries]
    return replace(run, spec=spec, inventory=run.inventory if unchanged else None), found


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
            raise ConfigurationError(
                f"rescore: labels: found {what}: {listed(faulty, _SHOWN)}; expected the questions that the "
                "run was asked, each once: the same ids and texts, with other labels"
            )
    if known.keys().isdisjoint(ids):
        found = f"{ids[0]}, …" if ids else "no question"
        raise ConfigurationError(
            f"rescore: labels: found none of the run's questions ({found}); expected the same ids, as "
            f"{next(iter(known))}"
        )
    return queries


def _facts(query: Query) -> object:
    return query.facts, query.answerable


# Notes of a run, and the depths that it has figures at.


def usual_depths(run: Run) -> list[int]:
    """Return the depths at which metrics are taken by default: the usual ones, as far as all stages return so many.

    To them the deepest is added that all stages return as deployed, where it is less than the usual ones reach.
    """
    cut = cut_stages(run, rankings_by_stage(run)).values()
    limit = min([*cut, run.spec.get("k", DEFAULT_KS[-1])])  # k: what a system without a depth of its own was asked for
    depth = run.spec.get("deployed_depth", limit)
    return sorted({*(k for k in DEFAULT_KS if k <= limit), min(limit, depth, DEFAULT_KS[-1])})


def run_notes(stages: Sequence[Stage], provenance: Provenance) -> list[str]:
    """Return what there is to say of a run, however it is scored."""
    notes = []
    for stage in stages:
        if stage.unopened:
            notes.append(f"{stage.name}: {stage.unopened}")
        if stage.depth_fixed:
            what = "k" if hasattr(stage, "retriever") else "top_n"
            parts = stage.clearing.message("; ".join(stage.depth_fixed))
            notes.append(f"{stage.name}: {what} could not be set on {parts}")
        if changed := stage.clearing.changed:
            notes.append(
                f"{stage.name}: {counted(changed, 'hit')} contained a key from the environment, "
                "which is saved as ***; what was changed may no longer match its labels"
            )
        component = stage.retriever if isinstance(stage, RetrieveStage) else stage.reranker
        if isinstance(component, ServiceRetriever):
            notes += [f"{stage.name}: {stage.clearing.message(note)}" for note in component.notes]
    if provenance.unknown_document and any(
        passage.doc_id for query in provenance.dataset for fact in query.facts for passage in fact.passages
    ):
        notes.append(
            f"{counted(provenance.unknown_document, 'distinct chunk')} came from a document that could not be "
            "identified (see doc_key)"
        )
    if provenance.other_text:
        have, they = ("has", "it is") if provenance.other_text == 1 else ("have", "they are")
        notes.append(
            f"{counted(provenance.other_text, 'distinct chunk')} {have} text of a label that is not in the document "
            f"named with the chunk: {they} matched by text, in any document"
        )
    if provenance.false_offsets:
        notes.append(
            f"{counted(provenance.false_offsets, 'distinct chunk')} came with offsets at which their document has "
            "another text: the offsets were dropped"
        )
    return notes
