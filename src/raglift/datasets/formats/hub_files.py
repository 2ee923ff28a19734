"""The files of a dataset on the Hugging Face hub, or of a folder laid out as one, and which tables they hold."""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from raglift.base.limits import allowed, is_file, is_folder, most_bytes, resolved, user_path
from raglift.base.strict_files import read_text
from raglift.base.validation import Location, nearest, quoted, shown
from raglift.datasets.formats.plain_yaml import read_plain_yaml
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
_FRONT_MATTER = re.compile(r"\s*---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)", re.DOTALL)
_ID = re.compile(r"[\w][\w.-]*(/[\w][\w.-]*)?")
_SHARD = re.compile(r"-\d{5}-of-\d{5}(-\w+)?$")
_PART = re.compile(r"(.*)-\d{5}-of-(\d{5})")
_QRELS_FOLDERS = ("qrels", "data", "default")
_OF_QRELS = "-qrels"
"""What the dataset of the judgments is called where they are apart, as BeIR/scifact-qrels."""
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
        """The whole path of the folder, or the address of the commit, as `datasets` calls it."""
        return str(resolved(self.folder)) if self.folder is not None else f"hf://datasets/{self.name}@{self.commit}"

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
        head = None if text is None else _FRONT_MATTER.match(text)
        # From the beginning of the file, so that faults have its lines; the marks around it are of documents in YAML
        top = None if head is None else head.string[: head.end(1)]
        found = None if top is None else read_plain_yaml(top, Location(_CARD, location.faults))
        card = None if found is None else found[0]
        listed = card.get("configs") if isinstance(card, dict) else None
        return {
            str(each["config_name"]): each
            for each in (listed if isinstance(listed, list) else ())
            if isinstance(each, dict) and isinstance(each.get("config_name"), (str, int)) and "data_files" in each
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
    except errors.HFValidationError:
        raise HubUnavailable(f"{quoted(name)}, which is no folder and no id", "an id as mteb/scifact") from None
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


@dataclass(frozen=True)
class Table:
    """The files of a table by split, and the dataset that they are of."""

    tree: Tree
    splits: _Splits


def find_tables(tree: Tree, subset: str | None, location: Location) -> dict[str, Table] | None:
    """Return the files of the corpus, the queries and the qrels by split; None, and a fault, where one is missing.

    The configurations of the dataset's card say where they are; without such, the names of the files do. Qrels that are
    not there are those of the dataset of the same name and `-qrels`, as the ones of BEIR are.

    Args:
        tree: the files.
        subset: which of several corpora, as a language.
        location: the dataset, for faults.
    """
    names = [name for name in tree.names() if not name.startswith(".")]
    known = len(location.faults)
    configurations = tree.configurations(names, location)
    has_card = any(re.search(r"(^|[-_])corpus($|[-_])", each) for each in configurations)
    tables: dict[str, Table] = {}
    for table in TABLES:
        splits = (
            _of_card(tree, configurations, table, subset, location) if has_card else _by_names(names, table, subset)
        )
        if splits:
            tables[table] = Table(tree, splits)
    if len(location.faults) == known and set(TABLES) - set(tables) == {"qrels"}:
        apart = _qrels_apart(tree, subset, location)
        tables |= {} if apart is None else {"qrels": apart}
    for found in tables.values():
        _check_parts(found.splits, location)
    missing = [table for table in TABLES if table not in tables]
    if len(location.faults) > known:
        return None
    if missing:
        _note_missing(missing, configurations if has_card else names, subset, location, has_card=has_card)
        return None
    return tables


def _note_missing(
    missing: Sequence[str], found: Collection[str], subset: str | None, location: Location, *, has_card: bool
) -> None:
    """Note which tables are not there."""
    what = f"no {' and no '.join(missing)}" + ("" if subset is None else f" of the subset {quoted(subset)}")
    first = ", ".join(map(quoted, list(found)[:8])) + (f" and {len(found) - 8:,} more" if len(found) > 8 else "")
    if has_card:
        pattern = re.compile(r"(.+)-corpus|corpus-(.+)")
        subsets = sorted({match[1] or match[2] for name in found if (match := pattern.fullmatch(name))})
        wanted = " or ".join(_called(missing[0], subset))
        expected = f"subset= one of {', '.join(subsets)}" if subsets else f"a configuration {wanted}"
        if missing == ["qrels"]:
            expected += f"; or another dataset of the same name and {_OF_QRELS}"
        location.fault(f"{what} among the configurations {first}", expected)
        return
    location.fault(
        f"{what} among {len(found):,} files" + (f" ({first})" if found else ""),
        "corpus, queries and qrels as files (corpus.jsonl, queries.jsonl, qrels/test.jsonl), or as configurations "
        f"in {_CARD}" + (f"; or another dataset of the same name and {_OF_QRELS}" if missing == ["qrels"] else ""),
    )


def _of_card(
    tree: Tree, configurations: Mapping[str, Mapping[str, Any]], table: str, subset: str | None, location: Location
) -> _Splits | None:
    """Return the files of a table by the card; None where it lists none."""
    chosen = next((name for name in _called(table, subset) if name in configurations), None)
    if chosen is None:
        return None
    return _resolve(tree, configurations[chosen]["data_files"], location / f"configs.{chosen}")


def _qrels_apart(tree: Tree, subset: str | None, location: Location) -> Table | None:
    """Return the qrels of the dataset of this name and `-qrels`, if there is one."""
    name = tree.name.rstrip("/\\") + _OF_QRELS
    if is_folder(user_path(tree.name)) and not is_folder(user_path(name)):
        return None  # for a folder on this machine the hub is not asked
    try:
        apart = find_tree(name, None)
    except HubUnavailable:
        return None
    names = [each for each in apart.names() if not each.startswith(".")]
    splits = _of_card(apart, apart.configurations(names, location), "qrels", subset, location)
    found = splits or _by_names(names, "qrels", subset) or _at_top(names)
    return Table(apart, found) if found else None


def _at_top(names: Sequence[str]) -> _Splits:
    """Return the files that lie in no folder, each a split."""
    splits: dict[str, list[str]] = {}
    for name in names:
        stem = _stem(name)
        if stem is not None and "/" not in stem:
            splits.setdefault(stem, []).append(name)
    return splits


def _stem(name: str) -> str | None:
    """Return the path of a file without its ending and the number of its part; None for one that is not read."""
    suffix = next((each for each in SUFFIXES if name.lower().endswith(each)), None)
    return None if suffix is None else _SHARD.sub("", name[: -len(suffix)])


def _check_parts(splits: _Splits, location: Location) -> None:
    """Note the files of which some parts are missing, as where a download broke off."""
    for files in splits.values():
        matches = [match for name in files if (match := _PART.match(name))]
        for (stem, wanted), there in Counter(match.groups() for match in matches).items():
            if there < int(wanted):
                location.fault(f"{there} of {int(wanted)} parts of {stem}", "all of them: was the download broken off?")


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
        if not isinstance(pattern, str):
            location.fault(f"{shown(pattern)} in data_files", "a path inside of the dataset")
            return None
        if "://" in pattern or ".." in PurePosixPath(pattern).parts or PurePosixPath(pattern).is_absolute():
            location.fault(f"the path {quoted(pattern)}", "a path inside of the dataset")
            return None
    try:
        # The folder is no pattern, whatever is in its name
        base_path = tree.base if tree.folder is None else glob.escape(tree.base)
        files = DataFilesDict.from_patterns(asked, base_path=base_path)
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
            stem = _stem(name)
            if stem is None:
                continue
            if stem == folder or stem.startswith(f"{folder}/"):
                # The corpus and the queries are whole, whatever their files are called
                split = table if table != "qrels" or stem == folder else PurePosixPath(stem).name
                splits.setdefault(split, []).append(name)
        if splits:
            return splits
    return {}
