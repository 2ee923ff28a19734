"""Functions, objects with raglift's own methods and HTTP addresses as stages, and any framework's result as a chunk."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from raglift.adapters.base import Adapter, accepted, adapter_of
from raglift.adapters.results import chunk_of_mapping, read_all, require_text, results_in, shown_keys
from raglift.adapters.stages import RerankStage, RetrieveStage, Stage
from raglift.errors import ConfigurationError, UnsupportedSystem
from raglift.retrieval.services.addresses import is_http_address, is_mcp_reference
from raglift.retrieval.services.http_retriever import HttpRetriever
from raglift.retrieval.services.mcp_retriever import McpRetriever
from raglift.retrieval.services.retriever import ServiceRetriever
from raglift.types.documents import Chunk
from raglift.types.rankings import Hit, Ranking

if TYPE_CHECKING:
    from raglift.types.filters import Filter


_FILTER_NAME = "filter"
"""The parameter by which a function gets the metadata filter of a query, as it is written in labels; None for none."""
_DEPTH_NAMES = ("k", "top_k", "n", "limit")
_RETRIEVE_METHODS = ("retrieve", "retrieve_one", "aretrieve_one")
_RERANK_METHODS = ("rerank", "rerank_one", "arerank_one")
_ENOUGH_TO_TELL = 3
"""From as many numbers on, 0, 1, 2, … in any order are more likely indices than counts."""


def _owns(obj: Any) -> bool:
    """Whether it is a function, an address, or an object whose methods are those of raglift's protocols."""
    if isinstance(obj, ServiceRetriever) or inspect.isroutine(obj) or isinstance(obj, partial):
        return True
    if isinstance(obj, str):
        return is_http_address(obj) or is_mcp_reference(obj)
    fits = (_misfit(obj, names) is None for names in (_RETRIEVE_METHODS, _RERANK_METHODS) if _has_any(obj, names))
    return any(fits)


def retriever_stages(system: Any, *, as_deployed: bool = False, doc_key: str | None = None) -> list[Stage]:
    """Return the one stage of a system that no framework made.

    Raises:
        UnsupportedSystem: it cannot be called, or its methods take other arguments.
    """
    if isinstance(system, str) and is_http_address(system):
        system = HttpRetriever(system)
    if isinstance(system, str) and is_mcp_reference(system):
        system = McpRetriever(system)
    if isinstance(system, ServiceRetriever):
        service = system.with_doc_key(doc_key)
        fixed = service.depth_fixed
        own = as_deployed and bool(fixed)
        left = () if own else fixed
        return [RetrieveStage(service, str(service), depth_fixed=left, asynchronous=True, has_own_depth=own)]
    if _has_any(system, _RETRIEVE_METHODS):
        _require_two_arguments(system, _RETRIEVE_METHODS, "queries, k")
        return [RetrieveStage(system, _described(system))]
    if callable(system):
        return [retriever_stage(system, as_deployed=as_deployed, doc_key=doc_key)]
    raise UnsupportedSystem(
        f"system: found a {type(system).__name__}; expected {accepted('systems')}, a function from a query to "
        "results, or an object with retrieve(queries, k) or retrieve_one(query, k)"
    )


def reranker_stages(reranker: Any, *, as_deployed: bool = False) -> list[RerankStage]:  # noqa: ARG001
    """Return the one stage of a reranker that no framework made.

    Raises:
        UnsupportedSystem: it cannot be called, or its methods take other arguments.
    """
    if _has_any(reranker, _RERANK_METHODS):
        _require_two_arguments(reranker, _RERANK_METHODS, "queries, rankings")
        return [RerankStage(reranker, _described(reranker))]
    if callable(reranker):
        return [reranker_stage(reranker)]
    raise UnsupportedSystem(
        f"reranker: found a {type(reranker).__name__}; expected a name, a CrossEncoder, {accepted('rerankers')}, "
        "a function of a query and texts, or an object with rerank(queries, rankings) or "
        "rerank_one(query, ranking)"
    )


def _chunk_and_score(result: Any, doc_key: str | None) -> tuple[Chunk, float | None] | None:
    """Return a text, a chunk, a hit, a mapping, or a pair of any result and a score, as a chunk and a score."""
    if isinstance(result, (tuple, list)) and len(result) == 2:
        chunk, _ = chunk_and_score(result[0], doc_key)
        return chunk, _given_score(result[1])
    if isinstance(result, Hit):
        return result.chunk, result.score
    if isinstance(result, Chunk):
        return result, None
    if isinstance(result, str):
        return Chunk(result), None
    return chunk_of_mapping(result, doc_key) if isinstance(result, Mapping) else None


ADAPTER = Adapter("raglift", _owns, retriever_stages, reranker_stages, _chunk_and_score)
"""For what no framework made; also the last to be asked, for anything that can be called."""


def retriever_stage(
    function: Callable[..., Any], *, as_deployed: bool = False, doc_key: str | None = None
) -> RetrieveStage:
    """Adapt a function from a query's text to its results, sync or async.

    The function may take the depth as a second argument named `k`, `top_k`, `n` or `limit`, and the metadata filter of
    the query as `filter`: a mapping as labels have it, or None. Without a depth it returns as many results as it likes,
    as a list or as what holds one (see `results_in`). A result is a text, a LangChain or Haystack document, a
    LlamaIndex node, a raglift Chunk, a mapping (see `chunk_of_mapping`), or a pair of one of these and a score.

    Args:
        function: what is asked.
        as_deployed: leave the depth to a function that has a default for it, or takes none, and keep all results.
        doc_key: the metadata key that holds a result's document id.
    """
    depth = _depth_parameter(function)
    own = as_deployed and (depth is None or depth.default is not depth.empty)
    name = _name_of(function)
    fixed = () if own or depth is not None else (f"{name} (it takes no k)",)
    retriever = _FunctionRetriever(function, None if own or depth is None else depth.name, doc_key, keeps_all=own)
    return RetrieveStage(retriever, f"function {name}", depth_fixed=fixed, has_own_depth=own or depth is None)


def reranker_stage(function: Callable[..., Any]) -> RerankStage:
    """Adapt a function of a query and a list of texts, sync or async.

    It returns one score a text; or (index, score) pairs, best first; or the texts themselves in a new order. What can
    be read in two ways is refused: pairs whose scores rise, a set, and integers that are the indices of the texts.
    """
    reranker = _FunctionReranker(function)
    return RerankStage(reranker, f"function {_name_of(function)}", doubt=reranker.doubt)


def chunk_and_score(result: Any, doc_key: str | None = None) -> tuple[Chunk, float | None]:
    """Return one result of a retriever as a chunk and a score.

    Raises:
        ConfigurationError: the result is none of the accepted kinds.
    """
    found = ADAPTER.chunk_and_score(result, doc_key)
    if found is None and (adapter := adapter_of(result)) is not None:
        found = adapter.chunk_and_score(result, doc_key)
    if found is None:
        keys = f" with the keys {shown_keys(result)}" if isinstance(result, Mapping) else ""
        raise ConfigurationError(
            f"a retriever's result: found a {type(result).__name__}{keys}; expected a text, {accepted('results')}, a "
            "raglift Chunk, a mapping with 'text', 'content' or 'page_content', or a pair of one of these and a score"
        )
    return found


def _given_score(value: Any) -> float | None:
    """Read the second part of a pair: the first must not be taken for the text by mistake."""
    if value is None:
        return None
    try:
        if not isinstance(value, (str, bytes, bool)):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise ConfigurationError(
        f"a retriever's result: found a pair whose second part is a {type(value).__name__}; expected (result, score)"
    )


class _FunctionRetriever:
    def __init__(
        self, function: Callable[..., Any], depth_name: str | None, doc_key: str | None, *, keeps_all: bool
    ) -> None:
        self.function = function
        self.takes_filters = _FILTER_NAME in _parameters(function)
        if _is_async(function):
            self.aretrieve_one = self._aretrieve_one
        else:
            self.retrieve_one = self._retrieve_one
        self._depth_name = depth_name
        self._doc_key = doc_key
        self._keeps_all = keeps_all

    def _retrieve_one(self, query: str, k: int, given: Filter | None = None) -> Ranking:
        return self._ranking(self._call(query, k, given), k)

    async def _aretrieve_one(self, query: str, k: int, given: Filter | None = None) -> Ranking:
        return self._ranking(await self._call(query, k, given), k)

    def _call(self, query: str, k: int, given: Filter | None) -> Any:
        filtered = {_FILTER_NAME: None if given is None else given.to_dict()} if self.takes_filters else {}
        return self.function(query, **({self._depth_name: k} if self._depth_name else {}), **filtered)

    def _ranking(self, results: Any, k: int) -> Ranking:
        _refuse_coroutine(self.function, results)
        name = _name_of(self.function)
        found = results_in(results, name, f"{name if name.isidentifier() else 'search'}(query)")
        require_text(found, name)
        ranked = [chunk_and_score(result, self._doc_key) for result in found]
        return Ranking.of(ranked if self._keeps_all else ranked[:k])


class _FunctionReranker:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        if _is_async(function):
            self.arerank_one = self._arerank_one
        else:
            self.rerank_one = self._rerank_one
        self._looked_like_indices = 0
        self._looked_like_scores = False

    def doubt(self, rankings: Sequence[Ranking]) -> str | None:
        """Return why the scores of all queries are more likely indices; None if they are not.

        Counts can by chance be the indices of one query's texts; of the same function, those of others are not.

        Args:
            rankings: all that the function answered, also in an earlier attempt.
        """
        if self._looked_like_scores or not self._looked_like_indices:
            return None
        scores = [[hit.score for hit in ranking] for ranking in rankings if len(ranking) >= _ENOUGH_TO_TELL]
        if any(sorted(score or 0.0 for score in of_one) != list(range(len(of_one))) for of_one in scores):
            return None
        return (
            f"{_name_of(self.function)} returned the numbers 0 to {self._looked_like_indices - 1} for each query that "
            "had so many texts, each once: if these are indices, best first, return the texts in that order, or "
            "(index, score) pairs; if they are scores, return floats"
        )

    def _read(self, ranking: Ranking, result: Any) -> Ranking:
        if hasattr(result, "tolist"):  # arrays, tensors
            result = result.tolist()
        if isinstance(result, Sequence) and len(result) == len(ranking) >= _ENOUGH_TO_TELL:
            if _are_indices(result):
                self._looked_like_indices = len(result)
            else:
                self._looked_like_scores = True
        return _reordered(self.function, ranking, result)

    def _rerank_one(self, query: str, ranking: Ranking) -> Ranking:
        if not ranking.hits:
            return ranking
        return self._read(ranking, self.function(query, [hit.chunk.text for hit in ranking]))

    async def _arerank_one(self, query: str, ranking: Ranking) -> Ranking:
        if not ranking.hits:
            return ranking
        return self._read(ranking, await self.function(query, [hit.chunk.text for hit in ranking]))


def function_of(asked: object) -> Callable[..., Any] | None:
    """Return the user's function behind a retriever or reranker that was made of one; None for any other."""
    return asked.function if isinstance(asked, (_FunctionRetriever, _FunctionReranker)) else None


def _reordered(function: Callable[..., Any], ranking: Ranking, result: Any) -> Ranking:
    """Read what a reranking function returned."""
    _refuse_coroutine(function, result)
    if isinstance(result, (set, frozenset)):
        raise _not_reordered(function, f"a {type(result).__name__}, which has no order")
    if not isinstance(result, Iterable) or isinstance(result, (str, bytes, Mapping)):
        raise _not_reordered(function, type(result).__name__)
    items = read_all(result, _name_of(function))
    if len(items) == len(ranking) and all(_is_number(item) for item in items):
        order = sorted(range(len(items)), key=lambda place: -float(items[place]))
        return Ranking.of((ranking[place].chunk, float(items[place])) for place in order)
    if all(_is_indexed_score(item, len(ranking)) for item in items):
        if len({int(index) for index, _ in items}) < len(items):
            raise _not_reordered(function, "an index twice")
        scores = [float(score) for _, score in items]
        if any(later > score for score, later in pairwise(scores)):
            raise _not_reordered(
                function,
                "pairs with scores that rise",
                "best first, or one score a text: sorted(pairs, key=lambda pair: -pair[1]) if more is better",
            )
        return Ranking.of((ranking[int(index)].chunk, float(score)) for index, score in items)
    if all(isinstance(item, str) for item in items):
        return _by_text(function, ranking, items)
    strange = next((item for item in items if not _is_number(item)), items[0])
    raise _not_reordered(function, f"{len(items)} items for {len(ranking)} texts, as {strange!r:.60}")


def _not_reordered(
    function: Callable[..., Any],
    found: str,
    expected: str = "one score a text, (index, score) pairs, or the texts reordered",
) -> ConfigurationError:
    return ConfigurationError(f"{_name_of(function)} returned {found}; expected {expected}")


def _by_text(function: Callable[..., Any], ranking: Ranking, texts: Sequence[str]) -> Ranking:
    waiting: dict[str, list[Chunk]] = {}
    for hit in reversed(ranking.hits):
        waiting.setdefault(hit.chunk.text, []).append(hit.chunk)
    chunks = []
    for text in texts:
        if not waiting.get(text):
            raise ConfigurationError(f"{_name_of(function)} returned a text that it was not given: {text[:60]!r}")
        chunks.append(waiting[text].pop())
    return Ranking.of((chunk, None) for chunk in chunks)


def _are_indices(items: Sequence[Any]) -> bool:
    """Whether numbers are all of 0, 1, 2, …, each once, as integers."""
    are_integers = all(isinstance(item, Integral) and not isinstance(item, bool) for item in items)
    return are_integers and sorted(map(int, items)) == list(range(len(items)))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)


def _is_indexed_score(item: Any, count: int) -> bool:
    if not (isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2):
        return False
    index, score = item
    return _is_number(index) and float(index).is_integer() and 0 <= index < count and _is_number(score)


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # some built-ins have no signature
        return {}


def _depth_parameter(function: Callable[..., Any]) -> inspect.Parameter | None:
    """Return the parameter after the query that takes the number of hits; None if there is none."""
    parameters = _parameters(function)
    names = list(parameters)[1:]
    return next((parameters[name] for name in _DEPTH_NAMES if name in names), None)


def _is_async(function: Callable[..., Any]) -> bool:
    if isinstance(function, partial):
        return _is_async(function.func)
    call = getattr(type(function), "__call__", None)  # noqa: B004 — the method, not whether it is callable
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _refuse_coroutine(function: Callable[..., Any], result: Any) -> None:
    """Refuse what a function returned that is async, but not by `async def`: a lambda around one, say."""
    if inspect.iscoroutine(result):
        result.close()
        raise ConfigurationError(
            f"{_name_of(function)} returned a coroutine; expected its results: declare the function with async def"
        )


def _name_of(function: Callable[..., Any]) -> str:
    if isinstance(function, partial):
        return _name_of(function.func)
    return getattr(function, "__name__", type(function).__name__)


def _has_any(part: Any, names: Sequence[str]) -> bool:
    return any(callable(getattr(part, name, None)) for name in names)


def _require_two_arguments(part: Any, names: Sequence[str], arguments: str) -> None:
    """Raise where a method has a name of the protocol but cannot be called as the protocol says."""
    if (misfit := _misfit(part, names)) is not None:
        name, signature, error = misfit
        raise UnsupportedSystem(
            f"{type(part).__name__}.{name}: found {name}{signature}; expected {name}({arguments}): {error}. A function "
            "from a query's text to results is accepted too: pass the bound method itself"
        )


def _misfit(part: Any, names: Sequence[str]) -> tuple[str, inspect.Signature, str] | None:
    """Return the first of these methods that does not take two arguments: its name, its signature, and why."""
    for name in names:
        method = getattr(part, name, None)
        if callable(method):
            try:
                signature = inspect.signature(method)
            except ValueError:  # a built-in without a signature
                continue
            try:
                signature.bind("", 1)
            except TypeError as error:
                return name, signature, str(error)
            first = next(iter(signature.parameters.values()))
            takes_one = first.name in _ONE_QUERY or first.annotation in (str, "str")
            if name in ("retrieve", "rerank") and takes_one:
                return name, signature, f"it is called with all queries at once, and takes one {first.name}"
    return None


_ONE_QUERY = ("query", "question", "text", "q")
"""The names of a first parameter that takes one query, and no list of them."""


def _described(part: Any) -> str:
    """Return what raglift's own parts say of themselves, else the class: a foreign text might hold secrets."""
    return str(part) if type(part).__module__.startswith("raglift.") else type(part).__name__
