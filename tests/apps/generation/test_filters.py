from __future__ import annotations

import pytest

from raglift.apps.generation.questions import fault_of, gives_away, repeated

PASSAGE = "The keeper wrote <b>Beware</b> on the door of the lamp room."


@pytest.mark.parametrize(
    ("question", "style", "fault"),
    [
        ("Who wrote a warning on the door of the lamp room?", "natural", None),
        ("keeper warning door", "keyword", None),
        ("What does the note on the text of the treaty say?", "natural", None),
        ("灯台はどこ？", "natural", None),
        ("Why?", "natural", "question too short"),
        ("Who " * 3000, "natural", "question too long"),
        ("a b c d e f g h i j k", "keyword", "question too long"),
        ("Who wrote <script>alert(1)</script> on the door?", "natural", "markup"),
        ("Who wrote <img src=x onerror=alert(1) on the door?", "natural", "markup"),
        ("Why is <b>Beware</b> on the door?", "natural", None),
        ("Is 3 < 4 in the log?", "natural", None),
        ("Who wrote \u202ethe warning?", "natural", "hidden characters"),
        ("Who wrote\u200b the warning?", "natural", "hidden characters"),
        ("Who wrote \x1b[31m the warning?", "natural", "hidden characters"),
        ("Who \ud800 wrote the warning?", "natural", "hidden characters"),
        ("What does the passage say of the keeper?", "natural", "speaks of the passage"),
        ("In this short excerpt, who is warned?", "natural", "speaks of the passage"),
        ("According to the text, who is warned?", "natural", "speaks of the passage"),
        ("Who is warned by the author above?", "natural", "speaks of the passage"),
        ("What do both passages say?", "multi", "speaks of the passage"),
    ],
)
def test_faults(question: str, style: str, fault: str | None) -> None:
    assert fault_of(question, style, [PASSAGE]) == fault


def test_a_passage_that_is_itself_about_passages_and_authors() -> None:
    passage = "Amundsen sailed the Northwest Passage in 1906. Mary Shelley is the author of Frankenstein."
    assert fault_of("Who first sailed the Northwest Passage?", "natural", [passage]) is None
    assert fault_of("Who is the author of Frankenstein?", "natural", [passage]) is None
    assert (
        fault_of("Who is the author of Frankenstein in this passage?", "natural", [passage]) == "speaks of the passage"
    )
    assert fault_of("Who first sailed the Northwest Passage?", "natural", [PASSAGE]) == "speaks of the passage"


@pytest.mark.parametrize(
    ("question", "gives"),
    [
        ("Is it true that the horn sounds every ninety seconds?", True),
        ("Is it so that “The horn sounds every  ninety seconds”?", True),
        ("How often does the horn sound?", False),
        ("the horn sounds", False),
        ("What sounds every ninety seconds on the island of the keeper?", False),
    ],
)
def test_questions_that_say_their_answer(question: str, gives: bool) -> None:
    assert gives_away(question, "The horn sounds every ninety seconds.") is gives


def test_questions_that_are_repeated() -> None:
    first = "Who trimmed the wick of the lamp?"
    assert repeated(first, []) is None
    assert repeated("who trimmed  the wick of the lamp?", [first]) == first
    assert repeated("Who trimmed the wick of the lamps?", [first]) == first
    assert repeated("Who trimmed the hedge of the garden?", [first]) is None
