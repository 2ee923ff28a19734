"""Arguments and options that several commands take, and the settings of a project that stand in for them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from raglift.cli.choices import (
    CHUNKERS,
    DEVICES,
    DTYPES,
    EMBEDDINGS,
    MATCH_RULES,
    PROFILES,
    RERANKERS,
    RETRIEVERS,
    choice,
    completion,
    corpus_names,
    metric_names,
    separate,
)
from raglift.errors import ConfigurationError
from raglift.running.settings import positive
from raglift.utilities.limits import is_file

BASELINE = "Default: the first of two, else the only plain BM25, else the best."

PromptBudget = Annotated[
    int | None,
    typer.Option(
        help="Tokens of the prompt at which runs of different chunks are compared. Default: budget in [tool.raglift] "
        "of pyproject.toml, else 2000."
    ),
]
DatasetSource = Annotated[
    str,
    typer.Argument(
        autocompletion=completion(corpus_names),
        help="A bundled corpus by name, a .jsonl file of queries, or a dataset's file or folder (see labels convert).",
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
        help="Encoding of documents that are not UTF-8 and have no byte-order mark, such as cp1252; never guessed."
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
        help="minilm or minilm-static (bundled, no network), a folder, a Hugging Face id, or provider:model such as "
        "openai:text-embedding-3-small.",
    ),
]
Reranker = Annotated[
    str,
    typer.Option(
        autocompletion=completion(RERANKERS),
        help="late-interaction (bundled), none, or the name or folder of a cross-encoder.",
    ),
]
DtypeOption = Annotated[
    str,
    choice(
        DTYPES,
        help="Number format of local models; auto is the model's own, and bfloat16 for minilm if the device has it.",
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


_FILE = Path("pyproject.toml")
"""In whose table a project has its settings, in the working folder."""
_TABLE = "[tool.raglift]"
_KEYS = ("budget",)


def project_budget(option: int | None) -> int | None:
    """Return the budget of a prompt that an option gives, else the project's; None where neither says one.

    Raises:
        ConfigurationError: the file cannot be read or is not TOML, or the table has another key or value.
    """
    if option is not None:
        return positive("--budget", option)
    settings = _settings()
    return positive(f"{_FILE}: {_TABLE}: budget", settings["budget"]) if "budget" in settings else None


def _settings() -> dict[str, Any]:
    if not is_file(_FILE):
        return {}
    try:
        project = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # ValueError: neither UTF-8 nor TOML
        raise ConfigurationError(f"{_FILE}: cannot be read as TOML: {error}; expected the project's settings") from None
    tools = project.get("tool", {})
    found = tools.get("raglift", {}) if isinstance(tools, dict) else {}
    unknown = [found] if not isinstance(found, dict) else sorted(set(found) - set(_KEYS))
    if unknown:
        raise ConfigurationError(f"{_FILE}: {_TABLE}: found {unknown[0]!r}; expected {', '.join(_KEYS)}")
    return dict(found)
