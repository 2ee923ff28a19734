"""The changes of a system that are tried, each of one thing, the most particular ones first."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from raglift.repairing.systems import GIVEN, NO_RERANKER, System
from raglift.retrieval.bm25 import BM25Settings
from raglift.retrieval.headings import HEADINGS
from raglift.retrieval.models import EMBEDDED_MODEL
from raglift.retrieval.retrievers import RetrieverSpec, parse_retriever

if TYPE_CHECKING:
    from collections.abc import Iterator

CAUSES = {
    "label": "the label's text is in no document",
    "missing document": "the document is not in the index",
    "failed": "the question failed",
    "filter": "the question's filter excludes the document",
    "cut off": "a stage passes on too few hits",
    "embedding truncates": "the embedding model does not read the passage's part of the chunk",
    "reranker truncates": "the reranker does not read the passage's part of the hit",
    "copies": "copies of the passage's text in other documents come before it",
    "language": "BM25 reads the texts in another language",
    "weight": "the fusion's weight leaves one side out",
    "candidates": "the reranker gets too few candidates",
    "overlap": "the chunks cut the passage, and do not overlap enough to hold it",
    "cut": "the chunks cut the passage",
    "chunk size": "the chunks are too small or too large for the question",
    "headings": "the passage needs the headings above it",
    "reranker": "the reranker ranks it lower",
    "retriever": "the other kind of retriever finds it",
}
"""What a lost fact can be lost by, the most particular first: a change that mends more is a weaker cause."""


@dataclass(frozen=True)
class Change:
    """One thing of a system, changed."""

    cause: str
    """One of `CAUSES`: what the change puts right."""
    title: str
    """What is changed: `20 candidates in place of 10`."""
    system: System
    """The system with the change."""
    neighbours: tuple[System, ...] = ()
    """The system with a slightly different change, which must find a fact too if this is its cause."""
    settings: str = ""
    """What to type, as options of `raglift evaluate`."""


def changes_of(system: System, *, detected: str) -> Iterator[Change]:
    """Yield the changes of a system that it allows, the most particular first.

    Args:
        system: as it was run.
        detected: the language of the documents, as BM25 would identify it.
    """
    yield Change("filter", "no filter", replace(system, is_filtered=False))
    if system.candidates < system.k:
        title = f"{system.k:,} hits in place of {system.candidates:,}"
        yield Change("cut off", title, replace(system, candidates=system.k), settings=f"-k {system.k}")
    if system.embedding is not None:
        longer = "chunks that the embedding model reads to their end"
        yield Change("embedding truncates", longer, replace(system, embeds_whole=True))
    if system.reranker != NO_RERANKER:
        longer = "hits that the reranker reads to their end"
        yield Change("reranker truncates", longer, replace(system, scores_whole=True))
    yield Change("copies", "no copies of the passage's chunk in other documents", replace(system, has_copies=False))
    if system.retriever != GIVEN:
        yield from _languages(system, detected)
        yield from _weights(system)
    yield from _candidates(system)
    yield from _chunkings(system)
    if system.reranker != NO_RERANKER:
        yield Change("reranker", "no reranker", replace(system, reranker=NO_RERANKER), settings="--reranker none")
    if system.retriever != GIVEN:
        yield from _retrievers(system)


def _languages(system: System, detected: str) -> Iterator[Change]:
    spec = parse_retriever(system.retriever)
    if spec.kind == "dense":
        return
    language, stemmer = spec.bm25.language, spec.bm25.stemmer
    if language in (None, detected) and stemmer is None:
        return
    usual = replace(spec, bm25=replace(spec.bm25, language=None, stemmer=None))
    title = f"BM25 in the language of the documents ({detected}) in place of {language or stemmer}"
    yield Change("language", title, replace(system, retriever=str(usual)), settings=f"--retriever '{usual}'")


def _weights(system: System) -> Iterator[Change]:
    spec = parse_retriever(system.retriever)
    if spec.kind != "hybrid" or spec.weights[0] == spec.weights[1]:
        return
    equal = replace(spec, weights=(1.0, 1.0))
    near = [replace(spec, weights=weights) for weights in ((1.0, 0.8), (0.8, 1.0))]
    yield Change(
        "weight",
        f"equal weights in place of {' to '.join(f'{weight:g}' for weight in spec.weights)}",
        replace(system, retriever=str(equal)),
        tuple(replace(system, retriever=str(one)) for one in near),
        f"--retriever '{equal}'",
    )


def _candidates(system: System) -> Iterator[Change]:
    if system.reranker == NO_RERANKER:
        return
    for times in (2, 4):
        count = times * system.candidates
        near = tuple(replace(system, candidates=round(count * factor)) for factor in (0.9, 1.1))
        title = f"{count:,} candidates in place of {system.candidates:,}"
        yield Change("candidates", title, replace(system, candidates=count), near, f"--candidates {count}")


_CHUNKER = re.compile(r"(?P<kind>recursive|token):(?P<size>\d+)/(?P<overlap>\d+)(?P<rest>.*)")
_NUDGES = (
    *((size, 0.0) for size in (0.9, 0.95, 1.05, 1.1)),
    *((1.0, overlap) for overlap in (-0.1, -0.05, 0.05, 0.1)),
    (0.9, 0.1),
    (1.1, 0.1),
    (1.1, -0.1),
)
"""Eleven small changes: the size by a factor, the overlap by a part of the size."""


def resized(system: System, size: float, overlap: float) -> System:
    """Return a system with chunks of another size and overlap, and as many hits as make a prompt of the same length."""
    form = _CHUNKER.fullmatch(system.chunker)
    if form is None:
        return system
    new_size = round(size)
    fitting = max(0, min(round(overlap), new_size // 2))
    as_long = max(1, round(system.k * int(form["size"]) / new_size))
    return replace(system, chunker=f"{form['kind']}:{new_size}/{fitting}{form['rest']}", k=as_long)


def nudged(system: System) -> tuple[System, ...]:
    """Return a system with its chunks moved a little, in eleven ways; nothing for a splitter of the user's."""
    form = _CHUNKER.fullmatch(system.chunker)
    if form is None:
        return ()
    size, overlap = int(form["size"]), int(form["overlap"])
    return tuple(replace(resized(system, size * factor, overlap + part * size), k=system.k) for factor, part in _NUDGES)


def _chunkings(system: System) -> Iterator[Change]:
    form = _CHUNKER.fullmatch(system.chunker)
    if form is None:
        return
    size, overlap = int(form["size"]), int(form["overlap"])
    tried: list[tuple[str, float, float]] = [("overlap", size, size / 5)] if overlap < size // 10 else []
    tried += [("chunk size", size * factor, overlap * factor) for factor in (1.5, 0.67, 2.0)]
    for cause, new_size, new_overlap in tried:
        changed = resized(system, new_size, new_overlap)
        title = f"chunks of {new_size:,.0f}/{new_overlap:,.0f} in place of {size:,}/{overlap:,}"
        title += f", of which the first {changed.k} are read" if changed.k != system.k else ""
        yield Change(cause, title, changed, nudged(changed), f"--chunker {changed.chunker} -k {changed.k}")
    if not system.chunker.endswith(HEADINGS):
        changed = replace(system, chunker=system.chunker + HEADINGS)
        yield Change("headings", "chunks with the headings above them", changed, (), f"--chunker {changed.chunker}")


def _retrievers(system: System) -> Iterator[Change]:
    spec = parse_retriever(system.retriever)
    if spec.kind == "hybrid":
        return
    hybrid = RetrieverSpec("hybrid", bm25=spec.bm25 if spec.kind == "bm25" else BM25Settings())
    near = [replace(hybrid, weights=weights) for weights in ((1.0, 0.7), (0.7, 1.0))]
    embedding = system.embedding or EMBEDDED_MODEL

    def searched_by(one: RetrieverSpec) -> System:
        return replace(system, retriever=str(one), embedding=embedding)

    title = f"a hybrid of BM25 and {embedding} in place of {spec.kind}"
    yield Change("retriever", title, searched_by(hybrid), tuple(map(searched_by, near)), f"--retriever '{hybrid}'")
