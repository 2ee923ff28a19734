"""An evaluation as files for other tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from raglift.dataset.replacing import NOTHING_WRITTEN
from raglift.errors import ConfigurationError, DatasetError
from raglift.paths import user_path
from raglift.run_files.exporting.folder import MANIFEST, check_free, replacing_folder
from raglift.run_files.exporting.labels import UNFOUND, labels_of
from raglift.run_files.exporting.rankings import IdRankings
from raglift.run_files.exporting.records import Export, ExportedFile
from raglift.run_files.exporting.writing import faults_of_ids, write_json, write_labels, write_rankings, write_subtopics
from raglift.run_files.forms import FORMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from raglift.result_records import EvaluationRecord
    from raglift.run_files.exporting.labels import IdLabels
    from raglift.run_files.forms import Form

__all__ = ["export"]

_SUBTOPICS = "qrels.subtopics.txt"

_ENDINGS = {"trec": (".trec", ".txt"), "jsonl": (".jsonl", ".jsonl"), "parquet": (".parquet", ".parquet")}
"""How the names of rankings and of labels end."""
_AS_OTHER_TOOLS = ("default", "trec")
"""The profiles that have other tools' values where facts and ids go one to one."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def export(
    evaluation: EvaluationRecord,
    folder: str | Path,
    *,
    form: Form = "trec",
    stage: str | None = None,
    all_stages: bool = False,
    subtopics: bool = False,
    escape_ids: bool = False,
    overwrite: bool = False,
) -> Export:
    """Write an evaluation's rankings and labels as files that other tools read.

    Labels become ids of chunks. Where facts and chunks go one to one, other tools compute raglift's values; what comes
    back says where they do not, and why.

    Args:
        evaluation: from `evaluate` or `load_evaluation`.
        folder: where to: `run.trec` and `qrels.txt`, `run.jsonl` and `qrels.jsonl`, or `run.parquet` and
            `qrels.parquet`, and `export.json`, which says what they are; its parents are made when missing.
        form: "trec", "jsonl" or "parquet".
        stage: the stage whose rankings are written; by default the last.
        all_stages: write the rankings of all stages, as `run.1-retrieve.trec`, `run.2-rerank.trec`, ….
        subtopics: also write which id stands for which fact, as TREC's diversity qrels (`qrels.subtopics.txt`).
        escape_ids: write white space and control characters of ids, which TREC files cannot hold, as in a URL (`%20`),
            and `%` as `%25`.
        overwrite: replace an export that is already there; nothing else is ever replaced.

    Returns:
        What was written.

    Raises:
        ConfigurationError: no such form or stage, or options that exclude each other.
        DatasetError: ids that the form cannot hold, all of them listed; or the folder is taken or cannot be written.
    """
    names = _checked(evaluation, form, stage, all_stages=all_stages, subtopics=subtopics, escape_ids=escape_ids)
    target = user_path(folder)
    check_free(target, overwrite=overwrite)
    labels = labels_of(evaluation)
    rankings = {name: IdRankings.of_stage(evaluation.run, of) for name, of in names.items()}
    if not escape_ids:
        faults = faults_of_ids(_ids(rankings.values(), labels), form, source=evaluation.dataset.name)
        if faults:
            raise DatasetError(f"{target} (as {form})", faults, NOTHING_WRITTEN)
    files = [_of_rankings(name, of_stage, form) for name, of_stage in rankings.items()]
    files.append(_of_labels(f"qrels{_ENDINGS[form][1]}", labels))
    if subtopics:
        files.append(_of_subtopics(labels))
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
        if subtopics:
            write_subtopics(labels.subtopics, written / _SUBTOPICS, escape=escape_ids)
        write_json(made.to_dict(), written / MANIFEST)
    return made


def _checked(
    evaluation: EvaluationRecord, form: Form, stage: str | None, *, all_stages: bool, subtopics: bool, escape_ids: bool
) -> dict[str, str]:
    """Return the name of the file of each stage that is to be written.

    Raises:
        ConfigurationError: no such form or stage, or options that exclude each other.
    """
    stages, ending = evaluation.scores.stages, _ENDINGS.get(form, ("", ""))[0]
    if form not in FORMS:
        raise ConfigurationError(f"form: found {form!r}; expected one of {', '.join(FORMS)}")
    for name, wanted in (("subtopics", subtopics), ("escape_ids", escape_ids)):
        if wanted and form != "trec":
            raise ConfigurationError(f"{name}: found it with the form {form}; expected it with trec alone")
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


def _of_rankings(name: str, rankings: IdRankings, form: Form) -> ExportedFile:
    scores = "its own scores" if rankings.own_scores else "scores that count the ranks down to 1"
    if rankings.lowered:
        scores += f", {rankings.lowered:,} of them lowered by the smallest step, for they equalled the one before"
    holds = f"{rankings.hits:,} hits of {rankings.queries:,} queries after {rankings.name}, with {scores}"
    return ExportedFile(name, holds, rankings.hits, rankings.queries if form == "jsonl" else rankings.hits)


def _of_labels(name: str, labels: IdLabels) -> ExportedFile:
    parts = [f"{len(labels):,} labels of {len(labels.grades):,} queries"]
    if labels.irrelevant:
        parts.append(f"{labels.irrelevant:,} of them judged irrelevant")
    if labels.unfound:
        parts.append(f"{labels.unfound:,} of them facts that no known chunk proves ({UNFOUND}:…)")
    return ExportedFile(name, ", ".join(parts), len(labels), len(labels))


def _of_subtopics(labels: IdLabels) -> ExportedFile:
    pairs = len(labels.subtopics)
    return ExportedFile(_SUBTOPICS, f"{pairs:,} pairs of a fact and an id that stands for it", pairs, pairs)


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
