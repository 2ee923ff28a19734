"""The options of the commands about labels, datasets and corpora."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from raglift.cli.arguments import (
    DATASET_FORMATS,
    EMBEDDINGS,
    ESTIMANDS,
    QUESTION_STYLES,
    WRITTEN_FORMATS,
    AsJson,
    Chunkers,
    Concurrency,
    Documents,
    Encoding,
    Estimate,
    Include,
    LanguageModelName,
    PoolDepth,
    SavedRuns,
    Several,
    Temperature,
    UnicodeFolding,
    choice,
    completion,
    corpus_names,
    separate_named,
)
from raglift.cli.command import RARE, FromProject, command, new_group

group = new_group()
"""Those of the group `labels`."""
corpus = new_group()
"""Those of the group `corpus`."""

CorpusName = Annotated[
    str, typer.Argument(autocompletion=completion(corpus_names), help="Name of the corpus; see corpus list.")
]


@command(
    group,
    "check",
    None,
    "Check labels, and what chunking does to them",
    run="raglift.cli.audit:run",
    examples=[
        "raglift labels check my.jsonl --documents docs/ --strict",
        "raglift labels check mine -o labels.html",
        "raglift labels check mine --chunker recursive:400/40",
    ],
    exit_codes={1: "With --strict: labels are broken."},
)
@dataclass(frozen=True)
class AuditDataset:
    """Check the labels of datasets, and what chunkers do to the labelled passages. Nothing is retrieved."""

    datasets: Annotated[
        tuple[str, ...],
        typer.Argument(autocompletion=completion(corpus_names)),
        FromProject("dataset"),
    ]
    """Bundled corpora by name, .jsonl files of queries, or datasets' files or folders (see labels convert)."""
    documents: Documents = None
    encoding: Encoding = None
    include: Include = ()
    chunker: Chunkers = ()
    match: Annotated[str, choice(("coverage", "containment"))] = "coverage"
    """Match rule for the attainable recall: coverage is fair across chunk sizes; containment is what evaluate uses by
    default."""
    unicode_folding: UnicodeFolding = False
    ks: Annotated[Several, typer.Option("-k")] = ("1,3,5,10",)
    """Depths of the attainable recall."""
    embedding: Annotated[str, typer.Option(autocompletion=completion(EMBEDDINGS))] = "bge-small"
    """bge-small counts the chunks that exceed its token limit; any other counts none."""
    strict: bool = False
    """Exit with code 1 if labels are broken; warnings do not matter."""
    output: Annotated[Path | None, typer.Option("--output", "-o")] = None
    """Also write an HTML page of one dataset's labels: each fault with the text around it and what to do."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print JSON with every finding."""


@command(
    group,
    "convert",
    None,
    "Convert a dataset to another format",
    run="raglift.cli.datasets:convert",
    examples=[
        "raglift labels convert beir/scifact -o scifact",
        "raglift labels convert q.csv -o mine \\",
        "    --column question=Question,passage=Quote",
        "raglift labels convert mine -o beir --to beir",
    ],
)
@dataclass(frozen=True)
class Convert:
    """Convert a labelled dataset to raglift's own format, or BEIR's. Anything that BEIR cannot hold is an error."""

    source: Annotated[str, typer.Argument(autocompletion=completion(corpus_names))]
    """Dataset: a file, a folder or a bundled corpus by name."""
    output: Annotated[Path, typer.Option("--output", "-o")]
    """New file or folder."""
    read_as: Annotated[str | None, choice(DATASET_FORMATS, "--from")] = None
    """Format of the source. Default: recognized by its layout."""
    write_as: Annotated[str, choice(WRITTEN_FORMATS, "--to")] = "jsonl"
    """Format of the target; jsonl is raglift's own folder."""
    documents: Documents = None
    encoding: Encoding = None
    include: Include = ()
    split: str | None = None
    """BEIR, hf: qrels to read. Default: test."""
    subset: str | None = None
    """hf: which of several corpora, such as a language."""
    revision: str | None = None
    """hf: a branch, tag or commit."""
    topics: Path | None = None
    """TREC: file of topics, if the source is a qrels file."""
    column: Annotated[tuple[str, ...], separate_named] = ()
    """Rows: a field and its path, such as 'question=inputs.ask' or 'ignore=notes'."""
    decode: tuple[str, ...] = ()
    """Rows: how a cell holds several values: 'passage=json', 'passage=literal', 'passage=|'."""
    where: tuple[str, ...] = ()
    """Rows: which count, such as 'split=test' or 'status!=ARCHIVED'."""
    root: str | None = None
    """Rows: the field of a JSON object that has them, or the sheet of a workbook."""
    delimiter: str | None = None
    """CSV: character between columns."""
    as_json: AsJson = False


@command(
    group,
    "anchor",
    None,
    "Turn quoted-text labels into positions",
    run="raglift.cli.audit:run_relabel",
    examples=["raglift labels anchor my.jsonl -o new.jsonl \\", "    --documents docs/"],
)
@dataclass(frozen=True)
class Relabel:
    """Convert quoted-text labels to positions in the documents, and write them to a new file."""

    source: Annotated[str, typer.Argument(autocompletion=completion(corpus_names))]
    """Bundled corpus by name, a dataset folder, or a .jsonl file of queries."""
    output: Annotated[Path, typer.Option("--output", "-o")]
    """New file of queries, .jsonl."""
    documents: Documents = None
    encoding: Encoding = None
    include: Include = ()
    to: Annotated[str, choice(("anchors", "offsets"))] = "anchors"
    """anchors (first and last words of a passage) or character offsets."""
    overwrite: bool = False
    """Replace an existing file."""
    as_json: AsJson = False


@command(
    group,
    "update",
    None,
    "Find labels again in new documents",
    run="raglift.cli.updating:run",
    examples=[
        "raglift labels update mine new-docs/",
        "raglift labels update mine new-docs/ --page updates.html",
        "raglift labels update mine new-docs/ --write \\",
        "    --decisions decisions.jsonl",
    ],
    exit_codes={
        0: "Every label is right as it is or, with --write, certain.",
        1: "Labels changed and were not written, or a label waits for a decision.",
    },
)
@dataclass(frozen=True)
class UpdateLabels:
    """Find the labels of a dataset again in another version of its documents, and write those that are certain.

    All others wait for the decision of a person.
    """

    old: Annotated[str, typer.Argument(autocompletion=completion(corpus_names))]
    """The labels as they were: a folder with queries.jsonl and documents, a .jsonl file, or another dataset."""
    new: Annotated[str, typer.Argument(autocompletion=completion(corpus_names))]
    """The documents as they are now: a file or folder, or the folder of a dataset that includes them."""
    write: bool = False
    """Write the questions whose labels are certain to a new file beside the old one, NAME.updated.jsonl."""
    output: Annotated[Path | None, typer.Option("--output", "-o")] = None
    """Write them to this file instead."""
    page: Path | None = None
    """Write an HTML page on which to decide about the labels that are not certain."""
    decisions: Path | None = None
    """File of decisions that the page saved."""
    runs: Annotated[tuple[Path, Path] | None, typer.Option(metavar="BEFORE AFTER")] = None
    """Two saved evaluations, of the old labels and the updated ones: what the new documents changed in their scores."""
    documents: Annotated[Path | None, typer.Option(autocompletion=completion(corpus_names))] = None
    """The documents as they were, if OLD does not include them: a file, a folder or a bundled corpus by name."""
    encoding: Encoding = None
    include: Include = ()
    embedding: Annotated[str | None, typer.Option(autocompletion=completion(EMBEDDINGS))] = None
    """Embedding model that chooses what is proposed for a passage that is gone, among hits of BM25."""
    overwrite: bool = False
    """Replace an existing file; that of the old labels is never replaced."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print JSON with every label, and how its place was found."""


@command(
    corpus,
    "list",
    None,
    "List the bundled corpora",
    run="raglift.cli.datasets:list_all",
    examples=["raglift corpus list"],
)
@dataclass(frozen=True)
class ListCorpora:
    """List the bundled corpora, and whether their texts are on this machine."""

    as_json: AsJson = False


@command(
    corpus,
    "show",
    None,
    "Show the source and licence of a corpus",
    run="raglift.cli.datasets:show",
    examples=["raglift corpus show war_and_peace"],
)
@dataclass(frozen=True)
class ShowCorpus:
    """Show one corpus: its source, licence, number of queries and where its text is."""

    name: CorpusName
    as_json: AsJson = False


@command(
    corpus,
    "fetch",
    None,
    "Download the text of a corpus",
    run="raglift.cli.datasets:fetch_text",
    examples=["raglift corpus fetch war_and_peace"],
)
@dataclass(frozen=True)
class FetchCorpus:
    """Download the text of a corpus to the user's cache, and check that its labels can be found in it."""

    name: CorpusName
    url: str | None = None
    """Download from this address instead of the corpus's own."""
    as_json: AsJson = False


@command(
    group,
    "review",
    None,
    "Label hits by hand in the browser",
    run="raglift.cli.serving:serve_review",
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
    group,
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
    group,
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
    group,
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
