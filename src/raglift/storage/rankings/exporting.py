"""`export`: an evaluation's rankings and labels as files for other tools, in a folder of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError, DatasetError, Fault
from raglift.storage.rankings.export_labels import UNFOUND, IdLabels, labels_of
from raglift.storage.rankings.forms import WRITTEN_FORMS, WrittenForm
from raglift.storage.rankings.write import IdRankings, needs_escaping, write_json, write_labels, write_rankings
from raglift.utilities.display import lines_text
from raglift.utilities.limits import is_file, is_folder, is_there, user_path
from raglift.utilities.replacing import NOTHING_WRITTEN, replacing_folder

if TYPE_CHECKING:
    from raglift.results.evaluation import Evaluation
    from raglift.types.labels import LabelSources


MANIFEST = "export.json"
"""What the files of an export are, and what is to be known of them: the mark of a folder that may be replaced."""
_ENDINGS = {"trec": (".trec", ".txt"), "parquet": (".parquet", ".parquet")}
"""How the names of rankings and of labels end."""
_AS_OTHER_TOOLS = ("default", "trec")
"""The profiles that have other tools' values where facts and ids go one to one."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


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
    """For which of them other tools may compute other values, as their facts and ids do not go one to one."""
    notes: tuple[str, ...]
    """What else to know before figures of other tools are compared with raglift's."""
    label_sources: LabelSources
    """Who gave the labels."""

    @property
    def agreement(self) -> str:
        """One sentence: for how many queries other tools compute the same values."""
        same = f"{self.queries - len(self.differing):,} of" if self.differing else "all"
        found = (
            "Other tools compute raglift's default values of HitRate, Precision, Recall, F1, RR, AP and NDCG for "
            f"{same} {self.queries:,} labelled queries"
        )
        return f"{found}; the facts and ids of the others do not go one to one." if self.differing else f"{found}."

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "dataset": self.dataset,
            "folder": str(self.folder),
            "format": self.form,
            "files": [vars(file) for file in self.files],
            "labelled_queries": self.queries,
            "differing_queries": list(self.differing),
            "notes": list(self.notes),
            **({"labels": self.label_sources.to_dict()} if self.label_sources.by_model else {}),
        }

    def __repr__(self) -> str:
        return f"Export({str(self.folder)!r}, {len(self.files)} files; print() shows them)"

    def __str__(self) -> str:
        width = max(len(file.name) for file in self.files)
        lines = [f"wrote to {self.folder}", *(f"  {file.name:{width}}  {file.holds}" for file in self.files)]
        return lines_text(filter(None, [*lines, self.agreement, *self.notes, str(self.label_sources)]))


def export(
    evaluation: Evaluation,
    folder: str | Path,
    *,
    form: WrittenForm = "trec",
    stage: str | None = None,
    all_stages: bool = False,
    overwrite: bool = False,
) -> Export:
    """Write an evaluation's rankings and labels as files that other tools read.

    Labels become ids of chunks. Where facts and chunks go one to one, other tools compute raglift's values; what comes
    back says for which queries they do not. TREC files hold no white space and control characters in ids: where an id
    has some, these and `%` are written as in a URL (`%20`), in all of the files.

    Args:
        evaluation: from `evaluate` or `load_evaluation`.
        folder: where to: `run.trec` and `qrels.txt`, or `run.parquet` and `qrels.parquet`, and `export.json`, which
            says what they are; its parents are made when missing.
        form: "trec" or "parquet".
        stage: the stage whose rankings are written; by default the last.
        all_stages: write the rankings of all stages, as `run.1-retrieve.trec`, `run.2-rerank.trec`, ….
        overwrite: replace an export that is already there; nothing else is ever replaced.

    Returns:
        What was written.

    Raises:
        ConfigurationError: no such form or stage, or options that exclude each other.
        DatasetError: the folder is taken or cannot be written.
    """
    names = _file_names(evaluation, form, stage, all_stages=all_stages)
    target = user_path(folder)
    check_free = partial(_check_free, target, overwrite=overwrite)
    check_free()
    labels = labels_of(evaluation)
    rankings = {name: IdRankings.of_stage(evaluation.run, of) for name, of in names.items()}
    escape = form == "trec" and needs_escaping(_ids(list(rankings.values()), labels))
    of_labels = f"qrels{_ENDINGS[form][1]}"
    made = Export(
        folder=target,
        form=form,
        dataset=evaluation.dataset.name,
        files=(*(_of_rankings(name, one) for name, one in rankings.items()), _of_labels(of_labels, labels)),
        queries=len(labels.grades),
        differing=labels.differing,
        notes=tuple(_notes(evaluation, labels, list(rankings.values()), escaped=escape)),
        label_sources=evaluation.label_sources,
    )
    try:
        with replacing_folder(target, check_free, overwrite=overwrite) as written:
            for name, of_stage in rankings.items():
                write_rankings(of_stage, written / name, form, escape=escape)
            write_labels(labels.grades, written / of_labels, form, escape=escape)
            write_json(made.to_dict(), written / MANIFEST)
    except OSError as error:
        fault = Fault(str(target), f"a place that cannot be written ({error.strerror or error})", "a place to write to")
        raise DatasetError(str(target), [fault], NOTHING_WRITTEN) from error
    return made


def _file_names(evaluation: Evaluation, form: WrittenForm, stage: str | None, *, all_stages: bool) -> dict[str, str]:
    """Return the name of the file of each stage that is to be written, with the stage."""
    if form not in WRITTEN_FORMS:
        raise ConfigurationError(f"form: found {form!r}; expected one of {', '.join(WRITTEN_FORMS)}")
    stages, ending = evaluation.scores.stages, _ENDINGS[form][0]
    if all_stages and stage is not None:
        raise ConfigurationError(f"stage: found {stage!r} and all stages; expected one of the two")
    if all_stages:
        return {f"run.{n}-{_UNSAFE.sub('-', each)[:60]}{ending}": each for n, each in enumerate(stages, start=1)}
    chosen = evaluation.after if stage is None else stage
    if chosen not in stages:
        raise ConfigurationError(f"stage: found {chosen!r}; expected one of {', '.join(stages)}")
    return {f"run{ending}": chosen}


def _check_free(folder: Path, *, overwrite: bool) -> None:
    """Raise where a folder holds something; an export counts as something unless it may be replaced."""
    linked = folder.is_symlink()
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


def _ids(rankings: Sequence[IdRankings], labels: IdLabels) -> Iterator[str]:
    for of_stage in rankings:
        for query, ids, _ in of_stage:
            yield from (query, *ids)
    for query, of_query in labels.grades.items():
        yield from (query, *of_query)


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


def _notes(evaluation: Evaluation, labels: IdLabels, rankings: Sequence[IdRankings], *, escaped: bool) -> Iterator[str]:
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
        yield "White space, control characters and % in ids are escaped as in a URL, which TREC files cannot hold."
