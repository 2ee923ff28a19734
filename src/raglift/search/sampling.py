"""Which cells of a large space take part: chosen by Optuna, in generations that learn from the ones before."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from raglift.errors import MissingDependency
from raglift.sweep.specification.cells import NO_RERANKER, Cell

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from raglift.search.entering import Entries
    from raglift.search.space import Item
    from raglift.search.specification import Search

_GENERATIONS = 4
"""The first is random, the others follow what is known of the good ones."""
_TRIES = 20
"""How often a cell is drawn in vain, as one that is there already, for each that is wanted."""

Measure = Callable[[str, Sequence[Cell]], "NDArray[np.float64]"]
"""Returns the values of some cells on the first queries: queries × cells, NaN for one that failed."""


def _optuna() -> Any:
    try:
        return importlib.import_module("optuna")
    except ImportError as error:
        raise MissingDependency("Optuna", "search", "choosing cells of a large space") from error


def sample(search: Search, entries: Entries, measure: Measure) -> list[Cell]:
    """Return the cells that begin: the user's own systems, and so many of the grid, in the order they were chosen.

    Parts are chosen by a tree-structured Parzen estimator (Bergstra et al. 2011; Optuna's TPESampler, multivariate and
    with groups for settings that only some values have), seeded.

    Args:
        search: the space; `configurations` says how many are wanted in all.
        entries: which cells may begin.
        measure: measures some of them.

    Raises:
        MissingDependency: Optuna is not installed.
    """
    optuna = _optuna()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    own = [cell for cell in entries.first if cell.system is not None]
    allowed = [cell for cell in entries.first if cell.system is None]
    many = min(max(1, search.configurations - len(own)), len(allowed))
    generation = -(-many // _GENERATIONS)
    with warnings.catch_warnings():  # what is experimental of these options is their signature
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(
            seed=search.sweep.seed, multivariate=True, group=True, n_startup_trials=generation
        )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    chosen: dict[Cell, None] = {}
    if own:
        measure("0-own", own)
    for number in range(_GENERATIONS):
        trials = _generation(search, study, set(allowed) - chosen.keys(), min(generation, many - len(chosen)))
        if len(trials) < min(generation, many - len(chosen)):  # what the sampler likes is there already
            left = [cell for cell in allowed if cell not in chosen and cell not in trials]
            trials |= dict.fromkeys(left[: min(generation, many - len(chosen)) - len(trials)])
        if not trials:
            break
        means = measure(f"0-{number}", list(trials)).mean(axis=0)
        for (cell, trial), mean in zip(trials.items(), means.tolist(), strict=True):
            chosen[cell] = None
            if trial is not None and math.isnan(mean):
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            elif trial is not None:
                study.tell(trial, mean)
    return [*own, *chosen]


def _generation(search: Search, study: Any, allowed: AbstractSet[Cell], wanted: int) -> dict[Cell, Any]:
    """Return cells that a study suggests, as many as wanted or as it finds, with the trial of each."""
    trials: dict[Cell, Any] = {}
    for _ in range(wanted * _TRIES):
        if len(trials) == wanted:
            break
        trial = study.ask()
        cell = _suggested(trial, search)
        if cell is not None and cell in allowed and cell not in trials:
            trials[cell] = trial
        else:
            study.tell(trial, state=_optuna().trial.TrialState.FAIL)
    return trials


def _suggested(trial: Any, search: Search) -> Cell | None:
    """Return the cell that a trial has drawn; None where no value of a part has all that was drawn for it."""
    sweep = search.sweep
    retriever = _chosen(trial, "retrievers", search.axes["retrievers"])
    chunker = _chosen(trial, "chunkers", search.axes["chunkers"])
    if retriever is None or chunker is None:
        return None
    spec, embedding = (sweep.retrievers or ())[retriever], None
    if spec.needs_embedding:
        place = _chosen(trial, "embeddings", search.axes["embeddings"])
        embedding = None if place is None else (sweep.embeddings or ())[place]
        if embedding is None:
            return None
    rerankers = sweep.rerankers or (NO_RERANKER,)
    reranker = NO_RERANKER
    if NO_RERANKER not in rerankers:
        one = rerankers[0] if len(rerankers) == 1 else trial.suggest_categorical("rerankers", rerankers)
        reranker = str(one)
    return Cell((sweep.chunkers or ())[chunker], embedding, spec, reranker)


def _chosen(trial: Any, axis: str, items: Sequence[Item]) -> int | None:
    """Return the position of a value of an axis: first what it is, then a value for each range in it."""
    origins = sorted({item.origin for item in items})
    origin = origins[0] if len(origins) == 1 else trial.suggest_categorical(axis, origins)
    left = [place for place, item in enumerate(items) if item.origin == origin]
    of_origin = list(left)
    for number, (name, _) in enumerate(items[left[0]].settings):
        every = sorted(
            {items[place].settings[number][1] for place in of_origin}, key=lambda each: (str(type(each)), each)
        )
        if len(every) > 1 and all(isinstance(value, (int, float)) for value in every):
            value = every[trial.suggest_int(f"{axis}.{origin}.{name}", 0, len(every) - 1)]
        else:
            value = every[0] if len(every) == 1 else trial.suggest_categorical(f"{axis}.{origin}.{name}", every)
        left = [place for place in left if items[place].settings[number][1] == value]
    return left[0] if left else None
