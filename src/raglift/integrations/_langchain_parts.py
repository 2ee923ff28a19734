"""What a LangChain object consists of: its nested parts, its name for people, and whether it is async.

Nothing here changes an object. LangChain is imported only inside the functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "answers_async",
    "answers_sync",
    "child_fields",
    "children",
    "describe",
    "is_branch",
    "is_wrapper",
    "mapped",
    "members",
    "resolved",
    "retrieving_step",
]

_SHOWN = ("vectorstore", "model", "embeddings")
"""Fields that tell two objects of one class apart; shown as a model name or a class name, never as a repr."""


def is_wrapper(part: Any) -> bool:
    """Whether a Runnable only passes its input on: `with_retry`, `with_config`, `bind`, `with_fallbacks`."""
    from langchain_core.runnables import RunnableWithFallbacks
    from langchain_core.runnables.base import RunnableBindingBase

    return isinstance(part, RunnableBindingBase | RunnableWithFallbacks)


def is_branch(part: Any) -> bool:
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


def retrieving_step(part: Any) -> int | None:
    """Return the place of the one step of a RunnableSequence (`retriever | function`) that retrieves.

    None where the part is no sequence, or where no step, or more than one, is known to retrieve.
    """
    from langchain_core.runnables import RunnableSequence

    steps = part.steps if isinstance(part, RunnableSequence) else []
    places = [place for place, step in enumerate(steps) if _retrieves(resolved(step))]
    return places[0] if len(places) == 1 else None


def _retrieves(part: Any) -> bool:
    from langchain_core.retrievers import BaseRetriever

    if isinstance(part, BaseRetriever) or retrieving_step(part) is not None:
        return True
    return (is_wrapper(part) or is_branch(part)) and any(_retrieves(child) for child in children(part))


def child_fields(part: Any) -> dict[str, Any]:
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
        return any(_is_part(part, field, item) for item in members(value))

    held = {name: value for name, value in dict(vars(part)).items() if name in type(part).model_fields}
    held |= part.__pydantic_private__ or {}
    return {field: value for field, value in held.items() if holds_parts(field, value)}


def members(value: Any) -> list[Any]:
    """Return the items of a list, tuple or dict, or the value itself as the only one."""
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else [value]


def mapped(owner: Any, field: str, value: Any, change: Callable[[Any, str], Any]) -> Any:
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

    if (place := retrieving_step(part)) is not None:
        return [resolved(part.steps[place])]
    if is_branch(part):
        return [resolved(way) for way in (*(way for _, way in part.branches), part.default)]
    if not isinstance(part, BaseModel):
        return []
    return [
        resolved(item)
        for field, value in child_fields(part).items()
        for item in members(value)
        if _is_part(part, field, item)
    ]


def _is_part(owner: Any, field: str, value: Any) -> bool:
    """Whether a field's value is a retriever or compressor; an LLM chain beside it is neither."""
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import Runnable

    if isinstance(value, BaseRetriever | BaseDocumentCompressor):
        return True
    return isinstance(value, Runnable) and ("retriever" in field or is_wrapper(owner))


def describe(part: Any) -> str:
    """Name a retriever or compressor for people: `EnsembleRetriever(BM25Retriever + …)`.

    Only class names, model names, function names and the kind of search are shown, so no secret can be.
    """
    from langchain_core.runnables import RunnableLambda
    from langchain_core.runnables.base import RunnableBindingBase

    part = resolved(part)
    if isinstance(part, RunnableBindingBase):
        return describe(part.bound)
    details = [" + ".join(describe(child) for child in children(part))]
    details += [_label(value) for field in _SHOWN if (value := getattr(part, field, None)) is not None]
    search_type = getattr(part, "search_type", "similarity")
    if search_type != "similarity":
        details.append(str(getattr(search_type, "value", search_type)))
    if isinstance(part, RunnableLambda):  # named for its function, unless that is a lambda
        details.append(getattr(part, "name", None) or "")
    shown = ", ".join(detail for detail in details if detail)
    return f"{type(part).__name__}({shown})" if shown else type(part).__name__


def _label(value: Any) -> str:
    return value if isinstance(value, str) else type(value).__name__


def answers_sync(part: Any) -> bool:
    """Whether a part can be asked without an event loop: all but a RunnableLambda of a coroutine function."""
    from langchain_core.runnables import RunnableLambda, RunnableSequence

    part = resolved(part)
    if isinstance(part, RunnableLambda):
        return hasattr(part, "func")
    inside = part.steps if isinstance(part, RunnableSequence) else children(part)
    return all(answers_sync(child) for child in inside)


def answers_async(part: Any) -> bool:
    """Whether a part's own code, and that of every part inside it, is asynchronous.

    The rule: the class overrides its async method (`_aget_relevant_documents`, `acompress_documents`,
    `atransform_documents`, or `ainvoke`) outside langchain-core, whose default runs the sync one in a
    thread; its embeddings override theirs; and it holds no vector store, because nothing tells whether a
    store's async method does more than start a thread.
    """
    from langchain_core.runnables import RunnableLambda

    part = resolved(part)
    if isinstance(part, RunnableLambda):
        return hasattr(part, "afunc")
    if not all(answers_async(child) for child in children(part)):
        return False
    return is_wrapper(part) or (
        _overrides_async_method(part)
        and getattr(part, "vectorstore", None) is None
        and _embeds_async(getattr(part, "embeddings", None))
    )


def _overrides_async_method(part: Any) -> bool:
    """Whether the async method is defined outside langchain-core.

    Identity with the base's method would not do: `BaseRetriever.__init_subclass__` puts a thread-running
    method into each subclass whose sync method takes no `run_manager`.
    """
    names = ("_aget_relevant_documents", "acompress_documents", "atransform_documents", "ainvoke")
    method = next((found for name in names if (found := getattr(type(part), name, None))), None)
    return method is not None and not method.__module__.startswith("langchain_core.")


def _embeds_async(embeddings: Any) -> bool:
    from langchain_core.embeddings import Embeddings

    return not isinstance(embeddings, Embeddings) or (
        type(embeddings).aembed_query is not Embeddings.aembed_query
        and type(embeddings).aembed_documents is not Embeddings.aembed_documents
    )
