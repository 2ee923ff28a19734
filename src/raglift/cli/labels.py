"""The commands about labels, datasets and corpora; each is imported when it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import DatasetSource, Documents, Encoding, Include, UnicodeFolding

group = typer.Typer(rich_markup_mode=None)
corpus = typer.Typer(help="The corpora that come with raglift.", no_args_is_help=True, rich_markup_mode=None)
group.add_typer(corpus, name="corpus")


@group.command()
def audit(
    dataset: DatasetSource,
    documents: Documents = None,
    encoding: Encoding = None,
    include: Include = None,
    chunker: Annotated[
        list[str] | None,
        typer.Option(
            help="A way to chunk the documents, as recursive:250/125:tokens or llama_index.SentenceSplitter:256/20; "
            "may be given several times."
        ),
    ] = None,
    match: Annotated[str, typer.Option(help="coverage or containment, for the attainable recall.")] = "coverage",
    unicode_folding: UnicodeFolding = False,
    ks: Annotated[
        str, typer.Option("--ks", "-k", help="The depths of the attainable recall, with commas.")
    ] = "1,3,5,10",
    embedding: Annotated[
        str, typer.Option(help="minilm: count the chunks that are longer than it reads; any other counts none.")
    ] = "minilm",
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 when labels are broken; warnings are fine.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every finding.")] = False,
) -> None:
    """Check the labels of a dataset, and what ways of chunking do to them. Nothing is retrieved."""
    from raglift.cli import audit as command

    command.run(
        command.Request(
            dataset=dataset,
            documents=documents,
            encoding=encoding,
            include=tuple(include or ()),
            chunkers=chunker or (),
            match=match,
            unicode_folding=unicode_folding,
            ks=ks,
            embedding=embedding,
            strict=strict,
            as_json=as_json,
        )
    )


@group.command()
def relabel(
    dataset: Annotated[str, typer.Argument(help="A corpus by name, a dataset folder, or a .jsonl file of queries.")],
    out: Annotated[Path, typer.Argument(help="The new file of queries.")],
    documents: Documents = None,
    encoding: Encoding = None,
    include: Include = None,
    to: Annotated[str, typer.Option(help="anchors (the words at both ends) or offsets.")] = "anchors",
    overwrite: Annotated[bool, typer.Option(help="Replace a file that is already there.")] = False,
) -> None:
    """Move labels that are literal texts to where these occur in the documents, in a new file."""
    from raglift.cli import audit as command

    command.run_relabel(
        dataset, out, documents=documents, encoding=encoding, include=tuple(include or ()), to=to, overwrite=overwrite
    )


@group.command()
def convert(
    source: Annotated[str, typer.Argument(help="A dataset: a file, a folder, or a corpus by name.")],
    target: Annotated[Path, typer.Argument(help="Where to: a new file or folder.")],
    read_as: Annotated[
        str | None,
        typer.Option("--from", help="jsonl, beir, trec, squad, csv, autorag or llama-index. Default: by the layout."),
    ] = None,
    write_as: Annotated[str, typer.Option("--to", help="The same names; jsonl is raglift's own folder.")] = "jsonl",
    documents: Annotated[
        Path | None,
        typer.Option(
            help="The documents, when the source does not bring them: a folder, a .jsonl file, or a corpus by name."
        ),
    ] = None,
    encoding: Encoding = None,
    include: Include = None,
    split: Annotated[str | None, typer.Option(help="BEIR: which file of qrels/ to read. Default: test.")] = None,
    topics: Annotated[Path | None, typer.Option(help="TREC: the topics, when the source is a qrels file.")] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="CSV: what a column holds and its name, as query=Question, or ignore=Notes; once for each."),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="CSV: what stands between the columns.")] = None,
    evidence: Annotated[str | None, typer.Option(help="SQuAD: answer (default) or context.")] = None,
    labels: Annotated[str | None, typer.Option(help="AutoRAG: spans (default), texts or ids.")] = None,
    drop: Annotated[
        str,
        typer.Option(
            help="What may be left out: annotators,grades,ids,judged_irrelevant,metadata,places,tags, with commas."
        ),
    ] = "",
) -> None:
    """Convert a labelled dataset from one format to another; what does not fit is an error."""
    from raglift.cli import convert as command

    command.run(
        command.Request(
            source=source,
            target=target,
            read_as=read_as,
            write_as=write_as,
            documents=documents,
            include=tuple(include or ()),
            options=command.options(
                encoding=encoding,
                columns=column or [],
                split=split,
                topics=topics,
                delimiter=delimiter,
                evidence=evidence,
                labels=labels,
            ),
            drop=tuple(part.strip() for part in drop.split(",") if part.strip()),
        )
    )


@corpus.command("list")
def list_corpora(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the corpora, and whether their texts are on this machine."""
    from raglift.cli import corpus as command

    command.list_all(as_json=as_json)


@corpus.command("show")
def show_corpus(
    name: Annotated[str, typer.Argument(help="The corpus's name.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Show one corpus: source, licence, queries, where its text is."""
    from raglift.cli import corpus as command

    command.show(name, as_json=as_json)


@corpus.command("fetch")
def fetch_corpus(
    name: Annotated[str, typer.Argument(help="The corpus's name.")],
    url: Annotated[str | None, typer.Option(help="Fetch from this address instead of the corpus's own.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds for each address, retries included.")] = 120.0,
    encoding: Annotated[
        str | None,
        typer.Option(help="Of a text that is not in UTF-8 and has no byte-order mark, as cp1252; it is kept in UTF-8."),
    ] = None,
) -> None:
    """Download a corpus's text into the user's cache and check that its labels resolve in it."""
    from raglift.cli import corpus as command

    command.fetch_text(name, url=url, timeout=timeout, encoding=encoding)
