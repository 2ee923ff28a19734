"""Systems that the command line builds: from a dataset's documents, or from a reference to a user's own."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raglift.adapters.embeddings import embedder_by_name
from raglift.adapters.references import imported, made_by
from raglift.errors import ConfigurationError
from raglift.llm.dot_env import load_dot_env
from raglift.retrieval.batches import BATCH_SIZE
from raglift.retrieval.chunkers import Chunker, RecursiveChunker
from raglift.retrieval.devices import AUTO, Dtype
from raglift.retrieval.embedding import build_index
from raglift.retrieval.models import EMBEDDED_MODEL
from raglift.retrieval.retrievers import DenseRetriever, HybridRetriever, parse_retriever
from raglift.retrieval.services.addresses import is_http_address, is_mcp_reference, perhaps_address, shown_address
from raglift.retrieval.services.http_retriever import HttpRetriever
from raglift.retrieval.services.mapping import mapping_digest, mapping_of, variables_of
from raglift.retrieval.services.mcp_retriever import McpRetriever
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Chunk


# Users' systems by reference: `module:name`, the address of an HTTP service, or an MCP server.


def load_system(reference: Any, mapping: str | os.PathLike[str] | None = None) -> Any:
    """Return a system: what a reference names, or an object as it is.

    A function or class that can be called without arguments is called, to make the system.

    Args:
        reference: `module:name`, of a module in the working folder or installed; the address of an HTTP service;
            an MCP server, as `mcp:python server.py#search`; or an object.
        mapping: the file that says what is sent to an HTTP service or MCP server, and where its hits are in the answer.

    Raises:
        ConfigurationError: the reference cannot be resolved, the function that makes the system failed, or a mapping is
            given for what is neither HTTP service nor MCP server.
        MappingError: the mapping is not described as it must be; every fault is listed.
        MissingKey: an environment variable that the mapping names is not set.
    """
    if isinstance(reference, str) and (is_http_address(reference) or is_mcp_reference(reference)):
        service = mapping_of(mapping)
        load_dot_env(variables_of([reference, service.headers, service.params, service.env]))
        return HttpRetriever(reference, service) if is_http_address(reference) else McpRetriever(reference, service)
    if isinstance(reference, str) and perhaps_address(reference):
        raise ConfigurationError(
            f"system: found {quoted(shown_address(reference))}; expected the address of a service: http:// or https:// "
            "before it, as http://localhost:8000/search; an MCP server, as mcp:python server.py#search; or "
            "module:name, as my_rag:retriever"
        )
    if mapping is not None:
        found = (
            repr(reference)
            if isinstance(reference, str)
            else f"a {type(reference).__name__}"
            if reference is not None
            else "none"
        )
        raise ConfigurationError(
            f"mapping: found {os.fspath(mapping)!r} with the system {found}; expected it with the address of an HTTP "
            "service, as --system http://localhost:8000/search, or an MCP server, as --system 'mcp:python server.py'"
        )
    found = imported(reference, "system") if isinstance(reference, str) else reference
    name = reference if isinstance(reference, str) else getattr(found, "__name__", "the system")
    return made_by(name, found, "system")


def identity_of(name: str | None, mapping: str | os.PathLike[str] | None) -> str:
    """Return what tells systems apart that are given by reference: the reference, and what their mapping says."""
    return json.dumps([name, None if mapping is None else mapping_digest(mapping)])


def opened(system: Any) -> AbstractContextManager[Any]:
    """Return a block for which a system is there: an MCP server by reference is started once, and ends with it."""
    if isinstance(system, str) and is_mcp_reference(system):
        system = McpRetriever(system)
    return system if isinstance(system, McpRetriever) else nullcontext(system)


# A whole retrieval system from a dataset's documents, for the command line, the demo and the walkthrough.


@dataclass(frozen=True)
class LocalSystem:
    """What a system of raglift's own parts is made of."""

    retriever: str = "dense"
    """One of `RETRIEVERS`, a hybrid one with its weights where they differ: `hybrid(dense=0.7,bm25=0.3)`."""
    chunker: Chunker = field(default_factory=RecursiveChunker)
    """How documents are split."""
    embedding: str = EMBEDDED_MODEL
    """The embedding model of a dense or hybrid retriever."""
    dtype: Dtype = "auto"
    """What the embedding model computes in."""
    device: str = AUTO
    """Where it computes."""
    batch_size: int = BATCH_SIZE
    """How many texts a batch of it may have."""


def chunks_of(dataset: Dataset, chunker: Chunker) -> Sequence[Chunk]:
    """Split a dataset's documents.

    Raises:
        ConfigurationError: the dataset has no documents.
    """
    if not dataset.documents:
        raise ConfigurationError(
            f"{dataset.name}: found no documents to index; expected a dataset folder with documents, "
            "or --documents PATH, or a system of your own (--system module:name)"
        )
    return chunker.split(dataset.documents)


def build_retriever(dataset: Dataset, parts: LocalSystem, *, progress: bool | None = None) -> Any:
    """Split, embed and index a dataset's documents.

    Raises:
        ConfigurationError: an unknown retriever, or a dataset without documents.
    """
    spec = parse_retriever(parts.retriever)
    chunks = chunks_of(dataset, parts.chunker)
    if not spec.needs_embedding:
        return spec.bm25.retriever(chunks)
    embedder = embedder_by_name(parts.embedding, dtype=parts.dtype, device=parts.device, batch_size=parts.batch_size)
    dense = DenseRetriever(build_index(chunks, embedder, progress=progress))
    if spec.kind == "dense":
        return dense
    return HybridRetriever([dense, spec.bm25.retriever(chunks)], spec.weights, constant=spec.constant)
