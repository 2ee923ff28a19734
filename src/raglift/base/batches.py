"""Batches in which a result depends only on its own text, and executors that compute them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from raglift.base.progress import notice
from raglift.errors import ConfigurationError, ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


# Executors: this process, or workers that it sends a function and its items to. Workers return the results to the
# caller, and only the calling process writes to the cache.


Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers(Protocol):
    """Applies a function to items, wherever that may be."""

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        lost: Callable[[Exception], Result] | None = None,
        *,
        uses_models: bool = True,
    ) -> Iterator[tuple[Item, Result]]:
        """Yield each item with its result as it is finished, in any order.

        Args:
            function: can be pickled: it carries names and settings, never a loaded model or an open file.
            items: can be pickled, as their results can; taken as there is somebody to work on them.
            lost: makes the result of an item whose worker is lost however often it is tried; None raises.
            uses_models: whether the function computes with a model, on the device of models.

        Raises:
            Exception: what the function raised for an item; the results yielded before stand.
        """
        ...


class _Here:
    """The calling process: one item after the other, in their order."""

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        lost: Callable[[Exception], Result] | None = None,  # noqa: ARG002 — here nobody is lost but all of us
        *,
        uses_models: bool = True,  # noqa: ARG002 — everything has the same process
    ) -> Iterator[tuple[Item, Result]]:
        for item in items:
            yield item, function(item)


HERE: Workers = _Here()
"""Computes in the calling process."""


# Batches in which what a model makes of a text depends on that text alone. The last bits of a vector, or of a score,
# change with the length that its batch is padded to, and in bfloat16 a ranking can then come out differently. So
# every text is padded to a length that follows from its own number of tokens, and only texts padded to the same
# length share a batch. With that, neither the number of rows in a batch, nor what the others are, nor the number of
# threads changes a bit of a token's embedding (MiniLM on an x86 processor, float32 and bfloat16; held by tests).
# Where a model has a layer over whole texts, as a cross-encoder has, the number of rows is fixed too. Lengths are
# multiples of 16, which costs 1 % more padding than batches merely sorted by length, and is faster than they are: at
# other lengths the kernels have remainders to take care of, and it is those that change the last bits. An accelerator
# chooses its kernels by the number of rows as well: there, last bits depend on the batch.


ROWS = 32
"""The most rows of a batch whose tokens are not known."""
_MOST_ROWS = 4096
_FIXED_ROWS = 16  # where the number of rows matters; more would have to be filled up where there are few
_STEP = 16
SHAPES = f"padded{_STEP}"
"""How texts are padded: part of the identity of what is computed so."""


class Shape(NamedTuple):
    """What the rows of a batch have in common."""

    length: int
    """The number of tokens that each row is padded to."""
    full: bool
    """Whether no row is padded at all: attention then needs no mask, and may be computed by another kernel."""


class Counted(list[Item]):
    """A batch that knows how many tokens each item has, so that they are counted once."""

    def __init__(self, items: Sequence[Item], tokens: Sequence[int]) -> None:
        super().__init__(items)
        self.tokens = list(tokens)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel whole: a list's own way of being pickled leaves the second argument out."""
        return Counted, (list(self), self.tokens)


def shape_of(tokens: int, limit: int | None) -> Shape:
    """Return how a text is padded: to the next multiple of 16, or to what the model reads.

    Args:
        tokens: how many tokens the text has, the model's marks included.
        limit: how many tokens the model reads; None for any number.
    """
    if limit is not None and tokens >= limit:
        return Shape(limit, full=True)
    length = max(-(-tokens // _STEP), 1) * _STEP
    length = length if limit is None else min(length, limit)
    return Shape(length, full=tokens == length)


def batches_by_length(items: Sequence[Item], lengths: Sequence[int]) -> list[list[Item]]:
    """Return the items in batches of equal size, sorted by length, then by item: plain batches, of no one shape."""
    ordered = [item for _, item in sorted(zip(lengths, items, strict=True))]
    return [ordered[begin : begin + ROWS] for begin in range(0, len(ordered), ROWS)]


class Room:
    """How many tokens a batch may hold, padding included; less after a device ran out of memory.

    Args:
        tokens: 1 or more.
        is_given: whether the user asked for this number: then a text that is longer is an error, else it goes alone.
    """

    def __init__(self, tokens: int, *, is_given: bool = False) -> None:
        self.tokens = tokens
        self._is_given = is_given

    def rows(self, length: int) -> int:
        """Return how many rows of a length a batch may have: 1 or more.

        Raises:
            ConfigurationError: the user asked for fewer tokens than one row has.
        """
        if self._is_given and length > self.tokens:
            raise ConfigurationError(
                f"batch_tokens: found {self.tokens:,}, and a text of {length:,} tokens with its padding; expected "
                f"{length:,} or more, or none, for what the device's memory allows"
            )
        return max(min(self.tokens // length, _MOST_ROWS), 1)

    def shrink(self, tokens: int) -> None:
        """Let batches hold no more than this from now on."""
        self.tokens, self._is_given = min(self.tokens, max(tokens, 1)), False


def counted_batches(items: Sequence[Item], tokens: Sequence[int], limit: int | None, room: Room) -> list[Counted[Item]]:
    """Return the items in batches of one shape each, shortest first; items of equal length in their given order.

    Args:
        items: any number of items.
        tokens: how many tokens each has.
        limit: how many tokens the model reads; None for any number.
        room: how much a batch holds.

    Raises:
        ConfigurationError: the user asked for fewer tokens in a batch than an item has.
    """
    groups: dict[Shape, list[int]] = {}
    for place in sorted(range(len(items)), key=lambda place: tokens[place]):
        groups.setdefault(shape_of(tokens[place], limit), []).append(place)
    rows = [part for shape, group in groups.items() for part in _parts(group, room.rows(shape.length))]
    return [Counted([items[place] for place in row], [tokens[place] for place in row]) for row in rows]


def _parts(items: Sequence[Item], most: int) -> list[Sequence[Item]]:
    return [items[begin : begin + most] for begin in range(0, len(items), most)]


def compute_by_shape(
    compute: Callable[[list[Item], dict[str, Any]], Sequence[Result]],
    items: Sequence[Item],
    tokens: Sequence[int],
    *,
    limit: int | None,
    rows: int | None,
    room: Room,
) -> list[Result]:
    """Return what a model makes of each item, in their order.

    Where the device runs out of memory, the batch is halved and tried again, and later batches are no larger.

    Args:
        compute: calls the model with items, and the settings that make it pad them.
        items: of any shapes; those of one shape go through the model together.
        tokens: how many tokens each has.
        limit: how many tokens the model reads; None for any number.
        rows: how many rows every batch must have, filled up where there are too few; None if any number will do.
        room: how much a batch holds.

    Raises:
        ConfigurationError: the user asked for fewer tokens in a batch than an item has.
        ModelError: the device runs out of memory with one item.
    """
    results: dict[int, Result] = {}
    for batch in counted_batches(range(len(items)), tokens, limit, room):
        length = shape_of(batch.tokens[0], limit).length
        settings = {"processing_kwargs": {"text": {"padding": "max_length", "max_length": length}}}

        def made_of(places: list[int], settings: dict[str, Any] = settings) -> Sequence[Result]:
            return compute([items[place] for place in places], settings)

        results.update(_by_halves(made_of, batch, length, rows, room))
    return [results[place] for place in range(len(items))]


def compute_plainly(compute: Callable[[list[Item]], Sequence[Result]], items: Sequence[Item]) -> list[Result]:
    """Return what a model makes of each item of a batch that it pads itself; halved where memory runs out.

    Raises:
        ModelError: the device runs out of memory with one item.
    """
    results = _by_halves(lambda places: compute([items[place] for place in places]), range(len(items)), 1, None, None)
    return [results[place] for place in range(len(items))]


def _by_halves(
    compute: Callable[[list[int]], Sequence[Result]],
    places: Sequence[int],
    length: int,
    rows: int | None,
    room: Room | None,
) -> dict[int, Result]:
    results: dict[int, Result] = {}
    waiting = [list(places)]
    most = len(places) if room is None else room.rows(length)
    while waiting:
        part = waiting.pop()
        size = min(rows or most, most)
        if len(part) > size:
            waiting += [list(each) for each in _parts(part, size)][::-1]
            continue
        filled = part + part[:1] * (size - len(part)) if rows else part
        made = _unless_out_of_memory(compute, filled, length)
        if made is None:
            most = len(filled) // 2
            if room is not None:
                room.shrink(most * length)
            waiting.append(part)
        else:
            results.update(zip(filled, made, strict=True))
    return results


def _unless_out_of_memory(
    compute: Callable[[list[int]], Sequence[Result]], places: list[int], length: int
) -> Sequence[Result] | None:
    """Return what is computed; None where the memory of the device does not suffice, but might for half of it.

    By the time it returns, nothing holds what was computed up to there.

    Raises:
        ModelError: the memory does not suffice for one.
    """
    try:
        return compute(places)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    _free()
    if len(places) == 1:
        raise ModelError(
            f"the device has not enough memory for one text of {length:,} tokens: {reason}; expected a smaller model, "
            "shorter texts, a number type of 16 bits, or the device 'cpu'"
        )
    notice(f"out of memory with {len(places):,} texts at a time; trying {len(places) // 2:,}")
    return None


_OUT_OF_MEMORY = re.compile(r"out of memory|can't allocate memory|not enough memory", re.IGNORECASE)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that a device has not enough memory: `torch.OutOfMemoryError`, or what a CPU or MPS raises.

    PyTorch raises a plain `RuntimeError` there, which is told by its message.
    """
    if isinstance(error, MemoryError) or any(base.__name__ == "OutOfMemoryError" for base in type(error).__mro__):
        return True
    return isinstance(error, RuntimeError) and _OUT_OF_MEMORY.search(str(error)) is not None


def _free() -> None:
    """Give memory that PyTorch keeps for later back to the device."""
    import torch

    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()


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
    own = (module.query_length, module.document_length, module.query_expansion)
    return not any(own) and module.tokenizer.pad_token is not None


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
    """Return how many tokens the model reads; None for any number.

    Args:
        model: a sentence-transformers model.
        kind: of documents or of queries, where the model may have a smaller limit for them.
    """
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
    """Return how many tokens each text has, uncut.

    Args:
        model: a sentence-transformers model with a callable tokenizer.
        texts: any number of texts.
        prompt: what the model puts before each.
        marks: whether to count the tokens that the model adds at the beginning and the end.
    """
    if not texts:
        return []
    given = [prompt + text for text in texts] if prompt else list(texts)
    ids = model.tokenizer(given, truncation=False, add_special_tokens=marks, verbose=False)["input_ids"]
    return [len(tokens) for tokens in ids]


def pair_token_counts(model: Any, pairs: Sequence[tuple[str, str]]) -> list[int]:
    """Return how many tokens each pair of a query and a text has for a cross-encoder, uncut, its marks included.

    Each distinct query and text is counted once.

    Args:
        model: a sentence-transformers `CrossEncoder` whose tokens can be counted.
        pairs: any number of pairs.
    """
    queries, texts = ([*dict.fromkeys(pair[side] for pair in pairs)] for side in (0, 1))
    prompt = model.prompts.get(model.default_prompt_name) or ""
    of_queries = dict(zip(queries, token_counts(model, queries, prompt, marks=False), strict=True))
    of_texts = dict(zip(texts, token_counts(model, texts, marks=False), strict=True))
    marks = model.tokenizer.num_special_tokens_to_add(pair=True)
    return [of_queries[query] + of_texts[text] + marks for query, text in pairs]
