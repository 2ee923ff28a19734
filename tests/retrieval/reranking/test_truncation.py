"""What rerankers read in part, and windows in which late interaction reads long texts whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import ModelError
from raglift.retrieval.cross_encoder import CrossEncoderReranker
from raglift.retrieval.late_interaction import LateInteractionReranker, windows_of
from raglift.retrieval.models import load_sentence_transformer
from raglift.retrieval.rerankers import Truncated
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking, ReadInPart
from raglift.utilities.cache import Cache

pytestmark = pytest.mark.slow

LIMIT = 256
QUERY = "When is the lamp lit?"
FILLER = "Herring were sold by the barrel on the quay of the island, and the ferry came twice a week. "
LONG = FILLER * 24
END = "The lamp is lit at dusk, never later."
WORDS = ["herring", "barrel", "quay", "ferry's", "unpronounceableness", "lamp-lighter", "...", "霧笛", "\n\n", "é"]


@pytest.fixture(scope="module")
def encoder() -> Any:
    return LateInteractionReranker(cache=Cache(None))._encoder


@pytest.fixture(scope="module")
def model() -> Any:
    return load_sentence_transformer("minilm", "float32")


def tokens_of(model: Any, text: str) -> list[int]:
    ids: list[int] = model.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    return ids


def test_the_score_of_a_long_text_is_maxsim_over_the_tokens_of_all_its_windows() -> None:
    """Windows and similarities computed apart: tokens cut by transformers itself, and numpy's product."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    from raglift.retrieval.models import minilm_path

    path = str(minilm_path())
    tokenizer, bert = AutoTokenizer.from_pretrained(path), AutoModel.from_pretrained(path)

    def rows(text: str) -> Any:
        with torch.inference_mode():
            states = bert(**tokenizer(text, return_tensors="pt"))
        return torch.nn.functional.normalize(states.last_hidden_state[0], dim=-1).numpy()

    text = LONG + END
    windows = windows_of(load_sentence_transformer("minilm", "float32"), text, LIMIT)
    assert len(windows) == 3
    rows_of_windows = [rows(window) for window in windows]
    expected = sum(max(float((row @ part.T).max()) for part in rows_of_windows) for row in rows(QUERY))
    found = LateInteractionReranker(dtype="float32", cache=Cache(None)).scores([(QUERY, text)])
    assert found[QUERY, text] == pytest.approx(expected, abs=1e-4)


@given(st.lists(st.sampled_from(WORDS), min_size=130, max_size=300), st.integers(80, LIMIT))
def test_windows_hold_all_tokens_fit_and_overlap(model: Any, words: list[str], limit: int) -> None:
    # A limit at which every word fits into the slack at a window's end: the tokens of half a word are others
    text = " ".join(f"{word} {number}" for number, word in enumerate(words))  # no window twice
    windows = windows_of(model, text, limit)
    assert all(len(tokens_of(model, window)) + 2 == tokens <= limit for window, tokens in windows.items())
    rebuilt: list[int] = []
    whole = tokens_of(model, text)
    for window in windows:
        tokens = tokens_of(model, window)
        # Where this window continues what is there: with an overlap, unless it is the first
        begin = next(
            begin
            for begin in range(max(len(rebuilt) - len(tokens), 0), len(rebuilt) + 1)
            if whole[begin : begin + len(tokens)] == tokens and begin + len(tokens) > len(rebuilt)
        )
        assert begin < len(rebuilt) or not rebuilt
        rebuilt = whole[: begin + len(tokens)]
    assert rebuilt == whole


def read(reranker: Any, queries: list[str], *texts: str) -> ReadInPart | None:
    ranking = Ranking.of((Chunk(text), None) for text in texts)
    found: ReadInPart | None = reranker.read_in_part(queries, [ranking] * len(queries))
    return found


def test_late_interaction_reads_texts_whole_and_counts_queries_that_it_does_not() -> None:
    cache = Cache(None)
    reranker = LateInteractionReranker(cache=cache)
    assert read(reranker, [QUERY], LONG, END) == ReadInPart(candidates=0, of=2)
    assert read(reranker, [QUERY, LONG], LONG, END) == ReadInPart(candidates=0, of=4, queries=1)
    again = LateInteractionReranker(cache=cache)
    assert read(again, [QUERY, LONG], LONG, END) == ReadInPart(candidates=0, of=4, queries=1)
    assert "_encoder" not in vars(again)  # counted once, and kept


def test_a_cross_encoder_counts_pairs_that_are_too_long_together(tiny_cross_encoder: Path) -> None:
    """It reads 64 tokens, three of them its own marks."""
    cache = Cache(None)
    reranker = CrossEncoderReranker(str(tiny_cross_encoder), cache=cache)
    texts = [" ".join(["lamp"] * number) for number in (10, 57, 58, 100)]
    assert read(reranker, ["who is the keeper"], *texts) == ReadInPart(candidates=2, of=4)
    assert read(reranker, ["who is the keeper", "who", "lamp " * 70], *texts) == ReadInPart(2 + 1 + 4, 12, queries=1)
    pairs = [("who", texts[3])]
    assert reranker.truncated(pairs) == {pairs[0]: Truncated.TEXT}
    again = CrossEncoderReranker(str(tiny_cross_encoder), cache=cache)
    assert again.truncated(pairs) == {pairs[0]: Truncated.TEXT}
    assert "_model" not in vars(again)


def test_a_model_that_cannot_be_loaded_leaves_its_cached_scores_and_no_count(
    tiny_cross_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise ModelError("gone")

    cache = Cache(None)
    CrossEncoderReranker(str(tiny_cross_encoder), cache=cache).scores([("who", "the lamp")])
    monkeypatch.setattr("raglift.retrieval.cross_encoder.load_cross_encoder", refuse)
    gone = CrossEncoderReranker(str(tiny_cross_encoder), cache=cache)
    assert len(gone.scores([("who", "the lamp")])) == 1
    assert read(gone, ["who"], "the lamp") is None


@pytest.mark.parametrize("late", [True, False])
def test_a_model_with_settings_of_its_own_scores_alike_and_leaves_no_count(
    tiny_cross_encoder: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    def make() -> Any:
        if late:
            return LateInteractionReranker(dtype="float32", cache=Cache(None))
        return CrossEncoderReranker(str(tiny_cross_encoder), dtype="float32", cache=Cache(None))

    pairs = [("who is the keeper", text) for text in ("the lamp", "the fog horn of the island", "lamp " * 20)]
    usual, reranker = make().scores(pairs), make()
    model = reranker._encoder if late else reranker._model
    monkeypatch.setattr(model[0], "processing_kwargs", {"text": {"padding": True}})
    assert reranker.scores(pairs) == pytest.approx(usual, abs=1e-4)
    assert read(reranker, ["who"], "the lamp") is None


def test_a_cross_encoder_without_a_limit_reads_everything(
    tiny_cross_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = CrossEncoderReranker(str(tiny_cross_encoder), cache=Cache(None))
    monkeypatch.setattr(type(reranker._model), "max_seq_length", None)
    assert read(reranker, ["lamp " * 70], "lamp " * 100) == ReadInPart(candidates=0, of=1)


def test_a_word_longer_than_a_window_is_cut(model: Any) -> None:
    text = "zqxjkvwpygbfhmzkqvxjwpgyfbhmqzvkxjpwygfbmhqkzxvjwpyg"
    windows = windows_of(model, text, 16)
    assert max(windows.values()) <= 16
    assert all(window in text for window in windows)
    assert sum(map(len, windows)) >= len(text)


def test_a_model_that_nobody_has_is_told_before_pairs_are_scored() -> None:
    with pytest.raises(ModelError, match="'no-such/model'"):
        CrossEncoderReranker("no-such/model").check()
