"""The options of the commands about labels, datasets and corpora."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import AsJson, Chunkers, DatasetSource, Documents, Encoding, Include, UnicodeFolding
from raglift.cli.choices import (
    DATASET_FORMATS,
    EMBEDDINGS,
    WRITTEN_FORMATS,
    Several,
    choice,
    completion,
    corpus_names,
    separate_named,
)
from raglift.cli.command import command, new_group

group = new_group()
"""Those of the group `labels`, with those of `raglift.cli.judging`."""
corpus = new_group()
"""Those of the group `corpus`."""

CorpusName = Annotated[
    str, typer.Argument(autocompletion=completion(corpus_names), help="Name of the corpus; see corpus list.")
]


@command(
    group,
    "check",
    None,
    "Check labels, and what chunking does to them",
    run="raglift.cli.audit:run",
    examples=[
        "raglift labels check my.jsonl --documents docs/ --strict",
        "raglift labels check mine --chunker recursive:400/40",
    ],
    exit_codes={1: "With --strict: labels are broken."},
)
@dataclass(frozen=True)
class AuditDataset:
    """Check the labels of a dataset, and what chunkers do to the labelled passages. Nothing is retrieved."""

    dataset: DatasetSource
    documents: Documents = None
    encoding: Encoding = None
    include: Include = ()
    chunker: Chunkers = ()
    match: Annotated[str, choice(("coverage", "containment"))] = "coverage"
    """Match rule for the attainable recall: coverage is fair across chunk sizes; containment is what evaluate uses by
    default."""
    unicode_folding: UnicodeFolding = False
    ks: Annotated[Several, typer.Option("-k")] = ("1,3,5,10",)
    """Depths of the attainable recall."""
    embedding: Annotated[str, typer.Option(autocompletion=completion(EMBEDDINGS))] = "minilm"
    """minilm counts the chunks that exceed its token limit; any other counts none."""
    strict: bool = False
    """Exit with code 1 if labels are broken; warnings do not matter."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print JSON with every finding."""


@command(
    group,
    "convert",
    None,
    "Convert a dataset to another format",
    run="raglift.cli.convert:run",
    examples=[
        "raglift labels convert beir/scifact -o scifact",
        "raglift labels convert q.csv -o mine \\",
        "    --column question=Question,passage=Quote",
        "raglift labels convert mine -o beir --to beir",
    ],
)
@dataclass(frozen=True)
class Convert:
    """Convert a labelled dataset to raglift's own format, or BEIR's. Anything that BEIR cannot hold is an error."""

    source: Annotated[str, typer.Argument(autocompletion=completion(corpus_names))]
    """Dataset: a file, a folder or a bundled corpus by name."""
    output: Annotated[Path, typer.Option("--output", "-o")]
    """New file or folder."""
    read_as: Annotated[str | None, choice(DATASET_FORMATS, "--from")] = None
    """Format of the source. Default: recognized by its layout."""
    write_as: Annotated[str, choice(WRITTEN_FORMATS, "--to")] = "jsonl"
    """Format of the target; jsonl is raglift's own folder."""
    documents: Documents = None
    encoding: Encoding = None
    include: Include = ()
    split: str | None = None
    """BEIR, hf: qrels to read. Default: test."""
    subset: str | None = None
    """hf: which of several corpora, such as a language."""
    revision: str | None = None
    """hf: a branch, tag or commit."""
    topics: Path | None = None
    """TREC: file of topics, if the source is a qrels file."""
    column: Annotated[tuple[str, ...], separate_named] = ()
    """Rows: a field and its path, such as 'question=inputs.ask' or 'ignore=notes'."""
    decode: tuple[str, ...] = ()
    """Rows: how a cell holds several values: 'passage=json', 'passage=literal', 'passage=|'."""
    where: tuple[str, ...] = ()
    """Rows: which count, such as 'split=test' or 'status!=ARCHIVED'."""
    root: str | None = None
    """Rows: the field of a JSON object that has them, or the sheet of a workbook."""
    delimiter: str | None = None
    """CSV: character between columns."""
    as_json: AsJson = False


@command(
    group,
    "anchor",
    None,
    "Turn quoted-text labels into positions",
    run="raglift.cli.audit:run_relabel",
    examples=["raglift labels anchor my.jsonl -o new.jsonl \\", "    --documents docs/"],
)
@dataclass(frozen=True)
class Relabel:
    """Convert quoted-text labels to positions in the documents, and write them to a new file."""

    source: Annotated[str, typer.Argument(autocompletion=completion(corpus_names))]
    """Bundled corpus by name, a dataset folder, or a .jsonl file of queries."""
    output: Annotated[Path, typer.Option("--output", "-o")]
    """New file of queries, .jsonl."""
    documents: Documents = None
    encoding: Encoding = None
    include: Include = ()
    to: Annotated[str, choice(("anchors", "offsets"))] = "anchors"
    """anchors (first and last words of a passage) or character offsets."""
    overwrite: bool = False
    """Replace an existing file."""
    as_json: AsJson = False


@command(
    corpus,
    "list",
    None,
    "List the bundled corpora",
    run="raglift.cli.corpus:list_all",
    examples=["raglift corpus list"],
)
@dataclass(frozen=True)
class ListCorpora:
    """List the bundled corpora, and whether their texts are on this machine."""

    as_json: AsJson = False


@command(
    corpus,
    "show",
    None,
    "Show the source and licence of a corpus",
    run="raglift.cli.corpus:show",
    examples=["raglift corpus show war_and_peace"],
)
@dataclass(frozen=True)
class ShowCorpus:
    """Show one corpus: its source, licence, number of queries and where its text is."""

    name: CorpusName
    as_json: AsJson = False


@command(
    corpus,
    "fetch",
    None,
    "Download the text of a corpus",
    run="raglift.cli.corpus:fetch_text",
    examples=["raglift corpus fetch war_and_peace"],
)
@dataclass(frozen=True)
class FetchCorpus:
    """Download the text of a corpus to the user's cache, and check that its labels can be found in it."""

    name: CorpusName
    url: str | None = None
    """Download from this address instead of the corpus's own."""
    as_json: AsJson = False
