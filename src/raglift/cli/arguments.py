"""Arguments and options that several commands take, how help lists choices, and what a shell completes.

The choices stand here so that help and completion import nothing of what measures; tests hold them to the library's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raglift.errors import ConfigurationError
from raglift.running.settings import positive
from raglift.utilities.display import short_repr
from raglift.utilities.replacing import unwritable

if TYPE_CHECKING:
    from raglift.cli.comparing import Rescore
    from raglift.cli.measuring import Evaluate, Trace
    from raglift.cli.pipeline import Gate
    from raglift.types.dataset import Dataset

PROFILES = ("default", "tutorial", "autorag", "trec", "llamaindex", "ragas")
MATCH_RULES = ("containment", "coverage", "fuzzy")
RETRIEVERS = ("dense", "bm25", "hybrid")
EMBEDDINGS = ("bge-small", "minilm", "onnx:")
RERANKERS = ("cross-encoder", "late-interaction", "none", "onnx:")
CHUNKERS = ("recursive:", "token:")
DEVICES = ("auto", "cpu", "cuda", "cuda:1", "mps")
DTYPES = ("auto", "float32", "bfloat16", "float16")
WRITTEN_FORMATS = ("jsonl", "beir")
DATASET_FORMATS = (
    *("jsonl", "beir", "trec", "autorag", "llama-index", "hf", "ir"),
    *("rows", "squad", "ragas", "langsmith", "deepeval", "langfuse"),
)
RANKING_FORMATS = ("trec", "jsonl", "parquet")
EXPORT_FORMATS = ("trec", "parquet")
REPORT_FORMATS = ("html", "markdown", "csv", "parquet")
GATED_FIGURES = ("p50_latency", "p95_latency", "failures", "empty", "unlabelled")
TRACKERS = ("mlflow", "wandb")
ESTIMANDS = ("these-queries", "population")
QUESTION_STYLES = ("natural", "keyword", "multi", "unanswerable")

_BETWEEN = re.compile(r",(?![^()\[\]{}]*[)\]}])")
"""A comma that is not in brackets, as the one of `hybrid(dense=0.7,bm25=0.3)` is."""


def choice(
    names: Sequence[str | int],
    *declarations: str,
    help: str | None = None,  # noqa: A002 — what typer calls it
) -> Any:
    """Return an option of fixed choices, which help lists and a shell completes.

    A value that is none of them is refused by the library, which suggests the nearest name.
    """
    metavar = f"[{'|'.join(map(str, names))}]"
    return typer.Option(*declarations, metavar=metavar, autocompletion=completion(map(str, names)), help=help)


def completion(names: Iterable[str] | Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return what completes one of some names, also the last one of a list with commas."""
    fixed = None if callable(names) else tuple(names)

    def complete(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        known = names() if callable(names) else fixed or ()
        return [f"{before}{comma}{name}" for name in known if name.startswith(begun)]

    return complete


def corpus_names() -> list[str]:
    """Return the names of the bundled corpora."""
    from raglift.datasets.corpora.catalogue import known_corpora

    return [corpus.name for corpus in known_corpora()]


def metric_names() -> list[str]:
    """Return the names of all metrics, without depths."""
    from raglift.metrics.listing import list_measures

    return [measure.name for measure in list_measures().measures]


def separate(values: Sequence[str]) -> tuple[str, ...]:
    """Return the values of an option that is given again for each, or once with commas, or both.

    A value without any part, as `","`, stays as it is, for an error to quote it.
    """
    found = []
    for value in values:
        parts = [part.strip() for part in _BETWEEN.split(value)]
        found += [part for part in parts if part] or [value]
    return tuple(found)


Several = Annotated[tuple[str, ...], separate]
"""Texts that are given with commas, again and again, or both."""


def separate_named(values: Sequence[str]) -> tuple[str, ...]:
    """Return the values of an option of the form `NAME=VALUE`, whose values may hold commas themselves."""
    found: list[str] = []
    for value in values:
        found += re.split(r",\s*(?=\w+\s*=)", value)
    return tuple(found)


BASELINE = "Default: the first of two, else the only plain BM25, else the best."

PromptBudget = Annotated[
    int | None,
    typer.Option(help="Tokens of the prompt at which runs of different chunks are compared. Default: 2000."),
]
DatasetSource = Annotated[
    str,
    typer.Argument(
        autocompletion=completion(corpus_names),
        help="A bundled corpus by name, a .jsonl file of questions, or another dataset (see labels convert).",
    ),
]
SavedRun = Annotated[Path, typer.Argument(help="Folder of a saved evaluation.")]
SavedRuns = Annotated[tuple[Path, ...], typer.Argument(help="Folders of saved evaluations, or the folder of a sweep.")]
Documents = Annotated[
    Path | None,
    typer.Option(
        autocompletion=completion(corpus_names),
        help="Documents, if the dataset does not include them: a file, a folder or a bundled corpus by name.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of documents, and of labels in CSV, not in UTF-8 and without a byte-order mark, as cp1252; "
        "never guessed."
    ),
]
Include = Annotated[
    tuple[str, ...],
    typer.Option(
        help="Also read these files of a folder of documents as text, besides *.txt, *.md, *.pdf and *.docx: quoted "
        "patterns such as '*.qmd,*.rst'."
    ),
    separate,
]
Mapping = Annotated[
    Path | None,
    typer.Option(
        help="With --system http://… or mcp:…: a YAML or JSON file that describes the request and where the response "
        "has the hits."
    ),
]
UnicodeFolding = Annotated[
    bool, typer.Option(help="Ignore Unicode compatibility forms and typographic quotes and dashes when matching.")
]
Retriever = Annotated[
    str,
    typer.Option(
        autocompletion=completion(RETRIEVERS),
        help="raglift's own retriever: dense, bm25, hybrid, or with settings: bm25(language=de,k1=0.9,b=0.4), "
        "hybrid(dense=0.7,bm25=0.3).",
    ),
]
Embedding = Annotated[
    str,
    typer.Option(
        autocompletion=completion(EMBEDDINGS),
        help="bge-small (needs no network), minilm, onnx:FOLDER, a folder or Hugging Face id for "
        "sentence-transformers, or provider:model such as openai:text-embedding-3-small.",
    ),
]
Reranker = Annotated[
    str,
    typer.Option(
        autocompletion=completion(RERANKERS),
        help="cross-encoder (needs no network), late-interaction, none, onnx:FOLDER, or the folder or Hugging Face id "
        "of one for sentence-transformers.",
    ),
]
DtypeOption = Annotated[
    str,
    choice(
        DTYPES,
        help="Number format of sentence-transformers models; auto is the model's own.",
    ),
]
DeviceOption = Annotated[
    str,
    typer.Option(
        autocompletion=completion(DEVICES),
        help="Where local models compute: auto (the best that is there), cpu, cuda, cuda:1 (any number) or mps.",
    ),
]
CHUNKER = "recursive:1000/100"
"""How documents are split where nothing else is said."""
_FORM = (
    "NAME:SIZE/OVERLAP[:UNIT], such as recursive:400/40 (at paragraphs, lines, words; UNIT: characters or tokens), "
    "token:256/20 (windows of tokens), or module:factory for any splitter. +headings behind it adds contextual headers."
)
Chunker = Annotated[
    str, typer.Option("--chunker", autocompletion=completion(CHUNKERS), help=f"How documents are split: {_FORM}")
]
Chunkers = Annotated[
    tuple[str, ...],
    typer.Option("--chunker", autocompletion=completion(CHUNKERS), help=f"Chunkers: {_FORM} Default: {CHUNKER}."),
    separate,
]
Metrics = Annotated[
    tuple[str, ...],
    typer.Option(
        autocompletion=completion(metric_names),
        help="Metrics, such as 'mrr,ndcg@20,recall@tokens(2000)'. Default: all but DCG, IDCG, ContextTokens and span "
        "metrics.",
    ),
    separate,
]
Profile = Annotated[str, choice(PROFILES, help="The tool whose metric definitions are used.")]
Primary = Annotated[
    str | None,
    typer.Option(
        autocompletion=completion(metric_names),
        help="Metric that verdicts are based on. Default: ndcg@10, else the deepest NDCG, else the first metric.",
    ),
]
Names = Annotated[
    tuple[str, ...], typer.Option(help="Names of the runs, such as 'small,large'. Default: folder names."), separate
]
CompareMatch = Annotated[
    str | None,
    choice(
        MATCH_RULES,
        "--match",
        help="Match rule that all runs are scored with again. Default: coverage if their chunks differ, else as they "
        "are.",
    ),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Save the evaluation to this folder.")]
PoolDepth = Annotated[
    tuple[str, ...],
    typer.Option("-k", help="Number of hits of each ranking to grade; of several depths, the deepest."),
    separate,
]
Overwrite = Annotated[bool, typer.Option(help="Replace an existing evaluation.")]
LanguageModelName = Annotated[
    str,
    typer.Option("--model", help="Chat model as provider:model, for LangChain's init_chat_model; see .env.example."),
]
Temperature = Annotated[
    str,
    typer.Option(help="Sampling temperature; 'default' uses the provider's, which some models require."),
]
Concurrency = Annotated[int, typer.Option(help="Maximum concurrent requests.")]
Estimate = Annotated[
    bool, typer.Option("--estimate", help="Print how many prompts and tokens are expected, and call no model.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def checked_budget(option: int | None) -> int | None:
    """Return what `--budget` says, None if it is not given."""
    return None if option is None else positive("--budget", option)


def load_labels(source: str, request: Evaluate | Trace | Gate | Rescore) -> Dataset:
    """Return a dataset, with the documents that the options of a command name."""
    from raglift.datasets.loading import load_dataset

    return load_dataset(source, documents=request.documents, encoding=request.encoding, include=request.include)


def labels_if_named(source: str | None, request: Gate | Rescore, option: str) -> Dataset | None:
    """Return the dataset that an option names; None without one, and then nothing may be said of documents."""
    if source is not None:
        return load_labels(source, request)
    unused = "--documents" if request.documents is not None else "--include" if request.include else None
    if unused is not None:
        raise ConfigurationError(f"{unused}: found it without {option}; expected both: documents tell where labels are")
    return None


def require_writable(output: Path, written: Path | None = None) -> None:
    """Raise unless what `--output` names, or what is written in it, can be written."""
    if (hindrance := unwritable(written or output)) is not None:
        raise ConfigurationError(
            f"--output: found {output}; expected a place that can be written to: {hindrance} is none"
        )


def bounds_from(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """Return bounds by the names of their figures: `ndcg(gain=exponential)@10=0.75` is split at its last `=`."""
    found: dict[str, str] = {}
    for text in texts:
        name, _, bound = (part.strip() for part in text.rpartition("="))
        if not name or not bound:
            example = "ndcg@10=0.75" if option != "--max" else "p95_latency=0.5s or failures=0"
            raise ConfigurationError(f"{option}: found {short_repr(text)}; expected NAME=BOUND, as {example}")
        if name in found:
            raise ConfigurationError(f"{option}: found {short_repr(name)} twice; expected one bound for it")
        found[name] = bound
    return found


_FEWEST_SORTED = 3


def in_order(runs: Sequence[Path], names: Sequence[str]) -> tuple[Path, ...]:
    """Return folders with numbers in the order of these: a shell's `runs/*` has c1500 before c400.

    Two folders, those that were given in another order than a shell's, and those with names of their own stay.
    """

    def by_number(path: Path) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", str(path))]

    texts = [str(path) for path in runs]
    given = bool(names) or len(texts) < _FEWEST_SORTED or texts != sorted(texts)
    return tuple(runs) if given else tuple(sorted(runs, key=by_number))
