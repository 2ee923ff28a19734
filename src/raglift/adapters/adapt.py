"""Turn a user's object into the stages of a system."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.adapters import functions as plain
from raglift.adapters.base import adapter_of
from raglift.adapters.functions import chunk_and_score
from raglift.adapters.stages import RerankStage, Stage, clearing_of
from raglift.errors import ConfigurationError, MissingDependency, UnsupportedSystem
from raglift.retrieval.batches import BATCH_SIZE
from raglift.retrieval.models import CROSS_ENCODER, nearly
from raglift.retrieval.onnx_files import is_onnx_model
from raglift.types.documents import Chunk, Document

if TYPE_CHECKING:
    from raglift.retrieval.devices import Dtype


# Adapt a user's object to stages.


LATE_INTERACTION = "late-interaction"
"""The name of the reranker that needs no model of its own but MiniLM."""


_NAMES = (CROSS_ENCODER, LATE_INTERACTION, "none")


def adapt_system(system: Any, *, as_deployed: bool = False, doc_key: str | None = None) -> list[Stage]:
    """Return the stages of a retrieval system.

    Args:
        system: a LangChain retriever, vector store or Runnable; a LlamaIndex retriever, query engine, index, agent or
            workflow; a Haystack retriever or pipeline; a function from text to results; the address of an HTTP service;
            or anything with `retrieve(queries, k)` or `retrieve_one(query, k)`.
        as_deployed: keep the system's own settings for the number of hits, at every stage.
        doc_key: the metadata key that holds document ids.

    Raises:
        UnsupportedSystem: none of these.
    """
    if isinstance(system, type):
        raise UnsupportedSystem(f"system: found the class {system.__name__}; expected an object made from it")
    adapter = adapter_of(system) or plain.ADAPTER
    return list(adapter.retriever_stages(system, as_deployed=as_deployed, doc_key=doc_key))


def adapt_reranker(
    reranker: Any,
    *,
    as_deployed: bool = False,
    dtype: Dtype = "auto",
    device: str = "auto",
    batch_size: int = BATCH_SIZE,
    progress: bool | None = None,
) -> list[RerankStage]:
    """Return the stages of a reranker.

    Args:
        reranker: None or "none"; "cross-encoder" (embedded, without PyTorch); "late-interaction"; "onnx:" with a
            folder, an ONNX file or a hub id; the path or hub id of a cross-encoder, or a `CrossEncoder`; a LangChain
            document compressor; a LlamaIndex node postprocessor; a Haystack ranker; a function of a query and texts;
            anything with `rerank(queries, rankings)` or `rerank_one(query, ranking)`;
            or a list of these.
        as_deployed: keep the reranker's own top_n.
        dtype: what a model named here computes in.
        device: where it computes.
        batch_size: how many texts a batch of it may have.
        progress: whether a model named here shows progress.

    Raises:
        UnsupportedSystem: none of these.
        ConfigurationError: a name that is nearly, but not, one of these; a device that is not
            there.
    """
    if reranker is None:
        return []
    if isinstance(reranker, str):
        return _by_name(reranker, dtype, device, batch_size, progress)
    if isinstance(reranker, type):
        raise UnsupportedSystem(f"reranker: found the class {reranker.__name__}; expected an object made from it")
    if isinstance(reranker, (list, tuple)):
        options: dict[str, Any] = {"dtype": dtype, "device": device, "batch_size": batch_size, "progress": progress}
        parts = [adapt_reranker(part, as_deployed=as_deployed, **options) for part in reranker]
        return [stage for stages in parts for stage in stages]
    if any(base.__name__ == "CrossEncoder" for base in type(reranker).__mro__):
        from raglift.retrieval.cross_encoder import CrossEncoderReranker

        reranker = CrossEncoderReranker(reranker, progress=progress)
    adapter = adapter_of(reranker) or plain.ADAPTER
    return list(adapter.reranker_stages(reranker, as_deployed=as_deployed))


def check_reranker(reranker: str) -> None:
    """Raise for a reranker by name that cannot be used, before any work is done for it.

    Raises:
        MissingDependency: its package is not installed.
        ModelError: its model is neither here nor on a hub.
        ConfigurationError: the name is nearly, but not, one of these.
    """
    for stage in adapt_reranker(reranker):
        check = getattr(stage.reranker, "check", None)
        if callable(check):
            check()


def named_stages(stages: Sequence[Stage]) -> list[Stage]:
    """Return the stages of one system with distinct names: a second `rerank` becomes `rerank-2`.

    They are cleared of the secrets of each other, unless it was said before of whose.
    """
    shared = next((stage.shared for stage in stages if stage.shared is not None), None) or clearing_of(stages)
    named: dict[str, Stage] = {}
    for stage in stages:
        numbered = (f"{stage.name}-{number}" for number in itertools.count(2))
        name = next(name for name in itertools.chain([stage.name], numbered) if name not in named)
        named[name] = replace(stage, name=name, shared=stage.shared or shared)
    return list(named.values())


def _by_name(name: str, dtype: Dtype, device: str, batch_size: int, progress: bool | None) -> list[RerankStage]:
    from raglift.retrieval.cross_encoder import CrossEncoderReranker
    from raglift.retrieval.late_interaction import LateInteractionReranker
    from raglift.retrieval.onnx_models import OnnxCrossEncoder

    if name.lower() == "none":
        return []
    if is_onnx_model(name):
        onnx = OnnxCrossEncoder(name, progress=progress)
        return [RerankStage(onnx, str(onnx))]
    near = nearly(name, _NAMES)
    if not name.strip() or near:
        hint = f" (did you mean {near!r}?)" if near else ""
        raise ConfigurationError(
            f"reranker: found {name!r}{hint}; expected {', '.join(map(repr, _NAMES))}, or the path or hub id of a "
            "cross-encoder"
        )
    if importlib.util.find_spec("sentence_transformers") is None:
        raise MissingDependency("sentence_transformers", "torch", f"the reranker {name!r}")
    if name == LATE_INTERACTION:
        late = LateInteractionReranker(dtype=dtype, device=device, batch_size=batch_size, progress=progress)
        return [RerankStage(late, str(late))]
    cross = CrossEncoderReranker(name, dtype=dtype, device=device, batch_size=batch_size, progress=progress)
    return [RerankStage(cross, f"cross-encoder {name}")]


# All chunks of an index: from the system if it lists them, otherwise from the user.


def all_chunks(system: Any, given: Sequence[Any] | None, *, doc_key: str | None) -> Sequence[Chunk] | None:
    """Return all chunks that the system retrieves from; None when they are not known.

    Args:
        system: as the user passed it; raglift's own retrievers know their chunks.
        given: what the user says they are, in any form that a retriever may return; this goes first.
        doc_key: the metadata key that holds document ids.

    Raises:
        ConfigurationError: what was given is not a list of chunks, or is empty, or something in it is not a chunk.
    """
    if given is not None:
        return [_chunk(item, place, doc_key) for place, item in enumerate(_listed(given))]
    for holder in (system, getattr(system, "index", None)):  # raglift's own retrievers, or their indexes
        chunks = getattr(holder, "chunks", None)
        if chunks and isinstance(chunks, (tuple, list)) and all(isinstance(chunk, Chunk) for chunk in chunks):
            return list(chunks)
    return None


def _listed(given: Any) -> list[Any]:
    """Return what was given as a list; a single document is none, though Python iterates over its fields."""
    expected = "expected a list of all chunks of the index"
    single = isinstance(given, (str, bytes, Mapping)) or adapter_of(given) is not None
    if single or not isinstance(given, Iterable):
        raise ConfigurationError(f"chunks: found a {type(given).__name__}; {expected}")
    chunks = list(given)
    if not chunks:
        raise ConfigurationError(f"chunks: found none; {expected}, or None when they are not known")
    return chunks


def _chunk(item: Any, place: int, doc_key: str | None) -> Chunk:
    try:
        return chunk_and_score(item, doc_key)[0]
    except ConfigurationError as error:
        reason = str(error).removeprefix("a retriever's result: ")
        hint = "; this is a whole source text: cut it with a chunker first" if isinstance(item, Document) else ""
        raise ConfigurationError(f"chunks[{place}]: {reason}{hint}") from error
