"""`raglift fix`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.cli.exits import stdout_for_results
from raglift.cli.json_output import print_json
from raglift.datasets.loading import load_dataset, title_of
from raglift.errors import ConfigurationError, DatasetError
from raglift.rendering.document import Detail
from raglift.rendering.presenting import view_of
from raglift.rendering.terminal import print_document
from raglift.report.page.rendering import check_page_free
from raglift.results.evaluation import load_evaluation
from raglift.running.systems import load_system
from raglift.utilities.limits import is_stream
from raglift.utilities.progress import notice
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from raglift.cli.comparing import Fix
    from raglift.repairing.records import Repairs
    from raglift.results.evaluation import Evaluation


def run(request: Fix) -> None:
    """Find out why the facts of a saved run are lost, keep it with the run, print it, and write the run's page."""
    if request.output is not None and not is_stream(request.output):
        check_page_free(request.output, overwrite=True)
    evaluation = load_evaluation(request.run)
    repairs = _found(request, evaluation)
    try:
        repairs.save(request.run)
    except DatasetError as error:
        notice(f"not kept with the run: {error}")
    if request.output is not None:
        evaluation.with_repairs(repairs).report(request.output, overwrite=True)
    if request.as_json:
        print_json(repairs)
        return
    print_document(view_of(repairs, detail=Detail.SUMMARY), by_columns=True)


@stdout_for_results()
def _found(request: Fix, evaluation: Evaluation) -> Repairs:
    name = evaluation.dataset.name
    if request.dataset is None and name != title_of(name):  # whoever saved the run may have named any file or address
        raise ConfigurationError(f"{request.run}: found the dataset {quoted(name)}; expected --dataset FOLDER")
    dataset = load_dataset(request.dataset or name)
    given = {} if request.system is None else {"system": load_system(request.system), "reranker": request.reranker}
    return evaluation.repairs(dataset, k=request.k, seed=request.seed, proposing=not request.causes, **given)
