"""Which format a file or folder has, by its layout."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from raglift.base.limits import is_file, is_folder
from raglift.base.strict_files import parse_list_or_object, parse_object, read_text
from raglift.base.validation import Location, shown
from raglift.datasets.documents import LINES_SUFFIXES
from raglift.datasets.formats import autorag, beir, llama_index, own, trec
from raglift.errors import ConfigurationError, DatasetError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from raglift.datasets.formats.catalogue import FormatName, FormatOptions
    from raglift.errors import Fault


_HEAD = 1_000_000
_KNOWN = (
    "SQuAD (a list data), LlamaIndex's (a list examples; or queries, corpus and relevant_docs), records of ragas, "
    "LangSmith or Langfuse, promptfoo's tests or results, Quepid's ratings (a list queries), or a rank_eval request"
)


def recognize_layout(source: Path, options: FormatOptions) -> FormatName | None:
    """Return the name of the format that a file or folder has by its layout; None when it has none that is known.

    Args:
        source: the file or folder.
        options: what was asked for: topics belong to TREC, columns to CSV.

    Raises:
        ConfigurationError: it has the layout of several.
        DatasetError: a JSON file that is damaged, or of none of the known shapes.
    """
    if is_folder(source):
        return _of_folder(source)
    if not is_file(source):
        return None
    if options.get("topics") is not None:
        return "trec"
    suffix = source.suffix.lower()
    if suffix in LINES_SUFFIXES:
        return _of_lines(source)
    if suffix == ".json":
        return _of_json(source)
    if suffix == ".csv":
        return ("csv" if options.get("columns") is not None else _of_table(source)) or "csv"
    if suffix in (".yaml", ".yml"):
        return "promptfoo"
    if options.get("columns") is not None:
        return "csv"
    return "autorag" if suffix == ".parquet" else None


def _of_folder(folder: Path) -> FormatName | None:
    found: list[FormatName] = []
    if is_file(folder / beir.CORPUS) and is_file(folder / beir.QUERIES) and is_folder(folder / beir.QRELS):
        # MTEB's sets have the tables of BEIR, but not as tables with tabs
        found.append("hf" if _has(folder / beir.QRELS, ".jsonl", ".parquet") else "beir")
    elif _has(folder / "corpus", ".parquet") and _has(folder / "queries", ".parquet"):
        found.append("hf")
    elif is_file(folder / own.QUERIES):
        found.append("jsonl")
    if is_file(folder / autorag.QA):
        found.append("autorag")
    if is_file(folder / trec.QRELS) and is_file(folder / trec.TOPICS):
        found.append("trec")
    if len(found) > 1:
        names = ", ".join(f"format={name!r}" for name in found)
        raise ConfigurationError(f"load_dataset: found the files of {len(found)} formats in {folder}; expected {names}")
    return found[0] if found else None


def _has(folder: Path, *suffixes: str) -> bool:
    """Whether a folder holds a file that ends so."""
    return is_folder(folder) and any(path.suffix.lower() in suffixes for path in folder.iterdir())


def _of_fields(names: Collection[str]) -> FormatName | None:
    """Return the tool whose records have these fields."""
    if "user_input" in names:
        return "ragas"
    if "testCase" in names:
        return "promptfoo"
    if "inputs" in names and "outputs" in names:
        return "langsmith"
    return "langfuse" if "input" in names and {"expectedOutput", "expected_output"} & set(names) else None


def _head(path: Path) -> str:
    """Return the beginning of a file; nothing where it cannot be read, which its reader reports."""
    try:
        with path.open("rb") as file:
            return file.read(_HEAD).decode("utf-8-sig", errors="replace")
    except OSError:
        return ""


def _of_lines(path: Path) -> FormatName:
    line = next((line for line in _head(path).splitlines() if line.strip()), "")
    entry = parse_object(line, Location(path.name, []))
    return _of_fields(entry or {}) or "jsonl"


def _of_table(path: Path) -> FormatName | None:
    try:
        names = [name.strip() for name in next(csv.reader(io.StringIO(_head(path), newline="")), [])]
    except csv.Error:
        return None
    return "quepid" if {"query", "docid", "rating"} <= set(names) else _of_fields(names)


def _of_json(path: Path) -> FormatName:
    faults: list[Fault] = []
    location = Location(path.name, faults)
    text = read_text(path, location)
    value = None if text is None else parse_list_or_object(text, location)
    if value is not None:
        found = _of_list(value) if isinstance(value, list) else _of_object(value)
        if found is not None:
            return found
        location.fault(shown(value), _KNOWN)
    raise DatasetError(str(path), faults)


def _of_list(value: list[Any]) -> FormatName | None:
    first = value[0] if value and isinstance(value[0], dict) else {}
    return _of_fields(first) or ("promptfoo" if "vars" in first else None)


def _of_object(entry: dict[str, Any]) -> FormatName | None:
    if isinstance(entry.get("examples"), list) or all(name in entry for name in llama_index.PAIRS):
        return "llama-index"
    if isinstance(entry.get("data"), list):
        return "langfuse" if _of_list(entry["data"]) == "langfuse" else "squad"
    if isinstance(entry.get("requests"), list):
        return "rank-eval"
    if isinstance(entry.get("queries"), list):
        return "quepid"
    results = entry.get("results")
    is_promptfoo = isinstance(entry.get("tests"), list) or (isinstance(results, dict) and "results" in results)
    return "promptfoo" if is_promptfoo else None
