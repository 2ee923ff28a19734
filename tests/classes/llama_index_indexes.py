"""LlamaIndex's indexes that can be built here, and what retrieves from its graphs and from SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from llama_index.core.graph_stores.types import EntityNode, Relation
from llama_index.core.schema import BaseNode, TransformComponent

from raglift.records.documents import Chunk

from .case import OWN, Case
from .corpus import Corpus
from .llama_index_parts import Vectors, Words, answer_from, index, model, nodes, retrieve, sources, texts
from .llama_index_player import answer

CORE = "llama_index.core"
INDICES = f"{CORE}.indices"
GRAPHS = f"{INDICES}.property_graph"
TRIPLETS = "returns facts of a graph, each with the chunk it comes from: the text is no longer the document's"
COUNTS = "its depth counts nodes of the graph"
ROWS = "returns what a database answers"


def by_its_retriever(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return texts(made.as_retriever(similarity_top_k=OWN).retrieve(query))


def by_its_own_retriever(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return texts(made.as_retriever().retrieve(query))


def made_of_nodes(name: str) -> Any:
    def make(corpus: Corpus) -> Any:
        from llama_index.core import indices

        return getattr(indices, name)(nodes(corpus), llm=model(corpus))

    return make


def tree(corpus: Corpus) -> Any:
    from llama_index.core import TreeIndex

    return TreeIndex(nodes(corpus), num_children=8, llm=model(corpus))


def multi_modal(corpus: Corpus) -> Any:
    from llama_index.core.embeddings import MockMultiModalEmbedding
    from llama_index.core.indices import MultiModalVectorStoreIndex

    images = MockMultiModalEmbedding(embed_dim=8)
    return MultiModalVectorStoreIndex(nodes(corpus), embed_model=Vectors(corpus), image_embed_model=images)


def document_summary(corpus: Corpus) -> Any:
    from llama_index.core import DocumentSummaryIndex
    from llama_index.core.node_parser import SentenceSplitter

    return DocumentSummaryIndex.from_documents(
        sources(corpus),
        llm=model(corpus),
        embed_model=Vectors(corpus),
        transformations=[SentenceSplitter(chunk_size=128, chunk_overlap=0, id_func=_numbered)],
    )


def _numbered(number: int, source: Any) -> str:
    return f"{source.node_id}-{number}"


def _words(text: str) -> list[str]:
    """The first long words of a text, each once."""
    return list(dict.fromkeys(word for word in re.findall(r"[a-z]{4,}", text.lower())))[:8]


def triplets(text: str) -> list[tuple[str, str, str]]:
    return [(one, "stands before", other) for one, other in pairwise(_words(text))]


def knowledge_graph(corpus: Corpus, facts: int = 2) -> Any:
    """A graph of few facts a chunk: with many, chance picks among them."""
    from llama_index.core import KnowledgeGraphIndex

    return KnowledgeGraphIndex(
        nodes(corpus),
        llm=model(corpus),
        embed_model=Vectors(corpus),
        kg_triplet_extract_fn=lambda text: triplets(text)[:facts],
    )


def from_knowledge_graph(corpus: Corpus) -> Any:
    return knowledge_graph(corpus).as_retriever(num_chunks_per_query=OWN)


def from_graph_store(corpus: Corpus) -> Any:
    from llama_index.core.retrievers import KnowledgeGraphRAGRetriever

    return KnowledgeGraphRAGRetriever(storage_context=knowledge_graph(corpus, 8).storage_context, llm=model(corpus))


class Neighbours(TransformComponent):
    """Makes a graph of words that stand next to each other, instead of asking a model."""

    def __call__(self, nodes: Sequence[BaseNode], **options: Any) -> Sequence[BaseNode]:
        for node in nodes:
            found = [EntityNode(name=word.capitalize(), label="word") for word in _words(node.get_content())]
            node.metadata["nodes"] = found
            node.metadata["relations"] = [
                Relation(label="stands before", source_id=one.id, target_id=other.id) for one, other in pairwise(found)
            ]
        return nodes


def property_graph(corpus: Corpus) -> Any:
    from llama_index.core import PropertyGraphIndex

    return PropertyGraphIndex(
        nodes(corpus),
        llm=model(corpus),
        embed_model=Words(model_name="words"),
        kg_extractors=[Neighbours()],
        use_async=False,
    )


def from_property_graph(corpus: Corpus) -> Any:
    return property_graph(corpus).as_retriever()


def by_synonyms(corpus: Corpus) -> Any:
    from llama_index.core.indices.property_graph import LLMSynonymRetriever

    return LLMSynonymRetriever(property_graph(corpus).property_graph_store, llm=model(corpus), limit=1000)


def by_vectors_of_graph(corpus: Corpus) -> Any:
    from llama_index.core.indices.property_graph import VectorContextRetriever

    made = property_graph(corpus)
    return VectorContextRetriever(
        made.property_graph_store,
        vector_store=made.vector_store,
        embed_model=Words(model_name="words"),
        similarity_top_k=OWN,
    )


def database(corpus: Corpus) -> Any:
    from llama_index.core import SQLDatabase
    from sqlalchemy import create_engine, pool, text

    engine = create_engine("sqlite://", poolclass=pool.StaticPool, connect_args={"check_same_thread": False})
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE chunks (id TEXT PRIMARY KEY, text TEXT)"))
        rows = [{"id": chunk.id, "text": chunk.text} for chunk in corpus.chunks]
        connection.execute(text("INSERT INTO chunks VALUES (:id, :text)"), rows)
    return SQLDatabase(engine)


def from_sql(corpus: Corpus) -> Any:
    from llama_index.core.retrievers import NLSQLRetriever

    return NLSQLRetriever(database(corpus), tables=["chunks"], llm=model(corpus), embed_model=Vectors(corpus))


def sql_engine(corpus: Corpus) -> Any:
    from llama_index.core.query_engine import NLSQLTableQueryEngine

    return NLSQLTableQueryEngine(database(corpus), tables=["chunks"], llm=model(corpus), embed_model=Vectors(corpus))


def sql_engine_by_tables(corpus: Corpus) -> Any:
    from llama_index.core.indices.struct_store.sql_query import SQLTableRetrieverQueryEngine
    from llama_index.core.objects import ObjectIndex, SQLTableNodeMapping, SQLTableSchema

    store = database(corpus)
    schemas = [SQLTableSchema(table_name="chunks")]
    found = ObjectIndex.from_objects(schemas, SQLTableNodeMapping(store), embed_model=Vectors(corpus))
    return SQLTableRetrieverQueryEngine(store, found.as_retriever(similarity_top_k=1), llm=model(corpus))


def sql_and_another(corpus: Corpus, name: str, engine: Any) -> Any:
    from llama_index.core import query_engine
    from llama_index.core.selectors import LLMSingleSelector
    from llama_index.core.tools import QueryEngineTool

    tables = QueryEngineTool.from_defaults(sql_engine(corpus), name="tables", description="fog tickets code")
    other = QueryEngineTool.from_defaults(engine(corpus), name="handbook", description="orders, first aid")
    selector = LLMSingleSelector.from_defaults(model(corpus))
    return getattr(query_engine, name)(tables, other, selector=selector, llm=model(corpus), verbose=False)


def handbook(corpus: Corpus) -> Any:
    return index(corpus).as_query_engine(llm=model(corpus), similarity_top_k=OWN)


def handbook_by_model(corpus: Corpus) -> Any:
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.retrievers import VectorIndexAutoRetriever
    from llama_index.core.vector_stores.types import VectorStoreInfo

    info = VectorStoreInfo(content_info="a handbook", metadata_info=[])
    retriever = VectorIndexAutoRetriever(index(corpus), info, llm=model(corpus), similarity_top_k=OWN)
    return RetrieverQueryEngine.from_args(retriever, llm=model(corpus))


_KEYWORDS = "finds what shares a keyword"

CASES = (
    Case(f"{INDICES}.vector_store.base.VectorStoreIndex", index, "index", by_its_retriever),
    Case(f"{INDICES}.multi_modal.base.MultiModalVectorStoreIndex", multi_modal, "index", by_its_retriever),
    Case(f"{INDICES}.list.base.SummaryIndex", made_of_nodes("SummaryIndex"), "index", by_its_own_retriever),
    Case(f"{INDICES}.tree.base.TreeIndex", tree, "index", by_its_own_retriever, replies=answer),
    Case(
        f"{INDICES}.keyword_table.base.KeywordTableIndex",
        made_of_nodes("KeywordTableIndex"),
        "index",
        by_its_own_retriever,
        replies=answer,
        fewer=_KEYWORDS,
        varies=True,
    ),
    Case(
        f"{INDICES}.keyword_table.simple_base.SimpleKeywordTableIndex",
        made_of_nodes("SimpleKeywordTableIndex"),
        "index",
        by_its_own_retriever,
        replies=answer,
        fewer=_KEYWORDS,
        varies=True,
    ),
    Case(
        f"{INDICES}.document_summary.base.DocumentSummaryIndex",
        document_summary,
        "index",
        by_its_retriever,
        replies=answer,
        note="its own depth counts documents",
    ),
    Case(
        f"{INDICES}.knowledge_graph.base.KnowledgeGraphIndex",
        knowledge_graph,
        "index",
        by_its_own_retriever,
        replies=answer,
        fewer=_KEYWORDS,
        varies=True,
    ),
    Case(
        f"{GRAPHS}.base.PropertyGraphIndex",
        property_graph,
        "index",
        by_its_own_retriever,
        replies=answer,
        fewer=COUNTS,
        note=TRIPLETS,
    ),
    Case(
        f"{INDICES}.knowledge_graph.retrievers.KGTableRetriever",
        from_knowledge_graph,
        "retriever",
        retrieve,
        replies=answer,
        fewer=_KEYWORDS,
        varies=True,
    ),
    Case(
        f"{INDICES}.knowledge_graph.retrievers.KnowledgeGraphRAGRetriever",
        from_graph_store,
        "retriever",
        retrieve,
        replies=answer,
        note="returns one text, made of facts of a graph",
    ),
    Case(
        f"{GRAPHS}.retriever.PGRetriever",
        from_property_graph,
        "retriever",
        retrieve,
        replies=answer,
        fewer=COUNTS,
        note=TRIPLETS,
    ),
    Case(
        f"{GRAPHS}.sub_retrievers.llm_synonym.LLMSynonymRetriever",
        by_synonyms,
        "retriever",
        retrieve,
        replies=answer,
        fewer="finds what is named as the model names it",
        note=TRIPLETS,
    ),
    Case(
        f"{GRAPHS}.sub_retrievers.vector.VectorContextRetriever",
        by_vectors_of_graph,
        "retriever",
        retrieve,
        replies=answer,
        fewer=COUNTS,
        note=TRIPLETS,
    ),
    Case(
        f"{INDICES}.struct_store.sql_retriever.NLSQLRetriever",
        from_sql,
        "retriever",
        retrieve,
        replies=answer,
        note=ROWS,
    ),
    Case(
        f"{INDICES}.struct_store.sql_query.NLSQLTableQueryEngine",
        sql_engine,
        "query engine",
        answer_from,
        replies=answer,
        note=ROWS,
    ),
    Case(
        f"{INDICES}.struct_store.sql_query.SQLTableRetrieverQueryEngine",
        sql_engine_by_tables,
        "query engine",
        answer_from,
        replies=answer,
        note=ROWS,
    ),
    Case(
        f"{CORE}.query_engine.sql_join_query_engine.SQLJoinQueryEngine",
        lambda corpus: sql_and_another(corpus, "SQLJoinQueryEngine", handbook),
        "query engine",
        answer_from,
        replies=answer,
    ),
    Case(
        f"{CORE}.query_engine.sql_vector_query_engine.SQLAutoVectorQueryEngine",
        lambda corpus: sql_and_another(corpus, "SQLAutoVectorQueryEngine", handbook_by_model),
        "query engine",
        answer_from,
        replies=answer,
    ),
)
