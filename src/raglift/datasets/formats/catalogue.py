"""The dataset formats: what each can hold, how it is recognized, read and written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from raglift.base.limits import is_folder, is_link, is_there, user_path
from raglift.base.replacing import NOTHING_WRITTEN, beside
from raglift.base.validation import Location, nearest
from raglift.datasets.formats import (
    autorag,
    beir,
    csv_table,
    hub,
    ir_names,
    llama_index,
    own,
    promptfoo,
    ratings,
    squad,
    trec,
)
from raglift.datasets.formats.capabilities import faults_of_fit, without
from raglift.datasets.formats.literal_texts import LANGFUSE, LANGSMITH, RAGAS
from raglift.datasets.formats.recognition import recognize_layout
from raglift.errors import ConfigurationError, DatasetError, Fault
from raglift.records.anchors import Resolution

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from raglift.datasets.documents import DocumentSource
    from raglift.datasets.formats.capabilities import Capabilities
    from raglift.datasets.formats.literal_texts import TextSets
    from raglift.records.dataset import Dataset
    from raglift.records.documents import Document
    from raglift.records.labels import Query


# The supported formats, their requirements, and how each is recognized by its layout.


FormatName = Literal[
    "jsonl",
    "beir",
    "trec",
    "squad",
    "csv",
    "autorag",
    "llama-index",
    "hf",
    "ragas",
    "langsmith",
    "langfuse",
    "promptfoo",
    "quepid",
    "rank-eval",
    "ir",
]
"""The name of a format, as `load_dataset` and `write_dataset` take it."""


class FormatOptions(TypedDict, total=False):
    """What some formats need besides their files."""

    encoding: str | None
    """Texts: the encoding of the documents that are not in UTF-8 and have no byte-order mark, as `cp1252`."""
    split: str
    """BEIR, the hub: which qrels to read; by default `test`."""
    subset: str
    """The hub: which of several corpora, as a language."""
    revision: str
    """The hub: a branch, tag or commit."""
    topics: str | os.PathLike[str]
    """TREC: the file of the topics, when the source is a qrels file."""
    columns: Mapping[str, str | Sequence[str]]
    """CSV: the file's column for `query`, `passage`, `id`, `doc`, …; by default the columns of these names. `ignore` is
    a column, or several, that is not read: any other is refused. LangSmith, Langfuse: the path of `query`, `passage` or
    `id`, as `outputs.evidence`; promptfoo: the variable for `query`; rank_eval: the path of `query`."""
    delimiter: str
    """CSV: the delimiter; by default detected from the first row."""
    evidence: Literal["answer", "context"]
    """SQuAD: whether the answer's words or all of its context are the evidence; by default the answer."""
    labels: Literal["spans", "texts", "ids"]
    """AutoRAG: what a chunk of the ground truth becomes; by default a span of the corpus's row."""


class Contents(NamedTuple):
    """What was read."""

    queries: tuple[Query, ...]
    """With their labels."""
    documents: tuple[Document, ...]
    """None where the labels are all there is."""
    resolution: Resolution = Resolution()
    """How anchors were resolved."""


@dataclass(frozen=True)
class Format:
    """One format: how it is read, and what it can hold."""

    name: FormatName
    """What `format=` calls it."""
    title: str
    """What people call it."""
    read: Callable[..., tuple[Any, ...]]
    """Called with a path, a list for the faults, and the options; returns what `Contents` holds, in its order."""
    write: Callable[[Dataset, Path], None] | None
    """Called with a dataset that fits, and a new file or an empty folder; None where the format is only read."""
    room: Callable[[Dataset], Capabilities]
    """The capabilities."""
    is_folder: bool
    """Whether it is written as a folder; else as a file."""
    options: tuple[str, ...] = ()
    """The options that reading takes; `documents` among them when the format does not bring its own."""
    prefix: str = ""
    """What a source begins with that is a name rather than a path, as `hf:`."""

    def title_of(self, source: str) -> str:
        """Return what a dataset is called that is read by such a name: the last part of it."""
        return PurePath(source.removeprefix(self.prefix).partition("?")[0]).name or self.title


_TEXT_SETS: Mapping[FormatName, TextSets] = {"ragas": RAGAS, "langsmith": LANGSMITH, "langfuse": LANGFUSE}
_ALL = (
    Format(
        "jsonl",
        "raglift's own",
        own.read_own,
        own.write_own,
        lambda _: own.CAPABILITIES,
        is_folder=True,
        options=("documents", "encoding"),
    ),
    Format(
        "beir",
        "BEIR",
        beir.read_beir,
        beir.write_beir,
        lambda _: beir.CAPABILITIES,
        is_folder=True,
        options=("documents", "split"),
    ),
    Format(
        "trec",
        "TREC",
        trec.read_trec,
        trec.write_trec,
        lambda _: trec.CAPABILITIES,
        is_folder=True,
        options=("documents", "topics"),
    ),
    Format(
        "squad",
        "SQuAD",
        squad.read_squad,
        squad.write_squad,
        lambda _: squad.CAPABILITIES,
        is_folder=False,
        options=("evidence",),
    ),
    Format(
        "csv",
        "CSV",
        csv_table.read_csv,
        csv_table.write_csv,
        lambda _: csv_table.CAPABILITIES,
        is_folder=False,
        options=("documents", "columns", "delimiter"),
    ),
    Format(
        "autorag",
        "AutoRAG",
        autorag.read_autorag,
        autorag.write_autorag,
        lambda _: autorag.CAPABILITIES,
        is_folder=True,
        options=("documents", "labels"),
    ),
    Format(
        "llama-index",
        "LlamaIndex",
        llama_index.read_llama_index,
        llama_index.write_llama_index,
        llama_index.room_of,
        is_folder=False,
        options=("documents",),
    ),
    Format(
        "hf",
        "the Hugging Face hub's layout",
        hub.read_hub,
        hub.write_hub,
        lambda _: hub.CAPABILITIES,
        is_folder=True,
        options=("documents", "split", "subset", "revision"),
        prefix="hf:",
    ),
    *(
        Format(
            name,
            tool.title,
            tool.read,
            tool.write,
            tool.room,
            is_folder=False,
            options=("documents", "columns"),
        )
        for name, tool in _TEXT_SETS.items()
    ),
    Format(
        "promptfoo",
        "promptfoo",
        promptfoo.read_promptfoo,
        promptfoo.write_promptfoo,
        lambda _: promptfoo.CAPABILITIES,
        is_folder=False,
        options=("documents", "columns"),
    ),
    Format(
        "quepid",
        "Quepid",
        ratings.read_quepid,
        ratings.write_quepid,
        lambda _: ratings.QUEPID,
        is_folder=False,
        options=("documents",),
    ),
    Format(
        "rank-eval",
        "rank_eval",
        ratings.read_rank_eval,
        ratings.write_rank_eval,
        lambda _: ratings.RANK_EVAL,
        is_folder=False,
        options=("documents", "columns"),
    ),
    Format(
        "ir",
        "ir_datasets",
        ir_names.read_ir_dataset,
        None,
        lambda _: beir.CAPABILITIES,
        is_folder=True,
        options=("documents",),
        prefix="ir:",
    ),
)
FORMATS: Mapping[str, Format] = {known.name: known for known in _ALL}
"""The formats, by name."""
_OPTIONS = ("documents", *FormatOptions.__annotations__)


def find_format(name: str) -> Format:
    """Return a format by its name.

    Raises:
        ConfigurationError: there is none of that name.
    """
    if name not in FORMATS:
        raise ConfigurationError(f"format: found {name!r}; expected {nearest(str(name), FORMATS)}")
    return FORMATS[name]


def named_format(source: str | os.PathLike[str]) -> Format | None:
    """Return the format that a source names by how it begins, as `hf:mteb/scifact`; None for a path.

    Args:
        source: a path or a name; where there is a file of that name, it is a path.
    """
    text = os.fspath(source)
    found = next((known for known in _ALL if known.prefix and text.startswith(known.prefix)), None)
    return None if found is None or is_there(user_path(source)) else found


def read_format(name: str, source: Path | str, documents: DocumentSource, options: FormatOptions) -> Contents:
    """Return the queries and documents of a file or folder in one of the formats.

    Args:
        name: the format's name.
        source: the file or folder; or a name with its prefix, which no path could hold as it is.
        documents: the source texts; None for those that the source brings.
        options: what the format needs besides.

    Raises:
        ConfigurationError: no such format, or an option that it does not take.
        DatasetError: the source is not in the format; every fault is listed.
    """
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


def recognize_format(source: Path, options: FormatOptions) -> FormatName | None:
    """Return the name of the format that a source has by how it begins or is laid out; None for none that is known.

    Args:
        source: the file or folder, or a name as `hf:mteb/scifact`.
        options: what was asked for: topics belong to TREC, columns to CSV.

    Raises:
        ConfigurationError: it has the layout of several.
        DatasetError: a JSON file that is damaged, or of none of the known shapes.
    """
    named = named_format(source)
    return named.name if named is not None else recognize_layout(source, options)


# `write_dataset`: write a dataset in any of the formats, atomically.


def write_dataset(
    dataset: Dataset,
    target: str | os.PathLike[str],
    *,
    format: FormatName = "jsonl",  # noqa: A002 — as in load_dataset
    drop: Collection[str] = (),
) -> Path:
    """Write a dataset in one of the formats that `load_dataset` reads, so that an equal dataset is read back.

    What a format cannot hold is an error, and nothing is written: alternatives are not supported by BEIR, nor spans in
    TREC. CSV and LlamaIndex's LabelledRagDataset do not hold the documents.

    Args:
        dataset: the dataset.
        target: where to; a folder for `jsonl`, `beir`, `trec` and `autorag`, else a file. It must not exist yet, or be
            an empty folder.
        format: the format's name; by default raglift's own folder.
        drop: what may be left out: any of `annotators` (which model labels and questions are from), `grades`, `ids`,
            `judged_irrelevant`, `metadata`, `places` (spans become literal texts) and `tags`.

    Returns:
        The target.

    Raises:
        DatasetError: the dataset does not fit the format, or the target is taken or cannot be written; every fault is
            listed.
        ConfigurationError: no such format, or nothing that can be dropped.
    """
    chosen = find_format(format)
    if chosen.write is None:
        known = ", ".join(repr(each.name) for each in _ALL if each.write is not None)
        raise ConfigurationError(f"write_dataset: found format {format!r}, which is only read; expected one of {known}")
    path = user_path(target)
    written = without(dataset, drop)
    faults = faults_of_fit(written, chosen.room(written)) or _faults_of_target(path, as_folder=chosen.is_folder)
    if faults:
        raise DatasetError(f"{path} (as {chosen.title})", faults, NOTHING_WRITTEN)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside(path) as temporary:
            made = temporary / "written"
            if chosen.is_folder:
                made.mkdir()
            chosen.write(written, made)
            if is_folder(path):
                path.rmdir()  # Windows puts no folder in an empty one's place
            made.replace(path)
    except UnicodeEncodeError as error:
        fault = Fault(str(path), f"half a surrogate pair ({error.object[error.start]!a})", "text that UTF-8 can write")
        raise DatasetError(str(path), [fault], NOTHING_WRITTEN) from error
    except (OSError, DatasetError) as error:
        # A writer of a part names where it wrote, which is gone: the location is what the user knows
        cause = error.__cause__ if isinstance(error, DatasetError) else error
        if not isinstance(cause, OSError):
            raise
        fault = Fault(str(path), f"a place that cannot be written ({cause.strerror or cause})", "a place to write to")
        raise DatasetError(str(path), [fault], NOTHING_WRITTEN) from error
    return path


def _faults_of_target(path: Path, *, as_folder: bool) -> list[Fault]:
    taken = any(path.iterdir()) or not as_folder if is_folder(path) else is_there(path) or is_link(path)
    kind = "folder" if as_folder else "file"
    return [Fault(str(path), "something there already", f"the path of a new {kind}")] if taken else []
