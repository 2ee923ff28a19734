"""Why facts are lost: each change tried on the questions that lost something, and causes claimed where they hold."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.analysis.outcomes import fact_outcomes
from raglift.repairing.changes import changes_of
from raglift.repairing.records import UNEXPLAINED, LostFact, Tried
from raglift.repairing.systems import GIVEN, NO_RERANKER
from raglift.retrieval.analyzers import language_of
from raglift.retrieval.embedding import embed, missing_texts
from raglift.retrieval.models import EMBEDDED_MODEL
from raglift.retrieval.retrievers import RetrieverSpec, parse_retriever
from raglift.text.normalization import normalize
from raglift.utilities.cache import default_cache
from raglift.utilities.progress import notice, track

if TYPE_CHECKING:
    from raglift.analysis.outcomes import FactOutcomes
    from raglift.repairing.systems import System, Trials
    from raglift.results.evaluation import Evaluation
    from raglift.types.labels import Fact, Query

_AGREEING = 0.5
"""So many of the neighbouring settings must find a fact too."""

Place = tuple[int, int]
"""A query, among the labelled ones, and a fact of it, from 0."""


def lost_facts(evaluation: Evaluation, k: int, system: System | None, trials: Trials) -> list[LostFact]:
    """Return the lost facts of an evaluation, each with its cause and the changes that find it.

    Args:
        evaluation: of the system as it was run.
        k: by which rank a fact is to be found.
        system: its parts; None where they are not known, and only the hits of the run can tell.
        trials: the systems over its dataset.
    """
    outcomes = fact_outcomes(evaluation, k)
    numbers = {query.id: number for number, query in enumerate(trials.queries)}
    lost: dict[Place, tuple[int, str]] = {}
    first = 0
    for query in evaluation.dataset.queries:
        if not query.is_labelled:
            continue
        for fact in range(len(query.facts)):
            outcome = outcomes.outcomes[outcomes.outcome_of_fact[first + fact]][0]
            if outcome != "found":
                lost[numbers[query.id], fact] = (first + fact, outcome)
        first += len(query.facts)
    found: dict[Place, list[Tried | str]] = {
        place: list(_from_hits(evaluation, trials, place, row, outcomes)) for place, (row, _) in lost.items()
    }
    ranks: dict[str, dict[Place, int]] = {}
    if system is not None:
        untold = [place for place, told in found.items() if not told]
        if untold:
            say_effort(system, trials)
        for place, tried in _by_trials(system, trials, untold).items():
            found[place] += tried
        ranks = {name: trials.ranks(one, _queries(lost)) for name, one in _looked_at(system).items()}
    return [_lost(trials, place, outcome, found[place], ranks) for place, (_, outcome) in lost.items()]


_DEEP, _TIMES = 1000, 10
"""How deep each kind of retriever is looked at, and, as a multiple of k, a system without a reranker."""


def _looked_at(system: System) -> dict[str, System]:
    """Return the system, and each kind of retriever alone, by name."""
    deeper = max(system.candidates, _TIMES * system.k) if system.reranker == NO_RERANKER else system.candidates
    found = {"": replace(system, candidates=deeper)}
    if system.retriever != GIVEN:
        deep = replace(system, reranker=NO_RERANKER, candidates=_DEEP)
        spec = parse_retriever(system.retriever)
        found["BM25"] = replace(deep, retriever=str(RetrieverSpec("bm25", bm25=spec.bm25)), embedding=None)
        found["embedding"] = replace(deep, retriever="dense", embedding=system.embedding or EMBEDDED_MODEL)
    return found


def _queries(places: Iterable[Place]) -> list[int]:
    return sorted({query for query, _ in places})


def _from_hits(
    evaluation: Evaluation, trials: Trials, place: Place, row: int, outcomes: FactOutcomes
) -> Iterator[Tried | str]:
    """Yield what the labels, the chunks and the hits of a run alone tell of a lost fact."""
    fact = trials.queries[place[0]].facts[place[1]]
    texts = [passage.text for passage in fact.passages if passage.text is not None]
    if texts and not any(map(trials.is_in_documents, texts)):
        yield "label"
    inventory = evaluation.run.inventory
    if inventory is not None and not any(touched == row for _, touched, _, _ in inventory.touches):
        yield "missing document"
    query = trials.queries[place[0]]
    if trials.given is None and query.filter is not None and not trials.allows(query.filter, fact):
        yield "filter"
    ranks = outcomes.ranks[:, row].tolist()
    for stage, before, after in zip(evaluation.scores.stages[1:], ranks, ranks[1:], strict=False):
        if 0 < before <= outcomes.k and not after and stage in evaluation.truncated:
            yield "cut off"


_SAMPLE = 16


def say_effort(system: System, trials: Trials) -> None:
    """Say how many texts are to be embedded at most, and for how long, by timing the first of them."""
    changes = changes_of(system, detected="")
    systems = [one for change in changes for one in (change.system, *change.neighbours) if one.embedding is not None]
    missing: dict[str, None] = {}
    for chunker, model in dict.fromkeys((one.chunker, str(one.embedding)) for one in systems):
        embedder, texts = trials.embedder(model), [chunk.indexed_text for chunk in trials.chunks(chunker)]
        missing |= dict.fromkeys(missing_texts(embedder, texts, "document", default_cache()))
    if len(missing) <= _SAMPLE or not systems:
        return
    started, sample = time.perf_counter(), list(missing)[:_SAMPLE]
    embed(trials.embedder(str(systems[0].embedding)), sample, "document", default_cache(), progress=False)
    minutes = (time.perf_counter() - started) / _SAMPLE * len(missing) / 60
    notice(f"at most {len(missing):,} texts to embed, about {max(1, round(minutes)):,} min", show=trials.progress)


def _by_trials(system: System, trials: Trials, lost: Sequence[Place]) -> dict[Place, list[Tried]]:
    """Return the changes that find each lost fact, up to the one that is its cause."""
    found: dict[Place, list[Tried]] = {place: [] for place in lost}
    left = set(lost)
    detected = language_of(document.text for document in trials.dataset.documents)
    changes = list(changes_of(system, detected=detected))
    with track("try", len(changes), "changes", show=trials.progress) as advance:
        for change in changes:
            mended = _found(change.system, trials, left)
            near = [_found(one, trials, mended) for one in change.neighbours] if mended else []
            for place, rank in mended.items():
                agreeing = sum(place in one for one in near) / len(near) if near else 1.0
                found[place].append(Tried(change, rank, agreeing))
                if agreeing >= _AGREEING:
                    left.discard(place)
            advance(1)
    return found


def _found(system: System, trials: Trials, places: Iterable[Place]) -> dict[Place, int]:
    """Return which of some facts a system finds by rank k, with their ranks."""
    wanted = set(places)
    if system.reranker != NO_RERANKER and wanted:  # only what is among the candidates can be ranked first
        candidates = trials.ranks(replace(system, reranker=NO_RERANKER), _queries(wanted))
        wanted &= candidates.keys()
    if not wanted:
        return {}
    ranks = trials.ranks(system, _queries(wanted))
    return {place: rank for place, rank in ranks.items() if place in wanted and rank <= system.k}


def _lost(
    trials: Trials,
    place: Place,
    outcome: str,
    tried: Sequence[Tried | str],
    ranks: Mapping[str, Mapping[Place, int]],
) -> LostFact:
    query = trials.queries[place[0]]
    fact = query.facts[place[1]]
    told = next((one for one in tried if isinstance(one, str)), None)
    changes = [one for one in tried if not isinstance(one, str)]
    cause = told or next((one.change.cause for one in changes if one.agreeing >= _AGREEING), UNEXPLAINED)
    if outcome == "not_attainable":  # no chunk has the passage: whatever finds it mends the cut
        cause = {"chunk size": "cut"}.get(cause, cause)
    elif cause == "overlap":
        cause = "chunk size"
    passage = fact.passages[0]
    return LostFact(
        query.id,
        query.text,
        place[1] + 1,
        passage.text or f"the chunk {passage.chunk_id}",
        outcome,
        cause,
        tuple(changes),
        rank=ranks.get("", {}).get(place),
        alone=tuple((name, of.get(place)) for name, of in ranks.items() if name),
        missing=_missing(query, fact),
    )


def _missing(query: Query, fact: Fact) -> tuple[str, ...]:
    """Return the words of a question that no passage of a fact has."""
    texts = {word for passage in fact.passages for word in normalize(passage.text or "").split()}
    return tuple(dict.fromkeys(word for word in normalize(query.text).split() if word not in texts))
