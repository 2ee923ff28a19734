"""A folder that may not be written: everything that writes says so, by an error of raglift's, and changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from raglift.base.cache import Cache

from .conftest import content, make_evaluation
from .writers import WRITERS

NOBODY = 65534
WORK = """
import json, os, sys, tempfile
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from tests.robustness.conftest import make_evaluation
from tests.robustness.writers import WRITERS
from raglift.base.cache import default_cache
from raglift.errors import RagliftError
from raglift.apps.review.labels_file import hold
from raglift.results.evaluation import load_evaluation

place, user = Path(sys.argv[1]), int(sys.argv[2])
evaluation = make_evaluation()
with tempfile.TemporaryDirectory() as once:  # all that is imported on the way is imported by who may read it
    for write in WRITERS.values():
        write(evaluation, Path(once))
    with hold(Path(once) / "labels.jsonl"):
        pass
if user:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
told = {}

def tell(name, action):
    try:
        action()
        told[name] = None
    except RagliftError as error:
        told[name] = str(error)
    except Exception as error:
        told[name] = f"BROKEN {type(error).__name__}: {error}"

for name, write in WRITERS.items():
    tell(f"{name} anew", lambda: write(evaluation, place / "empty"))
    tell(f"{name} again", lambda: write(evaluation, place / "there"))
def review():
    with hold(place / "there" / "labels.jsonl"):
        pass
tell("review", review)
tell("reading", lambda: load_evaluation(place / "there" / "run"))
os.environ["RAGLIFT_CACHE"] = str(place / "empty")
def cache():
    default_cache().put_many({b"key": b"value"})
    assert default_cache().get_many([b"key"]) == {b"key": b"value"}
tell("cache", cache)
os.environ["RAGLIFT_CACHE"] = str(place / "there")
def warm_cache():
    assert default_cache().get_many([b"key"]) == {b"key": b"kept before"}
tell("warm cache", warm_cache)
print(json.dumps(told))
"""


@pytest.fixture
def told(folder_of_others: Path) -> dict[str, Any]:
    """What each writer says, in folders that belong to somebody else."""
    for name in ("empty", "there"):
        (folder_of_others / name).mkdir()
    for write in WRITERS.values():
        write(make_evaluation(), folder_of_others / "there")
    with closing(Cache(folder_of_others / "there" / "cache.sqlite")) as cache:
        cache.put_many({b"key": b"kept before"})
    before = content(folder_of_others)
    for folder in (path for path in (folder_of_others, *folder_of_others.rglob("*")) if path.is_dir()):
        folder.chmod(0o555)
    for file in (path for path in folder_of_others.rglob("*") if path.is_file()):
        file.chmod(0o444)
    user = NOBODY if os.geteuid() == 0 else 0
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", WORK, str(folder_of_others), str(user), root]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert content(folder_of_others) == before
    return json.loads(ended.stdout.splitlines()[-1]) | {"stderr": ended.stderr}


@pytest.mark.slow
def test_everything_that_writes_says_so_and_what_reads_reads(told: dict[str, Any]) -> None:
    stderr = told.pop("stderr")
    assert told.pop("reading") is None
    assert told.pop("cache") is None
    assert told.pop("warm cache") is None
    assert "are kept in memory" in stderr
    assert told.pop("review") is not None
    assert len(told) == 2 * len(WRITERS)
    for name, message in told.items():
        assert message is not None, name
        assert not message.startswith("BROKEN"), f"{name}: {message}"
        assert "denied" in message or "no right to write" in message, f"{name}: {message}"
