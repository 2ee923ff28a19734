"""What benchmarks/label_updates.py says of paragraphs whose history is known, and of ways of carrying them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")]

LAMP = "The lamp is lit at dusk by the keeper.\nIts wicks are trimmed every fourth hour.\n"
HORN = "In fog the horn is blown every ninety seconds.\nThe compressor needs water.\n"
LENS = "The lens is wiped with chamois on Mondays.\nNobody touches it with bare hands.\n"
BOAT = "The boat brings oil and mail when the sea is calm.\nIt stays for an hour.\n"
LOG = "Every ship that passes is written in the log.\nThe log is read once a year.\n"
TOWER = "The tower has a hundred and twelve steps.\n"
STORE = "The stores are counted on the first of each month.\n"
WELL = "The well is closed with a lid of oak and iron.\n"
FLAG = "The flag is hoisted when a pilot is wanted.\n"
GOAT = "The goats may graze on the southern meadow.\n"
SAIL = "A sail in the east is the pilot.\nHe is expected at noon.\n"
NOTE = "(Ask the harbour master if in doubt.)\n"
CODE = "```py\nlight.turn('on')\n\nlight.wait_until_dawn()\n```\n"


WRAPPED = LAMP.replace("\n", " ").strip() + "\n"
TITLE = "# 2. The keeper’s guide to it all\n"
LATER = "A paragraph before everything else.\n"
BUSY = BOAT.replace("an hour", "two hours")
PYTHON = CODE.replace("```py\n", "```python\n")
STEPS = TOWER.replace("twelve", "thirteen")
CALM = HORN.replace("ninety", "sixty")
LONGER = SAIL.replace("noon.", "noon. He never comes.")
CHANGED = "A line that was changed meanwhile.\n"

HISTORY: list[dict[str, list[str] | None]] = [
    {
        "guide.md": ["# 1. The keeper's guide to it all\n", LAMP, NOTE, HORN, NOTE, LENS, BOAT, LOG, TOWER, STORE],
        "old.md": [WELL, "A line that will be changed.\n", FLAG, GOAT, SAIL, CODE],
    },
    {  # HORN edited; rewrapped, renumbered, another language of code; renamed and edited at once
        "guide.md": [TITLE, WRAPPED, NOTE, CALM, NOTE, LENS, BOAT, LOG, TOWER, STORE],
        "old.md": None,
        "new.md": [WELL, CHANGED, FLAG, GOAT, LONGER, PYTHON],
    },
    {  # HORN as it was; BOAT edited; STORE removed; FLAG copied; two paragraphs before everything
        "guide.md": [LATER, NOTE, TITLE, WRAPPED, NOTE, HORN, NOTE, LENS, BUSY, LOG, TOWER],
        "other.md": ["# The others\n", FLAG],
    },
    {  # LENS is longer; HORN and BOAT moved; LOG and FLAG removed; TOWER edited; STORE is back; GOAT at two places
        "guide.md": [LATER, NOTE, TITLE, WRAPPED, NOTE, NOTE, LENS + "Never.\n", STEPS, STORE],
        "new.md": [WELL, CHANGED, LONGER, PYTHON],
        "other.md": ["# The others\n", FLAG, HORN, "And more of it.\n", BUSY, GOAT],
        "third.md": ["# The third\n", GOAT],
    },
]
STATES = {
    "# 1. The keeper's guide to it all": ("live", "guide.md"),
    LAMP: ("live", "guide.md"),
    HORN: ("live", "other.md"),
    LENS: ("live", "guide.md"),
    BOAT: ("edited", "other.md"),
    LOG: ("gone", None),
    TOWER: ("reworded", "guide.md"),
    STORE: ("returned", "guide.md"),
    WELL: ("live", "new.md"),
    "A line that will be changed.\n": ("reworded", "new.md"),
    FLAG: ("copied", "other.md"),
    GOAT: ("several", None),
    SAIL: ("edited", "new.md"),
    CODE: ("live", "new.md"),
}


@pytest.fixture(scope="module")
def benchmark(script: Callable[[str], Any]) -> Any:
    return script("label_updates")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=keeper", "-c", "user.email=keeper@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)

    git("init", "-q")
    for number, files in enumerate(HISTORY):
        for name, blocks in files.items():
            if blocks is None:
                (folder / name).unlink()
            else:
                (folder / name).write_text("\n".join(blocks), encoding="utf-8")
        git("add", "-A")
        git("commit", "-q", "-m", f"version {number}")
        git("tag", f"v{number}")
    return folder


@pytest.fixture(scope="module")
def case(benchmark: Any, repository: Path) -> Any:
    git = benchmark.Git(repository)
    return benchmark.Case(*benchmark.followed(git, git.commit("v0"), git.commit("v3")))


def test_each_paragraph_is_followed_to_where_it_is(case: Any) -> None:
    found = {}
    for label in case.labels:
        place = label.successor
        found[case.text(case.span(label.old, 0), 0)] = (label.state, place and place[0])
    assert found == {text.strip(): value for text, value in {**STATES, NOTE: ("live", "guide.md")}.items()}


def test_copies_are_told_apart_by_their_places(case: Any) -> None:
    lines = [label.place[1] for label in case.labels if case.text(case.span(label.old, 0), 0) == NOTE.strip()]
    assert lines == [number for number, line in enumerate(case.new["guide.md"]) if line == NOTE.strip()][1:]


def test_the_successor_is_the_line_that_is_left(case: Any) -> None:
    boat = next(label for label in case.labels if label.state == "edited")
    assert case.text(case.span(boat.successor, 1), 1) == BOAT.split("\n", maxsplit=1)[0]


def test_a_place_is_right_only_with_the_same_words_at_the_place_that_git_says(benchmark: Any, case: Any) -> None:
    first, second = (label for label in case.labels if case.text(case.span(label.old, 0), 0) == NOTE.strip())
    own, other = (case.span(label.place, 1) for label in (first, second))
    longer = benchmark.Place(own.doc_id, own.start - 20, own.end)
    found = [case.verdict(first, benchmark.Answer("moved", place)) for place in (own, other, longer, None)]
    assert [(each.right, each.wrong) for each in found] == [(True, False), (False, True), (False, True), (False, False)]


def test_it_counts_what_each_way_carries(
    benchmark: Any, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "labels.json"
    assert benchmark.main([str(repository), "v0", "v3", "--json", str(file)]) == 0
    rows = json.loads(file.read_text(encoding="utf-8"))
    assert len(rows) == len(STATES) + 2
    assert not any(row["raglift"]["wrong"] for row in rows)
    assert all(row["exact text"]["right"] for row in rows if row["text"] == LENS.strip())
    capsys.readouterr()


def test_a_commit_beside_the_history_is_refused(benchmark: Any, repository: Path) -> None:
    with pytest.raises(SystemExit, match="first parents"):
        benchmark.main([str(repository), "v3", "v0"])
