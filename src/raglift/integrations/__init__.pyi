from .langchain import LangChainEmbeddings as LangChainEmbeddings
from .llama_index import LlamaIndexEmbedding as LlamaIndexEmbedding
