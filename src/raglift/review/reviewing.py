"""A review from its files: the runs' pool, the labels, what models said."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from raglift.dataset import read_queries
from raglift.errors import ConfigurationError
from raglift.judging.pooling.pool import pool
from raglift.paths import user_path
from raglift.review.labels_file import LabelsFile, hold
from raglift.review.session import Session
from raglift.review.showing import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from raglift.records import Document, Query
    from raglift.results import Evaluation

__all__ = ["SCALES", "open_review"]

SCALES = (3, 5)
"""The highest grades that there are."""


@contextmanager
def open_review(
    labels: Path,
    evaluations: Sequence[Evaluation] | Mapping[str, Evaluation],
    *,
    documents: Sequence[Document] = (),
    judged: Path | None = None,
    scale: int = 3,
    depth: int = 10,
) -> Iterator[tuple[Desk, int]]:
    """Open a file of labels to judge what systems returned; nobody else can, until the block ends.

    Args:
        labels: the queries file; made with the evaluations' queries and labels where there is none.
        evaluations: of the same queries.
        documents: the source texts, if at hand.
        judged: a queries file with models' labels; by default those of the file of labels itself.
        scale: the highest grade, 3 or 5.
        depth: how many hits of each ranking are judged.

    Yields:
        What is reviewed, and how many queries were added to the file.

    Raises:
        ConfigurationError: another review is at work on the file, the evaluations differ in their queries, the scale is
            none, or no model is named in `judged`.
        DatasetError: a file is malformed, or about other queries.
        MissingDependency: filelock is not installed.
    """
    if scale not in SCALES:
        raise ConfigurationError(f"scale: found {scale}; expected {' or '.join(map(str, SCALES))}, the highest grade")
    pooled = pool(evaluations, depth=depth)
    opinions = None if judged is None else _opinions(judged, documents)
    with hold(labels):
        file = LabelsFile(labels, documents)
        known, added = file.open([each.query for each in pooled.queries])
        session = Session([known[each.query.id] for each in pooled.queries], file)
        yield Desk(pooled, session, known if opinions is None else opinions, scale), added


def _opinions(path: Path, documents: Sequence[Document]) -> Mapping[str, Query]:
    queries = read_queries(user_path(path), documents)
    passages = (
        passage
        for query in queries
        for passage in (*query.judged_irrelevant, *(one for fact in query.facts for one in fact.passages))
    )
    if not any(passage.annotator for passage in passages):
        raise ConfigurationError(
            f"{path}: found no passage that names a model as its annotator; expected labels by a model"
        )
    return {query.id: query for query in queries}
