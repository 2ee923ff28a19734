"""`raglift labels grade`, and `raglift labels sample`, which draws what people grade beside it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from raglift.cli.arguments import require_writable
from raglift.cli.evaluate import numbers_of_hits
from raglift.cli.json_output import attributes, print_json
from raglift.cli.labels import Grade, Sample
from raglift.cli.model_options import model_of, print_estimate, stoppable
from raglift.cli.saving import load_runs
from raglift.datasets.jsonl import write_queries
from raglift.datasets.loading import load_dataset, load_documents
from raglift.errors import ConfigurationError, DatasetError, ModelOutputError
from raglift.grading.batch import NoAnswer
from raglift.grading.correction import correct
from raglift.grading.correction_records import Correction, correction_view
from raglift.grading.grading import Graded, estimate_grading, grade
from raglift.grading.grading_text import GradingSummary, grading_view
from raglift.grading.human_grades import HumanSample, read_human_sample, sample_for_grading
from raglift.grading.labels import placed
from raglift.grading.pooling import Pool, pool
from raglift.grading.rubrics import check_relevant_from
from raglift.grading.sampled_units import Estimand, check_estimand, metrics_to_correct, sampled_units
from raglift.rendering.terminal import print_document
from raglift.results.comparison import compare
from raglift.results.evaluation import Evaluation
from raglift.types.documents import Document
from raglift.utilities.display import counted, printable
from raglift.utilities.limits import is_folder, is_there
from raglift.utilities.threads import require_concurrency

_USUAL_SCALE = 3


def run(request: Grade) -> None:
    """Pool, estimate, ask, write, print."""
    require_concurrency(request.concurrency)  # an estimate asks nothing that would check it
    model = model_of(request.model, request.temperature, to_estimate=request.estimate)
    if request.output is not None or not request.estimate:
        _check_output(request.output, "labels", overwrite=request.overwrite)
    sample = _sample(request)
    evaluations = load_runs(request.runs)
    documents = load_documents(request.documents, encoding=request.encoding, include=request.include)
    pairs = placed(pool(evaluations, depth=max(numbers_of_hits(request.k))), documents)
    rubric, scale = request.rubric, request.scale
    human = None if sample is None else _human(request, sample, evaluations, pairs)
    expected = estimate_grading(pairs, model, rubric=rubric, scale=scale)
    check_relevant_from(request.relevant_from, scale)
    print_estimate(expected, model)
    if request.estimate:
        return
    with stoppable():
        graded = grade(pairs, model, rubric=rubric, scale=scale, concurrency=request.concurrency)
    _check_any(graded)
    correction = None if human is None else _corrected(request, human, evaluations, graded)
    summary = graded.summary(evaluations, relevant_from=request.relevant_from, fill=request.fill)
    _finish(request, summary, documents, correction)
    if request.report is not None and correction is not None:
        _report(evaluations, summary, correction, request.report)


def _report(evaluations: Mapping[str, Evaluation], summary: GradingSummary, correction: Correction, path: Path) -> None:
    """Write the page of the runs, with the corrected figures and how well the model agrees with people."""
    also = [one for one in (correction, summary.agreement, summary.order) if one is not None]
    if len(evaluations) == 1:
        written = next(iter(evaluations.values())).report(path, also=also)
    else:
        written = compare(evaluations).report(path, also=also)
    _say(f"report written to {written}")


def _sample(request: Grade) -> HumanSample | None:
    """Return the sample that people graded; None if there is none."""
    check_estimand(request.estimand)
    if request.human is None:
        alone = [name for name in ("sample", "metrics", "report") if getattr(request, name)]
        if alone:
            raise ConfigurationError(f"--{alone[0]}: found it without --human; expected both: it is about corrections")
        return None
    return read_human_sample(request.human if request.sample is None else request.sample)


def _human(request: Grade, sample: HumanSample, evaluations: Mapping[str, Evaluation], pairs: Pool) -> HumanSample:
    """Return the sample with people's grades."""
    if request.sample is not None and request.human is not None:
        sample = sample.with_labels(evaluations, load_dataset(request.human))
    metrics_to_correct(request.metrics or None, sampled_units(pairs, sample, request.scale))
    return sample


def _corrected(request: Grade, human: HumanSample, evaluations: Mapping[str, Evaluation], graded: Graded) -> Correction:
    return correct(
        evaluations,
        graded,
        human,
        metrics=request.metrics or None,
        estimand=cast("Estimand", request.estimand),
        relevant_from=request.relevant_from,
    )


def _finish(
    request: Grade, summary: GradingSummary, documents: Sequence[Document], correction: Correction | None
) -> None:
    """Write the labels and print what they come to, and what to do with them."""
    _write(request, summary, documents)
    if request.as_json:
        corrected = {} if correction is None else {"correction": correction.about() | {"figures": correction.rows()}}
        print_json(_as_json(summary) | corrected)
    else:
        print_document(grading_view(summary))
        if correction is not None:
            print_document(correction_view(correction))
    runs = " ".join(shlex.quote(str(folder)) for folder in request.runs)
    output = shlex.quote(str(request.output))
    _say(f"labels written to {output}; next:")
    places = "" if request.documents is None else f" --documents {shlex.quote(str(request.documents))}"
    places += "" if request.encoding is None else f" --encoding {shlex.quote(request.encoding)}"
    first = shlex.quote(str(request.runs[0]))
    _say(f"  raglift rescore {first} --labels {output}{places}    figures under these labels")
    scale = "" if summary.graded.scale == _USUAL_SCALE else f" --scale {summary.graded.scale}"
    _say(f"  raglift labels review {output} {runs}{places}{scale}    look at them, one by one")


def _write(request: Grade, summary: GradingSummary, documents: Sequence[Document]) -> None:
    """Write the labels."""
    output = cast("Path", request.output)
    try:
        write_queries(summary.labels, output, documents, overwrite=request.overwrite)
    except DatasetError as error:
        _say(
            "the grades are kept in the cache: the same command with another --output writes them without asking again"
        )
        raise error from None


def _check_any(graded: Graded) -> None:
    """Raise where there is nothing to write labels of."""
    if not any(graded.counts.values()):
        first = graded.not_graded[0]
        raise ModelOutputError(f"no pair was graded, and nothing was written; the first: {first.reason}")


def _check_output(output: Path | None, what: str, *, overwrite: bool) -> Path:
    """Return the file for labels or pairs, if they can be written to it: what is wrong is said before any work."""
    if output is None or output.suffix.lower() not in (".jsonl", ".ndjson"):
        found = "none" if output is None else output
        raise ConfigurationError(f"--output: found {found}; expected the .jsonl file that the {what} are written to")
    if is_folder(output) or (is_there(output) and not overwrite):
        raise ConfigurationError(f"{output}: found something there; expected a free name, or --overwrite")
    require_writable(output)
    return output


def _as_json(summary: GradingSummary) -> dict[str, Any]:
    graded = summary.graded
    return {
        "dataset": graded.pool.name,
        "depth": graded.pool.depth,
        "scale": graded.scale,
        **attributes(summary, "relevant_from", "filled"),
        **attributes(graded, "annotator", "counts", "asked", "cached", "usage"),
        **attributes(summary, "systems", "agreement", "order"),
        **attributes(summary, "without_facts", "answered_after_all"),
        "pairs": list(_pairs(graded)),
    }


def _pairs(graded: Graded) -> Iterator[dict[str, Any]]:
    for entry, grades, reasons in zip(graded.pool.queries, graded.grades, graded.reasons, strict=True):
        for pooled, grade_given, reason in zip(entry.chunks, grades, reasons, strict=True):
            grade, said = (None, grade_given.reason) if isinstance(grade_given, NoAnswer) else (grade_given, reason)
            chunk = {"doc": pooled.chunk.doc_id, **attributes(pooled.chunk, "start", "end", "text")}
            yield {"query": entry.query.id, **chunk, "ranks": pooled.ranks, "grade": grade, "reason": said}


def _say(text: str) -> None:
    sys.stderr.write(printable(text) + "\n")


def run_sample(request: Sample) -> None:
    """Pool, draw, write."""
    output = _check_output(request.output, "pairs", overwrite=request.overwrite)
    sample = sample_for_grading(
        load_runs(request.runs),
        request.n,
        k=max(numbers_of_hits(request.k)),
        sampled="queries" if request.queries else "pairs",
        seed=request.seed,
    )
    sample.write(output, overwrite=request.overwrite)
    drawn = f"{request.n:,} of {sample.of:,} questions" if request.queries else f"of {sample.of:,}"
    depth = "" if tuple(request.k) == ("10",) else f" -k {','.join(request.k)}"
    runs = " ".join(shlex.quote(str(folder)) for folder in request.runs)
    for line in (
        f"{counted(len(sample), 'pair')} to grade ({drawn}, seed {request.seed}) written to {output}; next:",
        "  fill in each line's grade, 0 for irrelevant, without leaving any out",
        f"  raglift labels grade {runs}{depth} -o graded.jsonl --human {shlex.quote(str(output))}",
    ):
        _say(line)
