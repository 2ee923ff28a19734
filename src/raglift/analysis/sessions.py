"""Sessions: recall after each call and after each token, how an agent searched, and where each fact was lost."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.outcomes import OutcomeFacts
from raglift.analysis.repetitions import repetition_components
from raglift.analysis.scoring import with_metrics
from raglift.analysis.session_runs import (
    OUTCOMES,
    Asked,
    SessionFact,
    SessionRun,
    first_calls_and_ranks,
    session_runs,
    tokens_until_found,
)
from raglift.errors import ConfigurationError
from raglift.metrics.budgets import context_totals
from raglift.rendering.presenting import Presentable
from raglift.stats.intervals import checked_integer
from raglift.text.tokens import EstimatedTokens
from raglift.types.metric import Metric

if TYPE_CHECKING:
    import pandas as pd

    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation
    from raglift.stats.variances import VarianceComponents


MEASURES_OF_SESSIONS = tuple(
    map(
        Metric,
        ("calls", "recovery", "redundancy", "wasted_calls", "first_call", "kept", "final_recall", "final_precision"),
    )
)
"""What a session analysis takes."""

SESSION_RECALL = Metric("session_recall")
"""The metric whose variance from run to run is told: over all hits of all calls."""


@dataclass(frozen=True)
class SessionAnalysis(Presentable):
    """How an agent searched, what each call found, and where each fact was lost."""

    sessions: int
    """The labelled queries; each has one session, or several runs of it."""
    recall_after: tuple[float, ...]
    """The mean share of facts that the first 1, 2, … calls found, up to the longest session."""
    recall_after_tokens: tuple[tuple[int, float], ...]
    """Numbers of tokens of hits, ascending, each with the mean share of facts found within it. Only numbers at which
    the share rises are listed; between two of them the share of the lower one holds."""
    tokens: float
    """The mean number of tokens that all hits of a session have."""
    still_searching: tuple[int, ...]
    """How many sessions of first runs made at least 1, 2, … calls."""
    means: tuple[tuple[Metric, float, int], ...]
    """Each measure of `MEASURES_OF_SESSIONS` with its mean (NaN if there is none) and its number of questions."""
    failed_calls: int
    """How many calls of first runs failed."""
    facts: tuple[SessionFact, ...]
    """Every fact of the labelled queries, in first runs."""
    losses: tuple[OutcomeFacts, ...]
    """The facts by outcome, in the order of `OUTCOMES`; each fact counts once."""
    context_known: bool
    """Whether the final context of any session is known; else `found` means that a call found the fact."""
    components: VarianceComponents | None
    """How much of the variance of session recall is from run to run; None if no query was run twice."""
    tokens_estimated: bool = False
    """Whether four characters were taken for a token, since tokens could not be counted without a network."""

    def recall_within(self, tokens: int) -> float:
        """Return the mean share of facts that a session's hits within so many tokens find: recall@tokens(n).

        Args:
            tokens: n, of tiktoken's cl100k_base; the first hit that does not fit ends it.

        Raises:
            ConfigurationError: not an integer of 1 or more.
        """
        most = checked_integer("tokens", tokens, least=1)
        place = bisect_right([reached for reached, _ in self.recall_after_tokens], most)
        return self.recall_after_tokens[place - 1][1] if place else 0.0

    def mean(self, name: str) -> float:
        """Return the mean of one measure, such as `recovery`; NaN if no session has a value.

        Raises:
            ConfigurationError: it is none of `MEASURES_OF_SESSIONS`.
        """
        found = {metric.name: mean for metric, mean, _ in self.means}
        if name not in found:
            raise ConfigurationError(f"measure: found {name!r}; expected one of {', '.join(found)}")
        return found[name]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per fact: `query_id`, `fact`, `outcome`, the `call` and `rank` that found it, and `tokens`."""
        import pandas as pd

        names = [field.name for field in fields(SessionFact)]
        frame = pd.DataFrame([[getattr(each, name) for name in names] for each in self.facts], columns=names)
        return frame.astype({"call": "Int64", "rank": "Int64", "tokens": "Int64"})


def session_analysis(evaluation: Evaluation, asked: Callable[[tuple[str | None, ...]], Asked]) -> SessionAnalysis:
    """Return how the sessions of an evaluation went.

    Means and recall after each call are over all runs of each query; what became of each fact is told of the first.

    Args:
        evaluation: of sessions.
        asked: makes, of the texts of all labelled passages, what tells which of them a search asks for.

    Raises:
        ConfigurationError: the evaluation is of a system that is asked once.
    """
    run = evaluation.run
    if not run.has_sessions:
        raise ConfigurationError(
            "session_analysis: found an evaluation of a system that is asked once; expected one of sessions, from "
            "rl.evaluate_sessions"
        )
    runs = list(session_runs(evaluation, asked))
    facts, table = runs[0].facts, runs[0].last
    longest = max((len(each.calls or ()) for one in runs for each in one.run.traces), default=0)
    scores = with_metrics(evaluation, MEASURES_OF_SESSIONS).scores
    stage = evaluation.after
    labelled = [number for number, query in enumerate(evaluation.dataset.queries) if query.is_labelled]
    made = [len(run.traces[number].calls or ()) for number in labelled]
    return SessionAnalysis(
        sessions=len(labelled),
        recall_after=_recall_after(runs, longest),
        recall_after_tokens=_recall_after_tokens(runs),
        tokens=_tokens(runs, labelled),
        still_searching=tuple(sum(count >= number for count in made) for number in range(1, longest + 1)),
        means=tuple((metric, scores.mean(stage, metric), scores.n(stage, metric)) for metric in MEASURES_OF_SESSIONS),
        failed_calls=sum(call.error is not None for number in labelled for call in run.traces[number].calls or ()),
        facts=facts,
        losses=tuple(_of_outcome(facts, outcome) for outcome in OUTCOMES),
        context_known=table.context is not None,
        components=repetition_components(evaluation, SESSION_RECALL),
        tokens_estimated=isinstance(table.counter, EstimatedTokens),
    )


def _shares(runs: list[SessionRun]) -> NDArray[np.float64]:
    """Return what each fact of each run adds to a mean recall: shares of its query's facts, over its query's runs."""
    table = runs[0].last
    wanted = np.bincount(table.facts.query, minlength=table.queries)
    times = np.sum([one.was_run for one in runs], axis=0)
    shares = 1.0 / (wanted * np.maximum(times, 1) * np.count_nonzero(wanted))[table.facts.query]
    return np.stack([np.where(one.was_run[table.facts.query], shares, 0.0) for one in runs])


def _recall_after(runs: list[SessionRun], longest: int) -> tuple[float, ...]:
    """Return the mean of recall@calls(1), recall@calls(2), …: all at once, as sessions may have very many calls."""
    if not len(runs[0].last.facts.query):
        return (float("nan"),) * longest
    call = np.stack([first_calls_and_ranks(one.last)[0] for one in runs])
    gained = np.bincount(call.ravel(), weights=_shares(runs).ravel(), minlength=longest + 1)
    return tuple(np.cumsum(gained[1:]).tolist())


def _recall_after_tokens(runs: list[SessionRun]) -> tuple[tuple[int, float], ...]:
    """Return the numbers of tokens at which the mean of recall@tokens(n) rises, and what it rises to."""
    shares = _shares(runs) if len(runs[0].last.facts.query) else np.zeros((len(runs), 0))
    spent = np.stack([tokens_until_found(one.last) for one in runs])
    found = np.stack([first_calls_and_ranks(one.last)[0] > 0 for one in runs])
    reached, place = np.unique(np.maximum(spent[found], 1), return_inverse=True)
    recall = np.cumsum(np.bincount(place, weights=shares[found], minlength=len(reached)))
    return tuple(zip(reached.tolist(), recall.tolist(), strict=True))


def _tokens(runs: list[SessionRun], labelled: list[int]) -> float:
    """Return the mean over queries of the mean over their runs of the tokens of all hits."""
    if not labelled:
        return float("nan")
    totals = np.stack([np.where(one.was_run, context_totals(one.last), 0) for one in runs]).sum(axis=0)
    times = np.sum([one.was_run for one in runs], axis=0)
    return float((totals / times)[labelled].mean())


def _of_outcome(facts: tuple[SessionFact, ...], outcome: str) -> OutcomeFacts:
    found = [fact for fact in facts if fact.outcome == outcome]
    return OutcomeFacts(outcome, None, len(found), tuple(dict.fromkeys(fact.query_id for fact in found)))


@dataclass(frozen=True)
class Agents(Presentable):
    """How the agents of a comparison searched."""

    analyses: Mapping[str, SessionAnalysis]
    """Of each agent, how its sessions went; systems that are asked once are not among them."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per agent: `agent`, `recall`, `first_call_recall`, `tokens` and each measure of sessions."""
        import pandas as pd

        rows = [
            {
                "agent": name,
                "recall": found.recall_after[-1] if found.recall_after else 0.0,
                "first_call_recall": found.recall_after[0] if found.recall_after else 0.0,
                "tokens": found.tokens,
                **{str(metric): mean for metric, mean, _ in found.means},
            }
            for name, found in self.analyses.items()
        ]
        return pd.DataFrame(rows)


def compared_agents(comparison: Comparison, asked: Callable[[tuple[str | None, ...]], Asked]) -> Agents:
    """Return how the agents of a comparison searched.

    Args:
        comparison: of systems, of which at least one has sessions.
        asked: makes, of the texts of all labelled passages, what tells which of them a search asks for.

    Raises:
        ConfigurationError: no system has sessions.
    """
    systems = zip(comparison.names, comparison.evaluations, strict=True)
    analyses = {name: session_analysis(one, asked) for name, one in systems if one.run.has_sessions}
    if not analyses:
        raise ConfigurationError(
            "agents: found systems that are asked once; expected a comparison of sessions, from rl.evaluate_sessions"
        )
    return Agents(analyses)
