"""Objects of LlamaIndex that need no network, no model hub and no key."""

from __future__ import annotations

import hashlib

from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.schema import QueryBundle


class WordEmbedding(BaseEmbedding):
    """Counts words in 64 hashed locations: deterministic, and near for texts that share words."""

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * 64
        for word in text.lower().replace("?", " ").replace(".", " ").split():
            vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % 64] += 1.0
        return vector

    def _get_query_embedding(self, query):
        return self._vector(query)

    async def _aget_query_embedding(self, query):
        return self._vector(query)

    def _get_text_embedding(self, text):
        return self._vector(text)


class CountingLLM(MockLLM):
    """A mock LLM that counts how often it is asked."""

    calls: int = 0

    def complete(self, *args, **kwargs):
        self.calls += 1
        return super().complete(*args, **kwargs)

    def chat(self, *args, **kwargs):
        self.calls += 1
        return super().chat(*args, **kwargs)

    async def acomplete(self, *args, **kwargs):
        self.calls += 1
        return await super().acomplete(*args, **kwargs)

    async def achat(self, *args, **kwargs):
        self.calls += 1
        return await super().achat(*args, **kwargs)


class AlwaysPick(BaseSelector):
    """A selector that picks the same choices every time."""

    def __init__(self, *places):
        self.places = places

    def _get_prompts(self):
        return {}

    def _update_prompts(self, prompts_dict):
        pass

    def _select(self, choices, query):
        return SelectorResult(selections=[SingleSelection(index=at, reason="") for at in self.places])

    async def _aselect(self, choices, query):
        return self._select(choices, query)


class AskFor(BaseQueryTransform):
    """Asks for something else, and counts how often."""

    def __init__(self, text):
        self.text = text
        self.runs = 0

    def _get_prompts(self):
        return {}

    def _update_prompts(self, prompts):
        pass

    def _run(self, query_bundle, metadata):
        self.runs += 1
        return QueryBundle(self.text)
