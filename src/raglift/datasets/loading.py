"""`load_dataset`: labelled queries, and their documents, from a file, a folder or the name of a corpus.

`load_documents`: documents alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from raglift.datasets.corpora.catalogue import DESCRIPTOR, QUERIES, Corpus, find_corpus, known_corpora, read_corpus
from raglift.datasets.documents import DocumentSource, read_documents
from raglift.datasets.formats.catalogue import (
    FORMATS,
    FormatName,
    FormatOptions,
    find_format,
    named_format,
    read_format,
    recognize_format,
)
from raglift.datasets.formats.own import documents_of
from raglift.datasets.jsonl import resolve_queries
from raglift.errors import ConfigurationError, CorpusError, DatasetError, Fault
from raglift.types.dataset import Dataset
from raglift.utilities.limits import is_file, is_folder, is_there, is_valid_path, resolved, user_path
from raglift.utilities.settings import declare_keywords
from raglift.utilities.strict_files import check_encoding

if TYPE_CHECKING:
    from raglift.types.documents import Document


_OTHERS = f"or another format, named: format= one of {', '.join(map(repr, list(FORMATS)[1:]))}"


def load_dataset(
    source: str | os.PathLike[str],
    *,
    documents: DocumentSource = None,
    include: str | Sequence[str] = (),
    name: str | None = None,
    format: FormatName | None = None,  # noqa: A002 — what the user calls it
    **options: Unpack[FormatOptions],
) -> Dataset:
    """Load labelled queries and, where they are at hand, the documents they are about.

    Another format than raglift's own is recognized by its layout: a BEIR or AutoRAG folder, TREC qrels with `topics=`,
    the fields of a tool's export. Rows of any other file are read with `columns=`. The first line of an error says as
    what it was read; `docs/how-to/datasets.md` says how each format becomes facts.

    Args:
        source: a `.jsonl` file; a folder that holds `queries.jsonl` and, optionally, `corpus.toml`, a folder
            `documents` or a file `documents.jsonl`; a file or folder in another format; or the name of a corpus that
            comes with raglift, `war_and_peace`; or `hf:` and the id of a dataset on the Hugging Face hub, or a folder
            laid out as one, `hf:mteb/scifact?split=test`; or `ir:` and a name of ir_datasets, `ir:beir/scifact/test`.
        documents: the source texts, in place of those that `source` brings: all that `load_documents` takes. For a
            corpus that consists of one text, a path to a file is read as that text: under its id, and without what its
            publisher added.
        include: what is also read of the folder of documents, as text, besides `*.txt`, `*.md`, `*.pdf` and `*.docx`:
            patterns of names (`*.qmd`) or of the ends of paths (`guides/*.html`).
        name: a title; by default the name of the file, folder or corpus; of `queries.jsonl` that of its folder.
        format: what the source is: `jsonl` (raglift's own), `beir`, `trec`, `autorag`, `llama-index`, `hf`, `ir`,
            `rows` (of JSON Lines, JSON, CSV, TSV, XLSX or Parquet), `squad`, `ragas`, `langsmith`, `langfuse` or
            `deepeval`; None to recognize it.
        **options: the `encoding` of documents, and of CSV, not in UTF-8, as `cp1252`; and what some formats need, for
            example `split`, `topics` or `columns`; see `FormatOptions`.

    Raises:
        DatasetError: there is no such file, it is malformed, or a label does not resolve; every fault is
            listed.
        CorpusError: there is no such folder, and no corpus of that name; or none of the labels of a corpus resolves in
            the text that is on this machine. If only some do not, the dataset has the others, and its `resolution`
            says what was left out.
        ConfigurationError: the source is neither a path nor a name; the format is unknown, or ambiguous, or does not
            take an option; patterns to include, and no folder of documents.
        CorpusMissing: the text of the corpus is not on this machine; the message says how to get it.

    Warns:
        DocumentWarning: files in the folder of documents were not read: how many, and which.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise ConfigurationError(
            f"load_dataset: found a {type(source).__name__}; expected a path or the name of a corpus "
            "(for labels in a dict: Dataset.from_dict)"
        )
    encoding = check_encoding(options.pop("encoding", None))
    path, named = user_path(source), named_format(source)
    if named is not None and format not in (None, named.name):
        raise ConfigurationError(f"load_dataset: found format={format!r} with {source}; expected {named.name!r}")
    found = _format_of(path, format, {**options, "encoding": encoding}) if named is None else named.name
    if found is None:
        corpus = _corpus_at(path)
        unfit = [option for option, value in options.items() if value is not None]
        if unfit:
            raise ConfigurationError(
                f"load_dataset: found {', '.join(unfit)} with a corpus of raglift's; expected none"
            )
        return _load_corpus(corpus, documents, include, name, encoding)
    if documents is not None or include:
        folder = _folder_of(path) if documents is None else documents
        documents = load_documents(folder, encoding=encoding, include=include)
    if encoding is not None and (documents is None or "encoding" in find_format(found).options):
        options["encoding"] = encoding
    contents = read_format(found, path if named is None else os.fspath(source), documents, options)
    return Dataset(contents.queries, contents.documents, name or title_of(source), contents.resolution)


declare_keywords(load_dataset, FormatOptions)


def _format_of(path: Path, format: FormatName | None, options: FormatOptions) -> FormatName | None:  # noqa: A002
    """Return the format of a file or folder; None if it must be a corpus, by its folder or by its name.

    Raises:
        DatasetError: a file of no known format.
    """
    if not is_valid_path(path):
        raise _unusable(path, "a name that no file can have", f"a file, a folder, {_OTHERS}")
    if format in (None, "jsonl") and is_file(path / DESCRIPTOR) and is_file(path / QUERIES):
        return None
    found = format or recognize_format(path, options)
    if found is not None and (is_there(path) or found != "jsonl"):
        return found
    if is_file(path):
        raise _unusable(path, f"a file of type {path.suffix or 'unknown'}", f"a .jsonl file, {_OTHERS}")
    return None


def load_documents(
    source: DocumentSource, *, encoding: str | None = None, include: str | Sequence[str] = ()
) -> tuple[Document, ...]:
    """Load documents alone.

    Args:
        source: the name of a corpus that comes with raglift, as `war_and_peace`; the folder of a dataset, in any format
            that brings documents; a text, PDF or DOCX file, a `.jsonl` file of documents, or a folder of `*.txt`,
            `*.md`, `*.pdf` and `*.docx`; records; a mapping from id to text; or None for none. A path that exists comes
            before a name.
        encoding: of the texts that are not in UTF-8 and have no byte-order mark, as `cp1252`.
        include: what is also read of a folder, as text: patterns of names (`*.qmd`) or of the ends of paths
            (`guides/*.html`).

    Raises:
        ConfigurationError: no such encoding; patterns to include, and no folder.
        DatasetError: they are missing, or cannot be read; every fault is listed.
        CorpusMissing: the text of the corpus is not on this machine; the message says how to get it.
        MissingDependency: what reads PDF or DOCX files is not installed.

    Warns:
        DocumentWarning: files of a folder were not read: how many, and which.
    """
    return read_documents(_by_name(source, encoding), encoding=encoding, include=include)


def _folder_of(path: Path) -> DocumentSource:
    """Return the folder of files that a dataset's documents are in; what else they are, if they are in none."""
    found = _by_name(path)
    return None if found == path else found


def _by_name(source: DocumentSource, encoding: str | None = None) -> DocumentSource:
    """Return the documents that a corpus's name or a dataset's folder means; anything else as it is."""
    if not isinstance(source, (str, os.PathLike)):
        return source
    if named_format(source) is not None:
        return load_dataset(source).documents
    path = user_path(source)
    if not is_there(path) and path.parts[:-1] in ((), ("corpora",)):
        named = [corpus for corpus in known_corpora() if corpus.name == path.name]
        return named[0].documents(encoding=encoding) if named else source
    if not is_folder(path):
        return source
    if is_file(path / DESCRIPTOR):
        return read_corpus(path).documents(encoding=encoding)
    if recognize_format(path, {}) == "jsonl":
        return documents_of(path) or source
    return load_dataset(path).documents or source if recognize_format(path, {}) is not None else source


def title_of(source: str | os.PathLike[str]) -> str:
    """Return what `load_dataset` calls a dataset without a name: no path, which would tell of a machine."""
    named = named_format(source)
    if named is not None:
        return named.title_of(os.fspath(source))
    path = user_path(source)
    if is_folder(path):
        return resolved(path).name
    if not is_there(path):
        return path.name
    # Every set could be called queries: the folder says which it is
    return resolved(path).parent.name or path.stem if path.name == QUERIES else path.stem


def _corpus_at(path: Path) -> Corpus:
    """Return the corpus in a folder, or the bundled one that `name` or `corpora/name` means."""
    if is_file(path / DESCRIPTOR):
        return read_corpus(path)
    expected = f"a folder that holds {QUERIES}, {_OTHERS}"
    if path.parts[:-1] in ((), ("corpora",)) and path.name and not path.suffix:
        try:
            return find_corpus(path.name)
        except CorpusError as error:
            if not is_folder(path):
                raise CorpusError(f"{path}: no such file or folder, and {error}") from error
    if is_folder(path):
        raise _unusable(path, f"a folder without {QUERIES}", expected)
    fix = "a file or folder of labels, or the name of a corpus: check the path"
    raise _unusable(path, "no such file or folder", fix)


def _load_corpus(
    corpus: Corpus, documents: DocumentSource, include: str | Sequence[str], name: str | None, encoding: str | None
) -> Dataset:
    text = user_path(documents) if isinstance(documents, (str, os.PathLike)) else None
    if documents is None and not include:
        given = corpus.documents(encoding=encoding)
    elif corpus.text is not None and text is not None and is_file(text):
        given = corpus.documents(text, encoding=encoding)
    else:
        given = load_documents(corpus.path if documents is None else documents, encoding=encoding, include=include)
    try:
        queries, resolution = resolve_queries(corpus.queries_path, given, partly=corpus.text is not None)
    except DatasetError as error:
        if corpus.text is None:
            raise
        # The labels were checked when they were written, so the text is to blame
        raise CorpusError(
            f"{text or corpus.path}: {len(error.faults)} labels of corpus {corpus.name!r} do not resolve in this text; "
            f"is it complete, and the right edition? The first: {error.faults[0]}",
            error.faults,
        ) from error
    return Dataset(queries, given, name or corpus.name, resolution)


def _unusable(path: Path, found: str, expected: str) -> DatasetError:
    return DatasetError(str(path), [Fault(str(path), found, expected)])
