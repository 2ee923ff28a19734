"""`raglift compare`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console

from raglift.analysis.costs import has_costs
from raglift.analysis.records import Lift, TagSlices
from raglift.analysis.truncation import truncation_of
from raglift.cli.arguments import checked_budget, in_order
from raglift.cli.comparing import Compare
from raglift.cli.json_output import attributes, labels_json, print_json, records
from raglift.errors import ConfigurationError
from raglift.rendering.document import Detail, Part
from raglift.rendering.presenting import view_of
from raglift.rendering.terminal import as_text, document_parts, write
from raglift.report.fairness import fairness_sentences
from raglift.results.comparison import Comparison, compare
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.utilities.display import printable


def run(request: Compare) -> None:
    """Compare saved evaluations; of a single one, what its reranker changed."""
    if len(request.runs) == 1:
        _one_run(request)
    else:
        _several_runs(request)


def _several_runs(request: Compare) -> None:
    comparison = compare(
        in_order(request.runs, request.names),
        baseline=request.baseline,
        primary=request.primary,
        names=request.names or None,
        seed=request.seed,
        confidence=request.confidence,
        match=request.match,
        budget=checked_budget(request.budget),
    )
    slices = comparison.by_tag() if request.by_tag else None
    if request.as_json:
        _print_json(comparison_as_json(comparison), slices)
    else:
        detail = Detail.DETAILS if request.details else Detail.SUMMARY
        print_parts(document_parts(view_of(comparison, detail=detail), detail), slices)
        sys.stdout.write(f"\n{printable(_next_line(request))}\n")


def _next_line(request: Compare) -> str:
    """Return what to type next."""
    runs = " ".join(shlex.quote(str(folder)) for folder in in_order(request.runs, request.names))
    every = "" if request.details else "; --all prints every metric, tag and question that moved"
    return f"Next: raglift report {runs} shows every question{every}"


def _one_run(request: Compare) -> None:
    """Show the reranker lift of one saved evaluation."""
    (folder,) = request.runs
    ignored = [name for name in ("baseline", "names", "match", "budget") if getattr(request, name)]
    if ignored:
        option = f"--{ignored[0].replace('_', '-')}"
        raise ConfigurationError(f"compare: found {option} with one run; expected two runs or more to compare")
    evaluation = load_evaluation(folder)
    if len(evaluation.scores.stages) == 1:
        raise ConfigurationError(
            f"compare: found one run, {folder}, of one stage ({evaluation.before}); expected a run with a reranker, or "
            "a second run to compare it with"
        )
    lift = evaluation.reranker_lift(request.primary, seed=request.seed, confidence=request.confidence)
    slices = None
    if request.by_tag:
        slices = evaluation.by_tag(lift.primary, seed=request.seed, confidence=request.confidence)
    if request.as_json:
        _print_json(_lift_as_json(lift), slices)
    else:
        print_parts(document_parts(lift.view(Detail.DETAILS), Detail.DETAILS), slices)


def print_parts(parts: Iterable[Part], slices: TagSlices | None = None) -> None:
    """Print in colours to a terminal, and plain text to anything else."""
    console = Console()
    every = [*parts, *(["", *document_parts(view_of(slices))] if slices is not None else [])]
    if console.is_terminal:
        write(console, every)
    else:
        sys.stdout.write(as_text(every) + "\n")


def _print_json(found: dict[str, Any], slices: TagSlices | None) -> None:
    if slices is not None:
        found["by_tag"] = {"metric": slices.metric, "slices": records(slices.to_frame())}
    print_json(found)


def comparison_as_json(comparison: Comparison) -> dict[str, Any]:
    """Return what `--json` prints of a comparison."""
    baseline = comparison.evaluation(comparison.baseline)
    systems = zip(comparison.names, comparison.evaluations, strict=True)
    return {
        "dataset": baseline.dataset.name,
        **labels_json(comparison.label_sources),
        **attributes(comparison, "primary", "baseline"),
        "match": baseline.run.spec["match"],
        "fairness": _fairness_as_json(comparison),
        **attributes(comparison, "baseline_reason", "best"),
        "systems": [_system_as_json(name, evaluation) for name, evaluation in systems],
        **attributes(comparison, "query_ids", "method"),
        "rows": records(comparison.to_frame()),
        "tradeoff": records(comparison.pareto().to_frame()) if has_costs(comparison) else None,
        **attributes(comparison, "warnings", "notes"),
    }


def _system_as_json(name: str, evaluation: Evaluation) -> dict[str, Any]:
    truncation = truncation_of(evaluation)
    return {
        "name": name,
        "stage": evaluation.after,
        "stages": _stages_as_json(evaluation),
        "candidates": evaluation.run.spec["candidates"],
        "truncated_share": truncation.share if truncation else 0.0,
        "notes": evaluation.notes,
    }


def _stages_as_json(evaluation: Evaluation) -> list[dict[str, Any]]:
    return [attributes(stage, "name", "system") for stage in evaluation.run.stages]


def _fairness_as_json(comparison: Comparison) -> dict[str, Any] | None:
    """Return what was done because systems have different chunks, with the figures beside those that decide."""
    found = comparison.fairness
    if found is None:
        return None
    return {
        "sentences": fairness_sentences(comparison),
        "hit_lengths": found.lengths,
        **attributes(found, "in_hits", "area", "recall"),
        "area_decides": found.decides,
        "other_chunks": found.apart,
        "characters_per_token": found.characters_per_token,
        "tokens_estimated": found.is_estimated,
        "tokens_sent": found.sent,
        "tokens_filled": found.filled,
        "unfilled": found.unfilled,
        "leads": [{"tokens": lead.budget.most, "system": lead.system, "recall": lead.recall} for lead in found.leads],
        "change_of_lead": None if found.change is None else [lead.budget.most for lead in found.change],
        **attributes(found, "rescored", "containment"),
    }


def _lift_as_json(lift: Lift) -> dict[str, Any]:
    evaluation = lift.evaluation
    return {
        "dataset": evaluation.dataset.name,
        **labels_json(lift.label_sources),
        "primary": lift.primary,
        "stages": _stages_as_json(evaluation),
        **attributes(evaluation, "before", "after"),
        "method": lift.method,
        "rows": records(lift.to_frame()),
        "moved_up": lift.up,
        "moved_down": lift.down,
        "warnings": lift.warnings,
        "notes": evaluation.notes,
    }
