"""What a LangChain retriever or compressor consists of, and how much it returns, raised on a copy."""

from __future__ import annotations

import inspect
import math
from typing import Any

from raglift.adapters.base import is_count
from raglift.adapters.depth import Walk, attributes_of, named
from raglift.adapters.overriding import on_object

ENTRIES = (
    *("invoke", "ainvoke", "batch", "abatch", "batch_as_completed", "abatch_as_completed"),
    *("stream", "astream", "transform", "atransform"),
)
"""The methods by which a Runnable is asked."""
RETRIEVING = ("_get_relevant_documents", "_aget_relevant_documents")
"""The methods by which a retriever of LangChain's finds documents."""
_RETRIEVER_FIELDS = ("k", "top_k", "top_k_results", "similarity_top_k", "num_results", "max_results", "num_contexts")
_RERANKER_FIELDS = ("top_n", "top_k", "k")
_DEFAULT_K = 4
"""What every LangChain vector store returns when it is not told."""
_DEFAULT_FETCH_K = 20
"""What every LangChain vector store fetches before it filters or diversifies."""


def with_depth(part: Any, k: int | None) -> tuple[Any, tuple[str, ...]]:
    """Copy a retriever or compressor so that it returns at least `k` documents, wherever that can be set.

    Args:
        part: a LangChain retriever or other Runnable, or a compressor or transformer; it is not changed.
        k: how many documents are wanted; None for its own settings.

    Returns:
        The copy, and the parts whose depth could not be set: `EnsembleRetriever.retrievers[1]: MyRetriever`.
        What follows the retriever in a sequence is among them: it may drop what the retriever found.
    """
    walk = _Walk(k)
    return walk.visit(part), tuple(walk.fixed)


class _Walk(Walk):
    def visit(self, part: Any, path: str = "") -> Any:
        part = resolved(part)
        if changed := [entry for entry in (*ENTRIES, *RETRIEVING) if on_object(part, entry)]:
            # A function that was set on the object asks the object that it knows, and no copy
            self.fixed.append(f"{named(part, path)} (its own {changed[0]})")
            return part
        return super().visit(part, path)

    def is_part(self, owner: Any, name: str, value: Any) -> bool:
        """Whether a field's value is a retriever or compressor; an LLM chain next to it is neither."""
        from langchain_core.documents import BaseDocumentCompressor
        from langchain_core.retrievers import BaseRetriever
        from langchain_core.runnables import Runnable

        if isinstance(value, BaseRetriever | BaseDocumentCompressor):
            return True
        return isinstance(value, Runnable) and ("retriever" in name or _is_wrapper(owner))

    def path_of(self, twin: Any, owner: str, path: str, place: str) -> str:
        return path if place == "bound" and _is_wrapper(twin) else f"{owner}.{place}"

    def deepen(self, twin: Any, path: str) -> None:
        from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer
        from langchain_core.retrievers import BaseRetriever
        from langchain_core.runnables import Runnable

        if isinstance(twin, BaseDocumentCompressor | BaseDocumentTransformer):
            self._raise_limits(twin)
            self.enter(twin, path)
        elif _is_wrapper(twin):
            arguments = getattr(twin, "kwargs", {})
            if is_count(arguments.get("k")):  # of a `bind(k=…)`, which would override the depth below it
                _put(twin, "kwargs", {**arguments, "k": self.raised(arguments["k"])})
            self.enter(twin, path)
        elif (place := _retrieving_step(twin)) is not None:
            self._deepen_step(twin, place, path)
        elif _is_branch(twin):
            owner, ways = path or type(twin).__name__, enumerate(twin.branches)
            _put(twin, "branches", [(when, self.visit(way, f"{owner}.branches[{at}]")) for at, (when, way) in ways])
            _put(twin, "default", self.visit(twin.default, f"{owner}.default"))
        else:
            has_depth = self._raise_depth(twin)
            inner = self.enter(twin, path) if isinstance(twin, BaseRetriever) else []
            if not has_depth and not any(isinstance(part, Runnable) for part in inner):
                self.fixed.append(named(twin, path))
            elif hasattr(twin, "docstore"):  # MultiVectorRetriever: several child chunks may lead to one document
                self.fixed.append(f"{named(twin, path)} (k counts child chunks)")
            _copy_what_is_written_to(twin)

    def _raise_limits(self, compressor: Any) -> None:
        """Raise the limits of a compressor; None is not a limit and stays."""
        for name in _RERANKER_FIELDS:
            if is_count(value := getattr(compressor, name, None)):
                _put(compressor, name, self.raised(value))

    def _raise_depth(self, retriever: Any) -> bool:
        """Raise the depth fields of a retriever; None there is the default of a service, so it is set."""
        fields = getattr(type(retriever), "model_fields", {})
        depths = {name: getattr(retriever, name) for name in _RETRIEVER_FIELDS if name in fields}
        depths = {name: value for name, value in depths.items() if value is None or is_count(value)}
        search_kwargs = getattr(retriever, "search_kwargs", None)
        # A class with a field of its own passes that field and these arguments to one call: not twice
        searches = isinstance(search_kwargs, dict) and ("k" in search_kwargs or not depths)
        if self.k is not None:
            for name, value in depths.items():
                _put(retriever, name, self.raised(value))
            if searches:
                _put(retriever, "search_kwargs", self._search_kwargs(retriever, search_kwargs or {}))
            if "top_n" in fields and is_count(retriever.top_n):  # beside a k it is what a reranker keeps
                _put(retriever, "top_n", self.raised(retriever.top_n))
        return bool(depths) or searches or ("top_n" in fields and is_count(retriever.top_n))

    def _deepen_step(self, sequence: Any, place: int, path: str) -> None:
        """Deepen the step of a sequence that retrieves; what follows it may cut."""
        owner, steps = path or type(sequence).__name__, list(sequence.steps)
        steps[place] = self.visit(steps[place], f"{owner}.steps[{place}]")
        later = list(enumerate(steps))[place + 1 :]
        self.fixed += [f"{owner}.steps[{at}]: {type(step).__name__} (after the retriever)" for at, step in later]
        for name, value in (("first", steps[0]), ("middle", steps[1:-1]), ("last", steps[-1])):
            _put(sequence, name, value)

    def _search_kwargs(self, retriever: Any, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a vector search, with `k` and, where it would cap the result, `fetch_k` raised."""
        k = self.raised(given.get("k"))
        fetch_k = given.get("fetch_k", _DEFAULT_FETCH_K)
        if getattr(retriever, "search_type", None) == "mmr":
            return given | {"k": k, "fetch_k": max(fetch_k, k or 0)}
        search = getattr(getattr(retriever, "vectorstore", None), "similarity_search", None)
        if given.get("filter") is not None and search and "fetch_k" in inspect.signature(search).parameters:
            # FAISS filters only the `fetch_k` nearest: keep the user's ratio of fetched to returned
            fetch_k = max(fetch_k, math.ceil(fetch_k * (k or 0) / (given.get("k") or _DEFAULT_K)))
            return given | {"k": k, "fetch_k": fetch_k}
        return given | {"k": k}


_FILTERS = ("filter", "filters", "pre_filter", "where", "where_filter", "where_document", "expr")
"""What vector stores call a filter among the arguments of a search."""


def without_filters(part: Any) -> Any | None:
    """Copy a system without the filters of its own retrievers; None if they have none."""
    walk = _Unfiltered(None)
    twin = walk.visit(part)
    return twin if walk.found else None


class _Unfiltered(_Walk):
    found = False

    def deepen(self, twin: Any, path: str) -> None:
        super().deepen(twin, path)
        for held in ("search_kwargs", "kwargs"):  # the latter of a binding
            given = getattr(twin, held, None)
            if isinstance(given, dict) and any(given.get(name) for name in _FILTERS):
                _put(twin, held, {name: value for name, value in given.items() if name not in _FILTERS})
                self.found = True


def _put(twin: Any, name: str, value: Any) -> None:
    """Set an attribute of a copy, also of a frozen model."""
    held = next((space for space, held, _ in attributes_of(twin) if held == name), vars(twin))
    held[name] = value


def _copy_what_is_written_to(twin: Any) -> None:
    """Copy the documents in which a TimeWeightedVectorStoreRetriever notes when they were last read."""
    stream = getattr(twin, "memory_stream", None)
    if isinstance(stream, list):
        copies = [document.model_copy(update={"metadata": dict(document.metadata)}) for document in stream]
        _put(twin, "memory_stream", copies)


def _is_wrapper(part: Any) -> bool:
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
    return (_is_wrapper(part) or _is_branch(part)) and any(_retrieves(child) for child in children(part))


def children(part: Any) -> list[Any]:
    """Return the retrievers and compressors directly inside a part, in field order."""
    from pydantic import BaseModel

    if (place := _retrieving_step(part)) is not None:
        return [resolved(part.steps[place])]
    if _is_branch(part):
        return [resolved(way) for way in (*(way for _, way in part.branches), part.default)]
    return list(map(resolved, _Walk(None).parts_of(part))) if isinstance(part, BaseModel) else []
