"""Documents to chunks, always with true offsets into the document's text."""

from raglift.chunking.notation import CHUNKERS, make_chunker, parse_chunker
from raglift.chunking.protocol import UNITS, Chunker, Unit
from raglift.chunking.recursive import SEPARATORS, RecursiveChunker
from raglift.chunking.windows import TokenChunker

__all__ = [
    "CHUNKERS",
    "SEPARATORS",
    "UNITS",
    "Chunker",
    "RecursiveChunker",
    "TokenChunker",
    "Unit",
    "make_chunker",
    "parse_chunker",
]
