"""The options of the commands that measure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import (
    CHUNKER,
    MATCH_RULES,
    RETRIEVERS,
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
    Several,
    UnicodeFolding,
    choice,
    completion,
    corpus_names,
    metric_names,
)
from raglift.cli.command import MEASURE, RARE, START, FromProject, command, new_group
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

    Takes less than a minute, and a few seconds when it is run again. Needs no network and no API key.
    """

    retriever: Annotated[str | None, typer.Option(autocompletion=completion(RETRIEVERS))] = None
    """raglift's own retriever alone, such as bm25. Default: hybrid before and after a cross-encoder, or bm25 if the
    extra “models” is not installed."""
    output: Annotated[Path, typer.Option("--output", "-o")] = Path("raglift-demo")
    """Folder for report.html and the saved run. Those of an earlier demo are replaced."""
    opened: Annotated[bool, typer.Option("--open")] = False
    """Open the report in the browser."""
    as_json: AsJson = False


@command(
    group,
    "walkthrough",
    START,
    "Retrieval step by step on War and Peace",
    run="raglift.cli.demo:run_walkthrough",
    examples=["raglift corpus fetch war_and_peace", "raglift walkthrough", "raglift walkthrough --all"],
)
@dataclass(frozen=True)
class Walkthrough:
    """Reproduce the War and Peace retrieval tutorial, step by step, on the real book."""

    question: str | None = None
    """A labelled question, by its id or text. Default: the tutorial's."""
    every: Annotated[bool, typer.Option("--all")] = False
    """Walk through all labelled questions."""
    corpus: Annotated[str, typer.Option(autocompletion=completion(corpus_names))] = "war_and_peace"
    """Corpus to walk through."""
    encoding: Encoding = None
    embedding: Embedding = "bge-small"
    reranker: Reranker = "cross-encoder"
    k: Annotated[Several, typer.Option("-k")] = ("10",)
    """Depths of the metrics; the deepest is the number of hits that are retrieved and reranked."""
    chunker: Chunker = CHUNKER
    dtype: DtypeOption = "auto"
    device: DeviceOption = "auto"
    profile: Profile = "tutorial"
    as_json: AsJson = False


@command(
    group,
    "evaluate",
    MEASURE,
    "Measure one system on labelled questions",
    run="raglift.cli.evaluate:run",
    examples=[
        "raglift evaluate shop_support -o runs/bm25 \\",
        "    --retriever bm25 --reranker cross-encoder",
        "raglift evaluate my.jsonl --system app:search -k 5,10",
    ],
)
@dataclass(frozen=True, kw_only=True)
class Evaluate(Settings):
    """Evaluate a retrieval system on labelled questions, before and after reranking."""

    dataset: Annotated[DatasetSource, FromProject("dataset")]
    system: str | None = None
    """Your own system: module:name of a retriever, query engine or function, or of a function without arguments that
    returns one; the address of an HTTP service; or an MCP server: 'mcp:COMMAND#tool' or mcp+http://…#tool."""
    documents: Documents = None
    retriever: Retriever = "dense"
    embedding: Embedding = "bge-small"
    reranker: Reranker = "none"
    chunker: Chunker = CHUNKER
    candidates: int | None = None
    ks: Annotated[Several, typer.Option("-k"), FromProject("k")] = ()
    """Depths of the metrics: numbers of hits and budgets of context tokens, such as '1,5,tokens(2000)'. Default:
    1,3,5,10, and the depth that all stages return if that is less."""
    metrics: Metrics = ()
    match: Annotated[str, choice(MATCH_RULES), FromProject("match")] = "containment"
    """Match rule: containment (a single hit must contain the passage), coverage (hits may cover it together: fair
    across chunk sizes, the default of sweeps) or fuzzy (for scanned or cleaned texts)."""
    budget: Annotated[int | None, typer.Option(), FromProject("budget")] = None
    """Tokens of hits in a prompt, such as 2000: as many hits are requested as fill it, and recall is measured up to it.
    Default: none."""
    concurrency: int = 1
    output: Output = None
    details: Annotated[bool, typer.Option("--all")] = False
    """Also print every metric at every depth, winners and losers, tags and settings."""
    as_json: AsJson = False
    mapping: Annotated[Mapping, RARE] = None
    encoding: Annotated[Encoding, RARE] = None
    include: Annotated[Include, RARE] = ()
    profile: Annotated[Profile, RARE] = "default"
    match_threshold: Annotated[float | None, RARE] = None
    """Above 0, at most 1: share of the passage to cover (default 0.5), or similarity for fuzzy (default 0.9)."""
    unicode_folding: Annotated[UnicodeFolding, RARE] = False
    device: Annotated[DeviceOption, RARE] = "auto"
    k: Annotated[int | None, typer.Option("--hits"), RARE] = None
    """Number of hits requested from a system that takes it as an argument. Default: 10, or the deepest depth (-k) if
    that is more."""
    overwrite: Annotated[Overwrite, RARE] = False
    resume: Annotated[bool, RARE] = False
    """With --system and --output: continue a run that was stopped, without repeating answered queries."""


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

    data: Annotated[str, typer.Option(autocompletion=completion(corpus_names)), FromProject("dataset")]
    """Labelled questions: a bundled corpus by name, a .jsonl file, or a dataset's file or folder."""
    files: Annotated[tuple[Path, ...], typer.Argument()] = ()
    """Files of traces or folders of them: JSON or JSON Lines, also packed with gzip."""
    documents: Documents = None
    encoding: Annotated[Encoding, RARE] = None
    include: Annotated[Include, RARE] = ()
    join_by: str | None = None
    """Attribute, field of the metadata, or tag (name:value) that holds the id of the query. Default, and where a trace
    lacks it: the text of the question."""
    doc_key: Annotated[str | None, RARE] = None
    """Metadata key of the hits that holds the document id."""
    text_tools: Annotated[Several, typer.Option("--text-tool"), RARE] = ()
    """Names of tools whose answer is a text: all of it is one hit."""
    columns: Annotated[Several, typer.Option("--column"), RARE] = ()
    """Of another export: a part of a span and its column, such as kind=run_type."""
    only_joined: bool = False
    """Leave out questions without a trace, where not all were asked. Default: they are 0."""
    name: str = "agent"
    """What the application is called in reports."""
    listen: bool = False
    """Receive traces over HTTP until Ctrl-C, then evaluate them."""
    address: Annotated[str, RARE] = "127.0.0.1:4318"
    """With --listen: the address and port, on this machine."""
    keep: Annotated[Path | None, RARE] = None
    """With --listen: the file that received spans are kept in as they come, without secrets; it can be read again.
    Default: a new one in raglift-traces."""
    stop_after: Annotated[int | None, RARE] = None
    """With --listen: stop when so many traces have come in whole."""
    idle: Annotated[float | None, RARE] = None
    """With --listen: stop when nothing came for so many seconds, at the start too."""
    ks: Annotated[Several, typer.Option("-k"), FromProject("k")] = ()
    """Depths of the metrics: of measures of sessions, the first hits of each call."""
    metrics: Annotated[Several, typer.Option(autocompletion=completion(metric_names))] = ()
    """Metrics, such as 'session_ndcg@10,recall@calls(1)'. Default: those of sessions."""
    profile: Annotated[Profile, RARE] = "default"
    match: Annotated[str, choice(MATCH_RULES), FromProject("match")] = "containment"
    """Match rule, as in evaluate."""
    match_threshold: Annotated[float | None, RARE] = None
    """Share of the passage to cover (default 0.5), or similarity for fuzzy (default 0.9)."""
    unicode_folding: Annotated[UnicodeFolding, RARE] = False
    output: Output = None
    overwrite: Overwrite = False
    details: Annotated[bool, typer.Option("--all")] = False
    """Also print every metric, and all traces that are not joined."""
    as_json: AsJson = False
