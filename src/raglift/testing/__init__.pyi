from .fakes import FakeReranker as FakeReranker
from .fakes import FakeRetriever as FakeRetriever
from .openai_server import Answer as Answer
from .openai_server import OpenAIServer as OpenAIServer
from .openai_server import Request as Request
