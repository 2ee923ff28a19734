"""Work that is killed at any moment and gone on with is what it is without: nothing lost, nothing done twice.

Real processes, models and servers, and SIGKILL: nothing in a killed process gets to run any more. `benchmarks/kills.py`
kills two hundred times; here it is once for each kind of work, and a few times in `make full`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

LONGEST = 6
"""So often one piece of work is killed at most."""
FOLDER = Path(__file__).parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")


@pytest.fixture(autouse=True)
def _found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)


@pytest.fixture
def kills(is_full: bool) -> int:
    """How often each kind of work is killed."""
    return 3 if is_full else 1


@pytest.fixture
def seed() -> int:
    """Another one each time; a fault names it."""
    return random.SystemRandom().randrange(2**32)


@pytest.fixture
def grading(tmp_path: Path) -> Iterator[Any]:
    from killing.asking import Grading

    job = Grading(tmp_path / "inputs")
    yield job
    job.close()


@pytest.mark.full
def test_sweeps(tmp_path: Path, seed: int, kills: int) -> None:
    from killing.job import kill_often
    from killing.sweeping import Sweeping

    tally = kill_often(Sweeping(tmp_path / "inputs"), tmp_path / "killed", kills, seed)
    assert len(tally.kills) == kills
    assert sum(count.items for count in tally.counts) > 100


@pytest.mark.full
def test_evaluations_saved_over_others(tmp_path: Path, seed: int, kills: int) -> None:
    from killing.job import kill_often
    from killing.saving import Saving

    assert len(kill_often(Saving(tmp_path / "inputs"), tmp_path / "killed", kills, seed).kills) == kills


@pytest.mark.full
@pytest.mark.parametrize("name", ["AskingOne", "AskingTwo"])
def test_systems_of_a_users_own(tmp_path: Path, seed: int, kills: int, name: str) -> None:
    from killing import asking_systems
    from killing.job import kill_often

    job = getattr(asking_systems, name)(tmp_path / "inputs")
    tally = kill_often(job, tmp_path / "killed", kills, seed)
    assert len(tally.kills) == kills
    assert all(count.again <= LONGEST for count in tally.counts)


def test_an_answered_question_that_is_asked_again_is_found(tmp_path: Path) -> None:
    from killing.asking_systems import AskingOne
    from killing.job import Fault

    job = AskingOne(tmp_path)
    (tmp_path / "asked").write_text("1 slow a\n1 slow b\n2 slow b\n2 slow c\n", encoding="utf-8")
    assert job.count(tmp_path, 1).again == 1
    with (tmp_path / "asked").open("a", encoding="utf-8") as file:
        file.write("3 slow a\n")
    with pytest.raises(Fault, match="1 answered questions were asked again after 2 kills, as 'slow a'"):
        job.count(tmp_path, 2)


@pytest.mark.full
def test_saving_before_its_operations_on_files(tmp_path: Path) -> None:
    from killing.files import stop_everywhere
    from killing.saving import Saving

    stops = stop_everywhere(Saving(tmp_path / "inputs"), tmp_path / "stopped", over=True, step=6)
    assert stops.operations > 10
    assert stops.kills == stops.operations / 6


@pytest.mark.full
def test_grading(tmp_path: Path, seed: int, kills: int, grading: Any) -> None:
    from killing.job import kill_often

    tally = kill_often(grading, tmp_path / "killed", kills, seed)
    assert len(tally.kills) == kills
    assert max(count.items for count in tally.counts) > 40


@pytest.mark.full
def test_reviews(tmp_path: Path, seed: int, kills: int) -> None:
    from killing.reviewing import Reviewing, review_often

    assert len(review_often(Reviewing(tmp_path / "inputs"), tmp_path / "killed", kills, seed).kills) == kills


def event(process: int, kind: str, *items: str) -> list[Any]:
    return [process, kind, list(items), 0.0]


def test_what_was_finished_and_is_done_again_is_found(script: Callable[[str], Any]) -> None:
    from killing.job import Count, Fault, twice

    lost = [event(1, "embeds", "a", "b"), event(2, "embeds", "a", "b"), event(2, "kept", "a", "b")]
    assert twice(lost) == Count(items=2, again=2, most=2)
    with pytest.raises(Fault, match="1 items of a finished batch were computed again"):
        twice([*lost, event(3, "scores", "b", "c")])
    with pytest.raises(Fault, match="1 entries were kept twice"):
        twice([*lost, event(3, "keeps", "a")])


def test_what_is_left_over_is_found(tmp_path: Path) -> None:
    from killing.job import Fault, left_over

    (tmp_path / ".labels.jsonl.lock").touch()
    left_over(tmp_path)
    (tmp_path / ".run.abcdefgh").mkdir()
    with pytest.raises(Fault, match=r"\.run\.abcdefgh"):
        left_over(tmp_path)
