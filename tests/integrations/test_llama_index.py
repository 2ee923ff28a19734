"""The LlamaIndex adapter against real LlamaIndex objects, without a network, a model hub or a key."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

pytest.importorskip("llama_index.core")

import faiss
from llama_index.core import (
    Document,
    Settings,
    SimpleKeywordTableIndex,
    StorageContext,
    SummaryIndex,
    TreeIndex,
    VectorStoreIndex,
)
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceWindowNodeParser, get_leaf_nodes
from llama_index.core.postprocessor import (
    FixedRecencyPostprocessor,
    LLMRerank,
    LongContextReorder,
    MetadataReplacementPostProcessor,
    PrevNextNodePostprocessor,
    SentenceEmbeddingOptimizer,
    SentenceTransformerRerank,
    SimilarityPostprocessor,
)
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    CustomQueryEngine,
    RetrieverQueryEngine,
    RetrieverRouterQueryEngine,
    RouterQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.retrievers import (
    AutoMergingRetriever,
    QueryFusionRetriever,
    RecursiveRetriever,
    RouterRetriever,
    TransformRetriever,
)
from llama_index.core.schema import (
    ImageNode,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.tools import QueryEngineTool, RetrieverTool
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.retrievers.bm25 import BM25Retriever
from llama_index.vector_stores.faiss import FaissVectorStore
from pydantic import PrivateAttr

from raglift.errors import UnsupportedSystem
from raglift.execution import RerankStage, RetrieveStage
from raglift.integrations.llama_index import (
    chunk_of,
    is_llama_index,
    node_of,
    reranker_stages,
    retriever_stages,
)
from raglift.records import Chunk, Ranking
from raglift.reranking.protocol import AsyncQueryReranker, QueryReranker
from raglift.retrieval.protocol import AsyncQueryRetriever, QueryRetriever

# LlamaIndex looks for LangChain's embeddings as soon as it is given an embedding model of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.langchain-community. is being sunset:DeprecationWarning")

WORDS = [
    "lighthouse",
    "harbour",
    "keeper",
    "storm",
    "lantern",
    "island",
    "ferry",
    "winter",
    "letter",
    "bread",
]
TEXTS = [
    f"The {word} of the {WORDS[(at + 3) % 10]} was seen from the {WORDS[at - 1]}." for at, word in enumerate(WORDS)
]
QUERY = "Who saw the lantern in the storm?"


class WordEmbedding(BaseEmbedding):
    """Counts words in 64 hashed places: deterministic, and near for texts that share words."""

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * 64
        for word in text.lower().replace("?", " ").replace(".", " ").split():
            vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % 64] += 1.0
        return vector

    def _get_query_embedding(self, query):
        return self._vector(query)

    async def _aget_query_embedding(self, query):
        return self._vector(query)

    def _get_text_embedding(self, text):
        return self._vector(text)


class CountingLLM(MockLLM):
    """A mock LLM that counts how often it is asked."""

    calls: int = 0

    def complete(self, *args, **kwargs):
        self.calls += 1
        return super().complete(*args, **kwargs)

    def chat(self, *args, **kwargs):
        self.calls += 1
        return super().chat(*args, **kwargs)


@pytest.fixture(autouse=True)
def offline_settings():
    """What LlamaIndex uses where nothing is given: never OpenAI."""
    before = (Settings._llm, Settings._embed_model)
    Settings.llm, Settings.embed_model = CountingLLM(max_tokens=8), WordEmbedding()
    yield
    Settings._llm, Settings._embed_model = before


@pytest.fixture
def nodes():
    made = [
        TextNode(
            text=text,
            id_=f"node-{at}",
            metadata={"file_name": f"{at // 5}.txt", "page": at},
            excluded_embed_metadata_keys=["page", "file_name"],
            start_char_idx=at * 100,
            end_char_idx=at * 100 + len(text),
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"doc-{at // 5}")},
        )
        for at, text in enumerate(TEXTS)
    ]
    for one, other in pairwise(made):
        one.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=other.node_id)
        other.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=one.node_id)
    return made


@pytest.fixture
def index(nodes):
    return VectorStoreIndex(nodes)


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    """A tiny BERT cross-encoder with random weights, on disk."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    folder = tmp_path_factory.mktemp("tiny-cross-encoder")
    letters = list("abcdefghijklmnopqrstuvwxyz0123456789.?:_")
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{letter}" for letter in letters),
    ]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=1,
        initializer_range=1.0,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


class Silent(BaseRetriever):
    """A retriever with no depth to set."""

    def __init__(self, nodes):
        self.stored = nodes
        super().__init__()

    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=node, score=0.5) for node in self.stored[:2]]


class AlwaysPick(BaseSelector):
    """A selector that picks the same choices every time."""

    places: tuple[int, ...] = (0,)

    def __init__(self, *places):
        self.places = places

    def _get_prompts(self):
        return {}

    def _update_prompts(self, prompts_dict):
        pass

    def _select(self, choices, query):
        return SelectorResult(selections=[SingleSelection(index=at, reason="") for at in self.places])

    async def _aselect(self, choices, query):
        return self._select(choices, query)


class AskFor(BaseQueryTransform):
    """Asks for something else, and counts how often."""

    def __init__(self, text):
        self.text = text
        self.runs = 0

    def _get_prompts(self):
        return {}

    def _update_prompts(self, prompts):
        pass

    def _run(self, query_bundle, metadata):
        self.runs += 1
        return QueryBundle(self.text)


def retrieve(system, k=5, query=QUERY, **options):
    stage, *rest = retriever_stages(system, **options)
    assert rest == []
    return stage.retriever.retrieve_one(query, k)


def rerank(postprocessor, ranking, query=QUERY, **options):
    (stage,) = reranker_stages(postprocessor, **options)
    return stage.reranker.rerank_one(query, ranking)


def ids(ranking):
    return [chunk.id for chunk in ranking.chunks]


def ranking_of(nodes):
    return Ranking.of((chunk_of(node), 1.0 - at / 100) for at, node in enumerate(nodes))


def state(obj, seen=None):
    """Every attribute of a LlamaIndex object and of what it holds, to compare before and after."""
    seen = seen or set()
    if isinstance(obj, list | tuple):
        return [state(item, seen) for item in obj]
    if isinstance(obj, dict):
        return {key: state(item, seen) for key, item in obj.items()}
    if isinstance(obj, CallbackManager):  # it notes every call, which is its work
        return id(obj)
    if type(obj).__module__.startswith(("llama_index", __name__)) and id(obj) not in seen:
        seen = seen | {id(obj)}
        return type(obj).__name__, id(obj), {name: state(value, seen) for name, value in vars(obj).items()}
    return obj if isinstance(obj, int | float | str | bool | None) else id(obj)


class TestIsLlamaIndex:
    def test_tells_by_the_classes_a_type_derives_from(self, index):
        class Own(Silent):
            pass

        assert all(map(is_llama_index, [index, index.as_retriever(), Own([]), LongContextReorder()]))
        assert not any(map(is_llama_index, [Chunk("x"), "llama_index", None, Own]))

    def test_importing_the_adapter_and_asking_imports_no_framework(self):
        code = (
            "import sys, raglift.integrations.llama_index as adapter\n"
            "assert not adapter.is_llama_index(object())\n"
            "found = [name for name in ('llama_index', 'langchain_core', 'torch') if name in sys.modules]\n"
            "assert not found, found"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


class TestChunks:
    def test_a_node_keeps_id_text_place_and_metadata(self, nodes):
        chunk = chunk_of(NodeWithScore(node=nodes[3], score=0.5))

        assert chunk == Chunk(
            text=TEXTS[3],
            id="node-3",
            doc_id="doc-0",
            start=300,
            end=300 + len(TEXTS[3]),
            metadata={"file_name": "0.txt", "page": 3},
        )
        assert chunk.origin is nodes[3]
        assert chunk.metadata is not nodes[3].metadata

    @pytest.mark.parametrize(
        ("metadata", "doc_key", "expected"),
        [
            ({}, None, None),
            ({"source": "s", "file_name": "f"}, None, "f"),
            ({"source": "s", "document_id": 7}, None, "7"),
            ({"source": "s", "title": "t"}, "title", "t"),
            ({"source": "s"}, "title", None),
            ({"file_name": ""}, None, None),
        ],
    )
    def test_the_document_of_a_node_without_a_source(self, metadata, doc_key, expected):
        assert chunk_of(TextNode(text="x", metadata=metadata), doc_key).doc_id == expected

    def test_doc_key_goes_before_the_source_document(self, nodes):
        assert chunk_of(nodes[0], "file_name").doc_id == "0.txt"

    @pytest.mark.parametrize(
        "node", [IndexNode(index_id="i", text=""), ImageNode(image_url="https://x.test/y.png")], ids=type
    )
    def test_nodes_without_text_are_chunks_too(self, node):
        chunk = chunk_of(node)

        assert (chunk.text, chunk.id, chunk.start) == ("", node.node_id, None)
        assert type(node_of(chunk)) is type(node)

    def test_a_chunk_gives_a_copy_of_its_own_node(self, nodes):
        copy = node_of(chunk_of(nodes[1]))
        copy.set_content("changed")
        copy.metadata["new"] = 1
        copy.relationships.clear()
        copy.excluded_embed_metadata_keys.clear()

        assert copy.node_id == "node-1"
        assert (nodes[1].text, "new" in nodes[1].metadata) == (TEXTS[1], False)
        assert len(nodes[1].relationships) == 3
        assert nodes[1].excluded_embed_metadata_keys == ["page", "file_name"]

    def test_a_foreign_chunk_shows_a_model_its_text_only(self):
        chunk = Chunk("the text", id="c", doc_id="d", start=2, end=10, metadata={"source": "/home/me/x.pdf"})
        node = node_of(chunk)

        assert (node.node_id, node.ref_doc_id, node.start_char_idx, node.end_char_idx) == ("c", "d", 2, 10)
        assert node.metadata == {"source": "/home/me/x.pdf"}
        assert node.get_content(MetadataMode.EMBED) == node.get_content(MetadataMode.LLM) == "the text"

    def test_a_text_changed_elsewhere_is_the_text_handed_over(self, nodes):
        chunk = Chunk("shortened", id="node-1", origin=nodes[1])

        assert node_of(chunk).get_content() == "shortened"


class TestRetrievers:
    def test_a_vector_retriever_looks_as_deep_as_asked(self, index):
        retriever = index.as_retriever(similarity_top_k=2)
        before = state(retriever)
        ranking = retrieve(retriever, k=7)

        assert len(ranking) == 7
        assert ids(ranking)[:2] == [item.node.node_id for item in retriever.retrieve(QUERY)]
        assert [hit.score for hit in ranking] == sorted((hit.score for hit in ranking), reverse=True)
        assert state(retriever) == before

    def test_a_result_is_cut_and_a_depth_is_never_lowered(self, index):
        retriever = index.as_retriever(similarity_top_k=9)
        (stage,) = retriever_stages(retriever)

        assert len(stage.retriever.retrieve_one(QUERY, 3)) == 3
        assert stage.retriever._at_depth(3)._similarity_top_k == 9
        assert stage.retriever._at_depth(3) is stage.retriever._at_depth(3)

    def test_an_index_is_asked_through_its_retriever(self, index):
        (stage,) = retriever_stages(index)

        assert ids(stage.retriever.retrieve_one(QUERY, 5)) == ids(retrieve(index.as_retriever()))
        assert (stage.system, stage.depth_fixed, stage.name) == (
            "VectorIndexRetriever(SimpleVectorStore)",
            (),
            "retrieve",
        )

    def test_faiss_beyond_the_corpus(self, nodes):
        store = FaissVectorStore(faiss_index=faiss.IndexFlatIP(64))
        index = VectorStoreIndex(nodes, storage_context=StorageContext.from_defaults(vector_store=store))
        (stage,) = retriever_stages(index.as_retriever())
        ranking = stage.retriever.retrieve_one(QUERY, 50)

        assert sorted(ids(ranking)) == [node.node_id for node in nodes]
        assert all(type(hit.score) is float for hit in ranking)
        assert stage.system == "VectorIndexRetriever(FaissVectorStore)"

    def test_hybrid_depths_are_raised_where_they_are_set(self, index):
        retriever = index.as_retriever(similarity_top_k=2, sparse_top_k=3, hybrid_top_k=4)
        deep = retriever_stages(retriever)[0].retriever._at_depth(6)

        assert (deep._similarity_top_k, deep._sparse_top_k, deep._hybrid_top_k) == (6, 6, 6)
        assert (retriever._similarity_top_k, retriever._sparse_top_k, retriever._hybrid_top_k) == (2, 3, 4)
        assert retriever_stages(index.as_retriever())[0].retriever._at_depth(6)._sparse_top_k is None

    def test_bm25_is_never_asked_for_more_than_its_corpus(self, nodes, caplog):
        retriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=2)
        ranking = retrieve(retriever, k=50)

        assert sorted(ids(ranking)) == [node.node_id for node in nodes]
        assert retriever.similarity_top_k == 2
        assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
        assert ranking.chunks[0].doc_id in {"doc-0", "doc-1"}

    def test_bm25_returns_nothing_that_its_filter_hides(self, nodes):
        only = MetadataFilters(filters=[MetadataFilter(key="file_name", value="1.txt")])
        retriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=2, filters=only)

        assert {chunk.doc_id for chunk in retrieve(retriever, k=10).chunks} == {"doc-1"}
        assert len(retrieve(retriever, k=10)) == 5

    @pytest.mark.parametrize("mode", ["simple", "reciprocal_rerank", "relative_score", "dist_based_score"])
    def test_fusion_deepens_its_parts_too(self, index, nodes, mode):
        bm25 = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=2)
        fusion = QueryFusionRetriever(
            [index.as_retriever(similarity_top_k=1), bm25],
            num_queries=1,
            similarity_top_k=3,
            use_async=False,
            mode=mode,
        )
        before = state(fusion)
        (stage,) = retriever_stages(fusion)

        assert len(stage.retriever.retrieve_one(QUERY, 8)) == 8
        assert (stage.system, stage.depth_fixed) == (
            "QueryFusionRetriever(VectorIndexRetriever + BM25Retriever)",
            (),
        )
        assert state(fusion) == before
        assert Settings.llm.calls == 0

    def test_fusion_that_runs_its_own_event_loop_works_in_a_thread(self, index):
        fusion = QueryFusionRetriever([index.as_retriever()], num_queries=1, use_async=True)
        with ThreadPoolExecutor(1) as pool:
            ranking = pool.submit(retrieve, fusion).result()

        assert len(ranking) == 5

    def test_a_part_whose_depth_is_fixed_is_named(self, index, nodes):
        fusion = QueryFusionRetriever([index.as_retriever(), Silent(nodes)], num_queries=1, use_async=False)

        assert retriever_stages(fusion)[0].depth_fixed == ("QueryFusionRetriever.retrievers[1]: Silent",)
        assert retriever_stages(Silent(nodes))[0].depth_fixed == ("Silent",)
        assert len(retrieve(Silent(nodes))) == 2

    def test_auto_merging(self):
        text = " ".join(f"{sentence} It was sentence number {at}." for at, sentence in enumerate(TEXTS * 6))
        parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[512, 128, 32], chunk_overlap=0)
        parsed = parser.get_nodes_from_documents([Document(text=text, id_="the-document")])
        storage = StorageContext.from_defaults()
        storage.docstore.add_documents(parsed)
        base = VectorStoreIndex(get_leaf_nodes(parsed), storage_context=storage).as_retriever(similarity_top_k=2)
        retriever = AutoMergingRetriever(base, storage)
        before = state(base)
        ranking = retrieve(retriever, k=12)

        assert len(ranking) > 2
        assert {chunk.doc_id for chunk in ranking.chunks} == {"the-document"}
        assert state(base) == before
        assert retriever_stages(retriever)[0].system == "AutoMergingRetriever(VectorIndexRetriever)"

    def test_recursive_follows_links_at_depth(self, nodes):
        links = [IndexNode(text=f"{WORDS[at * 5]} and others", index_id=f"part-{at}") for at in range(2)]
        parts = {f"part-{at}": VectorStoreIndex(nodes[at * 5 : at * 5 + 5]).as_retriever() for at in range(2)}
        root = VectorStoreIndex(links).as_retriever(similarity_top_k=1)
        retriever = RecursiveRetriever("root", {"root": root, **parts})
        before = state(retriever)

        assert sorted(ids(retrieve(retriever, k=10))) == [node.node_id for node in nodes]
        assert state(retriever) == before
        assert retriever_stages(retriever)[0].system == "RecursiveRetriever(VectorIndexRetriever ×3)"

    def test_an_engine_that_answers_inside_a_retriever_keeps_its_depth(self, index, nodes):
        engine = index.as_query_engine(similarity_top_k=2)
        root = VectorStoreIndex([IndexNode(text="harbour", index_id="engine")]).as_retriever()
        retriever = RecursiveRetriever("root", {"root": root}, query_engine_dict={"engine": engine})
        (stage,) = retriever_stages(retriever)

        assert len(stage.retriever.retrieve_one(QUERY, 10)) == 1  # the answer is the one node
        assert stage.retriever._at_depth(10)._query_engine_dict["engine"] is engine

    def test_objects_behind_index_nodes_are_deepened(self, nodes):
        inner = VectorStoreIndex(nodes).as_retriever(similarity_top_k=1)
        outer = VectorStoreIndex(objects=[IndexNode(text="all", index_id="all", obj=inner)]).as_retriever()

        assert len(outer.retrieve(QUERY)) == 1
        assert len(retrieve(outer, k=6)) == 6
        assert inner._similarity_top_k == 1

    @pytest.mark.parametrize("places", [(0,), (0, 1)])
    def test_router(self, nodes, places):
        halves = [VectorStoreIndex(nodes[:5]).as_retriever(), VectorStoreIndex(nodes[5:]).as_retriever()]
        tools = [RetrieverTool.from_defaults(half, description="a half") for half in halves]
        router = RouterRetriever(AlwaysPick(*places), tools)
        before = state(router)

        assert len(retrieve(router, k=10)) == 5 * len(places)
        assert state(router) == before

    def test_transform_retriever(self, index):
        transformed = TransformRetriever(index.as_retriever(similarity_top_k=1), AskFor("ferry winter"))

        assert ids(retrieve(transformed, k=4)) == ids(retrieve(index, k=4, query="ferry winter"))

    def test_retrievers_that_return_everything_have_no_fixed_depth(self, nodes):
        summary = SummaryIndex(nodes)
        tree = TreeIndex(nodes, num_children=5)

        assert ids(retrieve(summary, k=4)) == [node.node_id for node in nodes[:4]]
        for retriever in (summary.as_retriever(), tree.as_retriever(retriever_mode="all_leaf")):
            assert retriever_stages(retriever)[0].depth_fixed == ()
        leaf = tree.as_retriever(retriever_mode="select_leaf_embedding")
        assert retriever_stages(leaf)[0].depth_fixed == ("TreeSelectLeafEmbeddingRetriever",)
        assert len(retrieve(leaf)) == 1

    def test_summary_index_with_embeddings(self, nodes):
        retriever = SummaryIndex(nodes).as_retriever(retriever_mode="embedding", similarity_top_k=1)

        assert len(retrieve(retriever, k=6)) == 6

    def test_a_depth_of_none_is_no_limit(self, nodes):
        retriever = SummaryIndex(nodes).as_retriever(retriever_mode="embedding", similarity_top_k=None)

        assert len(retrieve(retriever, k=6)) == 6
        assert retriever_stages(retriever)[0].depth_fixed == ()

    def test_keyword_table(self, nodes, monkeypatch):
        simple = "llama_index.core.indices.keyword_table.simple_base.simple_extract_keywords"
        words = lambda text, *_, **__: set(text.lower().strip(".?").split())  # noqa: E731  # the real one wants nltk data
        monkeypatch.setattr(simple, words)
        monkeypatch.setattr("llama_index.core.indices.keyword_table.retrievers.simple_extract_keywords", words)
        index = SimpleKeywordTableIndex(nodes)
        retriever = index.as_retriever(retriever_mode="simple", num_chunks_per_query=1)

        ranking = retrieve(retriever, k=9, query="the harbour")
        assert len(ranking) == 9
        assert [hit.score for hit in ranking] == [None] * 9
        assert retriever.num_chunks_per_query == 1

    def test_k_is_a_depth_only_where_nothing_else_is(self, nodes):
        class Plain(Silent):
            k = 1

            def _retrieve(self, query_bundle):
                return [NodeWithScore(node=node) for node in self.stored[: self.k]]

        class Fused(Plain):
            def _retrieve(self, query_bundle):
                return [NodeWithScore(node=node, score=1 / self.k) for node in self.stored[: self.top_k]]

        plain, fused = Plain(nodes), Fused(nodes)
        plain.k, fused.k, fused.top_k = 1, 4, 1

        assert len(retrieve(plain, k=8)) == 8
        assert [hit.score for hit in retrieve(fused, k=8)] == [0.25] * 8
        assert (plain.k, fused.k, fused.top_k) == (1, 4, 1)

    def test_a_retriever_of_the_users_own_is_entered(self, index, cross_encoder):
        class Own(BaseRetriever):
            def __init__(self, base, reranker):
                self.base, self.reranker = base, reranker
                super().__init__()

            def _retrieve(self, query_bundle):
                return self.reranker.postprocess_nodes(self.base.retrieve(query_bundle), query_bundle)

        own = Own(index.as_retriever(), SentenceTransformerRerank(model=cross_encoder, top_n=1))

        assert len(retrieve(own, k=6)) == 6
        assert len(retrieve(own, k=6, as_deployed=True)) == 1
        assert (own.base._similarity_top_k, own.reranker.top_n) == (2, 1)

    def test_a_retriever_that_holds_itself_is_copied_once(self, index):
        retriever = index.as_retriever()
        retriever.object_map["itself"] = retriever
        (stage,) = retriever_stages(retriever)
        deep = stage.retriever._at_depth(9)

        assert deep.object_map["itself"] is deep
        assert retriever.object_map["itself"] is retriever

    def test_async_is_promised_only_by_classes_that_bring_it(self, index, nodes):
        adapters = {
            name: retriever_stages(retriever)[0].retriever
            for name, retriever in {
                "vector": index.as_retriever(),
                "bm25": BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=2),
                "fusion": QueryFusionRetriever([index.as_retriever()], num_queries=1),
                "fusion in turn": QueryFusionRetriever([index.as_retriever()], num_queries=1, use_async=False),
                "engine": CitationsOnly(retriever=index.as_retriever()),
            }.items()
        }

        assert all(isinstance(adapter, QueryRetriever) for adapter in adapters.values())
        assert {name for name, adapter in adapters.items() if isinstance(adapter, AsyncQueryRetriever)} == {
            "vector",
            "fusion",
        }
        ranking = asyncio.run(adapters["vector"].aretrieve_one(QUERY, 6))
        assert ranking == adapters["vector"].retrieve_one(QUERY, 6)
        assert len(ranking) == 6


class CitationsOnly(CustomQueryEngine):
    """A query engine of the user's own, as LlamaIndex documents them: no `retrieve`, only an answer."""

    retriever: BaseRetriever

    def custom_query(self, query_str):
        return Response("an answer", source_nodes=self.retriever.retrieve(query_str))


class TestQueryEngines:
    def engine(self, index, cross_encoder, **options):
        rerankers = [
            SimilarityPostprocessor(similarity_cutoff=0.0),
            SentenceTransformerRerank(model=cross_encoder, top_n=2),
        ]
        return RetrieverQueryEngine.from_args(
            index.as_retriever(similarity_top_k=2), node_postprocessors=rerankers, **options
        )

    def test_is_opened_into_its_stages_and_no_llm_is_asked(self, index, cross_encoder):
        engine = self.engine(index, cross_encoder)
        before = state(engine)
        first, similarity, reranker = retriever_stages(engine)
        assert isinstance(first, RetrieveStage)
        assert isinstance(similarity, RerankStage)

        retrieved = first.retriever.retrieve_one(QUERY, 6)
        kept = similarity.reranker.rerank_one(QUERY, retrieved)
        reranked = reranker.reranker.rerank_one(QUERY, kept)

        assert ids(retrieved) == ids(kept)
        assert sorted(ids(reranked)) == sorted(ids(kept))
        assert {id(chunk) for chunk in reranked.chunks} == {id(chunk) for chunk in retrieved.chunks}
        assert [stage.name for stage in (first, similarity, reranker)] == ["retrieve", "rerank", "rerank"]
        assert similarity.system == "SimilarityPostprocessor"
        assert reranker.system.startswith("SentenceTransformerRerank(tiny-cross-encoder")
        assert state(engine) == before
        assert Settings.llm.calls == 0

    def test_stages_one_after_another_are_what_the_engine_does(self, index, cross_encoder):
        engine = self.engine(index, cross_encoder)
        first, *rest = retriever_stages(engine, as_deployed=True)
        ranking = first.retriever.retrieve_one(QUERY, 2)
        for stage in rest:
            ranking = stage.reranker.rerank_one(QUERY, ranking)
        deployed = engine.retrieve(QueryBundle(QUERY))

        assert ids(ranking) == [item.node.node_id for item in deployed]
        assert [hit.score for hit in ranking] == pytest.approx([item.score for item in deployed])

    def test_as_deployed_keeps_top_n_and_still_retrieves_k(self, index, cross_encoder):
        first, _, reranker = retriever_stages(self.engine(index, cross_encoder), as_deployed=True)
        retrieved = first.retriever.retrieve_one(QUERY, 6)

        assert len(retrieved) == 6
        assert len(reranker.reranker.rerank_one(QUERY, retrieved)) == 2

    def test_an_index_query_engine_and_a_citation_engine_are_opened(self, index):
        citing = CitationQueryEngine.from_args(index, similarity_top_k=1, node_postprocessors=[LongContextReorder()])
        for engine, names in ((index.as_query_engine(), []), (citing, ["LongContextReorder"])):
            first, *rest = retriever_stages(engine)
            ranking = first.retriever.retrieve_one(QUERY, 5)

            assert ids(ranking) == ids(retrieve(index))  # whole nodes, not the citation's numbered pieces
            assert [stage.system for stage in rest] == names
        assert Settings.llm.calls == 0

    def test_a_subclass_with_steps_of_its_own_stays_whole(self, index, cross_encoder):
        class Backwards(RetrieverQueryEngine):
            def retrieve(self, query_bundle):
                return super().retrieve(query_bundle)[::-1]

        reranker = SentenceTransformerRerank(model=cross_encoder, top_n=1)
        engine = Backwards.from_args(index.as_retriever(), node_postprocessors=[reranker])
        whole = Backwards(engine.retriever, node_postprocessors=[reranker])
        (stage,) = retriever_stages(whole)

        assert len(stage.retriever.retrieve_one(QUERY, 6)) == 6
        assert stage.system.startswith("Backwards(VectorIndexRetriever + SentenceTransformerRerank(")
        assert len(retrieve(whole, k=6, as_deployed=True)) == 1
        assert reranker.top_n == 1

    def test_transform_query_engine(self, index, cross_encoder):
        transform = AskFor("ferry winter")
        engine = TransformQueryEngine(self.engine(index, cross_encoder), transform)
        before = state(engine._query_engine)
        ranking = retrieve(engine, k=6)

        assert sorted(ids(ranking)) == sorted(ids(retrieve(index, k=6, query="ferry winter")))
        assert len(retrieve(engine, k=6, as_deployed=True)) == 2
        assert transform.runs == 2
        assert state(engine._query_engine) == before
        assert Settings.llm.calls == 0

    @pytest.mark.parametrize("places", [(1,), (1, 0)])
    def test_router_query_engine_asks_for_no_answer(self, nodes, places):
        engines = [VectorStoreIndex(half).as_query_engine() for half in (nodes[:5], nodes[5:])]
        tools = [QueryEngineTool.from_defaults(engine, description="a half") for engine in engines]
        router = RouterQueryEngine(AlwaysPick(*places), tools)
        ranking = retrieve(router, k=10)

        assert [chunk.doc_id for chunk in ranking.chunks] == [f"doc-{at}" for at in places for _ in range(5)]
        assert Settings.llm.calls == 0
        assert len(engines[0].retrieve(QueryBundle(QUERY))) == 2

    def test_an_engine_without_retrieve_is_asked_for_an_answer(self, index):
        engine = CitationsOnly(retriever=index.as_retriever(similarity_top_k=1))
        (stage,) = retriever_stages(engine)

        assert ids(stage.retriever.retrieve_one(QUERY, 5)) == ids(retrieve(index))
        assert (stage.system, stage.depth_fixed) == ("CitationsOnly(VectorIndexRetriever)", ())
        assert engine.retriever._similarity_top_k == 1
        nested = TransformQueryEngine(engine, AskFor("ferry winter"))
        assert ids(retrieve(nested)) == ids(retrieve(index, query="ferry winter"))

    def test_a_private_part_of_an_engine_is_deepened_on_a_copy(self, index):
        class Private(CustomQueryEngine):
            _retriever: BaseRetriever = PrivateAttr()

            def custom_query(self, query_str):
                return Response("an answer", source_nodes=self._retriever.retrieve(query_str))

        engine = Private()
        engine._retriever = index.as_retriever(similarity_top_k=1)

        assert len(retrieve(engine, k=6)) == 6
        assert engine._retriever._similarity_top_k == 1

    def test_an_engine_that_answers_with_a_string_has_no_sources(self):
        class Speaks(CustomQueryEngine):
            def custom_query(self, query_str):
                return "forty-two"

        (stage,) = retriever_stages(Speaks())
        assert stage.retriever.retrieve_one(QUERY, 5) == Ranking()
        assert stage.depth_fixed == ("Speaks",)

    def test_a_router_by_retrieval_keeps_its_one_choice(self, index, nodes):
        choose = VectorStoreIndex(nodes).as_retriever(similarity_top_k=1)
        engine = RetrieverRouterQueryEngine(choose, lambda node: index.as_query_engine())
        (stage,) = retriever_stages(engine)

        assert len(stage.retriever.retrieve_one(QUERY, 6)) == 2
        assert stage.depth_fixed == ("RetrieverRouterQueryEngine",)

    def test_chat_engines_are_evaluated_at_their_first_message(self, index):
        retriever = index.as_retriever(similarity_top_k=1)
        memory = ChatMemoryBuffer.from_defaults()
        options = {"retriever": retriever, "node_postprocessors": [LongContextReorder()], "memory": memory}
        for engine in (
            ContextChatEngine.from_defaults(**options),
            CondensePlusContextChatEngine.from_defaults(**options),
        ):
            first, reorder = retriever_stages(engine)
            assert len(first.retriever.retrieve_one(QUERY, 4)) == 4
            assert reorder.system == "LongContextReorder"
        condensing = CondenseQuestionChatEngine.from_defaults(index.as_query_engine(), memory=memory)
        assert ids(retrieve(condensing)) == ids(retrieve(index))
        assert Settings.llm.calls == 0


class TestPostprocessors:
    def test_top_n_is_raised_on_a_copy(self, nodes, cross_encoder):
        reranker = SentenceTransformerRerank(model=cross_encoder, top_n=2)
        ranking = ranking_of(nodes)

        assert sorted(ids(rerank(reranker, ranking))) == sorted(ids(ranking))
        assert len(rerank(reranker, ranking, as_deployed=True)) == 2
        assert reranker.top_n == 2

    def test_top_n_is_never_lowered(self, nodes, cross_encoder):
        (stage,) = reranker_stages(SentenceTransformerRerank(model=cross_encoder, top_n=8))

        assert stage.reranker._copy(3).top_n == 8
        assert stage.reranker._copy(12).top_n == 12

    def test_chunks_come_back_themselves_with_new_scores(self, nodes, cross_encoder):
        ranking = ranking_of(nodes)
        reranked = rerank(SentenceTransformerRerank(model=cross_encoder, top_n=2), ranking)

        assert {id(chunk) for chunk in reranked.chunks} == {id(chunk) for chunk in ranking.chunks}
        assert all(type(hit.score) is float for hit in reranked)
        assert [hit.score for hit in reranked] == sorted((hit.score for hit in reranked), reverse=True)
        assert ranking == ranking_of(nodes)

    def test_foreign_chunks_are_read_without_their_metadata(self, cross_encoder):
        bare = Ranking.of((Chunk(text, id=f"c{at}"), None) for at, text in enumerate(TEXTS))
        pathed = Ranking.of(
            (Chunk(text, id=f"c{at}", metadata={"source": "/a/b"}), None) for at, text in enumerate(TEXTS)
        )
        reranker = SentenceTransformerRerank(model=cross_encoder, top_n=2)
        one, other = rerank(reranker, bare), rerank(reranker, pathed)

        assert [(hit.chunk.id, hit.score) for hit in one] == [(hit.chunk.id, hit.score) for hit in other]
        assert {id(chunk) for chunk in other.chunks} == {id(chunk) for chunk in pathed.chunks}

    def test_metadata_noted_on_a_node_is_there_for_the_next_one(self, nodes, cross_encoder):
        noting = SentenceTransformerRerank(model=cross_encoder, top_n=2, keep_retrieval_score=True)
        reranked = rerank(noting, ranking_of(nodes))
        top = reranked[0].chunk

        assert top.metadata["retrieval_score"] == top.origin.metadata["retrieval_score"] > 0.9
        assert (top.text, top.start) == (TEXTS[int(top.id[5:])], int(top.id[5:]) * 100)
        assert all("retrieval_score" not in node.metadata for node in nodes)

    def test_sentence_windows_replace_the_text_and_keep_the_id(self):
        parser = SentenceWindowNodeParser.from_defaults(window_size=1, sentence_splitter=lambda text: text.split("\n"))
        parsed = parser.get_nodes_from_documents([Document(text="\n".join(TEXTS), id_="the-document")])
        ranking = ranking_of(parsed[:4])
        widened = rerank(MetadataReplacementPostProcessor("window"), ranking)

        assert ids(widened) == ids(ranking)
        assert widened[1].chunk.text == " ".join(TEXTS[:3])
        assert (widened[1].chunk.doc_id, widened[1].chunk.start) == ("the-document", None)
        assert [node.text for node in parsed] == TEXTS
        again = rerank(LongContextReorder(), widened)
        assert {chunk.text for chunk in again.chunks} == {chunk.text for chunk in widened.chunks}

    def test_nodes_that_a_postprocessor_adds_are_new_chunks(self, index, nodes):
        storage = StorageContext.from_defaults()
        storage.docstore.add_documents(nodes)
        neighbours = PrevNextNodePostprocessor(docstore=storage.docstore, num_nodes=1, mode="both")
        ranking = ranking_of(nodes[4:5])
        widened = rerank(neighbours, ranking, doc_key="file_name")

        assert ids(widened) == ["node-3", "node-4", "node-5"]
        assert widened[1].chunk is ranking[0].chunk
        assert (widened[2].chunk.doc_id, widened[2].score) == ("1.txt", None)

    def test_reordering_and_filtering(self, nodes):
        ranking = ranking_of(nodes)

        assert sorted(ids(rerank(LongContextReorder(), ranking))) == sorted(ids(ranking))
        assert ids(rerank(SimilarityPostprocessor(similarity_cutoff=0.985), ranking)) == ["node-0", "node-1"]

    def test_top_k_is_a_cut_too(self, nodes):
        for at, node in enumerate(nodes):
            node.metadata["date"] = f"2024-01-{10 + at}"
        recency = FixedRecencyPostprocessor(top_k=1)

        assert ids(rerank(recency, ranking_of(nodes))) == [node.node_id for node in reversed(nodes)]
        assert ids(rerank(recency, ranking_of(nodes), as_deployed=True)) == ["node-9"]

    @pytest.mark.parametrize("as_deployed", [True, False])
    def test_a_postprocessor_that_changes_itself_changes_a_copy(self, nodes, as_deployed):
        optimizer = SentenceEmbeddingOptimizer(
            embed_model=WordEmbedding(), percentile_cutoff=1.0, tokenizer_fn=lambda text: [text]
        )
        rerank(optimizer, ranking_of(nodes), as_deployed=as_deployed)

        assert optimizer.context_before is None

    def test_an_empty_ranking_asks_nobody(self):
        class Refuses(BaseNodePostprocessor):
            def _postprocess_nodes(self, nodes, query_bundle=None):
                raise AssertionError("was asked")

        assert rerank(Refuses(), Ranking()) == Ranking()

    def test_hits_with_one_id_stay_apart(self):
        class Reverse(BaseNodePostprocessor):
            copies: bool = False

            def _postprocess_nodes(self, nodes, query_bundle=None):
                found = [item.model_copy(deep=True) for item in nodes] if self.copies else nodes
                return found[::-1]

        ranking = Ranking.of((chunk_of(TextNode(id_="same", text=text)), None) for text in TEXTS[:3])
        for copies in (False, True):
            turned = rerank(Reverse(copies=copies), ranking)
            assert [id(chunk) for chunk in turned.chunks] == [id(chunk) for chunk in ranking.chunks[::-1]]

    def test_what_the_caller_added_to_a_chunk_survives(self, nodes):
        mapped = Chunk(TEXTS[0], id="node-0", doc_id="mapped", start=7, end=9, metadata={"more": 1}, origin=nodes[0])
        (hit,) = rerank(LongContextReorder(), Ranking.of([(mapped, 0.5)]))

        assert hit.chunk is mapped

    def test_a_score_that_is_no_number_is_none(self, nodes):
        class Divides(BaseNodePostprocessor):
            def _postprocess_nodes(self, nodes, query_bundle=None):
                return [NodeWithScore(node=item.node, score=float("nan")) for item in nodes]

        assert [hit.score for hit in rerank(Divides(), ranking_of(nodes[:2]))] == [None, None]

    def test_async_is_promised_only_by_classes_that_bring_it(self, nodes):
        def choose_all(answer, count):
            return list(range(1, count + 1)), [float(at) for at in range(count)]

        (plain,), (own,) = (
            reranker_stages(LongContextReorder()),
            reranker_stages(LLMRerank(llm=MockLLM(), top_n=1, parse_choice_select_answer_fn=choose_all)),
        )
        assert isinstance(plain.reranker, QueryReranker)
        assert not isinstance(plain.reranker, AsyncQueryReranker)
        assert isinstance(own.reranker, AsyncQueryReranker)
        ranking = asyncio.run(own.reranker.arerank_one(QUERY, ranking_of(nodes)))
        assert ranking == own.reranker.rerank_one(QUERY, ranking_of(nodes))
        assert ids(ranking)[0] == "node-9"
        assert asyncio.run(own.reranker.arerank_one(QUERY, Ranking())) == Ranking()


class TestUnsupported:
    @pytest.mark.parametrize("make", [MockLLM, WordEmbedding, LongContextReorder, lambda: VectorStoreIndex])
    def test_retrievers(self, make):
        with pytest.raises(UnsupportedSystem, match=r"llama_index|test_llama_index.*expected a retriever"):
            retriever_stages(make())

    def test_a_chat_engine_without_retrieval(self):
        with pytest.raises(UnsupportedSystem, match="SimpleChatEngine"):
            retriever_stages(SimpleChatEngine.from_defaults(memory=ChatMemoryBuffer.from_defaults()))

    def test_rerankers(self, index):
        with pytest.raises(UnsupportedSystem, match=r"VectorIndexRetriever.*BaseNodePostprocessor"):
            reranker_stages(index.as_retriever())
