"""LlamaIndex's node postprocessors that can be built here, each behind a dense retriever."""

from __future__ import annotations

from typing import Any

from .case import Case
from .corpus import Corpus
from .llama_index_parts import Behind, Words, dense, index, model
from .llama_index_player import answer

MODULE = "llama_index.core.postprocessor"


def cross_encoder(corpus: Corpus) -> Any:
    from llama_index.core.postprocessor import SentenceTransformerRerank

    made = SentenceTransformerRerank(model=str(corpus.cross_encoder), top_n=3, device="cpu")
    made._model.tokenizer.model_max_length = 64  # the class sets 512, the tiny model reads no more
    return made


def by_model(name: str) -> Any:
    def make(corpus: Corpus) -> Any:
        from llama_index.core import postprocessor

        return getattr(postprocessor, name)(llm=model(corpus), top_n=3)

    return make


def rank_gpt(corpus: Corpus) -> Any:
    from llama_index.core.postprocessor.rankGPT_rerank import RankGPTRerank

    return RankGPTRerank(llm=model(corpus), top_n=3)


def reorder(corpus: Corpus) -> Any:
    from llama_index.core.postprocessor import LongContextReorder

    return LongContextReorder()


def near_enough(corpus: Corpus) -> Any:
    from llama_index.core.postprocessor import SimilarityPostprocessor

    return SimilarityPostprocessor(similarity_cutoff=0.2)


def window(corpus: Corpus) -> Any:
    from llama_index.core.postprocessor import MetadataReplacementPostProcessor

    return MetadataReplacementPostProcessor(target_metadata_key="window")


def neighbours(corpus: Corpus) -> Any:
    from llama_index.core.postprocessor import PrevNextNodePostprocessor

    return PrevNextNodePostprocessor(docstore=index(corpus).docstore, mode="both")


def neighbours_by_model(corpus: Corpus) -> Any:
    from llama_index.core.postprocessor import AutoPrevNextNodePostprocessor

    return AutoPrevNextNodePostprocessor(docstore=index(corpus).docstore, llm=model(corpus))


def newest(corpus: Corpus) -> Any:
    from llama_index.core.postprocessor import FixedRecencyPostprocessor

    return FixedRecencyPostprocessor(top_k=3)


def newest_of_alike(corpus: Corpus) -> Any:
    from llama_index.core.postprocessor import EmbeddingRecencyPostprocessor

    return EmbeddingRecencyPostprocessor(
        embed_model=Words(model_name="words"), similarity_cutoff=0.8, query_embedding_tmpl="{context_str}"
    )


def by_last_use(corpus: Corpus) -> Any:
    from llama_index.core.postprocessor import TimeWeightedPostprocessor

    return TimeWeightedPostprocessor(now=1_750_000_000.0, top_k=3)


def shortened(corpus: Corpus) -> Any:
    from llama_index.core.postprocessor import SentenceEmbeddingOptimizer

    return SentenceEmbeddingOptimizer(embed_model=Words(model_name="words"), percentile_cutoff=0.7)


def masked(corpus: Corpus) -> Any:
    from llama_index.core.postprocessor.pii import PIINodePostprocessor

    return PIINodePostprocessor(llm=model(corpus))


def _case(path: str, build: Any, **options: Any) -> Case:
    behind = Behind(build)
    return Case(f"{MODULE}.{path}", behind.make, "postprocessor", behind.ask, base=dense, replies=answer, **options)


CASES = (
    _case("sbert_rerank.SentenceTransformerRerank", cross_encoder),
    _case("llm_rerank.LLMRerank", by_model("LLMRerank")),
    _case("structured_llm_rerank.StructuredLLMRerank", by_model("StructuredLLMRerank")),
    _case("rankGPT_rerank.RankGPTRerank", rank_gpt),
    _case("node.LongContextReorder", reorder),
    _case("node.SimilarityPostprocessor", near_enough, fewer="keeps what is near enough"),
    _case("node.PrevNextNodePostprocessor", neighbours, rewrites="adds the chunks before and after"),
    _case("node.AutoPrevNextNodePostprocessor", neighbours_by_model, rewrites="adds the chunks before or after"),
    _case("metadata_replacement.MetadataReplacementPostProcessor", window, rewrites="puts a text of the metadata in"),
    _case("node_recency.FixedRecencyPostprocessor", newest),
    _case("node_recency.EmbeddingRecencyPostprocessor", newest_of_alike, fewer="drops older ones that are alike"),
    _case("node_recency.TimeWeightedPostprocessor", by_last_use),
    _case("optimizer.SentenceEmbeddingOptimizer", shortened, rewrites="keeps the nearest sentences"),
    _case("pii.PIINodePostprocessor", masked, rewrites="masks what is personal"),
)
