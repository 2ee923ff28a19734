"""Warnings about the figures of a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from raglift.analysis.chunking import differ_in_length, hit_length
from raglift.analysis.paired_statistics import TOO_SKEWED, outweighed_text
from raglift.analysis.shared_queries import SharedQueries, named
from raglift.analysis.truncation import read_in_part_notes
from raglift.analysis.unjudged import Unjudged, unjudged_text
from raglift.analysis.upper_bound import rule_of
from raglift.metrics.computing import mean_title
from raglift.metrics.parsing import as_metric
from raglift.metrics.prompt_measures import DEFAULT_BUDGET, RecallArea
from raglift.metrics.registry import MEASURES
from raglift.stats.paired_tests import FEW_QUERIES, FEWEST_CHECKED
from raglift.text.tokens import DEFAULT_ENCODING
from raglift.text.words import language_name
from raglift.types.metric import Metric, Tokens
from raglift.utilities.display import TRUNCATED, counted

if TYPE_CHECKING:
    from raglift.analysis.comparison import Paired
    from raglift.analysis.fairness import Fairness
    from raglift.analysis.records import ComparisonRow, LiftRow
    from raglift.results.evaluation import Evaluation
    from raglift.types.rankings import Run, Vocabulary


_NAMED = 6
"""As many metrics without a lift are named."""


def warnings_of(
    systems: Mapping[str, Evaluation],
    shared: SharedQueries,
    paired: Paired,
    rows: Sequence[ComparisonRow],
    fairness: Fairness | None = None,
    unjudged: Unjudged | None = None,
    *,
    is_chosen: bool = False,
) -> list[str]:
    """Return what a reader should be warned of, the gravest first."""
    deciding = rows[: len(systems)]
    by_size = fairness is not None and fairness.decides
    return [
        *few_queries(min(row.n for row in deciding)),
        *_no_fair_pair(paired),
        *_best_of_many(paired, deciding, is_chosen=is_chosen),
        *(
            _unjudged(unjudged, paired.names[paired.baseline], deciding)
            if any(query.judged_irrelevant for query in shared.queries)
            else []
        ),
        *_differing("questions failed and count 0", _failures(systems, shared)),
        *_differing("questions have a value", {row.system: row.n for row in deciding}),
        # Prompts of one size have as many hits as it takes
        *([] if by_size else _differing("candidates were asked for", _candidates(systems))),
        *(_containment(systems, fairness.lengths) if fairness is not None else []),
        *_lengths(systems, paired.metrics[0], rows, fairness),
        *(_budget(fairness, _facts(shared)) if fairness is not None else []),
        *(_unfilled(paired.metrics[0], fairness) if fairness is not None else []),
        *_own_notes(systems),
    ]


def _facts(shared: SharedQueries) -> int:
    return sum(len(query.facts) for query in shared.queries if query.is_labelled)


def few_queries(n: int) -> list[str]:
    """Warn of a comparison of so few queries that it says little."""
    if n >= FEW_QUERIES or not n:  # of none there is nothing to read
        return []
    questions = counted(n, "labelled question")
    return [f"only {questions}: below {FEW_QUERIES}, intervals and p-values are unreliable"]


def not_read(evaluation: Evaluation) -> list[str]:
    """Return which texts the models cannot read, and what they did not read to the end."""
    known = [vocabulary for stage in evaluation.run.stages for vocabulary in stage.vocabularies]
    return [*vocabulary_warnings(known), *read_in_part_notes(evaluation.run)]


_MOST_UNKNOWN = 0.05
_FEWEST_LETTERS = 2.0
"""Of letters in a token: a language that the vocabulary was made for has about 4, its relatives 2.0 to 2.5."""


def vocabulary_warnings(vocabularies: Iterable[Vocabulary]) -> list[str]:
    """Return which models cannot read the texts, or were trained on another language, each once."""
    return list(dict.fromkeys(filter(None, map(_vocabulary_warning, vocabularies))))


def cannot_read(known: Vocabulary) -> str:
    """Return which model to use instead of one that cannot read the texts; empty if it can."""
    letters = known.letters_per_token
    if _unknown_share(known) < _MOST_UNKNOWN and (letters is None or letters >= _FEWEST_LETTERS):
        return ""
    return f"{_better_model(known)}, or BM25"


def _unknown_share(known: Vocabulary) -> float:
    return known.unknown / known.tokens if known.tokens else 0.0


def _better_model(known: Vocabulary) -> str:
    return f"a model for {language_name(known.language) if known.language else 'their language'}"


def _vocabulary_warning(known: Vocabulary) -> str | None:
    language = known.language and language_name(known.language)
    texts = f"the texts ({language})" if language else "the texts"
    better = _better_model(known)
    unknown, letters = _unknown_share(known), known.letters_per_token
    if unknown >= _MOST_UNKNOWN:
        return f"{known.model} does not know {unknown:.0%} of the tokens of {texts}: use {cannot_read(known)}"
    if letters is not None and letters < _FEWEST_LETTERS:
        spelled = f"spells {texts} out, {letters:.1f} letters per token where about 4 are usual"
        return f"{known.model} {spelled}: use {cannot_read(known)}"
    if language and known.trained_on and known.language not in known.trained_on:
        trained = ", ".join(map(language_name, known.trained_on[:3]))
        return f"the texts are in {language}, and {known.model} was trained on {trained}: {better} may do better"
    return None


def changed_hits_notes(run: Run, beyond: Mapping[str, int]) -> list[str]:
    """Say which hits of rerankers are not the candidates that they were given, and what has no lift for that."""
    notes = []
    for stage in run.stages:
        found = stage.changed_hits
        if found is None:
            continue
        counts = (
            (found.added, "were not among its candidates"),
            (found.changed, "have another text, document or location than their candidate"),
            (found.repeated, "repeat a candidate"),
            (found.excerpts, "are parts of candidates"),
        )
        changes = [f"{count:,} {what}" for count, what in counts if count]
        where = f", for {counted(found.queries, 'question')}; the first: {found.example}" if found.example else ""
        notes.append(f"{stage.name}: of {counted(found.of, 'hit')} returned, {_listed(changes)}{where}")
    if beyond:
        named = [mean_title(as_metric(name)) for name in beyond]
        more = f" and {counted(len(named) - _NAMED, 'more metric')}" if len(named) > _NAMED else ""
        it = "them" if len(named) > 1 else "it"
        notes.append(
            f"no lift in {', '.join(named[:_NAMED])}{more}: hits that were not candidates raise {it} for "
            f"{counted(max(beyond.values()), 'question')}; the figures after reranking are of the system as deployed"
        )
    return notes


def new_evidence(evaluation: Evaluation) -> list[str]:
    """Return the evaluation's own notes of hits that were not candidates, where there are any."""
    stages = evaluation.run.stages
    if not any(stage.changed_hits is not None and stage.changed_hits.not_candidates for stage in stages):
        return []
    return changed_hits_notes(evaluation.run, evaluation.beyond_candidates)


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _lengths(
    systems: Mapping[str, Evaluation], metric: Metric, rows: Sequence[ComparisonRow], fairness: Fairness | None
) -> list[str]:
    """Warn of systems whose hits are much longer than others', where they are not compared by what is read."""
    if metric.k is None:
        return []
    lengths = {name: hit_length(one, metric.k) for name, one in systems.items()}
    if not differ_in_length(lengths):
        return []
    problem = f"not like for like: {lengths_text(lengths)}, so the same k is not the same amount of text"
    if fairness is None or fairness.area is None:
        return [f"{problem}; compare by what is read too, e.g. {RecallArea @ Tokens(DEFAULT_BUDGET)}"]
    if any(fairness.ends_early(row.system, row.n) for row in rows if row.metric == metric):
        return [f"{problem}; by what is read they cannot be compared, because some prompts end before the budget"]
    best = {row.metric: row for row in sorted(rows, key=lambda row: -1.0 if math.isnan(row.mean) else row.mean)}
    by_k, by_size = best[metric].system, best[fairness.area].system
    leads = f"{by_size} leads too" if by_k == by_size else f"{by_size} leads, not {by_k}"
    if len({row.mean for row in rows if row.metric == fairness.area}) == 1:
        leads = "none leads"
    return [f"{problem}; by what is read of the same prompt {leads} ({mean_title(fairness.area)})"]


def _unfilled(metric: Metric, fairness: Fairness) -> list[str]:
    """Warn of prompts that end before the budget of a metric of whole hits: recall by what is read is not decided."""
    if metric.budget is None or MEASURES[metric.name].needs_budget or fairness.unfilled is None:
        return []
    ends = [f"{counted(count, 'question')} of {name}" for name, count in fairness.unfilled.items() if count]
    size = f"before {fairness.budget.most:,} tokens though more could come"
    problem = f"{mean_title(metric)}: prompts end {size}, so the figures are of smaller ones"
    return [f"{problem}: {named(ends)}; evaluate(…, budget={fairness.budget.most}) fills them"] if ends else []


def lengths_text(lengths: Mapping[str, float]) -> str:
    """Return how long hits are on average, where they are longest and shortest."""
    shortest, longest = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
    longer = f"hits are {lengths[longest]:,.0f} characters long in {longest}"
    return f"{longer} and {lengths[shortest]:,.0f} in {shortest}, on average"


def _budget(fairness: Fairness, facts: int) -> list[str]:
    """Warn of tokens that are estimated, and of labels that are longer than the prompt."""
    if fairness.area is None:
        return []
    title, found = mean_title(fairness.area), []
    if fairness.is_estimated:
        found.append(
            f"{title}: tokens are estimated, four characters each, because tiktoken's {DEFAULT_ENCODING} is not on "
            "this machine (pip install 'raglift[llama-index]' brings it)"
        )
    if fairness.long_facts:
        found.append(
            f"{title}: the labels of {fairness.long_facts:,} of {counted(facts, 'fact')} are longer than the prompt, "
            "as pages or whole documents are, so it says little of them: label the passages, or name a larger budget"
        )
    return found


def _containment(systems: Mapping[str, Evaluation], lengths: Mapping[str, float]) -> list[str]:
    """Warn of different chunks compared by containment, under which the size alone decides what can match."""
    first = next(iter(systems.values()))
    if rule_of(first).mode != "containment":
        return []
    return [
        (
            f"different chunks are compared by containment: {lengths_text(lengths)}. A passage that is cut by the "
            "border of two chunks matches neither, and a small chunk inside a passage matches all of it; coverage is "
            "fair across sizes: compare(…, match='coverage'), or raglift compare --match coverage"
        )
    ]


def wins_against_means(row: ComparisonRow | LiftRow, name: str, other: str) -> list[str]:
    """Say so where the mean and the number of queries won point in opposite directions, of a significant difference."""
    found = row.difference
    if found is None or row.verdict not in ("better", "worse"):
        return []
    more, fewer = (found.wins, found.losses) if row.verdict == "better" else (found.losses, found.wins)
    if more >= fewer:
        return []
    mean, often, seldom = ("higher", "loses", "wins") if row.verdict == "better" else ("lower", "wins", "loses")
    contrast = f"{name} has the {mean} mean {mean_title(row.metric)} than {other}"
    return [f"{contrast}, and {often} more questions ({fewer:,}) than it {seldom} ({more:,}): it {seldom} by more"]


def too_skewed_note(row: ComparisonRow | LiftRow, name: str, other: str) -> list[str]:
    """Say why a difference is too skewed to decide, and what would decide it."""
    if row.difference is None or row.verdict != TOO_SKEWED:
        return []
    return [
        f"{name} against {other} is {TOO_SKEWED}: {outweighed_text(row.difference)}; more questions would show them"
    ]


def _own_notes(systems: Mapping[str, Evaluation]) -> list[str]:
    """Pass on what systems say of truncating models and of hits that were not candidates, each distinct note once."""
    by_note: dict[str, list[str]] = {}
    for name, evaluation in systems.items():
        for note in (*not_read(evaluation), *new_evidence(evaluation)):
            by_note.setdefault(note, []).append(name)
    return [f"{named(names)}: {note}" for note, names in by_note.items()]


def _no_fair_pair(paired: Paired) -> list[str]:
    """Name the systems that return fewer hits than the primary metric looks at."""
    cut = [name for name, truncated in zip(paired.names, paired.truncated[0], strict=True) if truncated]
    if not cut:
        return []
    whose = "it is" if len(cut) == 1 else "they are"
    return [
        (
            f"{named(cut)}: returned fewer hits than {mean_title(paired.metrics[0])} looks at; "
            f"{whose} shown with {TRUNCATED} and without a p-value"
        )
    ]


def _best_of_many(paired: Paired, deciding: Sequence[ComparisonRow], *, is_chosen: bool) -> list[str]:
    """Warn that the best of several was chosen on the queries that measure it."""
    known = [row for row in deciding if row.n and not row.truncated]
    if len(paired.names) <= 2 or not known:
        return []
    best, many = max(known, key=lambda row: row.mean).system, f"the best of {len(deciding)} on these same questions"
    if is_chosen:
        overstated = "differences to it are probably overstated and p-values too small"
        return [f"the baseline, {best}, was picked as {many}, so {overstated}; name a baseline to test against it"]
    text = f"{best} was picked as {many}, so its lead is probably overstated"
    if min(row.n for row in known) >= 2 * FEWEST_CHECKED:
        text += "; comparison.recommend() checks a choice on questions that took no part in it"
    return [text]


def _unjudged(unjudged: Unjudged | None, baseline: str, deciding: Sequence[ComparisonRow]) -> list[str]:
    """Say what share of the first hits nobody judged, between what figures lie for that, and what to label next."""
    if unjudged is None:
        return []
    others = sorted((row for row in deciding if row.system != baseline and row.n), key=lambda row: -row.mean)
    shown = dict.fromkeys([baseline, *(row.system for row in others[:1])])
    return [unjudged_text(unjudged, list(shown))]


def _candidates(systems: Mapping[str, Evaluation]) -> dict[str, int]:
    """Return how many hits each system was asked for; agents, which ask for as many as they choose, are left out.

    None if all were asked for as many as fill one prompt.
    """
    budgets = {one.run.spec.get("budget") for one in systems.values()}
    if len(budgets) == 1 and None not in budgets:
        return {}
    return {name: int(one.run.spec["candidates"]) for name, one in systems.items() if not one.run.has_sessions}


def _failures(systems: Mapping[str, Evaluation], shared: SharedQueries) -> dict[str, int]:
    labelled = [number for number, query in enumerate(shared.queries) if query.is_labelled]
    return {
        name: sum(evaluation.run.traces[place].error is not None for place in shared.places[name][labelled].tolist())
        for name, evaluation in systems.items()
    }


def _differing(what: str, counts: Mapping[str, int]) -> list[str]:
    """Say how a count differs between systems; nothing if it does not."""
    if len(set(counts.values())) <= 1:
        return []
    by_count: dict[int, list[str]] = {}
    for name, count in counts.items():
        by_count.setdefault(count, []).append(name)
    parts = [f"{count:,} of {named(names)}" for count, names in sorted(by_count.items(), reverse=True)]
    return [f"not the same number of {what}: {'; '.join(parts)}"]
