"""Two processes on one place: one is first, the other is told, and whatever is there is whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from raglift.datasets.jsonl import read_queries
from raglift.errors import RunError
from raglift.results.evaluation import load_evaluation
from raglift.storage import saving
from raglift.utilities.cache import Cache

from .conftest import make_evaluation

pytestmark = pytest.mark.slow

ROUNDS = 6
WORK = """
import json, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from raglift.utilities.cache import Cache
from raglift.datasets.jsonl import write_queries
from raglift.errors import RagliftError
from tests.robustness.conftest import make_evaluation

place, number, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
evaluation = make_evaluation(0.5 + number / 10)
evaluation.save(place / f"warm-{number}")  # so that both have imported all that they need
actions = {
    "save": lambda at: evaluation.save(at),
    "replace": lambda at: evaluation.save(at, overwrite=True),
    "labels": lambda at: write_queries(evaluation.dataset.queries, at, overwrite=False),
}
told = {name: [] for name in actions}
(place / f"ready-{number}").touch()
while not (place / f"ready-{1 - number}").exists():
    time.sleep(0.001)
cache = Cache(place / "cache" / "cache.sqlite")
for turn in range(rounds):
    for name, action in actions.items():
        moment = place / f"{name}-{turn}-{number}"
        moment.touch()
        while not (place / f"{name}-{turn}-{1 - number}").exists():
            pass
        try:
            action(place / f"{name}-of-{turn}")
            told[name].append(None)
        except RagliftError as error:
            told[name].append(f"{type(error).__name__}: {error}")
    cache.put_many({f"{turn}-{number}-{each}".encode(): bytes([number]) * 1000 for each in range(20)})
    cache.put_many({f"{turn}-both-{each}".encode(): b"the same" for each in range(20)})
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, list[str | None]]]]:
    """What two processes were told that did everything at the same moments, and where."""
    place = tmp_path_factory.mktemp("both")
    root = str(Path(__file__).parents[2])
    commands = [[sys.executable, "-c", WORK, str(place), str(number), str(ROUNDS), root] for number in (0, 1)]
    processes = [subprocess.Popen(each, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for each in commands]
    ended = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], ended
    return place, [json.loads(out.splitlines()[-1]) for out, _ in ended]


def test_of_two_that_save_to_one_folder_one_is_told_and_the_other_is_whole(both: Any) -> None:
    place, told = both
    for turn in range(ROUNDS):
        refused = [each["save"][turn] for each in told if each["save"][turn] is not None]
        assert len(refused) == 1, refused
        assert refused[0].startswith("RunError: ")
        assert str(place / f"save-of-{turn}") in refused[0]
        assert len(load_evaluation(place / f"save-of-{turn}").run.traces) == 10


def test_of_two_that_replace_one_folder_each_leaves_a_whole_one(both: Any) -> None:
    place, told = both
    for turn in range(ROUNDS):
        assert None in [each["replace"][turn] for each in told]
        assert len(load_evaluation(place / f"replace-of-{turn}").run.traces) == 10


def test_of_two_that_write_one_file_of_labels_one_is_told(both: Any) -> None:
    place, told = both
    for turn in range(ROUNDS):
        refused = [each["labels"][turn] for each in told if each["labels"][turn] is not None]
        assert len(refused) == 1
        assert "a file that is there already" in refused[0]
        assert len(read_queries(place / f"labels-of-{turn}")) == 10


def test_one_cache_has_what_both_put_there(both: Any) -> None:
    place, _ = both
    cache = Cache(place / "cache" / "cache.sqlite")
    keys = [f"{turn}-{who}-{each}".encode() for turn in range(ROUNDS) for who in (0, 1, "both") for each in range(20)]
    assert len(cache.get_many(keys)) == len(keys)
    cache.close()


def test_nothing_hidden_is_left_behind(both: Any) -> None:
    place, _ = both
    assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []


def test_who_is_done_while_another_writes_is_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, write, done = make_evaluation(0.5), saving._write, []

    def written_slowly(evaluation: Any, folder: Path) -> None:
        write(evaluation, folder)
        if not done:
            done.append(True)
            first.save(tmp_path / "run")

    monkeypatch.setattr(saving, "_write", written_slowly)
    with pytest.raises(RunError, match="an evaluation there already"):
        make_evaluation(0.75).save(tmp_path / "run")
    assert load_evaluation(tmp_path / "run").run.traces == first.run.traces
