"""How many chunks are longer than the embedded model reads, told without loading the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from raglift.errors import MissingDependency
from raglift.models import embedded_model_path
from raglift.progress import track

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records import Chunk

__all__ = ["chunks_read_in_part"]

_BATCH = 1024
_MANY = 10_000  # fewer take a few seconds at most


def chunks_read_in_part(chunks: Sequence[Chunk]) -> int:
    """Return how many chunks have more tokens than the embedded model reads, its two marks included.

    Raises:
        MissingDependency: the model, or the package `tokenizers`, is not installed.
        ModelError: the model is not the one expected.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingDependency("tokenizers", "local", "counting tokens") from None
    folder = embedded_model_path()
    limit = int(json.loads((folder / "sentence_bert_config.json").read_text(encoding="utf-8"))["max_seq_length"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    count = 0
    with track("count tokens", len(chunks), "chunks", show=None if len(chunks) > _MANY else False) as advance:
        for first in range(0, len(chunks), _BATCH):
            batch = chunks[first : first + _BATCH]
            encoded = tokenizer.encode_batch_fast([chunk.text for chunk in batch])
            count += sum(len(tokens.ids) > limit for tokens in encoded)
            advance(len(batch))
    return count
