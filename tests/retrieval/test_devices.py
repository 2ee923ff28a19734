"""Devices by name, what is said of one that is not there, and the size of batches.

No accelerator is needed: where a test asks what happens with one, PyTorch's answers about devices are replaced, and
models compute on the CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from raglift.adapters.adapt import adapt_reranker
from raglift.adapters.embeddings import embedder_by_name
from raglift.errors import ConfigurationError
from raglift.retrieval import devices
from raglift.retrieval.cross_encoder import CrossEncoderReranker
from raglift.retrieval.devices import (
    checked_device,
    require_device,
    resolve_device,
)
from raglift.retrieval.embedding import SentenceTransformerEmbedder
from raglift.retrieval.late_interaction import LateInteractionReranker
from raglift.retrieval.models import load_sentence_transformer

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")

TEXTS = ["the lamp " * number for number in range(1, 60)]
QUERY = "when is the lamp lit"


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch says that there are two GPUs without bfloat16."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: False)
    monkeypatch.setattr(torch.cuda, "device", lambda _: __import__("contextlib").nullcontext())
    devices._best_device.cache_clear()
    yield
    devices._best_device.cache_clear()


needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")


@needs_no_gpu
def test_the_best_device_of_a_machine_without_accelerator_is_its_processor() -> None:
    assert resolve_device() == resolve_device("auto") == "cpu"


def test_a_misspelled_device_is_an_error() -> None:
    for name in ("gpu", "cuda:", "cpu:1", 7):
        with pytest.raises(ConfigurationError, match=f"device: found {name!r}; expected auto, cpu, cuda, cuda:1"):
            checked_device(name)


@needs_no_gpu
@pytest.mark.parametrize("name", ["cuda:7"])
def test_a_device_that_is_not_there_is_an_error_wherever_a_model_is_named(name: str) -> None:
    made = [
        lambda: SentenceTransformerEmbedder(device=name),
        lambda: LateInteractionReranker(device=name),
        lambda: CrossEncoderReranker("a/model", device=name),
        lambda: embedder_by_name("minilm", device=name),
        lambda: adapt_reranker("late-interaction", device=name),
        lambda: load_sentence_transformer("minilm", "float32", name),
        lambda: SentenceTransformerEmbedder(dtype="float32", device=name).embed(["a"], "query"),
        lambda: LateInteractionReranker(dtype="float32", device=name).score([("a", "b")]),
    ]
    for make in made:
        with pytest.raises(
            ConfigurationError, match=f"device: found '{name}', which PyTorch does not find here; expected auto or cpu"
        ):
            make()


@pytest.mark.usefixtures("two_gpus")
def test_with_two_gpus_the_third_is_not_there_and_bfloat16_only_where_it_is_computed() -> None:
    assert resolve_device("auto") == "cuda"
    require_device("cuda:1", "float16")
    with pytest.raises(ConfigurationError, match="'cuda:7', which PyTorch does not find here"):
        require_device("cuda:7")
    with pytest.raises(ConfigurationError, match=r"'bfloat16', in which the device cuda:1 does not compute"):
        require_device("cuda:1", "bfloat16")


@pytest.mark.usefixtures("two_gpus")
def test_vectors_of_a_gpu_are_kept_apart_with_the_size_of_its_batches() -> None:
    on_cpu = SentenceTransformerEmbedder(dtype="float32", device="cpu")
    on_gpu = SentenceTransformerEmbedder(dtype="float32", device="cuda:1")
    assert on_gpu.identity == f"{on_cpu.identity}:cuda:32 rows"
    given = SentenceTransformerEmbedder(dtype="float32", device="cpu", batch_size=512)
    assert given.identity == on_cpu.identity


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", True])
def test_a_batch_size_that_is_none_is_an_error(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"batch_size: found .*; expected an integer, 1 or more"):
        SentenceTransformerEmbedder(batch_size=value)


def test_the_size_of_batches_changes_no_vector() -> None:
    few = SentenceTransformerEmbedder(dtype="float32", device="cpu", batch_size=3)
    usual = SentenceTransformerEmbedder(dtype="float32", device="cpu")
    assert np.array_equal(few.embed(TEXTS[:20], "document"), usual.embed(TEXTS[:20], "document"))
