"""Mappings: read from files with all their faults at once, and made in Python alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.components.http.mapping import HttpMapping, filled, load_mapping
from raglift.errors import ConfigurationError, MappingError

GOOD = """
method: get
headers: {Authorization: "Bearer ${TOKEN}"}
params: {q: "{query}", size: "{k}", strict: true, boost: 1.5}
response:
  hits: data.rows
  text: [a.b, c]
timeout: 5
"""
FAULTY = """\
methd: GET
headers: {X: 3, Content-Length: "3", Y: "a\\nb"}
params: {q: "{question}", r: [1]}
timeout: -1
response: {hitz: a, text: "a..b", id: 3}
method: DELETE
most_bytes: 1.5
json: {day: 2024-01-01}
"""


def written(folder: Path, text: str, name: str = "search.yaml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_a_yaml_file_is_what_python_would_make(tmp_path: Path) -> None:
    mapping = load_mapping(written(tmp_path, GOOD))
    assert mapping == HttpMapping(
        method="GET",
        headers={"Authorization": "Bearer ${TOKEN}"},
        params={"q": "{query}", "size": "{k}", "strict": True, "boost": 1.5},
        response={"hits": "data.rows", "text": ["a.b", "c"]},  # type: ignore[arg-type]
        timeout=5,
    )
    assert mapping.json is None


def test_a_json_file_may_be_indented_by_tabs(tmp_path: Path) -> None:
    fields = {"json": {"question": "{query}"}, "response": {"hits": "."}}
    file = written(tmp_path, json.dumps(fields, indent="\t"), "search.json")
    assert load_mapping(file) == HttpMapping(json={"question": "{query}"}, response={"hits": "."})  # type: ignore[arg-type]


def test_every_fault_of_a_file_is_listed_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(MappingError) as raised:
        load_mapping(written(tmp_path, FAULTY))
    where = [fault.where for fault in raised.value.faults]
    assert where == sorted(where, key=lambda place: int(place.split(":")[1]))
    assert {place.partition(":")[2] for place in where} == {
        "1: methd",
        "2: headers.X",
        "2: headers.Content-Length",
        "2: headers.Y",
        "3: params.q",
        "3: params.r",
        "4: timeout",
        "5: response.hitz",
        "5: response.text",
        "5: response.id",
        "6: method",
        "7: most_bytes",
        "8: json.day",
    }
    assert "nothing was asked" in str(raised.value)


def test_every_fault_of_a_body_is_listed_with_its_place(tmp_path: Path) -> None:
    body = """\
json:
  question: "{qurey}"
  within:
    - {top: "{top_k}", q: "{query}"}
    - "${KEY}"
  day: 2024-01-01
"""
    with pytest.raises(MappingError) as raised:
        load_mapping(written(tmp_path, body))
    assert [(fault.where, fault.found) for fault in raised.value.faults] == [
        ("search.yaml:2: json.question", '"{qurey}"'),
        ("search.yaml:4: json.within[0].top", '"{top_k}"'),
        ("search.yaml:5: json.within[1]", 'the variable "${KEY}"'),
        ("search.yaml:6: json.day", "a date"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "an empty file"),
        ("- a", "no fields"),
        ("json: {q: a}", 'no {query}; expected a field with the query, as question: "{query}"'),
        ("method: GET\nparams: {q: a}", "params: found no {query}"),
        ("json: {q: '{query}', key: '${KEY}'}", "variables in headers or params alone"),
        ("json: {q: '{query} {filter}'}", '"{filter}" alone: it becomes an object'),
        ("method: GET\nparams: {q: '{query}', f: '{filter}'}", "in json alone"),
        ("json: !!python/object:os.system {}", "tag"),
        ("a: &a [1, 1]\njson: [*a, *a]", 'unknown field "a"'),
        ("method: GET\nmethod: GET", "again, after line 1"),
        ('headers: {X: "secret\x07"}', ""),
    ],
)
def test_what_is_no_mapping_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(MappingError) as raised:
        load_mapping(written(tmp_path, text))
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "[1]", '{"a": 1, "a": 2}', "{" * 10_000, '{"json": {"q": NaN}}', "\ud800"])
def test_json_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "search.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(MappingError):
        load_mapping(file)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    for name in ("no.yaml", "no.json"):
        with pytest.raises(MappingError, match="No such file"):
            load_mapping(tmp_path / name)
    with pytest.raises(ConfigurationError, match="expected the path"):
        load_mapping(3)  # type: ignore[arg-type]


def test_the_default_request_follows_the_method() -> None:
    whole = {"query": "{query}", "k": "{k}"}
    assert (HttpMapping().json, HttpMapping().params) == (whole, {})
    assert (HttpMapping(method="GET").json, HttpMapping(method="GET").params) == (None, whole)
    in_address = HttpMapping(params={"q": "{query}"})
    assert (in_address.method, in_address.json, in_address.sends_k) == ("POST", None, False)


def test_a_header_is_no_part_of_how_a_mapping_looks() -> None:
    assert "hush" not in repr(HttpMapping(headers={"X": "hush"}, params={"q": "{query}", "key": "hush"}))


def test_what_was_given_is_not_changed() -> None:
    body = {"q": "{query}", "deep": [1]}
    mapping = HttpMapping(json=body)
    assert mapping.json == body
    assert mapping.json is not body
    assert mapping.json["deep"] is not body["deep"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("{}kquery abc"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab{k}"), inner, max_size=3),
)


@given(template=values, query=st.text('{}kquery"\\ '))
def test_filling_keeps_everything_but_the_places(template: object, query: str) -> None:
    before = json.dumps(template)
    done = filled(template, query, 7)
    assert json.dumps(template) == before
    if "{k}" not in before and "{query}" not in before:
        assert done == template
    assert filled({"a": "{k}", "b": "{query}", "c": "{k}{query}"}, query, 7) == {"a": 7, "b": query, "c": f"7{query}"}
