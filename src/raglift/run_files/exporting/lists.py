"""Rankings that are lists of ids, and labels that are ids, to files."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any

from raglift.dataset.replacing import NOTHING_WRITTEN, beside
from raglift.errors import DatasetError, Fault
from raglift.faults import Place, quoted, shown
from raglift.paths import is_folder, is_there, user_path
from raglift.run_files.exporting.rankings import IdRankings
from raglift.run_files.exporting.writing import faults_of_ids, write_labels, write_rankings
from raglift.run_files.forms import form_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from raglift.run_files.forms import Form

__all__ = ["write_qrels", "write_run"]


def write_run(
    rankings: Mapping[str, Sequence[str]],
    path: str | Path,
    *,
    scores: Mapping[str, Sequence[float]] | None = None,
    form: Form | None = None,
    tag: str = "raglift",
    escape_ids: bool = False,
    overwrite: bool = False,
) -> Path:
    """Write rankings of ids to one file, with scores that descend strictly, as trec_eval reads them.

    An id that a ranking holds more than once stands at its first place alone.

    Args:
        rankings: for each query id, the ids that came back, best first.
        path: the file; its parents are made when missing. A text that ends with `.gz` is compressed.
        scores: for each query id, the score of each id in that order. They are written where they tell the order of
            every ranking (one that equals the one before it is lowered by the smallest step); else, and without any,
            scores count the ranks down to 1.
        form: "trec", "jsonl" or "parquet"; by default as the ending of the path says, else TREC.
        tag: the name of the system, the last column of a TREC run.
        escape_ids: write white space and control characters of ids, which TREC files cannot hold, as in a URL (`%20`),
            and `%` as `%25`.
        overwrite: replace a file that is already there.

    Returns:
        The path.

    Raises:
        DatasetError: ids that the form cannot hold, or another number of scores than of ids, all of them listed; or the
            file is there already or cannot be written.
        ConfigurationError: no such form.
    """
    target = user_path(path)
    chosen = form_of(target, form)
    faults = _faults_of_lists(rankings, Place(target.name, [])) or _faults_of_scores(rankings, scores, target.name)
    if not faults and not escape_ids:
        faults = faults_of_ids(rankings.items(), chosen, source=target.name)
    with _new_file(target, faults, overwrite=overwrite) as written:
        write_rankings(IdRankings.of_ids(rankings, scores, tag), written, chosen, escape=escape_ids)
    return target


def write_qrels(
    relevant: Mapping[str, Mapping[str, int] | Iterable[str]],
    path: str | Path,
    *,
    form: Form | None = None,
    escape_ids: bool = False,
    overwrite: bool = False,
) -> Path:
    """Write labels that are ids to one file.

    Args:
        relevant: for each query id, the relevant ids, or the grade of each; 0 for what was judged irrelevant.
        path: the file; its parents are made when missing. A text that ends with `.gz` is compressed.
        form: "trec", "jsonl" or "parquet"; by default as the ending of the path says, else TREC.
        escape_ids: as in `write_run`.
        overwrite: replace a file that is already there.

    Returns:
        The path.

    Raises:
        DatasetError: ids that the form cannot hold, all of them listed; or the file is there already or cannot be
            written.
        ConfigurationError: no such form.
    """
    target = user_path(path)
    chosen = form_of(target, form)
    faults = _faults_of_lists(relevant, Place(target.name, []))
    grades: dict[str, Mapping[str, int]] = {}
    if not faults:
        grades = {
            query: labels if isinstance(labels, Mapping) else dict.fromkeys(labels, 1)
            for query, labels in relevant.items()
        }
        faults = [] if escape_ids else faults_of_ids(grades.items(), chosen, source=target.name)
    with _new_file(target, faults, overwrite=overwrite) as written:
        write_labels(grades, written, chosen, escape=escape_ids)
    return target


def _faults_of_lists(given: Mapping[str, Any], place: Place) -> list[Fault]:
    """Return where something else stands than ids, or a grade that is no integer."""
    for query, ids in given.items():
        here = place / quoted(query)
        if isinstance(ids, (str, bytes)):
            here.fault(shown(ids), "a list of ids")
            continue
        for each in (query, *ids):
            if not isinstance(each, str):
                here.fault(shown(each), "an id, which is a text")
        for each, grade in ids.items() if isinstance(ids, Mapping) else ():
            if isinstance(grade, bool) or not isinstance(grade, Integral):
                (here / quoted(each)).fault(shown(grade), "a grade: an integer, 0 for what was judged irrelevant")
    return place.faults


def _faults_of_scores(
    rankings: Mapping[str, Sequence[str]], scores: Mapping[str, Sequence[Any]] | None, source: str
) -> list[Fault]:
    place = Place(source, [])
    for query, ids in rankings.items() if scores is not None else ():
        found = len((scores or {}).get(query, ()))
        if found != len(ids):
            (place / "scores" / quoted(query)).fault(f"{found:,} scores", f"as many as ids, {len(ids):,}")
    return place.faults


@contextmanager
def _new_file(path: Path, faults: list[Fault], *, overwrite: bool) -> Iterator[Path]:
    """Give the path of a file that is moved to its place when the block ends, and never if it fails."""
    taken = is_folder(path) or ((is_there(path) or path.is_symlink()) and not overwrite)
    if taken and not faults:
        expected = "the path of a file" if is_folder(path) else "the path of a new file, or overwrite=True"
        faults = [Fault(str(path), "something there already", expected)]
    if faults:
        raise DatasetError(str(path), faults, NOTHING_WRITTEN)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside(path) as temporary:
            written = temporary / f"written{path.suffix}"
            yield written
            written.replace(path)
    except OSError as error:
        fault = Fault(str(path), f"a file that cannot be written ({error.strerror or error})", "a place to write to")
        raise DatasetError(str(path), [fault], NOTHING_WRITTEN) from error
