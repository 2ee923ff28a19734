"""Which cells of a large space take part: chosen by Optuna, in generations that learn from the ones before."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from raglift.errors import MissingDependency
from raglift.sweep.specification.cells import NO_RERANKER, Cell

if TYPE_CHECKING:
    from raglift.search.space import Item
    from raglift.search.specification import Search

_GENERATIONS = 4
"""The first is random, the others follow what is known of the good ones."""
_TRIES = 20
"""How often a cell is drawn in vain, as one that is there already, for each that is wanted."""

Measured = Callable[[Sequence[Cell]], Mapping[Cell, float]]
"""Returns the means of some cells over the first queries."""


def _optuna() -> Any:
    try:
        return importlib.import_module("optuna")
    except ImportError as error:
        raise MissingDependency("Optuna", "search", "choosing cells of a large space") from error


def sample(search: Search, many: int, measure: Measured) -> list[Cell]:
    """Return cells of the grid, as many as wanted or as there are, in the order in which they were chosen.

    Parts are chosen by a tree-structured Parzen estimator (Bergstra et al. 2011; Optuna's TPESampler, multivariate and
    with groups for settings that only some values have), seeded.

    Args:
        search: the space.
        many: how many are wanted.
        measure: measures some of them.

    Raises:
        MissingDependency: Optuna is not installed.
    """
    optuna = _optuna()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    generation = max(1, -(-many // _GENERATIONS))
    sampler = optuna.samplers.TPESampler(
        seed=search.sweep.seed,
        multivariate=True,
        group=True,
        n_startup_trials=generation,
        warn_independent_sampling=False,
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    allowed = {cell for cell in search.cells if cell.system is None and cell.reranker == NO_RERANKER}
    chosen: dict[Cell, None] = {}
    while len(chosen) < min(many, len(allowed)):
        trials: dict[Cell, Any] = {}
        wanted = min(generation, many - len(chosen), len(allowed) - len(chosen))
        for _ in range(wanted * _TRIES):
            if len(trials) == wanted:
                break
            trial = study.ask()
            cell = _suggested(trial, search)
            if cell in allowed and cell not in chosen and cell not in trials:
                trials[cell] = trial
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
        if not trials:  # what the sampler likes is there already: the rest in order
            trials = dict.fromkeys([cell for cell in sorted(allowed, key=str) if cell not in chosen][:wanted])
        means = measure(list(trials))
        for cell, trial in trials.items():
            chosen[cell] = None
            if trial is not None:
                failed = optuna.trial.TrialState.FAIL
                study.tell(trial, means[cell]) if cell in means else study.tell(trial, state=failed)
    return list(chosen)


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
    return Cell((sweep.chunkers or ())[chunker], embedding, spec)


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


def _kind_first(value: float | str) -> tuple[bool, float | str]:
    """Return what sorts numbers before texts."""
    return isinstance(value, str), value
