from .catalogue import Corpus as Corpus
from .catalogue import find_corpus as find_corpus
from .catalogue import known_corpora as known_corpora
from .catalogue import read_corpus as read_corpus
from .descriptor import CorpusText as CorpusText
from .descriptor import Descriptor as Descriptor
from .fetching import fetch as fetch
