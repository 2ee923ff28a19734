"""Labels that are probably wrong or incomplete, ranked by what speaks against them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from raglift.adapters.embeddings import embedder_by_name
from raglift.auditing.run_ranks import Ranks, ranks_of_runs
from raglift.components.bm25 import BM25Retriever
from raglift.components.chunkers import RecursiveChunker
from raglift.components.embedding import build_index
from raglift.components.models import EMBEDDED_MODEL
from raglift.components.rerankers import LateInteractionReranker
from raglift.components.retrievers import DenseRetriever
from raglift.errors import ConfigurationError
from raglift.records.rankings import Ranking

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.analysis.records import EvaluationRecord
    from raglift.records.dataset import Dataset
    from raglift.records.documents import Chunk, Document
    from raglift.records.labels import Passage, Query


SuspectKind = Literal["passage", "document", "copy"]
SUSPECT_KINDS: Mapping[SuspectKind, str] = {
    "passage": "systems that differ agree on another passage of the labelled documents",
    "document": "systems that differ agree on a passage of another document",
    "copy": "nearly the same words stand elsewhere, where nobody labelled them",
}
"""Each kind of suspect, and what speaks against the label."""

_CHUNK = 400
"""Characters of the chunks that are ranked: about a paragraph, as passages are."""
_RERANKED = 50
_SYSTEMS = ("bm25", "dense", "late-interaction")
_WEIGHTS = np.array([0.2, 0.4, 0.4])
"""How much each system's ranks count; words alone are misled most easily by questions that use others."""
_OTHER = 0.5
"""How much it counts against a label that another passage ranks first, where it ranks low itself."""
_LEAST_SHARED = 20
"""Characters of a passage that a chunk holds at least, to count as one of it."""


@dataclass(frozen=True)
class Suspect:
    """A label that is probably wrong or incomplete."""

    query_id: str
    """Whose label it is."""
    fact: int
    """Which of the query's facts, from 0."""
    kind: SuspectKind
    """What speaks against it."""
    evidence: float
    """How much, from 0 to 1; no probability."""
    text: str
    """The label's text."""
    other_doc: str
    """Where the other passage stands, …"""
    other_start: int
    """… from its first character …"""
    other_end: int
    """… to one past its last."""
    other_text: str
    """What it says."""
    ranks: Mapping[str, int]
    """The best rank of the label's passages in each system; empty for a copy."""


@dataclass(frozen=True)
class SuspectsRecord:
    """The labels of a dataset with what speaks against them, and how many may be wrong."""

    dataset: str
    """Its name."""
    facts: int
    """How many facts were looked at."""
    suspects: tuple[Suspect, ...]
    """By evidence, the strongest first; a fact is there once for each kind."""
    most_wrong: float
    """At most about this share of the facts is labelled as wrongly as with a passage of another question."""
    copies: int
    """How many facts have a copy that nobody labelled."""


def find_suspects(
    dataset: Dataset,
    *,
    runs: Mapping[str, EvaluationRecord] | None = None,
    embedding: str = EMBEDDED_MODEL,
    progress: bool | None = None,
) -> SuspectsRecord:
    """Return the labels that are probably wrong or incomplete: see `raglift.auditing.suspects`.

    Args:
        dataset: labels that are places in its documents; others are passed over.
        runs: the systems whose last rankings are looked at, by name, instead of raglift's own three.
        embedding: the model of the dense ranking.
        progress: whether to show progress; None decides by the terminal.

    Raises:
        ConfigurationError: no label is a place in a document; or runs of other queries, or whose hits are nowhere in
            the documents, or fewer than two.
    """
    facts = _facts(dataset)
    if not facts:
        raise ConfigurationError(
            f"suspects: found no label of {dataset.name} that is a place in its documents; expected documents, and "
            "spans, quote anchors or pages"
        )
    chunks = RecursiveChunker(_CHUNK, 0).split(dataset.documents)
    with_facts = {fact.query.id for fact in facts}
    queries = [query for query in dataset if query.id in with_facts]
    ranks = (
        _ranks(queries, chunks, dataset.documents, embedding, progress)
        if runs is None
        else ranks_of_runs(runs, queries, chunks, dataset.document_by_id)
    )
    found = _Scored.of(facts, queries, chunks, ranks)
    copies = list(_copies(facts, dataset.documents))
    suspects = sorted([*found.suspects(), *copies], key=lambda one: (-one.evidence, one.query_id, one.fact, one.kind))
    return SuspectsRecord(dataset.name, len(facts), tuple(suspects), found.most_wrong(), len(copies))


@dataclass(frozen=True, eq=False)
class _Fact:
    query: Query
    number: int
    passages: tuple[Passage, ...]
    """Those that are places in documents."""


def _facts(dataset: Dataset) -> list[_Fact]:
    known = dataset.document_by_id
    return [
        _Fact(query, number, placed)
        for query in dataset
        if query.is_labelled
        for number, fact in enumerate(query.facts)
        if (placed := tuple(one for one in fact.passages if one.start is not None and one.doc_id in known))
    ]


# Where systems rank each chunk for each question: raglift's own three, or the runs of the user.


def _ranks(
    queries: Sequence[Query],
    chunks: Sequence[Chunk],
    documents: Sequence[Document],
    embedding: str,
    progress: bool | None,
) -> Ranks:
    """Return the ranks of raglift's own three systems."""
    texts = [query.text for query in queries]
    number = {(chunk.doc_id, chunk.start): place for place, chunk in enumerate(chunks)}
    dense = DenseRetriever(build_index(chunks, embedder_by_name(embedding), documents=documents, progress=progress))
    lexical = BM25Retriever(chunks)
    first = [_log_ranks(one.retrieve(texts, len(chunks)), number, len(chunks)) for one in (lexical, dense)]
    fused = sum(1 / (60 + np.exp(logs)) for logs in first)
    best = np.argsort(-np.asarray(fused), axis=1, kind="stable")[:, :_RERANKED]
    candidates = [Ranking.of((chunks[place], None) for place in row) for row in best.tolist()]
    reranked = LateInteractionReranker(progress=progress).rerank(texts, candidates)
    logs = np.stack([*first, _log_ranks(reranked, number, min(_RERANKED, len(chunks)) + 1)])
    weighted = np.asarray(np.tensordot(_WEIGHTS, logs, axes=1), dtype=np.float64)
    return Ranks(_SYSTEMS, weighted, logs, float(np.log(len(chunks))))


def _log_ranks(
    rankings: Sequence[Ranking], number: Mapping[tuple[str | None, int | None], int], last: int
) -> NDArray[np.float64]:
    found = np.full((len(rankings), len(number)), float(last))
    for row, ranking in zip(found, rankings, strict=True):
        for hit in ranking.hits:
            row[number[hit.chunk.doc_id, hit.chunk.start]] = hit.rank
    return np.asarray(np.log(found), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Scored:
    """The facts, with how far below another passage systems rank them."""

    facts: Sequence[_Fact]
    chunks: Sequence[Chunk]
    ranks: Ranks
    """For each fact's query."""
    own: Sequence[NDArray[np.intp]]
    """For each fact, the chunks of its passages."""
    free: Sequence[NDArray[np.bool_]]
    """For each fact, which chunks hold no labelled passage of its query."""

    @classmethod
    def of(cls, facts: Sequence[_Fact], queries: Sequence[Query], chunks: Sequence[Chunk], ranks: Ranks) -> _Scored:
        by_document: dict[str | None, list[int]] = defaultdict(list)
        for place, chunk in enumerate(chunks):
            by_document[chunk.doc_id].append(place)
        own = [_chunks_of(fact.passages, chunks, by_document) for fact in facts]
        labelled: dict[str, set[int]] = defaultdict(set)
        for fact, of_fact in zip(facts, own, strict=True):
            labelled[fact.query.id] |= set(of_fact)
            judged = [one for one in fact.query.judged_irrelevant if one.start is not None]
            labelled[fact.query.id] |= set(_chunks_of(judged, chunks, by_document))
        row = {query.id: number for number, query in enumerate(queries)}
        answered = np.asarray(np.isfinite(ranks.weighted).any(axis=1))
        kept = [place for place, of_fact in enumerate(own) if of_fact and answered[row[facts[place].query.id]]]
        free = [~np.isin(np.arange(len(chunks)), list(labelled[facts[place].query.id])) for place in kept]
        rows = [row[facts[place].query.id] for place in kept]
        chosen = [np.array(own[place], dtype=np.intp) for place in kept]
        return cls([facts[place] for place in kept], chunks, ranks.of(rows), chosen, free)

    def _evidence(self, place: int, own: NDArray[np.intp]) -> tuple[float, int]:
        """Return what speaks against passages in some chunks as a fact's labels, and the chunk that is preferred."""
        logs = self.ranks.weighted[place]
        others = np.where(self.free[place], logs, np.inf)
        best = int(others.argmin())
        if not np.isfinite(others[best]):
            return 0.0, best
        against = logs[own].min() - _OTHER * others[best]
        return float(np.clip(against / max(self.ranks.worst, 1.0), 0.0, 1.0)), best

    def suspects(self) -> Iterator[Suspect]:
        """Yield each fact as a suspect; that systems rank first has no evidence against it, and is left out."""
        for place, (fact, own) in enumerate(zip(self.facts, self.own, strict=True)):
            evidence, best = self._evidence(place, own)
            if evidence <= 0:
                continue
            chunk = self.chunks[best]
            is_same = chunk.doc_id in {passage.doc_id for passage in fact.passages}
            yield Suspect(
                fact.query.id,
                fact.number,
                "passage" if is_same else "document",
                evidence,
                fact.passages[0].text or "",
                chunk.doc_id or "",
                chunk.start or 0,
                chunk.end or 0,
                chunk.text,
                self.ranks.best(place, own),
            )

    def most_wrong(self) -> float:
        """Return at most about which share of the facts has wrong labels, as those of other questions would be.

        Each fact is given the passages of a fact of another question, for which the ranks are known. Of n facts F have
        evidence of t or more, and a share s of those with other passages has: then no more than F / (n s) can be wrong
        so. It is the least such bound over all t at which half of the planted ones are found.
        """
        evidence = np.array([self._evidence(place, own)[0] for place, own in enumerate(self.own)])
        planted = np.array([self._evidence(place, self.own[other])[0] for place, other in self._others()])
        if not len(planted):
            return float("nan")
        bounds = [np.mean(evidence >= t) / np.mean(planted >= t) for t in np.quantile(planted, np.linspace(0, 0.5, 26))]
        return float(min(*bounds, 1.0))

    def _others(self) -> Iterator[tuple[int, int]]:
        """Yield each fact with one of another question, drawn at random; always the same."""
        random = np.random.default_rng(0)
        for place, fact in enumerate(self.facts):
            allowed = [
                other
                for other, one in enumerate(self.facts)
                if one.query.id != fact.query.id and self.free[place][self.own[other]].all()
            ]
            if allowed:
                yield place, int(random.choice(allowed))


def _chunks_of(
    passages: Sequence[Passage], chunks: Sequence[Chunk], by_document: Mapping[str | None, Sequence[int]]
) -> list[int]:
    """Return the chunks that hold a part of a passage that is more than a few words."""
    found: dict[int, None] = {}
    for passage in passages:
        start, end = passage.start or 0, passage.end or 0
        for place in by_document.get(passage.doc_id, ()):
            chunk = chunks[place]
            if min(chunk.end or 0, end) - max(chunk.start or 0, start) >= min(_LEAST_SHARED, end - start):
                found[place] = None
    return list(found)


# Copies: where nearly all words of a labelled passage stand again, and nobody labelled them.


_WORD = re.compile(r"\w+")
_BEGINS = re.compile(r"(^|[.!?:;|\n])[^\w\n]*$")
"""Before a word that begins a sentence, a line or a cell, and is written with a capital for that."""
_RUN = 3
"""So many words in a row are looked for."""
_FEWEST_WORDS = 8
_LEAST_LIKE = 0.8
_LEAST_RUNS = 0.5


@dataclass(frozen=True, eq=False)
class _Words:
    """The words of a document, and where they are."""

    doc_id: str
    text: str
    words: list[str]
    spans: list[tuple[int, int]]

    @classmethod
    def of(cls, document: Document) -> _Words:
        found = list(_WORD.finditer(document.text))
        return cls(document.id, document.text, [one[0].casefold() for one in found], [one.span() for one in found])


def _copies(facts: Sequence[_Fact], documents: Sequence[Document]) -> Iterator[Suspect]:
    """Yield facts of which a passage stands elsewhere in nearly the same words, the best copy of each."""
    read = [_Words.of(document) for document in documents]
    runs: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for number, each in enumerate(read):
        for place in range(len(each.words) - _RUN + 1):
            runs[tuple(each.words[place : place + _RUN])].append((number, place))
    spread = Counter(word for each in read for word in set(each.words))
    weight = {word: float(np.log(len(read) / count)) + 0.1 for word, count in spread.items()}
    labelled: dict[str, list[tuple[str | None, int, int]]] = defaultdict(list)
    for fact in facts:
        known = [*fact.passages, *(one for one in fact.query.judged_irrelevant if one.start is not None)]
        labelled[fact.query.id] += [(one.doc_id, one.start or 0, one.end or 0) for one in known]
    for fact in facts:
        found = [
            (copy, passage)
            for passage in fact.passages
            for copy in _copies_of(passage.text or "", read, runs, weight, labelled[fact.query.id])
        ]
        if found:
            (likeness, doc_id, start, end, text), passage = max(found, key=lambda each: each[0][0])
            yield Suspect(
                fact.query.id, fact.number, "copy", likeness, passage.text or "", doc_id, start, end, text, {}
            )


def _copies_of(
    text: str,
    read: Sequence[_Words],
    runs: Mapping[tuple[str, ...], Sequence[tuple[int, int]]],
    weight: Mapping[str, float],
    labelled: Sequence[tuple[str | None, int, int]],
) -> Iterator[tuple[float, str, int, int, str]]:
    """Yield where else the words of a passage stand: likeness, document, start, end and text."""
    words = [one[0].casefold() for one in _WORD.finditer(text)]
    if len(words) < _FEWEST_WORDS:
        return
    shared: Counter[tuple[int, int]] = Counter()
    for place in range(len(words) - _RUN + 1):
        begins = {(number, max(at - place, 0)) for number, at in runs.get(tuple(words[place : place + _RUN]), ())}
        shared.update(begins)
    several: dict[tuple[int, int], int] = defaultdict(int)
    for (number, begin), count in shared.items():  # words left out or put in move what follows
        for near in range(begin - 2, begin + 3):
            several[number, near] += count
    for number, begin in shared:
        if several[number, begin] < _LEAST_RUNS * (len(words) - _RUN + 1):
            continue
        each = read[number]
        last = min(begin + len(words), len(each.words)) - 1
        start, end = each.spans[begin][0], each.spans[last][1]
        if any(doc_id == each.doc_id and start < to and since < end for doc_id, since, to in labelled):
            continue
        likeness = _likeness(words, each.words[begin : last + 1], weight)
        if likeness >= _LEAST_LIKE and _names(text) == _names(each.text[start:end]):
            yield likeness, each.doc_id, start, end, each.text[start:end]


def _names(text: str) -> set[str]:
    """Return the numbers and names of a text, which tell apart what is said in the same words otherwise."""
    return {
        one[0].casefold()
        for one in _WORD.finditer(text)
        if any(map(str.isdigit, one[0])) or (one[0][0].isupper() and not _BEGINS.search(text[: one.start()]))
    }


def _likeness(one: Sequence[str], other: Sequence[str], weight: Mapping[str, float]) -> float:
    """Return the share of words in common, rare words counting more: a name or number that differs tells them apart."""
    first, second = Counter(one), Counter(other)
    both = sum(weight.get(word, 1.0) * count for word, count in (first & second).items())
    return both / sum(weight.get(word, 1.0) * count for word, count in (first | second).items())
