"""`raglift evaluate`."""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from raglift.chunking import make_chunker
from raglift.errors import ConfigurationError, QueryFailed
from raglift.evaluation import DEFAULT_METRICS, Options, evaluate
from raglift.execution.policy import describe_error
from raglift.integrations.adapt import check_reranker
from raglift.models import resolve_dtype
from raglift.store.costs import cost_line
from raglift.store.plain_files import plain
from raglift.systems import LocalSystem, build_retriever

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.chunking import Chunker
    from raglift.matching import MatchRule
    from raglift.models import Dtype
    from raglift.records import Evaluation

__all__ = ["Request", "depths", "make_chunker", "options", "parts", "run"]


@dataclass(frozen=True)
class Request:
    """The command line, parsed."""

    dataset: str
    system: str | None
    documents: Path | None
    parts: LocalSystem
    reranker: str
    ks: tuple[int, ...]
    candidates: int
    profile: str
    match: MatchRule
    options: Options
    save: Path | None
    overwrite: bool
    as_json: bool


def run(request: Request) -> None:
    """Load, evaluate, save, print."""
    from rich.console import Console

    from raglift.loading import load_dataset
    from raglift.report import print_evaluation
    from raglift.store import check_free

    dataset = load_dataset(request.dataset, documents=request.documents)
    if request.save is not None:
        check_free(request.save, overwrite=request.overwrite)
    check_reranker(request.reranker)  # what is wrong with it is better said before the documents are embedded
    system = build_retriever(dataset, request.parts) if request.system is None else _load(request.system)
    evaluation = evaluate(
        system,
        dataset,
        reranker=request.reranker,
        ks=request.ks,
        candidates=request.candidates,
        match=request.match,
        profile=request.profile,
        **request.options,
    )
    if request.as_json:
        sys.stdout.write(json.dumps(_as_json(evaluation), ensure_ascii=False, indent=2) + "\n")
    else:
        print_evaluation(evaluation, Console())
    if request.save is not None:
        evaluation.save(request.save, overwrite=request.overwrite)
        sys.stderr.write(f"saved to {request.save}\n")
    if all(trace.error is not None for trace in evaluation.run.traces):
        raise QueryFailed(f"every query failed; the first: {evaluation.run.traces[0].error}")


def parts(retriever: str, embedding: str, chunker: Chunker, dtype: str) -> LocalSystem:
    """Return the parts of a system of raglift's own."""
    resolve_dtype(cast("Dtype", dtype))
    return LocalSystem(retriever, chunker, embedding, cast("Dtype", dtype))


def options(*, metrics: str | None, **given: Any) -> Options:
    """Return the less common settings of `evaluate`; metrics are separated by commas."""
    named = [part.strip() for part in (metrics or "").split(",") if part.strip()]
    return cast("Options", {"metrics": named or DEFAULT_METRICS, **given})


def depths(text: str) -> tuple[int, ...]:
    """Read `1,3,5,10`.

    Raises:
        ConfigurationError: something that is not a positive integer.
    """
    try:
        ks = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        ks = ()
    if not ks or min(ks) < 1:
        raise ConfigurationError(f"--ks: found {text!r}; expected integers of 1 or more with commas, as 1,3,5,10")
    return ks


def _load(reference: str) -> Any:
    """Import `module:name`; a function without required arguments is called to make the system."""
    module_name, _, name = reference.partition(":")
    if not module_name or not name:
        raise ConfigurationError(f"--system: found {reference!r}; expected module:name, as my_rag:retriever")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 — sys.path holds texts
    try:
        module = importlib.import_module(module_name)
    except (ImportError, TypeError, ValueError) as error:  # a relative or ill-formed name is no ImportError
        raise ConfigurationError(
            f"--system: the module {module_name!r} cannot be imported: {error}; "
            "expected a module in this folder or installed"
        ) from error
    if not hasattr(module, name):
        public = [known for known in vars(module) if not known.startswith("_")]
        raise ConfigurationError(f"--system: {module_name} has no {name!r}; expected one of {', '.join(public)}")
    found = getattr(module, name)
    if not is_factory(found):
        return found
    try:
        return found()
    except Exception as error:
        raise ConfigurationError(f"--system: {reference}() failed: {describe_error(error)}") from error


def is_factory(found: Any) -> bool:
    """Whether something is a function that can be called without arguments, and so makes a system."""
    import inspect

    if not (inspect.isfunction(found) or inspect.isclass(found)):
        return False
    try:
        inspect.signature(found).bind()
    except (TypeError, ValueError):
        return False
    return True


def _as_json(evaluation: Evaluation) -> dict[str, Any]:
    rows = evaluation.to_frame().to_dict(orient="records")
    return {
        "dataset": evaluation.dataset.name,
        "queries": len(evaluation.dataset),
        "stages": [{"name": stage.name, "system": stage.system} for stage in evaluation.run.stages],
        "spec": dict(evaluation.run.spec),
        "metrics": [{key: _plain(value) for key, value in row.items()} for row in rows],
        "loss": _loss_as_json(evaluation),
        "headroom": _headroom_as_json(evaluation),
        "cost": plain(cost_line(evaluation.run.cost)),
        "notes": list(evaluation.notes),
    }


def _loss_as_json(evaluation: Evaluation) -> dict[str, Any]:
    losses = evaluation.loss()
    return {
        "k": losses.k,
        "facts": losses.facts,
        "chunks_known": losses.chunks_known,
        "outcomes": [asdict(loss) for loss in losses.losses],
        "made_findable": [asdict(loss) for loss in losses.made_findable],
    }


def _headroom_as_json(evaluation: Evaluation) -> dict[str, Any]:
    headroom = evaluation.headroom()
    recall, ndcg = _plain(headroom.mean_recall), _plain(headroom.mean_ndcg)
    return {"k": headroom.k, "recall": recall, "ndcg": ndcg, "exact": headroom.is_exact}


def _plain(value: Any) -> Any:
    """Return a cell as JSON has it: no NaN."""
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value
