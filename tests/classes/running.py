"""Runs a class through `evaluate`, checks what raglift made of it, and measures its row of the table.

A row is what was seen: stages and numbers of hits from two runs, one as deployed and one at a greater depth, and
offsets from the hits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import raglift as rl
from raglift.results.evaluation import Evaluation
from raglift.types.documents import Chunk

from .case import OWN, RERANKERS, Case
from .corpus import Corpus
from .snapshots import difference, snapshot

DEEP = 12
"""So many hits are asked for with `depth="deep"`."""
OTHER_HITS = "no: other first hits"
ASKED_AT = ("vector store", "index")
"""The kinds without a depth of their own."""
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
    hits: str
    """How many hits it returned as deployed, the same as when asked directly."""
    deep: str
    """Whether `depth="deep"` gave as many hits as were asked for."""
    offsets: str
    """How many of the last stage's hits have true offsets."""
    note: str
    """What else there is to know."""

    @property
    def line(self) -> str:
        """The row in Markdown."""
        cells = (f"`{self.name}`", self.kind, " → ".join(self.stages), self.hits, self.deep, self.offsets, self.note)
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def run(case: Case, corpus: Corpus) -> Row:
    """Run a class as it is deployed with all questions at once, and with `depth="deep"`.

    Raises:
        AssertionError: raglift changed the object, ranks otherwise than it does itself, or says of it what is not so.
    """
    corpus.server.replies = case.replies
    made = case.make(corpus)
    found = f"{type(made).__module__}.{type(made).__qualname__}"
    assert found == case.path, f"{case.name}: made a {found}; the case says {case.path}"
    before = snapshot(made)
    deployed = _deployed(case, made, corpus)
    deep = _evaluated(case, made, corpus, candidates=DEEP, depth="deep")
    assert (changed := difference(before, snapshot(made))) is None, f"{case.name}: the user's object: {changed}"
    _assert_as_asked_directly(case, corpus, deployed)
    _assert_fair(case, deep)
    return Row(
        case.name,
        case.package,
        case.kind,
        tuple(f"{stage.name}: {stage.system.partition('(')[0]}" for stage in _own_stages(case, deployed)),
        _hits(case, deployed),
        _depth(case, deployed, deep),
        _offsets(case, deep, corpus),
        "; ".join(text for text in (case.fewer, case.rewrites, case.note, VARIES if case.varies else "") if text),
    )


def _deployed(case: Case, made: Any, corpus: Corpus) -> Evaluation:
    """Evaluate with the default depth: nothing is said of it but where the class has none of its own."""
    options: dict[str, Any] = {"concurrency": len(corpus.dataset.queries)}
    if case.kind in ASKED_AT:
        options["k"] = OWN
    if case.kind in RERANKERS:
        options["candidates"] = OWN
    return _evaluated(case, made, corpus, **options)


def _evaluated(case: Case, made: Any, corpus: Corpus, **options: Any) -> Evaluation:
    is_reranker = case.kind in RERANKERS
    assert is_reranker == (case.base is not None), f"{case.name}: `base` is for rerankers, and they need it"
    system = case.base(corpus) if case.base is not None else made
    reranker = made if is_reranker else None
    evaluation = rl.evaluate(
        system, corpus.dataset, reranker=reranker, ks=(OWN,), retries=0, on_error="raise", **options
    )
    assert all(any(stage.ranking.hits for stage in trace.stages) for trace in evaluation.run.traces)
    return evaluation


def _own_stages(case: Case, evaluation: Evaluation) -> tuple[Any, ...]:
    """The stages that came of the class itself, without the retriever in front of a reranker."""
    return evaluation.run.stages[1:] if case.kind in RERANKERS else evaluation.run.stages


def _assert_as_asked_directly(case: Case, corpus: Corpus, deployed: Evaluation) -> None:
    """As deployed, what raglift ranks at once is all that the class returns when it is asked directly, in turn.

    A new object is asked: some change with every question.
    """
    made = case.make(corpus)
    for query, trace in zip(corpus.dataset.queries, deployed.run.traces, strict=True):
        candidates: tuple[Chunk, ...] = trace.stages[0].ranking.chunks if case.kind in RERANKERS else ()
        direct = list(case.ask(made, query.text, candidates))
        if case.kind in ASKED_AT:  # an index may return all that it holds
            direct = direct[:OWN]
        assert [chunk.text for chunk in trace.stages[-1].ranking.chunks] == direct, f"{case.name}: {query.text}"


def _assert_fair(case: Case, deep: Evaluation) -> None:
    """Every stage after the first ranks the candidates of the one before it: all of them, unless it says why not."""
    if case.rewrites or _kept_as_deployed(deep):
        return
    for trace in deep.run.traces:
        for before, after in pairwise(trace.stages):
            candidates = [chunk.id for chunk in before.ranking.chunks]
            kept = [chunk.id for chunk in after.ranking.chunks]
            assert set(kept) <= set(candidates), f"{case.name}: {after.stage} ranked what {before.stage} did not find"
            whole = not case.fewer and not deep.run.stages[-1].depth_fixed
            assert not whole or sorted(kept) == sorted(candidates), f"{case.name}: {after.stage} dropped candidates"


def _kept_as_deployed(deep: Evaluation) -> bool:
    """Whether the figures are those of the deployed system, since more hits would change the first ones."""
    return deep.run.stages[0].has_own_depth


def _hits(case: Case, deployed: Evaluation) -> str:
    """How many hits the questions got, from the fewest to the most."""
    numbers = sorted({len(trace.stages[-1].ranking) for trace in deployed.run.traces})
    if case.varies:
        return "varies"
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _depth(case: Case, deployed: Evaluation, deep: Evaluation) -> str:
    """Say whether the class returned what was asked, which must agree with what raglift says of it."""
    if _kept_as_deployed(deep):
        assert any("does not begin with the hits that it returns as deployed" in note for note in deep.notes)
        return "varies" if case.varies else OTHER_HITS
    own, most = (max(len(trace.stages[-1].ranking) for trace in found.run.traces) for found in (deployed, deep))
    follows = most >= DEEP
    fixed = [part for stage in _own_stages(case, deep) for part in stage.depth_fixed]
    # "(after the retriever)" may cut, or not, and of several parts inside another may have been asked
    certain = [part for part in fixed if not part.endswith(")") and "." not in part]
    assert not (certain and follows), f"{case.name}: followed the depth, yet raglift says that it could not: {certain}"
    chooses = any("an agent asks for as many hits as it chooses" in note for note in deep.notes)
    is_told = follows or fixed or case.fewer or chooses
    assert is_told, f"{case.name}: asked for {DEEP}, it returned {most}, and nothing says why"
    if case.varies:
        return "varies"
    return "yes" if follows else f"{'in part' if most > own else 'no'}: {most}"


def _offsets(case: Case, deep: Evaluation, corpus: Corpus) -> str:
    texts = {document.id: document.text for document in corpus.dataset.documents}
    chunks = [chunk for trace in deep.run.traces for chunk in trace.stages[-1].ranking.chunks]
    placed = [chunk for chunk in chunks if chunk.start is not None]
    assert all(texts[chunk.doc_id or ""][chunk.start : chunk.end] == chunk.text for chunk in placed)
    if len(placed) in (0, len(chunks)):
        return "yes" if placed else "no"
    return "in part" if case.varies else f"{len(placed)} of {len(chunks)}"
