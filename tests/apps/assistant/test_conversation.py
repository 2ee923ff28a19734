from __future__ import annotations

from collections.abc import Callable

import pytest

from raglift.apps.assistant.conversation import converse
from raglift.apps.assistant.engine import Assistant, Turn
from raglift.errors import ModelError

Make = Callable[..., Assistant]


class Recorded:
    """A display that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def say(self, text: str) -> None:
        self.told.append(text)

    def failed(self, question: str, reason: str) -> None:
        self.told.append(f"{question} failed: {reason}")

    def found(self, turn: Turn) -> None:
        self.told.append(f"found {turn.query.id}")

    def piece(self, text: str) -> None:
        self.told.append(text)

    def answered(self, turn: Turn) -> None:
        self.told.append(f"answered {turn.query.id}")


def talk(assistant: Assistant, *lines: str | BaseException | None, at_a_terminal: bool = True) -> list[str]:
    given, display = iter((*lines, None)), Recorded()

    def next_line() -> str | None:
        line = next(given)
        if isinstance(line, BaseException):
            raise line
        return line

    converse(assistant, display, next_line, at_a_terminal=at_a_terminal)
    return display.told


@pytest.mark.parametrize("leave", ["exit", "quit\n", " EXIT "])
def test_exit_leaves_and_what_follows_is_not_asked(make: Make, leave: str) -> None:
    assert talk(make(), "horn\n", leave, "Who cooks?") == ["found horn", "answered horn"]


def test_the_end_of_the_input_leaves(make: Make) -> None:
    assert talk(make(), "Who cooks?") == ["found asked", "answered asked"]


def test_blank_lines_do_nothing(make: Make) -> None:
    assert talk(make(), "", "  \n", "\t") == []


def test_help_and_questions_list_what_there_is(make: Make) -> None:
    told = talk(make(), "help", "questions")
    assert "exit" in told[0]
    assert told[1:] == [
        "horn: How often does the horn sound?",
        "moon: How far is the moon?",
        "pier: When do boats leave?",
    ]


@pytest.mark.parametrize("command", ["help", "questions"])
def test_a_command_may_begin_with_a_slash(make: Make, command: str) -> None:
    assert talk(make(), f" /{command.upper()} \n") == talk(make(), command)
    assert talk(make(), "/exit", "horn") == talk(make(), "/quit", "horn") == []


def test_an_unknown_command_with_a_slash_is_not_asked(make: Make) -> None:
    (told,) = talk(make(), "/clear all of it")
    assert told == "/clear is no command: expected /help, /questions, /exit, /quit, or a question"


@pytest.mark.parametrize(("line", "at_a_terminal"), [("/etc/keeper.conf: what is it?", True), ("/clear", False)])
def test_a_path_and_a_line_of_a_pipe_are_questions(make: Make, line: str, at_a_terminal: bool) -> None:
    assert talk(make(), line, at_a_terminal=at_a_terminal) == ["found asked", "answered asked"]


def test_ctrl_c_at_the_prompt_says_how_to_leave_and_the_session_continues(make: Make) -> None:
    assert talk(make(), KeyboardInterrupt(), "horn") == ["\n/quit leaves", "found horn", "answered horn"]


def test_ctrl_c_without_a_terminal_ends_everything(make: Make) -> None:
    with pytest.raises(KeyboardInterrupt):
        talk(make(), KeyboardInterrupt(), "horn", at_a_terminal=False)


def test_a_system_that_cannot_work_is_said_and_the_session_continues(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    assistant = make()
    search = assistant.search

    def failing(question: str) -> Turn:
        if question == "fail":
            raise ModelError("no such model")
        return search(question)

    monkeypatch.setattr(assistant, "search", failing)
    assert talk(assistant, "fail", "horn") == ["fail failed: no such model", "found horn", "answered horn"]
