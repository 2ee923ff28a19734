"""Evaluations as they are given to functions: themselves or as folders, and what each is called."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

from raglift.analysis.shared_queries import cell_name, system_name
from raglift.errors import ConfigurationError
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.utilities.limits import resolved, user_path

Source = Evaluation | str | os.PathLike[str]
"""An evaluation, or the folder of a saved one."""
_FEWEST = 2


def named_evaluations(
    evaluations: Source | Sequence[Source] | Mapping[str, Source], names: Sequence[str] | None
) -> dict[str, Evaluation]:
    """Return the evaluations by name, in the order given.

    Cells of a sweep have names; other saved evaluations are called by their folder, and what is not saved by its
    stages, `dense + cross-encoder`, with a number if several have the same name.

    Raises:
        ConfigurationError: fewer than two, something that is not an evaluation, or names that do not fit them.
        RunError: a folder that holds no evaluation.
    """
    if isinstance(evaluations, Mapping):
        if names is not None:
            raise ConfigurationError("compare: found names= with a mapping, which has names; expected one of the two")
        names, sources = list(evaluations), list(evaluations.values())
    elif _is_source(evaluations):
        sources = [evaluations]
    elif not isinstance(evaluations, Sequence):
        raise ConfigurationError(
            f"compare: found a {type(evaluations).__name__}; expected two or more evaluations, or folders of saved "
            "ones, in a list or a mapping from names to them"
        )
    else:
        sources = list(evaluations)
    if len(sources) < _FEWEST:
        raise ConfigurationError(
            f"compare: found {len(sources)} evaluation{'s' * (len(sources) != 1)}; expected two or more "
            "(what one reranker changed: evaluation.reranker_lift())"
        )
    for place, source in enumerate(sources):
        if not _is_source(source):
            where = f"evaluations[{place}]" if names is None else f"evaluations[{place}] ({names[place]!r})"
            raise ConfigurationError(
                f"compare: {where}: found a {type(source).__name__}; expected an Evaluation, or the folder of a saved "
                "one"
            )
    opened = [source if isinstance(source, Evaluation) else load_evaluation(Path(source)) for source in sources]
    chosen = distinct_names(sources, opened) if names is None else _checked(names, len(sources))
    return dict(zip(chosen, opened, strict=True))


def _is_source(source: object) -> TypeGuard[Source]:
    return isinstance(source, (Evaluation, str, os.PathLike))


def _checked(names: Sequence[str], count: int) -> list[str]:
    found = [names] if isinstance(names, str) else list(names)
    if len(found) != count:
        raise ConfigurationError(f"names: found {len(found)}; expected {count}, one for each evaluation")
    faulty = [name for name in found if not isinstance(name, str) or not name.strip()]
    if faulty:
        raise ConfigurationError(f"names: found {faulty[0]!r}; expected a text that is not empty for each evaluation")
    twice = [name for name, times in Counter(found).items() if times > 1]
    if twice:
        raise ConfigurationError(f"names: found {twice[0]!r} more than once; expected a different one for each")
    return found


def distinct_names(sources: Sequence[Source], opened: Sequence[Evaluation]) -> list[str]:
    """Return a name for each source, by what was opened of it; those that share one get a number."""
    plain = [_plain_name(source, evaluation) for source, evaluation in zip(sources, opened, strict=True)]
    if len(set(plain)) == len(plain):
        return plain
    folders = [source if isinstance(source, Evaluation) else str(Path(source)) for source in sources]
    longer = [
        str(folder) if plain.count(name) > 1 and isinstance(folder, str) else name
        for name, folder in zip(plain, folders, strict=True)
    ]
    names: list[str] = []
    for name in longer:
        number = 2
        unique = name
        while unique in names:
            unique, number = f"{name} #{number}", number + 1
        names.append(unique)
    return names


def _plain_name(source: Source, evaluation: Evaluation) -> str:
    if isinstance(source, Evaluation):
        return system_name(evaluation)
    return cell_name(evaluation) or resolved(user_path(source)).name or str(source)
