"""LangChain's compressors and transformers that can be built here, each behind a dense retriever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from raglift.retrieval.models import embedded_model_path
from raglift.testing.openai_server import Answer

from .case import Case
from .corpus import Corpus
from .langchain_parts import (
    Vectors,
    answer_yes_or_no,
    compress,
    cross_encoder,
    dense,
    extract,
    model,
    rank_backwards,
    transform,
)

COMPRESSORS = "langchain_classic.retrievers.document_compressors"
TRANSFORMERS = "langchain_community.document_transformers"
SPLITTERS = "langchain_text_splitters"


def cross(corpus: Corpus) -> Any:
    from langchain_classic.retrievers.document_compressors import CrossEncoderReranker

    return CrossEncoderReranker(model=cross_encoder(corpus), top_n=3)


def nearest(corpus: Corpus) -> Any:
    from langchain_classic.retrievers.document_compressors import EmbeddingsFilter

    return EmbeddingsFilter(embeddings=Vectors(corpus), k=3)


def near_enough(corpus: Corpus) -> Any:
    from langchain_classic.retrievers.document_compressors import EmbeddingsFilter

    return EmbeddingsFilter(embeddings=Vectors(corpus), k=None, similarity_threshold=0.3)


def by_model(name: str, **options: Any) -> Any:
    def make(corpus: Corpus) -> Any:
        import langchain_classic.retrievers.document_compressors as compressors

        return getattr(compressors, name).from_llm(model(), **options)

    return make


def pipeline(corpus: Corpus) -> Any:
    from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline

    return DocumentCompressorPipeline(transformers=[redundant(corpus), nearest(corpus), cross(corpus)])


def redundant(corpus: Corpus) -> Any:
    from langchain_community.document_transformers import EmbeddingsRedundantFilter

    return EmbeddingsRedundantFilter(embeddings=Vectors(corpus))


def clusters(corpus: Corpus) -> Any:
    from langchain_community.document_transformers import EmbeddingsClusteringFilter

    return EmbeddingsClusteringFilter(embeddings=Vectors(corpus), num_clusters=3, sorted=True)


def reorder(corpus: Corpus) -> Any:
    from langchain_community.document_transformers import LongContextReorder

    return LongContextReorder()


def splitter(name: str, **options: Any) -> Any:
    def make(corpus: Corpus) -> Any:
        import langchain_text_splitters as splitters

        return getattr(splitters, name)(**({"chunk_size": 200, "chunk_overlap": 0} | options))

    return make


def sentences(corpus: Corpus) -> Any:
    import llama_index.core
    import nltk
    from langchain_text_splitters import NLTKTextSplitter

    data = str(Path(llama_index.core.__file__).parent / "_static" / "nltk_cache")  # which NLTK itself would fetch
    if data not in nltk.data.path:
        nltk.data.path.append(data)
    return NLTKTextSplitter(chunk_size=200, chunk_overlap=0)


def model_tokens(corpus: Corpus) -> Any:
    from langchain_text_splitters import SentenceTransformersTokenTextSplitter

    model = str(embedded_model_path())
    return SentenceTransformersTokenTextSplitter(model_name=model, tokens_per_chunk=50, chunk_overlap=0)


def tagger(corpus: Corpus) -> Any:
    from langchain_community.document_transformers.openai_functions import create_metadata_tagger

    schema = {"properties": {"topic": {"type": "string"}}, "required": ["topic"]}
    return create_metadata_tagger(schema, model())


def call_function(messages: Any, schema: Any) -> Answer:
    """A function's arguments as OpenAI's models gave them before there were tools."""
    call = {"name": "information_extraction", "arguments": '{"topic": "the island"}'}
    message = {"role": "assistant", "content": None, "function_call": call}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return Answer(
        body={"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini", "choices": [choice]}
    )


def links(corpus: Corpus) -> Any:
    from langchain_community.graph_vectorstores.extractors import LinkExtractor, LinkExtractorTransformer
    from langchain_community.graph_vectorstores.links import Link

    class Source(LinkExtractor):
        def extract_one(self, input: Any) -> set[Any]:  # noqa: A002
            return {Link.bidir(kind="document", tag=input.metadata["source"])}

    return LinkExtractorTransformer([Source()])


def of_dense(path: str, make: Any, ask: Any, **options: Any) -> Case:
    kind: Any = "compressor" if ask is compress else "transformer"
    return Case(path, make, kind, ask, base=dense, **options)


CUT = "cuts the candidates into pieces"
RERANKERS: tuple[Case, ...] = (
    of_dense(f"{COMPRESSORS}.cross_encoder_rerank.CrossEncoderReranker", cross, compress),
    of_dense(f"{COMPRESSORS}.base.DocumentCompressorPipeline", pipeline, compress),
    of_dense(f"{COMPRESSORS}.embeddings_filter.EmbeddingsFilter", nearest, compress, setting="k"),
    of_dense(
        f"{COMPRESSORS}.embeddings_filter.EmbeddingsFilter",
        near_enough,
        compress,
        setting="similarity_threshold",
        fewer="keeps what is near enough",
    ),
    of_dense(
        f"{COMPRESSORS}.chain_extract.LLMChainExtractor",
        by_model("LLMChainExtractor"),
        compress,
        replies=extract,
        fewer="drops what the model finds irrelevant",
        rewrites="cuts sentences out of the candidates",
    ),
    of_dense(
        f"{COMPRESSORS}.chain_filter.LLMChainFilter",
        by_model("LLMChainFilter"),
        compress,
        replies=answer_yes_or_no,
        fewer="drops what the model finds irrelevant",
    ),
    of_dense(
        f"{COMPRESSORS}.listwise_rerank.LLMListwiseRerank",
        by_model("LLMListwiseRerank", top_n=3),
        compress,
        replies=rank_backwards,
    ),
    of_dense(
        f"{TRANSFORMERS}.embeddings_redundant_filter.EmbeddingsRedundantFilter",
        redundant,
        transform,
        fewer="drops near duplicates",
    ),
    of_dense(
        f"{TRANSFORMERS}.embeddings_redundant_filter.EmbeddingsClusteringFilter",
        clusters,
        transform,
        fewer="keeps one of each cluster",
    ),
    of_dense(f"{TRANSFORMERS}.long_context_reorder.LongContextReorder", reorder, transform),
    of_dense(f"{TRANSFORMERS}.openai_functions.OpenAIMetadataTagger", tagger, transform, replies=call_function),
    of_dense(
        "langchain_community.graph_vectorstores.extractors.link_extractor_transformer.LinkExtractorTransformer",
        links,
        transform,
    ),
    *(
        of_dense(f"{SPLITTERS}.{module}.{name}", splitter(name, **options), transform, rewrites=CUT)
        for module, name, options in (
            ("character", "CharacterTextSplitter", {"separator": ". "}),
            ("character", "RecursiveCharacterTextSplitter", {}),
            ("latex", "LatexTextSplitter", {}),
            ("markdown", "MarkdownTextSplitter", {}),
            ("python", "PythonCodeTextSplitter", {}),
            ("jsx", "JSFrameworkTextSplitter", {}),
            ("base", "TokenTextSplitter", {"encoding_name": "cl100k_base", "chunk_size": 50}),
        )
    ),
    of_dense(f"{SPLITTERS}.nltk.NLTKTextSplitter", sentences, transform, rewrites=CUT),
    of_dense(
        f"{SPLITTERS}.sentence_transformers.SentenceTransformersTokenTextSplitter",
        model_tokens,
        transform,
        rewrites=CUT,
    ),
)
