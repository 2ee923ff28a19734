"""`raglift fix`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.analysis.shared_queries import documents_hash_of
from raglift.cli.exits import stdout_for_results
from raglift.cli.json_output import print_json
from raglift.datasets.loading import load_dataset, load_documents, title_of
from raglift.errors import ConfigurationError, CorpusError, DatasetError
from raglift.rendering.document import Detail
from raglift.rendering.presenting import view_of
from raglift.rendering.terminal import print_document
from raglift.report.page.rendering import check_page_free
from raglift.results.evaluation import Evaluation
from raglift.running.spec import documents_hash
from raglift.running.systems import load_system
from raglift.storage.loading import read_evaluation
from raglift.utilities.limits import is_stream
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from raglift.cli.comparing import Fix
    from raglift.repairing.records import Repairs

_OTHERS = "these are not the documents that the run searched: a fact may be found for that alone"


def run(request: Fix) -> None:
    """Find out why the facts of a saved run are lost, keep it with the run, print it, and write the run's page."""
    if request.output is not None and not is_stream(request.output):
        check_page_free(request.output, overwrite=True)
    evaluation = read_evaluation(request.run, Evaluation)  # what was found before does not matter, nor its damages
    repairs = _found(request, evaluation)
    try:
        repairs.save(request.run)
    except DatasetError as error:
        sys.stderr.write(f"not kept with the run: {error}\n")
    if request.output is not None:
        evaluation.with_repairs(repairs).report(request.output, overwrite=True)
        sys.stderr.write(f"written to {request.output}\n")
    if request.as_json:
        print_json(repairs)
        return
    print_document(view_of(repairs, detail=Detail.SUMMARY), by_columns=True)


@stdout_for_results()
def _found(request: Fix, evaluation: Evaluation) -> Repairs:
    name = request.dataset or evaluation.dataset.name
    if request.dataset is None and request.documents is None and name != title_of(name):
        # Whoever saved the run may have named any file or address
        found = f"{request.run}: found the dataset {quoted(name)}"
        raise ConfigurationError(f"{found}; expected --dataset FOLDER or --documents PATH")
    try:
        documents = load_dataset(name).documents if request.documents is None else load_documents(request.documents)
    except CorpusError as error:
        raise ConfigurationError(f"{error}; say what was searched: --dataset or --documents") from error
    repairs = evaluation.repairs(
        documents,
        system=None if request.system is None else load_system(request.system),
        reranker=request.reranker,
        k=request.k,
        seed=request.seed,
        proposing=not request.causes,
    )
    is_other = documents_hash_of(evaluation) not in (None, documents_hash(documents))
    return replace(repairs, notes=(*repairs.notes, _OTHERS)) if is_other else repairs
