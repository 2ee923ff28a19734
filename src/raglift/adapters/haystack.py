"""Haystack retrievers, rankers and pipelines as raglift stages.

A pipeline is opened: the components through which its documents pass one after the other, after the retriever or
joiner, become rerank stages. The part up to the first ranking runs as a pipeline of its own, a copy of the graph
without what comes later, so that no generator is called. The user's objects are never changed: depth is passed at run
time, or set on copies.

Haystack is imported only when one of its objects is at hand.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from raglift.adapters.asking import FrameworkReranker, FrameworkRetriever, document_id, excerpt
from raglift.adapters.base import Adapter, finite, is_count, is_from
from raglift.adapters.haystack_components import (
    TEXT_NAMES,
    Part,
    described,
    document_inputs,
    document_outputs,
    is_component,
    is_pipeline,
    sockets,
)
from raglift.adapters.overriding import are_async, asked_whole, base_from, overridden
from raglift.adapters.results import results_in
from raglift.adapters.stages import RerankStage, RetrieveStage, Stage
from raglift.errors import UnsupportedSystem
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking

DOCUMENT_KEYS = ("source_id", "doc_id", "document_id", "file_path", "file_name", "source")
"""Where a document's id is looked for in `meta`; `source_id` is what Haystack's splitters write."""

_OF_PIPELINES = ("run", "run_async", "run_async_generator", "stream", "_run_component", "_run_component_async", "graph")
"""What a pipeline is asked by, and what it runs its components with."""
_INCLUDE = "include_outputs_from"


def retriever_stages(system: Any, *, as_deployed: bool = False, doc_key: str | None = None) -> list[Stage]:
    """Open a pipeline into its stages, or adapt a component from a query's text to documents.

    Args:
        system: the pipeline or component.
        as_deployed: keep every depth and `top_k` that it was given, instead of raising them.
        doc_key: the key of `meta` that holds the source document's id; see `chunk_of`.

    Raises:
        UnsupportedSystem: it is neither, takes no text, gives no documents, or has several outputs with documents.
    """
    changed: tuple[str, ...] = ()
    unopened = ""
    if is_pipeline(system):
        source, rankers = _opened(system)
        if changed := overridden(system, base_from(system, "haystack"), _OF_PIPELINES):
            unopened = asked_whole(system, changed, reranks=bool(rankers))
            source, rankers = _whole(system), []
    elif is_component(system):
        source, rankers = _Source.of_component(system), []
    else:
        raise UnsupportedSystem(
            f"system: found a {type(system).__name__}; expected a Haystack component from a query's text to "
            "documents, or a Pipeline; a document store is asked through a retriever"
        )
    by_async = are_async(system, changed)  # whoever asks it, asks it so
    retriever = _Retriever(source, as_deployed=as_deployed, doc_key=doc_key, by_async=by_async)
    fixed = () if as_deployed else source.fixed()
    first = RetrieveStage(retriever, str(source), depth_fixed=fixed, has_own_depth=as_deployed, unopened=unopened)
    settings = {"as_deployed": as_deployed, "doc_key": doc_key, "asks_for_none": True}  # as a pipeline does
    return [first, *(_rerank_stage(ranker, **settings) for ranker in rankers)]


def reranker_stages(reranker: Any, *, as_deployed: bool = False) -> list[RerankStage]:
    """Adapt a component from documents to documents.

    Raises:
        UnsupportedSystem: it is none.
    """
    return [_rerank_stage(reranker, as_deployed=as_deployed)]


def chunk_of(document: Any, doc_key: str | None = None) -> Chunk:
    """Return the chunk that a Haystack Document is.

    Args:
        document: the document; it becomes the chunk's `origin`.
        doc_key: the key of `meta` that holds the source document's id; None takes the first that is set of
            `source_id`, `doc_id`, `document_id`, `file_path`, `file_name` and `source`.

    Returns:
        The chunk; its offsets are what a splitter wrote (`split_idx_start`).
    """
    text, meta = document.content or "", dict(document.meta)
    start = meta.get("split_idx_start")
    if not is_count(start) or start < 0:
        start = None
    end = None if start is None else start + len(text)
    return Chunk(
        text, document.id, document_id(meta, doc_key, DOCUMENT_KEYS), start, end, metadata=meta, origin=document
    )


@dataclass(frozen=True)
class _Source:
    """What gives the first ranking: a component alone, or a pipeline up to one of its components."""

    parts: tuple[Part, ...]
    """In the order in which they were added to the pipeline."""
    output: str
    """The component that gives the documents."""
    socket: str
    """The output of it that holds them."""
    pipeline: Any = None
    """The user's; None for a component alone."""
    is_whole: bool = False
    """Whether the pipeline is run as it is, to its end: its `run` does other than Haystack's."""

    @classmethod
    def of_component(cls, component: Any) -> _Source:
        """Take a component alone.

        Raises:
            UnsupportedSystem: it takes no text, or does not give one list of documents.
        """
        outputs = document_outputs(component)
        who = type(component).__name__
        if len(outputs) != 1:
            found = ", ".join(sockets(component, "output")) or "none"
            raise UnsupportedSystem(f"{who}: found the outputs {found}; expected one that is a list of documents")
        source = cls((Part("", component, sockets(component, "input")),), "", outputs[0])
        source.check(who)
        return source

    def check(self, who: str) -> None:
        """Raise unless the query's text is all that has to be given."""
        texts: list[str] = []
        missing: list[str] = []
        for part in self.parts:
            given = part.arguments("")
            texts += given
            left = [name for name, socket in part.open.items() if socket.is_mandatory and name not in given]
            missing += [f"{part.name}.{name}".lstrip(".") for name in left]
        if texts and not missing:
            return
        found = f"the inputs {', '.join(missing)}, which must be given" if missing else "no input for a text"
        raise UnsupportedSystem(
            f"{who}: found {found}; expected the query's text ({', '.join(TEXT_NAMES)}) to be all that is needed. "
            "An embedding retriever goes behind a text embedder in a Pipeline; for anything else pass a function of "
            "the query that runs it"
        )

    def __str__(self) -> str:
        """Name the components."""
        names = [described(part.component) for part in self.parts]
        return names[0] if len(names) == 1 else f"{type(self.pipeline).__name__}({' + '.join(names)})"

    def fixed(self) -> tuple[str, ...]:
        """Return the components whose depth cannot be raised."""
        found = []
        for part in self.parts:
            if (reason := part.fixed()) is not None:
                path = f"{type(self.pipeline).__name__}.{part.name}: " if part.name else ""
                found.append(f"{path}{type(part.component).__name__}{reason}")
        return tuple(found)

    def at_depth(self, k: int | None) -> tuple[Any, dict[str, dict[str, Any]]]:
        """Warm up the components, and return what runs and the run-time inputs that set its depth, by component.

        Args:
            k: how many hits are wanted; None for its own settings.
        """
        for part in self.parts:
            part.warm_up()
        depths: dict[str, dict[str, Any]] = {} if k is None else {part.name: part.depths(k) for part in self.parts}
        if self.pipeline is None:
            part = self.parts[0]
            return part.component if k is None else part.deepened(k), depths
        if self.is_whole and k is None:
            return self.pipeline, depths
        runs = copy.copy(self.pipeline)
        runs.graph = self.pipeline.graph.subgraph([part.name for part in self.parts]).copy()
        if k is not None:
            for part in self.parts:
                runs.graph.nodes[part.name]["instance"] = part.deepened(k)
        return runs, depths


def _opened(pipeline: Any) -> tuple[_Source, list[Any]]:
    """Return what retrieves in a pipeline, and the rankers that its documents pass in turn.

    Raises:
        UnsupportedSystem: no component gives documents, or several do whose documents no other takes.
    """
    graph = pipeline.graph
    name, socket, above = _last(pipeline)
    rankers: list[Any] = []
    while (sender := _sender(graph, name, above)) is not None:
        rankers.insert(0, graph.nodes[name]["instance"])
        name, socket = sender
    source = _Source(tuple(_parts(graph, above[name] | {name})), name, socket, pipeline)
    source.check(type(pipeline).__name__)
    return source, rankers


def _whole(pipeline: Any) -> _Source:
    """Return a pipeline that is run as it is, up to its end."""
    name, socket, _ = _last(pipeline)
    source = _Source(tuple(_parts(pipeline.graph, pipeline.graph.nodes)), name, socket, pipeline, is_whole=True)
    source.check(type(pipeline).__name__)
    return source


def _last(pipeline: Any) -> tuple[str, str, dict[str, set[str]]]:
    """Return the component and output with the last documents, and for each component those that lead to it.

    Raises:
        UnsupportedSystem: no component gives documents, or several do whose documents no other takes.
    """
    graph, who = pipeline.graph, type(pipeline).__name__
    above = {name: _above(graph, name) for name in graph.nodes}
    makers = {name: found for name, data in graph.nodes(data=True) if (found := document_outputs(data["instance"]))}
    last = [one for one in makers if not any(one in above[other] and other not in above[one] for other in makers)]
    outputs = [(name, socket) for name in last for socket in makers[name]]
    if not outputs:
        raise UnsupportedSystem(f"{who}: found no component that gives documents; expected a retriever in the pipeline")
    if len(outputs) > 1:
        raise UnsupportedSystem(
            f"{who}: found documents at the outputs {', '.join(f'{name}.{socket}' for name, socket in outputs)}; "
            "expected one: join them (DocumentJoiner), or evaluate a pipeline for each"
        )
    return (*outputs[0], above)


def _parts(graph: Any, wanted: Collection[str]) -> Iterator[Part]:
    """Yield the components of some names, in the order of the pipeline."""
    for each, data in graph.nodes(data=True):
        if each in wanted:
            inputs = sockets(data["instance"], "input")
            closed = frozenset(key for key, one in inputs.items() if one.senders)
            left = {key: one for key, one in inputs.items() if key not in closed}
            yield Part(each, data["instance"], left, closed)


def _above(graph: Any, name: str) -> set[str]:
    """Return the components that lead to one; itself too where it is in a loop."""
    from networkx import ancestors  # type: ignore[import-untyped]

    senders = set(graph.predecessors(name))
    return senders.union(*(ancestors(graph, sender) for sender in senders))


def _sender(graph: Any, name: str, above: Mapping[str, set[str]]) -> tuple[str, str] | None:
    """Return the component and output from which a ranker has its documents.

    None for what is not a ranker: a retriever, a joiner, and what other components give more than documents, or in a
    loop.
    """
    component = graph.nodes[name]["instance"]
    edges = list(graph.in_edges(name, data=True))
    part = Part(name, component, sockets(component, "input"))
    if not part.reranks or len(edges) != 1 or len(document_outputs(component)) != 1 or name in above[name]:
        return None
    sender, _, edge = edges[0]
    outputs = document_outputs(graph.nodes[sender]["instance"])
    if outputs != [edge["from_socket"].name] or [edge["to_socket"].name] != document_inputs(component):
        return None
    given = {*part.arguments(""), edge["to_socket"].name}
    if any(socket.is_mandatory and key not in given for key, socket in part.open.items()):
        return None
    return sender, outputs[0]


def _documents(outputs: Any, socket: str, who: str) -> list[Any]:
    """Return the documents that a component gave; none if a pipeline took another way.

    Raises:
        UnsupportedSystem: what it gave is not a list of documents.
    """
    from haystack import Document

    found = outputs.get(socket, []) if isinstance(outputs, Mapping) else outputs
    if not isinstance(found, list) or not all(isinstance(each, Document) for each in found):
        raise UnsupportedSystem(f"{who}: returned a {type(found).__name__} as {socket!r}; expected a list of Documents")
    return found


class _Retriever(FrameworkRetriever):
    """Asks a component or a pipeline for documents; its copies are what runs, with the inputs that set its depth."""

    system: _Source

    def copy_at(self, count: int | None) -> tuple[Any, dict[str, dict[str, Any]]]:
        return self.system.at_depth(count)

    def ask(self, copied: tuple[Any, dict[str, dict[str, Any]]], query: str) -> list[tuple[Chunk, float | None]]:
        runs, inputs = copied[0], self._inputs(copied[1], query)
        if self.system.pipeline is None:
            return self._scored(runs.run(**inputs[""]))
        return self._scored(runs.run(inputs, **self._included(runs.run)))

    async def ask_async(
        self, copied: tuple[Any, dict[str, dict[str, Any]]], query: str
    ) -> list[tuple[Chunk, float | None]]:
        runs, inputs = copied[0], self._inputs(copied[1], query)
        if self.system.pipeline is None:
            return self._scored(await runs.run_async(**inputs[""]))
        return self._scored(await runs.run_async(inputs, **self._included(runs.run_async)))

    def _included(self, run: Any) -> dict[str, Any]:
        """Return what makes a pipeline return its documents, though others take them; not every override knows it."""
        names = inspect.signature(run).parameters
        takes = _INCLUDE in names or any(one.kind is one.VAR_KEYWORD for one in names.values())
        return {_INCLUDE: {self.system.output}} if takes else {}

    def _inputs(self, depths: dict[str, dict[str, Any]], query: str) -> dict[str, dict[str, Any]]:
        inputs = {part.name: part.arguments(query) | depths.get(part.name, {}) for part in self.system.parts}
        return inputs if self.system.pipeline is None else {name: one for name, one in inputs.items() if one}

    def _scored(self, outputs: Any) -> list[tuple[Chunk, float | None]]:
        source = self.system
        found = outputs if source.pipeline is None or not isinstance(outputs, Mapping) else outputs.get(source.output)
        if found is None:  # an override may return the documents alone, under a name of its own
            who = type(source.pipeline).__name__
            found = results_in(outputs, who, "pipeline.run(…)") if source.is_whole else {}
        documents = _documents(found, source.socket, source.output or type(source.parts[0].component).__name__)
        return [(chunk_of(document, self.doc_key), finite(document.score)) for document in documents]


def _rerank_stage(component: Any, **settings: Any) -> RerankStage:
    """Adapt a component from documents to documents, which may be a part of a pipeline.

    Raises:
        UnsupportedSystem: it is none, or needs more than documents and the query's text.
    """
    expected = "expected a Haystack component from a list of documents to a list of documents, as its rankers are"
    who = type(component).__name__
    if not is_component(component):
        raise UnsupportedSystem(f"reranker: found a {who}; {expected}")
    part = Part("", component, sockets(component, "input"))
    outputs = document_outputs(component)
    if not part.reranks or len(outputs) != 1:
        shown = f"the inputs {', '.join(part.open) or 'none'} and the outputs {', '.join(sockets(component, 'output'))}"
        raise UnsupportedSystem(f"reranker: found a {who} with {shown}; {expected}")
    known = {*part.arguments(""), *document_inputs(component)}
    if missing := [name for name, socket in part.open.items() if socket.is_mandatory and name not in known]:
        raise UnsupportedSystem(
            f"reranker: found a {who} whose inputs {', '.join(missing)} must be given; expected no more than documents "
            "and the query's text: pass a function of the query and the texts that runs it"
        )
    return RerankStage(_Ranker(part, **settings), described(component))


class Candidates:
    """The hits of one ranking as Haystack Documents, and the way back to their chunks."""

    def __init__(self, ranking: Ranking, doc_key: str | None = None) -> None:
        self._doc_key = doc_key
        self._chunks = ranking.chunks
        self.documents = [_document_of(hit.chunk, hit.score) for hit in ranking]

    def ranking(self, outputs: list[Any]) -> Ranking:
        """Return what the component gave back.

        A document whose text and metadata are as they were is its chunk again. A changed text keeps the id and the
        document, and has offsets only if it occurs exactly once in the old one. A document that was not handed over is
        a new chunk. Scores count where the component set any: else they are those of the stage before.
        """
        places = [self._place_of(document) for document in outputs]
        before = [None if place is None else self.documents[place].score for place in places]
        scored = any(document.score != score for document, score in zip(outputs, before, strict=True))
        return Ranking.of(
            (self._chunk(document, place), finite(document.score) if scored else None)
            for document, place in zip(outputs, places, strict=True)
        )

    def _place_of(self, document: Any) -> int | None:
        """Return which candidate a document is; among hits with one id, the one with its text."""
        same = [place for place, given in enumerate(self.documents) if given.id == document.id]
        same_text = [place for place in same if self.documents[place].content == document.content]
        return next(iter(same_text or same), None)

    def _chunk(self, document: Any, place: int | None) -> Chunk:
        if place is None:
            return chunk_of(document, self._doc_key)
        chunk, given = self._chunks[place], self.documents[place]
        if document.content == given.content and document.meta == given.meta:
            # The next ranker finds the score that this one set, as it would inside Haystack
            return chunk if document.score == given.score else replace(chunk, origin=document)
        return excerpt(chunk, document.content or "", {**chunk.metadata, **document.meta}, document)


def _document_of(chunk: Chunk, score: float | None) -> Any:
    """Return a Haystack Document for a chunk: a copy of the one it came from, or else a new one."""
    from haystack import Document

    origin = chunk.origin
    if isinstance(origin, Document) and (origin.content or "") == chunk.text:
        kept = origin.score if score is None else score
        return replace(origin, id=chunk.id, meta=dict(origin.meta), score=kept)
    place = {"source_id": chunk.doc_id, "split_idx_start": chunk.start}
    meta = {key: value for key, value in place.items() if value is not None} | dict(chunk.metadata)
    return Document(id=chunk.id, content=chunk.text, meta=meta, score=score)


class _Ranker(FrameworkReranker):
    """Runs a component; its copies are what runs, with the inputs that set how many documents it keeps."""

    system: Part
    candidates = Candidates

    def copy_at(self, count: int | None) -> tuple[Any, dict[str, int]]:
        self.system.warm_up()
        return (
            (self.system.component, {}) if count is None else (self.system.deepened(count), self.system.depths(count))
        )

    def ask(self, copied: tuple[Any, dict[str, int]], query: str, documents: list[Any]) -> list[Any]:
        return self._documents(copied[0].run(**self._inputs(query, documents), **copied[1]))

    async def ask_async(self, copied: tuple[Any, dict[str, int]], query: str, documents: list[Any]) -> list[Any]:
        return self._documents(await copied[0].run_async(**self._inputs(query, documents), **copied[1]))

    def _inputs(self, query: str, documents: list[Any]) -> dict[str, Any]:
        return self.system.arguments(query) | {document_inputs(self.system.component)[0]: list(documents)}

    def _documents(self, outputs: Any) -> list[Any]:
        component = self.system.component
        return _documents(outputs, document_outputs(component)[0], type(component).__name__)


def _chunk_and_score(result: Any, doc_key: str | None) -> tuple[Chunk, float | None] | None:
    """Return a Haystack Document as a chunk, with its score."""
    if not is_from(result, "haystack.dataclasses") or not hasattr(result, "meta") or not hasattr(result, "content"):
        return None
    return chunk_of(result, doc_key), finite(result.score)


ADAPTER = Adapter(
    name="Haystack",
    owns=lambda obj: not isinstance(obj, type) and (is_from(obj, "haystack") or is_component(obj)),
    retriever_stages=retriever_stages,
    reranker_stages=reranker_stages,
    chunk_and_score=_chunk_and_score,
    packages=("haystack-ai",),
    systems="a Haystack retriever or pipeline",
    rerankers="a Haystack ranker",
    results="a Haystack Document",
)
