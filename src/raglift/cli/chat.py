"""`raglift chat`."""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer

from raglift.adapters.adapt import adapt_reranker, check_reranker
from raglift.apps.assistant.conversation import View, converse, say, take_turn
from raglift.apps.assistant.engine import Assistant
from raglift.base.display import counted, printable
from raglift.base.retrying import RetryPolicy
from raglift.cli.evaluate import local_system, numbers_of_hits
from raglift.cli.exits import Stopped, has_width
from raglift.cli.json_output import labels_json, print_json
from raglift.cli.model_options import model_of
from raglift.errors import ConfigurationError, MissingDependency, MissingKey
from raglift.records.dataset import Dataset
from raglift.records.labels import LabelSources
from raglift.running.systems import LocalSystem, build_retriever, load_system

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from raglift.apps.assistant.engine import Answer, Turn
    from raglift.cli.judging import Chat
    from raglift.llm.language_models import LanguageModel
    from raglift.records.rankings import Hit


_DEFAULT_CORPUS = "war_and_peace"
_PROMPT = "\n? "
_NOTHING = 1
RETRY_POLICY = RetryPolicy(attempts=4, longest_wait=60.0)
"""Somebody waits for the answer."""


def run(request: Chat) -> None:
    """Load, index, then take questions: those of the command line, else from standard input."""
    from rich.console import Console

    if sys.stdin is None and not request.question:  # after `<&-`
        raise ConfigurationError(
            "chat: found no standard input to read questions from; expected a terminal or a pipe, or --question"
        )
    parts = local_system(request)
    check_reranker(request.reranker)  # what is wrong with it is better said before the documents are embedded
    model = _model(request)
    assistant = _assistant(request, parts, model)
    console = Console(stderr=request.as_json)
    display = (
        JsonLines()
        if request.as_json
        else View(console, None if model is None else model.name, wraps=has_width(console))
    )
    at_a_terminal = not request.question and sys.stdin.isatty()
    if at_a_terminal:
        assistant.warm_up()
        _open(assistant, console)
    try:
        if request.question:
            done = [take_turn(assistant, display, question, stay=False) for question in request.question]
        else:
            read = _reader(request, at_a_terminal=at_a_terminal)
            done = converse(assistant, display, read, at_a_terminal=at_a_terminal)
    except KeyboardInterrupt:
        raise Stopped("what was found and answered stands above") from None
    if done and not any(done) and not at_a_terminal:
        sys.stderr.write(f"raglift: {counted(len(done), 'question')} asked, and none came to an answer: see above\n")
        raise typer.Exit(_NOTHING)


def _model(request: Chat) -> LanguageModel | None:
    """Return the model that answers; None, which is said once, where none can be asked."""
    if request.model.strip().lower() == "none":
        return None
    try:
        return model_of(request.model, request.temperature, retry_policy=RETRY_POLICY)
    except (MissingKey, MissingDependency) as error:
        sys.stderr.write(f"retrieval only, no answers: {printable(str(error))}\n")
        return None


def _assistant(request: Chat, parts: LocalSystem, model: LanguageModel | None) -> Assistant:
    dataset = _dataset(request)
    own = None if request.system is None and request.mapping is None else load_system(request.system, request.mapping)
    system = build_retriever(dataset, parts) if own is None else own
    return Assistant(
        system,
        dataset,
        reranker=[
            stage.reranker
            for stage in adapt_reranker(
                request.reranker, dtype=parts.dtype, device=parts.device, batch_tokens=parts.batch_tokens
            )
        ],
        model=model,
        k=max(numbers_of_hits(request.k)),
        context=request.context,
        candidates=request.candidates,
        profile=request.profile,
    )


def _dataset(request: Chat) -> Dataset:
    """Return what is asked about; without a corpus, documents or a system of the user's are asked without labels."""
    from raglift.datasets.loading import load_dataset, load_documents

    if request.corpus is not None or (request.documents is None and request.system is None):
        return load_dataset(
            request.corpus or _DEFAULT_CORPUS,
            documents=request.documents,
            encoding=request.encoding,
            include=request.include,
        )
    if request.documents is None:
        if request.include:
            raise ConfigurationError("--include: found it without --documents; expected a folder of documents")
        return Dataset((), name=str(request.system))
    return Dataset(
        (),
        load_documents(request.documents, encoding=request.encoding, include=request.include),
        request.documents.name,
    )


def _open(assistant: Assistant, console: Console) -> None:
    """Say what is asked, and how."""
    wrap = has_width(console)
    dataset = assistant.dataset
    labelled = sum(query.is_labelled for query in dataset)
    say(
        console,
        f"{dataset.name}: {counted(len(dataset.documents), 'document')}, {counted(labelled, 'labelled question')}",
        wrap=wrap,
    )
    say(console, assistant.system, wrap=wrap)
    for note in (*dataset.resolution.notes, *assistant.notes):
        say(console, f"! {note}", wrap=wrap)
    if assistant.model is not None:
        say(console, f"answers: {assistant.model.name}, from the first {counted(assistant.context, 'hit')}", wrap=wrap)
    say(console, "Ask anything, or a labelled question by its id.")
    say(console, "/help lists the commands, /quit leaves.")


def _reader(request: Chat, *, at_a_terminal: bool) -> Callable[[], str | None]:
    """Return what reads the next line, None at the end; a prompt is shown only to somebody at a terminal."""
    if not at_a_terminal:
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        return lambda: sys.stdin.readline().lstrip("\ufeff") or None
    with suppress(ImportError):  # line editing and a history; Windows has its own
        import readline  # noqa: F401

    shown_with_answers = sys.stdout.isatty() and not request.as_json

    def read() -> str | None:
        try:
            if shown_with_answers:
                return input(_PROMPT)
            sys.stderr.write(_PROMPT)
            sys.stderr.flush()
            return input()
        except EOFError:
            sys.stderr.write("\n")
            return None

    return read


class JsonLines:
    """Prints one JSON object a question, when its turn is over."""

    def say(self, text: str) -> None:
        """Print other lines, next to turns."""
        sys.stderr.write(f"{printable(text)}\n")

    def failed(self, question: str, reason: str) -> None:
        """Print why a question came to nothing."""
        print_json({"question": question.strip(), "error": reason}, on_one_line=True)
        sys.stdout.flush()

    def found(self, turn: Turn) -> None:
        """Wait for the answer."""

    def piece(self, text: str) -> None:
        """Wait for the rest."""

    def answered(self, turn: Turn) -> None:
        """Print the turn."""
        print_json(as_json(turn), on_one_line=True)
        sys.stdout.flush()


def as_json(turn: Turn) -> dict[str, Any]:
    """Return what `--json` prints of a turn."""
    scores, answer = turn.scores, turn.answer
    return {
        "question": turn.query.text,
        "id": turn.query.id if turn.is_known else None,
        "error": turn.error,
        "stages": [
            {
                "name": stage.name,
                "system": stage.system,
                "scores_are": stage.score_name,
                "hits": [
                    {**_hit(hit), "score": hit.score, "labels": stage.labels.get(hit.rank, ())} for hit in stage.ranking
                ],
            }
            for stage in turn.stages
        ],
        "metrics": None
        if scores is None
        else {stage: {str(metric): scores.mean(stage, metric) for metric in scores.metrics} for stage in scores.stages},
        **labels_json(LabelSources.of([turn.query] if turn.is_known else [])),
        "prompt": turn.prompt and turn.prompt.version,
        "answer": None if answer is None else _answer(answer),
    }


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "model": answer.model,
        "text": answer.text,
        "citations": [{"number": each.number, **_hit(each.hit)} for each in answer.citations],
        "unknown": answer.unknown,
        "says_unknown": answer.says_unknown,
        "stopped": answer.stopped,
        "error": answer.error,
    }


def _hit(hit: Hit) -> dict[str, Any]:
    chunk = hit.chunk
    return {
        "rank": hit.rank,
        "chunk_id": chunk.id,
        "doc_id": chunk.doc_id,
        "start": chunk.start,
        "end": chunk.end,
        "text": chunk.text,
    }
