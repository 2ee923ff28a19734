"""The audit of a dataset: problems of its labels, and how chunkings affect them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

import raglift.auditing.view  # noqa: F401 — makes the view of an audit known
from raglift.adapters.splitters import as_chunker
from raglift.analysis.upper_bound import Overlaps, best_facts_at, requirements_of
from raglift.analysis.warnings import vocabulary_warnings
from raglift.auditing.labels import (
    Label,
    Occurrences,
    about_resolution,
    audit_labels,
    chunks_read_in_part,
    labels_of,
    occurrences_of,
    with_surroundings,
)
from raglift.auditing.records import Attainable, Audit, ChunkingAudit
from raglift.errors import ConfigurationError, MissingDependency, ModelError
from raglift.matching.chunk_index import Places, Touches, find_places, touching_chunks
from raglift.matching.matches import Direction
from raglift.matching.nearest import lost_labels_note
from raglift.matching.overlap import PassageMatch, cover_passage, match_passage
from raglift.matching.provenance import Provenance
from raglift.matching.rule import MatchRule, Text
from raglift.retrieval.models import EMBEDDED_MODEL
from raglift.retrieval.onnx_models import OnnxEmbedder
from raglift.retrieval.vocabulary import vocabularies
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Passage

# The effect of a chunking on labels: how they are split across chunks, and the upper bound of recall.


_BATCH = 1 << 16
_Key = tuple[int, int, int]
"""Query, fact of the query, alternative."""
_Overlaps: TypeAlias = "dict[int, dict[tuple[int, int], list[tuple[int, PassageMatch]]]]"
"""For each query, the chunks that match each alternative of a fact."""


@dataclass(frozen=True, eq=False)
class _Located:
    """The passages of the labelled queries and where they are, looked for once for all ways of chunking."""

    passages: Mapping[_Key, Passage]
    """In dataset order; with its location if a passage has only one."""
    places: Places
    """Of these passages, by their numbers."""


def _locate(dataset: Dataset, labels: Sequence[Label], found_at: Sequence[Occurrences], places: Places) -> _Located:
    passages: dict[_Key, Passage] = {}
    number = np.full(len(labels), -1, dtype=np.int64)
    for row, (label, at) in enumerate(zip(labels, found_at, strict=True)):
        if dataset.queries[label.query].is_labelled:
            number[row] = len(passages)
            passages[label.query, label.fact, label.alternative] = _placed(label.passage, at, dataset)
    passage = number[places.passage]
    rows = passage >= 0
    return _Located(passages, Places(passage[rows], places.document[rows], places.start[rows], places.end[rows]))


def _audit_chunking(
    name: str,
    chunks: Sequence[Chunk],
    dataset: Dataset,
    located: _Located,
    rule: MatchRule,
    ks: Sequence[int],
    read_in_part: int | None,
) -> ChunkingAudit:
    """Return what a way of chunking, whose chunks have checked offsets, does to the labels."""
    touches = touching_chunks(
        dataset.queries,
        chunks,
        dataset.documents,
        minimum_length=rule.minimum_length,
        unicode_folding=rule.unicode_folding,
        also_by_text=True,  # matching does not look at the places of literal texts
        places=located.places,
    )
    directions, overlaps = _compare(dataset, located.passages, chunks, touches, rule)
    return ChunkingAudit(
        name=name,
        chunks=len(chunks),
        mean_length=float(np.mean([len(chunk.text) for chunk in chunks])) if chunks else float("nan"),
        read_in_part=read_in_part,
        placements=tuple(_placement(directions[key]) for key in located.passages),
        attainable=tuple(_attainable(dataset, overlaps, rule, ks)),
    )


def _placed(passage: Passage, at: Occurrences, dataset: Dataset) -> Passage:
    """Return a passage with its location, when it has only one."""
    if passage.chunk_id is not None or at.count != 1:
        return passage
    place = at.places[0]
    text = dataset.document_by_id[place.doc_id].text[place.start : place.end]
    return Passage(text, place.doc_id, place.start, place.end)


def _compare(
    dataset: Dataset,
    placed: Mapping[_Key, Passage],
    chunks: Sequence[Chunk],
    touches: Touches,
    rule: MatchRule,
) -> tuple[dict[_Key, set[int]], _Overlaps]:
    """Compare passages with the chunks that overlap them.

    Returns:
        For each passage, how chunks lie to it (values of `Direction`), determined by locations where they are known;
        and for each query, what matches by the rule.
    """
    by_place = MatchRule("coverage", rule.minimum_length, rule.unicode_folding)
    directions: dict[_Key, set[int]] = defaultdict(set)
    overlaps: _Overlaps = defaultdict(lambda: defaultdict(list))
    text, batch = Text(rule), 0
    for query, fact, alternative, number in _rows(dataset, touches):
        if number // _BATCH != batch:  # normalized texts of no more chunks than that are kept
            text, batch = Text(rule), number // _BATCH
        key, chunk = (query, fact, alternative), chunks[number]
        overlap = cover_passage(chunk, placed[key], by_place, text)
        if overlap is not None:
            directions[key].add(overlap.direction)
        match = match_passage(chunk, dataset.queries[query].facts[fact].passages[alternative], rule, text)
        if match is not None:
            overlaps[query][fact, alternative].append((number, match))
    return directions, overlaps


def _placement(directions: set[int]) -> str:
    if directions & {Direction.CHUNK_CONTAINS_PASSAGE, Direction.SAME_ID}:
        return "inside"
    if Direction.PASSAGE_CONTAINS_CHUNK in directions:
        return "in pieces"
    return "straddling" if directions else "missing"


def _attainable(
    dataset: Dataset, overlaps: Mapping[int, Overlaps], rule: MatchRule, ks: Sequence[int]
) -> Iterator[Attainable]:
    """Yield the best recall at each depth: the mean over the labelled queries."""
    queries = [(number, query) for number, query in enumerate(dataset.queries) if query.is_labelled]
    best = [best_facts_at(requirements_of(query, overlaps.get(number, {}), rule), ks) for number, query in queries]
    for place, k in enumerate(ks):
        recalls = [of[place].facts / len(query.facts) for of, (_, query) in zip(best, queries, strict=True)]
        recall = float(np.mean(recalls)) if recalls else float("nan")
        yield Attainable(k, recall, all(of[place].exact for of in best))


def _rows(dataset: Dataset, touches: Touches) -> Iterator[tuple[int, int, int, int]]:
    """Yield (query, fact of the query, alternative, chunk), by chunk."""
    facts = [len(query.facts) if query.is_labelled else 0 for query in dataset.queries]
    first = np.cumsum([0, *facts])
    order = np.argsort(touches.chunk, kind="stable")
    query, chunk = touches.query[order], touches.chunk[order]
    fact = touches.fact[order] - first[query]
    yield from zip(query.tolist(), fact.tolist(), touches.passage[order].tolist(), chunk.tolist(), strict=True)


# `audit()`: problems of labels, and the effect of chunking on them.


_GIVEN = "given chunks"


def audit(
    dataset: Dataset,
    *,
    chunkers: Sequence[Any] = (),
    chunks: Sequence[Chunk] | None = None,
    match: str | MatchRule = "coverage",
    ks: Sequence[int] = (1, 3, 5, 10),
    embedding: str | None = EMBEDDED_MODEL,
) -> Audit:
    """Check the labels of a dataset, and what ways of chunking do to them. Nothing is retrieved.

    Args:
        dataset: the labels, and the documents they are about; without documents, nothing can be said of where texts
            occur, and no chunker can be applied.
        chunkers: ways to chunk the documents: `"recursive:1000/100"`, `"module:factory"`, a `Chunker`,
            or a splitter of another library.
        chunks: chunks that are already there, as those of an index.
        match: "coverage", "containment" or a `MatchRule` of one of them, for the attainable recall.
        ks: the depths of the attainable recall.
        embedding: "bge-small" counts the chunks that are longer than that model reads; anything else counts none.

    Raises:
        ConfigurationError: an argument that cannot be used, or chunkers without documents.
    """
    rule, depths = _checked_rule(match), _checked_depths(ks)
    _check_dataset(dataset, chunkers)
    ways = list(map(as_chunker, chunkers))
    labels = labels_of(dataset)
    passages = [label.passage for label in labels]
    places = find_places(passages, dataset.documents, unicode_folding=rule.unicode_folding)
    found_at = occurrences_of(places, len(labels), dataset.documents)
    checked = None if chunks is None else _checked_chunks(dataset, chunks)
    findings = tuple(about_resolution(dataset.resolution))
    findings += audit_labels(
        dataset,
        labels,
        found_at,
        chunk_ids=None if checked is None else {chunk.id for chunk in checked},
        unicode_folding=rule.unicode_folding,
    )
    notes = [] if dataset.documents else ["no documents: whether the texts of the labels occur in them is not known"]
    located = _locate(dataset, labels, found_at, places)
    chunkings = []
    for chunker in [*ways, *([] if checked is None else [None])]:
        cut = checked or () if chunker is None else chunker.split(dataset.documents)
        read_in_part = _count_read_in_part(cut, notes) if embedding == EMBEDDED_MODEL else None
        name = _GIVEN if chunker is None else str(chunker)
        chunkings.append(_audit_chunking(name, cut, dataset, located, rule, depths, read_in_part))
    if embedding == EMBEDDED_MODEL:
        texts = [*(query.text for query in dataset.queries), *(document.text for document in dataset.documents)]
        notes += vocabulary_warnings(vocabularies(OnnxEmbedder(), texts))
    nowhere = [finding for finding in findings if finding.kind == "nowhere" and not finding.places]
    if nowhere and len(nowhere) == sum(passage.text is not None for passage in passages):
        notes.append(lost_labels_note(nowhere[0].text, nowhere[0].query_id, dataset.documents))
    labelled = [query for query in dataset.queries if query.is_labelled]
    return Audit(
        dataset=dataset.name,
        queries=len(dataset),
        labelled=len(labelled),
        facts=sum(len(query.facts) for query in labelled),
        passages=sum(len(fact.passages) for query in labelled for fact in query.facts),
        documents=len(dataset.documents),
        match=str(rule),
        findings=tuple(with_surroundings(findings, dataset.documents)),
        chunkings=tuple(chunkings),
        notes=tuple(dict.fromkeys(notes)),
        label_sources=dataset.label_sources,
    )


def _count_read_in_part(chunks: Sequence[Chunk], notes: list[str]) -> int | None:
    try:
        return chunks_read_in_part(chunks)
    except (MissingDependency, ModelError) as error:
        notes.append(f"how many chunks are longer than the embedding model reads is not known: {error}")
        return None


def _checked_rule(match: str | MatchRule) -> MatchRule:
    rule = match if isinstance(match, MatchRule) else MatchRule(match)  # type: ignore[arg-type]
    if rule.mode == "fuzzy":
        raise ConfigurationError(
            "match: found 'fuzzy'; expected 'coverage' or 'containment': which of all chunks are like a passage is not "
            "known without comparing it with each of them"
        )
    return rule


def _checked_depths(ks: Sequence[int]) -> tuple[int, ...]:
    depths: object = ks
    if isinstance(depths, (list, tuple, range)) and depths and all(type(k) is int and k >= 1 for k in depths):
        return tuple(sorted(set(depths)))
    raise ConfigurationError(f"ks: found {ks!r}; expected a list of depths, as (1, 3, 5, 10)")


def _check_dataset(dataset: object, chunkers: Sequence[Any]) -> None:
    if not isinstance(dataset, Dataset):
        raise ConfigurationError(
            f"dataset: found a {type(dataset).__name__}; expected a Dataset, from load_dataset() or Dataset.from_dict()"
        )
    if isinstance(chunkers, str):
        raise ConfigurationError(f"chunkers: found {chunkers!r}; expected a list, as ['recursive:1000/100']")
    if chunkers and not dataset.documents:
        raise ConfigurationError(
            f"chunkers: found some, and no documents in {dataset.name!r}; expected documents to chunk: "
            "load_dataset(…, documents=…), or --documents"
        )


def _checked_chunks(dataset: Dataset, chunks: Sequence[object]) -> list[Chunk]:
    """Return the chunks with their documents resolved, and with offsets only where they are true."""
    provenance = Provenance(dataset)
    checked = []
    for place, chunk in enumerate(chunks):
        if not isinstance(chunk, Chunk):
            raise ConfigurationError(f"chunks[{place}]: found a {type(chunk).__name__}; expected a Chunk")
        checked.append(provenance.check_chunk(chunk))
    return checked
