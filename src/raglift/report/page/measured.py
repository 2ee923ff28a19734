"""What was measured and how: the system, the questions, the rule, the machine, the date."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from raglift.metrics import mean_title
from raglift.printable import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from raglift.records import Dataset, Metric
    from raglift.result_records import ComparisonRecord, EvaluationRecord

__all__ = ["measured", "measured_together"]

_AROUND = ("python", "machine", "system", "processor", "cores")
"""What an environment says besides the versions of packages."""


def measured(evaluation: EvaluationRecord, primary: Metric, *, match: str) -> tuple[tuple[str, str], ...]:
    """Return what was measured of one system, as names and values.

    Args:
        evaluation: what was measured.
        primary: the metric that decides.
        match: the match rule, in words.
    """
    stages = [(f"Stage {stage.name}", stage.system) for stage in evaluation.run.stages]
    return (*stages, *_rows([evaluation], primary, match))


def measured_together(comparison: ComparisonRecord, *, match: str) -> tuple[tuple[str, str], ...]:
    """Return what was measured of several systems, as names and values.

    Args:
        comparison: the systems.
        match: the match rule, in words.
    """
    every, shared = comparison.evaluations, len(comparison.query_ids)
    systems = f"{counted(len(every), 'system')}, each beside {comparison.baseline}"
    together = (
        [] if all(len(one.dataset) == shared for one in every) else [("Queries that all answered", f"{shared:,}")]
    )
    return (("Compared", systems), *together, *_rows(every, comparison.primary, match))


def _rows(evaluations: Sequence[EvaluationRecord], primary: Metric, match: str) -> list[tuple[str, str]]:
    """Return what holds of all systems; where they differ, each value once."""
    specs = [one.run.spec for one in evaluations]
    profiles = _each(one.profile for one in evaluations)
    found = [
        ("Dataset", _each(_dataset(one) for one in evaluations)),
        ("Failed", _failed(evaluations)),
        ("Match rule", match),
        ("Decides", mean_title(primary)),
        ("Conventions", "" if profiles == "default" else profiles),
        ("Candidates", _each(f"{spec['candidates']:,} a query" for spec in specs)),
        ("Chunks", _chunks(evaluations)),
        ("Measured on", _days(specs)),
        ("Versions", _each(_versions(spec.get("environment", {})) for spec in specs)),
        ("Machine", _each(_machine(spec.get("environment", {})) for spec in specs)),
    ]
    return [(name, value) for name, value in found if value]


def _each(values: Iterable[str]) -> str:
    """Return different values once each, in order."""
    return "; ".join(dict.fromkeys(value for value in values if value))


def _dataset(evaluation: EvaluationRecord) -> str:
    dataset = evaluation.dataset
    digest = evaluation.run.spec.get("dataset", {}).get("hash")
    return f"{dataset.name}: {_queries(dataset)}" + (f" (hash {digest})" if digest else "")


def _queries(dataset: Dataset) -> str:
    """Return how many queries there are, and how many of them count."""
    labelled = sum(query.is_labelled for query in dataset)
    unanswerable = sum(not query.answerable for query in dataset)
    facts = sum(len(query.facts) for query in dataset if query.is_labelled)
    parts = [] if labelled == len(dataset) else [f"{labelled:,} of them labelled"]
    parts += [f"{unanswerable:,} marked unanswerable"] if unanswerable else []
    return ", ".join([counted(len(dataset), "query"), *parts, counted(facts, "fact")])


def _failed(evaluations: Sequence[EvaluationRecord]) -> str:
    counts = [sum(trace.error is not None for trace in one.run.traces) for one in evaluations]
    if len(evaluations) == 1:
        return f"{counted(counts[0], 'query')}, which count 0" if counts[0] > 1 else _none_or_one(counts[0])
    told = [f"{count:,} of {counted(many, 'system')}" for count, many in sorted(Counter(counts).items())]
    return "no query of any system" if not any(counts) else f"queries: {', '.join(told)}; they count 0"


def _none_or_one(count: int) -> str:
    return "1 query, which counts 0" if count else "no query"


def _chunks(evaluations: Sequence[EvaluationRecord]) -> str:
    counts = sorted({one.run.inventory.chunks for one in evaluations if one.run.inventory is not None})
    if not counts:
        return ""
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def _days(specs: Iterable[Mapping[str, Any]]) -> str:
    """Return when runs began, from the first to the last."""
    found = sorted({_minute(str(spec.get("started") or "")) for spec in specs} - {""})
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}" if found else ""


def _minute(started: str) -> str:
    """Return a time to the minute; as it stands where it is none."""
    try:
        moment = datetime.fromisoformat(started)
    except ValueError:
        return started
    return f"{moment:%Y-%m-%d %H:%M}" if moment.tzinfo is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _versions(environment: Mapping[str, str]) -> str:
    packages = [f"{name} {version}" for name, version in environment.items() if name not in _AROUND]
    python = environment.get("python")
    return ", ".join(packages[:1] + ([f"Python {python}"] if python else []) + packages[1:])


def _machine(environment: Mapping[str, str]) -> str:
    cores = environment.get("cores")
    parts = [environment.get("processor"), f"{cores} cores" if cores else None, environment.get("machine")]
    return ", ".join(part for part in (*parts, environment.get("system")) if part)
