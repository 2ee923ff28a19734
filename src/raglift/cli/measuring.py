"""The options of the commands that measure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import (
    BASELINE,
    CHUNKER,
    AsJson,
    BatchTokens,
    Chunker,
    ChunkOverlap,
    ChunkSize,
    ChunkUnit,
    CompareMatch,
    DatasetSource,
    DeviceOption,
    Documents,
    DtypeOption,
    Embedding,
    Encoding,
    HoldOut,
    Include,
    Mapping,
    Metrics,
    Names,
    Output,
    Overwrite,
    Price,
    Primary,
    Profile,
    Reranker,
    Retriever,
    SavedRun,
    SavedRuns,
    Track,
    TrackFiles,
    TrackProject,
    UnicodeFolding,
)
from raglift.cli.choices import (
    DEVICES,
    ERROR_KINDS,
    MATCH_RULES,
    PROFILES,
    REPORT_FORMATS,
    RETRIEVERS,
    choice,
    completion,
    corpus_names,
    metric_names,
    separate,
)
from raglift.cli.command import MEASURE, MORE, START, command, new_group

group = new_group()
files = new_group()
"""Those of the group `files`."""


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

    Takes about a minute, and a few seconds when it is run again. Needs no network and no API key.
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
    chunk_size: ChunkSize = None
    chunk_overlap: ChunkOverlap = None
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
    exit_codes={1: "A limit on model calls or cost was reached; what was measured is kept."},
    sections={
        "System": [
            *("system", "mapping", "retriever", "embedding", "reranker", "chunker", "candidates", "hits", "depth"),
            *("dtype", "device", "batch_tokens", "doc_key", "system_version"),
        ],
        "Data": ["documents", "encoding", "include"],
        "Matching and metrics": ["ks", "metrics", "profile", "match", "match_threshold", "unicode_folding"],
        "Limits": [
            *("concurrency", "timeout", "retries", "on_error", "repeats", "latency", "max_model_calls", "max_cost"),
            "price",
        ],
        "Output": ["output", "overwrite", "resume", "details", "as_json", "track", "track_project", "track_files"],
    },
)
@dataclass(frozen=True)
class Evaluate:
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
    mapping: Mapping = None
    documents: Documents = None
    encoding: Encoding = None
    include: Include = ()
    retriever: Retriever = "dense"
    embedding: Embedding = "minilm"
    reranker: Reranker = "none"
    chunker: Chunker = CHUNKER
    chunk_size: ChunkSize = None
    chunk_overlap: ChunkOverlap = None
    chunk_unit: ChunkUnit = None
    dtype: DtypeOption = "auto"
    device: DeviceOption = "auto"
    batch_tokens: BatchTokens = None
    ks: Annotated[
        tuple[str, ...],
        typer.Option(
            "-k",
            help="Depths of the metrics: numbers of hits and budgets of context tokens, such as '1,5,tokens(2000)'. "
            "Default: 1,3,5,10, and the depth that all stages return if that is less.",
        ),
        separate,
    ] = ()
    candidates: Annotated[
        int | None,
        typer.Option(help="Number of hits retrieved for --reranker and with --depth deep. Default: 50."),
    ] = None
    metrics: Metrics = ()
    profile: Profile = "default"
    match: Annotated[
        str,
        choice(
            MATCH_RULES,
            help="Match rule: containment (a single hit must contain the passage), coverage (hits may cover it "
            "together: fair across chunk sizes, the default of sweeps) or fuzzy (for scanned or cleaned texts).",
        ),
    ] = "containment"
    match_threshold: Annotated[
        float | None,
        typer.Option(
            help="Above 0, at most 1: share of the passage to cover (default 0.5), or similarity for fuzzy (default "
            "0.9)."
        ),
    ] = None
    unicode_folding: UnicodeFolding = False
    depth: Annotated[
        str,
        choice(
            ("deployed", "deep"),
            help="deployed keeps the settings of every component; deep requests as many hits as there are candidates.",
        ),
    ] = "deployed"
    hits: Annotated[
        int | None,
        typer.Option(
            help="Number of hits requested from a system that takes it as an argument. Default: 10, or the deepest "
            "depth (-k) if that is more."
        ),
    ] = None
    doc_key: Annotated[str | None, typer.Option(help="Metadata key of the hits that holds the document id.")] = None
    concurrency: Annotated[int, typer.Option(help="Concurrent queries, for remote systems.")] = 1
    timeout: Annotated[float | None, typer.Option(help="Timeout per query in seconds.")] = None
    retries: Annotated[int, typer.Option(help="Retries after a transient failure.")] = 2
    on_error: Annotated[
        str, choice(("keep", "raise"), help="keep scores a failed query as 0; raise stops the evaluation.")
    ] = "keep"
    repeats: Annotated[
        int,
        typer.Option(
            help="With --system: how often an agent is asked each query, as it may search otherwise each time."
        ),
    ] = 1
    latency: Annotated[
        int,
        typer.Option(help="Also measure latency over this many queries, one at a time and without cache; 50 is usual."),
    ] = 0
    max_model_calls: Annotated[
        int | None,
        typer.Option(
            help="Stop before the system makes more model calls than this; after the first query if the estimate for "
            "all queries is higher."
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(help="Stop before the system's model calls cost more US dollars, if the price is known."),
    ] = None
    price: Price = None
    output: Output = None
    overwrite: Overwrite = False
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="With --system and --output: continue a run that was stopped, without repeating answered queries.",
        ),
    ] = False
    system_version: Annotated[
        str | None,
        typer.Option(
            help="With --system: an identifier of its current version, such as a commit hash. Answers are cached under "
            "it, and later runs do not ask again."
        ),
    ] = None
    track: Track = ()
    track_project: TrackProject = None
    track_files: TrackFiles = True
    details: Annotated[
        bool,
        typer.Option("--all", help="Also print every metric at every depth, winners and losers, tags and settings."),
    ] = False
    as_json: AsJson = False


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
    sections={
        "Data": ["data", "documents", "encoding", "include"],
        "Traces": ["join_by", "doc_key", "text_tools", "only_joined", "name"],
        "Receiving": ["listen", "address", "keep", "stop_after", "idle"],
        "Matching and metrics": ["ks", "metrics", "profile", "match", "match_threshold", "unicode_folding"],
        "Output": ["output", "overwrite", "details", "as_json"],
    },
)
@dataclass(frozen=True)
class Trace:
    """Evaluate what an agent searched, from its traces.

    Reads OpenTelemetry's JSON with the conventions of OpenInference or OpenTelemetry for generative AI, and exports of
    Phoenix, MLflow, Langfuse and LangSmith. With --listen, receive them: set OTEL_EXPORTER_OTLP_ENDPOINT to
    http://127.0.0.1:4318 for the application.
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
    idle: Annotated[float | None, typer.Option(help="With --listen: stop when nothing came for so many seconds.")] = (
        None
    )
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


@command(
    group,
    "compare",
    MEASURE,
    "Compare saved runs: which is really better?",
    run="raglift.cli.compare:run",
    examples=["raglift compare runs/bm25 runs/hybrid", "raglift compare runs/* --baseline bm25 --by-tag"],
)
@dataclass(frozen=True)
class Compare:
    """Compare saved evaluations on the same queries, with significance tests. With one run, show its reranker lift."""

    runs: Annotated[
        tuple[Path, ...], typer.Argument(help="Folders of saved evaluations; one alone shows its reranker lift.")
    ]
    baseline: Annotated[
        str | None, typer.Option(help=f"Name of the run that the others are compared with. {BASELINE}")
    ] = None
    primary: Primary = None
    names: Names = ()
    seed: Annotated[int, typer.Option(help="Random seed of the permutation tests and of --hold-out.")] = 0
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95
    hold_out: HoldOut = False
    match: CompareMatch = None
    label_error: Annotated[
        float | None,
        typer.Option(
            help="Share of the labels that may be wrong, as labels check --suspects says; warns of smaller differences."
        ),
    ] = None
    by_tag: Annotated[bool, typer.Option("--by-tag", help="Also show results for each query tag.")] = False
    details: Annotated[
        bool, typer.Option("--all", help="Also print every metric, costs, failures and the queries that moved.")
    ] = False
    track: Track = ()
    track_project: TrackProject = None
    track_files: TrackFiles = True
    as_json: AsJson = False


@command(
    group,
    "sweep",
    MEASURE,
    "Measure many systems and find the best",
    run="raglift.cli.sweep:run",
    examples=["raglift sweep sweep.yaml --plan", "raglift sweep sweep.yaml -o runs/sweep"],
    exit_codes={1: "Some cells failed, or a limit was reached; what is measured is kept."},
)
@dataclass(frozen=True)
class RunSweep:
    """Measure combinations of chunk sizes, embedding models, retrievers and rerankers; shared work is done once.

    Hits are matched by coverage unless the file says otherwise: containment, the default of evaluate, favours some
    chunk sizes.
    """

    file: Annotated[
        Path, typer.Argument(help="A YAML file that describes the sweep; or the folder of a sweep, to print it.")
    ]
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder of the sweep. Default: runs/ and the file's name."),
    ] = None
    plan: Annotated[bool, typer.Option(help="Print what there is to do and measure nothing.")] = False
    resume: Annotated[bool, typer.Option(help="Continue a sweep that was stopped.")] = False
    engine: Annotated[str, choice(("local", "ray"), help="Run on this machine or on a Ray cluster.")] = "local"
    address: Annotated[
        str | None, typer.Option(help="Address of the Ray cluster. Default: Ray starts on this machine.")
    ] = None
    worker_cpus: Annotated[
        float | None, typer.Option(help="With --engine ray: processors that each task takes. Default: 1.")
    ] = None
    worker_gpus: Annotated[
        float | None,
        typer.Option(
            help="With --engine ray: GPUs that each task of a model takes, such as 0.5. Default: 1 if models use GPUs."
        ),
    ] = None
    device: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion(DEVICES),
            help="Where local models compute, in place of the file's: auto, cpu, cuda, cuda:1 (any number) or mps.",
        ),
    ] = None
    max_model_calls: Annotated[
        int | None,
        typer.Option(help="Stop before your systems, all cells together, make more model calls in this run."),
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(
            help="Stop before model and embedding calls, all cells together, cost more US dollars in this run."
        ),
    ] = None
    price: Price = None
    export_best: Annotated[
        Path | None,
        typer.Option(help="Write the recommended pipeline to this folder, as scripts for LangChain and LlamaIndex."),
    ] = None
    export_cell: Annotated[
        str | None, typer.Option(help="With --export-best: name or key of another cell than the recommended one.")
    ] = None
    overwrite: Annotated[bool, typer.Option(help="With --export-best: replace existing scripts.")] = False
    details: Annotated[
        bool,
        typer.Option("--all", help="Also print every metric, costs, failures and the queries that moved."),
    ] = False
    track: Track = ()
    track_project: TrackProject = None
    track_files: TrackFiles = True
    as_json: AsJson = False

    @property
    def folder(self) -> Path:
        """The folder of the sweep."""
        return Path("runs") / self.file.stem if self.output is None else self.output


@command(
    group,
    "search",
    MEASURE,
    "Find the best of many systems on a budget",
    run="raglift.cli.search:run",
    examples=["raglift search space.yaml", "raglift search space.yaml -o runs/search --share 0.1"],
    exit_codes={1: "Every cell failed."},
)
@dataclass(frozen=True)
class RunSearch:
    """Find the best of many systems with a fraction of the questions of a sweep.

    Systems race: all are asked the first questions, and the better ones more. What is significantly worse is dropped.
    """

    file: Annotated[Path, typer.Argument(help="A YAML file that describes the space: a sweep's, with ranges.")]
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder of the search. Default: runs/ and the file's name."),
    ] = None
    resume: Annotated[bool, typer.Option(help="Continue a search that was stopped, also with another budget.")] = False
    share: Annotated[
        float | None, typer.Option(help="Budget: a share of the questions of a full sweep. Default: that of the file.")
    ] = None
    minutes: Annotated[float | None, typer.Option(help="Budget: minutes.")] = None
    engine: Annotated[str, choice(("local", "ray"), help="Run on this machine or on a Ray cluster.")] = "local"
    address: Annotated[
        str | None, typer.Option(help="Address of the Ray cluster. Default: Ray starts on this machine.")
    ] = None
    worker_cpus: Annotated[
        float | None, typer.Option(help="With --engine ray: processors that each task takes. Default: 1.")
    ] = None
    worker_gpus: Annotated[
        float | None,
        typer.Option(
            help="With --engine ray: GPUs that each task of a model takes, such as 0.5. Default: 1 if models use GPUs."
        ),
    ] = None
    max_model_calls: Annotated[
        int | None, typer.Option(help="Stop before your systems make more model calls in a rung.")
    ] = None
    max_cost: Annotated[
        float | None, typer.Option(help="Stop before model and embedding calls of a rung cost more US dollars.")
    ] = None
    price: Price = None
    report: Annotated[Path | None, typer.Option(help="Also write an HTML report to this file.")] = None
    export_best: Annotated[
        Path | None,
        typer.Option(help="Write the recommended pipeline to this folder, as scripts for LangChain and LlamaIndex."),
    ] = None
    overwrite: Annotated[bool, typer.Option(help="With --export-best: replace existing scripts.")] = False
    details: Annotated[bool, typer.Option("--all", help="Also print every cell and the method.")] = False
    as_json: AsJson = False

    @property
    def folder(self) -> Path:
        """The folder of the search."""
        return Path("runs") / self.file.stem if self.output is None else self.output


@command(
    group,
    "report",
    MEASURE,
    "Write an HTML report of saved runs",
    run="raglift.cli.report:run",
    examples=["raglift report runs/bm25", "raglift report runs/bm25 runs/hybrid -o compared.html"],
)
@dataclass(frozen=True)
class Report:
    """Write a report: one HTML file with metrics, plots and every query. Or a table in Markdown, CSV or Parquet."""

    runs: Annotated[
        tuple[Path, ...],
        typer.Argument(
            help="Saved evaluations: one, or several to compare; a sweep; or a folder of runs, for an index."
        ),
    ]
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write. Default: report.html, or index.html in a folder of runs; Markdown is printed.",
        ),
    ] = None
    form: Annotated[
        str | None, choice(REPORT_FORMATS, "--format", help="Default: by the ending of the file, else html.")
    ] = None
    baseline: Annotated[str | None, typer.Option(help=f"Run or cell that the others are compared with. {BASELINE}")] = (
        None
    )
    primary: Primary = None
    names: Names = ()
    seed: Annotated[
        int | None,
        typer.Option(help="Random seed of the permutation tests and of --hold-out. Default: 0, or the sweep's."),
    ] = None
    confidence: Annotated[float | None, typer.Option(help="Confidence level of the intervals. Default: 0.95.")] = None
    hold_out: HoldOut = False
    match: CompareMatch = None
    overwrite: Annotated[bool, typer.Option(help="Replace an existing file; an HTML report is always replaced.")] = (
        False
    )


@command(
    group,
    "explain",
    MEASURE,
    "Explain the score of one query",
    run="raglift.cli.explain:run",
    examples=["raglift explain runs/bm25 q17", "raglift explain runs/bm25 q17 --conventions"],
)
@dataclass(frozen=True)
class Explain:
    """Show which hits of one query match which facts, and what each adds to the metrics.

    With --conventions: the metrics of the query as several tools compute them, and why they differ.
    """

    run: SavedRun
    query: Annotated[
        str | None,
        typer.Argument(help="Id of a query. With --conventions, default: the one whose scores differ most."),
    ] = None
    conventions: Annotated[
        bool, typer.Option("--conventions", help="Compare what raglift and other tools compute, and say why.")
    ] = False
    metrics: Annotated[
        tuple[str, ...],
        typer.Option(
            autocompletion=completion(metric_names),
            help="With --conventions: metrics, such as 'ndcg@10,mrr'. Default: those of the run.",
        ),
        separate,
    ] = ()
    stage: Annotated[str | None, typer.Option(help="Stage of the pipeline. Default: the last.")] = None
    every: Annotated[
        bool, typer.Option("--all", help="Show all metrics at all depths, not only at that of the primary metric.")
    ] = False
    query_option: Annotated[str | None, typer.Option("--query", hidden=True, help="Id of a query.")] = None
    as_json: AsJson = False


@command(
    group,
    "threshold",
    MORE,
    "Find the score below which not to answer",
    run="raglift.cli.threshold:run",
    examples=["raglift threshold runs/bm25 --risk 0.2", "raglift threshold runs/bm25 --errors wrong-answers --made"],
)
@dataclass(frozen=True)
class Threshold:
    """Find the score of the first hit below which a question is better not answered.

    The threshold is chosen on one half of the questions, with a guarantee, and checked on the other. It takes questions
    that are marked as unanswerable, or --made.
    """

    run: SavedRun
    errors: Annotated[
        str,
        choice(
            ERROR_KINDS,
            "--errors",
            help="What is kept rare: unanswerable questions that are answered, or wrong answers among all.",
        ),
    ] = "false-answers"
    risk: Annotated[float, typer.Option(help="The share of errors that is allowed.")] = 0.1
    delta: Annotated[float, typer.Option(help="How often the guarantee may fail.")] = 0.1
    stage: Annotated[str | None, typer.Option(help="Stage of the pipeline. Default: the last.")] = None
    k: Annotated[
        int | None, typer.Option("-k", help="Depth at which an answer needs a relevant hit. Default: the deepest.")
    ] = None
    made: Annotated[
        bool,
        typer.Option("--made", help="Make half of the labelled questions unanswerable: take their documents out."),
    ] = False
    seed: Annotated[int, typer.Option(help="Random seed of the halves.")] = 0
    as_json: AsJson = False


@command(
    files,
    "tune",
    None,
    "Tune fusion and candidates on saved runs",
    run="raglift.cli.tune:run",
    examples=["raglift files tune runs/bm25 runs/dense", "raglift files tune runs/reranked --candidates 5,10,20"],
)
@dataclass(frozen=True)
class Tune:
    """Choose fusion weights, constants, candidates, depths and score cut-offs on saved runs, without asking a system.

    Several runs over the same chunks are fused; of one with a reranker, the number of candidates is tried. What tuning
    gains is measured on queries that took no part in the choice.
    """

    runs: SavedRuns
    primary: Primary = None
    constants: Annotated[
        tuple[str, ...],
        typer.Option(help="Constants of rank fusion, such as '10,60'. Default: 60, 1, 10, 30, 100."),
        separate,
    ] = ()
    candidates: Annotated[
        tuple[str, ...], typer.Option(help="Hits that are fused or reranked, such as '10,50'."), separate
    ] = ()
    ks: Annotated[tuple[str, ...], typer.Option("-k", help="Hits that are passed on. Default: all."), separate] = ()
    cut_offs: Annotated[
        tuple[str, ...],
        typer.Option("--cut-offs", help="Lowest scores of hits that are kept. Default: none."),
        separate,
    ] = ()
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 5
    seed: Annotated[int, typer.Option(help="Random seed of the folds.")] = 0
    as_json: AsJson = False


@command(
    files,
    "rescore",
    None,
    "Score a saved run again, by other rules",
    run="raglift.cli.rescore:run",
    examples=[
        "raglift files rescore runs/bm25 --match coverage -k 5,20",
        "raglift files rescore runs/bm25 --labels new.jsonl \\",
        "    -o runs/2",
    ],
)
@dataclass(frozen=True)
class Rescore:
    """Score a saved evaluation again with another match rule, metrics or labels, without querying the system."""

    run: SavedRun
    ks: Annotated[
        tuple[str, ...],
        typer.Option("-k", help="Depths of the metrics, as in evaluate. Default: those of the run."),
        separate,
    ] = ()
    metrics: Annotated[
        tuple[str, ...], typer.Option(help="Metrics, as in evaluate. Default: those of the run."), separate
    ] = ()
    profile: Annotated[
        str | None, choice(PROFILES, help="The tool whose metric definitions are used. Default: as in the run.")
    ] = None
    match: Annotated[str | None, choice(MATCH_RULES, help="Match rule, as in evaluate. Default: as in the run.")] = None
    match_threshold: Annotated[
        float | None,
        typer.Option(
            help="With --match: share of the passage to cover (default 0.5), or similarity for fuzzy (default 0.9)."
        ),
    ] = None
    labels: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion(corpus_names), help="Other labels of the same queries: a dataset, as in evaluate."
        ),
    ] = None
    documents: Documents = None
    encoding: Encoding = None
    include: Include = ()
    output: Output = None
    overwrite: Overwrite = False
    track: Track = ()
    track_project: TrackProject = None
    track_files: TrackFiles = True
    as_json: AsJson = False
