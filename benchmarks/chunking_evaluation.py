"""Six ways of splitting on Chroma's chunking evaluation: how much of what answers a question is found, and what else.

    python benchmarks/chunking_evaluation.py [FOLDER]

FOLDER holds `questions_df.csv` and `corpora/`, as `general_evaluation_data` does in
<https://github.com/brandonstarxel/chunking_evaluation> (below `src/chunking_evaluation/evaluation_framework`); by
default it is `$RAGLIFT_CORPORA/chunking_evaluation`. One index holds all texts; each question gets its five best
chunks. docs/reference/benchmarks.md says what the columns are.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from raglift.datasets.loading import load_dataset, load_documents
from raglift.errors import ConfigurationError, RagliftError
from raglift.retrieval.chunkers import RecursiveChunker, TokenChunker
from raglift.retrieval.embedding import SentenceTransformerEmbedder, build_index
from raglift.retrieval.retrievers import DenseRetriever
from raglift.running.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raglift.retrieval.chunkers import Chunker
    from raglift.retrieval.embedding import Embedder
    from raglift.types.dataset import Dataset

K = 5
METRICS = (f"span_recall@{K}", f"span_precision@{K}", "span_precision_omega", f"span_iou@{K}")
SIZES = ((250, 125), (250, 0), (200, 0))
PUBLISHED = {
    "recursive 250/125": 78.7,
    "recursive 250/0": 78.5,
    "recursive 200/0": 75.7,
    "token 250/125": 82.4,
    "token 250/0": 77.1,
    "token 200/0": 76.6,
}
"""Recall in the report's table of all-MiniLM-L6-v2, in percent: here it is within 1.5 of that."""
SEPARATORS = ("\n\n", "\n", ".", "?", "!", " ", "")


@dataclass(frozen=True, eq=False)
class Row:
    """What was measured for one way of splitting."""

    name: str
    """The way, its chunk size and its overlap: `recursive 250/125`."""
    chunks: int
    """How many chunks the texts were split into."""
    read_in_part: int
    """How many distinct chunks are longer than the model reads."""
    values: NDArray[np.float64]
    """Shape (metrics, questions), in the order of `METRICS`; NaN for a question without references."""

    def __str__(self) -> str:
        percent = 100 * self.values
        figures = zip(np.nanmean(percent, axis=1), np.nanstd(percent, axis=1), strict=True)
        cells = "  ".join(f"{mean:5.1f} ± {deviation:4.1f}" for mean, deviation in figures)
        return f"{self.name:<17}  {cells}  {self.chunks:>6,}  {self.read_in_part:>7,}  {PUBLISHED[self.name]:>9.1f}"


HEADER = f"{'splitting':<17}  {'recall':^12}  {'precision':^12}  {'omega':^12}  {'IoU':^12}  chunks  in part  published"


def settings() -> list[tuple[str, Chunker]]:
    """Return the ways of splitting by name, sizes in cl100k_base tokens."""
    recursive = [(f"recursive {size}/{overlap}", _recursive(size, overlap)) for size, overlap in SIZES]
    return [*recursive, *((f"token {size}/{overlap}", TokenChunker(size, overlap)) for size, overlap in SIZES)]


def _recursive(size: int, overlap: int) -> Chunker:
    return RecursiveChunker(size, overlap, "tokens", SEPARATORS)


def measure(name: str, chunker: Chunker, dataset: Dataset, embedder: Embedder) -> Row:
    """Split, embed, index, ask and score.

    Args:
        name: what to call the way of splitting.
        chunker: it.
        dataset: the questions and all texts.
        embedder: the embedding model.
    """
    chunks = chunker.split(dataset.documents)
    sys.stderr.write(f"{name}: {len(chunks):,} chunks to embed, or to find in the cache …\n")
    index = build_index(chunks, embedder)
    found = evaluate(
        DenseRetriever(index),
        dataset,
        metrics=METRICS,
        ks=(K,),
        depth="deep",
        candidates=K,
        match="coverage",
        chunks=chunks,
    )
    values = np.array([found.scores.of(found.before, metric) for metric in found.scores.metrics])
    return Row(name, len(chunks), index.read_in_part or 0, values)


def read_questions(folder: Path) -> Dataset:
    """Return the questions of a folder with the spans that answer them, and the texts, by the names in `corpus_id`."""
    columns = {"passage": "references.content", "doc": "corpus_id"}
    columns |= {"start": "references.start_index", "end": "references.end_index"}
    texts = {Path(document.id).stem: document.text for document in load_documents(folder / "corpora")}
    return load_dataset(folder / "questions_df.csv", documents=texts, columns=columns)


def find_folder(given: str | None) -> Path:
    """Return the folder of the benchmark.

    Args:
        given: the folder named on the command line, if any.

    Raises:
        ConfigurationError: none was named, and `RAGLIFT_CORPORA` is not set.
    """
    if given is not None:
        return Path(given)
    corpora = os.environ.get("RAGLIFT_CORPORA")
    if corpora:
        return Path(corpora) / "chunking_evaluation"
    raise ConfigurationError(
        "FOLDER: found none, and RAGLIFT_CORPORA is not set; expected the folder that holds questions_df.csv and "
        "corpora/, from https://github.com/brandonstarxel/chunking_evaluation"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each way of splitting, as soon as it is measured; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", help="default: $RAGLIFT_CORPORA/chunking_evaluation")
    try:
        dataset = read_questions(find_folder(parser.parse_args(arguments).folder))
        embedder = SentenceTransformerEmbedder(dtype="float32")
        facts = sum(len(query.facts) for query in dataset)
        sys.stdout.write(
            f"{len(dataset)} questions, {facts} passages, {len(dataset.documents)} texts in one index; "
            f"top {K}; {embedder.identity}\n"
            f"percent of characters, mean ± standard deviation over questions\n\n{HEADER}\n"
        )
        for name, chunker in settings():
            sys.stdout.write(f"{measure(name, chunker, dataset, embedder)}\n")
            sys.stdout.flush()
    except RagliftError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped; what was embedded is kept: the same command goes on from there\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
