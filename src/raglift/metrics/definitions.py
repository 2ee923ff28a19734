"""Every measure by name: what it is called, its definition, and the function that computes it."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from raglift.errors import ConfigurationError
from raglift.metrics import budgets, graded, judged, ranked, spans, unordered
from raglift.metrics.profiles import PROFILES, Function
from raglift.records import Metric, Tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching import Judgements

__all__ = [
    "MEASURES",
    "Measure",
    "compute",
    "counts_tokens",
    "mean_title",
    "parse",
    "parse_depth",
    "refuse_budget",
    "title",
]


@dataclass(frozen=True)
class Measure:
    """A family of metrics that differ in depth alone."""

    name: str
    """In metric texts: `ndcg`."""
    title: str
    """In tables, for one query: `NDCG`."""
    formula: str
    """The definition in one line; the function's docstring says more."""
    compute: Function
    """Values for all queries."""
    mean_title: str = ""
    """In tables, for the mean over queries, where it has a name of its own: `MRR`."""
    needs_k: bool = False
    """Whether it divides by k: it means nothing without one, nor at a token budget."""
    takes_k: bool = True
    """Whether it can be taken at a depth; one that cannot is the same at every depth."""
    is_cost: bool = False
    """Whether it is what a prompt costs, in tokens: not between 0 and 1, and no better for being more."""
    is_earned: bool = True
    """Whether it grows from 0 with the hits; else it is the labels' or the index's own."""
    is_neutral: bool = False
    """Whether more of it is neither better nor worse by itself: it has no wins and no losses."""
    needs_chunks: bool = False
    """Whether all chunks of the index must be known."""
    needs_text: bool = False
    """Whether it looks at the texts of hits and passages; ids are not enough."""
    parameters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The settings it takes, and their values; the first is the default."""


_GAIN = (("gain", ("linear", "exponential")),)

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("hit_rate", "HitRate", "1 if some fact is satisfied by rank k", unordered.hit_rate),
        Measure("precision", "Precision", "relevant hits among the first k / k", unordered.precision, needs_k=True),
        Measure("recall", "Recall", "facts satisfied by rank k / facts", unordered.recall),
        Measure("f1", "F1", "harmonic mean of Precision@k and Recall@k", unordered.f1, needs_k=True),
        Measure(
            "rr",
            "RR",
            "1 / first rank ≤ k at which a fact is satisfied",
            ranked.reciprocal_rank,
            mean_title="MRR",
        ),
        Measure(
            "ap",
            "AP",
            "Σ over facts satisfied by rank k of N(r)/r, / facts",
            ranked.average_precision,
            mean_title="MAP",
        ),
        Measure("dcg", "DCG", "Σ gain / log2(position + 1), each fact once", graded.dcg, parameters=_GAIN),
        Measure("idcg", "IDCG", "the DCG of the best possible ranking", graded.idcg, is_earned=False, parameters=_GAIN),
        Measure("ndcg", "NDCG", "DCG@k / IDCG@k", graded.ndcg, parameters=_GAIN),
        Measure(
            "span_recall",
            "SpanRecall",
            "passage characters covered by the first k hits / passage characters",
            spans.span_recall,
            needs_text=True,
        ),
        Measure(
            "span_precision",
            "SpanPrecision",
            "passage characters covered by the first k hits / characters of these hits",
            spans.span_precision,
            needs_text=True,
        ),
        Measure(
            "span_iou",
            "SpanIoU",
            "passage characters covered / (characters of the first k hits + passage characters not covered)",
            spans.span_iou,
            needs_text=True,
        ),
        Measure(
            "span_precision_omega",
            "SpanPrecisionOmega",
            "SpanIoU if exactly the chunks that touch a passage had been retrieved",
            spans.span_precision_omega,
            takes_k=False,
            is_earned=False,
            needs_chunks=True,
            needs_text=True,
        ),
        Measure(
            "context_tokens",
            "ContextTokens",
            "tokens of the first k hits",
            budgets.context_tokens,
            is_cost=True,
            is_neutral=True,
            needs_text=True,
        ),
        Measure(
            "judged",
            "Judged",
            "hits among the first k that somebody judged, relevant or not / hits among the first k",
            judged.judged,
            is_earned=False,
            is_neutral=True,
        ),
    )
}
"""The measures, by name."""

_ALIASES = {
    "mrr": "rr",
    "map": "ap",
    "hit": "hit_rate",
    "hitrate": "hit_rate",
    "p": "precision",
    "r": "recall",
    "spanrecall": "span_recall",
    "spanprecision": "span_precision",
    "spaniou": "span_iou",
    "spanprecisionomega": "span_precision_omega",
    "contexttokens": "context_tokens",
}

_DEPTH = re.compile(r"\s*(?:(?P<k>\d{1,9})|tokens\s*\(\s*(?P<tokens>\d{1,9})\s*\))\s*", re.IGNORECASE)
_TEXT = re.compile(
    r"\s*(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*(?:\((?P<settings>[^()]*)\))?\s*"
    rf"(?:@(?P<depth>{_DEPTH.pattern}))?\s*",
    re.IGNORECASE,
)


def parse(text: str) -> Metric:
    """Read a metric: `parse("ndcg@10")`, `parse("recall@tokens(2000)")`, `parse("ndcg(gain=exponential)@5")`.

    Letter case does not matter, and MRR and MAP are read as RR and AP, whose means they are. For every metric
    `m`, `parse(str(m)) == m`.

    Raises:
        ConfigurationError: the text is not a metric; the message lists the known ones.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ConfigurationError(
            f"metric: found {text!r}; expected a name and a depth, as 'ndcg@10' or 'ndcg@tokens(2000)', of up to 9 "
            "digits"
        )
    given = match["name"].lower()
    name = _ALIASES.get(given, given)
    if name not in MEASURES:
        near = difflib.get_close_matches(name, [*MEASURES, *_ALIASES], n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ConfigurationError(
            f"metric: found {match['name']!r}{hint}; expected one of {', '.join([*MEASURES, 'mrr', 'map'])}"
        )
    settings = _settings(MEASURES[name], match["settings"] or "")
    if match["depth"] is not None and not MEASURES[name].takes_k:
        raise ConfigurationError(
            f"metric: found {text!r}; expected {name!r} without a depth: it does not depend on one"
        )
    if match["depth"] is None:
        return Metric(name, None, settings)
    depth = parse_depth(match["depth"])
    if depth is None:
        raise ConfigurationError(f"metric: found {text!r}; expected a depth of 1 or more after @")
    metric = Metric(name, depth, settings)
    if isinstance(depth, Tokens) and MEASURES[name].needs_k:
        refuse_budget(metric)
    return metric


def parse_depth(text: str) -> int | Tokens | None:
    """Read a depth, `5` or `tokens(2000)`; None where it is neither, or less than 1."""
    match = _DEPTH.fullmatch(text)
    if match is None or not int(match["k"] or match["tokens"]):
        return None
    return int(match["k"]) if match["k"] else Tokens(int(match["tokens"]))


def refuse_budget(metric: Metric) -> NoReturn:
    """Say why a measure that counts chunks cannot be taken at a token budget.

    Raises:
        ConfigurationError: always.
    """
    raise ConfigurationError(
        f"metric: found {metric}; expected {metric.name} at a number of hits, as {metric.name}@5: it divides by a "
        "number of chunks, so at an equal budget of tokens it would fall as chunks get smaller, whatever they hold; "
        f"span_precision@{metric.depth} divides by characters instead"
    )


def counts_tokens(metric: Metric) -> bool:
    """Whether a metric needs the tokens of the hits to be counted."""
    return metric.budget is not None or MEASURES[metric.name].is_cost


def _settings(measure: Measure, text: str) -> tuple[tuple[str, str], ...]:
    allowed = dict(measure.parameters)
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (piece.strip().lower() for piece in part.partition("="))
        if value not in allowed.get(name, ()):
            options = "; ".join(f"{key}={'|'.join(values)}" for key, values in allowed.items()) or "no settings"
            raise ConfigurationError(f"{measure.name}: found the setting {part!r}; expected {options}")
        if name in found:
            raise ConfigurationError(f"{measure.name}: found the setting {part!r}; expected {name} once")
        found[name] = value
    return tuple(sorted(found.items()))


def compute(judgements: Judgements, metric: Metric, profile: str = "default") -> NDArray[np.float64]:
    """Return a metric's value for each query, in dataset order.

    Queries without labels come out as 0 (or with what their hits cost) and are left out later by the caller; NaN marks
    a query that the profile leaves out of its mean. At a token budget, a metric is that of the whole of the beginning
    of the ranking that fits.

    Raises:
        ConfigurationError: an unknown profile, measure or setting, or a measure that needs a k has none;
            for a token budget, the encoding cannot be found.
        MissingDependency: for a token budget, tiktoken is not installed.
    """
    if profile not in PROFILES:
        raise ConfigurationError(f"profile: found {profile!r}; expected one of {', '.join(PROFILES)}")
    metric = parse(str(metric))
    measure, conventions = MEASURES[metric.name], PROFILES[profile]
    if measure.needs_k and metric.k is None and metric.name not in conventions.without_k:
        raise ConfigurationError(f"{metric}: found no depth; expected one, as '{metric.name}@10'")
    if metric.budget is not None:
        judgements, metric = budgets.within_budget(judgements, metric.budget), replace(metric, depth=None)
    values = conventions.functions.get(metric.name, measure.compute)(judgements, metric)
    if metric.name not in conventions.leaves_out_empty:
        return values
    came_back = (judgements.whole or judgements).hits > 0  # a first hit larger than a token budget did come back
    return np.where(came_back, values, np.nan)


def title(metric: Metric) -> str:
    """Return what one query's value is called: `RR@10`."""
    return str(metric).replace(metric.name, MEASURES[metric.name].title, 1)


def mean_title(metric: Metric) -> str:
    """Return what the mean over queries is called: `MRR@10`."""
    measure = MEASURES[metric.name]
    return str(metric).replace(metric.name, measure.mean_title or measure.title, 1)
