"""Searches as users run them: a race over rungs, each of which is a sweep over some cells and some queries."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from pydantic import TypeAdapter

from raglift.base.limits import is_file, is_folder, is_there, user_path
from raglift.base.locks import hold
from raglift.errors import ConfigurationError, RunError
from raglift.records.dataset import Dataset
from raglift.running.options import dataset_hash
from raglift.search.finishing import finished
from raglift.stats.racing import stratified_batches
from raglift.storage.forms import Count, Object, SavedModel, Text
from raglift.storage.layout import read_json, write_json
from raglift.sweep.engine import dataset_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from raglift.running.model_calls import CallLimits
    from raglift.search.result import SearchResult
    from raglift.search.specification import Search
    from raglift.sweep.engine import EngineName


# A search on disk:
#
# search.json: the specification, a hash of it and of the dataset, and what was decided and how long it took, rung by rung
# rungs/NAME/: a sweep over the cells and the queries of one rung; `held-out` is the winner on queries that took no part
# search.lock: held by the process that is working on the search

FORMAT = 1
_HEAD, _LOCK, _RUNGS, HELD_OUT = "search.json", "search.lock", "rungs", "held-out"
_BATCH = 6
"""Each batch has one query of so many windows; a rung is several batches."""
_FEWEST = 20
"""Queries that a race has at least."""


class _Decision(SavedModel):
    keep: Count
    batches: Count


class _Saved(SavedModel):
    title: Text
    hash: Text
    search: Object
    sweep: Object
    decisions: list[_Decision] = []
    seconds: dict[Text, Annotated[float, "seconds"]] = {}


_SAVED = TypeAdapter(_Saved)


def run_search(
    search: Search,
    folder: str | Path,
    *,
    resume: bool = False,
    engine: EngineName = "local",
    address: str | None = None,
    progress: bool | None = None,
    limits: CallLimits | None = None,
) -> SearchResult:
    """Find the best cell of a space within a budget, by a race.

    All cells without a reranker (of a large space those that Optuna chooses) are asked the first queries. Then, rung by
    rung, the better ones are asked more: cells that are significantly worse are dropped, by a test that stays valid
    however often one looks (`raglift.stats.Race`), and so many of the others are set aside that the budget lasts until
    the last have been asked all queries (`raglift.search.schedule`). Cells with rerankers join after the first rung,
    for the cells that go on. Each rung is a sweep in a folder of its own, with its cache and its resuming, so nothing is
    computed twice, and a search that was stopped or killed goes on to the same result.

    Args:
        search: the space and the budget.
        folder: where what is measured is kept; new, or that of the same search with `resume`. The budget may be another
            then.
        resume: go on with a search that was stopped.
        engine: `local`, or `ray`.
        address: of the Ray cluster.
        progress: whether to show progress.
        limits: of each rung's model calls and cost.

    Raises:
        ConfigurationError: the folder holds another search, or one that is not to be gone on with; too few queries; a
            primary metric that is not between 0 and 1.
        DatasetError, CorpusError: the dataset cannot be loaded.
        RunError: the folder cannot be written, something in it is damaged, or another process works on it.
        MissingDependency: Optuna or Ray is needed and not installed.
        CostLimitReached: a limit kept some cells from being measured.
    """
    dataset = dataset_of(search.sweep)
    racing, held_out = _split(search, dataset)
    options = {"engine": engine, "address": address, "progress": progress, "limits": limits}
    place = user_path(folder)
    with _begun(search, dataset, place, resume=resume) as saved:
        course = _Course(search, dataset, racing, place, saved, options)
        race, order = course.run()
        return finished(course, race, order, held_out)


def _split(search: Search, dataset: Dataset) -> tuple[list[int], list[int]]:
    """Return the places of the queries of the race, and of those that take no part, each tag in its share."""
    labelled = [place for place, query in enumerate(dataset.queries) if query.is_labelled]
    least = math.ceil(_FEWEST / (1.0 - search.hold_out))
    if len(labelled) < least:
        raise ConfigurationError(
            f"search: found {len(labelled):,} labelled queries; expected at least {least:,}; a sweep asks each cell all "
            "of fewer"
        )
    aside = round(len(labelled) * search.hold_out)
    if not aside:
        return labelled, []
    strata = [_stratum(dataset, place) for place in labelled]
    batches = stratified_batches(len(labelled), aside, strata=strata, seed=search.sweep.seed)
    held = {labelled[place] for place in batches[-1].tolist()}
    return [place for place in labelled if place not in held], sorted(held)


def _stratum(dataset: Dataset, place: int) -> str:
    return "\n".join(sorted(dataset.queries[place].tags))


@contextmanager
def _begun(search: Search, dataset: Dataset, folder: Path, *, resume: bool) -> Iterator[_Saved]:
    """Begin a search in a new folder, or go on with one; the folder is held until the block ends."""
    name = f"{search.hash}-{dataset_hash(dataset)}"
    head, is_begun = folder / _HEAD, is_file(folder / _HEAD)
    if not is_begun and is_there(folder) and (not is_folder(folder) or any(folder.iterdir())):
        raise RunError(f"{folder}: found something there that is no search; expected a new or empty folder")
    if is_begun and not resume:
        raise ConfigurationError(f"{folder}: found a search there; expected resume=True (--resume), or another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder}: cannot be written: {error}") from error
    with hold(folder / _LOCK, "this search"):
        if is_begun:
            saved = read_saved(head)
            if saved.hash != name:
                raise ConfigurationError(
                    f"{folder}: found another search; expected the same space, settings and dataset, or another folder"
                )
        else:
            saved = _Saved(title=search.sweep.title, hash=name, search=search.settings, sweep=search.sweep.to_dict())
            write_saved(head, saved)
        yield saved


def read_saved(path: Path) -> _Saved:
    """Read what is kept of a search.

    Raises:
        RunError: it cannot be read, or is not a search.
    """
    from raglift.base.validation import read_as

    found = read_json(path, format=FORMAT)
    return read_as(_SAVED, found, path)


def write_saved(path: Path, saved: _Saved) -> None:
    """Write what is kept of a search, all at once."""
    write_json(path, {"format": FORMAT, **saved.model_dump(mode="json")})
