"""Writing the pipeline of a cell as scripts for LangChain and LlamaIndex."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, RagliftError
from raglift.retrieval.headings import HEADINGS
from raglift.running.spec import dataset_hash
from raglift.sweep.folder import SweepFolder
from raglift.sweep.scripts import SCRIPTS, Pipeline, script_of
from raglift.utilities.limits import is_there, resolved, user_path
from raglift.utilities.replacing import replacing_file

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from raglift.sweep.records import CellResult
    from raglift.sweep.result import SweepResult


_LOADING = ("documents", "include_files", "encoding")


def export_cell(
    result: SweepResult, folder: str | os.PathLike[str], *, cell: str | None = None, overwrite: bool = False
) -> tuple[Path, ...]:
    """Write scripts that build the pipeline of a cell; see `SweepResult.export_best`."""
    pipeline = _pipeline(SweepFolder(user_path(result.folder)).head()["sweep"], _chosen(result, cell))
    target = user_path(Path(folder))
    files = [target / name for name in SCRIPTS]
    for file in files:
        if is_there(file) and not overwrite:
            raise ConfigurationError(f"{file}: found something there; expected a free name, or overwrite=True")
    for file in files:
        with replacing_file(file, overwrite=overwrite) as opened:
            opened.write(script_of(pipeline, file.name))
    return tuple(files)


def _chosen(result: SweepResult, name: str | None) -> CellResult:
    """Return the cell of a name or key; by default the recommended one, or the only one that was measured."""
    name = result.recommended if name is None else name
    if name is None:
        raise ConfigurationError("export: found no cell that is recommended; expected one by name")
    for entry in result.results:
        if name in (entry.cell.name, entry.cell.key):
            return entry
    raise ConfigurationError(
        f"cell: found {name!r}; expected one of {'; '.join(entry.cell.name for entry in result.results)}"
    )


def _pipeline(sweep: Mapping[str, Any], entry: CellResult) -> Pipeline:
    """Return what the scripts of a cell build.

    Raises:
        ConfigurationError: the cell is a system of the user's, or the documents that were searched cannot be loaded.
    """
    cell = entry.cell
    if cell.system is not None:
        raise ConfigurationError(
            f"export: found {cell.name}, a system of your own; expected a cell of raglift's own parts: how yours is "
            "built is in your code"
        )
    if str(cell.chunker).endswith(HEADINGS):
        raise ConfigurationError(
            f"export: found {cell.name}, whose chunks are indexed with more than their text; expected a cell without "
            f"contextual headers ({HEADINGS}), which the frameworks' indexes cannot take over"
        )
    if entry.evaluation is None:
        raise ConfigurationError(f"export: found {cell.name}, which was not measured; expected one that was")
    dataset, loading = str(sweep["dataset"]), {name: sweep.get(name) for name in _LOADING if sweep.get(name)}
    arguments = {"include" if name == "include_files" else name: value for name, value in loading.items()}
    if "documents" in arguments:
        arguments["documents"] = str(resolved(user_path(Path(str(arguments["documents"])))))
    if is_there(user_path(Path(dataset))):
        dataset = str(resolved(user_path(Path(dataset))))
    _check_documents(dataset, arguments, str(entry.evaluation.run.spec.get("dataset", {}).get("hash")))
    counts = [k for k in sweep["ks"] if isinstance(k, int)]
    candidates = int(sweep["candidates"])
    return Pipeline(
        cell,
        dataset,
        arguments,
        candidates,
        max(counts, default=candidates),
        str(sweep["dtype"]),
        str(sweep.get("device", "auto")),
    )


def _check_documents(dataset: str, arguments: dict[str, object], measured: str) -> None:
    """Check that scripts would load what was measured.

    Raises:
        ConfigurationError: it cannot be loaded, or is something else by now.
    """
    advice = "expected a dataset by name or path, as scripts load it (rl.write_dataset writes one)"
    try:
        found = load_dataset(dataset, **arguments)  # type: ignore[arg-type]
    except RagliftError as error:
        raise ConfigurationError(f"export: the dataset {dataset!r} cannot be loaded: {error}; {advice}") from error
    if dataset_hash(found) != measured:
        raise ConfigurationError(f"export: the dataset {dataset!r} is not what was measured; {advice}")
