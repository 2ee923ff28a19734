"""`raglift labels check` and `raglift labels anchor`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import typer

from raglift.auditing.dataset_audit import audit
from raglift.auditing.records import KINDS, PLACEMENTS, Audit, ChunkingAudit, Finding
from raglift.auditing.relabelling import Form, Relabelling, relabel
from raglift.auditing.view import audit_view, faults_view
from raglift.cli.arguments import CHUNKER
from raglift.cli.evaluate import chunker_of, numbers_of_hits
from raglift.cli.json_output import attributes, labels_json, print_json
from raglift.cli.labels import AuditDataset, Relabel
from raglift.datasets.corpora.catalogue import QUERIES, find_corpus
from raglift.datasets.formats.own import documents_of
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, CorpusError, DatasetError
from raglift.matching.rule import MatchRule
from raglift.rendering.document import Document
from raglift.rendering.presenting import view_of
from raglift.rendering.terminal import print_document
from raglift.report.page.rendering import Page, write_page
from raglift.updating.writing import place_json
from raglift.utilities.display import lines_text, printable
from raglift.utilities.limits import is_file, is_folder, is_there, user_path
from raglift.utilities.validation import quoted

_BROKEN = 1
_UNUSABLE = 2
_LISTED = 20


def run(request: AuditDataset) -> None:
    """Check one dataset after the other, also after one that is unusable; with `--strict`, exit 1 for broken labels."""
    if request.output is not None and len(request.datasets) > 1:
        raise ConfigurationError(f"--output: found it with {len(request.datasets)} datasets; expected one")
    checked = [_check(dataset, request) for dataset in request.datasets]
    if request.as_json:
        records = [record for record, _ in checked]
        print_json(records if len(records) > 1 else records[0])
    code = max(code for _, code in checked)
    if code:
        raise typer.Exit(code)


def _check(source: str, request: AuditDataset) -> tuple[dict[str, Any], int]:
    """Load, audit, print unless in JSON; return what JSON has of it, and the exit code."""
    rule = MatchRule(request.match, unicode_folding=request.unicode_folding)  # type: ignore[arg-type]
    ks = numbers_of_hits(request.ks)
    path, documents = user_path(source), request.documents
    if documents is None and path.name == QUERIES:
        documents = documents_of(path.parent)
    try:
        dataset = load_dataset(source, documents=documents, encoding=request.encoding, include=request.include)
    except (DatasetError, CorpusError) as error:
        if not error.faults and len(request.datasets) == 1:
            raise
        found = {"faults": error.faults} if error.faults else {"error": str(error)}
        return {"dataset": source, **found}, _show_faults(error, documents, request)
    chunkers = request.chunker or ([CHUNKER] if dataset.documents else [])
    ways = [chunker_of(chunker) for chunker in chunkers]
    audited = audit(dataset, chunkers=ways, match=rule, ks=ks, embedding=request.embedding)
    if not request.as_json:
        print_document(view_of(audited))
    _write_page(audit_view(audited, most=1000), request)  # of each kind; JSON has all
    return _as_json(audited), _BROKEN if request.strict and audited.broken else 0


def _show_faults(error: DatasetError | CorpusError, documents: Path | None, request: AuditDataset) -> int:
    """Show every fault of what could not be loaded, or of a corpus of which no label resolves; return the exit code."""
    is_labels, title = bool(error.faults), str(error)
    if isinstance(error, DatasetError):
        read_as = "" if error.read_as is None else f" (read as {error.read_as})"
        title = f"{error.source}{read_as}: nothing was audited; faults: {len(error.faults):,}"
        # Another format's labels may be in any of the files of a folder
        is_read = is_file(Path(error.source)) or error.read_as is not None
        is_labels = is_read and error.source != str(documents)
    lines = [f"raglift: error: {title}", *(f"  {fault}" for fault in error.faults)]
    sys.stderr.write(lines_text(lines) + "\n")
    source = str(error.source) if isinstance(error, DatasetError) else "the corpus"
    _write_page(faults_view(source, [*map(str, error.faults)] or [str(error)]), request)
    return _BROKEN if request.strict and is_labels else _UNUSABLE


def _write_page(view: Document, request: AuditDataset) -> None:
    if request.output is not None:
        write_page(Page(**vars(view)), request.output)
        sys.stderr.write(f"written to {request.output}\n")


def _as_json(audited: Audit) -> dict[str, Any]:
    return {
        **attributes(audited, "dataset", "queries", "labelled", "facts", "passages", "documents", "match"),
        **labels_json(audited.label_sources),
        "broken": len(audited.broken),
        "warnings": len(audited.warnings),
        "findings": [_finding(finding) for finding in audited.findings],
        "chunkers": [_chunking(chunking) for chunking in audited.chunkings],
        "notes": audited.notes,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    near = finding.nearest
    return {
        "query": finding.query_id,
        "where": finding.where,
        "severity": KINDS[finding.kind][0],
        **attributes(finding, "kind", "text", "detail"),
        "places": [place_json(place) for place in finding.places],
        "nearest": near and {**place_json(near.place), "text": near.text, "likeness": round(near.likeness, 4)},
    }


def _chunking(chunking: ChunkingAudit) -> dict[str, Any]:
    return {
        "chunker": chunking.name,
        **attributes(chunking, "chunks", "mean_length", "read_in_part"),
        "passages": {placement: chunking.count(placement) for placement in PLACEMENTS},
        "attainable_recall": chunking.attainable,
    }


def run_relabel(request: Relabel) -> None:
    """Move literal texts to their locations, and write the new file."""
    path, out = _queries_file(request.source), request.output
    if is_there(out) and not request.overwrite:
        raise ConfigurationError(f"{out}: found a file that is already there; expected a new one, or --overwrite")
    loaded = load_dataset(
        request.source, documents=request.documents, encoding=request.encoding, include=request.include
    )
    relabelling = relabel(path, loaded.documents, cast("Form", request.to))
    relabelling.write(out)
    if request.as_json:
        unchanged = [
            {"query": each.query_id, "where": each.where, "text": each.text, "reason": each.reason}
            for each in relabelling.left
        ]
        print_json({"path": str(out), "moved": relabelling.moved, "left": unchanged})
        return
    for line in _summary(relabelling, out):
        sys.stdout.write(printable(line) + "\n")


def _queries_file(dataset: str) -> Path:
    path = user_path(dataset)
    if is_folder(path):
        path = path / QUERIES
    elif not is_there(path):
        path = find_corpus(path.name).queries_path
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise ConfigurationError(
            f"labels anchor: found {path}; expected labels in raglift's own JSON Lines, a .jsonl file: "
            "raglift labels convert makes one of any other format"
        )
    return path


def _summary(relabelling: Relabelling, out: Path) -> list[str]:
    unchanged = relabelling.left
    total = relabelling.moved + len(unchanged)
    lines = [f"{out}: {relabelling.moved:,} of {total:,} literal texts moved, {len(unchanged):,} left as they are"]
    lines += [
        f"  {quoted(each.query_id)} {each.where}: {quoted(each.text)}: {each.reason}" for each in unchanged[:_LISTED]
    ]
    if len(unchanged) > _LISTED:
        lines.append(f"  … and {len(unchanged) - _LISTED:,} more: raglift labels check lists what is wrong with each")
    return lines
