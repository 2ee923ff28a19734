"""`raglift labels convert`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from raglift.cli.json_output import print_json
from raglift.datasets.formats.catalogue import FORMATS, recognize_format
from raglift.datasets.formats.writing import write_dataset
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError
from raglift.utilities.display import counted, printable
from raglift.utilities.limits import user_path

if TYPE_CHECKING:
    from raglift.cli.labels import Convert
    from raglift.datasets.formats.catalogue import FormatName, FormatOptions
    from raglift.datasets.formats.writing import WrittenFormat


def run(request: Convert) -> None:
    """Load, write, say what was written."""
    dataset = load_dataset(
        request.source,
        documents=request.documents,
        include=request.include,
        format=cast("FormatName | None", request.read_as),
        **_options(request),
    )
    path = write_dataset(dataset, request.output, format=cast("WrittenFormat", request.write_as))
    read_as = request.read_as or recognize_format(user_path(request.source), _options(request))
    origin = FORMATS[read_as].title if read_as is not None else "a corpus of raglift's"
    documents = f" and {counted(len(dataset.documents), 'document')}" if dataset.documents else ""
    if request.as_json:
        print_json(
            {
                "path": str(path),
                "read_as": read_as,
                "format": request.write_as,
                "queries": len(dataset),
                "documents": len(dataset.documents),
                "notes": dataset.resolution.notes,
            }
        )
        return
    sys.stdout.write(
        f"wrote {counted(len(dataset), 'query')}{documents} to {path} ({origin} to {FORMATS[request.write_as].title})\n"
    )
    for note in dataset.resolution.notes:
        sys.stdout.write(printable(f"! {note}") + "\n")


def _options(request: Convert) -> FormatOptions:
    """Return the options that were given; a column may be given several times, and then has several paths."""
    columns: dict[str, list[str]] = {}
    for column in request.column:
        name, equals, path = column.partition("=")
        if not equals:
            raise ConfigurationError(f"--column: found {column!r}; expected a field and its path: question=Question")
        columns.setdefault(name.strip(), []).append(path)
    decode: dict[str, str] = {}
    for each in request.decode:
        name, equals, way = each.partition("=")
        if not equals:
            raise ConfigurationError(f"--decode: found {each!r}; expected a field and how it is read: passage=json")
        decode[name.strip()] = way
    names = ("encoding", "split", "subset", "revision", "topics", "root", "delimiter")
    options = {name: value for name in names if (value := getattr(request, name)) is not None}
    several = {"columns": columns, "decode": decode, "where": request.where}
    return cast("FormatOptions", options | {name: value for name, value in several.items() if value})
