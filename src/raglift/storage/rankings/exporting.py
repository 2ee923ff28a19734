"""`export`: an evaluation's rankings and labels as files for other tools, in a folder of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError, DatasetError, Fault
from raglift.storage.rankings.export_labels import UNFOUND, labels_of
from raglift.storage.rankings.forms import WRITTEN_FORMS, written_form_of
from raglift.storage.rankings.write import (
    IdRankings,
    faults_of_ids,
    write_json,
    write_labels,
    write_rankings,
)
from raglift.utilities.display import lines_text
from raglift.utilities.limits import is_file, is_folder, is_link, is_there, user_path
from raglift.utilities.replacing import NOTHING_WRITTEN, is_of_saved_run, move_folder, staging_folder
from raglift.utilities.validation import Location, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from raglift.analysis.records import EvaluationRecord
    from raglift.storage.rankings.export_labels import Difference, IdLabels
    from raglift.storage.rankings.forms import WrittenForm
    from raglift.types.labels import LabelSources


# The result of an export: the files written, and notes.


@dataclass(frozen=True)
class ExportedFile:
    """A file of an export."""

    name: str
    holds: str
    """What is in it: `1,200 hits of 30 queries after rerank, with its own scores`."""
    entries: int
    """How many hits or labels."""


@dataclass(frozen=True, repr=False)
class Export:
    """What an export wrote; its text says what other tools will count differently."""

    folder: Path
    form: WrittenForm
    dataset: str
    """The name of the dataset."""
    files: tuple[ExportedFile, ...]
    queries: int
    """How many labelled queries there are."""
    differing: tuple[str, ...]
    """For which of them other tools compute other values."""
    differences: tuple[Difference, ...]
    """Why they do."""
    notes: tuple[str, ...]
    """What else to know before figures of other tools are compared with raglift's."""
    label_sources: LabelSources
    """Who gave the labels."""

    @property
    def agreement(self) -> str:
        """One sentence: for how many queries other tools compute the same values, and why not for all."""
        same = self.queries - len(self.differing)
        values = "raglift's default values of HitRate, Precision, Recall, F1, RR, AP and NDCG"
        if not self.differing:
            return f"Other tools compute {values} for all {self.queries:,} labelled queries."
        reasons = "".join(f"\n  {difference}" for difference in self.differences)
        return f"Other tools compute {values} for {same:,} of {self.queries:,} labelled queries:{reasons}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "dataset": self.dataset,
            "folder": str(self.folder),
            "format": self.form,
            "files": [vars(file) for file in self.files],
            "labelled_queries": self.queries,
            "differing_queries": list(self.differing),
            "differences": [
                {"reason": each.reason, "count": each.count, "queries": list(each.query_ids)}
                for each in self.differences
            ],
            "notes": list(self.notes),
            **({"labels": self.label_sources.to_dict()} if self.label_sources.by_model else {}),
        }

    def __repr__(self) -> str:
        return f"Export({str(self.folder)!r}, {len(self.files)} files; print() shows them)"

    def __str__(self) -> str:
        width = max(len(file.name) for file in self.files)
        lines = [f"wrote to {self.folder}", *(f"  {file.name:{width}}  {file.holds}" for file in self.files)]
        lines += [*self.agreement.splitlines(), *self.notes, str(self.label_sources)]
        return lines_text(filter(None, lines))


# The folder of an export: written atomically, and only an earlier export is ever replaced.


MANIFEST = "export.json"
"""What the files of an export are, and what is to be known of them: the mark of a folder that may be replaced."""


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Raise unless an export can be written to a folder without destroying anything else.

    Args:
        folder: where it would be written.
        overwrite: whether an export that is already there may be replaced.

    Raises:
        DatasetError: the folder holds something; an export counts as something unless it may be replaced.
    """
    linked = is_link(folder)
    if not linked and (not is_there(folder) or (is_folder(folder) and not any(folder.iterdir()))):
        return
    is_export = not linked and _is_export(folder)
    if is_export and overwrite:
        return
    found, expected = "something there already", "a new or empty folder"
    if is_export:
        found, expected = "an export there already", f"{expected}, or overwrite=True (--overwrite) to replace it"
    elif overwrite:
        found = "something there already that is not an export alone, and so is not overwritten"
    raise DatasetError(str(folder), [Fault(str(folder), found, expected)], NOTHING_WRITTEN)


@contextmanager
def replacing_folder(folder: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a new folder that takes the place of another one when the block ends, and never if it fails.

    Args:
        folder: the location; its parents are made when missing.
        overwrite: whether an export that is already there may be replaced.

    Raises:
        DatasetError: the folder holds something else, or cannot be written; what was there is unchanged.
    """
    check_free(folder, overwrite=overwrite)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with staging_folder(folder) as temporary:
            written = temporary / "written"
            written.mkdir()
            yield written
            check_free(folder, overwrite=overwrite)  # whoever came meanwhile was first
            move_folder(written, folder, overwrite=overwrite)
    except OSError as error:
        fault = Fault(str(folder), f"a place that cannot be written ({error.strerror or error})", "a place to write to")
        raise DatasetError(str(folder), [fault], NOTHING_WRITTEN) from error


def _is_export(folder: Path) -> bool:
    """Whether a folder holds the files that its manifest names, and nothing else that replacing it would destroy."""
    if not is_folder(folder):
        return False
    try:
        files = json.loads((folder / MANIFEST).read_bytes())["files"]
        known = {MANIFEST, *(file["name"] for file in files)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False
    return all(path.name in known and is_file(path) and not path.is_symlink() for path in folder.iterdir())


# Writing rankings of ids, and labels of ids, to files.


def write_run(
    rankings: Mapping[str, Sequence[str]],
    path: str | Path,
    *,
    scores: Mapping[str, Sequence[float]] | None = None,
    form: WrittenForm | None = None,
    tag: str = "raglift",
    escape_ids: bool = False,
    overwrite: bool = False,
) -> Path:
    """Write rankings of ids to one file, with scores that descend strictly, as trec_eval reads them.

    An id that occurs more than once in a ranking keeps only its first rank.

    Args:
        rankings: for each query id, the ids that came back, best first.
        path: the file; its parents are made when missing. A text that ends with `.gz` is compressed.
        scores: for each query id, the score of each id in that order. They are written where they tell the order of
            every ranking (one that equals the one before it is lowered by the smallest step); else, and without any,
            scores count the ranks down to 1.
        form: "trec" or "parquet"; by default as the ending of the path says, else TREC.
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
    chosen = written_form_of(target, form)
    faults = _faults_of_lists(rankings, Location(target.name, [])) or _faults_of_scores(rankings, scores, target.name)
    if not faults and not escape_ids:
        faults = faults_of_ids(rankings.items(), chosen, source=target.name)
    with _new_file(target, faults, overwrite=overwrite) as written:
        write_rankings(IdRankings.of_ids(rankings, scores, tag), written, chosen, escape=escape_ids)
    return target


def write_qrels(
    relevant: Mapping[str, Mapping[str, int] | Iterable[str]],
    path: str | Path,
    *,
    form: WrittenForm | None = None,
    escape_ids: bool = False,
    overwrite: bool = False,
) -> Path:
    """Write labels that are ids to one file.

    Args:
        relevant: for each query id, the relevant ids, or the grade of each; 0 for what was judged irrelevant.
        path: the file; its parents are made when missing. A text that ends with `.gz` is compressed.
        form: "trec" or "parquet"; by default as the ending of the path says, else TREC.
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
    chosen = written_form_of(target, form)
    faults = _faults_of_lists(relevant, Location(target.name, []))
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


def _faults_of_lists(given: Mapping[str, Any], location: Location) -> list[Fault]:
    """Return where something else is than ids, or a grade that is not an integer."""
    for query, ids in given.items():
        here = location / quoted(query)
        if isinstance(ids, (str, bytes)):
            here.fault(shown(ids), "a list of ids")
            continue
        for each in (query, *ids):
            if not isinstance(each, str):
                here.fault(shown(each), "an id, which is a text")
        for each, grade in ids.items() if isinstance(ids, Mapping) else ():
            if isinstance(grade, bool) or not isinstance(grade, Integral):
                (here / quoted(each)).fault(shown(grade), "a grade: an integer, 0 for what was judged irrelevant")
    return location.faults


def _faults_of_scores(
    rankings: Mapping[str, Sequence[str]], scores: Mapping[str, Sequence[Any]] | None, source: str
) -> list[Fault]:
    location = Location(source, [])
    for query, ids in rankings.items() if scores is not None else ():
        found = len((scores or {}).get(query, ()))
        if found != len(ids):
            (location / "scores" / quoted(query)).fault(f"{found:,} scores", f"as many as ids, {len(ids):,}")
    return location.faults


@contextmanager
def _new_file(path: Path, faults: list[Fault], *, overwrite: bool) -> Iterator[Path]:
    """Give the path of a file that is moved to its place when the block ends, and never if it fails."""
    taken = is_folder(path) or is_of_saved_run(path) or ((is_there(path) or is_link(path)) and not overwrite)
    if taken and not faults:
        expected = "the path of a file" if is_folder(path) else "the path of a new file, or overwrite=True"
        faults = [Fault(str(path), "something there already", expected)]
    if faults:
        raise DatasetError(str(path), faults, NOTHING_WRITTEN)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with staging_folder(path) as temporary:
            written = temporary / f"written{path.suffix}"
            yield written
            written.replace(path)
    except OSError as error:
        fault = Fault(str(path), f"a file that cannot be written ({error.strerror or error})", "a place to write to")
        raise DatasetError(str(path), [fault], NOTHING_WRITTEN) from error


# Export of an evaluation as files for other tools.


_ENDINGS = {"trec": (".trec", ".txt"), "parquet": (".parquet", ".parquet")}
"""How the names of rankings and of labels end."""
_AS_OTHER_TOOLS = ("default", "trec")
"""The profiles that have other tools' values where facts and ids go one to one."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def export(
    evaluation: EvaluationRecord,
    folder: str | Path,
    *,
    form: WrittenForm = "trec",
    stage: str | None = None,
    all_stages: bool = False,
    escape_ids: bool = False,
    overwrite: bool = False,
) -> Export:
    """Write an evaluation's rankings and labels as files that other tools read.

    Labels become ids of chunks. Where facts and chunks go one to one, other tools compute raglift's values; what comes
    back says where they do not, and why.

    Args:
        evaluation: from `evaluate` or `load_evaluation`.
        folder: where to: `run.trec` and `qrels.txt`, or `run.parquet` and `qrels.parquet`, and `export.json`, which
            says what they are; its parents are made when missing.
        form: "trec" or "parquet".
        stage: the stage whose rankings are written; by default the last.
        all_stages: write the rankings of all stages, as `run.1-retrieve.trec`, `run.2-rerank.trec`, ….
        escape_ids: write white space and control characters of ids, which TREC files cannot hold, as in a URL (`%20`),
            and `%` as `%25`.
        overwrite: replace an export that is already there; nothing else is ever replaced.

    Returns:
        What was written.

    Raises:
        ConfigurationError: no such form or stage, or options that exclude each other.
        DatasetError: ids that the form cannot hold, all of them listed; or the folder is taken or cannot be written.
    """
    names = _checked(evaluation, form, stage, all_stages=all_stages, escape_ids=escape_ids)
    target = user_path(folder)
    check_free(target, overwrite=overwrite)
    labels = labels_of(evaluation)
    rankings = {name: IdRankings.of_stage(evaluation.run, of) for name, of in names.items()}
    if not escape_ids:
        faults = faults_of_ids(_ids(rankings.values(), labels), form, source=evaluation.dataset.name)
        if faults:
            raise DatasetError(f"{target} (as {form})", faults, NOTHING_WRITTEN)
    files = [_of_rankings(name, of_stage) for name, of_stage in rankings.items()]
    files.append(_of_labels(f"qrels{_ENDINGS[form][1]}", labels))
    made = Export(
        folder=target,
        form=form,
        dataset=evaluation.dataset.name,
        files=tuple(files),
        queries=len(labels.grades),
        differing=labels.differing,
        differences=labels.differences,
        notes=tuple(_notes(evaluation, labels, list(rankings.values()), escaped=escape_ids)),
        label_sources=evaluation.label_sources,
    )
    with replacing_folder(target, overwrite=overwrite) as written:
        for name, of_stage in rankings.items():
            write_rankings(of_stage, written / name, form, escape=escape_ids)
        write_labels(labels.grades, written / f"qrels{_ENDINGS[form][1]}", form, escape=escape_ids)
        write_json(made.to_dict(), written / MANIFEST)
    return made


def _checked(
    evaluation: EvaluationRecord,
    form: WrittenForm,
    stage: str | None,
    *,
    all_stages: bool,
    escape_ids: bool,
) -> dict[str, str]:
    """Return the name of the file of each stage that is to be written.

    Raises:
        ConfigurationError: no such form or stage, or options that exclude each other.
    """
    stages, ending = evaluation.scores.stages, _ENDINGS.get(form, ("", ""))[0]
    if form not in WRITTEN_FORMS:
        raise ConfigurationError(f"form: found {form!r}; expected one of {', '.join(WRITTEN_FORMS)}")
    if escape_ids and form != "trec":
        raise ConfigurationError(f"escape_ids: found it with the form {form}; expected it with trec alone")
    if all_stages and stage is not None:
        raise ConfigurationError(f"stage: found {stage!r} and all stages; expected one of the two")
    if all_stages:
        return {f"run.{n}-{_UNSAFE.sub('-', each)[:60]}{ending}": each for n, each in enumerate(stages, start=1)}
    chosen = evaluation.after if stage is None else stage
    if chosen not in stages:
        raise ConfigurationError(f"stage: found {chosen!r}; expected one of {', '.join(stages)}")
    return {f"run{ending}": chosen}


def _ids(rankings: Iterable[IdRankings], labels: IdLabels) -> Iterator[tuple[str, Iterable[str]]]:
    for of_stage in rankings:
        for query, ids, _ in of_stage:
            yield query, ids
    yield from labels.grades.items()


def _of_rankings(name: str, rankings: IdRankings) -> ExportedFile:
    scores = "its own scores" if rankings.own_scores else "scores that count the ranks down to 1"
    if rankings.lowered:
        scores += f", {rankings.lowered:,} of them lowered by the smallest step, for they equalled the one before"
    holds = f"{rankings.hits:,} hits of {len(rankings):,} queries after {rankings.name}, with {scores}"
    return ExportedFile(name, holds, rankings.hits)


def _of_labels(name: str, labels: IdLabels) -> ExportedFile:
    parts = [f"{len(labels):,} labels of {len(labels.grades):,} queries"]
    if labels.irrelevant:
        parts.append(f"{labels.irrelevant:,} of them judged irrelevant")
    if labels.unfound:
        parts.append(f"{labels.unfound:,} of them facts that no known chunk proves ({UNFOUND}:…)")
    return ExportedFile(name, ", ".join(parts), len(labels))


def _notes(
    evaluation: EvaluationRecord, labels: IdLabels, rankings: Sequence[IdRankings], *, escaped: bool
) -> Iterator[str]:
    if labels.of_this_run:
        yield (
            "The index's chunks are not all known: the labels name chunks among this run's hits alone, and are no "
            "labels for another run."
        )
    empty = {query for of_stage in rankings for query in of_stage.empty} & labels.grades.keys()
    if empty:
        yield (
            f"Queries that nothing came back for, which count 0 in raglift: {len(empty):,}; trec_eval counts them only "
            "with -c."
        )
    if labels.unlabelled:
        yield f"Queries without labels, which no mean counts: {len(labels.unlabelled):,}; only rankings have them."
    if evaluation.profile not in _AS_OTHER_TOOLS:
        yield f"The run was scored by the conventions of {evaluation.profile}, and not by the default ones."
    if escaped:
        yield "White space, control characters and % in ids are escaped as in a URL."
