"""What is shown of one query's metrics under every profile."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING

from raglift.base.display import counted, excerpt
from raglift.metrics.computing import mean_title, title
from raglift.metrics.registry import MEASURES
from raglift.records.labels import passage_text
from raglift.rendering.document import Cell, Detail, Document, Entry, Section, Table, table_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from raglift.analysis.conventions.records import (
        MetricsExplanationRecord,
        MetricUnderProfiles,
        ProfileValue,
        RankedHit,
    )
    from raglift.records.metric import Metric


_SAME = "="
"""Stands for the default's value."""
_MOST_FACTS = 8
_MOST_PASSAGES = 3
_MOST_NAMES = 3
_EXCERPT = 40


def conventions_view(found: MetricsExplanationRecord) -> Document:
    """Return the query's values under each profile, why they differ, its ranking, and the means of all queries."""
    return Document(
        title=f"{found.query.id}: {found.query.text}",
        lead=" ".join(_sentences(_choice(found))),
        headline=_values(found),
        measured=(),
        warnings=tuple(_sentences(_status(found))),
        notes=(*_sentences(_agreeing(found)), *found.notes),
        sections=tuple(_sections(found)),
        about=(f"stage {found.stage}, match by {found.match}",),
        labels=str(found.label_sources) if found.label_sources.by_model else "",
        printed=Detail.DETAILS,
    )


def _sections(found: MetricsExplanationRecord) -> Iterator[Section]:
    reasons = tuple(Entry(name, tuple(map(Entry, texts))) for name, texts in _differences(found))
    if reasons:
        yield Section("Why they differ", entries=reasons)
    ranking = tuple(map(Entry, (*_facts(found), *_ranking(found))))
    if ranking:
        yield Section("The ranking", entries=ranking, detail=Detail.DETAILS)
    if found.queries > 1:
        yield Section("All queries", tuple(_sentences(_sizes(found))), (_means(found),))


def _sentences(texts: list[str]) -> Iterator[str]:
    """Yield texts as sentences."""
    yield from (f"{text[0].upper()}{text[1:]}." for text in texts)


def _choice(found: MetricsExplanationRecord) -> list[str]:
    """Return why this query is shown, and which would be the next; nothing if it was asked for."""
    chosen = found.choice
    if chosen is None:
        return []
    if chosen.metric is None or chosen.low is None or chosen.high is None:
        return ["chosen: the first labelled query; no query's values differ between the profiles"]
    name = title(chosen.metric)
    low, high = (_figure(chosen.metric, value) for value in (chosen.lowest, chosen.highest))
    others = f"; next: {', '.join(chosen.others)}" if chosen.others else ""
    why = (
        f"chosen: of {counted(found.queries, 'labelled query')}, {chosen.differing:,} with values that differ between "
        f"profiles, the one that differs most ({name}: {chosen.low} {low}, {chosen.high} {high}){others}"
    )
    return [why]


def _status(found: MetricsExplanationRecord) -> list[str]:
    """Return why there is little to show: the query failed, has no labels, or got nothing."""
    said = [] if found.error is None else [f"failed, so it counts 0 in every profile: {found.error}"]
    if not found.query.answerable:
        said.append("not answerable: excluded from all averages, in every profile")
    elif not found.query.is_labelled:
        said.append("without labels: excluded from all averages, in every profile")
    if found.error is None and not found.hits:
        said.append("nothing came back")
    return said


def _facts(found: MetricsExplanationRecord) -> Iterator[str]:
    """Yield the facts of the query, with the ranks at which they are found."""
    ranks = {
        fact: each.hit.rank for each in reversed(found.hits) for fact, state in _by_default(each) if state == "first"
    }
    for number, fact in enumerate(found.query.facts[:_MOST_FACTS], start=1):
        where = f"found at rank {ranks[number]}" if number in ranks else "not found"
        shown = [passage_text(passage) for passage in fact.passages[:_MOST_PASSAGES]]
        more = len(fact.passages) - len(shown)
        said = " or ".join([*shown, *([f"{more:,} more"] if more else [])])
        yield f"fact {number}: {said}, {where}"
    left = len(found.query.facts) - _MOST_FACTS
    if left > 0:
        more = sum(number > _MOST_FACTS for number in ranks)
        yield f"and {counted(left, 'more fact')}, {more:,} of them found"


def _ranking(found: MetricsExplanationRecord) -> Iterator[str]:
    """Yield the ranking, a line a relevant hit; others that follow each other share one."""
    for is_relevant, group in groupby(found.hits, key=lambda each: bool(each.facts)):
        hits = list(group)
        if is_relevant:
            yield from (f"rank {each.hit.rank}: {_name(found, each)}  {_matched(each)}" for each in hits)
            continue
        first, last = hits[0].hit.rank, hits[-1].hit.rank
        where = f"rank {first}" if first == last else f"ranks {first}–{last}"
        yield f"{where}: {_names(found, hits)}not relevant"


def _names(found: MetricsExplanationRecord, hits: list[RankedHit]) -> str:
    """Return what hits that are not relevant are called; nothing of several that have no short names."""
    if len(hits) > 1 and not _has_ids(found):
        return ""
    names = [_name(found, each) for each in hits[:_MOST_NAMES]]
    return f"{', '.join([*names, *(['…'] if len(hits) > len(names) else [])])}  "


def _values(found: MetricsExplanationRecord) -> Table:
    """Return the metrics of this query that differ between profiles, a column each."""
    rows: list[list[str | Cell]] = [
        [
            title(each.metric),
            *(_cell(_figure(each.metric, one.value), is_same=one.agrees, one=one) for one in each.values),
        ]
        for each in found.metrics
        if each.differing
    ]
    return table_of(("this query", *found.profiles), rows, caption="This query under each profile")


def _means(found: MetricsExplanationRecord) -> Table:
    """Return the means that differ between profiles, a column each."""
    rows: list[list[str | Cell]] = [
        [
            mean_title(each.metric),
            *(_cell(_mean(each.metric, one.mean), is_same=one.mean_agrees, one=one) for one in each.values),
        ]
        for each in found.metrics
        if not each.means_agree
    ]
    name = f"mean of {counted(found.queries, 'query')}"
    return table_of((name, *found.profiles), rows, caption="Means over all labelled queries under each profile")


def _agreeing(found: MetricsExplanationRecord) -> list[str]:
    """Return the metrics of this query on which all profiles agree, in one line."""
    same = [each for each in found.metrics if not each.differing]
    if not same or not found.query.is_labelled:
        return []
    listed = [
        f"{title(each.metric)} {_figure(each.metric, each.default.value)}"
        for each in same
        if not math.isnan(each.default.value)
    ]
    without = [title(each.metric) for each in same if math.isnan(each.default.value)]
    return _agreed("", listed) + [f"no profile has a value of {', '.join(without)} for this query"] * bool(without)


def _sizes(found: MetricsExplanationRecord) -> list[str]:
    """Return the means on which all profiles agree, in one line, and which profiles leave queries out."""
    same = [each for each in found.metrics if each.means_agree]
    listed = [
        f"{mean_title(each.metric)} {_mean(each.metric, each.default.mean)}"
        for each in same
        if not math.isnan(each.default.mean)
    ]
    return [*_agreed("the means: ", listed), *_left_out(found)]


def _agreed(what: str, figures: Sequence[str]) -> list[str]:
    return [f"all profiles agree on {what}{', '.join(figures)}"] if figures else []


def _left_out(found: MetricsExplanationRecord) -> Iterator[str]:
    """Yield how many queries each profile leaves out of its means, and of which where it is not all."""
    for place, profile in enumerate(found.profiles):
        fewer = [each for each in found.metrics if each.values[place].n != each.default.n]
        if fewer:
            whole, n = fewer[0].default.n, fewer[0].values[place].n
            names = ", ".join(dict.fromkeys(MEASURES[each.metric.name].title for each in fewer))
            some = "" if len(fewer) == len(found.metrics) else f" (in {names})"
            yield f"the profile {profile} leaves out {counted(whole - n, 'query')} of {whole:,}{some}"


def _differences(found: MetricsExplanationRecord) -> Iterator[tuple[str, list[str]]]:
    """Yield each measure with values that differ and its default's numbers, and what each profile does, in numbers."""
    measures: dict[tuple[str, object], list[MetricUnderProfiles]] = {}
    for each in found.metrics:
        measures.setdefault((each.metric.name, each.metric.parameters), []).append(each)
    for of_measure in measures.values():
        texts = [text for profile in found.profiles[1:] for text in _texts(profile, of_measure, found)]
        if texts:
            deepest = of_measure[-1]
            numbers = _numbers(deepest.metric, deepest.default)
            yield f"{title(deepest.metric)}{f', by default: {numbers}' if numbers else ''}", texts


def _texts(profile: str, of_measure: list[MetricUnderProfiles], found: MetricsExplanationRecord) -> Iterator[str]:
    """Yield why a profile's values of a measure differ: one text for all depths with the same reason."""
    place = found.profiles.index(profile)
    by_reason: dict[str, list[MetricUnderProfiles]] = {}
    for each in of_measure:
        if not each.values[place].agrees:
            by_reason.setdefault(each.values[place].why, []).append(each)
    for why, differing in by_reason.items():
        deepest, of_profile = differing[-1], differing[-1].values[place]
        depths = ", ".join(_depth(each.metric) for each in differing)
        where = "" if len(differing) == len(of_measure) else f" ({depths})"
        here = f"Here: {_numbers(deepest.metric, of_profile)}"
        if deepest is not of_measure[-1]:
            default = _numbers(deepest.metric, deepest.default)
            here = f"{here}, {_depth(deepest.metric)}{f'; by default {default}' if default else ''}"
        yield " ".join(filter(None, (f"{profile}{where}:", why, f"{here}." if of_profile.numbers else "")))


def _numbers(metric: Metric, one: ProfileValue) -> str:
    """Return how a value comes about, and the value; nothing if that is not known."""
    return f"{one.numbers} = {_figure(metric, one.value)}" if one.numbers else ""


def _depth(metric: Metric) -> str:
    return "uncut" if metric.depth is None else f"@{metric.depth}"


def _by_default(each: RankedHit) -> Iterable[tuple[int, str]]:
    return each.facts if not each.only_under or "default" in each.only_under else ()


def _name(found: MetricsExplanationRecord, each: RankedHit) -> str:
    chunk = each.hit.chunk
    if _has_ids(found):
        return chunk.id
    place = "" if chunk.start is None else f" {chunk.start}–{chunk.end}"
    return f"{chunk.doc_id or ''}{place} “{excerpt(chunk.text, _EXCERPT)}”".strip()


def _has_ids(found: MetricsExplanationRecord) -> bool:
    """Whether the query's labels are ids of chunks, or some of them."""
    return any(passage.chunk_id is not None for fact in found.query.facts for passage in fact.passages)


def _matched(each: RankedHit) -> str:
    said = ", ".join(f"fact {fact}" + ("" if state == "first" else f" ({state})") for fact, state in each.facts)
    return said + (f", relevant under {', '.join(each.only_under)} alone" if each.only_under else "")


def _figure(metric: Metric, value: float) -> str:
    """Return a value of one query with 4 decimals, as the tools whose conventions these are print it."""
    return "left out" if math.isnan(value) else f"{value:,.0f}" if MEASURES[metric.name].is_cost else f"{value:.4f}"


def _mean(metric: Metric, value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:,.1f}" if MEASURES[metric.name].is_cost else f"{value:.4f}"


def _cell(text: str, *, is_same: bool, one: ProfileValue) -> Cell:
    """Return a value; of a profile that agrees with the default, only that it does."""
    return Cell(_SAME, "muted") if is_same and one.profile != "default" else Cell(text)
