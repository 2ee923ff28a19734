"""How many tokens texts have, each distinct text counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.chunking.encodings import DEFAULT_ENCODING, load_encoding
from raglift.progress import track

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["TokenCounts"]

_BATCH = 1024
_MANY = 10_000  # fewer take a few seconds at most


class TokenCounts:
    """Counts tokens, and remembers the count of each distinct text.

    Args:
        encoding: tiktoken's name of the encoding.
        progress: show progress where many texts are counted; None for when standard error is a terminal.
    """

    def __init__(self, encoding: str = DEFAULT_ENCODING, *, progress: bool | None = None) -> None:
        self.encoding = encoding
        self._progress = progress
        self._known: dict[str, int] = {}

    def of(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return how many tokens each text has.

        Raises:
            MissingDependency: tiktoken is not installed.
            ConfigurationError: the encoding can be neither found nor downloaded.
        """
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        if new:
            encoding = load_encoding(self.encoding)
            show = self._progress if len(new) > _MANY else False
            with track("count tokens", len(new), "texts", show=show) as advance:
                for first in range(0, len(new), _BATCH):
                    batch = new[first : first + _BATCH]
                    self._known.update(zip(batch, encoding.counts(batch), strict=True))
                    advance(len(batch))
        return np.fromiter((self._known[text] for text in texts), dtype=np.int64, count=len(texts))
