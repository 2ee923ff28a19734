"""What cuts a text by structure or by meaning: each the library's own class, made for one of raglift's names."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from raglift.adapters.sentence_models import for_chonkie, for_langchain, for_llama_index
from raglift.base.tokens import load_encoding
from raglift.errors import ConfigurationError, MissingDependency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.adapters.cutting import Cutter
    from raglift.adapters.named_chunkers import NamedChunker


_EXTRA = "chunkers"
_LEVELS = range(1, 7)


def _imported(module: str, chunker: NamedChunker) -> Any:
    try:
        with warnings.catch_warnings():  # langchain-experimental says that it is no longer maintained
            warnings.simplefilter("ignore", DeprecationWarning)
            return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependency(error.name or module, _EXTRA, f"the chunker {chunker.kind}") from None


def _node_parsers(chunker: NamedChunker) -> Any:
    return _imported("llama_index.core.node_parser", chunker)


def _texts_of_nodes(parser: Any) -> Cutter:
    from llama_index.core.schema import Document as LlamaDocument

    return lambda text: [str(node.text) for node in parser.get_nodes_from_documents([LlamaDocument(text=text)])]


def _contents(splitter: Any) -> Cutter:
    return lambda text: [str(document.page_content) for document in splitter.split_text(text)]


def _texts(splitter: Any) -> Cutter:
    return lambda text: list(splitter.split_text(text))


# Sentences.


def sentences(chunker: NamedChunker) -> Cutter:
    """LlamaIndex's `SentenceSplitter`."""
    tokenizer = list if chunker.unit == "characters" else load_encoding(chunker.encoding).tokens.encode_ordinary
    made = _node_parsers(chunker).SentenceSplitter
    return _texts(made(chunk_size=chunker.size, chunk_overlap=chunker.overlap, tokenizer=tokenizer))


def chonkie_sentences(chunker: NamedChunker) -> Cutter:
    """Chonkie's `SentenceChunker`."""
    chonkie = _imported("chonkie", chunker)
    sizes = {"chunk_size": chunker.size, "chunk_overlap": chunker.overlap}
    return _chonkie_texts(chonkie.SentenceChunker(_chonkie_tokenizer(chunker), **sizes))


def chonkie_recursive(chunker: NamedChunker) -> Cutter:
    """Chonkie's `RecursiveChunker`."""
    chonkie = _imported("chonkie", chunker)
    return _chonkie_texts(chonkie.RecursiveChunker(_chonkie_tokenizer(chunker), chunk_size=chunker.size))


def _chonkie_texts(made: Any) -> Cutter:
    return lambda text: [str(piece.text) for piece in made.chunk(text)]


def _chonkie_tokenizer(chunker: NamedChunker) -> Any:
    """Return what counts for chonkie. Its own adapter of tiktoken refuses texts that hold special tokens."""
    from chonkie.tokenizer import Tokenizer

    if chunker.unit == "characters":
        return "character"
    tokens = load_encoding(chunker.encoding).tokens

    class Counted(Tokenizer):
        def __repr__(self) -> str:
            return chunker.encoding

        def encode(self, text: str) -> Sequence[int]:
            return list(tokens.encode_ordinary(text))

        def decode(self, numbers: Sequence[int]) -> str:
            return str(tokens.decode(list(numbers)))

        def tokenize(self, text: str) -> Sequence[str | int]:
            return self.encode(text)

    return Counted()


# Meaning.


def llama_index_semantic(chunker: NamedChunker) -> Cutter:
    """LlamaIndex's `SemanticSplitterNodeParser`."""
    parser = _node_parsers(chunker).SemanticSplitterNodeParser(
        embed_model=for_llama_index(chunker.setting("model")),
        breakpoint_percentile_threshold=chunker.setting("percentile"),
        buffer_size=chunker.setting("buffer"),
    )
    return _texts_of_nodes(parser)


def langchain_semantic(chunker: NamedChunker) -> Cutter:
    """LangChain's `SemanticChunker`, which breaks at a percentile of the distances between sentences."""
    module = _imported("langchain_experimental.text_splitter", chunker)
    return _texts(
        module.SemanticChunker(
            for_langchain(chunker.setting("model")),
            buffer_size=chunker.setting("buffer"),
            breakpoint_threshold_amount=chunker.setting("percentile"),
        )
    )


def chonkie_semantic(chunker: NamedChunker) -> Cutter:
    """Chonkie's `SemanticChunker`."""
    chonkie = _imported("chonkie", chunker)
    model = for_chonkie(chunker.setting("model"), _chonkie_tokenizer(chunker))
    return _chonkie_texts(
        chonkie.SemanticChunker(model, threshold=chunker.setting("threshold"), chunk_size=chunker.size)
    )


# Headings of Markdown and HTML.


def markdown_sections(chunker: NamedChunker) -> Cutter:
    """LlamaIndex's `MarkdownNodeParser`."""
    return _texts_of_nodes(_node_parsers(chunker).MarkdownNodeParser())


def markdown_headers(chunker: NamedChunker) -> Cutter:
    """LangChain's `MarkdownHeaderTextSplitter`; headings stay in the text."""
    module = _imported("langchain_text_splitters", chunker)
    headers = [("#" * level, f"h{level}") for level in _LEVELS]
    return _contents(module.MarkdownHeaderTextSplitter(headers, strip_headers=False))


def html_sections(chunker: NamedChunker) -> Cutter:
    """LangChain's `HTMLSectionSplitter`."""
    return _contents(_html_splitter("HTMLSectionSplitter", chunker))


def html_headers(chunker: NamedChunker) -> Cutter:
    """LangChain's `HTMLHeaderTextSplitter`."""
    return _contents(_html_splitter("HTMLHeaderTextSplitter", chunker))


def _html_splitter(name: str, chunker: NamedChunker) -> Any:
    for needed in ("bs4", "lxml"):
        _imported(needed, chunker)
    headers = [(f"h{level}", f"h{level}") for level in _LEVELS]
    return getattr(_imported("langchain_text_splitters", chunker), name)(headers)


def html_elements(chunker: NamedChunker) -> Cutter:
    """LlamaIndex's `HTMLNodeParser`."""
    _imported("bs4", chunker)
    return _texts_of_nodes(_node_parsers(chunker).HTMLNodeParser())


# Code by its syntax tree.


def code(chunker: NamedChunker) -> Cutter:
    """LlamaIndex's `CodeSplitter` over a tree-sitter grammar that is installed as a package of its own."""
    tree_sitter = _imported("tree_sitter", chunker)
    language = chunker.setting("language")
    parser = tree_sitter.Parser(tree_sitter.Language(_grammar(language)))
    sizes: dict[str, Any] = {"max_chars": chunker.size}
    if chunker.unit == "tokens":
        tokenizer = load_encoding(chunker.encoding).tokens.encode_ordinary
        sizes = {"max_tokens": chunker.size, "count_mode": "token", "tokenizer": tokenizer}
    return _texts(_node_parsers(chunker).CodeSplitter(language=language, parser=parser, **sizes))


def _grammar(language: str) -> Any:
    name = f"tree_sitter_{language}"
    try:
        module = importlib.import_module(name)
    except ImportError:
        package = name.replace("_", "-")
        raise ConfigurationError(
            f"chunker: found language={language}, and no package {package}; expected a language whose grammar is "
            f"installed: python comes with raglift[{_EXTRA}], others with pip install {package}"
        ) from None
    made = getattr(module, "language", None) or getattr(module, f"language_{language}")
    return made()
