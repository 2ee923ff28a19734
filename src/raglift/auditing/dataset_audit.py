"""`audit()`: what is wrong with labels, and what chunking does to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.auditing.chunkings import Located, audit_chunking
from raglift.auditing.labels import audit_labels, labels_of, whereabouts
from raglift.auditing.result import Audit
from raglift.auditing.tokens import chunks_read_in_part
from raglift.chunking import Chunker, parse_chunker
from raglift.errors import ConfigurationError, MissingDependency, ModelError
from raglift.matching import MatchRule, Provenance
from raglift.matching.places import find_places
from raglift.models import EMBEDDED_MODEL
from raglift.records import Chunk, Dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.auditing.records import ChunkingAudit

__all__ = ["audit"]

_GIVEN = "given chunks"


def audit(
    dataset: Dataset,
    *,
    chunkers: Sequence[Chunker | str] = (),
    chunks: Sequence[Chunk] | None = None,
    match: str | MatchRule = "coverage",
    ks: Sequence[int] = (1, 3, 5, 10),
    embedding: str | None = EMBEDDED_MODEL,
) -> Audit:
    """Check the labels of a dataset, and what ways of chunking do to them. Nothing is retrieved.

    Args:
        dataset: the labels, and the documents they are about; without documents, nothing can be said of where texts
            occur, and no chunker can be applied.
        chunkers: ways to chunk the documents, as `RecursiveChunker(1000, 100)` or `"recursive:1000/100"`.
        chunks: chunks that are already there, as those of an index.
        match: "coverage", "containment" or a `MatchRule` of one of them, for the attainable recall.
        ks: the depths of the attainable recall.
        embedding: "minilm" counts the chunks that are longer than the embedded model reads; None, or any other model,
            counts none.

    Raises:
        ConfigurationError: an argument that cannot be used, or chunkers without documents.
    """
    rule, depths = _checked_rule(match), _checked_depths(ks)
    _check_dataset(dataset, chunkers, chunks)
    ways = [parse_chunker(chunker) if isinstance(chunker, str) else chunker for chunker in chunkers]
    labels = labels_of(dataset)
    passages = [label.passage for label in labels]
    places = find_places(passages, dataset.documents, unicode_folding=rule.unicode_folding)
    found_at = whereabouts(places, len(labels), dataset.documents)
    given = None if chunks is None else _checked_chunks(dataset, chunks)
    findings = audit_labels(
        dataset,
        labels,
        found_at,
        chunk_ids=None if given is None else {chunk.id for chunk in given},
        unicode_folding=rule.unicode_folding,
    )
    notes = [] if dataset.documents else ["no documents: whether the texts of the labels occur in them is not known"]
    located = Located.of(dataset, labels, found_at, places)
    chunkings = []
    for name, of_chunker in [(str(chunker), chunker) for chunker in ways] + [(_GIVEN, None)] * (given is not None):
        cut = given or () if of_chunker is None else of_chunker.split(dataset.documents)
        chunkings.append(_audit_chunking(name, cut, dataset, located, rule, depths, embedding, notes))
    labelled = [query for query in dataset.queries if query.is_labelled]
    return Audit(
        dataset=dataset.name,
        queries=len(dataset),
        labelled=len(labelled),
        facts=sum(len(query.facts) for query in labelled),
        passages=sum(len(fact.passages) for query in labelled for fact in query.facts),
        documents=len(dataset.documents),
        match=str(rule),
        findings=findings,
        chunkings=tuple(chunkings),
        notes=tuple(dict.fromkeys(notes)),
        label_sources=dataset.label_sources,
    )


def _audit_chunking(
    name: str,
    chunks: Sequence[Chunk],
    dataset: Dataset,
    located: Located,
    rule: MatchRule,
    ks: Sequence[int],
    embedding: str | None,
    notes: list[str],
) -> ChunkingAudit:
    """Return what a way of chunking does to the labels; what could not be told goes to the notes."""
    read_in_part = None
    if embedding == EMBEDDED_MODEL:
        try:
            read_in_part = chunks_read_in_part(chunks)
        except (MissingDependency, ModelError) as error:
            notes.append(f"how many chunks are longer than the embedding model reads is not known: {error}")
    elif embedding is not None:
        notes.append(f"how many chunks are longer than {embedding!r} reads is not known: only {EMBEDDED_MODEL!r} is")
    return audit_chunking(name, chunks, dataset, located, rule, ks, read_in_part)


def _checked_rule(match: str | MatchRule) -> MatchRule:
    rule = match if isinstance(match, MatchRule) else MatchRule(match)  # type: ignore[arg-type]
    if rule.mode == "fuzzy":
        raise ConfigurationError(
            "match: found 'fuzzy'; expected 'coverage' or 'containment': which of all chunks are like a passage is not "
            "known without comparing it with each of them"
        )
    return rule


def _checked_depths(ks: Sequence[int]) -> tuple[int, ...]:
    given: object = ks
    if isinstance(given, (list, tuple, range)) and given and all(type(k) is int and k >= 1 for k in given):
        return tuple(sorted(set(given)))
    raise ConfigurationError(f"ks: found {ks!r}; expected a list of depths, as (1, 3, 5, 10)")


def _check_dataset(dataset: object, chunkers: object, chunks: object) -> None:
    if not isinstance(dataset, Dataset):
        raise ConfigurationError(
            f"dataset: found a {type(dataset).__name__}; expected a Dataset, from load_dataset() or Dataset.from_dict()"
        )
    if isinstance(chunkers, str) or not isinstance(chunkers, (list, tuple)):
        raise ConfigurationError(f"chunkers: found {chunkers!r}; expected a list, as ['recursive:1000/100']")
    for chunker in chunkers:
        if not isinstance(chunker, (str, Chunker)):
            raise ConfigurationError(f"chunkers: found a {type(chunker).__name__}; expected chunkers, or their texts")
    if chunkers and not dataset.documents:
        raise ConfigurationError(
            f"chunkers: found some, and no documents in {dataset.name!r}; expected documents to chunk: "
            "load_dataset(…, documents=…), or --documents"
        )
    if chunks is not None and not isinstance(chunks, (list, tuple)):
        raise ConfigurationError(f"chunks: found a {type(chunks).__name__}; expected a list of Chunk")


def _checked_chunks(dataset: Dataset, chunks: Sequence[object]) -> list[Chunk]:
    """Return the chunks with their documents resolved, and with offsets only where they are true."""
    provenance = Provenance(dataset)
    checked = []
    for place, chunk in enumerate(chunks):
        if not isinstance(chunk, Chunk):
            raise ConfigurationError(f"chunks[{place}]: found a {type(chunk).__name__}; expected a Chunk")
        checked.append(provenance.check_chunk(chunk))
    return checked
