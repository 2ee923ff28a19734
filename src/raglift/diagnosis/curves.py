"""A metric over the depth at which it is taken."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from raglift.diagnosis.rejudged import judgements_of
from raglift.errors import ConfigurationError
from raglift.metrics import MEASURES, parse
from raglift.scoring import score

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from raglift.records import Metric
    from raglift.result_records import EvaluationRecord

__all__ = ["has_curve", "over_k"]


def has_curve(metric: Metric) -> bool:
    """Whether a metric can be shown over k: it takes a depth, and can be computed here."""
    return MEASURES[metric.name].takes_k and MEASURES[metric.name].is_installed


def over_k(evaluation: EvaluationRecord, metric: Metric | str, ks: Sequence[int] | None = None) -> pd.DataFrame:
    """Return a metric's mean at many depths, from what matched, without asking the system again.

    Args:
        evaluation: what was measured.
        metric: a measure without a depth, as `"ndcg"`.
        ks: the depths; by default from 1 to the number of candidates.

    Returns:
        One row a depth: `k`, one column a stage with its mean (missing where the stage could not return so many hits),
        and `n`, the queries that the first stage's mean is over.

    Raises:
        ConfigurationError: no such measure, one that takes no depth or names its own, or a depth that is not from 1 to
            the number of candidates.
    """
    import pandas as pd

    measure = parse(str(metric))
    if measure.depth is not None or not MEASURES[measure.name].takes_k:
        raise ConfigurationError(
            f"over_k: found {metric}; expected a measure without a depth that takes one, as 'ndcg'"
        )
    metrics = [measure @ k for k in _depths(evaluation, ks)]
    scores = score(evaluation.run, evaluation.dataset, judgements_of(evaluation), metrics, evaluation.profile)
    means = {
        stage: [np.nan if evaluation.is_truncated(stage, at_k) else scores.mean(stage, at_k) for at_k in scores.metrics]
        for stage in scores.stages
    }
    n = [scores.n(evaluation.before, at_k) for at_k in scores.metrics]
    return pd.DataFrame({"k": [at_k.k for at_k in scores.metrics], **means, "n": n})


def _depths(evaluation: EvaluationRecord, ks: Sequence[int] | None) -> list[int]:
    candidates = int(evaluation.run.spec["candidates"])
    given: object = range(1, candidates + 1) if ks is None else ks
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else []
    for k in found or [ks]:
        if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= int(k) <= candidates:
            raise ConfigurationError(
                f"ks: found {k!r}; expected depths from 1 to {candidates}, the number of candidates, as "
                f"range(1, {candidates + 1})"
            )
    return sorted({int(k) for k in found})
