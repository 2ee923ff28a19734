"""`raglift evaluate`."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from raglift.adapters.adapt import check_reranker
from raglift.base.cache import is_kept_on_disk
from raglift.base.display import printable, short_repr
from raglift.cli.exits import Stopped
from raglift.cli.json_output import labels_json, print_json, records
from raglift.cli.saving import keep
from raglift.cli.tracking import saved_first
from raglift.cli.unfinished import Unfinished
from raglift.components.models import resolve_dtype
from raglift.components.retrievers import parse_retriever
from raglift.errors import ConfigurationError, CostLimitReached, MetricFailed, QueryFailed, RunError
from raglift.metrics.computing import DEFAULT_METRICS
from raglift.metrics.parsing import parse_depth, split_metrics
from raglift.running.evaluation import evaluate
from raglift.running.execution import most_queries_failed
from raglift.running.options import Options
from raglift.running.systems import LocalSystem, build_retriever, load_system, versioned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.cli.tracking import Tracking
    from raglift.components.chunkers import Chunker
    from raglift.components.models import Dtype
    from raglift.matching.rule import MatchRule
    from raglift.records.dataset import Dataset
    from raglift.records.metric import Tokens
    from raglift.records.rankings import StageInfo
    from raglift.results.evaluation import Evaluation


_STOPPED = 1
"""The exit code after a limit."""
_CODE_SHOWN = 80


@dataclass(frozen=True)
class Request:
    """The command line, parsed."""

    dataset: str
    system: str | None
    mapping: Path | None
    documents: Path | None
    include: tuple[str, ...]
    parts: LocalSystem
    reranker: str
    ks: tuple[int | Tokens, ...]
    candidates: int | None
    profile: str
    match: MatchRule
    options: Options
    save: Path | None
    overwrite: bool
    tracking: Tracking
    as_json: bool
    encoding: str | None = None
    resume: bool = False
    system_version: str | None = None


def run(request: Request) -> None:
    """Load, evaluate, save, print."""
    from raglift.datasets.loading import load_dataset
    from raglift.storage.saving import check_free

    dataset = load_dataset(
        request.dataset, documents=request.documents, encoding=request.encoding, include=request.include
    )
    if request.save is not None:
        check_free(request.save, overwrite=request.overwrite)
    _check_resuming(request)
    request.tracking.check()
    check_reranker(request.reranker)  # what is wrong with it is better said before the documents are embedded
    own = None if request.system is None and request.mapping is None else load_system(request.system, request.mapping)
    system = build_retriever(dataset, request.parts) if own is None else own
    unfinished = Unfinished.of(request)
    failure: QueryFailed | None = None
    try:
        evaluation = _measured(request, system, dataset, unfinished)
    except MetricFailed as error:
        _keep(error, request, unfinished)
        raise
    except CostLimitReached as error:
        _keep_asked(error, request)
        raise typer.Exit(_STOPPED) from None
    except QueryFailed as error:  # of every query; what there is all the same is shown and saved
        if error.evaluation is None:
            raise
        evaluation, failure = error.evaluation, error
    else:
        failure = most_queries_failed(evaluation.run.traces)
    if request.system is None:
        evaluation = _with_parts(evaluation, request)
    show = partial(print_result, evaluation, json=request.as_json)
    keep(evaluation, request.save, overwrite=request.overwrite, show=show)
    if unfinished is not None:
        unfinished.remove()
    show()
    request.tracking.named(request.save).tell(evaluation, saved_first(evaluation, request.save, request.tracking))
    if failure is not None:
        raise failure


def _check_resuming(request: Request) -> None:
    """Raise where there is nothing that could be gone on with, or no system whose version is said."""
    if request.resume and request.save is None:
        raise ConfigurationError("--resume: found it without --save; expected the folder that the run is saved to")
    if request.system_version is not None and request.system is None:
        raise ConfigurationError("--system-version: found it without --system; expected it with a system of your own")


def _measured(request: Request, system: Any, dataset: Dataset, unfinished: Unfinished | None) -> Evaluation:
    """Evaluate; the answers of a user's system are kept as they come, and Ctrl-C says which are."""
    options: Options = {
        **request.options,
        "answers": None if unfinished is None else unfinished.answers,
        "version": versioned(request.system, request.mapping, request.system_version),
    }
    if unfinished is not None:
        unfinished.begin(resume=request.resume, overwrite=request.overwrite)
    try:
        with _in_this_folder():
            return evaluate(
                system,
                dataset,
                reranker=request.reranker,
                ks=request.ks,
                candidates=request.candidates,
                match=request.match,
                profile=request.profile,
                **options,
            )
    except KeyboardInterrupt:
        if request.system is None:
            raise
        raise Stopped(_what_is_kept(request, unfinished)) from None
    except SystemExit as end:  # with its exit code, which may be 0, nobody would see that nothing was measured
        code = short_repr(end.code, _CODE_SHOWN)
        kept = _what_is_kept(request, unfinished)
        raise RunError(f"the system ended the process, as sys.exit({code}) does; expected an answer; {kept}") from None
    finally:
        if unfinished is not None and not unfinished.holds_answers:
            unfinished.remove()


@contextmanager
def _in_this_folder() -> Iterator[None]:
    """Come back to the working folder, to which paths are relative, where a system changed to another."""
    try:
        before = Path.cwd()
    except OSError:  # it was removed
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError):
            os.chdir(before)


def _what_is_kept(request: Request, unfinished: Unfinished | None) -> str:
    """Return what is true of the answers of a user's system when a run was stopped."""
    if request.system_version is not None and is_kept_on_disk():
        resume = " with --resume" if unfinished is not None else ""
        return f"each answer that came is kept in the cache: the same command{resume} goes on from there"
    if unfinished is None:
        kept = "with --save FOLDER each is kept as it comes, and --resume goes on from there"
        return f"the answers of the system are not kept; {kept}"
    if not unfinished.holds_answers:
        return "the system had not answered anything yet, so there is nothing to go on with"
    where = unfinished.folder
    return f"each answer that came is kept in {where}: the same command with --resume goes on from there"


def _keep(error: MetricFailed, request: Request, unfinished: Unfinished | None) -> None:
    """Save what was retrieved, where a metric of the user's failed on it."""
    if request.save is not None and error.evaluation is not None:
        kept = error.evaluation if request.system is not None else _with_parts(error.evaluation, request)
        try:
            keep(kept, request.save, overwrite=request.overwrite)
        except RunError as failure:
            raise RunError(f"{error}\n{failure}") from error
        if unfinished is not None:
            unfinished.remove()
        folder, metrics, ks = (
            shlex.quote(text)
            for text in (
                str(request.save),
                ",".join(map(str, request.options["metrics"])),
                ",".join(map(str, request.ks)),
            )
        )
        sys.stderr.write(
            f"without {error.metric}; when it is mended: raglift rescore {folder} --metrics {metrics} --ks {ks}\n"
        )


def _keep_asked(error: CostLimitReached, request: Request) -> None:
    """Save the queries that were asked before a limit was reached, and say how far it came."""
    sys.stderr.write(f"raglift: {printable(f'stopped: {error}')}\n")
    if error.evaluation is not None and request.save is not None:
        kept = error.evaluation if request.system is not None else _with_parts(error.evaluation, request)
        keep(kept, request.save, overwrite=request.overwrite)
    elif error.evaluation is not None:
        sys.stderr.write("with --save FOLDER, what was answered is saved\n")


def _with_parts(evaluation: Evaluation, request: Request) -> Evaluation:
    """Return an evaluation that remembers what its system of raglift's own was made of."""
    own = request.parts
    found = {"retriever": own.retriever, "chunker": str(own.chunker)}
    if parse_retriever(own.retriever).needs_embedding:
        found["embedding"] = own.embedding
    found["reranker"] = request.reranker
    return replace(evaluation, run=replace(evaluation.run, spec={**evaluation.run.spec, "parts": found}))


def print_result(evaluation: Evaluation, *, json: bool) -> None:
    """Print an evaluation, as tables or as JSON."""
    from rich.console import Console

    from raglift.report.terminal.evaluation import print_evaluation

    if json:
        print_json(as_json(evaluation))
    else:
        print_evaluation(evaluation, Console())


def parts(retriever: str, embedding: str, chunker: Chunker, dtype: str) -> LocalSystem:
    """Return the parts of a system of raglift's own."""
    resolve_dtype(cast("Dtype", dtype))
    return LocalSystem(retriever, chunker, embedding, cast("Dtype", dtype))


def options(*, metrics: str | None, **given: Any) -> Options:
    """Return the less common settings of `evaluate`; metrics are separated by commas."""
    named = split_metrics(metrics or "")
    return cast("Options", {"metrics": named or DEFAULT_METRICS, **given})


def depths(text: str) -> tuple[int | Tokens, ...]:
    """Read `1,3,5,tokens(2000)`.

    Raises:
        ConfigurationError: something that is neither a positive integer nor a token budget.
    """
    ks = tuple(parse_depth(part) for part in text.split(",") if part.strip())
    found = tuple(k for k in ks if k is not None)
    if not ks or len(found) < len(ks):
        raise ConfigurationError(
            f"--ks: found {short_repr(text)}; expected integers of 1 or more with commas, as 1,3,5,10, or tokens(2000)"
        )
    return found


def numbers_of_hits(text: str) -> tuple[int, ...]:
    """Read `1,3,5,10`, where a token budget has no meaning.

    Raises:
        ConfigurationError: something that is not a positive integer.
    """
    found = depths(text)
    numbers = tuple(k for k in found if isinstance(k, int))
    if len(numbers) < len(found):
        raise ConfigurationError(f"--ks: found {short_repr(text)}; expected integers with commas, as 1,3,5,10")
    return numbers


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return what `--json` prints of an evaluation."""
    return {
        "dataset": evaluation.dataset.name,
        "queries": len(evaluation.dataset),
        **labels_json(evaluation.label_sources),
        "stages": [_stage_as_json(stage) for stage in evaluation.run.stages],
        "spec": dict(evaluation.run.spec),
        "metrics": records(evaluation.to_frame()),
        "failure_analysis": _failure_analysis_as_json(evaluation),
        "headroom": _headroom_as_json(evaluation),
        "failures": [asdict(failure) for failure in evaluation.failures()],
        "cost": None if evaluation.run.cost is None else asdict(evaluation.run.cost),
        "notes": list(evaluation.notes),
    }


def _stage_as_json(stage: StageInfo) -> dict[str, Any]:
    changed = {} if stage.changed_hits is None else {"changed_hits": asdict(stage.changed_hits)}
    return {"name": stage.name, "system": stage.system, **changed}


def _failure_analysis_as_json(evaluation: Evaluation) -> dict[str, Any]:
    analysis = evaluation.failure_analysis()
    return {
        "k": analysis.k,
        "facts": analysis.facts,
        "chunks_known": analysis.chunks_known,
        "outcomes": [asdict(loss) for loss in analysis.losses],
        "made_findable": [asdict(loss) for loss in analysis.made_findable],
    }


def _headroom_as_json(evaluation: Evaluation) -> dict[str, Any]:
    headroom = evaluation.headroom()
    means = {"recall": headroom.mean_recall, "ndcg": headroom.mean_ndcg}
    return {"k": headroom.k, **means, "exact": headroom.is_exact}
