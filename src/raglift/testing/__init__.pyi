from .fakes import FakeReranker as FakeReranker
from .fakes import FakeRetriever as FakeRetriever
from .openai_server import Answer as Answer
from .openai_server import OpenAIServer as OpenAIServer
from .openai_server import Request as Request
from .search_server import SearchAnswer as SearchAnswer
from .search_server import SearchRequest as SearchRequest
from .search_server import SearchServer as SearchServer
