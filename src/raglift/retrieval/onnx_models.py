"""Embedding models and cross-encoders in ONNX files, computed by ONNX Runtime on the processor, without PyTorch.

Two come in a package: `bge-small` (BAAI/bge-small-en-v1.5) and `cross-encoder` (cross-encoder/ms-marco-MiniLM-L-12-v2),
in 8-bit integers. Others are named `onnx:FOLDER`, `onnx:FILE.onnx` or `onnx:HUB_ID`.

Integers are scaled by the largest value of a whole batch, so a score would change with what else is in its batch: by up
to 0.27, enough to reorder 20 candidates (measured with `cross-encoder`). Each text or pair is therefore computed alone
and without padding, which is faster too, on as many threads as there are cores, each of which works on one at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raglift.errors import MissingDependency, ModelError
from raglift.retrieval.batches import parts_by_length
from raglift.retrieval.models import CROSS_ENCODER, EMBEDDED_MODEL, loading
from raglift.retrieval.onnx_files import find_onnx_files, has_known_files, onnx_identity
from raglift.retrieval.rerankers import Pair, PairReranker, Truncated
from raglift.utilities.display import encodable
from raglift.utilities.threads import usable_cores

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from raglift.retrieval.embedding import Kind
    from raglift.utilities.cache import Cache


_BATCH_SIZE = 4
"""Results are kept, and progress is shown, after a few batches of this size: computing does not need them."""


class _Tokens(NamedTuple):
    """The tokens of a text or a pair, with their marks."""

    ids: list[int]
    types: list[int]
    cut: list[bool]
    """Which of the texts is read in part."""


class _Model:
    """A tokenizer and a session of ONNX Runtime that computes on the thread that asks."""

    def __init__(self, name: str) -> None:
        self.files = find_onnx_files(name)
        try:
            # Set before the first import: later versions write a device id and report to their maker when imported
            os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingDependency(error.name or "onnxruntime", "models", f"the model {name}") from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                str(self.files.model), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer: Tokenizer = Tokenizer.from_file(str(self.files.tokenizer))
        except Exception as error:
            raise ModelError(
                f"the model {name!r} cannot be loaded: {type(error).__name__}: {error}; expected an ONNX file "
                f"({self.files.model}) and a tokenizer ({self.files.tokenizer})"
            ) from error
        limits = [self.files.limit, (self._tokenizer.truncation or {}).get("max_length")]
        self.limit: int | None = min((limit for limit in limits if limit is not None), default=None)
        """How many tokens the model reads, its marks included; None for any number."""
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._frames = [self._frame(texts) for texts in (1, 2)]
        self._inputs = [declared.name for declared in self._session.get_inputs()]
        self.outputs = [declared.name for declared in self._session.get_outputs()]
        unknown = sorted({*self._inputs} - {"input_ids", "attention_mask", "token_type_ids"})
        if unknown:
            raise ModelError(
                f"{self.files.model}: found the inputs {', '.join(unknown)}; expected input_ids, attention_mask and "
                "token_type_ids alone, as text encoders have"
            )

    def encode(self, *texts: str) -> _Tokens:
        """Return the tokens of a text or a pair, truncated to what the model reads.

        Of a pair, the longer one is truncated first, as the tokenizers of sentence-transformers do.
        """
        frame = self._frames[len(texts) - 1]
        found = [self._tokenizer.encode(encodable(text), add_special_tokens=False).ids for text in texts]
        lengths = kept = [len(ids) for ids in found]
        if self.limit is not None:
            kept = _kept(lengths, max(self.limit - sum(place is None for _, _, place in frame), 0))
        ids: list[int] = []
        types: list[int] = []
        for mark, kind, place in frame:
            part = [mark] if place is None else found[place][: kept[place]]
            ids += part
            types += [kind] * len(part)
        return _Tokens(ids, types, [keep < length for keep, length in zip(kept, lengths, strict=True)])

    def _frame(self, texts: int) -> list[tuple[int, int, int | None]]:
        """Return the marks around one text or two: an id and a type each, or the number of the text that stands there.

        The tokenizer's own truncation is not used: of two very long texts it keeps each pair of their pieces.
        """
        whole = self._tokenizer.encode("a", "a" if texts > 1 else None)
        found: list[tuple[int, int, int | None]] = []
        for token, kind, place in zip(whole.ids, whole.type_ids, whole.sequence_ids, strict=True):
            if place is None or not found or found[-1][2] != place:
                found.append((token, kind, place))
        return found

    def compute(self, tokens: _Tokens, output: str | None = None) -> NDArray[np.float32]:
        """Return one output for one text, the first unless named, without the axis of texts."""
        fields = {"input_ids": tokens.ids, "attention_mask": [1] * len(tokens.ids), "token_type_ids": tokens.types}
        feed = {name: np.array([fields[name]], dtype=np.int64) for name in self._inputs}
        try:
            results = self._session.run([output or self.outputs[0]], feed)
        except Exception as error:
            raise ModelError(
                f"{self.files.model}: {type(error).__name__} at a text of {len(tokens.ids):,} tokens "
                f"({str(error).partition(chr(10))[0][:200]}); expected a model that reads as many as its settings say"
            ) from error
        found: NDArray[np.float32] = np.asarray(results[0][0], np.float32)
        return found


def _kept(lengths: Sequence[int], limit: int) -> list[int]:
    """Return how many tokens are kept of each of one or two texts."""
    if sum(lengths) <= limit or len(lengths) == 1:
        return [min(length, limit) for length in lengths]
    shorter = min(*lengths, limit // 2)
    first_is_shorter = lengths[0] <= lengths[1]
    return [shorter, limit - shorter] if first_is_shorter else [limit - shorter, shorter]


@lru_cache(maxsize=4)
def _loaded(name: str, _identity: str) -> _Model:
    """Load a model once for each state of its files: `_identity` changes when they do."""
    with loading():
        return _Model(name)


def _load(name: str) -> _Model:
    return _loaded(name, onnx_identity(name))


def _on_all_cores(compute: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    """Yield what is computed of each item, in their order; the runtime computes outside Python's lock."""
    with ThreadPoolExecutor(usable_cores(), thread_name_prefix="raglift-onnx") as pool:
        yield from pool.map(compute, items)


class OnnxEmbedder:
    """An embedding model in an ONNX file as an Embedder, loaded when the first text needs it.

    A vector depends on its text alone. The file says how it computes, most often in 8-bit integers.

    Args:
        model: `bge-small` (the embedded model), or `onnx:` with a folder, an ONNX file or a hub id. Beside the file
            lie `tokenizer.json` and, unless it has the output `sentence_embedding`, `1_Pooling/config.json`; prompts
            are those of `config_sentence_transformers.json`.
    """

    batches_queries = True
    """Whether queries may be embedded many at a time: a vector does not depend on the others."""

    def __init__(self, model: str = EMBEDDED_MODEL) -> None:
        self.model = model

    @property
    def identity(self) -> str:
        """The model's name, its files, and the processor's arithmetic of integers."""
        return onnx_identity(self.model)

    @property
    def has_known_identity(self) -> bool:
        """Whether the identity can be determined without a download."""
        return has_known_files(self.model)

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        """Put texts of about one length together, shortest first."""
        return parts_by_length(texts, len, _BATCH_SIZE)

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Return one vector a text, with the model's own prompt for queries or documents.

        Raises:
            ModelError: the model cannot be loaded, or does not say how it pools.
        """
        model = _load(self.model)
        prompt = model.files.query_prompt if kind == "query" else model.files.document_prompt
        return np.stack([*_on_all_cores(lambda text: _vector(model, prompt + text), texts)])

    def read_in_part(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether the model truncates it."""
        model = _load(self.model)
        prompt = model.files.document_prompt
        return [*_on_all_cores(lambda text: any(model.encode(prompt + text).cut), texts)]


def _vector(model: _Model, text: str) -> NDArray[np.float32]:
    """Return the vector of a text: the model's own, or its tokens' pooled."""
    whole = "sentence_embedding" in model.outputs
    found = model.compute(model.encode(text), "sentence_embedding" if whole else None)
    if found.size == 1 or found.ndim > 2:
        raise ModelError(
            f"{model.files.model}: found an output of shape {found.shape} for a text; expected a vector, or one a "
            "token, as an embedding model gives"
        )
    if found.ndim == 1:
        return found
    if model.files.layers:
        raise ModelError(
            f"{model.files.model}: found the outputs of single tokens, and modules.json with "
            f"{', '.join(model.files.layers)} behind them; expected an output sentence_embedding"
        )
    if model.files.pooling is None:
        raise ModelError(
            f"{model.files.model}: found the outputs of single tokens, and nothing that says how they become one "
            "vector; expected 1_Pooling/config.json beside the tokenizer, with cls or mean, or an output "
            "sentence_embedding"
        )
    vector: NDArray[np.float32] = found[0] if model.files.pooling == "first" else found.mean(axis=0)
    return vector


class OnnxCrossEncoder(PairReranker):
    """Scores pairs with a cross-encoder in an ONNX file.

    A score is the model's logit, and depends on its pair alone. What is longer than the model reads is truncated, the
    longer of the two first, and counted.

    Args:
        model: `cross-encoder` (the embedded model), or `onnx:` with a folder, an ONNX file or a hub id.
        cache: where scores are looked up and kept; by default the user's.
        progress: whether to show progress; None decides by the terminal.
    """

    def __init__(
        self,
        model: str = CROSS_ENCODER,
        *,
        cache: Cache | None = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(batch_size=_BATCH_SIZE, cache=cache, progress=progress)
        self.model = model

    @cached_property
    def identity(self) -> str:
        """The model's name, its files, and the processor's arithmetic of integers; of when first asked for."""
        return f"cross-encoder:{onnx_identity(self.model)}"

    def check(self) -> None:
        """Raise now, not when all is retrieved, if the model cannot score a pair.

        Raises:
            MissingDependency: a package is not installed.
            ModelError: the files are missing, not those expected, or not of a cross-encoder.
        """
        self.score([("a", "b")])

    def score(self, batch: Sequence[Pair]) -> list[float]:
        """Return the model's logit for each pair.

        Raises:
            ModelError: the model cannot be loaded, or gives something else than one number a pair.
        """
        model = _load(self.model)

        def compute(pair: Pair) -> float:
            found = model.compute(model.encode(*pair))
            if found.size != 1:
                raise ModelError(
                    f"{model.files.model}: found an output of shape {found.shape} for a pair; expected one number, as "
                    "a cross-encoder gives"
                )
            return float(found.item())

        return [*_on_all_cores(compute, batch)]

    def find_truncated(self, pairs: Sequence[Pair]) -> list[Truncated]:
        """Return what the model reads in part of each pair; a pair that is too long counts as a text read in part."""
        model = _load(self.model)
        cut = _on_all_cores(lambda pair: model.encode(*pair).cut, pairs)
        return [Truncated(Truncated.TEXT * (query or text) | Truncated.QUERY * query) for query, text in cut]
