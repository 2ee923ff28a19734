"""The commands about language models and human annotators; each is imported when it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import (
    PROFILE_NAMES,
    ChunkerKind,
    ChunkOverlap,
    ChunkSize,
    ChunkUnit,
    Concurrency,
    Documents,
    DtypeOption,
    Embedding,
    Encoding,
    Include,
    LanguageModelName,
    Mapping,
    MaxCost,
    Price,
    Reranker,
    Temperature,
)

group = typer.Typer(rich_markup_mode=None)


@group.command()
def grade(
    runs: Annotated[list[Path], typer.Argument(help="Folders of saved evaluations, or the folder of a sweep.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write the labels: a .jsonl file.")
    ] = None,
    depth: Annotated[int, typer.Option(help="How many hits of each ranking are graded.")] = 10,
    model: LanguageModelName = "openai:gpt-4o-mini",
    scale: Annotated[int, typer.Option(help="The highest grade: 3 or 5; 0 is irrelevant.")] = 3,
    rubric: Annotated[
        Path | None, typer.Option(help="A text file that says what each grade means, in place of raglift's.")
    ] = None,
    relevant_from: Annotated[int, typer.Option(help="The lowest grade that counts as relevant.")] = 1,
    fill: Annotated[
        bool, typer.Option("--fill", help="Keep the labels that are there; grades only where these say nothing.")
    ] = False,
    documents: Documents = None,
    encoding: Encoding = None,
    include: Include = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what it would cost, and ask nothing.")] = False,
    max_cost: MaxCost = None,
    price: Price = None,
    concurrency: Concurrency = 8,
    temperature: Temperature = "0",
    overwrite: Annotated[bool, typer.Option(help="Replace a file of labels that is already there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every grade and its reason.")] = False,
) -> None:
    """Let a language model grade what systems returned, and write the grades as labels."""
    from raglift.cli import grade as command
    from raglift.cli.model_options import model_and_limits

    asked, limits = model_and_limits(model, temperature, concurrency, max_cost, price, to_estimate=estimate)
    command.run(
        command.Request(
            runs=tuple(runs),
            output=output,
            depth=depth,
            scale=scale,
            rubric=rubric,
            relevant_from=relevant_from,
            fill=fill,
            documents=documents,
            encoding=encoding,
            include=tuple(include or ()),
            model=asked,
            limits=limits,
            estimate=estimate,
            overwrite=overwrite,
            as_json=as_json,
        )
    )


@group.command()
def precision(
    runs: Annotated[list[Path], typer.Argument(help="Folders of saved evaluations, or the folder of a sweep.")],
    ks: Annotated[
        str | None,
        typer.Option("--ks", "-k", help="The depths, with commas; by default 1,3,5,10, as deep as the runs."),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(help='The answers that were given, which say what is useful: lines of {"id": …, "answer": …}.'),
    ] = None,
    model: LanguageModelName = "openai:gpt-4o-mini",
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what it would cost, and ask nothing.")] = False,
    max_cost: MaxCost = None,
    price: Price = None,
    concurrency: Concurrency = 8,
    temperature: Temperature = "0",
    seed: Annotated[int, typer.Option(help="Of the statistics.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every verdict and its reason.")] = False,
) -> None:
    """Let a language model say of each of the first hits whether it helps to answer. No labels are needed."""
    from raglift.cli import precision as command
    from raglift.cli.evaluate import numbers_of_hits
    from raglift.cli.model_options import model_and_limits

    asked, limits = model_and_limits(model, temperature, concurrency, max_cost, price, to_estimate=estimate)
    command.run(
        command.Request(
            runs=tuple(runs),
            ks=None if ks is None else numbers_of_hits(ks),
            answers=answers,
            model=asked,
            limits=limits,
            seed=seed,
            estimate=estimate,
            as_json=as_json,
        )
    )


@group.command()
def generate(
    source: Annotated[
        str, typer.Argument(help="A corpus by name, a dataset's folder, or a file or folder of documents.")
    ],
    encoding: Encoding = None,
    include: Include = None,
    n: Annotated[int, typer.Option("-n", help="How many questions are wanted.")] = 50,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to: a .jsonl file of queries, or a new folder with documents too."),
    ] = None,
    styles: Annotated[
        str, typer.Option(help="Which styles, with weights if not 1.")
    ] = "natural=4,keyword=2,multi=2,typo=1,unanswerable=1",
    seed: Annotated[int, typer.Option(help="Of the passages that are drawn, and of the mistakes in typing.")] = 0,
    passage_size: Annotated[int, typer.Option(help="The most characters of a passage that is asked about.")] = 800,
    model: LanguageModelName = "openai:gpt-4o-mini",
    temperature: Temperature = "0",
    concurrency: Concurrency = 8,
    max_cost: MaxCost = None,
    price: Price = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what it would cost, and ask nothing.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write what was thrown away and why to a .md or .json file.")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace files that are already there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Let a language model write questions about a corpus, with labels, and throw away those that are not good."""
    from raglift.cli import generate as command
    from raglift.cli.model_options import model_and_limits

    asked, limits = model_and_limits(model, temperature, concurrency, max_cost, price, to_estimate=estimate)
    command.run(
        command.Request(
            source=source,
            encoding=encoding,
            include=tuple(include or ()),
            n=n,
            output=output,
            styles=styles,
            seed=seed,
            passage_size=passage_size,
            model=asked,
            limits=limits,
            estimate=estimate,
            report=report,
            overwrite=overwrite,
            as_json=as_json,
        )
    )


@group.command()
def review(
    labels: Annotated[Path, typer.Argument(help="The file of queries to judge for; made from the runs when missing.")],
    runs: Annotated[
        list[Path], typer.Argument(help="Folders of saved evaluations of the same queries, or the folder of one sweep.")
    ],
    judged: Annotated[
        Path | None,
        typer.Option(help="A file of queries with a model's labels, to compare with; by default those in LABELS."),
    ] = None,
    documents: Documents = None,
    encoding: Encoding = None,
    include: Include = None,
    scale: Annotated[int, typer.Option(help="The highest grade: 3 or 5.")] = 3,
    depth: Annotated[int, typer.Option(help="How many hits of each ranking are judged.")] = 10,
    port: Annotated[int, typer.Option(help="Where to listen on 127.0.0.1; 0 for any port that is free.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Judge what systems returned, by hand: a page on this machine that writes labels as you go."""
    from raglift.cli import review as command

    command.run(
        command.Request(
            labels=labels,
            runs=tuple(runs),
            judged=judged,
            documents=documents,
            encoding=encoding,
            include=tuple(include or ()),
            scale=scale,
            depth=depth,
            port=port,
            browser=browser,
        )
    )


@group.command()
def chat(
    corpus: Annotated[
        str | None,
        typer.Argument(
            help="A corpus by name, or a dataset's file or folder: its labelled questions are measured. Default: "
            "war_and_peace, or no labels where --documents or --system says what is asked."
        ),
    ] = None,
    documents: Documents = None,
    encoding: Encoding = None,
    include: Include = None,
    system: Annotated[
        str | None,
        typer.Option(
            help="Your own system, as in evaluate: module:name of it or of a function that makes it, or an address."
        ),
    ] = None,
    mapping: Mapping = None,
    question: Annotated[
        list[str] | None, typer.Option(help="Ask this, a text or a labelled question's id, and end; repeatable.")
    ] = None,
    model: LanguageModelName = "openai:gpt-4o-mini",
    temperature: Temperature = "0",
    retriever: Annotated[
        str,
        typer.Option(
            help="raglift's own: dense, bm25, hybrid, or with settings: bm25(language=de,k1=0.9,b=0.4), "
            "hybrid(dense=0.7,bm25=0.3)."
        ),
    ] = "dense",
    embedding: Embedding = "minilm",
    reranker: Reranker = "late-interaction",
    k: Annotated[int, typer.Option("-k", help="How many hits are shown and scored.")] = 10,
    candidates: Annotated[
        int | None, typer.Option(help="How many hits are retrieved for the reranker; by default as many as are shown.")
    ] = None,
    context: Annotated[int, typer.Option(help="How many of the reranked hits the answer may rest on.")] = 5,
    chunker: ChunkerKind = "recursive",
    chunk_size: ChunkSize = 1000,
    chunk_overlap: ChunkOverlap = 100,
    chunk_unit: ChunkUnit = None,
    dtype: DtypeOption = "auto",
    profile: Annotated[str, typer.Option(help=f"Whose metric conventions: {PROFILE_NAMES}.")] = "default",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a question.")] = False,
) -> None:
    """Ask a corpus: the hits before and after reranking, an answer from them alone, and its metrics where labelled."""
    from raglift.cli import chat as command
    from raglift.cli import evaluate as measuring
    from raglift.components.chunkers import make_chunker

    command.run(
        command.Request(
            corpus=corpus,
            documents=documents,
            encoding=encoding,
            include=tuple(include or ()),
            system=system,
            mapping=mapping,
            parts=measuring.parts(
                retriever, embedding, make_chunker(chunker, chunk_size, chunk_overlap, chunk_unit), dtype
            ),
            reranker=reranker,
            k=k,
            context=context,
            candidates=candidates,
            profile=profile,
            model=model,
            temperature=temperature,
            questions=tuple(question or ()),
            as_json=as_json,
        )
    )
