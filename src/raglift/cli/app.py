"""The commands, each in its own module and imported when it is run."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 — typer reads the annotations at run time
from typing import Annotated

import typer

import raglift

__all__ = ["app"]

app = typer.Typer(
    help="Measure the retrieval half of RAG, before and after reranking.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
corpus_app = typer.Typer(help="The corpora that come with raglift.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(corpus_app, name="corpus")

Embedding = Annotated[
    str,
    typer.Option(
        help="minilm (embedded, needs no network), a folder, a hub id, or provider:model, "
        "as openai:text-embedding-3-small."
    ),
]
Reranker = Annotated[str, typer.Option(help="late-interaction (embedded), none, or a cross-encoder's name or folder.")]
DtypeOption = Annotated[
    str, typer.Option(help="auto (bfloat16 where the processor has it), float32, bfloat16 or float16.")
]
ChunkSize = Annotated[int, typer.Option(help="The most characters, or tokens, in a chunk.")]
ChunkOverlap = Annotated[int, typer.Option(help="The most characters, or tokens, that neighbouring chunks share.")]
ChunkUnit = Annotated[
    str | None,
    typer.Option(
        help="What size and overlap count: characters or tokens (cl100k_base). "
        "By default characters, and for --chunker token tokens."
    ),
]
ChunkerKind = Annotated[
    str,
    typer.Option("--chunker", help="recursive (at paragraphs, lines, words) or token (plain windows of tokens)."),
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"raglift {raglift.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure the retrieval half of RAG, before and after reranking."""


@app.command()
def evaluate(
    dataset: Annotated[
        str,
        typer.Argument(help="A corpus by name, a .jsonl file of queries, or a dataset's file or folder (see convert)."),
    ],
    system: Annotated[
        str | None,
        typer.Option(
            help="Your own system: module:name of a retriever, query engine or function, "
            "or of a function without arguments that makes one."
        ),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(help="The documents, when the dataset does not bring them: a file or a folder."),
    ] = None,
    retriever: Annotated[str, typer.Option(help="raglift's own: dense or bm25.")] = "dense",
    embedding: Embedding = "minilm",
    reranker: Reranker = "late-interaction",
    chunker: ChunkerKind = "recursive",
    chunk_size: ChunkSize = 1000,
    chunk_overlap: ChunkOverlap = 100,
    chunk_unit: ChunkUnit = None,
    dtype: DtypeOption = "auto",
    ks: Annotated[
        str, typer.Option("--ks", "-k", help="The depths at which metrics are taken, with commas.")
    ] = "1,3,5,10",
    candidates: Annotated[int, typer.Option(help="How many hits are retrieved for the reranker.")] = 50,
    metrics: Annotated[
        str | None,
        typer.Option(help="Measures with commas, as mrr,recall,ndcg@20; by default all but DCG and IDCG."),
    ] = None,
    profile: Annotated[str, typer.Option(help="Whose metric conventions: default, tutorial or autorag.")] = "default",
    match: Annotated[
        str,
        typer.Option(
            help="containment (one hit proves a fact), coverage (the hits together cover enough of it: fair across "
            "chunk sizes) or fuzzy (for texts that were scanned or cleaned)."
        ),
    ] = "containment",
    match_threshold: Annotated[
        float | None,
        typer.Option(help="The part to be covered, or how alike: above 0, at most 1; 0.5, or 0.9 for fuzzy."),
    ] = None,
    unicode_folding: Annotated[
        bool, typer.Option(help="Match also across compatibility forms, typographic quotes and dashes.")
    ] = False,
    as_deployed: Annotated[bool, typer.Option(help="Keep the rerankers' own top_n.")] = False,
    doc_key: Annotated[str | None, typer.Option(help="The metadata key of the hits that holds document ids.")] = None,
    concurrency: Annotated[int, typer.Option(help="Queries under way at once, for remote systems.")] = 1,
    timeout: Annotated[float | None, typer.Option(help="The most seconds for one query.")] = None,
    retries: Annotated[int, typer.Option(help="More tries for a call that failed for a passing reason.")] = 2,
    on_error: Annotated[str, typer.Option(help="keep counts a failed query as 0; raise stops.")] = "keep",
    save: Annotated[Path | None, typer.Option(help="Write the evaluation to this folder.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace an evaluation that is already there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Evaluate a retrieval system on labelled queries, before and after reranking."""
    from raglift.cli import evaluate as command
    from raglift.matching import MatchRule

    command.run(
        command.Request(
            dataset=dataset,
            system=system,
            documents=documents,
            parts=command.parts(
                retriever, embedding, command.make_chunker(chunker, chunk_size, chunk_overlap, chunk_unit), dtype
            ),
            reranker=reranker,
            ks=command.depths(ks),
            candidates=candidates,
            profile=profile,
            match=MatchRule.for_profile(profile, match, threshold=match_threshold, unicode_folding=unicode_folding),
            options=command.options(
                metrics=metrics,
                dtype=dtype,
                as_deployed=as_deployed,
                doc_key=doc_key,
                concurrency=concurrency,
                timeout=timeout,
                retries=retries,
                on_error=on_error,
            ),
            save=save,
            overwrite=overwrite,
            as_json=as_json,
        )
    )


@app.command()
def explain(
    run: Annotated[Path, typer.Argument(help="The folder of a saved evaluation.")],
    query: Annotated[str, typer.Argument(help="The id of a query.")],
    stage: Annotated[str | None, typer.Option(help="The stage; by default the last.")] = None,
) -> None:
    """Show which hits of one query matched what, and what they earned in each metric."""
    from raglift.cli import explain as command

    command.run(run, query, stage=stage)


@app.command()
def audit(
    dataset: Annotated[str, typer.Argument(help="A corpus by name, a dataset folder, or a .jsonl file of queries.")],
    documents: Annotated[
        Path | None,
        typer.Option(help="The documents, when the dataset does not bring them: a file or a folder."),
    ] = None,
    chunker: Annotated[
        list[str] | None,
        typer.Option(help="A way to chunk the documents, as recursive:250/125:tokens; may be given several times."),
    ] = None,
    match: Annotated[str, typer.Option(help="coverage or containment, for the attainable recall.")] = "coverage",
    unicode_folding: Annotated[
        bool, typer.Option(help="Match also across compatibility forms, typographic quotes and dashes.")
    ] = False,
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
            chunkers=chunker or (),
            match=match,
            unicode_folding=unicode_folding,
            ks=ks,
            embedding=embedding,
            strict=strict,
            as_json=as_json,
        )
    )


@app.command()
def relabel(
    dataset: Annotated[str, typer.Argument(help="A corpus by name, a dataset folder, or a .jsonl file of queries.")],
    out: Annotated[Path, typer.Argument(help="The new file of queries.")],
    documents: Annotated[
        Path | None,
        typer.Option(help="The documents, when the dataset does not bring them: a file or a folder."),
    ] = None,
    to: Annotated[str, typer.Option(help="anchors (the words at both ends) or offsets.")] = "anchors",
    overwrite: Annotated[bool, typer.Option(help="Replace a file that is already there.")] = False,
) -> None:
    """Move labels that are literal texts to where these stand in the documents, in a new file."""
    from raglift.cli import audit as command

    command.run_relabel(dataset, out, documents=documents, to=to, overwrite=overwrite)


@app.command()
def walkthrough(
    question: Annotated[
        str | None,
        typer.Option(help="A question of the labelled set, by its id or text. Default: the tutorial's."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Walk through all labelled questions.")] = False,
    corpus: Annotated[str, typer.Option(help="The corpus to walk through.")] = "war_and_peace",
    embedding: Embedding = "minilm",
    reranker: Reranker = "late-interaction",
    k: Annotated[int, typer.Option("-k", help="How many hits are retrieved, reranked and scored.")] = 10,
    chunk_size: ChunkSize = 1000,
    chunk_overlap: ChunkOverlap = 100,
    dtype: DtypeOption = "auto",
    profile: Annotated[str, typer.Option(help="Whose metric conventions: tutorial, default or autorag.")] = "tutorial",
) -> None:
    """Reproduce the War and Peace retrieval tutorial, step by step, on the real book."""
    from raglift.cli import evaluate as command
    from raglift.cli import walkthrough as walk

    parts = command.parts("dense", embedding, command.make_chunker("recursive", chunk_size, chunk_overlap), dtype)
    walk.run(corpus=corpus, question=question, every=every, parts=parts, reranker=reranker, k=k, profile=profile)


@app.command()
def demo() -> None:
    """Evaluate on a small corpus that comes with raglift: no network, no key, a few seconds."""
    from raglift.cli import demo as command

    command.run()


@app.command()
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
        typer.Option(help="The documents, when the source does not bring them: a folder, or a .jsonl file."),
    ] = None,
    split: Annotated[str | None, typer.Option(help="BEIR: which file of qrels/ to read. Default: test.")] = None,
    topics: Annotated[Path | None, typer.Option(help="TREC: the topics, when the source is a qrels file.")] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="CSV: what a column holds and its name, as query=Question; once for each."),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="CSV: what stands between the columns.")] = None,
    evidence: Annotated[str | None, typer.Option(help="SQuAD: answer (default) or context.")] = None,
    labels: Annotated[str | None, typer.Option(help="AutoRAG: spans (default), texts or ids.")] = None,
    drop: Annotated[
        str,
        typer.Option(help="What may be left out: grades,ids,judged_irrelevant,metadata,places,tags, with commas."),
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
            options=command.options(
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


@corpus_app.command("list")
def list_corpora() -> None:
    """List the corpora, and whether their texts are on this machine."""
    from raglift.cli import corpus as command

    command.list_all()


@corpus_app.command("show")
def show_corpus(name: Annotated[str, typer.Argument(help="The corpus's name.")]) -> None:
    """Show one corpus: source, licence, queries, where its text is."""
    from raglift.cli import corpus as command

    command.show(name)


@corpus_app.command("fetch")
def fetch_corpus(
    name: Annotated[str, typer.Argument(help="The corpus's name.")],
    url: Annotated[str | None, typer.Option(help="Fetch from this address instead of the corpus's own.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds for each address, retries included.")] = 120.0,
) -> None:
    """Download a corpus's text into the user's cache and check that its labels resolve in it."""
    from raglift.cli import corpus as command

    command.fetch_text(name, url=url, timeout=timeout)
