"""The options of the commands about language models and human annotators."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import (
    Concurrency,
    Documents,
    Encoding,
    Estimate,
    Include,
    LanguageModelName,
    PoolDepth,
    SavedRuns,
    Temperature,
)
from raglift.cli.choices import (
    ESTIMANDS,
    QUESTION_STYLES,
    Several,
    choice,
    completion,
    corpus_names,
)
from raglift.cli.command import RARE, command, new_group

labels = new_group()
"""Those of the group `labels`, with those of `raglift.cli.labels`."""


@command(
    labels,
    "review",
    None,
    "Label hits by hand in the browser",
    run="raglift.cli.review:run",
    examples=[
        "raglift labels review my.jsonl runs/bm25 runs/hybrid",
    ],
)
@dataclass(frozen=True)
class Review:
    """Grade what systems returned by hand: a page on this machine that saves labels as you go."""

    labels: Annotated[Path, typer.Argument()]
    """File of queries to label; created from the runs if it is missing."""
    runs: Annotated[tuple[Path, ...], typer.Argument()]
    """Folders of saved evaluations of the same queries, or the folder of one sweep."""
    judged: Path | None = None
    """File of queries with a model's labels to compare with. Default: those in LABELS."""
    documents: Documents = None
    encoding: Encoding = None
    include: Include = ()
    scale: Annotated[int, choice((3, 5))] = 3
    """Highest grade."""
    k: PoolDepth = ("10",)
    port: int = 0
    """Port on 127.0.0.1; 0 for any that is free."""
    browser: bool = True
    """Open the page in a browser."""


@command(
    labels,
    "grade",
    None,
    "Grade hits with a language model",
    run="raglift.cli.grade:run",
    examples=["raglift labels grade runs/bm25 --estimate", "raglift labels grade runs/* -o graded.jsonl"],
)
@dataclass(frozen=True)
class Grade:
    """Grade the hits of saved evaluations with a language model, and write the grades as labels."""

    runs: SavedRuns
    output: Annotated[Path | None, typer.Option("--output", "-o")] = None
    """File for the labels, .jsonl."""
    k: PoolDepth = ("10",)
    model: LanguageModelName = "openai:gpt-4o-mini"
    scale: Annotated[int, choice((3, 5))] = 3
    """Highest grade; 0 is irrelevant."""
    rubric: Annotated[Path | None, RARE] = None
    """Text file that says what each grade means, instead of raglift's."""
    relevant_from: Annotated[int, RARE] = 1
    """Lowest grade that counts as relevant."""
    fill: bool = False
    """Keep existing labels and add grades only for unlabelled hits."""
    documents: Documents = None
    encoding: Annotated[Encoding, RARE] = None
    include: Annotated[Include, RARE] = ()
    human: Path | None = None
    """File of `labels sample` with people's grades, by which figures are corrected."""
    sample: Annotated[Path | None, RARE] = None
    """File of `labels sample`, if --human is a file of labels, as `labels review` writes them."""
    metrics: Annotated[Several, typer.Option("--metrics", "-m")] = ()
    """With --human: metrics to correct, such as 'precision@10,dcg@10'."""
    estimand: Annotated[str, choice(ESTIMANDS), RARE] = "these-queries"
    """With --human: what intervals are about, these queries or all queries like these."""
    report: Path | None = None
    """With --human: also write the HTML report of the runs with the corrected figures."""
    estimate: Estimate = False
    concurrency: Annotated[Concurrency, RARE] = 8
    temperature: Annotated[Temperature, RARE] = "0"
    overwrite: bool = False
    """Replace an existing file of labels."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print JSON with every grade and its reason."""


@command(
    labels,
    "sample",
    None,
    "Draw pairs for people to grade",
    run="raglift.cli.grade:run_sample",
    examples=[
        "raglift labels sample runs/* -n 100 -o grades.jsonl",
        "raglift labels sample runs/* -n 30 --queries -o q.jsonl",
    ],
)
@dataclass(frozen=True)
class Sample:
    """Draw pairs of query and hit at random for people to grade.

    With their grades, `raglift labels grade --human` corrects the figures of a language model.
    """

    runs: SavedRuns
    output: Annotated[Path | None, typer.Option("--output", "-o")] = None
    """File for the pairs, .jsonl."""
    n: Annotated[int, typer.Option("-n")] = 100
    """Number of pairs, or of queries with --queries."""
    k: PoolDepth = ("10",)
    queries: bool = False
    """Draw queries with all their pairs, as metrics other than Precision, DCG and RBP need."""
    seed: int = 0
    """Random seed of the draw."""
    overwrite: bool = False
    """Replace an existing file."""


@command(
    labels,
    "generate",
    None,
    "Generate labelled questions with an LLM",
    run="raglift.cli.generate:run",
    examples=[
        "raglift labels generate docs/ -n 20 --estimate",
        "raglift labels generate docs/ -n 20 -o questions.jsonl",
    ],
    exit_codes={1: "No question was accepted; the answers are cached."},
)
@dataclass(frozen=True)
class Generate:
    """Generate labelled questions about documents with a language model, and discard those that fail its checks."""

    source: Annotated[str, typer.Argument(autocompletion=completion(corpus_names))]
    """Bundled corpus by name, a dataset's folder, or a file or folder of documents."""
    encoding: Encoding = None
    include: Include = ()
    n: Annotated[int, typer.Option("-n")] = 50
    """Number of questions."""
    output: Annotated[Path | None, typer.Option("--output", "-o")] = None
    """Where the questions go: a .jsonl file, or a new folder that includes the documents."""
    styles: Annotated[Several, typer.Option(autocompletion=completion(QUESTION_STYLES))] = (
        "natural=5",
        "keyword=2",
        "multi=2",
        "unanswerable=1",
    )
    """Styles of questions with their weights, 1 if not given."""
    seed: int = 0
    """Random seed for choosing passages."""
    passage_size: int = 800
    """Maximum characters of a passage that a question is about."""
    model: LanguageModelName = "openai:gpt-4o-mini"
    temperature: Temperature = "0"
    concurrency: Concurrency = 8
    estimate: Estimate = False
    overwrite: bool = False
    """Replace an existing file of questions."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print the report as JSON."""
