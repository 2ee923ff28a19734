"""Letters and questions about them, and LangChain objects that need no network: a retriever, a reranker, a model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from langchain_classic.retrievers.document_compressors.cross_encoder import BaseCrossEncoder
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever

import raglift as rl

WORDS = ["old", "young", "tall", "sad", "glad", "third", "lame", "blind", "deaf"]
LINES = [f"The {word} keeper read a letter that came with the mail boat in the morning." for word in WORDS]
DATASET = rl.Dataset.from_dict(
    {f"Where was the {word} keeper?": [line] for word, line in zip(WORDS, LINES, strict=True)}
)


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


class SharedWords(BaseRetriever):
    """Puts documents first that have more of the query's words."""

    documents: list[Document]
    k: int = 4

    @classmethod
    def over(cls, texts: Iterable[str], k: int) -> SharedWords:
        return cls(documents=[Document(text) for text in texts], k=k)

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        wanted = words_of(query)
        return sorted(self.documents, key=lambda found: -len(wanted & words_of(found.page_content)))[: self.k]


class Lengths(BaseCrossEncoder):
    """Scores a text by its length."""

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        return [float(len(text)) for _, text in text_pairs]


class Model(GenericFakeChatModel):
    """A chat model that says what it was told to, turn by turn."""

    def bind_tools(self, tools, **kwargs):
        return self


def saying(*turns, times=100):
    """Return a model of these turns: texts, or lists of calls of tools as (name, arguments)."""

    def message(at, turn):
        if isinstance(turn, str):
            return AIMessage(turn)
        calls = [{"name": name, "args": args, "id": f"{at}-{place}"} for place, (name, args) in enumerate(turn)]
        return AIMessage("", tool_calls=calls)

    return Model(messages=iter([message(at, turn) for _ in range(times) for at, turn in enumerate(turns)]))


def searching(*queries):
    return [("search", {"query": query}) for query in queries]
