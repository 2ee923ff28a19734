from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from raglift.retrieval import static_model as distillation
from raglift.retrieval.static_model import load_static_model, static_identity

FILES = ["model.safetensors", "tokenizer.json"]


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no model in memory from another test."""
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path / "cache"))
    distillation._load.cache_clear()
    distillation._hash.cache_clear()
    return tmp_path / "cache"


@pytest.fixture
def distilled(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Distil a tiny model instead of MiniLM; the list grows by one with each distillation."""
    made: list[str] = []
    monkeypatch.setattr(distillation, "embedded_model_path", lambda: made.append("distilled") or tiny_bert)
    monkeypatch.setitem(distillation._SETTINGS, "pca_dims", 16)
    return made


def forget() -> None:
    """Be as a new process."""
    distillation._load.cache_clear()
    distillation._hash.cache_clear()


def folders(cache_folder: Path) -> list[Path]:
    return sorted(path for path in (cache_folder / "models").iterdir() if path.is_dir())


@pytest.mark.slow
def test_it_is_distilled_once_and_kept(distilled: list[str], cache_folder: Path) -> None:
    identity = static_identity()
    first = load_static_model().encode(["the lamp keeper"])
    forget()
    assert np.array_equal(load_static_model().encode(["the lamp keeper"]), first)
    assert static_identity() == identity
    assert distilled == ["distilled"]
    (folder,) = folders(cache_folder)
    assert sorted(path.name for path in folder.iterdir()) == FILES


IN_A_PROCESS = """
import sys, time
from pathlib import Path
from raglift.retrieval import static_model as distillation

def path():
    with Path(sys.argv[2]).open("a") as file:
        file.write("x")
    return Path(sys.argv[1])

write = distillation._write

def write_and_stay(static, folder):
    write(static, folder)
    Path(sys.argv[2] + ".written").touch()
    time.sleep(60)

distillation.embedded_model_path = path
distillation._SETTINGS["pca_dims"] = 16
if "stay" in sys.argv:
    distillation._write = write_and_stay
assert distillation.load_static_model().dim == 16
"""


def process(tiny_bert: Path, count: Path, *how: str) -> subprocess.Popen[bytes]:
    """Load the model in another process, which writes an x to `count` for each distillation."""
    return subprocess.Popen([sys.executable, "-c", IN_A_PROCESS, str(tiny_bert), str(count), *how])


@pytest.mark.full
def test_a_killed_distillation_is_not_taken_for_the_model(
    distilled: list[str], tiny_bert: Path, cache_folder: Path, tmp_path: Path
) -> None:
    killed = process(tiny_bert, tmp_path / "count", "stay")
    deadline = time.monotonic() + 120
    while not (tmp_path / "count.written").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    assert [".tmp-" in path.name for path in folders(cache_folder)] == [True]  # written, and not yet in place
    assert load_static_model().dim == 16
    assert distilled == ["distilled"]
    assert [".tmp-" in path.name for path in folders(cache_folder)] == [False]


THE_REAL_ONE = """
from raglift.retrieval.static_model import load_static_model
texts = ["How do I descale the coffee machine?", "Descaling: run the machine with citric acid", "Mind the fog horn"]
question, answer, other = load_static_model().encode(texts, max_length=None)
print(question @ answer, question @ other)
"""


@pytest.mark.full
def test_the_real_model_knows_what_texts_are_about(shared_cache: Path) -> None:
    related, unrelated = map(float, run_alone(THE_REAL_ONE, shared_cache).split())
    assert related > 0.4
    assert unrelated < 0.2


def run_alone(script: str, cache: Path, threads: str = "1") -> str:
    """Return what a process of its own prints."""
    environment = {**os.environ, "RAGLIFT_CACHE": str(cache), "OMP_NUM_THREADS": threads}
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    ).stdout
