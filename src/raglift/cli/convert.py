"""`raglift labels convert`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from raglift.base.display import printable
from raglift.base.limits import user_path
from raglift.cli.json_output import print_json
from raglift.datasets.formats.catalogue import FORMATS, find_format, recognize_format, write_dataset
from raglift.datasets.formats.csv_table import IGNORE
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.cli.labels import Convert, Relabel
    from raglift.datasets.formats.catalogue import FormatName, FormatOptions


def run(request: Convert) -> None:
    """Load, write, say what was written."""
    chosen = find_format(request.write_as)
    target = written_to(request)
    dataset = load_dataset(
        request.source,
        documents=request.documents,
        include=request.include,
        format=cast("FormatName | None", request.read_as),
        **_options(request),
    )
    path = write_dataset(dataset, target, format=chosen.name, drop=request.drop)
    read_as = request.read_as or recognize_format(user_path(request.source), _options(request))
    origin = FORMATS[read_as].title if read_as is not None else "a corpus of raglift's"
    holds_documents = chosen.room(dataset).documents != "none"
    documents = f" and {len(dataset.documents):,} documents" if holds_documents and dataset.documents else ""
    if request.as_json:
        print_json(
            {
                "path": str(path),
                "read_as": read_as,
                "format": chosen.name,
                "queries": len(dataset),
                "documents": len(dataset.documents) if holds_documents else 0,
                "notes": dataset.resolution.notes,
            }
        )
        return
    sys.stdout.write(f"wrote {len(dataset):,} queries{documents} to {path} ({origin} to {chosen.title})\n")
    for note in dataset.resolution.notes:
        sys.stdout.write(printable(f"! {note}") + "\n")
    if dataset.documents and not holds_documents:
        sys.stderr.write(
            f"the {len(dataset.documents):,} documents are not in it, for {chosen.title} has no place for them: "
            "give them with --documents when it is read\n"
        )


def written_to(request: Convert | Relabel) -> Path:
    """Return where the result goes: `--output`, or the second argument, as it was before there was the option.

    Raises:
        ConfigurationError: neither or both are given.
    """
    targets = [each for each in (request.output, request.target) if each is not None]
    if len(targets) != 1:
        found = "none" if not targets else f"{targets[0]}, and {targets[1]} after {request.source}"
        raise ConfigurationError(f"--output: found {found}; expected one new file or folder, as -o labels.jsonl")
    return targets[0]


def _options(request: Convert) -> FormatOptions:
    """Return the options that were given; of columns, as `query=Question`, there may be several called `ignore`.

    Raises:
        ConfigurationError: a column without `=`.
    """
    named: dict[str, str | list[str]] = {}
    ignored: list[str] = []
    for column in request.column:
        name, equals, title = column.partition("=")
        if not equals:
            raise ConfigurationError(f"--column: found {column!r}; expected what it holds and its name: query=Question")
        if name.strip() == IGNORE:
            ignored.append(title)
        else:
            named[name.strip()] = title
    if ignored:
        named[IGNORE] = ignored
    names = ("encoding", "split", "subset", "revision", "topics", "delimiter", "evidence", "labels")
    found = {name: value for name in names if (value := getattr(request, name)) is not None}
    return cast("FormatOptions", {**found, "columns": named} if named else found)
