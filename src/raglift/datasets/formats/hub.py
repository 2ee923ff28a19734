"""Folders of BEIR and MTEB, and datasets of the Hugging Face hub: three tables, or one of rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import httpx

from raglift.datasets.documents import DocumentSource, documents_of, read_documents
from raglift.datasets.formats.beir import judged_queries, read_judgments
from raglift.datasets.formats.mapping import OWN, customized, ignored, read_labels
from raglift.datasets.formats.presets import PRESETS, recognize_preset
from raglift.datasets.formats.rows import SUFFIXES, Row, read_rows, suffix_of
from raglift.errors import ConfigurationError, Fault, MissingDependency
from raglift.utilities.limits import allowed, is_file, is_folder, most_bytes, resolved, user_path
from raglift.utilities.validation import Location, nearest, quoted

if TYPE_CHECKING:
    from raglift.types.documents import Document
    from raglift.types.labels import Query

    Splits = Mapping[str, Sequence[str]]
    """The files of a table by split."""


PREFIX = "hf:"
"""What the name of a dataset on the hub, or of a folder laid out as one, begins with."""
OPTIONS = ("split", "subset", "revision")
"""What can stand after a question mark, `hf:mteb/scifact?split=test`."""
TABLES = ("corpus", "queries", "qrels")
"""The tables that a dataset for retrieval consists of."""
_SHARD = re.compile(r"-\d{5}-of-\d{5}(-\w+)?$")
_QRELS_FOLDERS = ("qrels", "data", "default")
_OF_QRELS = "-qrels"
"""How the name of a dataset ends that holds only the judgments, BeIR/scifact-qrels."""


class _NotThere(Exception):
    """There is no such folder, and the hub does not give the dataset: found, and expected."""


def read_hub(
    source: Path | str,
    faults: list[Fault],
    *,
    documents: DocumentSource = None,
    split: str | None = None,
    subset: str | None = None,
    revision: str | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    decode: Mapping[str, str] | None = None,
    where: str | Sequence[str] = (),
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries and documents of a BEIR folder, of a dataset on the Hugging Face hub, or a folder like one.

    Of the tables corpus, queries and qrels, a document with a score of 1 or more is a fact, and its score the grade; a
    score of 0 or less is judged irrelevant. A query that is judged only in another split is left out; one that is
    judged in none is unlabelled. A dataset with no such tables is read as rows, with `columns` or as a preset that fits
    its fields. No code of a dataset is ever run.

    Raises:
        ConfigurationError: the source has an option that there is none of.
        MissingDependency: the package `huggingface_hub` is not installed.
    """
    name, given = _parsed_name(str(source))
    split, subset = split or given.get("split"), subset or given.get("subset")
    location = Location(name, faults)
    try:
        files = _find(name, revision or given.get("revision"))
        tables = _tables(files, subset)
        needed = TABLES if documents is None else TABLES[1:]
        if set(needed) <= set(tables) and columns is None:
            return _read_tables(tables, split, documents, location)
        rows = _chosen_rows(files, subset, split, location) if columns is not None or not tables else None
        if rows is not None and (columns is not None or recognize_preset(_fields(rows))):
            preset = recognize_preset(_fields(rows))
            mapping = customized(OWN if preset is None else PRESETS[preset], columns, decode, where, None)
            read = (row for each in rows for row in _rows(*each, faults))
            return read_labels(read, mapping, location, read_documents(documents), ignore=ignored(columns))
        if not faults:
            _note_missing(files, tables, subset, location)
    except _NotThere as error:
        location.fault(*error.args)
    except (OSError, httpx.HTTPError) as error:  # the hub's own errors are of these, and what breaks off
        said = " ".join(str(error).split())[:200] or type(error).__name__
        location.fault(f"a file that cannot be had ({said})", "files that can be read, or a connection to the hub")
    return (), ()


def _parsed_name(source: str) -> tuple[str, dict[str, str]]:
    """Return what stands after `hf:`, and the options after its question mark."""
    name = source.removeprefix(PREFIX)
    if "?" not in name or is_folder(user_path(name)):
        return name, {}
    name, _, query = name.partition("?")
    options: dict[str, str] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key not in OPTIONS:
            raise ConfigurationError(f"{source}: found the option {key!r}; expected {nearest(key, OPTIONS)}")
        if not value:
            raise ConfigurationError(f"{source}: found {key} without a value; expected one, as {key}=test")
        options[key] = value
    return name, options


# The files of a dataset: in a folder, or on the hub.


@dataclass(frozen=True)
class Files:
    """The files of a dataset: in a folder, or on the hub at one commit."""

    name: str
    """The id, or the folder as it was given."""
    names: tuple[str, ...]
    folder: Path | None = None
    """None on the hub."""
    commit: str = ""

    def fetch(self, name: str, location: Location) -> Path | None:
        """Return where a file is on this machine, downloaded if need be; None, and a fault, if it is too large."""
        if self.folder is not None:
            return self.folder / name
        from huggingface_hub import HfApi, hf_hub_download

        found = HfApi().get_paths_info(self.name, [name], repo_type="dataset", revision=self.commit)
        size = max((getattr(each, "size", 0) or 0 for each in found), default=0)
        if size > most_bytes():
            location.fault(f"a file of {size:,} bytes", allowed())
            return None
        return Path(hf_hub_download(self.name, name, repo_type="dataset", revision=self.commit))


def _find(name: str, revision: str | None) -> Files:
    """Return the files of a folder or, if there is no such folder, of a dataset on the hub.

    Raises:
        ConfigurationError: a revision of a folder.
        MissingDependency: the package `huggingface_hub` is not installed.
        _NotThere: there is no such dataset, it needs permission, or it is neither reached nor on this machine.
    """
    folder = user_path(name)
    if name and is_folder(folder):
        if revision is not None:
            raise ConfigurationError(f"{PREFIX}{name}: found revision={revision!r} with a folder; expected none")
        return _in_folder(name, folder)
    return _on_hub(name, revision)


def _in_folder(name: str, folder: Path) -> Files:
    """Return the files of a folder, without links that lead out of it."""
    outermost = resolved(folder)
    if outermost.parent.name == "snapshots":  # of the hub's cache, in which files are links to `blobs`
        outermost = outermost.parents[1]
    paths = (path for path in folder.rglob("*") if is_file(path) and resolved(path).is_relative_to(outermost))
    return Files(name, tuple(sorted(path.relative_to(folder).as_posix() for path in paths)), folder)


def _on_hub(name: str, revision: str | None) -> Files:
    try:
        from huggingface_hub import HfApi, errors, hf_hub_download, snapshot_download
    except ImportError:
        raise MissingDependency("huggingface_hub", "datasets", f"reading {PREFIX}{name}") from None
    try:
        info = HfApi().dataset_info(name, revision=revision)
        names = tuple(sorted(each.rfilename for each in info.siblings or ()))
        for small in {"README.md", ".gitattributes"} & set(names):
            # By the branch, so that the cache knows what commit it stood for when the hub cannot be reached
            hf_hub_download(name, small, repo_type="dataset", revision=revision)
    except errors.HFValidationError:
        raise _NotThere(
            f"{quoted(name)}, which is no folder and no id", "a folder, or the id of a dataset, as mteb/scifact"
        ) from None
    except (ConnectionError, httpx.TransportError, errors.HfHubHTTPError) as error:
        try:
            cached = snapshot_download(name, repo_type="dataset", revision=revision, local_files_only=True)
        except errors.LocalEntryNotFoundError:
            said = " ".join(str(error).split())[:120] or type(error).__name__
            raise _NotThere(
                f"no folder {name} here, and a hub that does not give this dataset ({said})",
                "a folder, or the id of a dataset, as mteb/scifact; for a private or gated one set HF_TOKEN",
            ) from None
        return _in_folder(name, Path(cached))
    return Files(name, names, None, str(info.sha))


# The tables of a dataset, by the names of its files.


@dataclass(frozen=True)
class Table:
    """The files of a table by split, and the dataset that they are of."""

    files: Files
    splits: Splits


def _tables(files: Files, subset: str | None) -> dict[str, Table]:
    """Return the files of the corpus, the queries and the qrels, as far as they are there.

    Qrels that are not there are those of the dataset of the same name and `-qrels`, as the ones of BEIR are.
    """
    tables = {table: Table(files, _splits(files.names, table, subset)) for table in TABLES}
    found = {table: each for table, each in tables.items() if each.splits}
    if set(TABLES) - set(found) == {"qrels"}:
        apart = _qrels_apart(files, subset)
        found |= {} if apart is None else {"qrels": apart}
    return found


def _splits(names: Sequence[str], table: str, subset: str | None) -> Splits:
    """Return the files of a table by split: those of the first folder that has any."""
    folders: tuple[str, ...] = _QRELS_FOLDERS if table == "qrels" else (table,)
    if subset is not None:
        forms = ("{subset}-{folder}", "{folder}-{subset}", "{subset}/{folder}", "{folder}/{subset}")
        of_subset = [form.format(subset=subset, folder=folder) for folder in folders for form in forms]
        folders = (*of_subset, subset) if table == "qrels" else tuple(of_subset)
    return next((found for folder in folders if (found := _in(folder, names))), {})


def _in(folder: str, names: Sequence[str]) -> Splits:
    """Return the files in a folder, or of its name, by split."""
    splits: dict[str, list[str]] = {}
    for name in names:
        stem = _stem(name)
        if stem is not None and (stem == folder or (stem.startswith(f"{folder}/") if folder else "/" not in stem)):
            splits.setdefault(PurePosixPath(stem).name, []).append(name)
    return splits


def _stem(name: str) -> str | None:
    """Return the path of a file without its ending and the number of its part; None for one that is not read."""
    suffix = next((each for end in SUFFIXES for each in (end, f"{end}.gz") if name.lower().endswith(each)), None)
    return None if suffix is None or name.startswith(".") else _SHARD.sub("", name[: -len(suffix)])


def _qrels_apart(files: Files, subset: str | None) -> Table | None:
    """Return the qrels of the dataset of this name and `-qrels`, if there is one."""
    name = files.name.rstrip("/\\") + _OF_QRELS
    if is_folder(user_path(files.name)) and not is_folder(user_path(name)):
        return None  # for a folder on this machine the hub is not asked
    try:
        apart = _find(name, None)
    except _NotThere:
        return None
    splits = _splits(apart.names, "qrels", subset) or _in("", apart.names)
    return Table(apart, splits) if splits else None


def _note_missing(files: Files, tables: Mapping[str, Table], subset: str | None, location: Location) -> None:
    """Note which tables are not there."""
    missing = [table for table in TABLES if table not in tables]
    folders = {PurePosixPath(name).parts[0] for name in files.names}
    subsets = sorted(
        {match[1] or match[2] for name in folders if (match := re.fullmatch("(.+)-corpus|corpus-(.+)", name))}
    )
    of_subset = "" if subset is None else f" of the subset {quoted(subset)}"
    listed = ", ".join(map(quoted, files.names[:8]))
    found = f"no {' and no '.join(missing)}{of_subset} among {len(files.names):,} files: {listed}"
    expected = f"subset= one of {', '.join(subsets)}" if subsets else "corpus, queries and qrels, or columns= of rows"
    location.fault(found, expected)


def _choose(splits: Splits, wanted: str | None, location: Location) -> str | None:
    """Return the split that is wanted, else `test` or the only one; None, and a fault, if there is none."""
    if wanted in splits:
        return wanted
    if wanted is None and ("test" in splits or len(splits) == 1):
        return "test" if "test" in splits else next(iter(splits))
    found = "several splits" if wanted is None else f"no split {quoted(wanted)}"
    location.fault(found, f"split= one of {', '.join(map(quoted, splits))}")
    return None


def _chosen_rows(
    files: Files, subset: str | None, split: str | None, location: Location
) -> list[tuple[Files, str]] | None:
    """Return the files of a dataset that is one table; None, and a fault, without such a split."""
    folders = sorted({name.rpartition("/")[0] for name in files.names if _stem(name)})
    folder = subset or next((each for each in ("", "data", "default") if each in folders), next(iter(folders), ""))
    splits = _in(folder, files.names)
    chosen = _choose(splits, split, location) if splits else None
    return None if chosen is None else [(files, name) for name in splits[chosen]]


def _fields(rows: Sequence[tuple[Files, str]]) -> set[str]:
    """Return the fields of the first row."""
    return next((set(row.values) for each in rows for row in _rows(*each, [])), set())


def _rows(files: Files, name: str, faults: list[Fault]) -> Iterator[Row]:
    location = Location(name, faults)
    path = files.fetch(name, location)
    if path is not None:
        yield from read_rows(path, location, name=name, quotes=suffix_of(name) != ".tsv")


# Reading the three tables.


def _read_tables(
    tables: Mapping[str, Table], split: str | None, documents: DocumentSource, location: Location
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    qrels = tables["qrels"].splits
    chosen = _choose(qrels, split, location)
    if chosen is None:
        return (), ()

    def rows_of(table: str, split: str, faults: list[Fault] = location.faults) -> Iterator[Row]:
        splits = tables[table].splits
        # The corpus and the queries may be whole, whatever their files are called
        for name in splits.get(split) or [name for names in splits.values() for name in names]:
            yield from _rows(tables[table].files, name, faults)

    judged = read_judgments(rows_of("qrels", chosen))
    others = (row for other in qrels if other != chosen for row in rows_of("qrels", other, []))
    corpus = ((row.location, row.values) for row in rows_of("corpus", chosen)) if documents is None else ()
    found = documents_of(corpus) if documents is None else read_documents(documents)
    if not found and not location.faults:
        location.fault("no documents", "at least one in the corpus")
    queries = rows_of("queries", chosen)
    return judged_queries(queries, judged, others, found, topics_name="queries", documents_name="corpus"), found
