"""Scripts that build the pipeline of a cell in LangChain and in LlamaIndex.

A script is made of blocks with what they import. Names, paths and other texts of the user stand in it as constants,
each written by `literal`, and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.adapters.adapt import LATE_INTERACTION
from raglift.components.chunkers import RecursiveChunker, parse_chunker
from raglift.components.retrievers import RetrieverSpec
from raglift.sweep.specification.cells import NO_RERANKER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from raglift.sweep.specification.cells import Cell


@dataclass(frozen=True)
class Pipeline:
    """What a script builds."""

    cell: Cell
    """Of raglift's own parts."""
    dataset: str
    """The name of a corpus, or an absolute path."""
    documents: Mapping[str, object]
    """Further arguments of `load_dataset`: `documents`, `include`, `encoding`."""
    candidates: int
    """How many hits are retrieved."""
    hits: int
    """How many of them are returned."""
    dtype: str
    """What models compute in."""
    device: str = "auto"
    """Where they compute."""

    @property
    def kind(self) -> str:
        """`dense`, `bm25` or `hybrid`."""
        return "" if self.cell.retriever is None else self.cell.retriever.kind

    @property
    def reranks(self) -> bool:
        """Whether there is a reranker."""
        return self.cell.reranker != NO_RERANKER


@dataclass(frozen=True)
class _Block:
    """A function or class of a script."""

    code: str
    needs: tuple[tuple[str, str], ...] = ()
    """What it imports: module and name; no name for the module itself."""
    constants: tuple[tuple[str, object], ...] = ()
    """The constants that it uses, with their values."""


_LINE = 88
"""As long are lines of ruff and black by default."""
_STANDARD = ("argparse", "typing")


def langchain_script(pipeline: Pipeline) -> str:
    """Return the script for LangChain."""
    blocks = [_langchain_chunks(pipeline)]
    if pipeline.kind != "bm25":
        blocks.append(_with_model(_LANGCHAIN_EMBEDDINGS, pipeline))
    if pipeline.kind != "dense":
        blocks.append(_with_bm25(_LANGCHAIN_BM25, pipeline))
    if pipeline.reranks:
        blocks.append(_with_reranker(_LANGCHAIN_RERANKER, pipeline))
    return _script("LangChain", pipeline, [*blocks, _langchain_build(pipeline), _LANGCHAIN_MAIN])


def llama_index_script(pipeline: Pipeline) -> str:
    """Return the script for LlamaIndex."""
    blocks = [_llama_index_chunks(pipeline)]
    if pipeline.kind != "bm25":
        blocks.append(_with_model(_LLAMA_INDEX_EMBEDDING, pipeline))
    if pipeline.kind != "dense":
        blocks.append(_with_bm25(_LLAMA_INDEX_BM25, pipeline))
    if pipeline.kind == "hybrid":
        blocks.append(_llama_index_fusion(pipeline))
    if pipeline.reranks:
        blocks.append(_with_reranker(_LLAMA_INDEX_RERANKER, pipeline))
    return _script("LlamaIndex", pipeline, [*blocks, _llama_index_build(pipeline), _LLAMA_INDEX_MAIN])


# How a script is written down.


def literal(value: object) -> str:
    """Return a value as Python source, texts in double quotes unless they hold some."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    if not isinstance(value, str):
        return repr(value)
    written = repr(value) if value.isprintable() else ascii(value)
    return f'"{written[1:-1]}"' if written[0] == "'" and '"' not in written else written


def _script(framework: str, pipeline: Pipeline, blocks: Iterable[_Block]) -> str:
    blocks = list(blocks)
    constants: dict[str, object] = {"CELL": pipeline.cell.name}
    for block in blocks:
        constants |= dict(block.constants)
    constants |= {"CANDIDATES": pipeline.candidates, "HITS": pipeline.hits}
    head = f'''"""One cell of a raglift sweep as a pipeline of {framework}.

With questions as arguments it prints what it finds; an application imports `build`.
What {framework} does not have, or does in another way, is a part of raglift behind
an interface of {framework}, so that the pipeline finds what was measured.
"""

{_imports(need for block in blocks for need in block.needs)}

{chr(10).join(_constant(name, literal(value)) for name, value in constants.items())}'''
    return "\n\n\n".join([head, *(block.code.strip("\n") for block in blocks)]) + "\n"


def _constant(name: str, value: str) -> str:
    """Return an assignment; in brackets where its line is then short enough, as ruff would have it."""
    line = f"{name} = {value}"
    return f"{name} = (\n    {value}\n)" if len(line) > _LINE >= len(value) + 4 else line


def _imports(needs: Iterable[tuple[str, str]]) -> str:
    """Return import statements in groups, sorted and as long as ruff would have them."""
    by_module: dict[str, set[str]] = {}
    for module, name in needs:
        by_module.setdefault(module, set()).update({name} if name else ())
    plain = sorted(module for module, names in by_module.items() if not names)
    given = sorted(module for module, names in by_module.items() if names)
    lines = [(module, f"import {module}") for module in plain]
    lines += [(module, _from(module, sorted(by_module[module]))) for module in given]
    groups = [
        ["from __future__ import annotations"],
        [line for module, line in lines if module in _STANDARD],
        [line for module, line in lines if module not in _STANDARD],
    ]
    return "\n\n".join("\n".join(group) for group in groups if group)


def _from(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= _LINE:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])


# Parts that both frameworks have in common.


def _with_model(block: _Block, pipeline: Pipeline) -> _Block:
    constants = (("EMBEDDING", pipeline.cell.embedding), ("DTYPE", pipeline.dtype), ("DEVICE", pipeline.device))
    return _Block(block.code, (*block.needs, ("raglift.adapters", "embedder_by_name")), constants)


def _with_bm25(block: _Block, pipeline: Pipeline) -> _Block:
    """Return a block with the settings of BM25."""
    retriever = pipeline.cell.retriever
    settings = RetrieverSpec("bm25") if retriever is None else RetrieverSpec("bm25", bm25=retriever.bm25)
    return _Block(block.code, block.needs, (("BM25", str(settings)),))


def _with_reranker(block: _Block, pipeline: Pipeline) -> _Block:
    """Return a block with what makes the reranker."""
    name = pipeline.cell.reranker
    late = name == LATE_INTERACTION
    settings = "dtype=DTYPE, device=DEVICE"
    made = f"LateInteractionReranker({settings})" if late else f"CrossEncoderReranker(RERANKER, {settings})"
    named = () if late else (("RERANKER", name),)
    constants = (*named, ("DTYPE", pipeline.dtype), ("DEVICE", pipeline.device))
    needs = (*block.needs, ("raglift.components", made.partition("(")[0]))
    return _Block(block.code.replace("MADE", made), needs, constants)


def _load(pipeline: Pipeline) -> tuple[str, tuple[tuple[str, object], ...]]:
    """Return what loads the documents, and the constants for it."""
    arguments = "".join(f", {name}={name.upper()}" for name in pipeline.documents)
    constants = (("DATASET", pipeline.dataset), *((name.upper(), value) for name, value in pipeline.documents.items()))
    return f"documents = raglift.load_dataset(DATASET{arguments}).documents", constants


# LangChain.


def _langchain_chunks(pipeline: Pipeline) -> _Block:
    load, constants = _load(pipeline)
    needs = (("raglift", ""), ("langchain_core.documents", "Document"))
    chunker = str(pipeline.cell.chunker)
    recursive = parse_chunker(chunker) if chunker.startswith("recursive:") else None
    if not isinstance(recursive, RecursiveChunker) or recursive.unit != "characters":
        code = f'''
def load_chunks() -> list[Document]:
    """Return the documents, split as they were measured."""
    {load}
    return [
        Document(chunk.text, metadata={{"id": chunk.id, "doc_id": chunk.doc_id}})
        for chunk in chunker_by_name(CHUNKER).split(documents)
    ]
'''
        return _Block(code, (*needs, ("raglift.adapters", "chunker_by_name")), (*constants, ("CHUNKER", chunker)))
    # In characters LangChain's own splitter gives the chunks that were measured
    code = f'''
def load_chunks() -> list[Document]:
    """Return the documents, split as they were measured."""
    {load}
    splitter = RecursiveCharacterTextSplitter(
        chunk_size={recursive.size}, chunk_overlap={recursive.overlap}
    )
    chunks = splitter.split_documents(
        Document(document.text, metadata={{"doc_id": document.id}})
        for document in documents
    )
    for number, chunk in enumerate(chunks):
        chunk.metadata["id"] = str(number)
    return chunks
'''
    return _Block(code, (*needs, ("langchain_text_splitters", "RecursiveCharacterTextSplitter")), constants)


_LANGCHAIN_EMBEDDINGS = _Block(
    '''
class MeasuredEmbeddings(Embeddings):
    """The embedding model that was measured, computing in the same number type."""

    def __init__(self) -> None:
        self.model = embedder_by_name(EMBEDDING, dtype=DTYPE, device=DEVICE)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text."""
        vectors: dict[str, list[float]] = {}
        for batch in self.model.plan(sorted(set(texts))):
            found = self.model.embed(batch, "document").tolist()
            vectors.update(zip(batch, found, strict=True))
        return [vectors[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self.model.embed([text], "query")[0].tolist()
''',
    (("langchain_core.embeddings", "Embeddings"),),
)

_LANGCHAIN_BM25 = _Block(
    '''
class MeasuredBM25(BaseRetriever):
    """BM25 as it was measured; LangChain's weighs words in another way."""

    model: Any
    chunks: dict[str, Document]

    @classmethod
    def of(cls, chunks: list[Document]) -> MeasuredBM25:
        """Return a retriever over some chunks."""
        by_id = {chunk.metadata["id"]: chunk for chunk in chunks}
        pieces = [Chunk(one.page_content, id=key) for key, one in by_id.items()]
        return cls(model=parse_retriever(BM25).bm25.retriever(pieces), chunks=by_id)

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any
    ) -> list[Document]:
        (ranking,) = self.model.retrieve([query], CANDIDATES)
        return [self.chunks[hit.chunk.id] for hit in ranking]
''',
    (
        ("typing", "Any"),
        ("langchain_core.retrievers", "BaseRetriever"),
        ("raglift.components", "parse_retriever"),
        ("raglift.records", "Chunk"),
    ),
)

_LANGCHAIN_RERANKER = _Block(
    '''
class MeasuredReranker(BaseDocumentCompressor):
    """The reranker that was measured: it orders the candidates and keeps the first."""

    model: Any

    def compress_documents(
        self, documents: Any, query: str, callbacks: Any = None
    ) -> list[Document]:
        """Return the best hits, best first."""
        by_id = {chunk.metadata["id"]: chunk for chunk in documents[:CANDIDATES]}
        chunks = [Chunk(chunk.page_content, id=key) for key, chunk in by_id.items()]
        candidates = Ranking.of((chunk, None) for chunk in chunks)
        (ranking,) = self.model.rerank([query], [candidates])
        return [by_id[hit.chunk.id] for hit in ranking][:HITS]


def load_reranker() -> MeasuredReranker:
    """Return the reranker, with its model."""
    model = MADE
    return MeasuredReranker(model=model)
''',
    (
        ("typing", "Any"),
        ("langchain_core.documents", "BaseDocumentCompressor"),
        ("langchain_core.documents", "Document"),
        ("raglift.records", "Chunk"),
        ("raglift.records", "Ranking"),
    ),
)


def _langchain_build(pipeline: Pipeline) -> _Block:
    needs = [("langchain_core.retrievers", "BaseRetriever")]
    lines = ["chunks = load_chunks()"]
    name = "dense" if pipeline.kind == "hybrid" else "retriever"
    if pipeline.kind != "bm25":
        needs.append(("langchain_community.vectorstores", "FAISS"))
        lines += [
            "embeddings = MeasuredEmbeddings()",
            "store = FAISS.from_documents(chunks, embeddings, normalize_L2=True)",
            f'{name} = store.as_retriever(search_kwargs={{"k": CANDIDATES}})',
        ]
    if pipeline.kind == "bm25":
        lines.append("retriever = MeasuredBM25.of(chunks)")
    if pipeline.kind == "hybrid" and pipeline.cell.retriever is not None:
        needs.append(("langchain_classic.retrievers", "EnsembleRetriever"))
        lines += [
            "retriever = EnsembleRetriever(",
            "    retrievers=[dense, MeasuredBM25.of(chunks)],",
            f"    weights={literal(pipeline.cell.retriever.weights)},",
            f"    c={pipeline.cell.retriever.constant},",
            '    id_key="id",',
            ")",
        ]
    if pipeline.reranks:
        needs.append(("langchain_classic.retrievers", "ContextualCompressionRetriever"))
        lines += [
            "return ContextualCompressionRetriever(",
            "    base_retriever=retriever, base_compressor=load_reranker()",
            ")",
        ]
    else:
        lines.append("return retriever")
    body = "\n".join(f"    {line}" for line in lines)
    code = f'''
def build() -> BaseRetriever:
    """Return the retriever over all documents; of its hits, the first HITS count."""
{body}
'''
    return _Block(code, tuple(needs))


_LANGCHAIN_MAIN = _Block(
    '''
def main() -> None:
    """Answer the questions of the command line."""
    parser = argparse.ArgumentParser(description=CELL)
    parser.add_argument("question", nargs="+")
    questions = parser.parse_args().question
    retriever = build()
    for question in questions:
        print(question)
        for rank, hit in enumerate(retriever.invoke(question)[:HITS], start=1):
            print(f"{rank:>3} {hit.metadata['doc_id']}: {hit.page_content[:80]!r}")


if __name__ == "__main__":
    main()
''',
    (("argparse", ""),),
)


# LlamaIndex.


def _llama_index_chunks(pipeline: Pipeline) -> _Block:
    load, constants = _load(pipeline)
    needs = (("raglift", ""), ("llama_index.core.schema", "TextNode"))
    code = f'''
def load_nodes() -> list[TextNode]:
    """Return the documents, split as they were measured."""
    {load}
    return [
        TextNode(
            id_=chunk.id,
            text=chunk.text,
            metadata={{"doc_id": chunk.doc_id}},
            excluded_embed_metadata_keys=["doc_id"],
        )
        for chunk in chunker_by_name(CHUNKER).split(documents)
    ]
'''
    chunker = ("CHUNKER", pipeline.cell.chunker)
    return _Block(code, (*needs, ("raglift.adapters", "chunker_by_name")), (*constants, chunker))


_LLAMA_INDEX_EMBEDDING = _Block(
    '''
class MeasuredEmbedding(BaseEmbedding):
    """The embedding model that was measured, computing in the same number type."""

    _model: Any = PrivateAttr()

    def __init__(self) -> None:
        super().__init__(model_name=EMBEDDING)
        self._model = embedder_by_name(EMBEDDING, dtype=DTYPE, device=DEVICE)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: dict[str, list[float]] = {}
        for batch in self._model.plan(sorted(set(texts))):
            found = self._model.embed(batch, "document").tolist()
            vectors.update(zip(batch, found, strict=True))
        return [vectors[text] for text in texts]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._model.embed([query], "query")[0].tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)
''',
    (
        ("typing", "Any"),
        ("llama_index.core.base.embeddings.base", "BaseEmbedding"),
        ("llama_index.core.bridge.pydantic", "PrivateAttr"),
    ),
)

_LLAMA_INDEX_BM25 = _Block(
    '''
class MeasuredBM25(BaseRetriever):
    """BM25 as it was measured; LlamaIndex's takes words in another way."""

    def __init__(self, nodes: list[TextNode]) -> None:
        self.nodes = {node.node_id: node for node in nodes}
        pieces = [Chunk(node.text, id=node.node_id) for node in nodes]
        self.model = parse_retriever(BM25).bm25.retriever(pieces)
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        (ranking,) = self.model.retrieve([query_bundle.query_str], CANDIDATES)
        return [
            NodeWithScore(node=self.nodes[hit.chunk.id], score=hit.score)
            for hit in ranking
        ]
''',
    (
        ("llama_index.core.retrievers", "BaseRetriever"),
        ("llama_index.core.schema", "NodeWithScore"),
        ("llama_index.core.schema", "QueryBundle"),
        ("llama_index.core.schema", "TextNode"),
        ("raglift.components", "parse_retriever"),
        ("raglift.records", "Chunk"),
    ),
)


def _llama_index_fusion(pipeline: Pipeline) -> _Block:
    retriever = pipeline.cell.retriever
    code = '''
class Fusion(BaseRetriever):
    """Two rankings fused by weighted reciprocal ranks.

    LlamaIndex's own QueryFusionRetriever has no weights for this kind of fusion.
    """

    def __init__(self, retrievers: list[BaseRetriever]) -> None:
        self.retrievers = retrievers
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        scores: dict[str, float] = {}
        nodes = {}
        for retriever, weight in zip(self.retrievers, WEIGHTS, strict=True):
            for rank, hit in enumerate(retriever.retrieve(query_bundle), start=1):
                key = hit.node.node_id
                nodes.setdefault(key, hit.node)
                scores[key] = scores.get(key, 0.0) + weight / (CONSTANT + rank)
        best = sorted(scores, key=lambda key: -scores[key])[:CANDIDATES]
        return [NodeWithScore(node=nodes[key], score=scores[key]) for key in best]
'''
    needs = tuple(("llama_index.core.schema", name) for name in ("NodeWithScore", "QueryBundle"))
    needs += (("llama_index.core.retrievers", "BaseRetriever"),)
    weights, constant = ((), 0) if retriever is None else (retriever.weights, retriever.constant)
    return _Block(code, needs, (("WEIGHTS", weights), ("CONSTANT", constant)))


_LLAMA_INDEX_RERANKER = _Block(
    '''
class MeasuredReranker(BaseNodePostprocessor):
    """The reranker that was measured: it orders the candidates and keeps the first."""

    model: Any

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        by_id = {hit.node.node_id: hit.node for hit in nodes}
        chunks = [Chunk(node.text, id=key) for key, node in by_id.items()]
        candidates = Ranking.of((chunk, None) for chunk in chunks)
        (ranking,) = self.model.rerank([query_bundle.query_str], [candidates])
        return [
            NodeWithScore(node=by_id[hit.chunk.id], score=hit.score)
            for hit in list(ranking)[:HITS]
        ]


def load_reranker() -> MeasuredReranker:
    """Return the reranker, with its model."""
    model = MADE
    return MeasuredReranker(model=model)
''',
    (
        ("typing", "Any"),
        ("llama_index.core.postprocessor.types", "BaseNodePostprocessor"),
        ("llama_index.core.schema", "NodeWithScore"),
        ("llama_index.core.schema", "QueryBundle"),
        ("raglift.records", "Chunk"),
        ("raglift.records", "Ranking"),
    ),
)


def _llama_index_build(pipeline: Pipeline) -> _Block:
    needs = [
        ("llama_index.core.retrievers", "BaseRetriever"),
        ("llama_index.core.postprocessor.types", "BaseNodePostprocessor"),
    ]
    lines = ["nodes = load_nodes()"]
    name = "dense" if pipeline.kind == "hybrid" else "retriever"
    if pipeline.kind != "bm25":
        needs += [
            ("faiss", ""),
            ("llama_index.core", "StorageContext"),
            ("llama_index.core", "VectorStoreIndex"),
            ("llama_index.vector_stores.faiss", "FaissVectorStore"),
        ]
        lines += [
            "embedding = MeasuredEmbedding()",
            'size = len(embedding.get_query_embedding("size"))',
            "store = FaissVectorStore(faiss.IndexFlatIP(size))",
            "index = VectorStoreIndex(",
            "    nodes,",
            "    storage_context=StorageContext.from_defaults(vector_store=store),",
            "    embed_model=embedding,",
            ")",
            f"{name} = index.as_retriever(similarity_top_k=CANDIDATES)",
        ]
    if pipeline.kind == "bm25":
        lines.append("retriever = MeasuredBM25(nodes)")
    if pipeline.kind == "hybrid":
        lines.append("retriever = Fusion([dense, MeasuredBM25(nodes)])")
    lines.append(f"return retriever, [{'load_reranker()' if pipeline.reranks else ''}]")
    body = "\n".join(f"    {line}" for line in lines)
    code = f'''
def build() -> tuple[BaseRetriever, list[BaseNodePostprocessor]]:
    """Return the retriever over all documents, and what orders its hits again.

    RetrieverQueryEngine.from_args(retriever, node_postprocessors=...) takes both.
    """
{body}


def search(
    retriever: BaseRetriever,
    postprocessors: list[BaseNodePostprocessor],
    question: str,
) -> list[NodeWithScore]:
    """Return the best hits for a question."""
    hits = retriever.retrieve(question)
    for postprocessor in postprocessors:
        hits = postprocessor.postprocess_nodes(hits, query_str=question)
    return hits[:HITS]
'''
    return _Block(code, (*needs, ("llama_index.core.schema", "NodeWithScore")))


_LLAMA_INDEX_MAIN = _Block(
    '''
def main() -> None:
    """Answer the questions of the command line."""
    parser = argparse.ArgumentParser(description=CELL)
    parser.add_argument("question", nargs="+")
    questions = parser.parse_args().question
    retriever, postprocessors = build()
    for question in questions:
        print(question)
        hits = search(retriever, postprocessors, question)
        for rank, hit in enumerate(hits, start=1):
            print(f"{rank:>3} {hit.node.metadata['doc_id']}: {hit.node.text[:80]!r}")


if __name__ == "__main__":
    main()
''',
    (("argparse", ""),),
)
