"""`raglift demo`."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.adapters.adapt import LATE_INTERACTION
from raglift.cli.evaluate import as_json as evaluation_as_json
from raglift.cli.evaluate import indexed, numbered_steps
from raglift.cli.json_output import print_json
from raglift.errors import ConfigurationError, MissingDependency, RagliftError
from raglift.metrics.graded_measures import NDCG
from raglift.rendering.document import Detail
from raglift.report.format import outcome_text
from raglift.running.evaluation import evaluate
from raglift.running.systems import LocalSystem, build_retriever
from raglift.storage.saving import check_free
from raglift.utilities.display import counted, printable
from raglift.utilities.limits import is_folder, is_there
from raglift.utilities.replacing import unwritable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from raglift.cli.measuring import Demo
    from raglift.results.evaluation import Evaluation
    from raglift.types.dataset import Dataset


CORPUS = "shop_support"
"""The corpus of the demonstration."""

_K = 10


def run(request: Demo) -> None:
    """Evaluate on the demonstration corpus, save the run and its report, print what was found.

    Without `--retriever` that is with the bundled models, or with BM25 where what they need is not installed.

    Raises:
        ConfigurationError: the folder holds something else than an earlier demonstration, or cannot be written.
    """
    from rich.console import Console

    from raglift.datasets.loading import load_dataset

    page, saved = request.output / "report.html", request.output / "run"
    _check_free(request.output, page, saved)
    dataset = load_dataset(CORPUS)
    evaluation, missing = _evaluated(dataset, request.retriever)
    try:
        evaluation.save(saved, overwrite=True)
        without_page = _write_page(evaluation, page)
    except RagliftError:
        _show(evaluation, request, Console(), [])
        raise
    if missing:
        sys.stderr.write(f"BM25 alone: {printable(missing)}\n")
    if without_page:
        sys.stderr.write(f"no report: {printable(without_page)}\n")
    _show(evaluation, request, Console(), _what_next(evaluation, None if without_page else page, saved))
    if request.opened and not without_page:
        webbrowser.open(page.absolute().as_uri())


def _check_free(folder: Path, page: Path, saved: Path) -> None:
    """Raise now what would fail when all is measured."""
    if is_there(folder) and not is_folder(folder):
        raise ConfigurationError(f"--output: found the file {folder}; expected a folder, for the report and the run")
    if (above := unwritable(page)) is not None:
        raise ConfigurationError(f"--output: found {folder}; expected a place that can be written to: {above} is none")
    if is_there(folder):
        from raglift.report.page.rendering import check_page_free

        check_page_free(page, overwrite=True)
    check_free(saved, overwrite=True)


def _evaluated(dataset: Dataset, retriever: str | None) -> tuple[Evaluation, str]:
    """Return the evaluation, and why it is of BM25 alone where nobody chose that."""
    if retriever is not None:
        return _alone(dataset, retriever), ""
    try:
        with numbered_steps(LocalSystem(), LATE_INTERACTION):
            return evaluate(indexed(dataset, LocalSystem()), dataset, reranker=LATE_INTERACTION), ""
    except MissingDependency as error:
        return _alone(dataset, "bm25"), str(error)


def _alone(dataset: Dataset, retriever: str) -> Evaluation:
    return evaluate(build_retriever(dataset, LocalSystem(retriever)), dataset)


def _write_page(evaluation: Evaluation, page: Path) -> str:
    """Write the report; return why there is none, where what pages are made with is not installed."""
    try:
        evaluation.report(page)
    except MissingDependency as error:
        return str(error)
    return ""


def _show(evaluation: Evaluation, request: Demo, console: Console, following: Sequence[str]) -> None:
    """Print the verdict, a handful of metrics, what became of the facts, and what to do next; or JSON."""
    if request.as_json:
        print_json(evaluation_as_json(evaluation))
        return
    from raglift.datasets.corpora.catalogue import find_corpus
    from raglift.rendering.terminal import print_document
    from raglift.report.views.evaluation import evaluation_view

    view = evaluation_view(evaluation, detail=Detail.SUMMARY)
    documents = counted(len(evaluation.dataset.documents), "document")
    about = (
        f"{find_corpus(CORPUS).descriptor.title}, made up: {documents}, {counted(len(evaluation.dataset), 'question')}"
    )
    print_document(replace(view, about=(about,), sections=(), warnings=(), notes=()), console)
    console.print(f"\n{_facts(evaluation)}\n", markup=False, highlight=False)
    for line in following:  # not wrapped: paths and commands are copied
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


def _facts(evaluation: Evaluation) -> str:
    analysis = evaluation.failure_analysis()
    outcomes = ", ".join(f"{loss.facts} {outcome_text(loss, analysis.k)}" for loss in analysis.losses if loss.facts)
    return f"What became of the {analysis.facts} facts that the questions need: {outcomes}."


def _what_next(evaluation: Evaluation, page: Path | None, saved: Path) -> list[str]:
    """Return where the report is, and the next two commands."""
    lines = [] if page is None else [f"Report: {page}"]
    query = shlex.quote(_most_changed(evaluation))
    explain = f"raglift explain {shlex.quote(str(saved))} {query}"
    heading = "Next, explain the score of one question, or measure your own system:"
    return [*lines, heading, f"  {explain}", "  raglift evaluate MY.jsonl --system MY_APP:SEARCH"]


def _most_changed(evaluation: Evaluation) -> str:
    """Return the query whose NDCG the reranker raised most, of one stage the one with the lowest."""
    import numpy as np

    metric = NDCG @ _K
    reranked = evaluation.after != evaluation.before
    values = evaluation.lift(metric) if reranked else -evaluation.scores.of(evaluation.after, metric)
    return evaluation.dataset.queries[int(np.nanargmax(values))].id
