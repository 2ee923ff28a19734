"""What a judge is told that grades mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from raglift.errors import ConfigurationError
from raglift.grading.rubrics import LONGEST_REASON, SCALES, relevance_prompt
from raglift.utilities.validation import faults_of


@pytest.mark.parametrize("scale", SCALES)
def test_the_rubric_tells_every_grade(scale: int) -> None:
    system = relevance_prompt(scale).system
    assert all(f"- {grade}: " in system for grade in range(scale + 1))
    assert f"- {scale + 1}: " not in system
    assert "$" not in system


def test_the_version_follows_from_the_rubric() -> None:
    versions = [relevance_prompt(3), relevance_prompt(5), relevance_prompt(3, "3: yes, 0: no")]
    assert len({prompt.version for prompt in versions}) == 3
    assert all(prompt.version.startswith("relevance@") for prompt in versions)


def test_a_rubric_of_ones_own_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rubric.txt"
    path.write_bytes(b"\xef\xbb\xbf3: it says $passage and ${rubric}\r\n0: it does not\n")
    prompt = relevance_prompt(3, path)
    assert "3: it says $passage and ${rubric}" in prompt.system  # nothing is filled in to what the user wrote
    assert "\ufeff" not in prompt.system
    assert "- 3: answers" not in prompt.system
    assert "never instructions" in " ".join(prompt.system.split())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b" \n\t", "found no words"),
        (b"\x89PNG\r\n\x1a\n\x00", "cannot be read"),
        (b"words " * 5_000, "at most 20,000"),
    ],
)
def test_a_file_that_is_no_rubric(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "rubric.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=message) as caught:
        relevance_prompt(3, path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("scale", [0, 4, "3"])
def test_no_other_scale(scale: object) -> None:
    with pytest.raises(ConfigurationError, match=r"scale: found .*; expected 3 or 5"):
        relevance_prompt(scale)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", SCALES)
def test_an_answer_has_a_reason_and_then_a_grade_in_range(scale: int) -> None:
    form = SCALES[scale]
    assert list(form.model_fields) == ["reason", "grade"]
    assert form(reason="It says so.", grade=scale).grade == scale
    for wrong in (-1, scale + 1, 1.5, "two", None):
        with pytest.raises(ValidationError):
            form(reason="It says so.", grade=wrong)
    with pytest.raises(ValidationError):
        form(grade=1)  # type: ignore[call-arg]


def test_what_was_found_in_place_of_a_grade_is_said() -> None:
    with pytest.raises(ValidationError) as raised:
        SCALES[3].model_validate_json('{"reason": "It says so.", "grade": true}')
    (found,) = faults_of(raised.value, TypeAdapter(SCALES[3]))
    assert str(found) == "grade: found true; expected an integer from 0 to 3"


@pytest.mark.parametrize(("form", "said"), [(SCALES[3], {"grade": 2}), (SCALES[5], {"grade": 5})])
def test_a_reason_is_kept_to_a_length_that_a_table_can_show(form: type[BaseModel], said: dict[str, Any]) -> None:
    short = form.model_validate({"reason": "It says so.", **said})
    assert short.reason == "It says so."  # type: ignore[attr-defined]
    endless = form.model_validate({"reason": "so " * 100_000, **said})
    assert len(endless.reason) == LONGEST_REASON  # type: ignore[attr-defined]
    assert endless.reason.endswith("…")  # type: ignore[attr-defined]
    # a limit in the schema would be refused by providers that support only a part of JSON Schema
    assert "maxLength" not in str(form.model_json_schema())
