"""What is shown of sessions, of one agent or of several: recall after each call, how it searched, and what it lost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from raglift.metrics.computing import mean_title
from raglift.metrics.registry import MEASURES
from raglift.rendering.document import (
    Cell,
    Column,
    Detail,
    Document,
    Figure,
    Section,
    Share,
    Table,
    Tile,
    row_of,
    table_from,
)
from raglift.report.cells import share_cell, without_bar
from raglift.report.charts.plots import session_chart, session_title
from raglift.report.format import number_text, percent_text
from raglift.report.views.parts import outcome_table
from raglift.retrieval.passage_search import ASKED_FOR
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.analysis.sessions import Agents, SessionAnalysis
    from raglift.stats.variances import VarianceComponents
    from raglift.types.metric import Metric


def sessions_section(found: SessionAnalysis) -> Section | None:
    """Return how the sessions of an evaluation went; None if no query is labelled."""
    if not found.facts:
        return None
    charts = session_figures({"": found})
    tables = (_measures(found), _losses(found))
    return Section("Sessions", _said(found), tables if charts else (calls_table({"": found}), *tables), charts)


def sessions_view(found: SessionAnalysis) -> Document:
    """Return what is shown of a session analysis."""
    lead, *others = _said(found)
    by_calls, by_tokens = calls_table({"": found}), tokens_table({"": found})
    tables = (*([] if by_tokens is None else [by_tokens]), _measures(found), _losses(found))
    sections = (Section("How the agent searched", tuple(others), tables),)
    return Document("Sessions: recall after each search", lead, by_calls, (), sections=sections)


def session_sentence(found: SessionAnalysis) -> str:
    """Return what an agent found, in how many searches, and how many of these were in vain; empty without labels."""
    if not found.facts:
        return ""
    if not found.recall_after:
        return "The agent made no search."
    recall, made, wasted = found.recall_after[-1], found.mean("calls"), found.mean("wasted_calls")
    said = f"The agent found {percent_text(recall, 0)} of a question's facts on average, in {_searches(made)}"
    if not math.isnan(wasted):
        said += f"; {percent_text(wasted, 0)} of its searches found nothing new"
    reached = found.mean("final_recall")
    if percent_text(reached, 0) not in (percent_text(recall, 0), percent_text(math.nan, 0)):
        said += f", and {percent_text(reached, 0)} of the facts reached the prompt of its answer"
    return f"{said}."


def _searches(mean: float) -> str:
    """Return a mean number of searches: `2.3 searches`, `1 search`."""
    text = number_text(mean, 1).removesuffix(".0")
    return f"{text} search{'' if text == '1' else 'es'}"


def _said(found: SessionAnalysis) -> tuple[str, ...]:
    """Return what was found, in sentences."""
    curve = found.recall_after
    said = ["No session made a search."]
    if curve:
        said = [f"On average, the first search found {percent_text(curve[0], 0)} of a question's facts"]
        said[0] += f", and all searches together {percent_text(curve[-1], 0)}." if len(curve) > 1 else "."
    lost = [
        f"{counted(loss.facts, 'fact')} {_IN_WORDS[loss.outcome]}"
        for loss in found.losses
        if loss.facts and loss.outcome not in ("found", "not_retrieved")
    ]
    if lost:
        said.append(f"{'; '.join(lost)}.")
    if any(loss.facts for loss in found.losses if loss.outcome in ("asked", "never_asked")):
        said.append(
            f"“Searched for” is an estimate: one of the fact's passages is among the first {ASKED_FOR} of all labelled "
            "passages, ranked by BM25 for the text of a search."
        )
    if found.components is not None:
        said.append(components_sentence(found.components))
    return tuple(said)


def components_sentence(parts: VarianceComponents) -> str:
    """Return how much of the variance is from run to run, and whether more runs or more queries would help."""
    share = percent_text(parts.share_within, 0)
    times = parts.runs / parts.queries
    return (
        f"{share} of the variance of a single run's recall is from run to run of the same question. The standard "
        f"error of the mean is {number_text(parts.standard_error())}; with twice the runs it would be about "
        f"{number_text(parts.standard_error(repetitions=max(1, round(2 * times))))}, with twice the questions "
        f"{number_text(parts.standard_error(queries=2 * parts.queries))}."
    )


_IN_WORDS = {
    "failed": "in failed sessions",
    "found": "found",
    "left_out": "found, left out of the prompt",
    "dropped": "dropped by the reranker",
    "asked": "searched for, but not retrieved",
    "never_asked": "never searched for",
    "not_retrieved": "not retrieved",
}


def outcome_in_words(outcome: str, *, context_known: bool) -> str:
    """Return what became of facts, where the final context is known and where it is not."""
    return "found, in the prompt" if outcome == "found" and context_known else _IN_WORDS[outcome]


def _measures(found: SessionAnalysis) -> Table:
    rows = tuple(
        row_of((mean_title(metric), measure_text(metric, mean), f"{queries:,}", MEASURES[metric.name].formula))
        for metric, mean, queries in found.means
        if not math.isnan(mean)
    )
    return Table("How the agent searched", ("measure", "mean", "questions", "what it is"), rows, text_columns=(0, 3))


def measure_text(metric: Metric, mean: float) -> str:
    """Return the mean of a measure of sessions: a share in percent, a count with two decimals."""
    return percent_text(mean) if MEASURES[metric.name].is_bounded else number_text(mean, 2)


def _losses(found: SessionAnalysis) -> Table:
    return outcome_table(
        "Outcome of each fact",
        found.losses,
        len(found.facts),
        lambda loss: outcome_in_words(loss.outcome, context_known=found.context_known),
    )


# Recall as agents search, as charts and as tables.


_CALLS_SHOWN = 10
_TOKENS_SHOWN = 6


def session_figures(analyses: Mapping[str, SessionAnalysis], baseline: str = "") -> tuple[Figure, ...]:
    """Return recall of sessions after each call and after so many tokens, a line for each agent; none without calls."""
    if all(not one.recall_after or not one.facts for one in analyses.values()):
        return ()
    caption = "The share of a question's facts in the hits so far, mean over questions and their runs."
    return tuple(
        Figure(
            session_title(analyses, in_tokens=in_tokens),
            partial(session_chart, analyses, baseline, in_tokens=in_tokens),
            caption,
            table,
        )
        for in_tokens, table in ((False, calls_table(analyses)), (True, tokens_table(analyses)))
        if table is not None
    )


def calls_table(analyses: Mapping[str, SessionAnalysis]) -> Table:
    """Return recall after each search: a row for each number of calls, the last one too if there are many."""
    longest = max((len(one.recall_after) for one in analyses.values()), default=0)
    numbers = list(range(1, longest + 1))
    if longest > _CALLS_SHOWN:
        numbers = [*numbers[: _CALLS_SHOWN - 1], longest]
    alone = analyses.get("")
    rows = []
    for number in numbers:
        cells = [_recall_cell(_recall(one, min(number, len(one.recall_after)) - 1)) for one in analyses.values()]
        sessions = [f"{alone.still_searching[number - 1]:,}"] if alone is not None else []
        rows.append(row_of((str(number), *cells, *sessions)))
    columns = ("recall", "sessions with at least this many searches") if alone is not None else tuple(analyses)
    return Table("Recall after each search", ("after search", *columns), tuple(rows))


def tokens_table(analyses: Mapping[str, SessionAnalysis]) -> Table | None:
    """Return recall after a few round numbers of tokens, the same for all agents; None if nothing was found."""
    most = max((one.recall_after_tokens[-1][0] for one in analyses.values() if one.recall_after_tokens), default=0)
    if not most:
        return None
    numbers = list(dict.fromkeys([*_early(most), most]))
    rows = tuple(
        row_of((f"{number:,}", *(_recall_cell(one.recall_within(number)) for one in analyses.values())))
        for number in numbers
    )
    names = ("recall",) if "" in analyses else tuple(analyses)
    return Table("Recall by tokens read", ("tokens read", *names), rows)


def _early(most: int) -> list[int]:
    """Return round numbers below the largest, each about twice the one before: early tokens find most."""
    found = [factor * 10**power for power in range(len(str(most))) for factor in (1, 2, 5) if factor * 10**power < most]
    return found[-(_TOKENS_SHOWN - 1) :]


# The first screen of a page.


IN_ORDER = ("found", "left_out", "dropped", "asked", "not_retrieved", "never_asked", "failed")
"""The outcomes of facts as they are shown, from the best on."""


def session_shares(found: SessionAnalysis) -> tuple[Share, ...]:
    """Return what became of the facts in sessions, those that are found first."""
    shares = [
        Share(outcome_in_words(loss.outcome, context_known=found.context_known), loss.facts, loss.outcome)
        for loss in found.losses
        if loss.facts
    ]
    return tuple(sorted(shares, key=lambda share: IN_ORDER.index(share.outcome)))


def session_tiles(found: SessionAnalysis) -> Iterator[Tile]:
    """Yield figures of sessions for the first screen: facts found, calls, and what reached the context."""
    if not found.facts or not found.recall_after:
        return
    first, every = found.recall_after[0], found.recall_after[-1]
    yield Tile(
        "Facts found",
        percent_text(every, 0),
        note=f"of a question's facts; {percent_text(first, 0)} by the first search",
        definition="The share of a question's facts in the hits of all its searches, mean over questions.",
    )
    wasted, repeated = found.mean("wasted_calls"), found.mean("redundancy")
    notes = [f"{'about ' * found.tokens_estimated}{number_text(found.tokens, 0)} tokens"]
    notes += [] if math.isnan(wasted) else [f"{percent_text(wasted, 0)} of searches find no further fact"]
    notes += [] if math.isnan(repeated) else [f"{percent_text(repeated, 0)} of the text was repeated"]
    yield Tile(
        "Searches per question",
        number_text(found.mean("calls"), 1),
        note="; ".join(notes),
        definition="The searches that the agent made for a question, failed ones included, mean over questions. Tokens "
        "are counted in the texts of all hits.",
    )
    reached, kept, precision = (found.mean(name) for name in ("final_recall", "kept", "final_precision"))
    if not math.isnan(reached):
        notes = [] if math.isnan(kept) else [f"{percent_text(kept, 0)} of what was found was kept"]
        notes += [] if math.isnan(precision) else [f"{percent_text(precision, 0)} of its hits are relevant"]
        yield Tile(
            "Facts in the answer's prompt",
            percent_text(reached, 0),
            note="; ".join(notes),
            definition="FinalRecall: the share of a question's facts in the hits that reached the answer's prompt.",
        )


def session_next_step(found: SessionAnalysis) -> str:
    """Return what to try next, by what became of most of the facts that did not reach the context."""
    lost = [loss for loss in found.losses if loss.facts and loss.outcome != "found"]
    if not lost:
        return ""
    most = max(lost, key=lambda loss: loss.facts)
    advice = {
        "failed": "find out why sessions fail",
        "left_out": "look at the agent's instructions on what to keep",
        "dropped": "let the reranker return more hits",
        "asked": "try another retriever, or more hits for each search",
        "not_retrieved": "try another retriever, or more hits for each search",
        "never_asked": "look at how the agent plans and phrases its searches",
    }[most.outcome]
    are = "was" if most.facts == 1 else "were"
    return f"Next: {advice}: {most.facts:,} of {counted(len(found.facts), 'fact')} {are} {_IN_WORDS[most.outcome]}."


# Agents side by side.


_OF_AGENTS = {
    "calls": "searches",
    "wasted_calls": "in vain",
    "redundancy": "repeated text",
    "kept": "kept",
    "final_recall": "in the prompt",
    "final_precision": "relevant there",
}
"""What the columns of these measures are called."""


def agents_sentence(found: Agents | None, baseline: str) -> str:
    """Return what the agent that finds most found, in how many searches, beside the baseline or the next best."""
    searched = [] if found is None else [(name, one) for name, one in _by_recall(found) if one.recall_after]
    if len(searched) < 2:
        return ""
    (best, most), *others = searched
    other, less = next((pair for pair in others if pair[0] == baseline), others[0])
    shares = [percent_text(_recall(one, -1), 0) for one in (most, less)]
    return f"{best} found {shares[0]} of a question's facts {_effort(most)}, {other} {shares[1]} {_effort(less)}."


def _effort(found: SessionAnalysis) -> str:
    tokens = f"{'about ' * found.tokens_estimated}{number_text(found.tokens, 0)} tokens"
    return f"in {_searches(found.mean('calls'))} ({tokens})"


def _by_recall(found: Agents) -> list[_Agent]:
    return sorted(found.analyses.items(), key=lambda one: -_recall(one[1], -1))


def agents_view(found: Agents) -> Document:
    """Return what is shown of compared agents."""
    first, *others = agents_sections(found, "")
    title = "Agents: how each searched"
    return Document(title, "", first.tables[0], (), sections=tuple(others), printed=Detail.DETAILS)


def agents_sections(found: Agents, baseline: str) -> tuple[Section, ...]:
    """Return the sections of agents: how they searched in short, then losses and curves."""
    charts = session_figures(found.analyses, baseline)
    sections = [
        Section("How the agents searched", tables=(agents_table(found),)),
        Section("Where each fact was lost", tables=(_losses_by_agent(found),)),
        Section("Recall as the agents search", figures=charts, detail=Detail.DETAILS) if charts else None,
    ]
    return tuple(section for section in sections if section is not None)


_Agent = tuple[str, "SessionAnalysis"]


def agents_table(found: Agents) -> Table:
    """Return how each agent searched: what it found and kept, and what that took."""
    measured = [name for name in _OF_AGENTS if any(not math.isnan(one.mean(name)) for one in found.analyses.values())]
    columns: list[Column[_Agent]] = [
        Column("agent", lambda one: one[0], words=True),
        Column(
            "facts found",
            lambda one: _recall_cell(_recall(one[1], -1)),
            definition="The share of a question's facts that all searches together find",
        ),
        Column(
            "first search",
            lambda one: without_bar(_recall_cell(_recall(one[1], 0))),
            definition="The share of a question's facts that the first search finds",
        ),
        Column(
            "tokens",
            lambda one: number_text(one[1].tokens, 0),
            value=lambda one: one[1].tokens,
            definition="The tokens of the texts of all hits of a session, mean over questions",
        ),
        *map(_measure_column, measured),
    ]
    return table_from(columns, _by_recall(found), "What each agent found, and what that took", sortable=True)


def _measure_column(name: str) -> Column[_Agent]:
    measure = MEASURES[name]

    def cell(one: _Agent) -> Cell:
        mean = one[1].mean(name)
        if math.isnan(mean):
            return Cell("–", "muted")
        text = measure_text(next(metric for metric, _, _ in one[1].means if metric.name == name), mean)
        return Cell(text, value=mean)

    definition = f"{measure.title}: {measure.formula}"
    return Column(_OF_AGENTS[name], cell, definition=definition, optional=name in ("redundancy", "final_precision"))


def _recall(found: SessionAnalysis, call: int) -> float:
    return found.recall_after[call] if found.recall_after else 0.0


def _recall_cell(recall: float) -> Cell:
    return Cell("–", "muted") if math.isnan(recall) else replace(share_cell(recall), value=recall)


def _losses_by_agent(found: Agents) -> Table:
    """Return what became of the facts, an agent a row: so the bars of an outcome are on one scale."""
    known = any(one.context_known for one in found.analyses.values())
    happened = [
        outcome
        for outcome in IN_ORDER
        if outcome == "found" or any(_facts(one, outcome) for one in found.analyses.values())
    ]
    rows = tuple(
        row_of((name, *(_count_cell(_facts(one, outcome), len(one.facts)) for outcome in happened)))
        for name, one in _by_recall(found)
    )
    titles = (outcome_in_words(outcome, context_known=known) for outcome in happened)
    return Table("Outcome of each fact, in the first run of each question", ("agent", *titles), rows)


def _facts(found: SessionAnalysis, outcome: str) -> int:
    return sum(loss.facts for loss in found.losses if loss.outcome == outcome)


def _count_cell(count: int, facts: int) -> Cell:
    share = count / facts if facts else 0.0
    return Cell(f"{count:,} ({percent_text(share, 0)})", low=0.0, middle=share, high=share, value=share, is_share=True)
