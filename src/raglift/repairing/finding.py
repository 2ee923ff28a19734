"""Why facts are lost: each change tried on the questions that lost something, and causes claimed where they hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from raglift.analysis.outcomes import fact_outcomes
from raglift.analysis.upper_bound import match_tables_of
from raglift.repairing.changes import MOST_RERANKED, SHUFFLING, Variant, can_embed, variants_of
from raglift.repairing.records import UNEXPLAINED, LostFact, Rival, Tried, effect_of
from raglift.repairing.systems import GIVEN, NO_RERANKER
from raglift.retrieval.analyzers import Analyzer
from raglift.retrieval.embedding import missing_texts
from raglift.retrieval.models import EMBEDDED_MODEL, seconds_loading
from raglift.retrieval.retrievers import RetrieverSpec, parse_retriever
from raglift.text.words import words_of
from raglift.utilities.cache import bypassed, default_cache
from raglift.utilities.display import excerpt
from raglift.utilities.progress import notice, track

if TYPE_CHECKING:
    from raglift.analysis.outcomes import FactOutcomes
    from raglift.repairing.systems import System, Trials
    from raglift.results.evaluation import Evaluation
    from raglift.types.labels import Fact, Query

Place = tuple[int, int]
"""A query, among the labelled ones, and a fact of it, from 0."""


def lost_facts(
    evaluation: Evaluation, k: int, system: System | None, trials: Trials, *, proposing: bool
) -> list[LostFact]:
    """Return the lost facts of an evaluation, each with its cause and the changes that find it.

    Args:
        evaluation: of the system as it was run.
        k: by which rank a fact is to be found.
        system: its parts; None where they are not known, and only the hits of the run can tell.
        trials: the systems over its dataset.
        proposing: whether changes are tried on all questions afterwards.
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
        unknown = [place for place, causes in found.items() if not causes]
        variants = list(variants_of(system, detected=trials.language))
        if unknown:
            say_effort(system, variants, trials, len(unknown), MOST_RERANKED if proposing else 0)
        cut = {place for place in unknown if lost[place][1] == "not_attainable"}
        for place, tried in _by_trials(system, variants, trials, unknown, cut).items():
            found[place] += tried
        ranks = {name: trials.ranks(one, _queries(lost)) for name, one in _looked_at(system).items()}
    terms = Analyzer(trials.language).terms
    rivals = _rivals(evaluation, trials, lost, terms)
    return [
        _lost(trials, place, outcome, found[place], ranks, terms, rivals.get(place))
        for place, (_, outcome) in lost.items()
    ]


def _rivals(
    evaluation: Evaluation, trials: Trials, lost: Iterable[Place], terms: Callable[[str], list[str]]
) -> dict[Place, Rival]:
    """Return the first hit of the run that is not the passage of each lost fact, and what speaks for it."""
    table = match_tables_of(evaluation)[-1]
    numbers = {query.id: number for number, query in enumerate(evaluation.dataset.queries)}
    fact = table.matches.fact - table.facts.first_of_query(table.matches.query)
    columns = (table.matches.query.tolist(), fact.tolist(), table.matches.rank.tolist())
    matching = set(zip(*columns, strict=True))
    found = {}
    for place in lost:
        query = trials.queries[place[0]]
        number, hits = numbers[query.id], evaluation.hits(query.id)
        others = [hit for hit in hits if (number, place[1], hit.rank) not in matching]
        own = [hit for hit in hits if (number, place[1], hit.rank) in matching]
        if others:
            rival, lacked = others[0], _missing(query, query.facts[place[1]], terms)
            has = set(terms(rival.chunk.indexed_text))
            words = tuple(word for word in lacked if set(terms(word)) <= has)
            score = own[0].score if own else None
            text = excerpt(rival.chunk.text)
            found[place] = Rival(rival.chunk.id, rival.chunk.doc_id, text, words, rival.score, score)
    return found


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
        model = system.embedding or EMBEDDED_MODEL
        if can_embed(model):
            found["embedding"] = replace(deep, retriever="dense", embedding=model)
    return found


def _queries(places: Iterable[Place]) -> list[int]:
    return sorted({query for query, _ in places})


def _from_hits(
    evaluation: Evaluation, trials: Trials, place: Place, row: int, outcomes: FactOutcomes
) -> Iterator[Tried | str]:
    """Yield what the labels, the chunks and the hits of a run alone tell of a lost fact."""
    if outcomes.outcomes[outcomes.outcome_of_fact[row]][0] == "failed":
        yield "failed"
    fact = trials.queries[place[0]].facts[place[1]]
    texts = [passage.text for passage in fact.passages if passage.text is not None]
    can_match = outcomes.outcomes[outcomes.outcome_of_fact[row]][0] not in ("failed", "missed", "not_attainable")
    is_literal = len(texts) == len(fact.passages) and trials.rule.mode != "fuzzy" and not can_match
    if is_literal and not any(map(trials.is_in_documents, texts)):
        yield "label"
    inventory = evaluation.run.inventory
    if inventory is not None and not any(touched == row for _, touched, _, _ in inventory.touches):
        yield "missing document"
    query = trials.queries[place[0]]
    takes_filters = evaluation.run.spec.get("filtered", {}).get("taken", False)
    if trials.given is None and query.filter and takes_filters and not trials.allows(query.filter, fact):
        yield "filter"
    ranks = outcomes.ranks[:, row].tolist()
    for stage, before, after in zip(evaluation.scores.stages[1:], ranks, ranks[1:], strict=False):
        # One that passes on k hits or more has ranked it lower
        if 0 < before <= outcomes.k and not after and evaluation.truncated.get(stage, outcomes.k) < outcomes.k:
            yield "cut off"


def _by_trials(
    system: System, variants: Sequence[Variant], trials: Trials, lost: Sequence[Place], cut: AbstractSet[Place]
) -> dict[Place, list[Tried]]:
    """Return the changes that find each lost fact, up to the one that is its cause; `cut` are in no chunk."""
    found: dict[Place, list[Tried]] = {place: [] for place in lost}
    left = set(lost)
    with track("try", len(variants), "changes", show=trials.progress) as advance:
        for variant in variants:
            mended = _found(variant.system, trials, left)
            if variant.change.cause.endswith("truncates"):  # a fact that was read all along is found by luck
                mended = {
                    place: rank for place, rank in mended.items() if trials.truncates(variant.system, place[0], rank)
                }
            is_shuffling = bool(mended) and variant.change.cause in SHUFFLING and _shuffles(system, variant, trials)
            asked = [place for place in mended if not is_shuffling or place in cut]
            near = [_found(one, trials, asked) for one in _neighbours(variant, trials)] if asked else []
            for place, rank in mended.items():
                shuffled = place not in asked
                agreeing = 1.0 if shuffled or not near else sum(place in one for one in near) / len(near)
                tried = Tried(variant.change, rank, agreeing, only_shuffles=shuffled)
                found[place].append(tried)
                if tried.explains:
                    left.discard(place)
            advance(1)
    return found


_LARGE, _EVERY = 1_000_000, 4
"""Of documents with more characters, as many of the neighbouring settings as need embeddings are left out."""


def _neighbours(variant: Variant, trials: Trials) -> tuple[System, ...]:
    is_large = sum(len(document.text) for document in trials.dataset.documents) > _LARGE
    return variant.neighbours[:: _EVERY if is_large and variant.system.embedding is not None else 1]


def _shuffles(system: System, variant: Variant, trials: Trials) -> bool:
    """Whether a change breaks more than half as many questions as it mends; before reranking, if both rerank."""
    before, after = system, variant.system
    if NO_RERANKER not in (before.reranker, after.reranker):
        before, after = (replace(one.source, k=one.candidates) for one in (before, after))
    return effect_of(variant.change, trials.facts(before), trials.facts(after)).only_shuffles


def _found(system: System, trials: Trials, places: Iterable[Place]) -> dict[Place, int]:
    """Return which of some facts a system finds by rank k, with their ranks."""
    wanted = set(places)
    has_new_texts = trials.given is not None and trials.given.has_new_texts
    if system.reranker != NO_RERANKER and not has_new_texts:  # only what is among the candidates can be ranked first
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
    terms: Callable[[str], list[str]],
    rival: Rival | None,
) -> LostFact:
    query = trials.queries[place[0]]
    fact = query.facts[place[1]]
    known = next((one for one in tried if isinstance(one, str)), None)
    changes = [one for one in tried if not isinstance(one, str)]
    claimed = (one.change.cause for one in changes if one.explains)
    cause = known or next(claimed, UNEXPLAINED)
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
        missing=_missing(query, fact, terms),
        rival=rival,
    )


def _missing(query: Query, fact: Fact, terms: Callable[[str], list[str]]) -> tuple[str, ...]:
    """Return the words of a question that no passage of a fact has, apart from stop words and endings."""
    there = {term for passage in fact.passages for term in terms(passage.text or "")}
    return tuple(dict.fromkeys(word for word in words_of(query.text) if not set(terms(word)) <= there))


# What it takes, said before.


_SAMPLE = 16
_WORTH_SAYING = 20.0
"""Seconds."""


def say_effort(system: System, variants: Sequence[Variant], trials: Trials, lost: int, tried: int) -> None:
    """Say how many texts are to be embedded and pairs to be scored at most, and for how long, by timing a few.

    Args:
        system: as it was run.
        variants: of it, tried on lost facts.
        trials: the systems over its dataset.
        lost: how many facts are lost.
        tried: how many changes are tried on all questions.
    """
    texts, seconds = _to_embed(variants, trials)
    parts = [f"{texts:,} texts to embed"] * bool(texts)
    if system.reranker not in (NO_RERANKER, GIVEN):
        depths = [one.system.candidates for one in variants if one.system.reranker != NO_RERANKER]
        pairs = lost * sum(depths) + tried * len(trials.queries) * system.candidates
        first = [hit.chunk.text for ranking in trials.retrieved(system.source) for hit in ranking.hits[:1]]
        sample = [(trials.queries[0].text, text) for text in first[:_SAMPLE]]
        seconds += _seconds(partial(trials.reranker(system.reranker).score, sample)) / max(len(sample), 1) * pairs
        parts.append(f"{pairs:,} pairs to rerank")
    if seconds > _WORTH_SAYING:
        text = f"at most {' and '.join(parts)}, about {max(1, round(seconds / 60)):,} min"
        notice(text, show=trials.progress, is_slow=True)


def _to_embed(variants: Sequence[Variant], trials: Trials) -> tuple[int, float]:
    """Return how many texts the cache lacks, and how long it takes to embed them."""
    systems = [one for variant in variants for one in (variant.system, *variant.neighbours)]
    missing: dict[str, dict[str, None]] = {}
    for chunker, model in dict.fromkeys((one.chunker, one.embedding) for one in systems if one.embedding is not None):
        texts = [chunk.indexed_text for chunk in trials.chunks(chunker)]
        new = missing_texts(trials.embedder(model), texts, "document", default_cache())
        missing.setdefault(model, {}).update(dict.fromkeys(new))
    seconds = 0.0
    for model, new_texts in missing.items():
        sample = list(new_texts)[:_SAMPLE]
        if sample:
            spent = _seconds(partial(trials.embedder(model).embed, sample, "document"))
            seconds += spent / len(sample) * len(new_texts)
    return sum(map(len, missing.values())), seconds


def _seconds(compute: Callable[[], Any]) -> float:
    """Return how long a model takes, without loading it."""
    with bypassed():
        started = time.perf_counter() - seconds_loading()
        compute()
        return time.perf_counter() - seconds_loading() - started
