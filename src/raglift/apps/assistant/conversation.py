"""The assistant as a conversation: what is read from the user, and how answers and hits are printed."""

from __future__ import annotations

import io
import math
import re
from typing import TYPE_CHECKING, Protocol

from rich.cells import cell_len, set_cell_size

from raglift.base.display import counted, printable
from raglift.errors import RagliftError
from raglift.metrics.computing import title
from raglift.metrics.rank_measures import HitRate
from raglift.records.labels import LabelSources
from raglift.report.format import labels_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

    from raglift.apps.assistant.engine import Answer, Assistant, StageHits, Turn
    from raglift.records.documents import Chunk
    from raglift.records.labels import Query
    from raglift.records.metric import Metric
    from raglift.records.rankings import Hit


# Word wrapping for a text that arrives in chunks.


_AFTER_SPACE = re.compile(r"(?<=\s)")
_LONGEST_HELD = 20  # in a script without spaces, pieces must not wait for one


class Wrapping:
    """Breaks a text before the words that do not fit on the line, as far as their ends are known.

    Args:
        width: of a line, in columns, of which a Chinese character takes two.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._column = 0
        self._held = ""

    def add(self, piece: str) -> str:
        """Return what can be shown now: all but the beginning of a word that may go on."""
        *words, self._held = _AFTER_SPACE.split(self._held + piece)
        shown = "".join(map(self._placed, words))
        return shown + self.rest() if len(self._held) > _LONGEST_HELD else shown

    def rest(self) -> str:
        """Return what was held back."""
        held, self._held = self._held, ""
        return self._placed(held)

    def _placed(self, word: str) -> str:
        breaks = self._column > 0 and self._column + cell_len(word.rstrip()) > self._width
        self._column = 0 if word.endswith("\n") else cell_len(word) + (0 if breaks else self._column)
        return f"\n{word}" if breaks else word


# Lines about hits and scores, as the assistant and the walkthrough print them.


_FEWEST_WORDS = 24
"""Characters of a chunk that are worth a place next to the rest."""


def say(console: Console, text: str, *, wrap: bool = False) -> None:
    """Print text that may come from a corpus: no markup is read in it, and no control character gets through."""
    console.print(printable(text), markup=False, highlight=False, soft_wrap=not wrap)


def heading(console: Console, text: str) -> None:
    """Print a line that stands out."""
    console.print(f"\n{printable(text)}", style="bold", markup=False, highlight=False, soft_wrap=True)


def shortened(text: str, length: int) -> str:
    """Return a text on one line, cut where it would take more columns than a length."""
    line = printable(" ".join(text.split()))
    return line if cell_len(line) <= length else set_cell_size(line[: 4 * length], length - 1).rstrip() + "…"


def place_of(chunk: Chunk) -> str:
    """Return the document and the characters of a chunk, as far as they are known."""
    known = chunk.start is not None and chunk.end is not None
    offsets = f"{chunk.start:,}–{chunk.end:,}" if known else ""
    return " ".join(filter(None, [chunk.doc_id, offsets]))


def label_lines(query: Query, length: int) -> Iterator[str]:
    """Yield one line per passage of a question's labels."""
    for number, fact in enumerate(query.facts, start=1):
        for alternative, passage in enumerate(fact.passages):
            name = "     or: " if alternative else f"label {number}: "
            yield f"  {name}{shortened(passage.text or f'chunk {passage.chunk_id}', length)}"


def hit_lines(stage: StageHits, first: StageHits, k: int, width: int) -> Iterator[str]:
    """Yield a line per hit: rank, the rank it had at first, score, location, words, and which labels it matches.

    Text that does not fit next to the rest gets its own line.

    Args:
        stage: whose hits.
        first: the first stage; for that stage itself no earlier ranks are shown.
        k: how many hits at most.
        width: of a line, at most.
    """
    hits = stage.ranking.hits[:k]
    earlier = {hit.chunk.id: hit.rank for hit in first.ranking}
    places = max((len(place_of(hit.chunk)) for hit in hits), default=0)
    for hit in hits:
        was = "" if stage is first else f" (was {earlier.get(hit.chunk.id, '–'):>2})"
        begin = f"{hit.rank:>3}{was}  {stage.score_name} {_score(hit)}  {place_of(hit.chunk):<{places}}  "
        matched = "".join(f" ← label {number}" for number in stage.labels.get(hit.rank, ()))
        room = width - cell_len(begin) - len(matched)
        if room >= _FEWEST_WORDS:
            yield f"{begin}{shortened(hit.chunk.text, room)}{matched}"
        else:
            yield f"{begin.rstrip()}{matched}"
            yield f"{'':6}{shortened(hit.chunk.text, max(width - 6, _FEWEST_WORDS))}"


def _score(hit: Hit) -> str:
    return f"{'–':>8}" if hit.score is None else f"{hit.score:8.4f}"


def figures(metric: Metric, values: Sequence[float], *, decimals: int | None = None) -> str:
    """Return a metric's values from stage to stage; of one question as the tutorial prints them unless told."""
    # One question is hit or not, the rest with two decimals
    places = decimals if decimals is not None else 0 if metric.name == HitRate.name else 2
    return " → ".join("–" if math.isnan(value) else f"{value:.{places}f}" for value in values)


# The assistant on a screen, or in a pipe.


_WIDTH = 140
"""Of the lines about hits where no terminal has a width."""
_EXCERPT = 60


class View:
    """Prints turns as they happen; texts come out safe, and whole where the output is not a terminal.

    Args:
        console: where to print.
        model: who answers, if anybody does.
        wraps: whether to keep to the width of the console; by default on a terminal.
    """

    def __init__(self, console: Console, model: str | None = None, *, wraps: bool | None = None) -> None:
        self._console = console
        self._model = model
        wraps = console.is_terminal if wraps is None else wraps
        self._width = console.width if wraps else _WIDTH
        self._wrapping = Wrapping(console.width) if wraps else None

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
        """Print the lines below an answer: how it ended, and what it cites."""
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


# The chat loop: one question after another, until the input ends or the user leaves.


_LEAVE = ("exit", "quit")
_LIKE_A_COMMAND = re.compile(r"/[a-z]+(?!\S)")
_COMMANDS = ("help", "questions", *_LEAVE)
_HELP = """/help       lists the commands
/questions  lists the labelled questions; ids can be asked too
/quit       leaves, as /exit does; Ctrl-C stops an answer
Anything else is a question, without memory of earlier ones."""


class Display(Protocol):
    """Where turns are shown: a terminal, a pipe, or JSON Lines."""

    def say(self, text: str) -> None:
        """Show a line."""

    def failed(self, question: str, reason: str) -> None:
        """Show why a question came to nothing."""

    def found(self, turn: Turn) -> None:
        """Show what was found, before it is answered."""

    def piece(self, text: str) -> None:
        """Show a piece of the answer at once."""

    def answered(self, turn: Turn) -> None:
        """Show what there is to say below the answer, or without one; the turn is over."""


def converse(
    assistant: Assistant, display: Display, read: Callable[[], str | None], *, at_a_terminal: bool
) -> list[bool]:
    """Take questions one after the other.

    Args:
        assistant: who is asked.
        display: where turns are shown.
        read: returns the next line; None when there are no more.
        at_a_terminal: whether Ctrl-C returns to the prompt; otherwise it ends the program.

    Returns:
        For each question whether it came to what it should.

    Raises:
        KeyboardInterrupt: Ctrl-C, where nobody is at a terminal.
    """
    done: list[bool] = []
    while True:
        try:
            line = read()
            word = "exit" if line is None else _command(line)
            if word in _LEAVE:
                return done
            if word == "help":
                display.say(_HELP)
            elif word == "questions":
                for query in assistant.dataset:
                    display.say(f"{query.id}: {query.text}")
            elif at_a_terminal and (unknown := _LIKE_A_COMMAND.match(word)):
                display.say(f"{unknown[0]} is no command: expected /{', /'.join(_COMMANDS)}, or a question")
            elif word and line is not None:
                done.append(take_turn(assistant, display, line, stay=at_a_terminal))
        except KeyboardInterrupt:
            if not at_a_terminal:
                raise
            display.say("\n/quit leaves")


def _command(line: str) -> str:
    """Return what was typed, in lower case; a command without the slash that other programs have before theirs."""
    word = line.strip().lower()
    return word[1:] if word.startswith("/") and word[1:] in _COMMANDS else word


def take_turn(assistant: Assistant, display: Display, question: str, *, stay: bool) -> bool:
    """Ask one question and show all that comes of it; what fails is shown and is not an error.

    Args:
        assistant: who is asked.
        display: where the turn is shown.
        question: as it was typed.
        stay: whether Ctrl-C only stops the answer.

    Returns:
        Whether the question was searched for and, where there is a model, answered to the end.

    Raises:
        KeyboardInterrupt: Ctrl-C, and nobody wants to stay; what came of the answer is shown.
    """
    try:
        turn = assistant.search(question)
    except RagliftError as error:
        display.failed(question, str(error))
        return False
    display.found(turn)
    turn = assistant.answer(turn, heard=display.piece, stoppable=True)
    display.answered(turn)
    if turn.answer is not None and turn.answer.stopped and not stay:
        raise KeyboardInterrupt
    return turn.error is None and (turn.answer is None or turn.answer.is_whole)
