"""Token counts of texts."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.errors import ConfigurationError, MissingDependency
from raglift.utilities.display import encodable
from raglift.utilities.limits import is_file
from raglift.utilities.progress import track

if TYPE_CHECKING:
    import tiktoken


# tiktoken's encodings, without network access if a local copy exists.


DEFAULT_ENCODING = "cl100k_base"
"""The encoding of OpenAI's text-embedding-3 models, in which published chunk sizes are mostly given."""


@dataclass(frozen=True)
class _Copy:
    """What makes an encoding of a file of tokens, as `tiktoken_ext.openai_public` has it."""

    file: str
    """The file's name in tiktoken's cache folder: the SHA-1 of the address it comes from."""
    sha256: str
    """What the file's content must hash to."""
    pattern: str
    """The regular expression that cuts text into what is tokenized by itself."""


_COPIES = {
    "cl100k_base": _Copy(
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
        r"|\s+(?!\S)|\s",
    ),
}
"""The encodings of which llama-index-core carries the file that tiktoken would otherwise download."""
_MUCH_TEXT = 100_000
"""Characters below which starting threads takes longer than they save."""


@dataclass(frozen=True)
class Encoding:
    """A tiktoken encoding that takes all text as ordinary: `<|endoftext|>` is thirteen characters like any others."""

    tokens: tiktoken.Encoding
    """What encodes."""

    def count(self, text: str) -> int:
        """Return how many tokens a text has."""
        return len(self.tokens.encode_ordinary(encodable(text)))

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each of some texts has; of much text, on as many threads as there are cores."""
        clean_texts = [encodable(text) for text in texts]
        if sum(map(len, clean_texts)) < _MUCH_TEXT:
            return [len(self.tokens.encode_ordinary(text)) for text in clean_texts]
        return list(map(len, self.tokens.encode_ordinary_batch(clean_texts, num_threads=os.cpu_count() or 1)))

    def edges(self, text: str) -> list[int]:
        """Return where each token of a text begins, and where the last one ends, in characters.

        The edge between two tokens of one character is moved behind the character.
        """
        data = encodable(text)
        pieces = self.tokens.decode_tokens_bytes(self.tokens.encode_ordinary(data))
        edges = np.cumsum([0, *map(len, pieces)])
        octets = np.frombuffer(data.encode(), dtype=np.uint8)
        characters_before = np.concatenate(([0], np.cumsum((octets & 0xC0) != 0x80)))
        places: list[int] = characters_before[edges].tolist()
        return places


@cache
def load_encoding(name: str) -> Encoding:
    """Return an encoding, from the copy that llama-index-core carries or else as tiktoken finds it.

    Args:
        name: tiktoken's name for it, such as `cl100k_base`.
    """
    try:
        import tiktoken
    except ImportError:
        raise MissingDependency("tiktoken", "models", "counting tokens") from None
    ranks = _carried(_COPIES[name]) if name in _COPIES else None
    if ranks is not None:
        return Encoding(
            tiktoken.Encoding(name, pat_str=_COPIES[name].pattern, mergeable_ranks=ranks, special_tokens={})
        )
    known = tiktoken.list_encoding_names()
    if name not in known:
        raise ConfigurationError(f"encoding: found {name!r}; expected one of {', '.join(known)}")
    try:
        return Encoding(tiktoken.get_encoding(name))
    except Exception as error:  # whatever the HTTP client, the disk or a damaged file raises
        carried = "pip install 'raglift[llama-index]', which carries it, or " if name in _COPIES else ""
        raise ConfigurationError(
            f"encoding: {name!r} is not on this machine, and tiktoken could not fetch it ({type(error).__name__}); "
            f"expected {carried}a network"
        ) from error


def is_encoding_available(name: str = DEFAULT_ENCODING) -> bool:
    """Whether an encoding can be loaded without a network: llama-index-core carries it, or tiktoken has fetched it."""
    if importlib.util.find_spec("tiktoken") is None:
        return False
    copy = _COPIES.get(name)
    if copy is None:
        return False
    fetched = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    folder = Path(tempfile.gettempdir()) / "data-gym-cache" if fetched is None else Path(fetched)
    return any(_carriers(copy)) or (fetched != "" and is_file(folder / copy.file))


def _carried(copy: _Copy) -> dict[bytes, int] | None:
    """Return the tokens of a file that llama-index-core carries; None if it is not there, or is another."""
    for path in _carriers(copy):
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() == copy.sha256:
            pairs = (line.split() for line in data.splitlines() if line)
            return {base64.b64decode(token): int(rank) for token, rank in pairs}
    return None


def _carriers(copy: _Copy) -> Iterator[Path]:
    """Yield where llama-index-core carries a file of tokens."""
    spec = importlib.util.find_spec("llama_index")  # its folder: the package itself is not imported
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "core" / "_static" / "tiktoken_cache" / copy.file
        if is_file(path):
            yield path


# Token counts, computed once per distinct text.


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

    @property
    def has_counted(self) -> bool:
        """Whether it has counted any text, so that the encoding is at hand."""
        return bool(self._known)

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


CHARACTERS_A_TOKEN = 4
"""Roughly, in English."""
_SAMPLE = 200_000
_FEWEST = 200


def characters_per_token(texts: Iterable[str], counter: TokenCounts) -> float:
    """Return the mean number of characters of a token: distinct texts, up to 200,000 characters of them.

    4, which is roughly that of English, where they have fewer than 200 characters together.

    Raises:
        MissingDependency: tiktoken is not installed.
        ConfigurationError: the encoding can be neither found nor downloaded.
    """
    sample, characters = [], 0
    for text in dict.fromkeys(texts):
        if characters >= _SAMPLE:
            break
        sample.append(text[: _SAMPLE - characters])
        characters += len(sample[-1])
    if characters < _FEWEST:
        return float(CHARACTERS_A_TOKEN)
    return characters / max(1, int(counter.of(sample).sum()))


class EstimatedTokens(TokenCounts):
    """Takes four characters for a token, where tokens cannot be counted: an equal budget is then one of characters."""

    def of(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return about how many tokens each text has; at least one where it is not empty."""
        return np.fromiter((-(-len(text) // CHARACTERS_A_TOKEN) for text in texts), dtype=np.int64, count=len(texts))
