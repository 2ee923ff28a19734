"""A system with a defect, the same without it, and the questions that both are asked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.planting.corpora import query

import raglift as rl
from raglift.retrieval import parse_chunker, parse_retriever
from raglift.running import LocalSystem, build_retriever
from raglift.types import Dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.planting.corpora import Corpus

    from raglift import Evaluation

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
