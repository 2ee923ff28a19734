"""`raglift corpus list|show|fetch` and `raglift labels convert`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from raglift.cli.json_output import attributes, print_json
from raglift.cli.labels import Convert, FetchCorpus, ListCorpora, ShowCorpus
from raglift.datasets.corpora.catalogue import Corpus, find_corpus, known_corpora
from raglift.datasets.corpora.fetching import fetch
from raglift.datasets.formats.catalogue import FORMATS, FormatName, FormatOptions, recognize_format
from raglift.datasets.formats.writing import WrittenFormat, write_dataset
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, CorpusError, DatasetError
from raglift.rendering.document import table_of
from raglift.rendering.terminal import write
from raglift.types.dataset import Dataset
from raglift.utilities.display import counted, printable
from raglift.utilities.limits import user_path


def list_all(request: ListCorpora) -> None:
    """Print the corpora in a table."""
    if request.as_json:
        print_json([_corpus_json(corpus) for corpus in known_corpora()])
        return
    rows = [
        (corpus.name, f"{corpus.query_count:,}", corpus.descriptor.title, "here" if corpus.path else corpus.status)
        for corpus in known_corpora()
    ]
    write(Console(), [table_of(("corpus", "questions", "title", "text"), rows, left=(0, 2, 3))])


def show(request: ShowCorpus) -> None:
    """Print all that is known of one corpus."""
    corpus = find_corpus(request.name)
    if request.as_json:
        print_json(_corpus_json(corpus))
        return
    console = Console()
    for label, value in _facts(corpus):
        console.print(f"{label + ':':<13} {value}", markup=False, highlight=False, soft_wrap=True)


def _corpus_json(corpus: Corpus) -> dict[str, Any]:
    about = attributes(corpus.descriptor, "title", "description", "language", "licence", "sources")
    return {
        "name": corpus.name,
        **about,
        "queries": corpus.query_count,
        **attributes(corpus, "queries_path", "path", "status"),
    }


def _facts(corpus: Corpus) -> list[tuple[str, str]]:
    about = attributes(corpus.descriptor, "title", "description", "language", "licence")
    places = [] if corpus.path is not None else [("looked in", str(place)) for place in corpus.places]
    return [
        ("name", corpus.name),
        *about.items(),
        *[("source", source) for source in corpus.descriptor.sources],
        ("questions", f"{corpus.query_count:,} in {corpus.queries_path}"),
        ("text", corpus.status),
        *places,
    ]


def fetch_text(request: FetchCorpus) -> None:
    """Download a corpus's text; not where it is at hand in a folder of the user's."""
    name, url = request.name, request.url
    corpus = find_corpus(name)
    _, target = corpus.text_to_fetch()
    here = corpus.path
    if url is None and here is not None and here != target:
        message = f"{here}: at hand, nothing was downloaded (--url downloads all the same)"
        Console(stderr=request.as_json).print(message, markup=False, highlight=False, soft_wrap=True)
        try:
            _print_resolution(load_dataset(name), here, as_json=request.as_json)
        except (CorpusError, DatasetError) as error:
            sys.stderr.write(printable(f"! {error}") + "\n")
        return
    path = fetch(corpus, url=url)
    _print_resolution(load_dataset(name, documents=path), path, as_json=request.as_json)


def _print_resolution(dataset: Dataset, path: Path, *, as_json: bool) -> None:
    """Say whether all labels resolve in the text, and which do so in other words or are left out."""
    resolution = dataset.resolution
    if as_json:
        print_json({"path": str(path), "labels_left_out": resolution.left_out, "notes": resolution.notes})
        return
    lines = [f"! {printable(note)}" for note in resolution.notes]
    if not resolution.left_out:
        lines.insert(0, f"{path}: all labels resolve")
    for line in lines:
        Console().print(line, markup=False, highlight=False, soft_wrap=True)


def convert(request: Convert) -> None:
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
        f"wrote {counted(len(dataset), 'question')}{documents} to {path} ({origin} to "
        f"{FORMATS[request.write_as].title})\n"
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
