from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import tiktoken
from tiktoken_ext import openai_public

from raglift.errors import ConfigurationError
from raglift.retrieval.chunkers import TokenChunker
from raglift.text.tokens import DEFAULT_ENCODING, load_encoding
from raglift.types.documents import Document


@pytest.fixture
def nothing_loaded() -> Iterator[None]:
    load_encoding.cache_clear()
    yield
    load_encoding.cache_clear()


@pytest.fixture
def nothing_carried(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, nothing_loaded) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path_factory.mktemp("empty")))
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})


@pytest.mark.slow
def test_the_carried_encoding_is_tiktokens(carried_encodings: None, real: Any, nothing_loaded) -> None:
    theirs = openai_public.ENCODING_CONSTRUCTORS[DEFAULT_ENCODING]()
    ours = load_encoding(DEFAULT_ENCODING).tokens
    assert ours.name == theirs["name"]
    assert ours._pat_str == theirs["pat_str"]
    assert ours._mergeable_ranks == theirs["mergeable_ranks"]
    encoding = tiktoken.Encoding(**theirs)
    for text in real.texts:
        assert ours.encode_ordinary(text[:20_000]) == encoding.encode_ordinary(text[:20_000])


@pytest.mark.slow
def test_the_carried_encoding_needs_no_network_and_imports_no_framework(
    monkeypatch: pytest.MonkeyPatch, tmp_path, nothing_loaded
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "llama_index"]:
        monkeypatch.delitem(sys.modules, name)
    assert load_encoding(DEFAULT_ENCODING).count("the lamp was lit") == 4
    assert not list(tmp_path.iterdir())
    assert not [name for name in sys.modules if name.startswith("llama_index.")]


@pytest.mark.slow
def test_an_encoding_that_cannot_be_downloaded_names_the_extra_that_carries_it(nothing_carried: None) -> None:
    with pytest.raises(ConfigurationError, match=r"'cl100k_base' is not on this machine.*raglift\[llama-index\]"):
        TokenChunker().split([Document("d", "the lamp")])
