"""LlamaIndex node postprocessors as stages: ids, scores and metadata survive."""

from __future__ import annotations

import pytest
from llama_index.core import Document, Settings, StorageContext
from llama_index.core.node_parser import SentenceWindowNodeParser
from llama_index.core.postprocessor import (
    LongContextReorder,
    MetadataReplacementPostProcessor,
    PrevNextNodePostprocessor,
    SentenceEmbeddingOptimizer,
    SentenceTransformerRerank,
)
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import TextNode

from raglift.adapters.llama_index import reranker_stages
from raglift.adapters.llama_index_nodes import chunk_of
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking

# LlamaIndex looks for LangChain's embeddings as soon as it is given an embedding model of its own.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("offline_llama_index"),
]

QUERY = "Who saw the lantern in the storm?"


def rerank(postprocessor, ranking, query=QUERY, **options):
    (stage,) = reranker_stages(postprocessor, **options)
    return stage.reranker.rerank_one(query, ranking)


def ids(ranking):
    return [chunk.id for chunk in ranking.chunks]


def ranking_of(nodes):
    return Ranking.of((chunk_of(node), 1.0 - at / 100) for at, node in enumerate(nodes))


def test_top_n_is_raised_on_a_copy(nodes, tiny_cross_encoder):
    reranker = SentenceTransformerRerank(model=str(tiny_cross_encoder), top_n=2)
    ranking = ranking_of(nodes)

    assert sorted(ids(rerank(reranker, ranking))) == sorted(ids(ranking))
    assert len(rerank(reranker, ranking, as_deployed=True)) == 2
    assert reranker.top_n == 2


def test_chunks_come_back_themselves_with_new_scores(nodes, tiny_cross_encoder):
    ranking = ranking_of(nodes)
    reranked = rerank(SentenceTransformerRerank(model=str(tiny_cross_encoder), top_n=2), ranking)

    assert {id(chunk) for chunk in reranked.chunks} == {id(chunk) for chunk in ranking.chunks}
    assert all(type(hit.score) is float for hit in reranked)
    assert [hit.score for hit in reranked] == sorted((hit.score for hit in reranked), reverse=True)
    assert ranking == ranking_of(nodes)


def test_foreign_chunks_are_read_without_their_metadata(tiny_cross_encoder, texts):
    bare = Ranking.of((Chunk(text, id=f"c{at}"), None) for at, text in enumerate(texts))
    pathed = Ranking.of((Chunk(text, id=f"c{at}", metadata={"source": "/a/b"}), None) for at, text in enumerate(texts))
    reranker = SentenceTransformerRerank(model=str(tiny_cross_encoder), top_n=2)
    one, other = rerank(reranker, bare), rerank(reranker, pathed)

    assert [(hit.chunk.id, hit.score) for hit in one] == [(hit.chunk.id, hit.score) for hit in other]
    assert {id(chunk) for chunk in other.chunks} == {id(chunk) for chunk in pathed.chunks}


def test_metadata_noted_on_a_node_is_there_for_the_next_one(nodes, tiny_cross_encoder, texts):
    noting = SentenceTransformerRerank(model=str(tiny_cross_encoder), top_n=2, keep_retrieval_score=True)
    reranked = rerank(noting, ranking_of(nodes))
    top = reranked[0].chunk

    assert top.metadata["retrieval_score"] == top.origin.metadata["retrieval_score"] > 0.9
    assert (top.text, top.start) == (texts[int(top.id[5:])], int(top.id[5:]) * 100)
    assert all("retrieval_score" not in node.metadata for node in nodes)


def test_sentence_windows_replace_the_text_and_keep_the_id(texts):
    parser = SentenceWindowNodeParser.from_defaults(window_size=1, sentence_splitter=lambda text: text.split("\n"))
    parsed = parser.get_nodes_from_documents([Document(text="\n".join(texts), id_="the-document")])
    ranking = ranking_of(parsed[:4])
    widened = rerank(MetadataReplacementPostProcessor("window"), ranking)

    assert ids(widened) == ids(ranking)
    assert widened[1].chunk.text == " ".join(texts[:3])
    assert (widened[1].chunk.doc_id, widened[1].chunk.start) == ("the-document", None)
    assert [node.text for node in parsed] == texts
    again = rerank(LongContextReorder(), widened)
    assert {chunk.text for chunk in again.chunks} == {chunk.text for chunk in widened.chunks}


def test_a_text_that_was_cut_keeps_its_place(nodes, texts):
    class LastWords(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes, query_bundle=None):
            for item in nodes:
                item.node.text = item.node.text[-10:]
            return nodes

    cut = rerank(LastWords(), ranking_of(nodes))[3].chunk

    assert (cut.id, cut.text) == ("node-3", texts[3][-10:])
    assert (cut.start, cut.end) == (300 + len(texts[3]) - 10, 300 + len(texts[3]))


def test_nodes_that_a_postprocessor_adds_are_new_chunks(index, nodes):
    storage = StorageContext.from_defaults()
    storage.docstore.add_documents(nodes)
    neighbours = PrevNextNodePostprocessor(docstore=storage.docstore, num_nodes=1, mode="both")
    ranking = ranking_of(nodes[4:5])
    widened = rerank(neighbours, ranking, doc_key="file_name")

    assert ids(widened) == ["node-3", "node-4", "node-5"]
    assert widened[1].chunk is ranking[0].chunk
    assert (widened[2].chunk.doc_id, widened[2].score) == ("1.txt", None)


@pytest.mark.parametrize("as_deployed", [True, False])
def test_a_postprocessor_that_changes_itself_changes_a_copy(nodes, as_deployed):
    optimizer = SentenceEmbeddingOptimizer(
        embed_model=Settings.embed_model, percentile_cutoff=1.0, tokenizer_fn=lambda text: [text]
    )
    rerank(optimizer, ranking_of(nodes), as_deployed=as_deployed)

    assert optimizer.context_before is None


def test_an_empty_ranking_asks_nobody():
    class Refuses(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes, query_bundle=None):
            raise AssertionError("was asked")

    assert rerank(Refuses(), Ranking()) == Ranking()


def test_hits_with_one_id_stay_apart(texts):
    class Reverse(BaseNodePostprocessor):
        copies: bool = False

        def _postprocess_nodes(self, nodes, query_bundle=None):
            found = [item.model_copy(deep=True) for item in nodes] if self.copies else nodes
            return found[::-1]

    ranking = Ranking.of((chunk_of(TextNode(id_="same", text=text)), None) for text in texts[:3])
    for copies in (False, True):
        turned = rerank(Reverse(copies=copies), ranking)
        assert [id(chunk) for chunk in turned.chunks] == [id(chunk) for chunk in ranking.chunks[::-1]]
