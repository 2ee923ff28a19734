"""`evaluation.repairs()`: why facts are lost, and which changes mend them, each really run again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.analysis.upper_bound import depth_of, rule_of
from raglift.errors import ConfigurationError
from raglift.repairing.choosing import proposals
from raglift.repairing.finding import lost_facts
from raglift.repairing.given import Given
from raglift.repairing.records import Effect, Proposal, Repairs
from raglift.repairing.systems import Trials, system_of
from raglift.stats.intervals import checked_integer
from raglift.types.dataset import Dataset
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.results.evaluation import Evaluation
    from raglift.types.documents import Document

_NO_PARTS = (
    "the parts of this system are not known, or code or a provider of yours, so nothing was tried: only what its hits, "
    "its chunks and the labels tell is said; to have it asked again, hand it over: --system my_rag:retriever, or "
    "system= in Python"
)


def find_repairs(
    evaluation: Evaluation,
    documents: Dataset | Sequence[Document] | None = None,
    *,
    system: Any = None,
    reranker: Any = None,
    k: int | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    proposing: bool = True,
    progress: bool | None = None,
) -> Repairs:
    """Return why the facts of an evaluation are lost, and which changes mend them.

    Every change of one thing is really run again: filters, truncation by a model, copies, the language and weight of a
    retriever, candidates, chunks, the reranker, another retriever or embedding model. It is a lost fact's cause if it
    alone finds it by rank k, at least half of its neighbouring settings do too, and it breaks at most half as many
    questions as it mends, or just one or two. Then those that mend most are tried on all questions, alone and in pairs,
    chosen on one half of the questions and measured on the other.

    Args:
        evaluation: of raglift's own parts, as `raglift evaluate` and sweeps save it; of another system, only what its
            hits tell.
        documents: what was searched, or a dataset that has them; a saved evaluation does not.
        system: the retriever that was evaluated, if it is your own: it is asked again, with more hits and without
            filters.
        reranker: the reranker that was evaluated with it, or its name.
        k: by which rank a fact is to be found; by default the deepest that was scored.
        seed: of the halves, and of the tests.
        confidence: of the tests.
        proposing: whether changes are also tried on all questions, which takes most of the time.
        progress: whether to show progress; None decides by the terminal.

    Raises:
        ConfigurationError: an agent, no documents, a reranker without its retriever or the other way round, or a k that
            is no depth.
    """
    run, dataset = evaluation.run, evaluation.dataset
    if run.has_sessions:
        raise ConfigurationError("repairs: found sessions; expected a system that searches once for each question")
    if reranker is not None and system is None:
        raise ConfigurationError(
            "repairs: found a reranker without a system; expected system=…, the retriever, with it"
        )
    asked = int(run.spec["candidates"])
    depth = depth_of(evaluation, None) if k is None else checked_integer("k", k, least=1)
    settings = {name: run.spec[name] for name in ("dtype", "device", "batch_size") if name in run.spec}
    searched = documents.documents if isinstance(documents, Dataset) else tuple(documents or dataset.documents)
    given = replace(dataset, documents=searched)
    parts = None if system is None else Given.of(system, reranker, evaluation, depth, given)
    trials = Trials(given, rule_of(evaluation), settings, progress, parts)
    described = system_of(evaluation, depth, parts, reranker)
    lost = lost_facts(evaluation, min(depth, asked), described, trials, proposing=proposing)
    effects: list[Effect] = []
    found: list[Proposal] = []
    if described is not None and proposing:
        effects, found = proposals(described, lost, trials, seed=seed, confidence=confidence)
    if parts is not None:
        found = [replace(one, changes=tuple(map(parts.in_code, one.changes))) for one in found]
    name = ", then ".join(stage.system for stage in run.stages)
    notes = [_NO_PARTS] * (described is None)
    if parts is not None and parts.failed:
        notes.append(
            f"the system failed {counted(parts.failed, 'time')} when it was asked again: these count as no hits"
        )
    return Repairs(name, depth, len(trials.queries), tuple(lost), tuple(effects), tuple(found), tuple(notes))
