"""Any chunker by name; LangChain's splitters and LlamaIndex's node parsers, with the location of every chunk."""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.adapters.cutting import cut_by, quiet_splitters, warn_of_lost
from raglift.adapters.named_chunkers import KINDS, kind_of, parse_named_chunker
from raglift.base.display import describe_error, short_repr
from raglift.base.tokens import DEFAULT_ENCODING, Encoding, load_encoding
from raglift.base.validation import nearest
from raglift.components.chunkers import CHUNKERS, UNITS, check_sizes, parse_chunker
from raglift.components.headings import HEADINGS, ContextualChunker
from raglift.components.locating import locate_pieces, overlap_in
from raglift.errors import ConfigurationError, MissingDependency
from raglift.records.documents import Chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from raglift.adapters.cutting import Cutter
    from raglift.components.chunkers import Chunker, Unit
    from raglift.records.documents import Document


_MODULES = {"langchain": "langchain_text_splitters", "llama_index": "llama_index.core.node_parser"}
_EXTRAS = {"langchain": "langchain", "llama_index": "llama-index"}
_UNSIZED = ("llama_index.MarkdownNodeParser", "llama_index.SentenceWindowNodeParser")
"""Node parsers that cut where the text says, whatever comes out."""
_TOKENS_ONLY = ("langchain.TokenTextSplitter",)
"""Splitters that can count nothing else."""

_GRAMMAR = (
    "FRAMEWORK.SPLITTER:SIZE/OVERLAP[:UNIT[:ENCODING]], as langchain.RecursiveCharacterTextSplitter:400/40:tokens or "
    "llama_index.SentenceSplitter:256/20"
)
_FORM = re.compile(
    r"(?P<splitter>(?:langchain|llama_index)\.[^:]*)"
    r"(?::(?P<size>-?[0-9]{1,9})/(?P<overlap>-?[0-9]{1,9})(?::(?P<unit>[^:]+)(?::(?P<encoding>\w+))?)?)?",
    re.ASCII,
)


@dataclass(frozen=True)
class FrameworkChunker:
    """A splitter of LangChain's or a node parser of LlamaIndex's, whose chunks are put in their places.

    The frameworks' own offsets are not used: LangChain's are wrong or missing where sizes are counted in tokens and
    chunks overlap. A chunk's offsets are those at which the document has its text, character for character. A chunk
    that the document does not have (a splitter that rewrites white space) is kept without offsets, and a warning
    counts such chunks; one of white space alone is left out.

    Raises:
        ConfigurationError: an unknown splitter, or a size, overlap or unit that it cannot have.
        MissingDependency: the framework is not installed.
    """

    splitter: str
    """The framework and the class, as `langchain.RecursiveCharacterTextSplitter`."""
    size: int | None = None
    """The most characters or tokens in a chunk; None for a node parser that has no size."""
    overlap: int | None = None
    """The most characters or tokens that neighbours share; None for a node parser that has no size."""
    unit: Unit | None = None
    """What size and overlap count; by default what the splitter counts by default."""
    encoding: str = DEFAULT_ENCODING
    """The tiktoken encoding that tokens are counted in."""

    def __post_init__(self) -> None:
        if self.splitter in _UNSIZED:
            if (self.size, self.overlap, self.unit, self.encoding) != (None, None, None, DEFAULT_ENCODING):
                raise ConfigurationError(
                    f"chunk size: found {self.size!r} for {self.splitter}, which cuts where the text says; "
                    "expected none"
                )
            _class_of(self.splitter)
            return
        if self.unit is None:
            object.__setattr__(self, "unit", _default_unit(self.splitter))
        unit = self.unit
        if unit not in UNITS:
            raise ConfigurationError(f"chunk unit: found {unit!r}; expected one of {', '.join(UNITS)}")
        if unit != "tokens" and self.splitter in _TOKENS_ONLY:
            raise ConfigurationError(f"chunk unit: found {unit!r} for {self.splitter}; expected tokens")
        if unit != "tokens" and self.encoding != DEFAULT_ENCODING:
            raise ConfigurationError(
                f"encoding: found {self.encoding!r} for chunks counted in {unit}; expected it with tokens"
            )
        _check_sized(self.splitter)
        check_sizes(self.size, self.overlap, unit)  # type: ignore[arg-type]

    def __str__(self) -> str:
        if self.size is None:
            return self.splitter
        named = "" if self.encoding == DEFAULT_ENCODING else f":{self.encoding}"
        unit = "" if self.unit == _default_unit(self.splitter) and not named else f":{self.unit}"
        return f"{self.splitter}:{self.size}/{self.overlap}{unit}{named}"

    def split(self, documents: Iterable[Document]) -> tuple[Chunk, ...]:
        """Split each document; chunk ids are the document's id and the chunk's offsets, or else its number.

        Raises:
            ConfigurationError: the splitter cannot be made, or fails on a document.
        """
        cut = self._cutter()
        with quiet_splitters():
            chunks = tuple(chunk for document in documents for chunk in self._chunks(document, cut))
        warn_of_lost(self, chunks)
        return chunks

    def _chunks(self, document: Document, cut: Cutter) -> Iterator[Chunk]:
        pieces = cut_by(cut, document, self)
        spans = locate_pieces(document.text, pieces, overlap_in(document.text, self.overlap or 0, self._count))
        previous: tuple[int, int] | None = None
        for number, (piece, span) in enumerate(zip(pieces, spans, strict=True)):
            if span is None:
                yield Chunk(piece, id=f"{document.id}#{number}", doc_id=document.id)
            elif span != previous:  # the same place twice in a row is one chunk: an id stands for one place
                start, end = previous = span
                yield Chunk(piece, id=f"{document.id}:{start}-{end}", doc_id=document.id, start=start, end=end)

    @property
    def _count(self) -> Callable[[str], int]:
        return load_encoding(self.encoding).count if self.unit == "tokens" else len

    def _cutter(self) -> Cutter:
        """Return what cuts a text into texts."""
        made_of = _class_of(self.splitter)
        encoding = load_encoding(self.encoding) if self.unit == "tokens" else None
        try:
            if self.splitter in _UNSIZED:
                return _nodes_of(made_of())
            if self.splitter.startswith("llama_index."):
                tokenizer = list if encoding is None else encoding.tokens.encode_ordinary
                return _texts_of(made_of(chunk_size=self.size, chunk_overlap=self.overlap, tokenizer=tokenizer))
            if self.splitter in _TOKENS_ONLY and encoding is not None:
                return self._windows(encoding)
            count = len if encoding is None else encoding.count
            return _texts_of(made_of(chunk_size=self.size, chunk_overlap=self.overlap, length_function=count))
        except Exception as error:
            raise ConfigurationError(
                f"chunker: found {str(self)!r}, which cannot be made: {describe_error(error)}; "
                "expected a splitter that needs no more than a size and an overlap"
            ) from error

    def _windows(self, encoding: Encoding) -> Cutter:
        """Return what LangChain's `TokenTextSplitter` does with an encoding that tiktoken would have to download."""
        from langchain_text_splitters.base import Tokenizer, split_text_on_tokens

        tokens = encoding.tokens
        tokenizer = Tokenizer(
            chunk_overlap=self.overlap or 0,
            tokens_per_chunk=self.size or 0,
            decode=tokens.decode,
            encode=tokens.encode_ordinary,
        )
        return lambda text: split_text_on_tokens(text=text, tokenizer=tokenizer)


def chunker_by_name(text: str) -> Chunker:
    """Read any chunker from its text form: raglift's own, LangChain's, LlamaIndex's or chonkie's.

    `chunker_by_name(str(chunker)) == chunker`, for raglift's own with the default separators.

    Args:
        text: `recursive:1000/100`, `token:250/125`, `langchain.RecursiveCharacterTextSplitter:400/40:tokens`,
            `llama_index.SentenceSplitter:256/20`, `sentence:1000/100`, `markdown:1000`, `code(language=python):1500`,
            `semantic(model=minilm,percentile=95)`; some have no size: `markdown`, `llama_index.MarkdownNodeParser`.
            With `+headings` at the end, chunks are indexed with the headings above them.

    Raises:
        ConfigurationError: the text does not have this form, or names something that there is not.
        MissingDependency: the framework is not installed.
    """
    inner = text.strip().removesuffix(HEADINGS)
    if inner != text.strip():
        return ContextualChunker(chunker_by_name(inner))
    named = kind_of(text)
    if named in KINDS:
        return parse_named_chunker(text)
    if text.strip().partition(".")[0] not in _MODULES:
        if named not in CHUNKERS:
            raise ConfigurationError(f"chunker: found {short_repr(named)}; expected {_own_names(named)}")
        if "(" in text:
            raise ConfigurationError(f"chunker: found {short_repr(text)}; expected no settings: {named} has none")
        return parse_chunker(text)
    form = _FORM.fullmatch(text.strip())
    if form is None or (form["size"] is None) != (form["splitter"] in _UNSIZED):
        raise ConfigurationError(f"chunker: found {short_repr(text)}; expected {_GRAMMAR}")
    size, overlap = (None if form[name] is None else int(form[name]) for name in ("size", "overlap"))
    return FrameworkChunker(form["splitter"], size, overlap, form["unit"], form["encoding"] or DEFAULT_ENCODING)  # type: ignore[arg-type]


def _own_names(given: str) -> str:
    """Return the names without a framework, and of all names those that are like what was given."""
    short = ", ".join((*CHUNKERS, *(name for name in KINDS if "." not in name)))
    like = nearest(given, [*CHUNKERS, *KINDS]).partition("; nearest: ")[2]
    return f"one of {short}, or a splitter of langchain, llama_index or chonkie" + (
        f"; nearest: {like}" if like else ""
    )


def _default_unit(splitter: str) -> Unit:
    return "tokens" if splitter.startswith("llama_index.") or splitter in _TOKENS_ONLY else "characters"


def _class_of(splitter: str) -> type[Any]:
    """Return the class of a splitter.

    Raises:
        MissingDependency: the framework is not installed.
        ConfigurationError: it has no such class.
    """
    framework, _, name = splitter.partition(".")
    if framework not in _MODULES:
        raise ConfigurationError(f"splitter: found {short_repr(splitter)}; expected {_GRAMMAR}")
    try:
        module = importlib.import_module(_MODULES[framework])
    except ImportError as error:
        raise MissingDependency(
            error.name or _MODULES[framework], _EXTRAS[framework], f"the splitter {splitter}"
        ) from None
    found = getattr(module, name, None)
    if not inspect.isclass(found):
        raise ConfigurationError(
            f"splitter: found {short_repr(splitter)}; expected {nearest(splitter, _known(framework, module))}"
        )
    return found


def _check_sized(splitter: str) -> None:
    """Raise for a class that is not made of a size and an overlap."""
    found = _class_of(splitter)
    framework = splitter.partition(".")[0]
    if not _is_sized(framework, found):
        module = importlib.import_module(_MODULES[framework])
        raise ConfigurationError(
            f"splitter: found {short_repr(splitter)}, which is not made of a size and an overlap; "
            f"expected {nearest(splitter, _known(framework, module))}"
        )


def _is_sized(framework: str, found: Any) -> bool:
    if not inspect.isclass(found) or inspect.isabstract(found):
        return False
    if framework == "llama_index":
        return {"chunk_size", "chunk_overlap"} <= set(getattr(found, "model_fields", {}))
    is_splitter = any(base.__name__ == "TextSplitter" for base in found.__mro__)
    # one that counts by a model of its own has another name for the size
    return is_splitter and "tokens_per_chunk" not in inspect.signature(found).parameters


def _known(framework: str, module: Any) -> list[str]:
    """Return the splitters of a framework that can be named."""
    sized = [f"{framework}.{name}" for name in module.__all__ if _is_sized(framework, getattr(module, name, None))]
    return sized + [name for name in (*_UNSIZED, *KINDS) if name.startswith(framework)]


def _texts_of(splitter: Any) -> Cutter:
    return lambda text: list(splitter.split_text(text))


def _nodes_of(parser: Any) -> Cutter:
    from llama_index.core.schema import Document as LlamaDocument

    return lambda text: [str(node.text) for node in parser.get_nodes_from_documents([LlamaDocument(text=text)])]
