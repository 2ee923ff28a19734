"""Metrics from text, and users' metrics in saved runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NoReturn

from raglift.errors import ConfigurationError
from raglift.metrics.custom import TITLE
from raglift.metrics.measure import Measure
from raglift.metrics.registry import MEASURES, measure_of
from raglift.types.metric import Calls, Metric, Tokens, setting_text
from raglift.utilities.display import printable, short_repr

if TYPE_CHECKING:
    from raglift.matching.matches import MatchTable


# Parsing of metrics; no other module parses them.


_DEPTH = re.compile(r"\s*(?:(?P<k>\d{1,9})|(?P<unit>tokens|calls)\s*\(\s*(?P<most>\d{1,9})\s*\))\s*", re.IGNORECASE)
_TEXT = re.compile(
    r"\s*(?P<name>[0-9]*[A-Za-z_][A-Za-z0-9_]*)\s*(?:\((?P<settings>[^()]*)\))?\s*"
    rf"(?:@(?P<depth>{_DEPTH.pattern}))?\s*",
    re.IGNORECASE,
)


def parse(text: str) -> Metric:
    """Read a metric: `parse("ndcg@10")`, `parse("recall@tokens(2000)")`, `parse("rbp(p=0.95)@10")`.

    Letter case does not matter, and MRR and MAP are read as RR and AP, whose means they are; Success is read as
    HitRate. For every metric `m`, `parse(str(m)) == m`.

    Raises:
        ConfigurationError: the text is not a metric; the message lists the known ones.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ConfigurationError(
            f"metric: found {short_repr(text)}; expected a name and a depth, as 'ndcg@10' or 'ndcg@tokens(2000)', of "
            "up to 9 digits"
        )
    measure = measure_of(match["name"])
    settings = _settings(measure, match["settings"] or "")
    if match["depth"] is None:
        return Metric(measure.name, None, settings)
    if not measure.takes_k:
        raise ConfigurationError(
            f"metric: found {short_repr(text)}; expected {measure.name!r} without a depth: it does not depend on one"
        )
    depth = parse_depth(match["depth"])
    if depth is None:
        raise ConfigurationError(f"metric: found {short_repr(text)}; expected a depth of 1 or more after @")
    metric = Metric(measure.name, depth, settings)
    if measure.needs_budget and not isinstance(depth, Tokens):
        raise ConfigurationError(
            f"metric: found {short_repr(text)}; expected a budget of tokens, as '{measure.name}@tokens(2000)'"
        )
    if not isinstance(depth, int) and measure.needs_k:
        refuse_budget(metric)
    return metric


def as_metric(metric: Metric | str, where: str = "metric") -> Metric:
    """Return a metric; a text is parsed.

    Args:
        metric: a metric or its text.
        where: the argument's name, for the message.

    Raises:
        ConfigurationError: the text is not a metric, or neither was given.
    """
    if isinstance(metric, Metric):
        return metric
    if not isinstance(metric, str):
        raise ConfigurationError(f"{where}: found a {type(metric).__name__}; expected a metric, as 'ndcg@10'")
    return parse(metric)


_LISTED = 8


def not_scored(metric: Metric, known: Sequence[Metric], how: str = "scored") -> str:
    """Return what was found and what was expected, if a metric is none of those known: first those of its measure."""
    names = [str(one) for one in sorted(known, key=lambda one: one.name != metric.name)]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"found {metric}, which was not {how}; expected one of {', '.join(names[:_LISTED])}{more}"


def parse_depth(text: str) -> int | Tokens | Calls | None:
    """Read a depth, `5`, `tokens(2000)` or `calls(2)`; None if it is none of them, or less than 1."""
    match = _DEPTH.fullmatch(text)
    if match is None or not int(match["k"] or match["most"]):
        return None
    if match["k"]:
        return int(match["k"])
    return Tokens(int(match["most"])) if match["unit"].lower() == "tokens" else Calls(int(match["most"]))


def refuse_budget(metric: Metric) -> NoReturn:
    """Say why a measure that counts chunks cannot be taken at a token budget, or after so many calls."""
    if metric.calls is not None:
        raise ConfigurationError(
            f"metric: found {metric}; expected {metric.name} at a number of hits, as {metric.name}@5: it divides by a "
            "number of chunks, and calls return different numbers of them"
        )
    raise ConfigurationError(
        f"metric: found {metric}; expected {metric.name} at a number of hits, as {metric.name}@5: it divides by a "
        "number of chunks, so at an equal budget of tokens it would fall as chunks get smaller, whatever they hold; "
        f"span_precision@{metric.depth} divides by characters instead"
    )


def _settings(measure: Measure, text: str) -> tuple[tuple[str, str], ...]:
    allowed = {parameter.name: parameter for parameter in measure.parameters}
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, values = (overlap.strip().lower() for overlap in part.partition("="))
        value = setting_text(values)
        if measure.is_installed and (name not in allowed or not allowed[name].accepts(value)):
            options = "; ".join(map(str, allowed.values())) or "no settings"
            raise ConfigurationError(f"{measure.name}: found the setting {short_repr(part)}; expected {options}")
        if name in found:
            raise ConfigurationError(f"{measure.name}: found the setting {short_repr(part)}; expected {name} once")
        found[name] = value
    return tuple(sorted(found.items()))


# Users' metrics in saved runs: how they are described there, and the placeholder for one that is not installed.


_TEXTS = ("formula", "source", "origin")
_FLAGS = tuple(each.name for each in fields(Measure) if each.name.startswith(("is_", "needs_", "takes_")))
_UNKNOWN = "a function that is not known"


def describe_own(metrics: Iterable[Metric]) -> dict[str, dict[str, Any]]:
    """Return what is to be kept of users' measures next to their values, by name."""
    measures = {metric.name: MEASURES[metric.name] for metric in metrics if MEASURES[metric.name].origin}
    fields = [name for name in ("title", *_TEXTS, *_FLAGS) if name != "is_installed"]
    return {name: {each: getattr(measure, each) for each in fields} for name, measure in measures.items()}


def read_metric(text: str, described: Mapping[str, Any]) -> Metric:
    """Read the text of a metric that was scored; where its measure is not installed, what was saved stands for it.

    Raises:
        ConfigurationError: no such metric, and nothing was saved of it.
    """
    try:
        return parse(text)
    except ConfigurationError:
        name = text.partition("@")[0].partition("(")[0].strip()
        if name in MEASURES or not isinstance(described.get(name), Mapping):
            raise
        MEASURES[name] = _absent(name, described[name])
        return parse(text)


def require_installed(metrics: Iterable[Metric]) -> None:
    """Check that metrics can be computed here.

    Raises:
        ConfigurationError: one is a user's whose function is not here.
    """
    for metric in metrics:
        if not MEASURES[metric.name].is_installed:
            _refuse(metric)


def _absent(name: str, fields: Mapping[str, Any]) -> Measure:
    """Return a measure that has everything but its function; what was kept wrongly is left out."""
    title = fields.get("title")
    formula, source, origin = (printable(fields[each]) if isinstance(fields.get(each), str) else "" for each in _TEXTS)
    plain = Measure(
        name,
        title if isinstance(title, str) and TITLE.fullmatch(title) else name,
        formula,
        _cannot_be_computed,
        source,
        origin=origin or _UNKNOWN,
        is_installed=False,
    )
    flags: dict[str, Any] = {each: fields[each] for each in _FLAGS if isinstance(fields.get(each), bool)}
    return replace(plain, **flags | {"is_installed": False})


def _cannot_be_computed(_: MatchTable, metric: Metric) -> NoReturn:
    _refuse(metric)


def _refuse(metric: Metric) -> NoReturn:
    raise ConfigurationError(
        f"{metric}: found a metric of a user's, {MEASURES[metric.name].origin}, that is not installed here; expected "
        "the package that offers it, or the module that makes it imported before: its saved values can be shown, but "
        "not computed again"
    )
