"""`raglift fix`."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from raglift.cli.json_output import print_json
from raglift.datasets.loading import load_dataset
from raglift.rendering.document import Detail, Document
from raglift.rendering.presenting import view_of
from raglift.rendering.terminal import print_document
from raglift.report.page.rendering import Page, check_page_free, write_page
from raglift.results.evaluation import load_evaluation
from raglift.running.systems import load_system
from raglift.utilities.limits import is_stream

if TYPE_CHECKING:
    from raglift.cli.comparing import Fix
    from raglift.repairing.records import LostFact, Proposal, Repairs


def run(request: Fix) -> None:
    """Find out why the facts of a saved run are lost, print it, and write the page that was asked for."""
    if request.output is not None and not is_stream(request.output):
        check_page_free(request.output, overwrite=True)
    evaluation = load_evaluation(request.run)
    dataset = load_dataset(request.dataset or evaluation.dataset.name)
    given = {} if request.system is None else {"system": load_system(request.system), "reranker": request.reranker}
    repairs = evaluation.repairs(dataset, k=request.k, seed=request.seed, proposing=not request.causes, **given)
    if request.output is not None:
        view = view_of(repairs, detail=Detail.DETAILS)
        write_page(Page(**{field.name: getattr(view, field.name) for field in fields(Document)}), request.output)
    if request.as_json:
        print_json(_as_json(repairs))
        return
    print_document(view_of(repairs, detail=Detail.SUMMARY), by_columns=True)


def _as_json(repairs: Repairs) -> dict[str, Any]:
    return {
        "system": repairs.system,
        "k": repairs.k,
        "lost": [_fact(one) for one in repairs.lost],
        "proposals": [_proposal(one) for one in repairs.proposals],
        "notes": repairs.notes,
    }


def _fact(lost: LostFact) -> dict[str, Any]:
    tried = [
        {"cause": one.change.cause, "change": one.change.title, "settings": one.change.settings}
        | {"rank": one.rank, "agreeing": one.agreeing}
        for one in lost.tried
    ]
    names = ("query_id", "question", "fact", "passage", "outcome", "cause", "rank", "missing")
    return {name: getattr(lost, name) for name in names} | {"alone": dict(lost.alone), "found_by": tried}


def _proposal(proposal: Proposal) -> dict[str, Any]:
    names = ("mended", "broken", "questions", "tokens", "tokens_before", "mended_ids", "broken_ids")
    return {
        "changes": [change.title for change in proposal.changes],
        "settings": " ".join(change.settings for change in proposal.changes),
        **{name: getattr(proposal, name) for name in names},
        "difference": asdict(proposal.difference),
    }
