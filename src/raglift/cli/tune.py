"""`raglift tune`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from raglift.analysis.answering import Abstention, AtThreshold
from raglift.analysis.tuning import Tuning
from raglift.cli.comparing import Tune
from raglift.cli.json_output import attributes, print_json, records
from raglift.errors import ConfigurationError
from raglift.rendering.presenting import view_of
from raglift.rendering.terminal import print_document
from raglift.results.evaluation import load_evaluation
from raglift.running.tuning import tune

Number = TypeVar("Number", int, float)

_TUNING_ONLY = ("primary", "constants", "candidates", "cut_offs")
_THRESHOLD_ONLY = ("risk", "delta", "stage")


def run(request: Tune) -> None:
    """Choose settings or a threshold on saved runs, and print them."""
    if request.threshold:
        abstention = _threshold(request)
        _show(abstention, _threshold_as_json(abstention), request)
    else:
        tuning = _tuned(request)
        _show(tuning, _tuning_as_json(tuning), request)


def _show(found: object, as_json: dict[str, Any], request: Tune) -> None:
    if request.as_json:
        print_json(as_json)
        return
    print_document(view_of(found), by_columns=True)


def _tuned(request: Tune) -> Tuning:
    _refuse(request, _THRESHOLD_ONLY, "without --threshold")
    return tune(
        [load_evaluation(path) for path in request.runs],
        metric=request.primary,
        constants=_numbers("--constants", request.constants, int) or None,
        candidates=_numbers("--candidates", request.candidates, int) or None,
        cut_offs=_numbers("--cut-offs", request.cut_offs, float) or None,
        ks=_numbers("-k", request.ks, int) or None,
        folds=request.folds,
        seed=request.seed,
    )


def _threshold(request: Tune) -> Abstention:
    _refuse(request, _TUNING_ONLY, "with --threshold")
    ks = _numbers("-k", request.ks, int)
    if len(request.runs) > 1 or len(ks) > 1:
        found = f"{len(request.runs)} runs" if len(request.runs) > 1 else f"-k {','.join(request.ks)}"
        raise ConfigurationError(f"--threshold: found {found}; expected one run, and one depth at most")
    chosen = {name: value for name in _THRESHOLD_ONLY if (value := getattr(request, name)) is not None}
    return load_evaluation(request.runs[0]).abstention(k=ks[0] if ks else None, seed=request.seed, **chosen)


def _refuse(request: Tune, names: Sequence[str], why: str) -> None:
    used = [f"--{name.replace('_', '-')}" for name in names if getattr(request, name) not in (None, False, ())]
    if used:
        raise ConfigurationError(f"{used[0]}: found it {why}, to which it does not apply; leave one out")


def _numbers(option: str, texts: Sequence[str], kind: Callable[[str], Number]) -> list[Number]:
    try:
        return [kind(text) for text in texts]
    except ValueError:
        expected = "integers, as 10,50" if kind is int else "numbers, as 0.2,0.5"
        raise ConfigurationError(f"{option}: found {','.join(texts)!r}; expected {expected}") from None


def _tuning_as_json(found: Tuning) -> dict[str, Any]:
    return {
        "metric": found.metric,
        "best": found.settings[found.best],
        "mean_without_tuning": found.means[0],
        "mean_of_the_best": found.means[found.best],
        "mean_tuned": found.tuned,
        "interval_tuned": found.tuned_interval,
        "difference": found.difference,
        "settings": records(found.to_frame()),
    }


def _threshold_as_json(found: Abstention) -> dict[str, Any]:
    return {
        **attributes(found, "stage", "system", "k", "risk", "delta", "threshold"),
        "answers_everything": found.threshold == -math.inf,
        "chosen_on": _side(found.chosen_on),
        "checked_on": _side(found.checked_on),
        "smallest_risk": found.smallest_risk,
        "auroc": found.separation,
    }


def _side(side: AtThreshold) -> dict[str, Any]:
    return attributes(side, "answered", "false_answers", "wrong_answers", "recall", "no_answer_rate")
