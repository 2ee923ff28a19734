"""The assistant on a screen, or in a pipe."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from raglift.assistant.lines import (
    figures,
    heading,
    hit_lines,
    label_lines,
    place_of,
    say,
    shortened,
)
from raglift.assistant.wrapping import Wrapping
from raglift.metrics import title
from raglift.printable import counted, printable
from raglift.records import LabelSources
from raglift.report.format import labels_line

if TYPE_CHECKING:
    from rich.console import Console

    from raglift.assistant.records import Answer, Turn

__all__ = ["View", "text_of"]

_WIDTH = 140
"""Of the lines about hits where no terminal has a width."""
_EXCERPT = 60


class View:
    """Prints turns as they happen; texts come out safe, and whole where the output is no terminal.

    Args:
        console: where to print.
        model: who answers, if anybody does.
    """

    def __init__(self, console: Console, model: str | None = None) -> None:
        self._console = console
        self._model = model
        self._width = console.width if console.is_terminal else _WIDTH
        self._wrapping = Wrapping(console.width) if console.is_terminal else None

    def say(self, text: str) -> None:
        """Print a line."""
        say(self._console, text, wrap=self._wrapping is not None)
        self._console.file.flush()

    def failed(self, question: str, reason: str) -> None:
        """Print why a question came to nothing."""
        heading(self._console, question.strip())
        self.say(f"! {shortened(reason, 500)}")

    def found(self, turn: Turn) -> None:
        """Print the question, the hits of each stage, the metrics where there are labels, and who answers."""
        heading(self._console, turn.query.text)
        for line in _about(turn):
            self.say(line)
        if turn.query.is_labelled:
            for line in label_lines(turn.query, self._width - 20):
                self.say(line)
        most = turn.k if self._model is None else max(turn.k, len(turn.context))
        for number, stage in enumerate(turn.stages):
            self.say("")
            self.say(f"{'Reranked' if number else 'Retrieved'}: {stage.system}")
            for line in hit_lines(stage, turn.stages[0], most, self._width):
                say(self._console, line)
            if not len(stage.ranking):
                self.say("  nothing")
        for line in _measured(turn):
            self.say(line)
        if turn.error is not None:
            self.say(f"! {turn.error}")
        if self._model is not None and turn.prompt is not None:
            heading(self._console, f"{self._model}, from the first {counted(len(turn.context), 'hit')}:")
        self._console.file.flush()

    def piece(self, text: str) -> None:
        """Print a piece of an answer at once; on a terminal, as soon as its last word is whole."""
        self._print(printable(text) if self._wrapping is None else self._wrapping.add(printable(text)))

    def answered(self, turn: Turn) -> None:
        """Print what stands below an answer: how it ended, and what it cites."""
        if turn.answer is None:
            return
        if self._wrapping is not None:
            self._print(self._wrapping.rest())
            self._wrapping = Wrapping(self._width)
        for line in _ending(turn.answer):
            self.say(line)

    def _print(self, text: str) -> None:
        self._console.print(text, end="", markup=False, highlight=False, soft_wrap=True)
        self._console.file.flush()


def text_of(turn: Turn) -> str:
    """Return a turn as it is printed."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=_WIDTH, color_system=None)
    view = View(console, None if turn.answer is None else turn.answer.model)
    view.found(turn)
    if turn.answer is not None:
        view.piece(turn.answer.text)
    view.answered(turn)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text.strip("\n")


def _about(turn: Turn) -> list[str]:
    query = turn.query
    if turn.near is not None:
        return [f"not in the labelled set; did you mean {turn.near.id}: {turn.near.text}"]
    if not turn.is_known:
        return []
    if not query.answerable:
        return [f"labelled question {query.id}: the corpus does not answer it"]
    return [f"labelled question {query.id}" + ("" if query.facts else ", without labels")]


def _measured(turn: Turn) -> list[str]:
    """Return the metrics of a labelled question, before → after reranking."""
    scores = turn.scores
    if scores is None:
        return []
    ends = tuple(dict.fromkeys((scores.stages[0], scores.stages[-1])))
    change = ", before → after reranking" if len(ends) > 1 else ""
    conventions = "" if turn.profile == "default" else f" ({turn.profile} profile)"
    rows = ((metric, [scores.mean(end, metric) for end in ends]) for metric in scores.metrics)
    return [
        f"\nMetrics at k = {turn.k}{change}{conventions}",
        *(f"  {title(metric):<13} {figures(metric, values)}" for metric, values in rows),
        *(f"  {line}" for line in labels_line(LabelSources.of([turn.query]))),
    ]


def _ending(answer: Answer) -> list[str]:
    lines = ["", ""] if answer.text and not answer.text.endswith("\n") else [""]
    if answer.stopped:
        lines.append("! stopped: this is what came" if answer.text else "! stopped before anything came")
    if answer.error is not None:
        lines.append(f"! {shortened(answer.error, 500)}" + (" (what came stays)" if answer.text else ""))
    for citation in answer.citations:
        chunk = citation.hit.chunk
        place = f"{place_of(chunk)} ".lstrip()
        lines.append(f"[{citation.number}] {place}“{shortened(chunk.text, _EXCERPT)}”")
    if answer.unknown:
        numbers = ", ".join(f"[{number}]" for number in answer.unknown)
        lines.append(f"! it cites {numbers}, which it was not shown")
    if answer.is_whole and not answer.says_unknown and not (answer.citations or answer.unknown):
        lines.append("! it cites no passage: nothing shows that the answer rests on the corpus")
    return lines
