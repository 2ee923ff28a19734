from __future__ import annotations

import random
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random BERT with 300 words, on disk: it is distilled in milliseconds."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("tiny-bert")
    letters = random.Random(0)  # noqa: S311 — words for a test
    words = {"".join(letters.choices("abcdefghijklmnop", k=5)) for _ in range(300)}
    known = ["the", "lamp", "keeper", "fog", "horn", "island", "boat"]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = [*special, *known, *sorted(words - {*known})]
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=1.0,
    )
    BertModel(config).save_pretrained(folder)
    tokenizer = BertTokenizer({word: number for number, word in enumerate(vocabulary)}, model_max_length=64)
    tokenizer.backend_tokenizer.enable_padding(length=16)  # as MiniLM's does
    tokenizer.backend_tokenizer.enable_truncation(32)
    tokenizer.save_pretrained(folder)
    return folder
