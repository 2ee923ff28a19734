"""What a LangChain retriever or compressor consists of, and how much it returns, raised on a copy.

Depth is raised and never lowered: a retriever that looks deeper than asked, as when a fusion reads 100 hits
of each side, keeps doing so, and its ranking is cut afterwards.
"""

from __future__ import annotations

import copy
import inspect
import math
from typing import TYPE_CHECKING, Any

from raglift.adapters.base import is_count
from raglift.adapters.overriding import on_object

if TYPE_CHECKING:
    from collections.abc import Callable


ENTRIES = (
    *("invoke", "ainvoke", "batch", "abatch", "batch_as_completed", "abatch_as_completed"),
    *("stream", "astream", "transform", "atransform"),
)
"""The methods by which a Runnable is asked."""
RETRIEVING = ("_get_relevant_documents", "_aget_relevant_documents")
"""The methods by which a retriever of LangChain's finds documents."""
_RETRIEVER_FIELDS = (
    "k",
    "top_k",
    "top_k_results",
    "similarity_top_k",
    "num_results",
    "max_results",
    "num_contexts",
)
_RERANKER_FIELDS = ("top_n", "top_k", "k")
_DEFAULT_K = 4
"""What every LangChain vector store returns when it is not told."""
_DEFAULT_FETCH_K = 20
"""What every LangChain vector store fetches before it filters or diversifies."""


def with_depth(part: Any, k: int) -> tuple[Any, tuple[str, ...]]:
    """Copy a retriever so that it returns at least `k` documents, wherever that can be set.

    Args:
        part: a LangChain retriever or other Runnable; it is not changed.
        k: how many documents are wanted.

    Returns:
        The copy, and the parts whose depth could not be set: `EnsembleRetriever.retrievers[1]: MyRetriever`.
        What follows the retriever in a sequence is among them: it may drop what the retriever found.
    """
    deepening = _Deepening(k)
    return deepening.of(part), tuple(deepening.fixed)


def with_kept_candidates(part: Any, candidates: int) -> Any:
    """Copy a compressor or transformer so that `top_n` and its like are at least `candidates`.

    A limit of None is not a limit and stays.
    """
    return _Deepening(candidates).of(part)


def with_own_settings(part: Any) -> Any:
    """Copy what asking a retriever would change in it; all its settings stay."""
    return _Deepening(None).of(part)


class _Deepening:
    """One copy of a tree of parts; with no `k`, every depth stays as it is."""

    def __init__(self, k: int | None) -> None:
        self.k = k
        self.fixed: list[str] = []

    def of(self, part: Any, path: str = "") -> Any:
        from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer
        from langchain_core.retrievers import BaseRetriever
        from langchain_core.runnables import Runnable

        part = resolved(part)
        name = f"{path}: {type(part).__name__}" if path else type(part).__name__
        if isinstance(part, BaseDocumentCompressor | BaseDocumentTransformer):
            return part if self.k is None else _copied(part, self._limits(part) | self._nested(part, path))
        if changed := [entry for entry in (*ENTRIES, *RETRIEVING) if on_object(part, entry)]:
            # A function that was set on the object asks the object that it knows, and no copy
            self.fixed.append(f"{name} (its own {changed[0]})")
            return part
        if is_wrapper(part):
            return _copied(part, self._bound_arguments(part) | self._nested(part, path))
        if (place := _retrieving_step(part)) is not None:
            return _copied(part, self._steps(part, place, path))
        if _is_branch(part):
            return _copied(part, self._ways(part, path))
        own = self._depth(part)
        nested = self._nested(part, path) if isinstance(part, BaseRetriever) else {}
        inner = [item for value in nested.values() for item in _members(value) if isinstance(item, Runnable)]
        if not own and not inner:
            self.fixed.append(name)
        elif hasattr(part, "docstore"):  # MultiVectorRetriever: several child chunks may lead to one document
            self.fixed.append(f"{name} (k counts child chunks)")
        return _copied(part, own | nested | _written_to(part))

    def _raised(self, value: int | None) -> int | None:
        if value is None or self.k is None:
            return value if self.k is None else self.k
        return max(value, self.k)

    def _limits(self, part: Any) -> dict[str, Any]:
        """The limits of a compressor, raised."""
        present = {name: getattr(part, name, None) for name in _RERANKER_FIELDS}
        return {name: self._raised(value) for name, value in present.items() if is_count(value)}

    def _depth(self, part: Any) -> dict[str, Any]:
        """The depth fields of a retriever, raised; None there is the default of a service, so it is set."""
        if self.k is None:
            return {}
        fields = getattr(type(part), "model_fields", {})
        present = {name: getattr(part, name) for name in _RETRIEVER_FIELDS if name in fields}
        update: dict[str, Any] = {
            name: self._raised(value) for name, value in present.items() if value is None or is_count(value)
        }
        search_kwargs = getattr(part, "search_kwargs", None)
        # a class with a field of its own passes that field and these arguments to one call: not twice
        if isinstance(search_kwargs, dict) and ("k" in search_kwargs or not update):
            update["search_kwargs"] = self._search_kwargs(part, search_kwargs)
        if "top_n" in fields and is_count(part.top_n):  # beside a k it is what a reranker keeps
            update["top_n"] = self._raised(part.top_n)
        return update

    def _bound_arguments(self, part: Any) -> dict[str, Any]:
        """The arguments of a `bind(k=…)`, which would override the depth of the retriever below it."""
        arguments = getattr(part, "kwargs", {})
        if not is_count(arguments.get("k")):
            return {}
        return {"kwargs": {**arguments, "k": self._raised(arguments["k"])}}

    def _steps(self, part: Any, place: int, path: str) -> dict[str, Any]:
        """The fields of a sequence, with the step that retrieves deepened; what follows it may cut."""
        owner = path or type(part).__name__
        steps = list(part.steps)
        steps[place] = self.of(steps[place], f"{owner}.steps[{place}]")
        later = list(enumerate(steps))[place + 1 :]
        self.fixed += [f"{owner}.steps[{at}]: {type(step).__name__} (after the retriever)" for at, step in later]
        return {"first": steps[0], "middle": steps[1:-1], "last": steps[-1]}

    def _ways(self, part: Any, path: str) -> dict[str, Any]:
        """The fields of a branch, with each way deepened."""
        owner = path or type(part).__name__
        ways = [
            (condition, self.of(way, f"{owner}.branches[{place}]"))
            for place, (condition, way) in enumerate(part.branches)
        ]
        return {"branches": ways, "default": self.of(part.default, f"{owner}.default")}

    def _search_kwargs(self, part: Any, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a vector search, with `k` and, where it would cap the result, `fetch_k` raised."""
        k = self._raised(given.get("k"))
        fetch_k = given.get("fetch_k", _DEFAULT_FETCH_K)
        if getattr(part, "search_type", None) == "mmr":
            return given | {"k": k, "fetch_k": max(fetch_k, k or 0)}
        search = getattr(getattr(part, "vectorstore", None), "similarity_search", None)
        if given.get("filter") is not None and search and "fetch_k" in inspect.signature(search).parameters:
            # FAISS filters only the `fetch_k` nearest: keep the user's ratio of fetched to returned
            fetch_k = max(fetch_k, math.ceil(fetch_k * (k or 0) / (given.get("k") or _DEFAULT_K)))
            return given | {"k": k, "fetch_k": fetch_k}
        return given | {"k": k}

    def _nested(self, part: Any, path: str) -> dict[str, Any]:
        """The fields with parts in them, each part deepened."""
        from pydantic import BaseModel

        if not isinstance(part, BaseModel):
            return {}
        owner = path or type(part).__name__

        def deepened(child: Any, place: str) -> Any:
            return self.of(child, path if place == "bound" and is_wrapper(part) else f"{owner}.{place}")

        return {field: _mapped(part, field, value, deepened) for field, value in _child_fields(part).items()}


def _written_to(part: Any) -> dict[str, Any]:
    """Copies of the documents in which a TimeWeightedVectorStoreRetriever notes when they were last read."""
    stream = getattr(part, "memory_stream", None)
    if not isinstance(stream, list):
        return {}
    copies = [document.model_copy(update={"metadata": dict(document.metadata)}) for document in stream]
    return {"memory_stream": copies}


def _copied(part: Any, update: dict[str, Any]) -> Any:
    """Return a shallow copy with some attributes replaced, private ones too; the part itself if none are."""
    from pydantic import BaseModel

    if not update:
        return part
    if not isinstance(part, BaseModel):
        twin = copy.copy(part)
        for name, value in update.items():
            setattr(twin, name, value)
        return twin
    private = {name: value for name, value in update.items() if name not in type(part).model_fields}
    model = part.model_copy(update={name: value for name, value in update.items() if name not in private})
    if private and model.__pydantic_private__ is not None:
        model.__pydantic_private__.update(private)
    return model


def is_wrapper(part: Any) -> bool:
    """Whether a Runnable only passes its input on: `with_retry`, `with_config`, `bind`, `with_fallbacks`."""
    from langchain_core.runnables import RunnableWithFallbacks
    from langchain_core.runnables.base import RunnableBindingBase

    return isinstance(part, RunnableBindingBase | RunnableWithFallbacks)


def _is_branch(part: Any) -> bool:
    """Whether a Runnable chooses one of several by a condition."""
    from langchain_core.runnables import RunnableBranch

    return isinstance(part, RunnableBranch)


def resolved(part: Any) -> Any:
    """Return the Runnable that a `configurable_fields` or `configurable_alternatives` stands for."""
    from langchain_core.runnables.base import RunnableBindingBase
    from langchain_core.runnables.configurable import DynamicRunnable

    if isinstance(part, RunnableBindingBase) and isinstance(part.bound, DynamicRunnable):
        runnable, config = part.bound.prepare(part.config)
        return part.model_copy(update={"bound": runnable, "config": config})
    if isinstance(part, DynamicRunnable):
        runnable, config = part.prepare()
        return runnable.with_config(config)
    return part


def _retrieving_step(part: Any) -> int | None:
    """Return the position of the one step of a RunnableSequence (`retriever | function`) that retrieves.

    None if the part is not a sequence, or where no step, or more than one, is known to retrieve.
    """
    from langchain_core.runnables import RunnableSequence

    steps = part.steps if isinstance(part, RunnableSequence) else []
    places = [place for place, step in enumerate(steps) if _retrieves(resolved(step))]
    return places[0] if len(places) == 1 else None


def _retrieves(part: Any) -> bool:
    from langchain_core.retrievers import BaseRetriever

    if isinstance(part, BaseRetriever) or _retrieving_step(part) is not None:
        return True
    return (is_wrapper(part) or _is_branch(part)) and any(_retrieves(child) for child in children(part))


def _child_fields(part: Any) -> dict[str, Any]:
    """Return the fields and private attributes that hold nested retrievers or compressors.

    A value is one part, or a list, tuple or dict with parts in it.
    """
    from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer
    from langchain_core.runnables import Runnable

    anything = (Runnable, BaseDocumentCompressor, BaseDocumentTransformer)

    def holds_parts(field: str, value: Any) -> bool:
        if isinstance(value, list | tuple | dict):  # a first look is enough: a list of documents can be long
            first = next(iter(value.values() if isinstance(value, dict) else value), None)
            if not isinstance(first, anything):
                return False
        return any(_is_part(part, field, item) for item in _members(value))

    held = {name: value for name, value in dict(vars(part)).items() if name in type(part).model_fields}
    held |= part.__pydantic_private__ or {}
    return {field: value for field, value in held.items() if holds_parts(field, value)}


def _members(value: Any) -> list[Any]:
    """Return the items of a list, tuple or dict, or the value itself as the only one."""
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else [value]


def _mapped(owner: Any, field: str, value: Any, change: Callable[[Any, str], Any]) -> Any:
    """Return a field's value with `change(part, place)` applied to every part in it."""

    def changed(item: Any, place: str) -> Any:
        return change(item, place) if _is_part(owner, field, item) else item

    if isinstance(value, dict):
        return {key: changed(item, f"{field}[{key!r}]") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([changed(item, f"{field}[{index}]") for index, item in enumerate(value)])
    return changed(value, field)


def children(part: Any) -> list[Any]:
    """Return the retrievers and compressors directly inside a part, in field order."""
    from pydantic import BaseModel

    if (place := _retrieving_step(part)) is not None:
        return [resolved(part.steps[place])]
    if _is_branch(part):
        return [resolved(way) for way in (*(way for _, way in part.branches), part.default)]
    if not isinstance(part, BaseModel):
        return []
    return [
        resolved(item)
        for field, value in _child_fields(part).items()
        for item in _members(value)
        if _is_part(part, field, item)
    ]


def _is_part(owner: Any, field: str, value: Any) -> bool:
    """Whether a field's value is a retriever or compressor; an LLM chain next to it is neither."""
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import Runnable

    if isinstance(value, BaseRetriever | BaseDocumentCompressor):
        return True
    return isinstance(value, Runnable) and ("retriever" in field or is_wrapper(owner))
