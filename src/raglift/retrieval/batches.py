"""Batches in which a result depends only on its own text, and executors that compute them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from raglift.errors import ConfigurationError

# Executors: this process, or workers that it sends a function and its items to. Workers return the results to the
# caller, and only the calling process writes to the cache.


Item = TypeVar("Item", bound=Any)
Result = TypeVar("Result")


class Workers(Protocol):
    """Applies a function to items, wherever that may be."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Yield each item with its result as it is finished, in any order.

        Raises:
            Exception: what the function raised for an item; the results yielded before stand.
        """


class _Here:
    """The calling process: one item after the other, in their order."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        for item in items:
            yield item, function(item)


HERE: Workers = _Here()
"""Computes in the calling process."""


# Batches in which what a model makes of a text depends on that text alone. The last bits of a vector, or of a score,
# change with the length that its batch is padded to, and in bfloat16 a ranking can then come out differently. So
# every text is padded to a length that follows from its own number of tokens, and only texts padded to the same
# length share a batch. With that, neither the number of rows in a batch, nor what the others are, nor the number of
# threads changes a bit of a token's embedding (MiniLM in float32 on x86 processors; held by tests).
# Where a model has a layer over whole texts, as a cross-encoder has, the number of rows is fixed too. Lengths are
# multiples of 16, which costs 1 % more padding than batches merely sorted by length, and is faster than they are: at
# other lengths the kernels have remainders to take care of, and it is those that change the last bits. An accelerator
# chooses its kernels by the number of rows as well: there, last bits depend on the batch.


BATCH_SIZE = 32
"""The most rows of a batch, if nothing else is said."""
_BATCHES_IN_A_PART = 8
_FIXED_ROWS = 16  # if the number of rows matters; more would have to be filled up for a few
_STEP = 16
_SMALL = 256
SHAPES = f"padded{_STEP}"
"""How texts are padded: part of the identity of what is computed so."""


def is_small(rows: int, settings: Mapping[str, Any]) -> bool:
    """Whether a batch has so few tokens that it is computed on one thread, which is faster.

    With several threads its last bits would change with the number of rows on some processors (seen on x86 with AMX, at
    up to 192 tokens).
    """
    padding = settings.get("processing_kwargs", {}).get("text", {})
    return rows == 1 or rows * padding.get("max_length", _SMALL + 1) <= _SMALL


def checked_batch_size(batch_size: object) -> int:
    """Return the most rows of a batch."""
    if type(batch_size) is int and batch_size >= 1:
        return batch_size
    raise ConfigurationError(f"batch_size: found {batch_size!r}; expected an integer, 1 or more")


class Shape(NamedTuple):
    """What the rows of a batch have in common."""

    length: int
    full: bool
    """Whether no row is padded at all: attention then needs no mask, and may be computed by another kernel."""


def shape_of(tokens: int, limit: int | None) -> Shape:
    """Return how a text is padded: to the next multiple of 16, or to what the model reads."""
    if limit is not None and tokens >= limit:
        return Shape(limit, full=True)
    length = max(-(-tokens // _STEP), 1) * _STEP
    length = length if limit is None else min(length, limit)
    return Shape(length, full=tokens == length)


def in_parts(items: Sequence[Item], size: int) -> list[list[Item]]:
    """Return items in parts of a size, the last perhaps smaller."""
    return [list(items[begin : begin + size]) for begin in range(0, len(items), size)]


def parts_by_length(items: Iterable[Item], length: Callable[[Item], int], size: int) -> list[list[Item]]:
    """Return items in parts, the shortest first: one part is computed, and cached, at a time."""
    return in_parts(sorted(items, key=lambda item: (length(item), item)), _BATCHES_IN_A_PART * size)


def compute_by_shape(
    compute: Callable[[list[Item], dict[str, Any]], Sequence[Result]],
    items: Sequence[Item],
    tokens: Sequence[int],
    *,
    limit: int | None,
    rows: int | None = None,
    size: int = BATCH_SIZE,
) -> list[Result]:
    """Return what a model makes of each item, in their order.

    Args:
        compute: calls the model with items, and the settings that make it pad them.
        items: of any shapes; those of one shape go through the model together, the shortest first.
        tokens: how many tokens each has.
        limit: how many tokens the model reads; None for any number.
        rows: how many rows every batch must have, filled up if there are too few; None if any number will do.
        size: the most rows of a batch if any number will do.
    """
    groups: dict[Shape, list[int]] = {}
    for place in sorted(range(len(items)), key=lambda place: tokens[place]):
        groups.setdefault(shape_of(tokens[place], limit), []).append(place)
    results: dict[int, Result] = {}
    for shape, places in groups.items():
        settings = {"processing_kwargs": {"text": {"padding": "max_length", "max_length": shape.length}}}
        for batch in in_parts(places, rows or size):
            filled = batch + batch[:1] * (rows - len(batch)) if rows else batch
            results.update(zip(filled, compute([items[place] for place in filled], settings), strict=True))
    return [results[place] for place in range(len(items))]


def fixed_rows(model: Any) -> int | None:
    """Return how many rows each batch of a sentence-transformers model must have; None if any number will do.

    A layer that computes on whole texts (a classification head, a dense layer behind the pooling) has one row per text,
    and its kernel is chosen by their number. On an accelerator that is so of all layers, and no number is better.
    """
    if str(getattr(model, "device", "cpu")).partition(":")[0] != "cpu":
        return None
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    by_token = all(isinstance(module, Transformer | Pooling | Normalize) for module in model)
    return None if by_token and not isinstance(model, CrossEncoder) else _FIXED_ROWS


def can_be_padded(model: Any) -> bool:
    """Whether a sentence-transformers model can be given the length to pad texts to.

    Not so: static models; those whose texts go through a chat template; those saved with their own ways to pad or cut.
    """
    if not can_count_tokens(model):
        return False
    module = model[0]
    lengths = (module.query_length, module.document_length, module.query_expansion)
    return not any(lengths) and module.tokenizer.pad_token is not None


def can_count_tokens(model: Any) -> bool:
    """Whether the tokens that a sentence-transformers model makes of a text are those of its tokenizer.

    Not so: static models; those whose texts go through a chat template; those saved with settings of their own for
    their tokenizer.
    """
    from sentence_transformers.base.modules import Transformer

    module = model[0]
    if not isinstance(module, Transformer) or "text" not in module.modality_config:
        return False
    return "message" not in module.modality_config and not module.processing_kwargs and callable(module.tokenizer)


def token_limit(model: Any, kind: Literal["document", "query"] | None = None) -> int | None:
    """Return how many tokens the model reads; None for any number."""
    limits = [model.max_seq_length]
    if kind is not None:
        limits.append(getattr(model[0], f"{kind}_length", None))
    return min((limit for limit in limits if limit is not None), default=None)


def prompt_of(model: Any, kind: Literal["document", "query"]) -> str:
    """Return what the model's `encode_document` or `encode_query` puts before each text."""
    candidates = ("query",) if kind == "query" else ("document", "passage", "corpus")
    name = next((name for name in candidates if name in model.prompts), model.default_prompt_name)
    return model.prompts.get(name) or ""


def token_counts(model: Any, texts: Sequence[str], prompt: str = "", *, marks: bool = True) -> list[int]:
    """Return how many tokens each text has, uncut."""
    if not texts:
        return []
    prompted = [prompt + text for text in texts] if prompt else list(texts)
    ids = model.tokenizer(prompted, truncation=False, add_special_tokens=marks, verbose=False)["input_ids"]
    return [len(tokens) for tokens in ids]


def pair_token_counts(model: Any, pairs: Sequence[tuple[str, str]]) -> list[int]:
    """Return how many tokens each pair of a query and a text has for a cross-encoder, uncut, its marks included.

    Each distinct query and text is counted once.
    """
    queries, texts = ([*dict.fromkeys(pair[side] for pair in pairs)] for side in (0, 1))
    prompt = model.prompts.get(model.default_prompt_name) or ""
    of_queries = dict(zip(queries, token_counts(model, queries, prompt, marks=False), strict=True))
    of_texts = dict(zip(texts, token_counts(model, texts, marks=False), strict=True))
    marks = model.tokenizer.num_special_tokens_to_add(pair=True)
    return [of_queries[query] + of_texts[text] + marks for query, text in pairs]
