"""Devices by name, what is said of one that is not there, and what a model does where its memory runs out.

No accelerator is needed: where a test asks what happens with one, PyTorch's answers about devices are replaced, and
models compute on the CPU.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from raglift.adapters.adapt import adapt_reranker
from raglift.adapters.embeddings import embedder_by_name
from raglift.base.batches import is_out_of_memory
from raglift.base.cache import Cache
from raglift.components import devices
from raglift.components.devices import (
    CPU_TOKENS,
    checked_device,
    require_device,
    resolve_device,
    resolve_dtype,
    split_device,
    tokens_at_once,
)
from raglift.components.embedding import SentenceTransformerEmbedder, embed
from raglift.components.models import load_cross_encoder, load_sentence_transformer
from raglift.components.rerankers import CrossEncoderReranker, LateInteractionReranker
from raglift.errors import ConfigurationError, ModelError

torch = pytest.importorskip("torch")

TEXTS = ["the lamp " * number for number in range(1, 60)]
QUERY = "when is the lamp lit"


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch says that there are two GPUs of 16 GiB, without bfloat16."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: False)
    monkeypatch.setattr(torch.cuda, "device", lambda _: __import__("contextlib").nullcontext())
    properties = type("Properties", (), {"total_memory": 16 * 2**30 - 12345})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    devices._best_device.cache_clear()
    yield
    devices._best_device.cache_clear()


needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")


@needs_no_gpu
def test_the_best_device_of_a_machine_without_accelerator_is_its_processor() -> None:
    assert resolve_device() == resolve_device("auto") == "cpu"
    assert tokens_at_once("cpu") == CPU_TOKENS


@pytest.mark.parametrize(
    ("name", "hint"),
    [("gpu", ""), ("Cuda", "'cuda'"), ("cuda:", "'cuda"), ("cpu:1", "'cpu'"), ("cude", "'cuda'"), ("", "")],
)
def test_a_misspelled_device_is_an_error_with_the_nearest_name(name: str, hint: str) -> None:
    with pytest.raises(ConfigurationError, match=f"device: found {name!r}.*{hint}.*expected auto, cpu, cuda, cuda:1"):
        checked_device(name)
    with pytest.raises(ConfigurationError, match="device: found 7"):
        checked_device(7)


@needs_no_gpu
@pytest.mark.parametrize("name", ["cuda", "cuda:7"])
def test_a_device_that_is_not_there_is_an_error_wherever_a_model_is_named(name: str) -> None:
    made = [
        lambda: SentenceTransformerEmbedder(device=name),
        lambda: LateInteractionReranker(device=name),
        lambda: CrossEncoderReranker("a/model", device=name),
        lambda: embedder_by_name(f"minilm(device={name})"),
        lambda: embedder_by_name(f"minilm(late,device={name})"),
        lambda: adapt_reranker(f"late-interaction(device={name})"),
        lambda: load_sentence_transformer("minilm", "float32", name),
        lambda: SentenceTransformerEmbedder(dtype="float32", device=name).embed(["a"], "query"),
        lambda: LateInteractionReranker(dtype="float32", device=name).score([("a", "b")]),
    ]
    for make in made:
        with pytest.raises(
            ConfigurationError, match=f"device: found '{name}', which is not there.*expected auto or cpu"
        ):
            make()


@pytest.mark.usefixtures("two_gpus")
def test_with_two_gpus_the_third_is_not_there_and_bfloat16_only_where_it_is_computed() -> None:
    assert resolve_device("auto") == "cuda"
    require_device("cuda:1", "float16")
    with pytest.raises(ConfigurationError, match=r"'cuda:7', which is not there; expected auto, cpu, cuda:0 or cuda:1"):
        require_device("cuda:7")
    with pytest.raises(ConfigurationError, match=r"'bfloat16', in which the device cuda:1 does not compute"):
        require_device("cuda:1", "bfloat16")
    assert resolve_dtype("auto", "cuda") == "float32"


@pytest.mark.usefixtures("two_gpus")
def test_a_batch_on_a_gpu_holds_what_its_memory_allows_and_its_vectors_are_kept_apart() -> None:
    assert tokens_at_once("cuda") == 2**15  # the power of 2 below what 16 GiB less a little would be
    on_cpu = SentenceTransformerEmbedder(dtype="float32", device="cpu")
    on_gpu = SentenceTransformerEmbedder(dtype="float32", device="cuda:1")
    assert on_gpu.identity == f"{on_cpu.identity}:cuda"
    given = SentenceTransformerEmbedder(dtype="float32", device="cpu", batch_tokens=512)
    assert given.identity == f"{on_cpu.identity}:512 tokens"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("minilm", ("minilm", None)),
        ("minilm(device=cuda:1)", ("minilm", "cuda:1")),
        ("minilm( late , device = mps )", ("minilm(late)", "mps")),
        ("minilm(late)", ("minilm(late)", None)),
        ("late-interaction(device=cpu)", ("late-interaction", "cpu")),
        ("a/folder (v2)", ("a/folder (v2)", None)),
    ],
)
def test_the_name_of_a_model_may_bring_its_device(name: str, found: tuple[str, str | None]) -> None:
    assert split_device(name) == found


@pytest.mark.parametrize("name", ["minilm(device=gpu)", "minilm(device=cpu,device=cuda)", "minilm(device=)"])
def test_a_device_in_a_name_that_is_none_is_an_error(name: str) -> None:
    with pytest.raises(ConfigurationError, match="device: found"):
        embedder_by_name(name)


@pytest.mark.parametrize("name", ["minilm-static(device=cuda)", "openai:text-embedding-3-small(device=cuda)"])
def test_a_device_for_a_model_that_has_none_is_an_error(name: str) -> None:
    with pytest.raises(ConfigurationError, match="expected a device with a sentence-transformers model alone"):
        embedder_by_name(name)


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", True])
def test_a_number_of_tokens_that_is_none_is_an_error(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"batch_tokens: found .*; expected an integer, 1 or more"):
        SentenceTransformerEmbedder(batch_tokens=value)


def test_fewer_tokens_in_a_batch_than_one_text_has_is_an_error_with_both_numbers() -> None:
    embedder = SentenceTransformerEmbedder(dtype="float32", device="cpu", batch_tokens=64)
    with pytest.raises(ConfigurationError, match=r"batch_tokens: found 64, and a text of 112 tokens .*expected 112 or"):
        embed(embedder, [TEXTS[0], "the lamp " * 50], "document", Cache(None))


def test_batches_hold_no_more_tokens_than_asked_for_and_change_no_vector() -> None:
    few = SentenceTransformerEmbedder(dtype="float32", device="cpu", batch_tokens=128)
    sizes = [len(batch) for batch in few.plan(TEXTS[:20])]
    assert max(sizes) * 16 <= 128
    usual = SentenceTransformerEmbedder(dtype="float32", device="cpu")
    assert len(usual.plan(TEXTS[:20])) < len(sizes)
    assert np.array_equal(few.embed(TEXTS[:20], "document"), usual.embed(TEXTS[:20], "document"))


# What runs out of memory: a real model, whose forward fails for batches above a size, as PyTorch fails.


def out_of_memory(kind: str) -> Exception:
    messages = {
        "cuda": torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        "mps": RuntimeError("MPS backend out of memory (MPS allocated: 17.00 GB). Tried to allocate 1 GB."),
        "cpu": RuntimeError(
            "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."
        ),
    }
    return messages[kind]


class Failing:
    """A transformer's forward that fails above a number of rows, and remembers how many it was given."""

    def __init__(self, module: Any, most: int, kind: str) -> None:
        self.forward, self.most, self.kind = module.forward, most, kind
        self.rows: list[int] = []

    def __call__(self, *given: Any, **named: Any) -> Any:
        ids = named["input_ids"] if "input_ids" in named else given[0]["input_ids"]
        self.rows.append(len(ids))
        if len(ids) > self.most:
            raise out_of_memory(self.kind)
        return self.forward(*given, **named)


@pytest.mark.parametrize("kind", ["cuda", "mps", "cpu"])
def test_an_error_of_memory_is_told_from_others(kind: str) -> None:
    assert is_out_of_memory(out_of_memory(kind))
    assert not is_out_of_memory(RuntimeError("The size of tensor a (3) must match the size of tensor b (4)"))
    assert not is_out_of_memory(ValueError("out of memory"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cuda", pytest.param("cpu", marks=pytest.mark.full)])
def test_a_batch_that_is_too_large_is_halved_and_no_later_one_is_larger(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = SentenceTransformerEmbedder(dtype="float32", device="cpu").embed(TEXTS, "document")
    module = load_sentence_transformer("minilm", "float32")[0]
    failing = Failing(module, 5, kind)
    monkeypatch.setattr(module, "forward", failing)
    embedder = SentenceTransformerEmbedder(dtype="float32", device="cpu")
    found = embedder.embed(TEXTS, "document")
    assert np.array_equal(found, expected)
    assert max(failing.rows) > 5
    last = max(place for place, rows in enumerate(failing.rows) if rows > 5)
    assert max(failing.rows[last + 1 :]) <= 5
    assert sum(rows for rows in failing.rows if rows <= 5) == len(TEXTS)
    failing.rows.clear()
    embedder.embed(TEXTS[:20], "document")  # what was learnt stays
    assert max(failing.rows) <= 5


@pytest.mark.slow
def test_late_interaction_halves_its_batches_too_and_scores_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(QUERY, text) for text in TEXTS[:30]]
    expected = LateInteractionReranker(dtype="float32", device="cpu", cache=Cache(None)).scores(pairs)
    module = load_sentence_transformer("minilm", "float32")[0]
    failing = Failing(module, 3, "cuda")
    monkeypatch.setattr(module, "forward", failing)
    reranker = LateInteractionReranker(dtype="float32", device="cpu", cache=Cache(None))
    assert reranker.scores(pairs) == expected
    assert max(failing.rows) > 3


@pytest.mark.slow
def test_a_cross_encoder_whose_batches_are_halved_scores_nearly_the_same(
    tiny_cross_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its scores depend on the number of rows, so they may differ in their last bits."""
    pairs = [(QUERY, text) for text in TEXTS[:12]]
    expected = CrossEncoderReranker(str(tiny_cross_encoder), dtype="float32", cache=Cache(None)).scores(pairs)
    module = load_cross_encoder(str(tiny_cross_encoder), "float32")[0]
    failing = Failing(module, 9, "cuda")
    monkeypatch.setattr(module, "forward", failing)
    found = CrossEncoderReranker(str(tiny_cross_encoder), dtype="float32", cache=Cache(None)).scores(pairs)
    assert set(failing.rows) == {16, 8}
    assert list(found.values()) == pytest.approx(list(expected.values()), abs=1e-6)


@pytest.mark.slow
def test_one_text_that_is_too_large_is_an_error_that_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_sentence_transformer("minilm", "float32")[0]
    monkeypatch.setattr(module, "forward", Failing(module, 0, "cuda"))
    with pytest.raises(ModelError, match=r"not enough memory for one text of 16 tokens: CUDA out of memory"):
        SentenceTransformerEmbedder(dtype="float32", device="cpu").embed(["the lamp"], "document")


@pytest.mark.slow
def test_another_error_of_a_model_is_not_taken_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_sentence_transformer("minilm", "float32")[0]

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(module, "forward", fail)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        SentenceTransformerEmbedder(dtype="float32", device="cpu").embed(TEXTS[:3], "document")


def test_an_embedder_travels_without_what_this_machines_memory_allows() -> None:
    embedder = SentenceTransformerEmbedder(dtype="float32", device="cpu")
    embedder.plan(["the lamp"])
    assert vars(pickle.loads(pickle.dumps(embedder))) == {  # noqa: S301 — our own
        "model": "minilm",
        "device": "cpu",
        "dtype": "float32",
        "batch_tokens": None,
    }
