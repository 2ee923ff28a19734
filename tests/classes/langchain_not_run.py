"""Why LangChain's other classes are not run."""

from __future__ import annotations

from .case import NotRun

_MODULES = {
    "aerospike_vector_search": "community.vectorstores.aerospike.Aerospike",
    "alibabacloud_ha3engine_vector": "community.vectorstores.alibabacloud_opensearch.AlibabaCloudOpenSearch",
    "annoy": "community.vectorstores.annoy.Annoy",
    "aperturedb": "community.vectorstores.aperturedb.ApertureDB",
    "asknews_sdk": "community.retrievers.asknews.AskNewsRetriever",
    "astrapy": "community.vectorstores.astradb.AstraDB",
    "awadb": "community.vectorstores.awadb.AwaDB",
    "azure": (
        "community.vectorstores.azure_cosmos_db_no_sql.AzureCosmosDBNoSqlVectorSearch "
        "community.vectorstores.azuresearch.AzureSearch "
        "community.vectorstores.azuresearch.AzureSearchVectorStoreRetriever"
    ),
    "bagel": "community.vectorstores.bagel.Bagel",
    "boto3": (
        "community.retrievers.bedrock.AmazonKnowledgeBasesRetriever community.retrievers.kendra.AmazonKendraRetriever"
    ),
    "cassandra": "community.graph_vectorstores.cassandra.CassandraGraphVectorStore",
    "cassio": "community.vectorstores.cassandra.Cassandra",
    "chromadb": "community.vectorstores.chroma.Chroma",
    "clarifai": "community.vectorstores.clarifai.Clarifai",
    "clickhouse_connect": (
        "community.vectorstores.clickhouse.Clickhouse "
        "community.vectorstores.myscale.MyScale "
        "community.vectorstores.myscale.MyScaleWithoutJSON"
    ),
    "cohere": "classic.retrievers.document_compressors.cohere_rerank.CohereRerank",
    "couchbase": "community.vectorstores.couchbase.CouchbaseVectorStore",
    "dashscope": "community.document_compressors.dashscope_rerank.DashScopeRerank",
    "dashvector": "community.vectorstores.dashvector.DashVector",
    "dingodb": "community.vectorstores.dingo.Dingo",
    "docarray": (
        "community.retrievers.docarray.DocArrayRetriever "
        "community.vectorstores.docarray.hnsw.DocArrayHnswSearch "
        "community.vectorstores.docarray.in_memory.DocArrayInMemorySearch"
    ),
    "doctran": (
        "community.document_transformers.doctran_text_extract.DoctranPropertyExtractor "
        "community.document_transformers.doctran_text_qa.DoctranQATransformer "
        "community.document_transformers.doctran_text_translate.DoctranTextTranslator"
    ),
    "duckdb": "community.vectorstores.duckdb.DuckDB",
    "elasticsearch": (
        "community.retrievers.elastic_search_bm25.ElasticSearchBM25Retriever "
        "community.vectorstores.baiducloud_vector_search.BESVectorStore "
        "community.vectorstores.ecloud_vector_search.EcloudESVectorStore "
        "community.vectorstores.elastic_vector_search.ElasticKnnSearch "
        "community.vectorstores.elastic_vector_search.ElasticVectorSearch "
        "community.vectorstores.elasticsearch.ElasticsearchStore"
    ),
    "embedchain": "community.retrievers.embedchain.EmbedchainRetriever",
    "falkordb": "community.vectorstores.falkordb_vector.FalkorDBVector",
    "flashrank": "community.document_compressors.flashrank_rerank.FlashrankRerank",
    "gpudb": "community.vectorstores.kinetica.Kinetica",
    "hologres_vector": "community.vectorstores.hologres.Hologres",
    "html2text": "community.document_transformers.html2text.Html2TextTransformer",
    "infinity_client": "community.document_compressors.infinity_rerank.InfinityRerank",
    "jaguardb_http_client": "community.vectorstores.jaguar.Jaguar",
    "kay": "community.retrievers.kay.KayAiRetriever",
    "kdbai_client": "community.vectorstores.kdbai.KDBAI",
    "konlpy": "text_splitters.konlpy.KonlpyTextSplitter",
    "lancedb": "community.vectorstores.lancedb.LanceDB",
    "llmlingua": "community.document_compressors.llmlingua_filter.LLMLinguaCompressor",
    "manticoresearch": "community.vectorstores.manticore_search.ManticoreSearch",
    "markdownify": "community.document_transformers.markdownify.MarkdownifyTransformer",
    "marqo": "community.vectorstores.marqo.Marqo",
    "meilisearch": "community.vectorstores.meilisearch.Meilisearch",
    "metal_sdk": "community.retrievers.metal.MetalRetriever",
    "momento": "community.vectorstores.momento_vector_index.MomentoVectorIndex",
    "nanopq": "community.retrievers.nanopq.NanoPQRetriever",
    "needle": "community.retrievers.needle.NeedleRetriever",
    "nomic": "community.vectorstores.atlas.AtlasDB",
    "nuclia": "community.vectorstores.nucliadb.NucliaDB",
    "opensearchpy": "community.vectorstores.opensearch_vector_search.OpenSearchVectorSearch",
    "optimum": "community.document_compressors.openvino_rerank.OpenVINOReranker",
    "oracledb": "community.document_loaders.oracleai.OracleTextSplitter",
    "pgvecto_rs": "community.vectorstores.pgvecto_rs.PGVecto_rs community.vectorstores.relyt.Relyt",
    "pgvector": "community.vectorstores.pgvector.PGVector",
    "pinecone_text": "community.retrievers.pinecone_hybrid_search.PineconeHybridSearchRetriever",
    "psycopg2": "community.vectorstores.yellowbrick.Yellowbrick",
    "pyepsilla": "community.vectorstores.epsilla.Epsilla",
    "pymilvus": "community.vectorstores.milvus.Milvus community.vectorstores.zilliz.Zilliz",
    "pymochow": "community.vectorstores.baiduvectordb.BaiduVectorDB",
    "pymongo": (
        "community.vectorstores.azure_cosmos_db.AzureCosmosDBVectorSearch "
        "community.vectorstores.documentdb.DocumentDBVectorSearch"
    ),
    "pymysql": "community.vectorstores.apache_doris.ApacheDoris community.vectorstores.starrocks.StarRocks",
    "rank_llm": "community.document_compressors.rankllm_rerank.RankLLMRerank",
    "redis": "community.vectorstores.redis.base.Redis community.vectorstores.redis.base.RedisVectorStoreRetriever",
    "rockset": "community.vectorstores.rocksetdb.Rockset",
    "scann": "community.vectorstores.scann.ScaNN",
    "singlestoredb": "community.vectorstores.singlestoredb.SingleStoreDB",
    "spacy": "text_splitters.spacy.SpacyTextSplitter",
    "sqlite_vec": "community.vectorstores.sqlitevec.SQLiteVec",
    "sqlite_vss": "community.vectorstores.sqlitevss.SQLiteVSS",
    "supabase": "community.vectorstores.supabase.SupabaseVectorStore",
    "surrealdb": "community.vectorstores.surrealdb.SurrealDBStore",
    "tablestore": "community.vectorstores.tablestore.TablestoreVectorStore",
    "tair": "community.vectorstores.tair.Tair",
    "tavily": "community.retrievers.tavily_search_api.TavilySearchAPIRetriever",
    "tcvectordb": "community.vectorstores.tencentvectordb.TencentVectorDB",
    "thirdai": (
        "community.retrievers.thirdai_neuraldb.NeuralDBRetriever "
        "community.vectorstores.thirdai_neuraldb.NeuralDBClientVectorStore "
        "community.vectorstores.thirdai_neuraldb.NeuralDBVectorStore"
    ),
    "tidb_vector": "community.vectorstores.tidb_vector.TiDBVectorStore",
    "tiledb": "community.vectorstores.tiledb.TileDB",
    "timescale_vector": "community.vectorstores.timescalevector.TimescaleVector",
    "transwarp_hippo_api": "community.vectorstores.hippo.Hippo",
    "typesense": "community.vectorstores.typesense.Typesense",
    "upstash_vector": "community.vectorstores.upstash.UpstashVectorStore",
    "usearch": "community.vectorstores.usearch.USearch",
    "vald": "community.vectorstores.vald.Vald",
    "vearch_cluster": "community.vectorstores.vearch.Vearch",
    "vespa": "community.retrievers.vespa_retriever.VespaRetriever community.vectorstores.vespa.VespaStore",
    "vlite": "community.vectorstores.vlite.VLite",
    "volcengine": (
        "community.document_compressors.volcengine_rerank.VolcengineRerank community.vectorstores.vikingdb.VikingDB"
    ),
    "weaviate": "community.retrievers.weaviate_hybrid_search.WeaviateHybridSearchRetriever",
    "xata": "community.vectorstores.xata.XataVectorStore",
    "zep_cloud": (
        "community.retrievers.zep_cloud.ZepCloudRetriever community.vectorstores.zep_cloud.ZepCloudVectorStore"
    ),
    "zep_python": "community.retrievers.zep.ZepRetriever community.vectorstores.zep.ZepVectorStore",
}
"""By a module that they import, and that is not installed here; `langchain_` is before each class."""
_REASONS = {
    "abstract": (
        "community.graph_vectorstores.base.GraphVectorStore "
        "community.vectorstores.docarray.base.DocArrayIndex "
        "core.indexing.base.DocumentIndex "
        "text_splitters.base.TextSplitter"
    ),
    "asks Arcee's service": "community.retrievers.arcee.ArceeRetriever",
    "asks Azure": (
        "community.retrievers.azure_ai_search.AzureAISearchRetriever "
        "community.retrievers.azure_ai_search.AzureCognitiveSearchRetriever"
    ),
    "asks Breebs' service": "community.retrievers.breebs.BreebsRetriever",
    "asks Chaindesk's service": (
        "community.retrievers.chaindesk.ChaindeskRetriever community.retrievers.databerry.DataberryRetriever"
    ),
    "asks Cohere's service": "community.retrievers.cohere_rag_retriever.CohereRagRetriever",
    "asks Dria's service": "community.retrievers.dria_index.DriaRetriever",
    "asks Google Cloud": (
        "community.document_transformers.google_translate.GoogleTranslateTransformer "
        "community.retrievers.google_cloud_documentai_warehouse.GoogleDocumentAIWarehouseRetriever "
        "community.retrievers.google_vertex_ai_search.GoogleCloudEnterpriseSearchRetriever "
        "community.retrievers.google_vertex_ai_search.GoogleVertexAIMultiTurnSearchRetriever "
        "community.retrievers.google_vertex_ai_search.GoogleVertexAISearchRetriever "
        "community.vectorstores.bigquery_vector_search.BigQueryVectorSearch"
    ),
    "asks Jina AI's service": "community.document_compressors.jina_rerank.JinaRerank",
    "asks LLMRails' service": (
        "community.vectorstores.llm_rails.LLMRails community.vectorstores.llm_rails.LLMRailsRetriever"
    ),
    "asks Nuclia's service": "community.document_transformers.nuclia_text_transform.NucliaTextTransformer",
    "asks Rememberizer's service": "community.retrievers.rememberizer.RememberizerRetriever",
    "asks SemaDB's service": "community.vectorstores.semadb.SemaDB",
    "asks Vectara's service": (
        "community.vectorstores.vectara.Vectara community.vectorstores.vectara.VectaraRetriever"
    ),
    "asks You.com's service": "community.retrievers.you.YouRetriever",
    "asks a Pathway server": "community.vectorstores.pathway.PathwayVectorClient",
    "asks a PostgreSQL server": (
        "community.vectorstores.analyticdb.AnalyticDB "
        "community.vectorstores.lantern.Lantern "
        "community.vectorstores.pgembedding.PGEmbedding"
    ),
    "asks an Infinispan server": "community.vectorstores.infinispanvs.InfinispanVS",
    "asks an Outline server": "community.retrievers.outline.OutlineRetriever",
    "its only store, CassandraGraphVectorStore, asks Cassandra": (
        "community.graph_vectorstores.base.GraphVectorStoreRetriever"
    ),
    "its vector store needs `pymilvus`": (
        "community.retrievers.milvus.MilvusRetriever community.retrievers.zilliz.ZillizRetriever"
    ),
    "reads HTML, and the corpus is plain text": (
        "community.document_transformers.beautiful_soup_transformer.BeautifulSoupTransformer "
        "text_splitters.html.HTMLSemanticPreservingSplitter"
    ),
    "searches PubMed": "community.retrievers.pubmed.PubMedRetriever",
    "searches Wikipedia": "community.retrievers.wikipedia.WikipediaRetriever",
    "searches arXiv": "community.retrievers.arxiv.ArxivRetriever",
    "searches the web": "community.retrievers.web_research.WebResearchRetriever",
    "written for an older llama-index": "community.retrievers.llama_index.LlamaIndexGraphRetriever",
    "written for an older qdrant-client; `QdrantVectorStore` took its place": "qdrant.vectorstores.Qdrant",
}
"""By another reason."""

NOT_RUN = (
    *(
        NotRun(f"langchain_{path}", f"needs `{module}`", missing=module)
        for module, paths in _MODULES.items()
        for path in paths.split()
    ),
    *(NotRun(f"langchain_{path}", reason) for reason, paths in _REASONS.items() for path in paths.split()),
)
