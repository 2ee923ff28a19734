"""The dataset formats: how each is read, by its name or by what a file or folder looks like."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from raglift.datasets.documents import LINES_SUFFIXES, DocumentSource, read_documents
from raglift.datasets.formats import autorag, beir, hub, llama_index, own, trec
from raglift.datasets.formats.mapping import OWN, RowMapping, customized, ignored, read_labels
from raglift.datasets.formats.presets import PRESETS, PresetName, recognize_preset
from raglift.datasets.formats.rows import SUFFIXES, TABLE_SUFFIXES, read_rows, suffix_of
from raglift.errors import ConfigurationError, DatasetError, Fault
from raglift.types.anchors import Resolution
from raglift.utilities.limits import is_file, is_folder, is_there, user_path
from raglift.utilities.strict_files import parse_list_or_object, read_text
from raglift.utilities.validation import Location, nearest, shown

if TYPE_CHECKING:
    from raglift.types.documents import Document
    from raglift.types.labels import Query


FormatName = Literal[
    "jsonl",
    "beir",
    "trec",
    "autorag",
    "llama-index",
    "hf",
    "ir",
    "rows",
    PresetName,
]
"""The name of a format, as `load_dataset` takes it."""


class FormatOptions(TypedDict, total=False):
    """What some formats need besides their files."""

    encoding: str | None
    """Texts, rows: the encoding of documents, and of CSV, not in UTF-8 and without a byte-order mark, `cp1252`."""
    split: str
    """BEIR, the hub: which qrels to read; by default `test`."""
    subset: str
    """The hub: which of several corpora, for example a language."""
    revision: str
    """The hub: a branch, tag or commit."""
    topics: str | os.PathLike[str]
    """TREC: the file of the topics, if the source is a qrels file."""
    columns: Mapping[str, str | Sequence[str]]
    """Rows: the path of `question`, `passage`, `id`, `doc`, …, or several of which the first that a row has counts:
    `{"question": "inputs.question"}`. `ignore` names what is not read: any other column is refused."""
    decode: Mapping[str, str]
    """Rows: how the cells of a field hold several values: `json`, `literal` (as Python prints a list), or what stands
    between the values: `{"passage": "|"}`."""
    where: str | Sequence[str]
    """Rows: which of them count: `split=test`, `status!=ARCHIVED`."""
    root: str
    """Rows: where they are: the field of a JSON object that has the list, `data.items`, or the sheet of a workbook."""
    delimiter: str
    """Rows: the delimiter of a CSV file; by default the one that divides the first row most."""


class Contents(NamedTuple):
    """What was read."""

    queries: tuple[Query, ...]
    documents: tuple[Document, ...]
    resolution: Resolution = Resolution()


@dataclass(frozen=True)
class Format:
    """One format, and how it is read."""

    name: FormatName
    """What `format=` calls it."""
    title: str
    """What people call it."""
    read: Callable[..., tuple[Any, ...]]
    """Called with a path, a list for the faults, and the options; returns what `Contents` holds, in its order."""
    options: tuple[str, ...] = ()
    """The options that reading takes; `documents` among them unless the format brings its own."""
    prefix: str = ""
    """What a source begins with that is a name and not a path, `hf:`."""

    def title_of(self, source: str) -> str:
        """Return what a dataset is called that is read by such a name: the last part of it."""
        return PurePath(source.removeprefix(self.prefix).partition("?")[0]).name or self.title


_OF_ROWS = ("columns", "decode", "where", "root", "delimiter", "encoding")


def _read_rows(
    path: Path,
    faults: list[Fault],
    *,
    preset: RowMapping = OWN,
    documents: DocumentSource = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    decode: Mapping[str, str] | None = None,
    where: str | Sequence[str] = (),
    root: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries and documents in the rows of a file.

    Raises:
        ConfigurationError: an option that makes no sense.
    """
    mapping = customized(preset, columns, decode, where, root)
    location = Location(path.name, faults)
    rows = read_rows(path, location, root=mapping.root, delimiter=delimiter, encoding=encoding)
    return read_labels(rows, mapping, location, read_documents(documents), ignore=ignored(columns))


_ALL = (
    Format("jsonl", "raglift's own", own.read_own, ("documents", "encoding")),
    Format("beir", "BEIR", hub.read_hub, ("documents", "split")),
    Format("trec", "TREC", trec.read_trec, ("documents", "topics")),
    Format("autorag", "AutoRAG", autorag.read_autorag, ("documents",)),
    Format("llama-index", "LlamaIndex", llama_index.read_llama_index, ("documents",)),
    Format(
        "hf",
        "the Hugging Face hub's layout",
        hub.read_hub,
        ("documents", "split", "subset", "revision", "columns", "decode", "where"),
        hub.PREFIX,
    ),
    Format("ir", "ir_datasets", trec.read_ir_dataset, ("documents",), trec.PREFIX),
    Format("rows", "rows", _read_rows, ("documents", *_OF_ROWS)),
    *(
        Format(
            name,
            preset.title,
            partial(_read_rows, preset=preset),
            _OF_ROWS if "document" in preset.paths else ("documents", *_OF_ROWS),
        )
        for name, preset in PRESETS.items()
    ),
)
FORMATS: Mapping[str, Format] = {known.name: known for known in _ALL}
"""The formats, by name."""
_OPTIONS = ("documents", *FormatOptions.__annotations__)


def find_format(name: str) -> Format:
    """Return a format by its name."""
    if name not in FORMATS:
        raise ConfigurationError(f"format: found {name!r}; expected {nearest(str(name), FORMATS)}")
    return FORMATS[name]


def named_format(source: str | os.PathLike[str]) -> Format | None:
    """Return the format that a source names by how it begins, `hf:mteb/scifact`; None for a path."""
    text = os.fspath(source)
    found = next((known for known in _ALL if known.prefix and text.startswith(known.prefix)), None)
    return None if found is None or is_there(user_path(source)) else found


def read_format(name: str, source: Path | str, documents: DocumentSource, options: FormatOptions) -> Contents:
    """Return the queries and documents of a file or folder in one of the formats."""
    chosen = find_format(name)
    given: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    if documents is not None:
        given["documents"] = documents
    for option in given:
        if option not in _OPTIONS:
            raise ConfigurationError(f"load_dataset: found the option {option!r}; expected {nearest(option, _OPTIONS)}")
        if option not in chosen.options:
            takes = ", ".join(chosen.options) or "no options"
            own_documents = ": it brings its own documents" if option == "documents" else ""
            raise ConfigurationError(
                f"load_dataset: found {option}= with format {name!r}{own_documents}; expected {takes}"
            )
    faults: list[Fault] = []
    if not chosen.prefix and not is_there(user_path(source)):
        raise DatasetError(str(source), [Fault(str(source), "no such file or folder", f"a dataset in {chosen.title}")])
    contents = Contents(*chosen.read(source, faults, **given))
    if not contents.queries and not faults:
        Location(PurePath(source).name, faults).fault("no queries", "at least one")
    if faults:
        raise DatasetError(str(source), faults, read_as=chosen.title)
    return contents


# Recognition by the layout of a folder, or the first fields of a file.


_KNOWN = "a list of records of a tool that raglift knows, or format='rows' with columns="


def recognize_format(source: Path, options: FormatOptions) -> FormatName | None:
    """Return the name of the format that a source has by how it begins or is laid out; None for none that is known.

    Args:
        source: the file or folder, or a name, `hf:mteb/scifact`.
        options: what was asked for: topics belong to TREC, columns to rows.

    Raises:
        ConfigurationError: it has the layout of several.
        DatasetError: a JSON file that is damaged, or of none of the known shapes.
    """
    named = named_format(source)
    if named is not None:
        return named.name
    if is_folder(source):
        return _of_folder(source)
    if not is_file(source):
        return None
    if options.get("topics") is not None:
        return "trec"
    suffix = suffix_of(source.name)
    has_columns = options.get("columns") is not None or options.get("root") is not None
    if suffix == ".json" and not has_columns:
        return _of_json(source)
    if suffix in TABLE_SUFFIXES or suffix == ".parquet" or (suffix in SUFFIXES and has_columns):
        return _of_rows(source, options)
    if suffix in LINES_SUFFIXES:
        found = _of_rows(source, options)
        return "jsonl" if found == "rows" else found
    return "rows" if has_columns else None


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


def _of_rows(path: Path, options: FormatOptions) -> FormatName:
    """Return the preset that the first row of a file has the fields of; else `rows`."""
    ignored_faults = Location(path.name, [])
    given = {name: options.get(name) for name in ("root", "delimiter", "encoding")}
    rows = read_rows(path, ignored_faults, **given)  # type: ignore[arg-type]
    fields = next((set(row.values) for row in rows), set())
    if "retrieval_gt" in fields and path.suffix.lower() == ".parquet":
        return "autorag"
    return recognize_preset(fields) or "rows"


def _of_json(path: Path) -> FormatName:
    faults: list[Fault] = []
    location = Location(path.name, faults)
    text = read_text(path, location)
    value = None if text is None else parse_list_or_object(text, location)
    if isinstance(value, dict):
        if isinstance(value.get("examples"), list) or all(name in value for name in llama_index.PAIRS):
            return "llama-index"
        value = value["data"] if isinstance(value.get("data"), list) else value
        if isinstance(value, list) and (not value or not isinstance(value[0], dict) or "paragraphs" in value[0]):
            return "squad"
    first = value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else {}
    found: FormatName | None = recognize_preset(set(first)) or ("rows" if {"question", "query"} & set(first) else None)
    if found is None:
        if value is not None:
            location.fault(shown(value), _KNOWN)
        raise DatasetError(str(path), faults)
    return found
