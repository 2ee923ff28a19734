"""`raglift labels update`."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import typer

from raglift.adapters.embeddings import embedder_by_name
from raglift.cli.exits import drop_output
from raglift.cli.json_output import attributes, labels_json, print_json, records
from raglift.cli.labels import UpdateLabels
from raglift.datasets.corpora.catalogue import QUERIES
from raglift.datasets.documents import LINES_SUFFIXES
from raglift.datasets.formats.catalogue import recognize_format
from raglift.datasets.formats.own import documents_of
from raglift.datasets.jsonl import read_queries
from raglift.datasets.loading import load_dataset, load_documents
from raglift.errors import ConfigurationError, DatasetError
from raglift.rendering.presenting import view_of
from raglift.rendering.terminal import print_document
from raglift.report.page.rendering import check_page_free, write_page
from raglift.results.evaluation import load_evaluation
from raglift.types.dataset import Dataset
from raglift.updating.attribution import MetricChange
from raglift.updating.deciding import text_hash
from raglift.updating.page import update_page
from raglift.updating.records import LabelUpdate, UpdatedPassage
from raglift.updating.update import update_labels
from raglift.updating.writing import check_target, history_path, place_json, proof_of
from raglift.utilities.display import counted, printable
from raglift.utilities.limits import is_file, is_folder, is_stream, resolved, user_path

_OPEN = 1
_DECISIONS = "decisions.jsonl"


def run(request: UpdateLabels) -> None:
    """Look for the labels in the new documents, and write what was asked for; exit 1 if something is left to do."""
    labels, target = _labels_file(request), _target(request)
    if target is not None:
        check_target(target, labels, overwrite=request.overwrite)
    if request.page is not None and not is_stream(request.page):
        check_page_free(request.page, overwrite=True)
    runs = None if request.runs is None else (load_evaluation(request.runs[0]), load_evaluation(request.runs[1]))
    dataset = _load_labels(request)
    documents = load_documents(request.new, encoding=request.encoding, include=request.include)
    embedder = None if request.embedding is None else embedder_by_name(request.embedding)
    update = update_labels(dataset, documents, embedder=embedder)
    if request.decisions is not None:
        update = update.decide(request.decisions)
    change = None if runs is None else update.change(*runs)
    is_current = _is_current(update, labels)
    written = None
    if target is not None and (update.updated.queries or not update.waiting):
        written = update.write(target, labels=labels, overwrite=request.overwrite)
    if request.page is not None:
        write_page(update_page(update, next_step=_after_deciding(request, written)), request.page)
    try:
        if request.as_json:
            print_json(_as_json(update, written, change))
        else:
            _print(update, change, request, written, is_current=is_current)
        sys.stdout.flush()
    except BrokenPipeError:  # as with `| head`: the exit code is the same
        drop_output()
    if update.undecided or not (written or is_current):
        raise typer.Exit(_OPEN)


# What is read, and where the labels are written to.


def _labels_file(request: UpdateLabels) -> Path | None:
    """Return the file of the old labels, if they are in raglift's own form."""
    path = user_path(request.old)
    if recognize_format(path, {}) != "jsonl":
        return None
    path = path / QUERIES if is_folder(path) else path
    return path if is_file(path) else None


def _target(request: UpdateLabels) -> Path | None:
    """Return the file that the labels are written to; None if they are not to be written."""
    if request.output is not None:
        if request.output.suffix.lower() not in LINES_SUFFIXES:
            raise ConfigurationError(f"-o: found {request.output}; expected the name of a .jsonl file")
        return user_path(request.output)
    if not request.write:
        return None
    path = _labels_file(request)
    if path is None or path.suffix.lower() not in LINES_SUFFIXES:
        raise ConfigurationError(
            f"--write: found {request.old}, which is no .jsonl file or folder in raglift's own form; expected the name "
            "of the new file: -o FILE"
        )
    name, number = re.fullmatch(r"(.+?)(?:\.updated(\d*))?", path.stem).group(1, 2)  # type: ignore[union-attr]
    return path.with_name(f"{name}.updated{'' if number is None else int(number or 1) + 1}{path.suffix}")


def _load_labels(request: UpdateLabels) -> Dataset:
    path = user_path(request.old)
    folder = path.parent if path.name == QUERIES else path
    documents = documents_of(folder) if request.documents is None and path.name == QUERIES else request.documents
    if resolved(_documents_at(request.new)) == resolved(_documents_at(documents or folder)):
        raise ConfigurationError(
            f"{request.new}: found the documents of the old labels, in which nothing can have changed; expected "
            "another version of them: --documents names the old ones, if they are elsewhere"
        )
    dataset = load_dataset(request.old, documents=documents, encoding=request.encoding, include=request.include)
    if not dataset.documents:
        raise ConfigurationError(
            f"{request.old}: found labels without documents; expected those that the labels were made for: "
            "--documents FOLDER"
        )
    if not any(query.facts for query in dataset):
        raise ConfigurationError(f"{request.old}: found no labels; expected passages of documents")
    return dataset


def _is_current(update: LabelUpdate, labels: Path | None) -> bool:
    """Whether the old labels, read with the new documents, are just the updated ones, so that nothing is to be written.

    Offsets are not if anything was inserted before them; a literal text is, even if it moved.
    """
    if labels is None:
        return all(each.new == each.old for each in update.passages)
    try:
        return read_queries(labels, update.documents) == update.updated.queries
    except DatasetError:
        return False


def _documents_at(source: str | Path) -> Path:
    """Return where documents are: of the folder of a dataset, those in it."""
    path = user_path(source)
    return (documents_of(path) or path) if is_file(path / QUERIES) else path


# What is printed.


def _print(
    update: LabelUpdate,
    change: MetricChange | None,
    request: UpdateLabels,
    written: Path | None,
    *,
    is_current: bool,
) -> None:
    _print_view(update)
    if change is not None:
        sys.stdout.write("\n")
        _print_view(change)
    if written is not None:
        questions = counted(len(update.updated), "question")
        sys.stderr.write(f"{questions} written to {written}, their history to {history_path(written)}\n")
    if request.page is not None:
        sys.stderr.write(f"written to {request.page}\n")
    if is_current and written is None:
        last = f"Nothing has to be written: {request.old} is right for the new documents as it is."
    else:
        stays = written is None and update.counts["unchanged"] == len(update.passages)
        why = "The same texts are at other offsets or pages now. " if stays else ""
        last = f"{why}Next: {_next_line(update, request, written)}"
    sys.stdout.write(f"\n{printable(last)}\n")


def _print_view(result: Any) -> None:
    print_document(view_of(result))


def _next_line(update: LabelUpdate, request: UpdateLabels, written: Path | None) -> str:
    """Return what to do next."""
    if update.undecided and request.page is not None:
        return f"decide in {request.page}. {_after_deciding(request, written)}"
    if update.undecided:
        decided = [] if request.decisions is None else ["--decisions", request.decisions]
        return f"{_command(request, *decided)} --page updates.html shows what to choose from"
    if written is not None:
        return f"raglift evaluate {_quoted(written, '--documents', request.new)}"
    return f"{_command(request)} {_writing(request)}"


def _after_deciding(request: UpdateLabels, written: Path | None) -> str:
    again = " --overwrite" if written is not None else ""
    return f"Save the decisions, then: {_command(request)} --decisions {_DECISIONS} {_writing(request)}{again}"


def _writing(request: UpdateLabels) -> str:
    if request.output is not None:
        return f"-o {_quoted(request.output)}"
    return "-o updated.jsonl" if _labels_file(request) is None else "--write"


def _command(request: UpdateLabels, *more: object) -> str:
    """Return the command without what it writes, and with further words."""
    options = {"--documents": request.documents, "--encoding": request.encoding}
    arguments = [part for name, value in options.items() if value is not None for part in (name, value)]
    arguments += [part for pattern in request.include for part in ("--include", pattern)]
    return f"raglift labels update {_quoted(request.old, request.new, *arguments, *more)}"


def _quoted(*words: object) -> str:
    return " ".join(shlex.quote(str(word)) for word in words)


def _as_json(update: LabelUpdate, written: Path | None, change: MetricChange | None) -> dict[str, Any]:
    dataset = update.dataset
    return {
        "dataset": dataset.name,
        **labels_json(dataset.label_sources),
        "questions": len(dataset),
        "written_questions": len(update.updated),
        "waiting": update.waiting,
        "labels": len(update.passages),
        "counts": update.counts,
        "undecided": len(update.undecided),
        "passages": [_passage_json(passage) for passage in update.passages],
        "notes": view_of(update).notes,
        "path": written,
        "history": None if written is None else history_path(written),
        **({} if change is None else {"change": _change_json(change)}),
    }


def _change_json(change: MetricChange) -> dict[str, Any]:
    parts = attributes(change, "metric", "total", "moved", "died", "system", "moved_labels", "lost_labels")
    both = attributes(change, "mean_before", "mean_after", "difference", "verdict", "warnings", "notes")
    return {**parts, **both, "questions": records(change.to_frame())}


def _passage_json(passage: UpdatedPassage) -> dict[str, Any]:
    candidates = [
        {**place_json(each.place), **attributes(each, "text", "reason"), "likeness": round(each.likeness, 4)}
        for each in passage.candidates
    ]
    return {**proof_of(passage), "old_hash": text_hash(passage.old), "candidates": candidates}
