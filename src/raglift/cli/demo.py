"""`raglift demo` and `raglift walkthrough`: what raglift does, on a corpus that comes with it."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from raglift.adapters.adapt import check_reranker
from raglift.apps.walkthrough import Settings, walk
from raglift.cli.arguments import require_writable
from raglift.cli.evaluate import chunker_of, indexed, numbered_steps, numbers_of_hits, system_of
from raglift.cli.json_output import print_json
from raglift.cli.measuring import Demo, Walkthrough
from raglift.cli.results import as_json as evaluation_as_json
from raglift.datasets.corpora.catalogue import find_corpus
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, MissingDependency, RagliftError
from raglift.metrics.graded_measures import NDCG
from raglift.rendering.document import Detail
from raglift.rendering.terminal import print_document
from raglift.report.format import outcome_text
from raglift.report.views.evaluation import evaluation_view
from raglift.results.evaluation import Evaluation
from raglift.retrieval.models import CROSS_ENCODER
from raglift.running.evaluation import evaluate
from raglift.running.systems import LocalSystem, build_retriever
from raglift.storage.saving import check_free
from raglift.text.normalization import normalize
from raglift.types.dataset import Dataset
from raglift.types.labels import Query
from raglift.utilities.display import counted, printable
from raglift.utilities.limits import is_folder, is_there
from raglift.utilities.validation import nearest

CORPUS = "lighthouse"
"""The corpus of the demonstration."""

_SYSTEM = LocalSystem("hybrid")
_CANDIDATES = 20
"""So many hits go to the reranker: more would take more than a minute."""

_K = 10


def run(request: Demo) -> None:
    """Evaluate on the demonstration corpus, save the run and its report, print what was found.

    Without `--retriever` that is with the bundled models, or with BM25 where what they need is not installed.
    """
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
    require_writable(folder, page)
    if is_there(folder):
        from raglift.report.page.rendering import check_page_free

        check_page_free(page, overwrite=True)
    check_free(saved, overwrite=True)


def _evaluated(dataset: Dataset, retriever: str | None) -> tuple[Evaluation, str]:
    """Return the evaluation, and why it is of BM25 alone where nobody chose that."""
    if retriever is not None:
        return _alone(dataset, retriever), ""
    try:
        check_reranker(CROSS_ENCODER)
        with numbered_steps(_SYSTEM, CROSS_ENCODER):
            retriever = indexed(dataset, _SYSTEM)
            return evaluate(retriever, dataset, reranker=CROSS_ENCODER, k=_CANDIDATES, candidates=_CANDIDATES), ""
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
    view = evaluation_view(evaluation, detail=Detail.SUMMARY)
    documents, questions = (len(part) for part in (evaluation.dataset.documents, evaluation.dataset))
    sizes = f"{counted(documents, 'document')}, {counted(questions, 'question')}"
    about = f"{find_corpus(CORPUS).descriptor.title} (fictional): {sizes}"
    print_document(replace(view, about=(about,), sections=(), warnings=(), notes=()), console=console)
    console.print(f"\n{_facts(evaluation)}\n", markup=False, highlight=False)
    for line in following:  # not wrapped: paths and commands are copied
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


def _facts(evaluation: Evaluation) -> str:
    analysis = evaluation.failure_analysis()
    outcomes = ", ".join(f"{loss.facts} {outcome_text(loss, analysis.k)}" for loss in analysis.losses if loss.facts)
    return f"Where the {analysis.facts} facts that the questions need ended up: {outcomes}."


def _what_next(evaluation: Evaluation, page: Path | None, saved: Path) -> list[str]:
    """Return where the report is, and the next two commands."""
    lines = [] if page is None else [f"Report: {page}"]
    query = shlex.quote(_most_changed(evaluation))
    explain = f"raglift explain {shlex.quote(str(saved))} {query}"
    heading = "Next, explain the score of one question, or measure your own system:"
    return [*lines, heading, f"  {explain}", "  raglift evaluate MY.jsonl --system MY_APP:SEARCH"]


def _most_changed(evaluation: Evaluation) -> str:
    """Return the question whose NDCG the reranker raised most, of one stage the one with the lowest."""
    import numpy as np

    metric = NDCG @ _K
    reranked = evaluation.after != evaluation.before
    values = evaluation.lift(metric) if reranked else -evaluation.scores.of(evaluation.after, metric)
    return evaluation.dataset.queries[int(np.nanargmax(values))].id


def run_walkthrough(request: Walkthrough) -> None:
    """Load the corpus, choose the questions, walk through."""
    chunker = chunker_of(request.chunker)
    parts = system_of("dense", request.embedding, chunker, dtype=request.dtype, device=request.device)
    *smaller, k = sorted(numbers_of_hits(request.k))
    settings = Settings(parts, request.reranker, k, request.profile, tuple(smaller))
    question = request.question
    if question is not None and request.every:
        raise ConfigurationError("walkthrough: found --question and --all; expected one of them")
    dataset = load_dataset(request.corpus, encoding=request.encoding)
    labelled = [query for query in dataset if query.is_labelled]
    check_reranker(settings.reranker)  # what is wrong with it is better said before the text is embedded
    questions = labelled if request.every else [labelled[0] if question is None else _find(dataset, question)]
    evaluation = walk(dataset, questions, settings, Console(quiet=request.as_json))
    if request.as_json:
        print_json(evaluation_as_json(evaluation))


def _find(dataset: Dataset, question: str) -> Query:
    """Return a question by its id or its text; case, quotes, dashes and a question mark at the end do not count."""
    form = _comparable(question)
    found = next((query for query in dataset if form in (_comparable(query.id), _comparable(query.text))), None)
    if found is not None:
        return found
    if question in dataset.resolution.queries_left_out:
        raise ConfigurationError(
            f"--question: {question!r} is left out, because none of its labels resolves in this text; "
            f"raglift labels check {dataset.name} says why"
        )
    expected = nearest(question, [name for query in dataset for name in (query.id, query.text)])
    raise ConfigurationError(f"--question: {question!r} is not in {dataset.name}; expected {expected}")


def _comparable(text: str) -> str:
    form = normalize(text, unicode_folding=True)
    return form.rstrip(" ?") or form
