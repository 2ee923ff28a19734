"""`raglift walkthrough`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.integrations.adapt import check_reranker
from raglift.walkthrough import Settings, walk_through

if TYPE_CHECKING:
    from raglift.records import Dataset, Query
    from raglift.systems import LocalSystem

__all__ = ["run"]


def run(
    *, corpus: str, question: str | None, every: bool, parts: LocalSystem, reranker: str, k: int, profile: str
) -> None:
    """Load the corpus, choose the questions, walk through."""
    from rich.console import Console

    from raglift.loading import load_dataset

    if question is not None and every:
        raise ConfigurationError("walkthrough: found --question and --all; expected one of them")
    if k < 1:
        raise ConfigurationError(f"-k: found {k}; expected an integer, 1 or more")
    dataset = load_dataset(corpus)
    labelled = [query for query in dataset if query.is_labelled]
    check_reranker(reranker)  # what is wrong with it is better said before the text is embedded
    questions = labelled if every else [labelled[0] if question is None else _find(dataset, question)]
    walk_through(dataset, questions, Settings(parts, reranker, k, profile), Console())


def _find(dataset: Dataset, question: str) -> Query:
    """Return a question by its id, its text, or a part of its text that no other question has."""
    wanted = question.strip().lower()
    exact = [query for query in dataset if wanted in (query.id.lower(), query.text.lower())]
    partial = [query for query in dataset if wanted and wanted in query.text.lower()]
    found = exact or partial
    if len(found) == 1:
        return found[0]
    if found:
        listed = "\n".join(f"  {query.id}: {query.text}" for query in found[:10])
        raise ConfigurationError(f"--question: {question!r} fits {len(found)} questions; expected one:\n{listed}")
    raise dataset_error(dataset, question)


def dataset_error(dataset: Dataset, question: str) -> Exception:
    """Return the error for a question that has no labels, naming the nearest ones."""
    import difflib

    texts = {query.text: query.id for query in dataset}
    near = difflib.get_close_matches(question, texts, n=5, cutoff=0.3) or list(texts)[:5]
    listed = "\n".join(f"  {texts[text]}: {text}" for text in near)
    return ConfigurationError(
        f"--question: {question!r} is not in {dataset.name}, and metrics need labels; "
        f"expected an id or a text, such as:\n{listed}"
    )
