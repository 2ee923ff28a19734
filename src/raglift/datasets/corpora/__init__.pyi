from .catalogue import Corpus as Corpus
from .catalogue import CorpusText as CorpusText
from .catalogue import Descriptor as Descriptor
from .catalogue import find_corpus as find_corpus
from .catalogue import known_corpora as known_corpora
from .catalogue import read_corpus as read_corpus
from .fetching import fetch as fetch
