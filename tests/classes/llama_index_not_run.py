"""Why LlamaIndex's other classes are not run."""

from __future__ import annotations

from .case import NotRun

CORE = "llama_index.core"
INDICES = f"{CORE}.indices"
ABSTRACT = "abstract: its subclasses are run"
OWN = "abstract: what a subclass of the user's own retrieves is its own"
CYPHER = "needs a graph store that answers Cypher, as Neo4j's: the store in memory does not"
SQL = "takes SQL, not a question"

_REASONS = {
    ABSTRACT: (
        f"{CORE}.base.base_auto_retriever.BaseAutoRetriever",
        f"{CORE}.base.base_multi_modal_retriever.MultiModalRetriever",
        f"{INDICES}.keyword_table.base.BaseKeywordTableIndex",
        f"{INDICES}.keyword_table.retrievers.BaseKeywordTableRetriever",
        f"{INDICES}.property_graph.sub_retrievers.base.BasePGRetriever",
        f"{INDICES}.struct_store.sql_query.BaseSQLTableQueryEngine",
        f"{INDICES}.struct_store.base.BaseStructStoreIndex",
        f"{CORE}.agent.workflow.base_agent.BaseWorkflowAgent",
    ),
    OWN: (
        f"{INDICES}.managed.base.BaseManagedIndex",
        f"{INDICES}.property_graph.sub_retrievers.custom.CustomPGRetriever",
        f"{CORE}.query_engine.custom.CustomQueryEngine",
    ),
    CYPHER: (
        f"{INDICES}.property_graph.sub_retrievers.cypher_template.CypherTemplateRetriever",
        f"{INDICES}.property_graph.sub_retrievers.text_to_cypher.TextToCypherRetriever",
        f"{CORE}.query_engine.knowledge_graph_query_engine.KnowledgeGraphQueryEngine",
    ),
    SQL: (
        f"{INDICES}.struct_store.sql_retriever.SQLRetriever",
        f"{INDICES}.struct_store.sql_query.SQLStructStoreQueryEngine",
        f"{INDICES}.struct_store.sql.SQLStructStoreIndex",
    ),
    "its answer names no source": (f"{INDICES}.struct_store.sql_query.NLStructStoreQueryEngine",),
    "needs PostgreSQL with pgvector": (f"{INDICES}.struct_store.sql_query.PGVectorSQLQueryEngine",),
    "asks a service: CogniSwitch": (f"{CORE}.query_engine.cogniswitch_query_engine.CogniswitchQueryEngine",),
    "fetches a model from a hub by itself": (f"{CORE}.postprocessor.pii.NERPIINodePostprocessor",),
    "needs the package rake_nltk": (
        f"{INDICES}.keyword_table.rake_base.RAKEKeywordTableIndex",
        f"{INDICES}.keyword_table.retrievers.KeywordTableRAKERetriever",
    ),
    "runs code that a language model writes": (f"{CORE}.agent.workflow.codeact_agent.CodeActAgent",),
    "retrieves nothing": (
        f"{CORE}.chat_engine.simple.SimpleChatEngine",
        f"{INDICES}.empty.base.EmptyIndex",
        f"{INDICES}.empty.retrievers.EmptyIndexRetriever",
    ),
}
_MISSING = {
    "spacy": (f"{CORE}.postprocessor.node.KeywordNodePostprocessor",),
    "jsonpath_ng": (f"{INDICES}.struct_store.json_query.JSONQueryEngine",),
}

NOT_RUN = (
    *(NotRun(path, reason) for reason, paths in _REASONS.items() for path in paths),
    *(NotRun(path, f"needs the package {name}", name) for name, paths in _MISSING.items() for path in paths),
)
