"""Faults that pydantic finds, in raglift's words: where, what was found, what was expected, whatever the form."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError

from raglift.utilities.validation import Expected, WrongKind, faults_of, read_as, several_wrong, wrong


class Size(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    width: Annotated[int, Field(ge=1), Expected("an integer, 1 or more")]
    unit: Literal["m", "km"] = "m"


def no_zero(value: int) -> int:
    if value == 0:
        raise wrong("a zero\x1b", "anything else")
    return value


def no_pair(values: list[int]) -> list[int]:
    if len(values) == 2:
        raise several_wrong([((place,), str(value), "no pair") for place, value in enumerate(values)])
    return values


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    size: Size
    other: Size | None = None
    name: str | None = None
    weight: float = 1.0
    sizes: Annotated[list[Size], Field(min_length=1)] | None = None
    by_name: dict[Annotated[str, Field(min_length=2)], Annotated[int, AfterValidator(no_zero)]] = {}
    pair: Annotated[list[int], AfterValidator(no_pair)] = []
    body: dict[str, int] | None = Field(None, alias="json")
    either: Annotated[
        Annotated[int, Tag("<number>")] | Annotated[Size, Tag("<size>")],
        Discriminator(lambda value: "<size>" if isinstance(value, dict) else "<number>"),
    ] = 0


FORM = TypeAdapter(Form)
SIZE = {"width": 1}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "size: found nothing; expected an object"),
        ([1], "found a list of 1; expected an object"),
        ({"size": {"width": True}}, "size.width: found true; expected an integer, 1 or more"),
        ({"size": {}}, "size.width: found nothing; expected an integer, 1 or more"),
        (
            {"size": {**SIZE, "widht": 1}},
            'size.widht: found an unknown field "widht"; expected one of "unit", "width"; nearest: "width"',
        ),
        (
            {"size": {**SIZE, "a\ud800": 1}},
            'size.a�: found an unknown field "a\\ud800"; expected one of "unit", "width"',
        ),
        ({"size": {**SIZE, "unit": "cm"}}, "size.unit: found \"cm\"; expected 'm' or 'km'"),
        ({"other": 5}, "other: found 5; expected an object or null"),
        ({"weight": "5"}, 'weight: found "5"; expected a number'),
        ({"weight": object()}, "weight: found a object; expected a number"),
        ({"sizes": []}, "sizes: found a list of 0; expected a list of 1 or more"),
        ({"sizes": [SIZE, {"width": 0}]}, "sizes[1].width: found 0; expected an integer, 1 or more"),
        ({"sizes": [{**SIZE, "x": 1}]}, 'sizes[0].x: found an unknown field "x"; expected one of "unit", "width"'),
        ({"by_name": {"ab": 0}}, "by_name.ab: found a zero�; expected anything else"),
        ({"by_name": {"a": 1}}, 'by_name.a: found "a"; expected String should have at least 2 characters'),
        ({"by_name": {"ab": None}}, "by_name.ab: found null; expected an integer"),
        ({"either": "1"}, 'either: found "1"; expected an integer'),
        ({"either": {"width": 0}}, "either.width: found 0; expected an integer, 1 or more"),
        ({"either": {"x": 0, **SIZE}}, 'either.x: found an unknown field "x"; expected one of "unit", "width"'),
    ],
)
def test_the_first_fault_of_a_value_is_told(given: Any, told: str) -> None:
    whole = {"size": SIZE, **given} if isinstance(given, dict) and given else given
    with pytest.raises(WrongKind) as caught:
        read_as(FORM, whole)
    assert str(caught.value) == told


def test_what_is_right_is_returned() -> None:
    form = read_as(FORM, {"size": SIZE, "json": {"a": 1}, "either": SIZE})
    assert (form.body, form.either) == ({"a": 1}, Size(width=1))


def test_every_fault_is_returned_in_order_and_in_the_words_of_the_format() -> None:
    known = ", ".join(f'"{name}"' for name in sorted({*Form.model_fields, "json"} - {"body"}))
    given = {"size": 1, "other": "no", "pair": [3, 4], "zz": 1}
    with pytest.raises(ValidationError) as caught:
        FORM.validate_python(given)
    assert list(map(str, faults_of(caught.value, FORM, yaml=True))) == [
        "size: found 1; expected a mapping",
        'other: found "no"; expected a mapping',
        "pair[0]: found 3; expected no pair",
        "pair[1]: found 4; expected no pair",
        f'zz: found an unknown field "zz"; expected one of {known}',
    ]


def test_what_is_missing_is_told_in_words_of_its_own() -> None:
    with pytest.raises(ValidationError) as caught:
        FORM.validate_python({})
    assert list(map(str, faults_of(caught.value, FORM, missing={"size": "width and unit"}))) == [
        "size: found nothing; expected width and unit"
    ]
