"""Agents compared: how each searched, and how much of a difference between them is from run to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.analysis.repetitions import values_by_repetition
from raglift.analysis.sessions import session_analysis
from raglift.errors import ConfigurationError
from raglift.rendering.presenting import Presentable
from raglift.stats.variances import difference_components, variance_components

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from raglift.analysis.session_runs import Asked
    from raglift.analysis.sessions import SessionAnalysis
    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation
    from raglift.stats.variances import DifferenceComponents, VarianceComponents
    from raglift.types.metric import Metric


@dataclass(frozen=True)
class Agents(Presentable):
    """How the agents of a comparison searched."""

    analyses: Mapping[str, SessionAnalysis]
    """Of each agent, how its sessions went; systems that are asked once are not among them."""
    primary: Metric
    """The metric that decides, of which the variances are."""
    components: Mapping[str, VarianceComponents]
    """Of each agent that ran queries several times, the variance between queries and from run to run."""
    differences: Mapping[str, DifferenceComponents]
    """Of each system's difference to the baseline, where either ran queries several times: how much of its variance is
    from run to run."""

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
    systems = dict(zip(comparison.names, comparison.evaluations, strict=True))
    agents = {name: one for name, one in systems.items() if one.run.has_sessions}
    if not agents:
        raise ConfigurationError(
            "agents: found systems that are asked once; expected a comparison of sessions, from rl.evaluate_sessions"
        )
    tells = _is_run_again(agents)
    values = {name: _values(one, comparison) for name, one in systems.items()} if tells else {}
    components = {name: parts for name in agents if values and (parts := variance_components(values[name]))}
    differences = {
        name: added
        for name in comparison.others
        if values and (added := difference_components(values[name], values[comparison.baseline]))
    }
    analyses = {name: session_analysis(one, asked) for name, one in agents.items()}
    return Agents(analyses, comparison.primary, components, differences)


def _is_run_again(agents: Mapping[str, Evaluation]) -> bool:
    return any(trace.repetitions for one in agents.values() for trace in one.run.traces)


def _values(evaluation: Evaluation, comparison: Comparison) -> NDArray[np.float64]:
    """Return the metric that decides, run by run, of the queries of the comparison."""
    return values_by_repetition(evaluation, comparison.primary)[:, evaluation.scores.places_of(comparison.query_ids)]
