"""Runs a class through `evaluate`, checks what raglift made of it, and measures its row of the table.

A row is what was seen: stages and numbers of hits from two runs, one as deployed and one at a greater depth, and
offsets from the hits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import raglift as rl
from raglift.results.evaluation import Evaluation
from raglift.types.documents import Chunk

from .cases import OWN, RERANKERS, Case, Corpus

DEEP = 12
"""So many hits are asked for with `depth="deep"`."""
OTHER_HITS = "no: other first hits"
ASKED_AT = ("vector store", "index")
"""The kinds without a depth of their own."""


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
        "; ".join(text for text in (case.fewer, case.rewrites, case.note) if text),
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
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _depth(case: Case, deployed: Evaluation, deep: Evaluation) -> str:
    """Say whether the class returned what was asked, which must agree with what raglift says of it."""
    if _kept_as_deployed(deep):
        assert any("does not begin with the hits that it returns as deployed" in note for note in deep.notes)
        return OTHER_HITS
    own, most = (max(len(trace.stages[-1].ranking) for trace in found.run.traces) for found in (deployed, deep))
    follows = most >= DEEP
    fixed = [part for stage in _own_stages(case, deep) for part in stage.depth_fixed]
    # "(after the retriever)" may cut, or not, and of several parts inside another may have been asked
    certain = [part for part in fixed if not part.endswith(")") and "." not in part]
    assert not (certain and follows), f"{case.name}: followed the depth, yet raglift says that it could not: {certain}"
    assert follows or fixed or case.fewer, f"{case.name}: asked for {DEEP}, it returned {most}, and nothing says why"
    return "yes" if follows else f"{'in part' if most > own else 'no'}: {most}"


def _offsets(case: Case, deep: Evaluation, corpus: Corpus) -> str:
    texts = {document.id: document.text for document in corpus.dataset.documents}
    chunks = [chunk for trace in deep.run.traces for chunk in trace.stages[-1].ranking.chunks]
    placed = [chunk for chunk in chunks if chunk.start is not None]
    assert all(texts[chunk.doc_id or ""][chunk.start : chunk.end] == chunk.text for chunk in placed)
    if len(placed) in (0, len(chunks)):
        return "yes" if placed else "no"
    return f"{len(placed)} of {len(chunks)}"


# The state of a user's object, to compare before and after.


_FRAMEWORKS = ("langchain", "llama_index", "haystack")
LOADED = {"client", "async_client", "model", "_cross_encoder", "_is_warmed_up", "_warmed_up"}
"""What Haystack's components load at the first question."""
PLAIN = {int, float, bool, str, bytes, type(None)}


def snapshot(value: Any, above: frozenset[int] = frozenset()) -> Any:
    """Return every attribute of a framework's object and of what it holds; of anything else, which object it is."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if id(value) in above or isinstance(value, type):
        return id(value)
    above |= {id(value)}
    if isinstance(value, list | tuple):
        if PLAIN.issuperset(map(type, value)):  # a vector's numbers, of which there are many
            return list(value)
        return [snapshot(item, above) for item in value]
    if isinstance(value, dict):
        return {key: snapshot(item, above) for key, item in value.items()}
    if not type(value).__module__.startswith(_FRAMEWORKS) or ".callbacks" in type(value).__module__:
        return id(value)
    held = {name: item for name, item in getattr(value, "__dict__", {}).items() if name not in LOADED}
    if fields := getattr(type(value), "model_fields", None):  # what a model caches beside its fields is no state
        held = {name: item for name, item in held.items() if name in fields} | (value.__pydantic_private__ or {})
    return type(value).__name__, id(value), {name: snapshot(item, above) for name, item in held.items()}


def difference(before: Any, after: Any, place: str = "") -> str | None:
    """Return where two snapshots first differ, and how; None if they do not."""
    if before == after:
        return None
    if isinstance(before, tuple) and isinstance(after, tuple) and before[:2] == after[:2]:
        return difference(before[2], after[2], f"{place}{before[0]}.")
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return next(filter(None, (difference(before[key], after[key], f"{place}{key} ") for key in before)))
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return next(filter(None, (difference(one, other, f"{place}[{at}] ") for at, (one, other) in pairs)))
    return f"{place}was {str(before)[:200]}, is {str(after)[:200]}"
