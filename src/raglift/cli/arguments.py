"""Arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

# In words, so that help needs no import of the metrics; a test holds it to `metrics.PROFILES`
PROFILE_NAMES = "default, tutorial, autorag, trec, llamaindex or ragas"

DatasetSource = Annotated[
    str,
    typer.Argument(help="A corpus by name, a .jsonl file of queries, or a dataset's file or folder (see convert)."),
]
Documents = Annotated[
    Path | None,
    typer.Option(help="The documents, when the dataset does not bring them: a file, a folder, or a corpus by name."),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Of the documents that are not in UTF-8 and have no byte-order mark, as cp1252; none is ever guessed."
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        help="What else to read of a folder of documents, as text, besides *.txt, *.md, *.pdf and *.docx: a pattern in "
        "quotation marks, as '*.qmd'; repeatable."
    ),
]
Mapping = Annotated[
    Path | None,
    typer.Option(
        help="With --system http://…: a YAML or JSON file that says what is sent to the service, and where the hits "
        "are in its answer."
    ),
]
UnicodeFolding = Annotated[
    bool, typer.Option(help="Match also across compatibility forms, typographic quotes and dashes.")
]
Embedding = Annotated[
    str,
    typer.Option(
        help="minilm or minilm-static (embedded, need no network), a folder, a hub id, or provider:model, "
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
Primary = Annotated[
    str | None,
    typer.Option(
        help="The one metric that decides; by default ndcg@10, else the deepest NDCG, else the first measure."
    ),
]
Names = Annotated[str | None, typer.Option(help="What to call the runs, with commas; by default as their folders.")]
HoldOut = Annotated[
    bool, typer.Option("--hold-out", help="Choose the best run on half of the queries, measure it on the others.")
]
CompareMatch = Annotated[
    str | None,
    typer.Option(
        "--match",
        help="containment, coverage or fuzzy, by which all are scored again; by default coverage where chunks differ.",
    ),
]
Save = Annotated[Path | None, typer.Option(help="Write the evaluation to this folder.")]
Overwrite = Annotated[bool, typer.Option(help="Replace an evaluation that is already there.")]
LanguageModelName = Annotated[
    str,
    typer.Option("--model", help="A chat model as provider:model, by LangChain's init_chat_model; see .env.example."),
]
Temperature = Annotated[
    str, typer.Option(help="How freely the model answers; 'default' leaves it to the provider, as some models ask.")
]
Concurrency = Annotated[int, typer.Option(help="The most requests under way at a time.")]
MaxCost = Annotated[
    float | None,
    typer.Option(
        help="US dollars: stop before the next request might cost more in all. By default 5, where the price is known."
    ),
]
Price = Annotated[
    str | None,
    typer.Option(help="US dollars per million input and output tokens, as 0.15,0.60, for a model whose is not known."),
]
Track = Annotated[
    list[str] | None,
    typer.Option(help="Keep the result in an experiment tracker too, mlflow or wandb; repeatable."),
]
TrackProject = Annotated[
    str | None,
    typer.Option(help="With --track: MLflow's experiment, or the project at W&B; by default raglift."),
]
TrackFiles = Annotated[
    bool,
    typer.Option(
        "--track-files/--no-track-files",
        help="With --track: also keep the report and the saved run, which hold the texts of queries and chunks.",
    ),
]
