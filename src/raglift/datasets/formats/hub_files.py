"""The files of a dataset on the Hugging Face hub, or of a folder laid out as one, and which tables they hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import yaml

from raglift.base.limits import allowed, is_file, is_folder, most_bytes, resolved, user_path
from raglift.base.strict_files import read_text
from raglift.base.validation import Location, nearest, quoted
from raglift.errors import ConfigurationError, MissingDependency

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


PREFIX = "hf:"
"""What the name of a dataset on the hub, or of a folder laid out as one, begins with."""
OPTIONS = ("split", "subset", "revision")
"""What can stand after a question mark, as in `hf:mteb/scifact?split=test`."""
EXTRA = "datasets"
TABLES = ("corpus", "queries", "qrels")
"""The tables that a dataset consists of."""
SUFFIXES = (".jsonl", ".ndjson", ".json", ".parquet", ".tsv", ".jsonl.gz", ".ndjson.gz", ".tsv.gz")
"""How the names of the files that are read end."""

_CARD = "README.md"
_MOST_CARD = 2_000_000
_FRONT_MATTER = re.compile(r"\s*---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)", re.DOTALL)
_ID = re.compile(r"[\w][\w.-]*(/[\w][\w.-]*)?")
_SHARD = re.compile(r"-\d{5}-of-\d{5}(-\w+)?$")
_QRELS_FOLDERS = ("qrels", "data", "default")
_Splits = Mapping[str, "Sequence[str]"]


def parse_hub_name(source: str) -> tuple[str, dict[str, str]]:
    """Return what stands after `hf:`, and the options after its question mark.

    Args:
        source: as `hf:mteb/scifact?split=test`; a folder may have a question mark in its name.

    Raises:
        ConfigurationError: an option that there is none of, or one without a value.
    """
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


class HubUnavailable(Exception):
    """The hub does not give what was asked for: found, and expected."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found, expected)
        self.found = found
        self.expected = expected


@dataclass(frozen=True)
class Tree:
    """The files of a dataset: in a folder, or on the hub at one commit."""

    name: str
    """The id, or the folder as it was given."""
    folder: Path | None = None
    """None on the hub."""
    commit: str = ""
    """Of the hub."""

    def names(self) -> list[str]:
        """Return the paths of all files, with forward slashes, in order."""
        if self.folder is not None:
            root = self.folder
            files = (
                path for path in root.rglob("*") if is_file(path) and resolved(path).is_relative_to(self._outermost)
            )
            return sorted(path.relative_to(root).as_posix() for path in files)
        from huggingface_hub import HfApi

        return sorted(HfApi().list_repo_files(self.name, repo_type="dataset", revision=self.commit))

    @property
    def base(self) -> str:
        """The folder, or the address of the commit, as `datasets` calls it."""
        return str(self.folder) if self.folder is not None else f"hf://datasets/{self.name}@{self.commit}"

    @property
    def _outermost(self) -> Path:
        """Where links may lead: in the hub's cache, files are links to `blobs` beside `snapshots`."""
        root = resolved(self.folder or Path())
        return root.parents[1] if root.parent.name == "snapshots" and is_folder(root.parents[1] / "blobs") else root

    def fetch(self, name: str, location: Location) -> Path | None:
        """Return where a file is on this machine, downloading it if need be; None, and a fault, if it is too large."""
        if self.folder is not None:
            path = self.folder / name
            if not resolved(path).is_relative_to(self._outermost):
                location.fault("a link out of the folder", "a file in the folder")
                return None
            return path
        from huggingface_hub import HfApi, hf_hub_download

        found = HfApi().get_paths_info(self.name, [name], repo_type="dataset", revision=self.commit)
        size = max((getattr(each, "size", 0) or 0 for each in found), default=0)
        if size > most_bytes():
            location.fault(f"a file of {size:,} bytes", allowed())
            return None
        return Path(hf_hub_download(self.name, name, repo_type="dataset", revision=self.commit))

    def configurations(self, names: Collection[str], location: Location) -> dict[str, Mapping[str, Any]]:
        """Return the configurations that the dataset's card lists, by name; none without a card."""
        if _CARD not in names:
            return {}
        path = self.fetch(_CARD, location)
        text = None if path is None else read_text(path, Location(_CARD, location.faults))
        head = None if text is None else _FRONT_MATTER.match(text[:_MOST_CARD])
        try:
            card = None if head is None else yaml.safe_load(head[1])
        except (yaml.YAMLError, RecursionError, ValueError, TypeError, OverflowError) as error:
            said = " ".join(str(error).split())[:120]
            Location(_CARD, location.faults).fault(f"what is not YAML ({said})", "the dataset's card, with YAML on top")
            return {}
        listed = card.get("configs") if isinstance(card, dict) else None
        return {
            str(each["config_name"]): each
            for each in (listed if isinstance(listed, list) else ())
            if isinstance(each, dict) and "config_name" in each and "data_files" in each
        }


def find_tree(name: str, revision: str | None) -> Tree:
    """Return the files of a folder or, where there is no such folder, of a dataset on the hub.

    What was downloaded before is used where the hub cannot be reached.

    Args:
        name: a folder, or an id.
        revision: of the hub: a branch, tag or commit.

    Raises:
        ConfigurationError: neither a folder nor an id; or a revision of a folder.
        MissingDependency: the package `datasets` is not installed.
        HubUnavailable: there is no such dataset, it needs permission, or it is neither reached nor on this machine.
    """
    try:
        import datasets  # noqa: F401 — before anything is asked for
    except ImportError:
        raise MissingDependency("datasets", EXTRA, f"reading {PREFIX}{name}") from None
    folder = user_path(name)
    if name and is_folder(folder):
        if revision is not None:
            raise ConfigurationError(f"{PREFIX}{name}: found revision={revision!r} with a folder; expected none")
        return Tree(name, folder)
    if not _ID.fullmatch(name):
        raise HubUnavailable(f"{quoted(name)}, which is no folder", "a folder, or the id of a dataset, as mteb/scifact")
    return _on_hub(name, revision)


def _on_hub(name: str, revision: str | None) -> Tree:
    import httpx
    from huggingface_hub import HfApi, errors, hf_hub_download, snapshot_download

    try:
        info = HfApi().dataset_info(name, revision=revision)
        for small in {_CARD, ".gitattributes"} & {each.rfilename for each in info.siblings or ()}:
            # By the branch, so that the cache knows what commit it stood for when the hub cannot be reached
            hf_hub_download(name, small, repo_type="dataset", revision=revision)
    except errors.GatedRepoError:
        raise HubUnavailable(
            f"a dataset that the hub gives only to those it knows: {name}",
            "access: accept its terms on the hub, and set HF_TOKEN",
        ) from None
    except errors.RevisionNotFoundError:
        raise HubUnavailable(f"no revision {revision!r} of {name}", "a branch, tag or commit of it") from None
    except errors.RepositoryNotFoundError:
        raise HubUnavailable(
            f"no folder {name} here, and no dataset {name} on the hub (or none without a token)",
            "a folder, or the id of a dataset, as mteb/scifact; for a private one set HF_TOKEN",
        ) from None
    except (ConnectionError, httpx.TransportError, errors.HfHubHTTPError) as error:
        try:
            kept = snapshot_download(name, repo_type="dataset", revision=revision, local_files_only=True)
        except errors.LocalEntryNotFoundError:
            said = " ".join(str(error).split())[:120] or type(error).__name__
            raise HubUnavailable(
                f"no folder {name}, and a hub that does not answer ({said})",
                "a folder, a connection to the hub, or a dataset that was downloaded before",
            ) from None
        return Tree(name, Path(kept))
    return Tree(name, None, str(info.sha))


def find_tables(tree: Tree, subset: str | None, location: Location) -> dict[str, _Splits] | None:
    """Return the files of the corpus, the queries and the qrels by split; None, and a fault, where one is missing.

    The configurations of the dataset's card say where they are; without such, the names of the files do.

    Args:
        tree: the files.
        subset: which of several corpora, as a language.
        location: the dataset, for faults.
    """
    names = [name for name in tree.names() if not name.startswith(".")]
    known = len(location.faults)
    configurations = tree.configurations(names, location)
    if len(location.faults) > known:
        return None
    if any(re.search(r"(^|[-_])corpus($|[-_])", each) for each in configurations):
        return _of_card(tree, configurations, subset, location)
    found = {table: _by_names(names, table, subset) for table in TABLES}
    missing = [table for table, splits in found.items() if not splits]
    if missing:
        files = ", ".join(map(quoted, names[:5])) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
        of_subset = "" if subset is None else f" of the subset {quoted(subset)}"
        location.fault(
            f"no {' and no '.join(missing)}{of_subset} among {len(names):,} files" + (f" ({files})" if names else ""),
            "corpus, queries and qrels as files (corpus.jsonl, queries.jsonl, qrels/test.jsonl), or as configurations "
            f"in {_CARD}",
        )
        return None
    return found


def _of_card(
    tree: Tree, configurations: Mapping[str, Mapping[str, Any]], subset: str | None, location: Location
) -> dict[str, _Splits] | None:
    tables: dict[str, _Splits] = {}
    for table in TABLES:
        wanted = _called(table, subset)
        chosen = next((name for name in wanted if name in configurations), None)
        if chosen is None:
            subsets = sorted({match[1] for name in configurations if (match := re.fullmatch(r"(.+)-corpus", name))})
            expected = f"subset= one of {', '.join(subsets)}" if subsets else f"a configuration {' or '.join(wanted)}"
            found = f"no {table}" if subset is None else f"no {table} of the subset {quoted(subset)}"
            location.fault(f"{found} among the configurations {', '.join(map(quoted, configurations))}", expected)
            return None
        splits = _resolve(tree, configurations[chosen]["data_files"], location / f"configs.{chosen}")
        if splits is None:
            return None
        tables[table] = splits
    return tables


def _called(table: str, subset: str | None) -> tuple[str, ...]:
    """Return what the configuration of a table can be called, as MTEB does."""
    if subset is not None:
        return (f"{subset}-{table}", f"{table}-{subset}", *((subset,) if table == "qrels" else ()))
    return (table, "default") if table == "qrels" else (table,)


def _resolve(tree: Tree, patterns: Any, location: Location) -> _Splits | None:
    """Return the files that the patterns of a configuration stand for, by split."""
    from datasets.data_files import DataFilesDict, sanitize_patterns

    try:
        asked = {str(split): list(each) for split, each in sanitize_patterns(patterns).items()}
    except (TypeError, ValueError, KeyError, AttributeError):
        location.fault("data_files that are none", "paths, or a list of split and path")
        return None
    for pattern in (each for several in asked.values() for each in several):
        # A card is data: it must not have files read that are not of the dataset
        if "://" in str(pattern) or ".." in PurePosixPath(pattern).parts or PurePosixPath(pattern).is_absolute():
            location.fault(f"the path {quoted(pattern)}", "a path inside of the dataset")
            return None
    try:
        files = DataFilesDict.from_patterns(asked, base_path=tree.base)
    except (OSError, ValueError) as error:
        location.fault(f"files that are not there ({str(error).splitlines()[0][:200]})", "files of the dataset")
        return None
    base = tree.base.rstrip("/") + "/"
    return {
        str(split): [str(path).replace("\\", "/").removeprefix(base.replace("\\", "/")) for path in paths]
        for split, paths in files.items()
    }


def _by_names(names: Sequence[str], table: str, subset: str | None) -> _Splits:
    """Return the files of a table by their names: those of the first folder that has any."""
    folders: tuple[str, ...] = _QRELS_FOLDERS if table == "qrels" else (table,)
    if subset is not None:
        folders = tuple(each for folder in folders for each in (f"{subset}-{folder}", f"{subset}/{folder}"))
    for folder in folders:
        splits: dict[str, list[str]] = {}
        for name in names:
            suffix = next((each for each in SUFFIXES if name.lower().endswith(each)), None)
            if suffix is None:
                continue
            stem = _SHARD.sub("", name[: -len(suffix)])
            if stem == folder or stem.startswith(f"{folder}/"):
                # The corpus and the queries are whole, whatever their files are called
                split = table if table != "qrels" or stem == folder else PurePosixPath(stem).name
                splits.setdefault(split, []).append(name)
        if splits:
            return splits
    return {}
