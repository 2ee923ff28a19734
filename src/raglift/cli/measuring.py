"""The options of the commands that measure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import (
    CHUNKER,
    AsJson,
    Chunker,
    DatasetSource,
    DeviceOption,
    Documents,
    DtypeOption,
    Embedding,
    Encoding,
    Include,
    Mapping,
    Metrics,
    Output,
    Overwrite,
    Profile,
    Reranker,
    Retriever,
    Track,
    TrackFiles,
    TrackProject,
    UnicodeFolding,
)
from raglift.cli.choices import (
    MATCH_RULES,
    RETRIEVERS,
    choice,
    completion,
    corpus_names,
    metric_names,
    separate,
)
from raglift.cli.command import MEASURE, RARE, START, command, new_group
from raglift.running.settings import Settings

group = new_group()


@command(
    group,
    "demo",
    START,
    "See it work on a small bundled corpus",
    run="raglift.cli.demo:run",
    examples=["raglift demo", "raglift demo --open"],
)
@dataclass(frozen=True)
class Demo:
    """Evaluate on a small bundled corpus, before and after reranking, and write an HTML report.

    Takes a minute or two, and a few seconds when it is run again. Needs no network and no API key.
    """

    retriever: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion(RETRIEVERS),
            help="raglift's own retriever alone, such as bm25. Default: dense before and after reranking, or bm25 if "
            "the extra “local” is not installed.",
        ),
    ] = None
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Folder for report.html and the saved run. Those of an earlier demo are replaced."
        ),
    ] = Path("raglift-demo")
    opened: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False
    as_json: AsJson = False


@command(
    group,
    "walkthrough",
    START,
    "Retrieval step by step on War and Peace",
    run="raglift.cli.walkthrough:run",
    examples=["raglift corpus fetch war_and_peace", "raglift walkthrough", "raglift walkthrough --all"],
)
@dataclass(frozen=True)
class Walkthrough:
    """Reproduce the War and Peace retrieval tutorial, step by step, on the real book."""

    question: Annotated[
        str | None,
        typer.Option(help="A labelled question, by its id or text. Default: the tutorial's."),
    ] = None
    every: Annotated[bool, typer.Option("--all", help="Walk through all labelled questions.")] = False
    corpus: Annotated[str, typer.Option(autocompletion=completion(corpus_names), help="Corpus to walk through.")] = (
        "war_and_peace"
    )
    encoding: Encoding = None
    embedding: Embedding = "minilm"
    reranker: Reranker = "late-interaction"
    k: Annotated[
        tuple[str, ...],
        typer.Option(
            "-k", help="Depths of the metrics; the deepest is the number of hits that are retrieved and reranked."
        ),
        separate,
    ] = ("10",)
    chunker: Chunker = CHUNKER
    dtype: DtypeOption = "auto"
    device: DeviceOption = "auto"
    profile: Profile = "tutorial"
    what_helps: Annotated[
        bool | None,
        typer.Option(
            "--what-helps/--no-what-helps",
            help="As the last step, measure what would have helped: more candidates, hybrid retrieval, smaller chunks "
            "(only with a local embedding model). It takes several times as long. Default: for one question, not "
            "with --all.",
        ),
    ] = None
    as_json: AsJson = False


@command(
    group,
    "evaluate",
    MEASURE,
    "Measure one system on labelled questions",
    run="raglift.cli.evaluate:run",
    examples=[
        "raglift evaluate shop_support -o runs/bm25 \\",
        "    --retriever bm25 --reranker late-interaction",
        "raglift evaluate my.jsonl --system app:search -k 5,10",
    ],
)
@dataclass(frozen=True, kw_only=True)
class Evaluate(Settings):
    """Evaluate a retrieval system on labelled queries, before and after reranking."""

    dataset: DatasetSource
    system: Annotated[
        str | None,
        typer.Option(
            help="Your own system: module:name of a retriever, query engine or function, or of a function without "
            "arguments that returns one; the address of an HTTP service; or an MCP server: 'mcp:COMMAND#tool' or "
            "mcp+http://…#tool."
        ),
    ] = None
    documents: Documents = None
    retriever: Retriever = "dense"
    embedding: Embedding = "minilm"
    reranker: Reranker = "none"
    chunker: Chunker = CHUNKER
    candidates: int | None = None
    ks: Annotated[
        tuple[str, ...],
        typer.Option(
            "-k",
            help="Depths of the metrics: numbers of hits and budgets of context tokens, such as '1,5,tokens(2000)'. "
            "Default: 1,3,5,10, and the depth that all stages return if that is less.",
        ),
        separate,
    ] = ()
    metrics: Metrics = ()
    match: Annotated[
        str,
        choice(
            MATCH_RULES,
            help="Match rule: containment (a single hit must contain the passage), coverage (hits may cover it "
            "together: fair across chunk sizes, the default of sweeps) or fuzzy (for scanned or cleaned texts).",
        ),
    ] = "containment"
    budget: Annotated[
        int | None,
        typer.Option(
            help="Tokens of hits in a prompt, such as 2000: as many hits are requested as fill it, and recall is "
            "measured up to it. Default: budget in [tool.raglift] of pyproject.toml, else none."
        ),
    ] = None
    concurrency: int = 1
    output: Output = None
    details: Annotated[
        bool,
        typer.Option("--all", help="Also print every metric at every depth, winners and losers, tags and settings."),
    ] = False
    as_json: AsJson = False
    mapping: Annotated[Mapping, RARE] = None
    encoding: Annotated[Encoding, RARE] = None
    include: Annotated[Include, RARE] = ()
    profile: Annotated[Profile, RARE] = "default"
    match_threshold: Annotated[
        float | None,
        typer.Option(
            help="Above 0, at most 1: share of the passage to cover (default 0.5), or similarity for fuzzy (default "
            "0.9)."
        ),
        RARE,
    ] = None
    unicode_folding: Annotated[UnicodeFolding, RARE] = False
    device: Annotated[DeviceOption, RARE] = "auto"
    k: Annotated[
        int | None,
        typer.Option(
            "--hits",
            help="Number of hits requested from a system that takes it as an argument. Default: 10, or the deepest "
            "depth (-k) if that is more.",
        ),
        RARE,
    ] = None
    version: Annotated[
        str | None,
        typer.Option(
            "--system-version",
            help="With --system: an identifier of its current version, such as a commit hash. Answers are cached under "
            "it, and later runs do not ask again.",
        ),
        RARE,
    ] = None
    overwrite: Annotated[Overwrite, RARE] = False
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="With --system and --output: continue a run that was stopped, without repeating answered queries.",
        ),
        RARE,
    ] = False
    track: Annotated[Track, RARE] = ()
    track_project: Annotated[TrackProject, RARE] = None
    track_files: Annotated[TrackFiles, RARE] = True


@command(
    group,
    "trace",
    MEASURE,
    "Measure an agent by its traces",
    run="raglift.cli.trace:run",
    examples=[
        "raglift trace traces.jsonl --data my.jsonl -o runs/agent",
        "raglift trace exports/ --data my.jsonl --join-by query_id",
        "raglift trace --listen --data my.jsonl -o runs/agent",
    ],
)
@dataclass(frozen=True)
class Trace:
    """Evaluate what an agent searched, from its traces.

    Reads OpenTelemetry's JSON with the conventions of OpenInference or OpenTelemetry for generative AI, and rows of
    other exports by --column. With --listen, receive them: set OTEL_EXPORTER_OTLP_ENDPOINT to http://127.0.0.1:4318
    for the application.
    """

    data: Annotated[
        str,
        typer.Option(
            autocompletion=completion(corpus_names),
            help="Labelled queries: a bundled corpus by name, a .jsonl file, or a dataset's file or folder.",
        ),
    ]
    files: Annotated[
        tuple[Path, ...],
        typer.Argument(help="Files of traces or folders of them: JSON or JSON Lines, also packed with gzip."),
    ] = ()
    documents: Documents = None
    encoding: Encoding = None
    include: Include = ()
    join_by: Annotated[
        str | None,
        typer.Option(
            help="Attribute, field of the metadata, or tag (name:value) that holds the id of the query. Default, and "
            "where a trace lacks it: the text of the question."
        ),
    ] = None
    doc_key: Annotated[str | None, typer.Option(help="Metadata key of the hits that holds the document id.")] = None
    text_tools: Annotated[
        tuple[str, ...],
        typer.Option("--text-tool", help="Names of tools whose answer is a text: all of it is one hit."),
        separate,
    ] = ()
    columns: Annotated[
        tuple[str, ...],
        typer.Option("--column", help="Of another export: a part of a span and its column, such as kind=run_type."),
        separate,
    ] = ()
    only_joined: Annotated[
        bool,
        typer.Option(
            "--only-joined", help="Leave out queries without a trace, where not all were asked. Default: they are 0."
        ),
    ] = False
    name: Annotated[str, typer.Option(help="What the application is called in reports.")] = "agent"
    listen: Annotated[
        bool, typer.Option("--listen", help="Receive traces over HTTP until Ctrl-C, then evaluate them.")
    ] = False
    address: Annotated[str, typer.Option(help="With --listen: the address and port, on this machine.")] = (
        "127.0.0.1:4318"
    )
    keep: Annotated[
        Path | None,
        typer.Option(
            help="With --listen: the file that received spans are kept in as they come, without secrets; it can be "
            "read again. Default: a new one in raglift-traces."
        ),
    ] = None
    stop_after: Annotated[
        int | None, typer.Option(help="With --listen: stop when so many traces have come in whole.")
    ] = None
    idle: Annotated[
        float | None, typer.Option(help="With --listen: stop when nothing came for so many seconds, at the start too.")
    ] = None
    ks: Annotated[
        tuple[str, ...],
        typer.Option("-k", help="Depths of the metrics: of measures of sessions, the first hits of each call."),
        separate,
    ] = ()
    metrics: Annotated[
        tuple[str, ...],
        typer.Option(
            autocompletion=completion(metric_names),
            help="Metrics, such as 'session_ndcg@10,recall@calls(1)'. Default: those of sessions.",
        ),
        separate,
    ] = ()
    profile: Profile = "default"
    match: Annotated[str, choice(MATCH_RULES, help="Match rule, as in evaluate.")] = "containment"
    match_threshold: Annotated[
        float | None,
        typer.Option(help="Share of the passage to cover (default 0.5), or similarity for fuzzy (default 0.9)."),
    ] = None
    unicode_folding: UnicodeFolding = False
    output: Output = None
    overwrite: Overwrite = False
    details: Annotated[
        bool, typer.Option("--all", help="Also print every metric, and all traces that are not joined.")
    ] = False
    as_json: AsJson = False
