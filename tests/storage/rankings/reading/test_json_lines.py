"""JSON Lines: a list of hits a query or an object a hit, read strictly; labels one object each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import DatasetError
from raglift.matching.numbered import texts_at
from raglift.storage.rankings import read_json_lines
from raglift.storage.rankings.columns import hits_of_rows, hits_of_table
from raglift.storage.rankings.read import read_qrels, read_run
from raglift.utilities.validation import Location


@pytest.fixture
def file(tmp_path: Path):
    def write(*entries: Any, name: str = "run.jsonl") -> Path:
        path = tmp_path / name
        lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write


def faults_of(path: Path) -> list[str]:
    with pytest.raises(DatasetError) as error:
        read_run(path)
    return [str(fault) for fault in error.value.faults]


def test_a_list_is_in_its_own_order_whatever_the_scores_say(file) -> None:
    hits = [{"id": "a", "score": 0.1}, {"id": "b", "score": 0.9}, {"id": "c", "score": None}]
    run = read_run(file({"query_id": "q2", "hits": hits}, {"query_id": "q1", "hits": []}))
    assert dict(run) == {"q2": ["a", "b", "c"], "q1": []}
    assert run.hits == 3


def test_hits_may_be_bare_ids(file) -> None:
    entries = [{"query_id": "q1", "hits": ["a", "b"]}, {"query_id": "q2", "hits": [3, {"id": 4}]}]
    assert dict(read_run(file(*entries))) == {"q1": ["a", "b"], "q2": ["3", "4"]}


def test_objects_of_one_hit_are_ordered_by_score_in_64_bits_then_id(file) -> None:
    scores = {"a": 1.0, "b": 1.0 + 2**-30, "c": 1.0}
    entries = [{"query_id": "q", "id": id_, "score": score} for id_, score in scores.items()]
    assert dict(read_run(file(*entries))) == {"q": ["b", "c", "a"]}


def test_every_fault_of_lists_is_named(file) -> None:
    faults = faults_of(
        file(
            {"query_id": "q1", "hits": [{"id": "a"}, {"id": "a"}, {"score": 1}, {"id": "b", "rank": 1}, None]},
            {"query_id": "q1", "hits": []},
            {"query_id": "q2"},
            {"query_id": "q3", "hits": "abc"},
            {"query_id": "q4", "hits": [{"id": "x", "score": "high"}, ""]},
            '{"query_id": "q5", "hits": []',
            "[1]",
            '{"query_id": "q6", "hits": [{"id": "x", "score": NaN}]}',
        )
    )
    assert [fault.partition(";")[0] for fault in faults] == [
        'run.jsonl:1: hits[1]: found the id "a" a second time for the query "q1", first on line 1',
        "run.jsonl:1: hits[2].id: found no such field",
        'run.jsonl:1: hits[3].rank: found an unknown field "rank"',
        "run.jsonl:1: hits[4]: found null",
        'run.jsonl:2: found the query "q1" a second time',
        'run.jsonl:3: found an object with "query_id"',
        "run.jsonl:3: id: found no such field",
        'run.jsonl:4: hits: found "abc"',
        'run.jsonl:5: hits[0].score: found "high"',
        'run.jsonl:5: hits[1]: found an empty text ""',
        "run.jsonl:6: column 30: found the end of the line (expecting ',' delimiter)",
        "run.jsonl:7: found a list of 1",
        "run.jsonl:8: found NaN",
    ]


def test_scores_stand_in_each_line_or_in_none(file) -> None:
    faults = faults_of(file({"query_id": "q", "id": "a", "score": 1}, {"query_id": "q", "id": "b"}))
    assert faults == ["run.jsonl:2: score: found none; expected a score in each line or in none; see line 1"]


def test_scores_that_are_no_numbers_are_named_in_every_form(file) -> None:
    good = {"query_id": "q", "id": "a", "score": 1}
    for entry, where in (
        ({"query_id": "q", "id": "b", "score": "high"}, "run.jsonl:2: score"),
        ('{"query_id": "q", "id": "b", "score": 1e999}', "run.jsonl:2: score"),
    ):
        (fault,) = faults_of(file(good, entry))
        assert fault.startswith(f"{where}: found ")
    (fault,) = faults_of(file('{"query_id": "q", "hits": [{"id": "a", "score": 1.0}, {"id": "b", "score": 1e999}]}'))
    assert fault.startswith("run.jsonl:1: hits[1].score: found ")


def test_the_list_of_faults_has_an_end(file) -> None:
    faults = faults_of(file(*[{"query_id": "q"}] * 1100))
    assert len(faults) == 1001
    assert "the rest was not looked at" in faults[-1]


IDS = st.one_of(st.sampled_from(["a", "b", "c", "é", "\u2028", " ", "", "NA"]), st.integers(0, 3), st.none())
SCORES = st.one_of(st.floats(), st.integers(-3, 3), st.none(), st.booleans(), st.just("1"))
HITS = st.one_of(
    st.fixed_dictionaries({"id": IDS}, optional={"score": SCORES, "rank": st.just(1)}),
    IDS,
)
PLAIN = st.sampled_from(["a", "b", "c", "d", "é"])
ENTRIES = st.one_of(
    st.fixed_dictionaries({"query_id": IDS, "hits": st.one_of(st.lists(HITS, max_size=3), st.none())}),
    st.fixed_dictionaries({"query_id": PLAIN, "hits": st.lists(PLAIN, unique=True, min_size=1)}),
    st.fixed_dictionaries(
        {
            "query_id": PLAIN,
            "hits": st.lists(st.fixed_dictionaries({"id": PLAIN, "score": st.floats(0, 1)}), min_size=1, max_size=3),
        }
    ),
    st.fixed_dictionaries({"query_id": PLAIN, "id": PLAIN, "score": st.one_of(st.floats(0, 1), st.integers(0, 1))}),
    st.fixed_dictionaries({"query_id": IDS, "id": IDS}, optional={"score": SCORES}),
)


@pytest.mark.slow
@given(
    st.one_of(*(st.lists(one, max_size=4) for one in ENTRIES.element_strategies), st.lists(ENTRIES, max_size=4)),
    st.sampled_from(["\n", "\r\n", "\n\n", " \n"]),
)
def test_in_bulk_is_line_by_line(tmp_path_factory, entries: list[dict[str, Any]], end: str) -> None:
    path = tmp_path_factory.getbasetemp() / "run.jsonl"
    path.write_bytes("".join(json.dumps(entry) + end for entry in entries).encode())
    location = Location("run", [])
    slow = hits_of_rows(read_json_lines.RUN.rows(path, location))
    table = read_json_lines.RUN.table(path)
    fast = None if table is None else hits_of_table(table)
    if fast is not None:
        assert not location.faults
        assert fast.queries == slow.queries
        assert texts_at(fast.names, fast.id) == texts_at(slow.names, slow.id)
        assert fast.query.tolist() == slow.query.tolist()
        assert (None if fast.score is None else fast.score.tolist()) == (
            None if slow.score is None else slow.score.tolist()
        )


@pytest.mark.parametrize(
    "entries",
    [
        [{"query_id": "q", "hits": [{"id": "a", "score": 1}, {"id": "b"}]}, {"query_id": "r", "hits": []}],
        [{"query_id": "r", "hits": []}, {"query_id": "q", "hits": ["a", "b"]}],
        [{"query_id": "q", "id": "a", "score": 2}, {"query_id": "q", "id": "b", "score": 1.5}],
    ],
)
def test_what_is_regular_is_read_in_bulk(file, entries: list[Any]) -> None:
    assert read_json_lines.RUN.table(file(*entries)).num_rows == 2
    assert read_run(file(*entries))["q"] == ["a", "b"]


def test_labels_are_one_object_each(file) -> None:
    entries = [
        {"query_id": "q", "id": "a", "grade": 3},
        {"query_id": 7, "id": "b", "grade": 0},
        {"query_id": "q", "id": 5},
    ]
    assert read_qrels(file(*entries, name="labels.jsonl")) == {"q": {"a": 3, "5": 1}, "7": {"b": 0}}


def test_every_fault_of_labels_is_named(file) -> None:
    entries = [
        {"query_id": "q", "id": "a", "grade": "3"},
        {"query_id": "q"},
        {"query_id": "q", "id": "b", "relevance": 1},
    ]
    with pytest.raises(DatasetError) as error:
        read_qrels(file(*entries, name="labels.jsonl"))
    assert [str(fault).partition(";")[0] for fault in error.value.faults] == [
        'labels.jsonl:1: grade: found "3"',
        "labels.jsonl:2: id: found no such field",
        'labels.jsonl:3: relevance: found an unknown field "relevance"',
    ]
