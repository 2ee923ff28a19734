"""Notes of an evaluation: what a reader of its figures must know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.chunking import index_share
from raglift.analysis.filters import filter_notes
from raglift.analysis.paired_statistics import primary_of
from raglift.analysis.records import Note, NoteKind
from raglift.analysis.truncation import read_in_part_notes
from raglift.analysis.unjudged import unjudged_of, unjudged_text
from raglift.analysis.warnings import changed_hits_notes
from raglift.errors import ConfigurationError
from raglift.matching.nearest import lost_labels_note
from raglift.metrics.budgets import context_totals, prefix_lengths
from raglift.metrics.profiles.registry import PROFILES
from raglift.metrics.registry import MEASURES
from raglift.text.normalization import normalize
from raglift.text.occurrences import find_occurrences
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.matching.matches import MatchTable
    from raglift.results.evaluation import Evaluation
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Chunk
    from raglift.types.metric import Tokens
    from raglift.types.rankings import Hit, Run


# Chunk-id labels that no hit ever has: most likely the hits have other ids, or none.


_HOW = "return them as {'id': …, 'text': …} or rl.Chunk(text, id=…)"
_EXAMPLES_OF_IDS = 60


def ids_that_never_came(run: Run, dataset: Dataset) -> list[str]:
    """Say so where labels name chunk ids and no hit of any query has one of them, and why that may be."""
    labels = {
        passage.chunk_id: None
        for query in dataset.queries
        if query.is_labelled
        for fact in query.facts
        for passage in fact.passages
        if passage.chunk_id is not None
    }
    chunks = [hit.chunk for trace in run.traces for done in trace.stages[:1] for hit in done.ranking]
    if not labels or not chunks or any(chunk.id in labels for chunk in chunks):
        return []
    named = f"{counted(len(labels), 'chunk id')}, as {next(iter(labels))[:_EXAMPLES_OF_IDS]!r}"
    return [f"labels name {named}, and no hit has one of them: {_why(labels.keys(), chunks)}"]


def _why(labels: Iterable[str], chunks: list[Chunk]) -> str:
    as_text = next((chunk.text for chunk in chunks if chunk.text in labels), None)
    if as_text is not None:
        return f"the text of a hit is {as_text[:_EXAMPLES_OF_IDS]!r}: if texts are ids, {_HOW}"
    own = next((chunk.id for chunk in chunks if chunk.has_own_id), None)
    if own is None:
        return f"hits have no ids of their own: {_HOW}"
    return f"the first hit with an id of its own has {own[:_EXAMPLES_OF_IDS]!r}"


# Failures, labels and hits that a reader should know of, and what was left out.


def evaluation_notes(evaluation: Evaluation, budgets: Sequence[Tokens] = ()) -> list[Note]:
    """Return what there is to say of an evaluation: the run's notes, and what the figures count and leave out."""
    run, dataset, match_tables = evaluation.run, evaluation.dataset, evaluation.match_table
    failed, retried = failed_note(run), retries_note(run)
    return [
        *map(Note, run.notes),
        *_of_kind("read in part", read_in_part_notes(run)),
        *map(Note, relabelling_notes(run)),
        *_of_kind("failed", [failed] if failed else []),
        *_of_kind("retried", [retried] if retried else []),
        *map(Note, (*_left_out(dataset), *_empty(run, dataset), *_without_text(run, dataset), *_repeated(run))),
        *_of_kind("changed hits", changed_hits_notes(run, evaluation.beyond_candidates)),
        *map(Note, (*_mixed_labels(dataset), *ids_that_never_came(run, dataset))),
        *primary_notes(evaluation),
        *map(Note, (*filter_notes(run, dataset.queries), *_truncated(evaluation))),
        *(Note(text) for budget in budgets for text in _nothing_fits(dataset, match_tables[-1], budget)),
        *(Note(text) for budget in budgets for text in _unfilled(run, dataset, match_tables[0], budget)),
        *map(Note, (*_texts_that_occur_nowhere(dataset, match_tables), *_by_text_alone(match_tables))),
    ]


def _of_kind(kind: NoteKind, texts: Iterable[str]) -> list[Note]:
    return [Note(text, kind) for text in texts]


def _truncated(evaluation: Evaluation) -> Iterator[str]:
    """Say which stages returned no more than so many hits, and what has no figures for that."""
    first = evaluation.run.stages[0]
    for stage, limit in evaluation.truncated.items():
        why = "no fair lift at a deeper k"
        if stage == first.name:
            as_deployed = "as deployed, so there are no figures at a deeper k"
            why = as_deployed if first.has_own_depth else "no more came back, whatever was asked"
        yield f"{stage}: returned at most {counted(limit, 'hit')}: {why}"


def _by_text_alone(match_tables: Sequence[MatchTable]) -> list[str]:
    alone = max((judged.by_text_alone for judged in match_tables), default=0)
    if not alone:
        return []
    matches = "1 match" if alone == 1 else f"{alone:,} matches"
    return [f"{matches} by text alone: the hit's document is not known (see doc_key)"]


def _without_text(run: Run, dataset: Dataset) -> list[str]:
    """Say how many hits came without any text, where labels are texts: most likely it is in another field of theirs."""
    if not any(passage.text for query in dataset for fact in query.facts for passage in fact.passages):
        return []
    hits = [hit for trace in run.traces if trace.stages for hit in trace.stages[0].ranking.hits]
    empty = sum(not hit.chunk.text.strip() for hit in hits)
    if not empty:
        return []
    have, them = ("has", "it") if empty == 1 else ("have", "them")
    return [
        f"{run.stages[0].name}: {empty:,} of {counted(len(hits), 'hit')} {have} no text: no label's text is in {them}"
    ]


def _repeated(run: Run) -> list[str]:
    """Say for how many queries the retriever returned a chunk more than once, which takes the place of another.

    Of sessions, whose calls may well return the same, `redundancy` says so.
    """
    if run.has_sessions:
        return []
    rankings = [trace.stages[0].ranking.hits for trace in run.traces if trace.stages]
    count = sum(len({(hit.chunk.id, hit.chunk.text) for hit in hits}) < len(hits) for hits in rankings)
    if not count:
        return []
    many = f"{count:,} of {counted(len(rankings), 'question')}"
    return [f"{run.stages[0].name}: for {many} a chunk came more than once and takes a place each time"]


def _mixed_labels(dataset: Dataset) -> list[str]:
    """Say that not all labels are of one judge, and whose they are."""
    sources = dataset.label_sources
    if not sources.is_mixed:
        return []
    judges = " and ".join(f"by {name or 'people'} ({count:,})" for name, count in sources.passages.items())
    return [f"the labels are mixed: passages were judged {judges}, who may not agree; the figures rest on all of them"]


def primary_notes(evaluation: Evaluation) -> list[Note]:
    """Say what unjudged hits can do to the metric that decides, and whether as many hits are much of the index."""
    try:
        primary = primary_of(None, evaluation.scores.metrics, evaluation.depth_limit)
    except ConfigurationError:  # no measure of quality was taken
        return []
    notes = []
    found = unjudged_of({"": evaluation}, primary)
    if found is not None:
        notes.append(Note(unjudged_text(found), "unjudged"))
    notes += _of_kind("primary", _ties(evaluation.run, primary.k))
    share, inventory = index_share(evaluation, primary.k), evaluation.run.inventory
    if share is not None and inventory is not None:
        hits = "1 hit is" if primary.k == 1 else f"{primary.k} hits are"
        chunks = f"{inventory.chunks:,} chunk{'s' * (inventory.chunks != 1)}"
        notes.append(Note(f"{hits} {share * 100:.0f}% of the index ({chunks})", "primary"))
    return notes


def _ties(run: Run, k: int | None) -> list[str]:
    """Say for how many queries the last hit that counts and the next one have equal scores, at any stage."""
    if k is None or run.has_sessions:
        return []
    tied = []
    for number, stage in enumerate(run.stages):
        rankings = [trace.stages[number].ranking.hits for trace in run.traces if len(trace.stages) > number]
        count = sum(_is_tied(hits, k) for hits in rankings)
        if count:
            tied.append(f"{count:,} of {counted(len(rankings), 'question')} ({stage.name})")
    if not tied:
        return []
    return [f"equal scores at ranks {k} and {k + 1}, where the order alone decides which counts: {', '.join(tied)}"]


def _is_tied(hits: Sequence[Hit], k: int) -> bool:
    return len(hits) > k and hits[k - 1].score is not None and hits[k - 1].score == hits[k].score


def _nothing_fits(dataset: Dataset, last: MatchTable, budget: Tokens) -> list[str]:
    """Say for how many labelled queries the first hit alone is more than a budget, so that they count 0."""
    empty = (last.hits > 0) & (prefix_lengths(last, budget) == 0)
    count = sum(query.is_labelled for query, nothing in zip(dataset.queries, empty.tolist(), strict=True) if nothing)
    if not count:
        return []
    they = f"{'it' if count == 1 else 'they'} {_as_zero(count)}"
    return [f"{budget}: for {counted(count, 'question')} the first hit alone exceeds the budget, so {they}"]


def _unfilled(run: Run, dataset: Dataset, candidates: MatchTable, budget: Tokens) -> list[str]:
    """Say how many labelled queries' candidates end before a budget does, though there are more chunks."""
    asked = int(run.spec["candidates"])
    ended = (context_totals(candidates) < budget.most) & (candidates.hits >= asked)
    if run.inventory is not None:
        ended &= candidates.hits < run.inventory.chunks
    count = sum(query.is_labelled for query, short in zip(dataset.queries, ended.tolist(), strict=True) if short)
    if not count:
        return []
    short = f"the {asked:,} candidates of {counted(count, 'question')} come to fewer than {budget.most:,} tokens"
    return [f"{budget}: {short}, so their figures are of smaller prompts; ask for more (k, or candidates)"]


def _texts_that_occur_nowhere(dataset: Dataset, match_tables: Sequence[MatchTable]) -> list[str]:
    """Say how many label texts that no hit matched stand in none of the documents: most likely they are misspelled."""
    if not dataset.documents:
        return []
    matched = {place for judged in match_tables for place in judged.matches.fact.tolist()}
    facts = [(query, fact) for query in dataset.queries if query.is_labelled for fact in query.facts]
    literal = [
        (query.id, passage.text)
        for place, (query, fact) in enumerate(facts)
        if place not in matched
        for passage in fact.passages
        if passage.text is not None and passage.start is None
    ]
    occurring = _occurring({normalize(text) for _, text in literal}, dataset)
    nowhere = [(query_id, text) for query_id, text in literal if normalize(text) not in occurring]
    if not nowhere:
        return []
    query_id, text = nowhere[0]
    texts = "1 label text occurs" if len(nowhere) == 1 else f"{len(nowhere):,} label texts occur"
    advice = "raglift labels check lists them all; if the documents were edited: raglift labels update"
    notes = [f"{texts} in none of the documents; the first, of question {query_id}: {text[:60]!r}; {advice}"]
    if len(nowhere) == sum(passage.text is not None for _, fact in facts for passage in fact.passages):
        notes.append(lost_labels_note(text, query_id, dataset.documents))
    return notes


def _occurring(texts: set[str], dataset: Dataset) -> set[str]:
    """Return those of some normalized texts that occur in a document; all are looked for in one pass."""
    wanted = sorted(texts - {""})
    is_missing = np.ones(len(wanted), dtype=np.bool_)
    documents = (normalize(document.text) for document in dataset.documents) if wanted else ()
    for found in find_occurrences(wanted, documents):
        is_missing[found.pattern] = False
        if not is_missing.any():
            break
    return texts - {wanted[place] for place in np.flatnonzero(is_missing).tolist()}


def failed_note(run: Run) -> str:
    """Say how many queries failed, and why the first did; empty if none did."""
    failed = [trace for trace in run.traces if trace.error is not None]
    if not failed:
        return ""
    first, many = failed[0], len(failed)
    return f"{counted(many, 'question')} failed and {_as_zero(many)}; the first, {first.query_id}: {first.error}"


def retries_note(run: Run) -> str:
    """Say how many queries were asked again after a failure, and how many calls that took; empty if none were."""
    again = [trace.calls_again for trace in run.traces if trace.calls_again]
    if not again:
        return ""
    were, calls = "was" if len(run.traces) == 1 else "were", counted(sum(again), "more call")
    return f"{len(again):,} of {counted(len(run.traces), 'question')} {were} retried ({calls})"


def _left_out(dataset: Dataset) -> list[str]:
    """Say which queries do not count at all."""
    notes = []
    unanswerable = sum(not query.answerable for query in dataset)
    if unanswerable:
        notes.append(f"{counted(unanswerable, 'question')} excluded from all averages: unanswerable")
    unlabelled = sum(query.answerable and not query.facts for query in dataset)
    if unlabelled:
        notes.append(f"{counted(unlabelled, 'question')} excluded from all averages: no labels")
    return notes


_NO_TERM = ": no chunk has any of the words that BM25 looked for"


def _empty(run: Run, dataset: Dataset) -> list[str]:
    """Say how many labelled queries came out of each stage with nothing, having had something before it."""
    notes = []
    labelled = [trace for trace, query in zip(run.traces, dataset.queries, strict=True) if query.is_labelled]
    for number, stage in enumerate(run.stages):
        finished = [trace.stages for trace in labelled if len(trace.stages) > number]
        empty = sum(
            not stages[number].ranking.hits and (number == 0 or bool(stages[number - 1].ranking.hits))
            for stages in finished
        )
        if empty:
            outcome_of_fact = _outcome_of_empty(empty, run.spec["profile"])
            why = _NO_TERM if stage.system.startswith("bm25 (") else ""
            came = f"{counted(empty, 'question')} with labels came back empty and {outcome_of_fact}"
            notes.append(f"{stage.name}: {came}{why}")
    return notes


def _outcome_of_empty(queries: int, profile: str) -> str:
    """Say how queries that came back empty count: some tools leave them out of all of their means, or of some."""
    conventions = PROFILES[profile]
    left_out = conventions.leaves_out_empty
    if not left_out:
        return _as_zero(queries)
    are, they = ("is", "it") if queries == 1 else ("are", "they")
    if left_out == set(conventions.functions):
        return f"{are} left out of its means"
    titles = " and ".join(measure.title for name, measure in MEASURES.items() if name in left_out)
    return f"{are} left out of the means of {titles}; elsewhere {they} {_as_zero(queries)}"


def _as_zero(queries: int) -> str:
    return "counts 0" if queries == 1 else "count 0"


def relabelling_notes(run: Run) -> list[str]:
    """Return how the labels fit the queries of a run that was scored under other ones than it was asked with."""
    found = run.spec.get("relabelled", {})
    notes = []
    if found.get("unlabelled"):
        notes.append(f"{counted(found['unlabelled'], 'question')} of the run not among the labels: unlabelled")
    if found.get("ignored"):
        notes.append(f"{counted(found['ignored'], 'question')} of the labels not in the run: ignored")
    return notes
