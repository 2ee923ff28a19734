"""Sixty retrieval systems in which exactly one thing is wrong for one known fact, so that its cause is known.

    python -m benchmarks.planted_defects [--kind cut ...] [--unplanted | --causes]

There are twelve kinds of defects and five cases of each, on three corpora written for this purpose (`data`). In a case
the planted fact is not among the first five hits; with only that thing put right, in one way or several, it is. Every
case has other questions too: easy ones, whose facts are found, hard ones, whose facts no usual system finds because
other texts share more with the question, and borderline ones, which some systems find and others do not.

The command runs every case both ways and prints a table; it fails if one is not as described. `--unplanted` runs the
hard and borderline questions through eleven usual systems and prints which of them find each. `--causes` has
`evaluation.repairs` name the cause of each planted fact, and of those that are lost for no planted reason.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

import raglift as rl
from raglift import MatchRule
from raglift.analysis import fact_outcomes
from raglift.repairing.changes import nudged
from raglift.repairing.systems import Trials, system_of
from raglift.retrieval import (
    DenseRetriever,
    OnnxCrossEncoder,
    OnnxEmbedder,
    build_index,
    parse_chunker,
    parse_retriever,
)
from raglift.retrieval.rerankers import PairReranker, Truncated
from raglift.running import LocalSystem, build_retriever
from raglift.text.tokens import load_encoding
from raglift.types import Dataset, Document, Fact, Filter, Passage, Query, Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from raglift import Evaluation
    from raglift.retrieval import Reranker
    from raglift.retrieval.rerankers import Pair
    from raglift.types import Chunk

DATA = Path(__file__).parent / "data" / "planted_defects"
K = 5
"""A fact is lost if it is not among so many hits."""
CHUNKER = "recursive:1000/100"
"""Leaves every single document whole."""
OTHERS = {"easy": 5, "hard": 4, "borderline": 3}
"""How many questions of each group a case has beside the planted one."""
_CHUNKS = (
    "baby_course cat deposit peat tattoo moorings lockers oysters parcels h_organ h_prison h_young h_wait p_instrument "
    "h_toilet h_wash h_price_paper"
)
TOUCHED = {
    "cut": _CHUNKS,
    "overlap": _CHUNKS,
    "embedding_truncated": (
        "baby_course tattoo halal hardness leaf_blowers brittany postal oysters guillemot parcels taxis stamp cabins "
        "lockers clamped deposit scratch h_beard h_neigh h_moped h_trunks h_prison h_count p_tram p_instrument h_cheap "
        "h_price_paper h_waves h_siren h_toilet p_maker h_forgot h_young h_heal h_wait h_oil"
    ),
    "reranker_truncated": (
        "lockers oysters calendar smoking scratch cabins p_tram h_cheap h_siren h_rescue h_toilet h_beard h_grave "
        "h_moped h_trunks h_prison h_count"
    ),
    "copy": "h_prison",
    "top_n": "clamped",
}
"""The easy and hard questions that the defect of a kind changes too, so that its cases do not have them."""


# The corpora.


class Question(NamedTuple):
    """A question with the passages that it needs, separated by ` | `; if it is planted, the last one is lost."""

    group: str
    """`easy`, `planted` (of a case), `hard` (found by no usual system), or `borderline` (found by some)."""
    id: str
    question: str
    document: str
    passages: str


@dataclass(frozen=True)
class Corpus:
    """Documents, and questions that they answer."""

    documents: Mapping[str, str]
    questions: Mapping[str, Question]

    @property
    def all_documents(self) -> tuple[Document, ...]:
        """The documents as records."""
        return tuple(Document(*each) for each in self.documents.items())

    def group(self, name: str) -> list[str]:
        """Return the ids of the questions of a group."""
        return [each.id for each in self.questions.values() if each.group == name]

    def volumes(self, size: int, separator: str) -> Corpus:
        """Return the same questions on long documents, each made of up to `size` of these, later ones first."""
        ids = list(self.documents)[::-1]
        count = -(-len(ids) // size)
        bound = {f"volume-{number + 1}": ids[number::count] for number in range(count)}
        volume_of = {each: name for name, several in bound.items() for each in several}
        questions = {each.id: each._replace(document=volume_of[each.document]) for each in self.questions.values()}
        texts = {name: separator.join(self.documents[each] for each in several) for name, several in bound.items()}
        return Corpus(texts, questions)

    def __or__(self, other: Corpus) -> Corpus:
        """Return the documents and questions of both."""
        return Corpus({**self.documents, **other.documents}, {**self.questions, **other.questions})


@cache
def corpus(name: str) -> Corpus:
    """Read `ferry`, `town` or `bees`."""
    content = yaml.safe_load((DATA / f"{name}.yaml").read_text(encoding="utf-8"))
    documents = dict(content["documents"])
    for template in content["templates"]:
        documents |= {template["id"].format(*row): template["text"].format(*row) for row in template["rows"]}
    with (DATA / f"{name}.tsv").open(encoding="utf-8", newline="") as lines:
        questions = [Question(**row) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]
    return Corpus(documents, {each.id: each for each in questions})


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


# Cases.


@dataclass(frozen=True)
class Setup:
    """One system over one dataset."""

    dataset: Dataset
    """The questions, and the documents that the system searches unless it was built otherwise."""
    retriever: str = "bm25"
    chunker: str = CHUNKER
    reranker: Any = "none"
    """By name, or an object."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further keywords of `raglift.evaluate`."""
    build: Callable[[Setup], Any] | None = None
    """What makes a retriever that cannot be described by names; None for one of raglift's own."""

    @property
    def is_own(self) -> bool:
        """Whether the system is of raglift's own parts, which the run then names."""
        return self.build is None and isinstance(self.reranker, str)

    def local(self) -> Any:
        """Return raglift's own retriever over all documents of the dataset."""
        return build_retriever(self.dataset, LocalSystem(self.retriever, parse_chunker(self.chunker)), progress=False)

    def system(self) -> Any:
        """Return the retriever."""
        return self.local() if self.build is None else self.build(self)

    def evaluate(self) -> Evaluation:
        """Measure the system; the run of one of raglift's own names its parts, as that of `raglift evaluate` does."""
        keywords: dict[str, Any] = {"ks": (1, 3, K), "reranker": self.reranker, "progress": False, **self.settings}
        evaluation = rl.evaluate(self.system(), self.dataset, **keywords)
        if not self.is_own:
            return evaluation
        parts = {"retriever": self.retriever, "chunker": str(parse_chunker(self.chunker))}
        if parse_retriever(self.retriever).needs_embedding:
            parts["embedding"] = LocalSystem().embedding
        parts["reranker"] = self.reranker
        return replace(evaluation, run=replace(evaluation.run, spec={**evaluation.run.spec, "parts": parts}))


@dataclass(frozen=True)
class Case:
    """A defect, and what mends it."""

    name: str
    kind: str
    """One of `KINDS`."""
    query_id: str
    fact: int
    """The number of the lost fact among those of its query, from 0."""
    wrong: str
    """What is wrong, in a sentence."""
    defect: Setup
    """The system with the defect."""
    mended: Mapping[str, Setup]
    """What mends it: the same with only that changed, in one way or several."""
    hard: tuple[str, ...]
    """Other questions that are lost, for no planted reason, and not mended with the defect."""
    borderline: tuple[str, ...]
    """Other questions, which some systems find; those that are lost may be mended with the defect: see `verified`."""

    def evaluate(self) -> Evaluation:
        """Return the evaluation in which the fact is lost."""
        return self.defect.evaluate()


class Plan(NamedTuple):
    """A case without the other questions."""

    texts: Corpus
    """What is searched."""
    planted: str
    """The id of the question whose fact is lost."""
    wrong: str
    """What is wrong, in a sentence."""
    defect: Mapping[str, Any]
    """The fields of the `Setup` that are wrong; a wrong dataset is a function of the right one."""
    mended: Mapping[str, Mapping[str, Any]]
    """What they are instead, under a name for each way."""
    common: Mapping[str, Any] = MappingProxyType({})
    """The fields of the `Setup` that are not wrong."""

    def case(self, kind: str, number: int) -> Case:
        """Return it with other questions, which depend on the number."""
        left_out = {self.planted, *TOUCHED.get(kind, "").split()}
        easy, hard, borderline = (
            _rotated([each for each in self.texts.group(group) if each not in left_out], number, count)
            for group, count in OTHERS.items()
        )
        queries = tuple(query(self.texts, name) for name in (self.planted, *easy, *hard, *borderline))
        right = Setup(Dataset(queries, self.texts.all_documents, f"{kind}_{number}"), **self.common)
        ways = {name: _changed(right, {**self.defect, **change}) for name, change in self.mended.items()}
        last = len(queries[0].facts) - 1
        broken = _changed(right, self.defect)
        return Case(f"{kind}-{number}", kind, self.planted, last, self.wrong, broken, ways, hard, borderline)


def _rotated(names: Sequence[str], number: int, count: int) -> tuple[str, ...]:
    """Return so many of the names, other ones for each number."""
    start = number * count % len(names)
    return tuple((*names[start:], *names[:start])[:count])


def _changed(setup: Setup, change: Mapping[str, Any]) -> Setup:
    """Return a setup with other fields; its dataset is made of the former one."""
    made = change.get("dataset", unchanged)
    return replace(setup, **{**change, "dataset": made(setup.dataset)})


def unchanged(dataset: Dataset) -> Dataset:
    """Return a dataset as it is."""
    return dataset


def query(texts: Corpus, name: str) -> Query:
    """Return a question with its passages where they stand in its document."""
    asked = texts.questions[name]
    document = Document(asked.document, texts.documents[asked.document])
    return Query(name, asked.question, tuple(fact(document, each) for each in asked.passages.split(" | ")))


def fact(document: Document, passage: str) -> Fact:
    """Return a passage as a fact."""
    start = document.text.index(passage)
    return Fact((Passage(passage, document.id, start, start + len(passage)),))


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


# The check that each is as described.


@dataclass(frozen=True)
class Verdict:
    """What came out of a case."""

    case: Case
    outcome: str
    """Of the planted fact with the defect."""
    ranks: Mapping[str, int]
    """The rank of the planted fact when it is mended in each way; 0 if it is not found."""
    found: int
    """How many other facts are found with the defect."""
    unplanted: tuple[str, ...]
    """The other questions that are lost with the defect and in every mended system."""
    faults: tuple[str, ...]
    """What is not as described."""


def verified(planted: Case) -> Verdict:
    """Run a case with its defect and without."""
    lost = planted.query_id, planted.fact
    outcomes = _outcomes(planted.defect)
    mended = {name: _outcomes(setup) for name, setup in planted.mended.items()}
    found = {each for each in outcomes if outcomes[each][0] == "found"}
    changed = {each for ways in mended.values() for each in set(outcomes) - found if ways[each][0] == "found"}
    others = set(outcomes) - {lost} - {(name, 0) for name in planted.borderline}
    hard = {(name, 0) for name in planted.hard}
    faults = [
        *(["the planted fact is found"] if lost in found else []),
        *(f"{name}: not found" for name, ways in mended.items() if ways[lost][0] != "found"),
        *(f"{name} is lost" for name, _ in sorted(others - hard - found)),
        *(f"{name} is found" for name, _ in sorted(hard & found)),
        *(f"{name} is mended too" for name, _ in sorted(hard & changed)),
        *(["fewer than three other questions are found"] if len({name for name, _ in found} - {lost[0]}) < 3 else []),
    ]
    unplanted = tuple(
        name for name in (*planted.hard, *planted.borderline) if (name, 0) not in found and (name, 0) not in changed
    )
    ranks = {name: ways[lost][1] for name, ways in mended.items()}
    return Verdict(planted, outcomes[lost][0], ranks, len(found), unplanted, tuple(faults))


def _outcomes(setup: Setup) -> dict[tuple[str, int], tuple[str, int]]:
    """Return the outcome of each fact of each question, and its rank at the end."""
    evaluation = setup.evaluate()
    # A system that is asked for two hits has no depth of five
    facts = fact_outcomes(evaluation, min(K, evaluation.run.spec["candidates"]))
    ids = [(each.id, number) for each in evaluation.dataset for number in range(len(each.facts))]
    names = [facts.outcomes[number][0] for number in facts.outcome_of_fact.tolist()]
    return dict(zip(ids, zip(names, facts.ranks[-1].tolist(), strict=True), strict=True))


SYSTEMS = (
    *((each, CHUNKER, "none") for each in ("bm25", "dense", "hybrid")),
    *((each, "recursive:300/60", "none") for each in ("bm25", "dense", "hybrid")),
    *((each, CHUNKER, "cross-encoder") for each in ("bm25", "dense", "hybrid")),
    ("bm25(language=none)", CHUNKER, "none"),
    ("bm25(k1=0.9,b=0.4)", CHUNKER, "none"),
)


def print_unplanted() -> None:
    """Print which usual systems find each hard question."""
    total: Counter[int] = Counter()
    for name in ("ferry", "town", "bees"):
        texts = corpus(name)
        names = [*texts.group("hard"), *texts.group("borderline")]
        dataset = Dataset(
            tuple(query(texts, each) for each in names),
            texts.all_documents,
            name,
        )
        # The models are English
        systems = [each for each in SYSTEMS if name != "bees" or (each[0].startswith("bm25") and each[2] == "none")]
        found = [_outcomes(Setup(dataset, *each)) for each in systems]
        say(f"{name}: found by {', '.join('+'.join(each) for each in systems)}")
        for each in names:
            row = [outcomes[each, 0][0] == "found" for outcomes in found]
            total[sum(row)] += 1
            say(f"  {each:20} " + " ".join("x" if one else "." for one in row))
    say("questions by the number of systems that find them: " + ", ".join(f"{n}: {total[n]}" for n in sorted(total)))


NAMED = {
    "cut": {"cut", "overlap"},
    "overlap": {"overlap", "cut"},
    "embedding_truncated": {"embedding truncates"},
    "reranker_truncated": {"reranker truncates"},
    "language": {"language"},
    "filter": {"filter"},
    "copy": {"copies"},
    "top_n": {"cut off"},
    "candidates": {"candidates"},
    "weight": {"weight"},
    "missing_document": {"missing document"},
    "label": {"label"},
}
"""What `evaluation.repairs` calls each kind."""


def causes_of(each: Case) -> tuple[str, dict[str, str]]:
    """Return the cause that is named first for the planted fact, and for those that are lost for no planted reason."""
    setup = each.defect
    reranker = None if setup.reranker == "none" else setup.reranker
    given = {} if setup.is_own else {"system": setup.system(), "reranker": reranker}
    repairs = each.evaluate().repairs(setup.dataset, k=K, proposing=False, progress=False, **given)
    causes = {(one.query_id, one.fact): one.cause for one in repairs.lost}
    unplanted = verified(each).unplanted
    others = {name: cause for (name, _), cause in causes.items() if name in unplanted}
    return causes.get((each.query_id, each.fact + 1), "found"), others


def found_by_nudges(each: Case, names: Iterable[str]) -> set[str]:
    """Return which questions have their fact found when chunks are moved a little, in any of eleven ways."""
    setup = each.defect
    system = system_of(each.evaluate(), K, None, None)
    if system is None:
        return set()
    trials = Trials(setup.dataset, MatchRule(), {})
    places = {query.id: place for place, query in enumerate(trials.queries)}
    wanted = sorted(places[name] for name in names)
    found = [trials.ranks(one, wanted) for one in nudged(system)]
    return {trials.queries[place].id for ranks in found for (place, _), rank in ranks.items() if rank <= K}


def print_causes(asked: Sequence[Case]) -> None:
    """Print the causes that are named."""
    right, others, nudges = 0, Counter[str](), Counter[str]()
    for each in asked:
        cause, unplanted = causes_of(each)
        right += cause in NAMED[each.kind]
        others.update(unplanted.values())
        nudges.update(unplanted[name] for name in found_by_nudges(each, unplanted))
        claimed = ", ".join(f"{name}: {one}" for name, one in unplanted.items() if one != "unexplained")
        say(f"{each.name:24} {'' if cause in NAMED[each.kind] else '!':1} {cause:20} {claimed}")
    say(f"\n{right} of {len(asked)} causes are named first; of facts lost for no planted reason:")
    for cause, count in others.most_common():
        say(f"{count:6} {cause}, {nudges[cause]} of them found when chunks are moved a little")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and print a row for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kind", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--unplanted", action="store_true", help="print which usual systems find the hard questions")
    parser.add_argument("--causes", action="store_true", help="print the causes that evaluation.repairs names")
    asked = parser.parse_args(arguments)
    if asked.causes:
        print_causes(cases(asked.kind))
        return 0
    if asked.unplanted:
        print_unplanted()
        return 0
    begun = time.perf_counter()
    say(f"{'case':24} {'fact of':16} {'parts':5} {'outcome':14} {'found':>5} {'lost':>4}  rank when mended by")
    verdicts = []
    for each in cases(asked.kind):
        verdict = verified(each)
        verdicts.append(verdict)
        ways = "; ".join(f"{name}: {rank or '-'}" for name, rank in verdict.ranks.items())
        parts = "names" if each.defect.is_own else "-"
        counts = f"{verdict.found:5} {len(verdict.unplanted):4}"
        say(f"{each.name:24} {each.query_id:16} {parts:5} {verdict.outcome:14} {counts}  {ways}")
        for fault in verdict.faults:
            say(f"{'':24} ! {fault}")
    lost = Counter(name for each in verdicts for name in each.unplanted)
    good = sum(not each.faults for each in verdicts)
    say(
        f"\n{good} of {len(verdicts)} cases are as described; {lost.total()} further facts are lost, "
        f"of {len(lost)} questions; {time.perf_counter() - begun:.0f} s"
    )
    return int(good < len(verdicts))


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line.rstrip() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
