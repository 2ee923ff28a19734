"""Runs a class through `evaluate`, checks what raglift made of it, and measures its row of the table.

A row is what was seen: stages from the run, depth from asking for two depths, offsets from the hits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import raglift as rl
from raglift.records.documents import Chunk
from raglift.results.evaluation import Evaluation

from .case import OWN, RERANKERS, Case
from .corpus import Corpus
from .snapshots import difference, snapshot

DEPTHS = (6, 12)
VARIES = "what it finds hangs on the order of a set, which differs from run to run"


@dataclass(frozen=True)
class Row:
    """What was seen of one class."""

    name: str
    """The class, and its setting."""
    package: str
    """The package it comes from."""
    kind: str
    """What it is."""
    stages: tuple[str, ...]
    """What it was opened into."""
    depth: str
    """Whether its depth follows what is asked."""
    offsets: str
    """How many of the last stage's hits have true offsets."""
    note: str
    """What else there is to know."""

    @property
    def line(self) -> str:
        """The row in Markdown."""
        cells = (f"`{self.name}`", self.kind, " → ".join(self.stages), self.depth, self.offsets, self.note)
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def run(case: Case, corpus: Corpus) -> Row:
    """Run a class at two depths, and as it is deployed with all questions at once.

    Raises:
        AssertionError: raglift changed the object, or says of it what is not so.
    """
    corpus.server.replies = case.replies
    made = case.make(corpus)
    found = f"{type(made).__module__}.{type(made).__qualname__}"
    assert found == case.path, f"{case.name}: made a {found}; the case says {case.path}"
    before = snapshot(made)
    shallow, deep = (_evaluated(case, made, corpus, depth) for depth in DEPTHS)
    deployed = _evaluated(case, made, corpus, OWN, depth="deployed", concurrency=len(corpus.dataset.queries))
    assert (changed := difference(before, snapshot(made))) is None, f"{case.name}: the user's object: {changed}"
    _assert_as_asked_directly(case, corpus, deployed)
    _assert_fair(case, deep)
    return Row(
        case.name,
        case.package,
        case.kind,
        tuple(f"{stage.name}: {stage.system.partition('(')[0]}" for stage in _own_stages(case, deep)),
        _depth(case, shallow, deep),
        _offsets(case, deep, corpus),
        "; ".join(text for text in (case.fewer, case.rewrites, case.note, VARIES if case.varies else "") if text),
    )


def _evaluated(case: Case, made: Any, corpus: Corpus, depth: int, **options: Any) -> Evaluation:
    is_reranker = case.kind in RERANKERS
    assert is_reranker == (case.base is not None), f"{case.name}: `base` is for rerankers, and they need it"
    system = case.base(corpus) if case.base is not None else made
    reranker = made if is_reranker else None
    evaluation = rl.evaluate(
        system, corpus.dataset, reranker=reranker, ks=(depth,), candidates=depth, retries=0, on_error="raise", **options
    )
    assert all(any(stage.ranking.hits for stage in trace.stages) for trace in evaluation.run.traces)
    return evaluation


def _own_stages(case: Case, evaluation: Evaluation) -> tuple[Any, ...]:
    """The stages that came of the class itself, without the retriever in front of a reranker."""
    return evaluation.run.stages[1:] if case.kind in RERANKERS else evaluation.run.stages


def _assert_as_asked_directly(case: Case, corpus: Corpus, deployed: Evaluation) -> None:
    """At its own depth, what raglift ranks at once is what the class returns when it is asked directly, in turn.

    A new object is asked: some change with every question.
    """
    made = case.make(corpus)
    for query, trace in zip(corpus.dataset.queries, deployed.run.traces, strict=True):
        candidates: tuple[Chunk, ...] = trace.stages[0].ranking.chunks if case.kind in RERANKERS else ()
        direct = list(case.ask(made, query.text, candidates))
        if len(trace.stages) == 1:  # some return more than they were made with, as what two retrievers found
            direct = direct[:OWN]
        assert [chunk.text for chunk in trace.stages[-1].ranking.chunks] == direct, f"{case.name}: {query.text}"


def _assert_fair(case: Case, deep: Evaluation) -> None:
    """Every stage after the first ranks the candidates of the one before it: all of them, unless it says why not."""
    if case.rewrites:
        return
    for trace in deep.run.traces:
        for before, after in pairwise(trace.stages):
            candidates = [chunk.id for chunk in before.ranking.chunks]
            kept = [chunk.id for chunk in after.ranking.chunks]
            assert set(kept) <= set(candidates), f"{case.name}: {after.stage} ranked what {before.stage} did not find"
            whole = not case.fewer and not deep.run.stages[-1].depth_fixed
            assert not whole or sorted(kept) == sorted(candidates), f"{case.name}: {after.stage} dropped candidates"


def _depth(case: Case, shallow: Evaluation, deep: Evaluation) -> str:
    """Say whether the class returned what was asked, which must agree with what raglift says of it."""
    most = [max(len(trace.stages[-1].ranking) for trace in found.run.traces) for found in (shallow, deep)]
    follows = all(found >= asked for found, asked in zip(most, DEPTHS, strict=True))
    fixed = [part for stage in _own_stages(case, deep) for part in stage.depth_fixed]
    # "(after the retriever)" may cut, or not, and of several parts inside another may have been asked
    certain = [part for part in fixed if not part.endswith(")") and "." not in part]
    assert not (certain and follows), f"{case.name}: followed the depth, yet raglift says that it could not: {certain}"
    said = fixed or case.fewer
    assert follows or said, f"{case.name}: asked for {DEPTHS}, it returned {most}, and nothing says why"
    if case.varies:
        return "varies"
    return "yes" if follows else f"{'in part' if most[0] < most[1] else 'no'}: {most[0]}, {most[1]}"


def _offsets(case: Case, deep: Evaluation, corpus: Corpus) -> str:
    texts = {document.id: document.text for document in corpus.dataset.documents}
    chunks = [chunk for trace in deep.run.traces for chunk in trace.stages[-1].ranking.chunks]
    placed = [chunk for chunk in chunks if chunk.start is not None]
    assert all(texts[chunk.doc_id or ""][chunk.start : chunk.end] == chunk.text for chunk in placed)
    if len(placed) in (0, len(chunks)):
        return "yes" if placed else "no"
    return "in part" if case.varies else f"{len(placed)} of {len(chunks)}"
