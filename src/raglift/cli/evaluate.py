"""`raglift evaluate`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from raglift.adapters.adapt import check_reranker
from raglift.adapters.splitters import chunker_by_name
from raglift.cli.arguments import checked_budget, load_labels
from raglift.cli.exits import Stopped, stdout_for_results
from raglift.cli.measuring import Evaluate
from raglift.cli.results import next_line, print_result
from raglift.cli.saving import Unfinished, keep
from raglift.errors import ConfigurationError, MetricFailed, QueryFailed, RunError
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import DEFAULT_METRICS
from raglift.metrics.parsing import parse_depth
from raglift.results.evaluation import Evaluation
from raglift.retrieval.batches import BATCH_SIZE, checked_batch_size
from raglift.retrieval.chunkers import CHUNKERS, Chunker
from raglift.retrieval.devices import Dtype, require_device, resolve_device, resolve_dtype
from raglift.retrieval.retrievers import parse_retriever
from raglift.running.evaluation import evaluate
from raglift.running.execution import most_queries_failed
from raglift.running.settings import DEFAULT_KS, Settings
from raglift.running.systems import LocalSystem, build_retriever, load_system
from raglift.storage.saving import check_free
from raglift.types.dataset import Dataset
from raglift.types.metric import Calls, Tokens
from raglift.utilities.display import short_repr
from raglift.utilities.progress import step, steps
from raglift.utilities.settings import fields_of

_CODE_SHOWN = 80
_SIZE = "1000/100"
"""Size and overlap of a chunker whose name alone is given."""


def run(request: Evaluate) -> None:
    """Load, evaluate, save, print."""
    parts, settings = local_system(request), _settings(request)
    dataset = load_labels(request.dataset, request)
    if request.output is not None:
        check_free(request.output, overwrite=request.overwrite)
    _check_system_options(request)
    check_reranker(request.reranker)  # what is wrong with it is better said before the documents are embedded
    unfinished = Unfinished.of(request)
    failure: QueryFailed | None = None
    try:
        evaluation = _evaluated(request, parts, settings, dataset, unfinished)
    except MetricFailed as error:
        _keep(error, request, settings, unfinished)
        raise
    except QueryFailed as error:  # of every query; what there is all the same is shown and saved
        if error.evaluation is None:
            raise
        evaluation, failure = error.evaluation, error
    else:
        failure = most_queries_failed(evaluation.run.traces)
    if request.system is None:
        evaluation = _with_parts(evaluation, request)

    def show() -> None:
        following = "" if request.as_json else next_line(request.output, evaluation)
        print_result(evaluation, json=request.as_json, details=request.details, following=following)

    keep(evaluation, request.output, overwrite=request.overwrite, show=show)
    if unfinished is not None:
        unfinished.remove()
    show()
    if failure is not None:
        raise failure


def _check_system_options(request: Evaluate) -> None:
    """Raise for options of a system of the user's where there is none, or nothing that could be gone on with."""
    if request.resume and request.output is None:
        raise ConfigurationError("--resume: found it without --output; expected the folder that the run is saved to")
    if request.repeats != 1 and request.system is None:
        raise ConfigurationError(
            f"--repeats: found {request.repeats} without --system; expected it with an agent of your own, "
            "because its searches vary between runs"
        )


def _settings(request: Evaluate) -> dict[str, Any]:
    """Return the arguments of `evaluate()` that the options stand for."""
    match = MatchRule.for_profile(
        request.profile, request.match, threshold=request.match_threshold, unicode_folding=request.unicode_folding
    )
    return {
        **{name: getattr(request, name) for name in fields_of(Settings)},
        "ks": depths(request.ks) if request.ks else DEFAULT_KS,
        "budget": checked_budget(request.budget),
        "match": match,
        "metrics": request.metrics or DEFAULT_METRICS,
    }


@stdout_for_results()
def _evaluated(
    request: Evaluate, parts: LocalSystem, settings: dict[str, Any], dataset: Dataset, unfinished: Unfinished | None
) -> Evaluation:
    """Evaluate the user's system, or one of raglift's own parts."""
    if request.system is None and request.mapping is None:
        with numbered_steps(parts, request.reranker):
            return _measured(request, settings, indexed(dataset, parts), dataset, unfinished)
    return _measured(request, settings, load_system(request.system, request.mapping), dataset, unfinished)


def _measured(
    request: Evaluate, settings: dict[str, Any], system: Any, dataset: Dataset, unfinished: Unfinished | None
) -> Evaluation:
    """Evaluate; the answers of a user's system are kept as they come, and Ctrl-C says which are."""
    answers = None if unfinished is None else unfinished.answers
    if unfinished is not None:
        unfinished.begin(resume=request.resume, overwrite=request.overwrite)
    try:
        with _in_this_folder():
            return evaluate(system, dataset, **(settings | {"answers": answers}))
    except KeyboardInterrupt:
        if request.system is None:
            raise
        raise Stopped(_how_to_continue(unfinished)) from None
    except SystemExit as end:  # with its exit code, which may be 0, nobody would see that nothing was measured
        code = short_repr(end.code, _CODE_SHOWN)
        advice = _how_to_continue(unfinished)
        raise RunError(
            f"the system ended the process, as sys.exit({code}) does; expected an answer; {advice}"
        ) from None
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


def _how_to_continue(unfinished: Unfinished | None) -> str:
    """Return what is true of the answers of a user's system when a run was stopped."""
    if unfinished is None:
        advice = "with -o FOLDER each is kept as it comes, and --resume continues from there"
        return f"the answers of the system are not kept; {advice}"
    if not unfinished.holds_answers:
        return "the system had not answered anything yet, so there is nothing to resume"
    where = unfinished.folder
    return f"each answer that came is kept in {where}: the same command with --resume continues from there"


def _keep(error: MetricFailed, request: Evaluate, settings: dict[str, Any], unfinished: Unfinished | None) -> None:
    """Save what was retrieved, where a metric of the user's failed on it."""
    if request.output is not None and error.evaluation is not None:
        evaluation = error.evaluation if request.system is not None else _with_parts(error.evaluation, request)
        try:
            keep(evaluation, request.output, overwrite=request.overwrite)
        except RunError as failure:
            raise RunError(f"{error}\n{failure}") from error
        if unfinished is not None:
            unfinished.remove()
        folder, metrics, ks = (
            shlex.quote(text)
            for text in (str(request.output), *(",".join(map(str, settings[name])) for name in ("metrics", "ks")))
        )
        sys.stderr.write(
            f"without {error.metric}; when it is mended: raglift rescore {folder} --metrics {metrics} -k {ks}\n"
        )


def _with_parts(evaluation: Evaluation, request: Evaluate) -> Evaluation:
    """Return an evaluation that remembers what its system of raglift's own was made of."""
    system = local_system(request)
    found = {"retriever": system.retriever, "chunker": str(system.chunker)}
    if parse_retriever(system.retriever).needs_embedding:
        found["embedding"] = system.embedding
    found["reranker"] = request.reranker
    return replace(evaluation, run=replace(evaluation.run, spec={**evaluation.run.spec, "parts": found}))


def local_system(request: Evaluate) -> LocalSystem:
    """Return the system of raglift's own that the options describe."""
    return system_of(
        request.retriever,
        request.embedding,
        chunker_of(request.chunker),
        dtype=request.dtype,
        device=request.device,
        batch_size=request.batch_size,
    )


def numbered_steps(parts: LocalSystem, reranker: str) -> AbstractContextManager[None]:
    """Number what a system of raglift's own does: index, where it embeds, retrieve and rerank."""
    return steps(parse_retriever(parts.retriever).needs_embedding + 1 + (reranker != "none"))


def indexed(dataset: Dataset, parts: LocalSystem) -> Any:
    """Build a retriever of raglift's own, which is the first step where it embeds."""
    with step("index") if parse_retriever(parts.retriever).needs_embedding else nullcontext():
        return build_retriever(dataset, parts)


@stdout_for_results()
def chunker_of(text: str) -> Chunker:
    """Read `--chunker`: a name with its size and overlap, or the name alone."""
    return chunker_by_name(f"{text}:{_SIZE}" if text in CHUNKERS else text)


def system_of(
    retriever: str, embedding: str, chunker: Chunker, *, dtype: str, device: str, batch_size: int = BATCH_SIZE
) -> LocalSystem:
    """Return a system of raglift's own; a number format or device that cannot be used is an error at once."""
    number_type = cast("Dtype", dtype)
    resolved = resolve_device(device)
    require_device(resolved, None if number_type == "auto" else resolve_dtype(number_type))
    resolve_dtype(number_type)
    checked_batch_size(batch_size)
    return LocalSystem(retriever, chunker, embedding, number_type, device, batch_size)


def depths(texts: Sequence[str]) -> tuple[int | Tokens | Calls, ...]:
    """Read `1`, `3`, `5`, `tokens(2000)`."""
    found = tuple(k for k in map(parse_depth, texts) if k is not None)
    if not found or len(found) < len(texts):
        raise ConfigurationError(
            f"-k: found {short_repr(','.join(texts))}; expected integers of 1 or more with commas, as 1,3,5,10, "
            "or tokens(2000)"
        )
    return found


def numbers_of_hits(texts: Sequence[str]) -> tuple[int, ...]:
    """Read `1`, `3`, `5`, `10`, where a token budget has no meaning."""
    found = depths(texts)
    numbers = tuple(k for k in found if isinstance(k, int))
    if len(numbers) < len(found):
        raise ConfigurationError(f"-k: found {short_repr(','.join(texts))}; expected integers with commas, as 1,3,5,10")
    return numbers
