"""`raglift walkthrough`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.adapters.adapt import check_reranker
from raglift.apps.walkthrough import Settings, walk
from raglift.cli.evaluate import as_json as evaluation_as_json
from raglift.cli.evaluate import chunker_of, numbers_of_hits, system_of
from raglift.cli.json_output import print_json
from raglift.errors import ConfigurationError
from raglift.text.normalization import normalize
from raglift.utilities.validation import nearest

if TYPE_CHECKING:
    from raglift.cli.measuring import Walkthrough
    from raglift.types.dataset import Dataset
    from raglift.types.labels import Query


def run(request: Walkthrough) -> None:
    """Load the corpus, choose the questions, walk through."""
    from rich.console import Console

    from raglift.datasets.loading import load_dataset

    chunker = chunker_of(request.chunker)
    parts = system_of("dense", request.embedding, chunker, dtype=request.dtype, device=request.device)
    *smaller, k = sorted(numbers_of_hits(request.k))
    settings = Settings(parts, request.reranker, k, request.profile, tuple(smaller))
    question = request.question
    if question is not None and request.every:
        raise ConfigurationError("walkthrough: found --question and --all; expected one of them")
    dataset = load_dataset(request.corpus, encoding=request.encoding)
    labelled = [query for query in dataset if query.is_labelled]
    check_reranker(settings.reranker)  # what is wrong with it is better said before the text is embedded
    questions = labelled if request.every else [labelled[0] if question is None else _find(dataset, question)]
    evaluation = walk(dataset, questions, settings, Console(quiet=request.as_json))
    if request.as_json:
        print_json(evaluation_as_json(evaluation))


def _find(dataset: Dataset, question: str) -> Query:
    """Return a question by its id or its text; case, quotes, dashes and a question mark at the end do not count."""
    form = _comparable(question)
    found = next((query for query in dataset if form in (_comparable(query.id), _comparable(query.text))), None)
    if found is not None:
        return found
    if question in dataset.resolution.queries_left_out:
        raise ConfigurationError(
            f"--question: {question!r} is left out, because none of its labels resolves in this text; "
            f"raglift labels check {dataset.name} says why"
        )
    expected = nearest(question, [name for query in dataset for name in (query.id, query.text)])
    raise ConfigurationError(f"--question: {question!r} is not in {dataset.name}; expected {expected}")


def _comparable(text: str) -> str:
    form = normalize(text, unicode_folding=True)
    return form.rstrip(" ?") or form
