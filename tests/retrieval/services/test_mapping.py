"""Mappings: read from files with all their faults at once, and made in Python alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import ConfigurationError, MappingError
from raglift.retrieval.services.mapping import filled, load_mapping, mapping_digest, mapping_of

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
headers: {X: 3, Y: "a\\nb", "A:B": c}
params: {q: "{question}", r: [1]}
timeout: -1
response: {hitz: a, text: "a..b", id: 3}
method: DELETE
env: {A B: c}
arguments: ["{query}"]
json:
  question: "{qurey}"
  within:
    - {top: "{top_k}", q: "{query}"}
    - "${KEY}"
  day: 2024-01-01
"""
FAULTS = {
    "1: methd": 'field "methd"',
    "2: headers.X": "no text",
    "2: headers.Y": "letters",
    "2: headers.A:B": "A:B",
    "3: params.q": "{question}",
    "3: params.r": "a list",
    "4: timeout": "-1",
    "5: response.hitz": "hitz",
    "5: response.text": "a..b",
    "5: response.id": "3",
    "6: method": "DELETE",
    "7: env.A B": "A B",
    "8: arguments": "a list",
    "10: json.question": "{qurey}",
    "12: json.within[0].top": "{top_k}",
    "13: json.within[1]": "${KEY}",
    "14: json.day": "a date",
}


def written(folder: Path, text: str, name: str = "search.yaml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_is_what_python_would_make(tmp_path: Path) -> None:
    expected = {
        "method": "GET",
        "headers": {"Authorization": "Bearer ${TOKEN}"},
        "params": {"q": "{query}", "size": "{k}", "strict": True, "boost": 1.5},
        "response": {"hits": "data.rows", "text": ["a.b", "c"]},
        "timeout": 5,
    }
    mapping = load_mapping(written(tmp_path, GOOD))
    assert mapping == mapping_of(expected)
    assert load_mapping(written(tmp_path, json.dumps(expected), "search.json")) == mapping


def test_every_fault_of_a_file_is_listed_with_its_line_and_no_secret(tmp_path: Path) -> None:
    with pytest.raises(MappingError) as raised:
        load_mapping(written(tmp_path, FAULTY))
    found = {fault.where.partition(":")[2]: fault.found for fault in raised.value.faults}
    assert list(found) == sorted(found, key=lambda place: int(place.partition(":")[0]))
    assert set(found) == set(FAULTS)
    assert all(said in found[where] for where, said in FAULTS.items())
    with pytest.raises(MappingError) as raised:
        load_mapping(written(tmp_path, 'headers: {X: "secret\x07"}'))
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "an empty file"),
        ("- a", "no fields"),
        ("json: {q: a}", "json: found no {query}"),
        ("method: GET\nparams: {q: a}", "params: found no {query}"),
        ("arguments: {q: lamp}", "arguments: found no {query}"),
        ("json: {q: '{query} {filter}'}", '"{filter}" alone: it becomes an object'),
        ("method: GET\nparams: {q: '{query}', f: '{filter}'}", "in json alone"),
        ("json: !!python/object:os.system {}", "tag"),
        ("method: GET\nmethod: GET", "again, after line 1"),
    ],
)
def test_what_is_no_mapping_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(MappingError) as raised:
        load_mapping(written(tmp_path, text))
    assert said in str(raised.value)


def test_a_field_that_is_empty_is_one_that_is_left_out() -> None:
    assert mapping_of({"response": {"hits": None}}).response == mapping_of({}).response


def test_what_is_no_path_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="mapping: found a int; expected the path of a YAML file"):
        load_mapping(3)  # type: ignore[arg-type]


def test_a_mapping_shows_no_header_and_keeps_what_was_given() -> None:
    body = {"q": "{query}", "deep": [1]}
    mapping = mapping_of({"headers": {"X": "hush"}, "params": {"key": "hush"}, "json": body})
    assert "hush" not in repr(mapping)
    assert mapping.body == body
    assert mapping.body["deep"] is not body["deep"]


def test_a_digest_changes_with_what_decides_hits_alone(tmp_path: Path) -> None:
    digest = mapping_digest(written(tmp_path, GOOD))
    same = GOOD.replace("${TOKEN}", "${OTHER}").replace("timeout: 5", "timeout: 7  # longer")
    assert mapping_digest(written(tmp_path, same)) == digest
    assert mapping_digest(written(tmp_path, GOOD.replace("rows", "hits"))) != digest


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("{}kquery abc"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab{k}"), inner, max_size=3),
)


@pytest.mark.slow
@given(template=values, query=st.text('{}kquery"\\ '))
def test_filling_keeps_everything_but_the_placeholders(template: object, query: str) -> None:
    before = json.dumps(template)
    done = filled(template, query, 7)
    assert json.dumps(template) == before
    if "{k}" not in before and "{query}" not in before:
        assert done == template
    assert filled({"a": "{k}", "b": "{query}", "c": "{k}{query}"}, query, 7) == {"a": 7, "b": query, "c": f"7{query}"}


@pytest.mark.slow
def test_aliases_that_stand_for_many_values_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 19))]
    (tmp_path / "search.yaml").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(MappingError, match="aliases counted"):
        load_mapping(tmp_path / "search.yaml")
