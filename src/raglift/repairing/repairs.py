"""`evaluation.repairs()`: why facts are lost, and which changes mend them, each really run again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.analysis.upper_bound import depth_of, rule_of
from raglift.errors import ConfigurationError
from raglift.repairing.choosing import proposals
from raglift.repairing.finding import lost_facts
from raglift.repairing.records import Effect, Proposal, Repairs
from raglift.repairing.systems import Given, Trials, system_of
from raglift.stats.intervals import checked_integer
from raglift.types.dataset import Dataset
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.results.evaluation import Evaluation
    from raglift.types.documents import Document

_NO_PARTS = (
    "the parts of this system are not known, or one is code, which no saved run may name: only what its hits, its "
    "chunks and the labels tell is said; hand the system over to have it asked again (--system)"
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
    retriever, candidates, chunks, the reranker, another retriever. It is a lost fact's cause where it alone finds it by
    rank k, and at least half of its neighbouring settings do too. Then those that mend most are tried on all questions,
    alone and in pairs, chosen on one half of the questions and measured on the other.

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
        ConfigurationError: an agent, no documents, or a k that is not a depth of the run.
    """
    run, dataset = evaluation.run, evaluation.dataset
    if run.has_sessions:
        raise ConfigurationError("repairs: found sessions; expected a system that searches once for each question")
    asked = int(run.spec["candidates"])
    depth = depth_of(evaluation, None) if k is None else checked_integer("k", k, least=1)
    settings = {name: run.spec[name] for name in ("dtype", "device", "batch_size") if name in run.spec}
    searched = documents.documents if isinstance(documents, Dataset) else tuple(documents or dataset.documents)
    given = replace(dataset, documents=searched)
    parts = None if system is None else Given.of(system, reranker)
    trials = Trials(given, rule_of(evaluation), settings, progress, parts)
    described = system_of(evaluation, depth, parts, reranker)
    lost = lost_facts(evaluation, min(depth, asked), described, trials, proposing=proposing)
    effects: list[Effect] = []
    found: list[Proposal] = []
    if described is not None and proposing:
        effects, found = proposals(described, lost, trials, seed=seed, confidence=confidence)
    name = ", then ".join(stage.system for stage in run.stages)
    notes = [_NO_PARTS] * (described is None)
    if parts is not None and parts.failed:
        notes.append(
            f"the system failed {counted(parts.failed, 'time')} when it was asked again: these count as no hits"
        )
    return Repairs(name, depth, len(trials.queries), tuple(lost), tuple(effects), tuple(found), tuple(notes))
