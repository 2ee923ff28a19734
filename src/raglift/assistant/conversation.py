"""Question after question, until there are no more or somebody leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from raglift.errors import RagliftError

if TYPE_CHECKING:
    from collections.abc import Callable

    from raglift.assistant.engine import Assistant
    from raglift.assistant.records import Turn

__all__ = ["Display", "converse", "take_turn"]

_LEAVE = ("exit", "quit")
_HELP = """help       lists the commands
questions  lists the labelled questions, which can also be asked by their id
exit       leaves, as quit and the end of the input do; Ctrl-C only stops an answer
Anything else is a question. Each stands alone: no earlier one is remembered."""


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
        at_a_terminal: whether Ctrl-C leads back to the prompt; elsewhere it ends everything.

    Returns:
        For each question whether it came to what it should.

    Raises:
        KeyboardInterrupt: Ctrl-C, where nobody is at a terminal.
    """
    done: list[bool] = []
    while True:
        try:
            line = read()
            word = "exit" if line is None else line.strip().lower()
            if word in _LEAVE:
                return done
            if word == "help":
                display.say(_HELP)
            elif word == "questions":
                for query in assistant.dataset:
                    display.say(f"{query.id}: {query.text}")
            elif word and line is not None:
                done.append(take_turn(assistant, display, line, stay=at_a_terminal))
        except KeyboardInterrupt:
            if not at_a_terminal:
                raise
            display.say("\nexit leaves")


def take_turn(assistant: Assistant, display: Display, question: str, *, stay: bool) -> bool:
    """Ask one question and show all that comes of it; what fails is shown and is no error.

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
