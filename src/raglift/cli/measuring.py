"""The commands that measure; each is imported when it is run."""

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
    CompareMatch,
    DatasetSource,
    Documents,
    DtypeOption,
    Embedding,
    Encoding,
    HoldOut,
    Include,
    Mapping,
    Names,
    Overwrite,
    Price,
    Primary,
    Reranker,
    Save,
    Track,
    TrackFiles,
    TrackProject,
    UnicodeFolding,
)

DEFAULT_BASELINE = "by default the first of two, else the only plain BM25, else the best"

group = typer.Typer(rich_markup_mode=None)


@group.command()
def evaluate(
    dataset: DatasetSource,
    system: Annotated[
        str | None,
        typer.Option(
            help="Your own system: module:name of a retriever, query engine or function, "
            "or of a function without arguments that makes one; or the address of an HTTP service."
        ),
    ] = None,
    mapping: Mapping = None,
    documents: Documents = None,
    encoding: Encoding = None,
    include: Include = None,
    retriever: Annotated[
        str, typer.Option(help="raglift's own: dense, bm25, hybrid, or hybrid(dense=0.7,bm25=0.3).")
    ] = "dense",
    embedding: Embedding = "minilm",
    reranker: Reranker = "none",
    chunker: ChunkerKind = "recursive",
    chunk_size: ChunkSize = 1000,
    chunk_overlap: ChunkOverlap = 100,
    chunk_unit: ChunkUnit = None,
    dtype: DtypeOption = "auto",
    ks: Annotated[
        str | None,
        typer.Option(
            "--ks",
            "-k",
            help="The depths at which metrics are taken, with commas: numbers of hits, and budgets of context tokens, "
            "as '1,5,tokens(2000)'; by default 1,3,5,10, and the depth that all stages return if that is less.",
        ),
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(help="How many hits are retrieved for --reranker, and with --depth deep; 50.")
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Measures with commas, as 'mrr,ndcg@20,recall@tokens(2000)'; by default all but DCG, IDCG, "
            "ContextTokens and span metrics."
        ),
    ] = None,
    profile: Annotated[str, typer.Option(help=f"Whose metric conventions: {PROFILE_NAMES}.")] = "default",
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
    unicode_folding: UnicodeFolding = False,
    depth: Annotated[
        str,
        typer.Option(
            help="deployed asks every part with its own settings; deep asks for as many hits as there are candidates."
        ),
    ] = "deployed",
    hits: Annotated[
        int | None,
        typer.Option(
            help="How many hits a system is asked for that takes the number as an argument; by default 10, or "
            "the deepest of the depths (--ks) if that is more."
        ),
    ] = None,
    doc_key: Annotated[str | None, typer.Option(help="The metadata key of the hits that holds document ids.")] = None,
    concurrency: Annotated[int, typer.Option(help="Queries under way at once, for remote systems.")] = 1,
    timeout: Annotated[float | None, typer.Option(help="The most seconds for one query.")] = None,
    retries: Annotated[int, typer.Option(help="More tries for a call that failed for a passing reason.")] = 2,
    on_error: Annotated[str, typer.Option(help="keep counts a failed query as 0; raise stops.")] = "keep",
    latency: Annotated[
        int,
        typer.Option(
            help="Measure latency too, over this many queries, each alone and without the cache; 50 is usual."
        ),
    ] = 0,
    max_model_calls: Annotated[
        int | None,
        typer.Option(
            help="Stop before the system calls models more often: after its first query, if all would come to more."
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(help="US dollars: stop before the system's calls of models cost more, where the price is known."),
    ] = None,
    price: Price = None,
    save: Save = None,
    overwrite: Overwrite = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="With --system and --save: go on with a run that was stopped; what the system answered is not asked "
            "again.",
        ),
    ] = False,
    system_version: Annotated[
        str | None,
        typer.Option(
            help="With --system: what stands for it as it is now and for no other, as a commit's hash. Its answers are "
            "kept in the cache, and no later run asks for them again."
        ),
    ] = None,
    track: Track = None,
    track_project: TrackProject = None,
    track_files: TrackFiles = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Evaluate a retrieval system on labelled queries, before and after reranking."""
    from raglift.cli import evaluate as command
    from raglift.cli.model_options import parse_price
    from raglift.cli.tracking import Tracking
    from raglift.components.chunkers import make_chunker
    from raglift.matching.rule import MatchRule
    from raglift.running.options import DEFAULT_KS

    command.run(
        command.Request(
            dataset=dataset,
            system=system,
            mapping=mapping,
            documents=documents,
            encoding=encoding,
            include=tuple(include or ()),
            parts=command.parts(
                retriever, embedding, make_chunker(chunker, chunk_size, chunk_overlap, chunk_unit), dtype
            ),
            reranker=reranker,
            ks=DEFAULT_KS if ks is None else command.depths(ks),
            candidates=candidates,
            profile=profile,
            match=MatchRule.for_profile(profile, match, threshold=match_threshold, unicode_folding=unicode_folding),
            options=command.options(
                metrics=metrics,
                dtype=dtype,
                depth=depth,
                k=hits,
                doc_key=doc_key,
                concurrency=concurrency,
                timeout=timeout,
                retries=retries,
                on_error=on_error,
                latency=latency,
                max_model_calls=max_model_calls,
                max_cost=max_cost,
                price=None if price is None else parse_price(price),
            ),
            save=save,
            overwrite=overwrite,
            tracking=Tracking.asked(track, track_project, track_files),
            as_json=as_json,
            resume=resume,
            system_version=system_version,
        )
    )


@group.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of saved evaluations; one shows its reranker lift.")],
    baseline: Annotated[
        str | None, typer.Option(help=f"The run that the others are compared with, by name; {DEFAULT_BASELINE}.")
    ] = None,
    primary: Primary = None,
    names: Names = None,
    seed: Annotated[int, typer.Option(help="Of the permutation tests and the choice of halves.")] = 0,
    confidence: Annotated[float, typer.Option(help="How often intervals hold the true value.")] = 0.95,
    hold_out: HoldOut = False,
    match: CompareMatch = None,
    by_tag: Annotated[bool, typer.Option("--by-tag", help="Also show the queries of each tag.")] = False,
    track: Track = None,
    track_project: TrackProject = None,
    track_files: TrackFiles = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Compare saved evaluations on the same queries: which differences are real. Of one: its reranker lift."""
    from raglift.cli import compare as command
    from raglift.cli.tracking import Tracking

    command.run(
        command.Request(
            runs=tuple(runs),
            baseline=baseline,
            primary=primary,
            names=names,
            seed=seed,
            confidence=confidence,
            hold_out=hold_out,
            match=match,
            by_tag=by_tag,
            tracking=Tracking.asked(track, track_project, track_files),
            as_json=as_json,
        )
    )


@group.command()
def rescore(
    run: Annotated[Path, typer.Argument(help="The folder of a saved evaluation.")],
    ks: Annotated[
        str | None, typer.Option("--ks", "-k", help="The depths, as in evaluate; by default those of the run.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Measures with commas, as in evaluate; by default those of the run.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help=f"{PROFILE_NAMES}; by default the profile of the run.")] = None,
    match: Annotated[
        str | None, typer.Option(help="containment, coverage or fuzzy; by default as the run was matched.")
    ] = None,
    match_threshold: Annotated[
        float | None, typer.Option(help="With --match: the part to be covered, or how alike; 0.5, or 0.9 for fuzzy.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(help="Other labels of the same queries: a dataset, as in evaluate.")
    ] = None,
    documents: Documents = None,
    encoding: Encoding = None,
    include: Include = None,
    save: Save = None,
    overwrite: Overwrite = False,
    track: Track = None,
    track_project: TrackProject = None,
    track_files: TrackFiles = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Score a saved evaluation again, by another match rule, metrics or labels, without asking the system again."""
    from raglift.cli import rescore as command
    from raglift.cli.tracking import Tracking

    command.run(
        command.Request(
            run=run,
            ks=ks,
            metrics=metrics,
            profile=profile,
            match=match,
            match_threshold=match_threshold,
            labels=labels,
            documents=documents,
            encoding=encoding,
            include=tuple(include or ()),
            save=save,
            overwrite=overwrite,
            tracking=Tracking.asked(track, track_project, track_files),
            as_json=as_json,
        )
    )


@group.command()
def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Folders of saved evaluations: one, or several to compare; or one of a sweep.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The file; by default report.html. Markdown is printed unless it is given."
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", help="html, markdown, csv or parquet; by default what the file's ending says."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help=f"The run or cell that the others are compared with; {DEFAULT_BASELINE}.")
    ] = None,
    primary: Primary = None,
    names: Names = None,
    seed: Annotated[
        int | None, typer.Option(help="Of the permutation tests and the choice of halves; 0, or the sweep's own.")
    ] = None,
    confidence: Annotated[float | None, typer.Option(help="How often intervals hold the true value; 0.95.")] = None,
    hold_out: HoldOut = False,
    match: CompareMatch = None,
    overwrite: Annotated[
        bool, typer.Option(help="Replace a file that is already there; an HTML report is replaced in any case.")
    ] = False,
) -> None:
    """Write a report to look at: one HTML file with the figures, the plots and every query. Or a table."""
    from raglift.cli import report as command

    command.run(
        command.Request(
            runs=tuple(runs),
            output=output,
            form=form,
            baseline=baseline,
            primary=primary,
            names=names,
            seed=seed,
            confidence=confidence,
            hold_out=hold_out,
            match=match,
            overwrite=overwrite,
        )
    )


@group.command()
def explain(
    run: Annotated[Path, typer.Argument(help="The folder of a saved evaluation.")],
    query: Annotated[str, typer.Argument(help="The id of a query.")],
    stage: Annotated[str | None, typer.Option(help="The stage; by default the last.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Show which hits of one query matched what, and what they earned in each metric."""
    from raglift.cli import explain as command

    command.run(run, query, stage=stage, as_json=as_json)


@group.command()
def walkthrough(
    question: Annotated[
        str | None,
        typer.Option(help="A question of the labelled set, by its id or text. Default: the tutorial's."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Walk through all labelled questions.")] = False,
    corpus: Annotated[str, typer.Option(help="The corpus to walk through.")] = "war_and_peace",
    encoding: Encoding = None,
    embedding: Embedding = "minilm",
    reranker: Reranker = "late-interaction",
    k: Annotated[int, typer.Option("-k", help="How many hits are retrieved, reranked and scored.")] = 10,
    chunk_size: ChunkSize = 1000,
    chunk_overlap: ChunkOverlap = 100,
    dtype: DtypeOption = "auto",
    profile: Annotated[str, typer.Option(help=f"Whose metric conventions: {PROFILE_NAMES}.")] = "tutorial",
    what_helps: Annotated[
        bool | None,
        typer.Option(
            "--what-helps/--no-what-helps",
            help="As the last step, measure what would have helped: more candidates, hybrid retrieval, smaller chunks "
            "(only with an embedding model on this machine). By default for one question, not with --all: it takes "
            "several times as long.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the steps.")] = False,
) -> None:
    """Reproduce the War and Peace retrieval tutorial, step by step, on the real book."""
    from raglift.apps.walkthrough import Settings
    from raglift.cli import evaluate as command
    from raglift.cli import walkthrough as walk
    from raglift.components.chunkers import make_chunker

    parts = command.parts("dense", embedding, make_chunker("recursive", chunk_size, chunk_overlap), dtype)
    settings = Settings(parts, reranker, k, profile, what_helps)
    walk.run(corpus=corpus, encoding=encoding, question=question, every=every, settings=settings, as_json=as_json)


@group.command()
def demo(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Evaluate on a small corpus that comes with raglift: no network, no key, a few seconds."""
    from raglift.cli import demo as command

    command.run(as_json=as_json)


@group.command()
def sweep(
    file: Annotated[
        Path, typer.Argument(help="A YAML file that says what to measure; or the folder of a sweep, to print it.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--output", "--out", "-o", help="Where the sweep is kept; by default runs/ and the file's name."),
    ] = None,
    plan: Annotated[bool, typer.Option(help="Print what there is to do, and do nothing.")] = False,
    resume: Annotated[bool, typer.Option(help="Go on with a sweep that was stopped.")] = False,
    engine: Annotated[str, typer.Option(help="local, or ray for a Ray cluster.")] = "local",
    address: Annotated[str | None, typer.Option(help="Of the Ray cluster; else Ray starts on this machine.")] = None,
    max_model_calls: Annotated[
        int | None,
        typer.Option(help="Stop before your systems, all cells together, call models more often in this run."),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            help="US dollars: stop before calls of models and embeddings, all cells together, cost more in this run."
        ),
    ] = None,
    price: Price = None,
    export_best: Annotated[
        Path | None,
        typer.Option(help="Write the recommended pipeline here, as scripts for LangChain and LlamaIndex."),
    ] = None,
    export_cell: Annotated[
        str | None, typer.Option(help="With --export-best: the name or key of another cell than the recommended.")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="With --export-best: replace scripts that are there.")] = False,
    track: Track = None,
    track_project: TrackProject = None,
    track_files: TrackFiles = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Measure many systems, sharing their work: chunk sizes, embedding models, retrievers, rerankers."""
    from raglift.cli import sweep as command
    from raglift.cli.model_options import parse_price
    from raglift.cli.tracking import Tracking
    from raglift.running.model_calls import CallLimits

    tracking = Tracking.asked(track, track_project, track_files)
    command.run(
        command.Request(
            file,
            out,
            plan,
            resume,
            engine,
            address,
            tracking,
            as_json,
            export_best=export_best,
            export_cell=export_cell,
            overwrite=overwrite,
            limits=CallLimits(max_model_calls, max_cost, None if price is None else parse_price(price)),
        )
    )
