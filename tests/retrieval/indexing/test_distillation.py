from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from raglift.errors import CacheError, MissingDependency
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


def test_it_is_distilled_once_and_kept(distilled: list[str], cache_folder: Path) -> None:
    identity = static_identity()
    first = load_static_model().encode(["the lamp keeper"])
    forget()
    assert np.array_equal(load_static_model().encode(["the lamp keeper"]), first)
    assert static_identity() == identity
    assert distilled == ["distilled"]
    (folder,) = folders(cache_folder)
    assert sorted(path.name for path in folder.iterdir()) == FILES


def test_what_is_loaded_is_what_was_distilled(distilled: list[str]) -> None:
    """model2vec's matrix comes column by column, and safetensors wrote such a matrix down transposed."""
    made = distillation._distil()
    loaded = load_static_model()
    assert made.embedding.shape == (len(loaded.tokens), 16)
    assert np.array_equal(loaded.embedding, made.embedding)
    assert loaded.embedding.dtype == np.float32
    assert np.array_equal(loaded.weights, made.weights)


def test_two_distillations_give_the_same_bits_whatever_the_threads(distilled: list[str]) -> None:
    import torch

    threads = torch.get_num_threads()
    made = []
    try:
        for number in (1, 4):
            torch.set_num_threads(number)
            made.append(distillation._distil().embedding)
    finally:
        torch.set_num_threads(threads)
    assert made[0].tobytes() == made[1].tobytes()
    assert torch.get_num_threads() == threads


def test_the_identity_says_all_that_decides_a_vector(distilled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    identity = static_identity()
    for part in ("model2vec-", "all-MiniLM-L6-v2@53aa51172d14", "256", "float32", "vectors "):
        assert part in identity
    monkeypatch.setitem(distillation._SETTINGS, "sif_coefficient", 1e-3)
    assert static_identity() != identity
    assert distilled == ["distilled"] * 2


def test_other_vectors_have_another_identity(distilled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another processor may differ in the last bits; its vectors are not taken for these."""
    identity = static_identity()
    distil = distillation._distil

    def other() -> object:
        model = distil()
        model.embedding = model.embedding * np.float32(1.0000001)
        return model

    monkeypatch.setattr(distillation, "_distil", other)
    monkeypatch.setenv("RAGLIFT_CACHE", os.environ["RAGLIFT_CACHE"] + "-of-another-machine")
    assert static_identity() != identity
    assert static_identity().rpartition(":")[0] == identity.rpartition(":")[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_an_incomplete_model_is_made_again(distilled: list[str], cache_folder: Path, name: str) -> None:
    identity = static_identity()
    (folders(cache_folder)[0] / name).unlink()
    forget()
    assert load_static_model().dim == 16
    assert static_identity() == identity
    assert distilled == ["distilled"] * 2


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


@pytest.mark.full
def test_processes_at_once_distil_once_between_them(tiny_bert: Path, cache_folder: Path, tmp_path: Path) -> None:
    count = tmp_path / "count"
    processes = [process(tiny_bert, count) for _ in range(2)]
    assert [each.wait() for each in processes] == [0, 0]
    assert count.read_text() == "x"
    assert len(folders(cache_folder)) == 1


def test_a_folder_that_cannot_be_written_is_told(
    distilled: list[str], cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_folder.write_text("a file where the folder should be")
    with pytest.raises(CacheError, match=r"cannot keep the embedding model minilm-static in .*RAGLIFT_CACHE"):
        static_identity()


@pytest.mark.parametrize("package", ["model2vec", "model2vec.distill"])
def test_a_missing_package_names_the_extra(distilled: list[str], monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    if package == "model2vec":
        from importlib.metadata import PackageNotFoundError

        def not_found(name: str) -> str:
            raise PackageNotFoundError(name)

        monkeypatch.setattr(distillation, "version", not_found)
    with pytest.raises(MissingDependency, match=r"embedding model minilm-static needs .*'raglift\[local\]'"):
        load_static_model()


def test_the_wait_is_announced_and_model2vecs_own_bar_is_not_shown(
    distilled: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAGLIFT_PROGRESS", "1")
    static_identity()
    assert capfd.readouterr().err.splitlines() == [
        "minilm-static: distilling it from minilm, once on this machine; 15 seconds to a minute"
    ]
    static_identity()
    assert capfd.readouterr().err == ""


THE_REAL_ONE = """
from raglift.retrieval.static_model import load_static_model
texts = ["How do I descale the coffee machine?", "Descaling: run the machine with citric acid", "Mind the fog horn"]
question, answer, other = load_static_model().encode(texts, max_length=None)
assert question @ answer > 0.4 > 0.2 > question @ other, (question @ answer, question @ other)
"""


@pytest.mark.full
def test_the_real_model_knows_what_texts_are_about(shared_cache: Path) -> None:
    run_alone(THE_REAL_ONE, shared_cache)


def run_alone(script: str, cache: Path, threads: str = "1") -> str:
    """Return what a process of its own prints."""
    environment = {**os.environ, "RAGLIFT_CACHE": str(cache), "OMP_NUM_THREADS": threads}
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    ).stdout
