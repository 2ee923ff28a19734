"""The kinds of defects, and five cases of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.planting.cases import Case, Plan, Setup, unchanged
from benchmarks.planting.corpora import corpus, fact

from raglift.retrieval import (
    DenseRetriever,
    OnnxCrossEncoder,
    OnnxEmbedder,
    build_index,
    parse_chunker,
    parse_retriever,
)
from raglift.retrieval.rerankers import PairReranker, Truncated
from raglift.text.tokens import load_encoding
from raglift.types import Dataset, Document, Fact, Filter, Passage, Query, Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from raglift.retrieval import Reranker
    from raglift.retrieval.rerankers import Pair
    from raglift.types import Chunk


# Parts that raglift does not have, because they are defects.


class TruncatingReranker(PairReranker):
    """raglift's cross-encoder, which reads only the first tokens of a hit."""

    def __init__(self, most: int) -> None:
        super().__init__(progress=False)
        self.whole, self.most = OnnxCrossEncoder(progress=False), most

    @property
    def identity(self) -> str:
        """That of the cross-encoder, with the number of tokens."""
        return f"{self.whole.identity}, the first {self.most} tokens"

    def score(self, batch: Sequence[Pair]) -> list[float]:
        """Return the scores of the beginnings of the texts."""
        return self.whole.score([(query, self._beginning(text)) for query, text in batch])

    def find_truncated(self, pairs: Sequence[Pair]) -> list[Truncated]:
        """Return which texts are longer."""
        return [Truncated(Truncated.TEXT * (len(self._beginning(text)) < len(text))) for _, text in pairs]

    def _beginning(self, text: str) -> str:
        edges = load_encoding("cl100k_base").edges(text)
        return text[: edges[min(self.most, len(edges) - 1)]]


@dataclass(frozen=True)
class FirstRetrieved:
    """A retriever that returns at most so many hits."""

    retriever: Any
    most: int

    @property
    def chunks(self) -> Sequence[Chunk]:
        """All chunks that it chooses from."""
        found: Sequence[Chunk] = self.retriever.chunks
        return found

    def retrieve(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return the first hits."""
        found: list[Ranking] = self.retriever.retrieve(queries, min(k, self.most))
        return found


@dataclass(frozen=True)
class FirstReranked:
    """A reranker that returns at most so many hits."""

    reranker: Reranker
    most: int

    def rerank(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Return the first hits."""
        return [Ranking(each.hits[: self.most]) for each in self.reranker.rerank(queries, rankings)]


# The kinds of defects.


def chunked(rows: Iterable[tuple[str, str, str, str]]) -> Iterator[Plan]:
    """Yield cases of passages that a chunker cuts in two."""
    for name, planted, chunker, others in rows:
        wrong = f"{chunker} cuts the passage in two: no chunk holds it"
        ways = {other: {"chunker": other} for other in others.split()}
        yield Plan(corpus(name).volumes(4, " "), planted, wrong, {"chunker": chunker}, ways)


def cut() -> Iterator[Plan]:
    """Yield cases of a passage across the end of a chunk."""
    yield from chunked(
        [
            ("ferry", "grey_card", "recursive:400/40", "recursive:500/50 recursive:600/60 recursive:400/200"),
            ("town", "yellow_pass", "recursive:600/60", "recursive:500/50 recursive:800/80 recursive:600/300"),
            ("town", "third_child", "recursive:500/50", "recursive:400/40 recursive:600/60 recursive:500/250"),
            ("town", "carers_park", "recursive:500/50", "recursive:400/40 recursive:600/60 recursive:500/250"),
            ("ferry", "pause", "recursive:600/60", "recursive:500/50 recursive:800/80 recursive:600/300"),
        ]
    )


def overlap() -> Iterator[Plan]:
    """Yield cases of chunks without overlap."""
    yield from chunked(
        [
            ("town", "stones", "recursive:600/0", "recursive:600/150 recursive:600/200"),
            ("ferry", "delay_pay", "recursive:600/0", "recursive:600/150 recursive:600/200"),
            ("town", "pavement", "recursive:400/0", "recursive:400/150 recursive:400/200"),
            ("town", "bonfire", "recursive:500/0", "recursive:500/125 recursive:500/200"),
            ("ferry", "holidays", "token:100/0", "token:100/25 token:100/40"),
        ]
    )


def document_first(dataset: Dataset) -> Dataset:
    """Return a dataset in which the document with the planted passage is the first of its volume."""
    planted = dataset.queries[0].facts[-1].passages[0]
    documents = dict(dataset.document_by_id)
    volume = documents[planted.doc_id or ""]
    parts = sorted(volume.text.split("\n\n"), key=lambda part: (planted.text or "") not in part)
    documents[volume.id] = replace(volume, text="\n\n".join(parts))

    def moved(each: Query) -> Query:
        passages = [one.passages[0] for one in each.facts]
        return replace(each, facts=tuple(fact(documents[one.doc_id or ""], one.text or "") for one in passages))

    return Dataset(tuple(map(moved, dataset.queries)), tuple(documents.values()), dataset.name)


def embedding_truncated() -> Iterator[Plan]:
    """Yield cases of chunks that are longer than the embedding model reads."""
    wrong = "the embedding model reads 512 tokens of a chunk, and the passage stands behind these"
    ways: dict[str, dict[str, Any]] = {each: {"chunker": each} for each in ("recursive:1000/100", "recursive:600/60")}
    ways["document first"] = {"dataset": document_first}
    for names, planted in (
        ("town ferry", "cabins"),
        ("town ferry", "meters"),
        ("ferry town", "wind"),
        ("ferry town", "delay_pay"),
        ("ferry town", "refund_days"),
    ):
        first, second = map(corpus, names.split())
        texts = (first | second).volumes(9, "\n\n")
        yield Plan(texts, planted, wrong, {"chunker": "recursive:5000/0"}, ways, {"retriever": "dense"})


def reranker_truncated() -> Iterator[Plan]:
    """Yield cases of a reranker that reads the beginnings of hits."""
    wrong = "the reranker reads 128 tokens of a hit, and the passage stands behind these"
    ways: dict[str, dict[str, Any]] = {
        "no reranker": {"reranker": "none", "settings": {}},
        "cross-encoder": {"reranker": "cross-encoder"},
        "document first": {"dataset": document_first},
    }
    common = {"chunker": "recursive:2000/0", "settings": {"candidates": 20}}
    for name, planted in (
        ("ferry", "delay_pay"),
        ("ferry", "lost_hours"),
        ("ferry", "minors"),
        ("town", "ceremony"),
        ("town", "stones"),
    ):
        texts = corpus(name).volumes(3, "\n\n")
        yield Plan(texts, planted, wrong, {"reranker": TruncatingReranker(128)}, ways, common)


def language() -> Iterator[Plan]:
    """Yield cases of BM25 with the analyzer of another language."""
    for name, planted, used, right in (
        ("ferry", "i_photograph", "de", "en"),
        ("town", "i_empty", "de", "en"),
        ("ferry", "i_painting", "none", "en"),
        ("bees", "i_mikroskop", "none", "de"),
        ("bees", "i_glaeser", "en", "de"),
    ):
        wrong = f"BM25 analyzes the words by the language {used}; the texts are in {right}"
        ways = {each: {"retriever": each} for each in (f"bm25(language={right})", "bm25")}
        yield Plan(corpus(name), planted, wrong, {"retriever": f"bm25(language={used})"}, ways)


def filtered(dataset: Dataset, off: int = 0, *, bound: bool) -> Dataset:
    """Return documents of different years, and filters by year of the first two questions.

    Args:
        dataset: without filters.
        off: how much the year of the first question is wrong.
        bound: whether filters are for the year or a later one.
    """
    years = {each.id: 2019 + place % 5 for place, each in enumerate(dataset.documents)}

    def with_filter(each: Query, off: int) -> Query:
        year = years[each.facts[0].passages[0].doc_id or ""] + off
        return replace(each, filter=Filter.of({"year": {"gte": year} if bound else year}))

    first, second, *others = dataset.queries
    documents = tuple(replace(each, metadata={"year": years[each.id]}) for each in dataset.documents)
    return replace(dataset, queries=(with_filter(first, off), with_filter(second, 0), *others), documents=documents)


def with_metadata(setup: Setup) -> Any:
    """Return raglift's own retriever over chunks with the metadata of their documents, which filters look at."""
    spec, documents = parse_retriever(setup.retriever), setup.dataset.document_by_id
    chunks = [
        replace(each, metadata=documents[each.doc_id or ""].metadata)
        for each in parse_chunker(setup.chunker).split(setup.dataset.documents)
    ]
    if spec.needs_embedding:
        return DenseRetriever(build_index(chunks, OnnxEmbedder(), progress=False))
    return spec.bm25.retriever(chunks)


def filter_() -> Iterator[Plan]:
    """Yield cases of a filter that is a year off."""
    wrong = "the filter of the question is a year off, and excludes the document"
    for name, planted, retriever, off, bound in (
        ("ferry", "oysters", "bm25", 1, False),
        ("town", "hens", "bm25", -1, False),
        ("ferry", "smoking", "dense", -1, False),
        ("town", "tattoo", "dense", 1, True),
        ("ferry", "calendar", "bm25", 1, True),
    ):
        ways: dict[str, dict[str, Any]] = {
            "the right year": {"dataset": partial(filtered, bound=bound)},
            "no filter": {"dataset": unchanged},
        }
        defect = {"dataset": partial(filtered, off=off, bound=bound)}
        yield Plan(corpus(name), planted, wrong, defect, ways, {"build": with_metadata, "retriever": retriever})


def copy() -> Iterator[Plan]:
    """Yield cases of older versions of a document that come first."""
    for name, planted, retriever, figure, before in (
        (
            "ferry",
            "refund_days",
            "bm25",
            "six working",
            "two working, three working, four working, ten, twelve, twenty",
        ),
        (
            "ferry",
            "lockers",
            "dense",
            "£2 a day",
            "50p a day, 60p a day, 80p a day, £1 a day, £1.20 a day, £1.50 a day",
        ),
        ("town", "hardness", "bm25", "sixteen", "nine, ten, eleven, twelve, thirteen, fourteen"),
        ("town", "stalls", "hybrid", "£3.20", "£1.90, £2.20, £2.40, £2.60, £2.80, £3.00"),
        ("town", "scratch", "bm25", "£15", "£5, £6, £8, £9, £10, £11, £12, £14"),
    ):
        source = corpus(name).questions[planted].document
        text = corpus(name).documents[source]
        # Older versions had nothing behind the sentence with the figure
        until = text[: text.index(". ", text.index(figure)) + 1]
        older = {f"{source}-{year}": until.replace(figure, each) for year, each in enumerate(before.split(", "), 2017)}
        wrong = f"{len(older)} older versions of the document, with other figures, come before it"
        ways = {"no older versions": {"dataset": unchanged}}
        yield Plan(corpus(name), planted, wrong, {"dataset": partial(extended, older)}, ways, {"retriever": retriever})


def extended(texts: Mapping[str, str], dataset: Dataset) -> Dataset:
    """Return a dataset with more documents."""
    return replace(dataset, documents=(*dataset.documents, *(Document(*each) for each in texts.items())))


def top_n() -> Iterator[Plan]:
    """Yield cases of a system that passes on two hits."""

    def retrieved(most: int) -> dict[str, Any]:
        return {"build": lambda setup: FirstRetrieved(setup.local(), most)}

    def reranked(most: int) -> dict[str, Any]:
        return {"reranker": FirstReranked(OnnxCrossEncoder(progress=False), most), "settings": {"candidates": 20}}

    def asked(most: int) -> dict[str, Any]:
        return {"settings": {"k": most}}

    for name, planted, retriever, limited, what in (
        ("town", "p_lonely", "bm25", retrieved, "the retriever returns"),
        ("town", "interpreter", "dense", retrieved, "the retriever returns"),
        ("ferry", "gas_cars", "dense", asked, "the system is asked for"),
        ("ferry", "p_trainee", "dense", reranked, "the reranker passes on"),
        ("town", "h_gift", "bm25", reranked, "the reranker passes on"),
    ):
        wrong = f"{what} 2 hits, and the passage is at rank 3 to 5"
        ways = {f"{most} hits": limited(most) for most in (5, 10)}
        yield Plan(corpus(name), planted, wrong, limited(2), ways, {"retriever": retriever})


def candidates() -> Iterator[Plan]:
    """Yield cases of a reranker that gets too few hits."""
    wrong = "the reranker gets 10 candidates, and the passage is at rank 11 to 30"
    ways = {f"{most} candidates": {"settings": {"candidates": most}} for most in (30, 50)}
    for name, planted, retriever in (
        ("ferry", "p_wedding", "bm25"),
        ("ferry", "p_storm", "bm25"),
        ("town", "h_lamps", "bm25"),
        ("ferry", "p_laptop", "dense"),
        ("town", "h_burst", "dense"),
    ):
        common = {"retriever": retriever, "reranker": "cross-encoder"}
        yield Plan(corpus(name), planted, wrong, {"settings": {"candidates": 10}}, ways, common)


def weight() -> Iterator[Plan]:
    """Yield cases of a hybrid retriever of which one side decides alone."""
    for name, planted, side, other in (
        ("ferry", "p_heart", "bm25", "dense"),
        ("town", "p_toys", "bm25", "dense"),
        ("town", "c_412", "dense", "bm25"),
        ("town", "c_77", "dense", "bm25"),
        ("ferry", "i_review", "dense", "bm25"),
    ):
        wrong = f"the weight of {other} is so low that {side} decides alone, and only {other} finds the passage"
        ways = {each: {"retriever": each} for each in ("hybrid", f"hybrid({side}=0.7)", other)}
        yield Plan(corpus(name), planted, wrong, {"retriever": f"hybrid({other}=0.001)"}, ways)


def missing_document() -> Iterator[Plan]:
    """Yield cases of an index without the document."""

    def without(missing: str, setup: Setup) -> Any:
        documents = tuple(each for each in setup.dataset.documents if each.id != missing)
        return replace(setup, dataset=Dataset((), documents)).local()

    ways = {"an index of all documents": {"build": Setup.local}}
    for name, planted, retriever in (
        ("ferry", "oysters", "bm25"),
        ("ferry", "peat", "hybrid"),
        ("ferry", "calendar", "dense"),
        ("town", "halal", "dense"),
        ("town", "cabins", "bm25"),
    ):
        missing = corpus(name).questions[planted].document
        wrong = f"the index was built without the document {missing}"
        yield Plan(corpus(name), planted, wrong, {"build": partial(without, missing)}, ways, {"retriever": retriever})


def label() -> Iterator[Plan]:
    """Yield cases of a wrong label."""

    def labelled(text: str, dataset: Dataset) -> Dataset:
        first = replace(dataset.queries[0], facts=(Fact((Passage(text),)),))
        return replace(dataset, queries=(first, *dataset.queries[1:]))

    for name, planted, retriever, text in (
        ("ferry", "oysters", "bm25", "Local oysters are on the menu on Thursdays."),
        ("town", "tyres", "dense", "Tyres cost £3,50 per piece."),
        ("town", "postal", "hybrid", "Absentee ballots can be requested until Friday noon."),
        ("ferry", "deposit", "bm25", "Sockets for chargers are found under every second bench."),
        ("town", "hens", "dense", "Lead pipes were removed everywhere by 2009."),
    ):
        occurs = any(text in each for each in corpus(name).documents.values())
        wrong = f"the text of the label {'has nothing to do with the question' if occurs else 'occurs in no document'}"
        ways = {"the right passage": {"dataset": unchanged}}
        defect = {"dataset": partial(labelled, text)}
        yield Plan(corpus(name), planted, wrong, defect, ways, {"retriever": retriever})


KINDS: dict[str, Callable[[], Iterator[Plan]]] = {
    **{each.__name__: each for each in (cut, overlap, embedding_truncated, reranker_truncated, language)},
    "filter": filter_,
    **{each.__name__: each for each in (copy, top_n, candidates, weight, missing_document, label)},
}
"""What can be wrong."""


def cases(kinds: Iterable[str] = tuple(KINDS)) -> list[Case]:
    """Return all cases, or those of some kinds."""
    return [plan.case(kind, number) for kind in kinds for number, plan in enumerate(KINDS[kind](), 1)]
