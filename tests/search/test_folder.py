"""A search's folder: what is damaged or of another kind is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from raglift.errors import ConfigurationError, RunError
from raglift.search.budget import Work
from raglift.search.folder import SearchFolder
from raglift.search.schedule import Rung


def begun(path: Path) -> SearchFolder:
    head = SearchFolder(path, "Small", "0123", {"alpha": 0.05}, {"dataset": "lighthouse"})
    with SearchFolder.begin(head, resume=False) as kept:
        kept.decided(0, lambda: Rung(3, 4, joins=True))
        kept.took("0", Work(1.5, 40), is_finished=True)
        kept.joins("1-joining", lambda: 3)
        kept.took("1-joining", Work(0.5, 0), is_finished=False)
        kept.took("1-joining", Work(1.5, 12), is_finished=True)
        kept.took("1", Work(1.0), is_finished=False)
        kept.took("held-out-a-b", Work(60.0, 8), is_finished=True)
    return kept


def test_what_was_decided_and_spent_stays_also_where_it_was_stopped(tmp_path: Path):
    begun(tmp_path / "out")
    found = SearchFolder.read(tmp_path / "out")
    assert found.decided(0, lambda: Rung(1, 9)) == Rung(3, 4, joins=True)
    assert found.joins("1-joining", lambda: 9) == 3
    assert found.finished == ["0", "1-joining", "held-out-a-b"]
    assert found.spent == Work(4.5, 52)  # without the check on held-out queries
    assert [found.is_of(name, joined=True) for name in ("0", "0-own", "1-joining", "1-joining-1", "2")] == [
        *(False, False, True, True, False)
    ]
    assert [found.is_of(name, joined=False) for name in ("0", "0-own", "1-joining", "1", "held-out-a")] == [
        *(True, True, False, False, False)
    ]
    assert found.seconds_of(1) == 3.0
    assert found.decided(1, lambda: None) is None
    assert len(found.rungs) == 1


def test_only_the_same_search_is_gone_on_with(tmp_path: Path):
    begun(tmp_path / "out")
    same = SearchFolder(tmp_path / "out", "Small", "0123", {"alpha": 0.05}, {})
    with SearchFolder.begin(same, resume=True) as kept:
        assert kept.rungs == [Rung(3, 4, joins=True)]
    with (
        pytest.raises(ConfigurationError, match="found a search there already"),
        SearchFolder.begin(same, resume=False),
    ):
        pass
    other = SearchFolder(tmp_path / "out", "Small", "4567", {}, {})
    with pytest.raises(ConfigurationError, match="found another search there"), SearchFolder.begin(other, resume=True):
        pass


def test_a_folder_is_worked_on_by_one_process(tmp_path: Path):
    head = SearchFolder(tmp_path / "out", "Small", "0123", {}, {})
    again = SearchFolder(tmp_path / "out", "Small", "0123", {}, {})
    with (
        SearchFolder.begin(head, resume=False),
        pytest.raises(RunError, match="another process is working on this search"),
        SearchFolder.begin(again, resume=True),
    ):
        pass


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": 99}, "found format 99; expected 1 or lower: it was written by a newer"),
        ({"format": None}, "damaged: found no format number"),
        ({"rungs": [{"keep": 0, "queries": 4, "joins": False}]}, "damaged: "),
        ({"rungs": 3}, "damaged: "),
        ({"work": {"0": {"seconds": "long"}}}, "damaged: "),
        ({"finished": [1]}, "damaged: "),
        ({"hash": 3}, "damaged: "),
    ],
)
def test_what_is_damaged_is_told(tmp_path: Path, change: dict[str, object], told: str):
    file = begun(tmp_path / "out").path / "search.json"
    file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), **change}), encoding="utf-8")
    with pytest.raises(RunError, match=told):
        SearchFolder.read(tmp_path / "out")


def test_what_is_no_search_is_told(tmp_path: Path):
    with pytest.raises(RunError, match=r"found no search\.json"):
        SearchFolder.read(tmp_path)
