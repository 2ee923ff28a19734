"""Known corpora: what they are, where their texts are, and how to get them."""

from raglift.corpora.catalogue import Corpus, find_corpus, known_corpora, read_corpus
from raglift.corpora.descriptor import CorpusText, Descriptor
from raglift.corpora.fetch import fetch
from raglift.corpora.gutenberg import strip_gutenberg

__all__ = [
    "Corpus",
    "CorpusText",
    "Descriptor",
    "fetch",
    "find_corpus",
    "known_corpora",
    "read_corpus",
    "strip_gutenberg",
]
