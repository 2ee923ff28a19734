"""Rubrics: the meaning of relevance grades, built in or from a user's file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from raglift.errors import ConfigurationError
from raglift.grading.prompts import Prompt, load_prompt, read_prompt_part
from raglift.utilities.display import shorten
from raglift.utilities.limits import user_path
from raglift.utilities.validation import described, wrong

_LONGEST = 20_000
"""Characters of a rubric: it is sent with every pair."""


LONGEST_REASON = 2_000
"""Characters of a judge's reason; of a longer one the end is left out."""
Reason = Annotated[str, AfterValidator(lambda reason: shorten(reason, LONGEST_REASON))]


def _no_flag(scale: int) -> BeforeValidator:
    """Return what refuses true and false, which are equal to 1 and 0 and are no grades."""

    def check(grade: object) -> object:
        if isinstance(grade, bool):
            raise wrong(described(grade), f"an integer from 0 to {scale}")
        return grade

    return BeforeValidator(check)


class Judgement(BaseModel):
    """What a model says of a pair: the reason comes first, so that the grade can follow from it."""

    reason: Reason = Field(description="Why, in one or two short sentences.")
    grade: int


class GradeTo3(Judgement):
    """How well a passage answers a question."""

    grade: Annotated[Literal[0, 1, 2, 3], _no_flag(3)] = Field(description="The grade by the rubric, from 0 to 3.")


class GradeTo5(Judgement):
    """How well a passage answers a question."""

    grade: Annotated[Literal[0, 1, 2, 3, 4, 5], _no_flag(5)] = Field(
        description="The grade by the rubric, from 0 to 5."
    )


SCALES: dict[int, type[Judgement]] = {3: GradeTo3, 5: GradeTo5}
"""The highest grades there are, with the form of an answer: a grade out of range is not an answer."""

ANSWERS_FROM = {3: 2, 5: 3}
"""The lowest grade of each scale that says, by raglift's rubric, that the passage answers: at least in part."""


def relevance_prompt(scale: int, rubric: str | Path | None = None) -> Prompt:
    """Return the prompt that asks for a grade; its version follows from the rubric too."""
    if scale not in SCALES:
        raise ConfigurationError(f"scale: found {scale!r}; expected {' or '.join(map(str, SCALES))}, the highest grade")
    if isinstance(rubric, Path):
        rubric = read_rubric(rubric)
    words = read_prompt_part(f"rubric_{scale}") if rubric is None else _checked(rubric, "rubric")
    return load_prompt("relevance").with_settings(rubric=words.strip())


def check_relevant_from(grade: int, scale: int) -> None:
    """Raise where a grade cannot be the lowest that counts as relevant."""
    if grade not in range(1, scale + 1):
        expected = f"an integer from 1 to {scale}, the highest grade"
        raise ConfigurationError(f"relevant_from: found {grade!r}; expected {expected}")


def read_rubric(path: Path) -> str:
    """Return the words of a rubric's file."""
    try:
        text = user_path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read: {error}; expected a rubric in plain text") from error
    return _checked(text, str(path))


def _checked(text: str, where: str) -> str:
    if not text.strip():
        raise ConfigurationError(f"{where}: found no words; expected what each grade means")
    if len(text) > _LONGEST:
        raise ConfigurationError(
            f"{where}: found {len(text):,} characters; expected a rubric of at most {_LONGEST:,}: all of it is sent "
            "with every pair"
        )
    return text
