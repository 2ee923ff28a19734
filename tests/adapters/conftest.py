"""A small LlamaIndex system that needs no network, no model hub and no key."""

from __future__ import annotations

import hashlib
import os
from itertools import pairwise

import pytest
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.callbacks import CallbackManager
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeRelationship, QueryBundle, RelatedNodeInfo, TextNode

if os.environ.get("RAGLIFT_TEST_PROFILE") == "quick":
    collect_ignore = [
        "test_haystack.py",
        "test_overridden_haystack.py",
    ]  # Importing Haystack takes each worker as long as a hundred tests

WORDS = ["lighthouse", "harbour", "keeper", "storm", "lantern", "island", "ferry", "winter", "letter", "bread"]


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


def attributes_of(obj, seen=frozenset()):
    """Every attribute of a LlamaIndex object and of what it holds, to compare before and after."""
    if isinstance(obj, list | tuple):
        return [attributes_of(item, seen) for item in obj]
    if isinstance(obj, dict):
        return {key: attributes_of(item, seen) for key, item in obj.items()}
    if isinstance(obj, CallbackManager):  # it notes every call, which is its work
        return id(obj)
    ours = type(obj).__module__.startswith(("llama_index", __name__.removesuffix("conftest")))
    if ours and id(obj) not in seen:
        held = {name: attributes_of(value, seen | {id(obj)}) for name, value in vars(obj).items()}
        return type(obj).__name__, id(obj), held
    return obj if isinstance(obj, int | float | str | bool | None) else id(obj)


@pytest.fixture
def offline_llama_index():
    """What LlamaIndex uses where nothing is given: never OpenAI."""
    before = (Settings._llm, Settings._embed_model)
    Settings.llm, Settings.embed_model = CountingLLM(max_tokens=8), WordEmbedding()
    yield
    Settings._llm, Settings._embed_model = before


@pytest.fixture
def texts():
    return [
        f"The {word} of the {WORDS[(at + 3) % 10]} was seen from the {WORDS[at - 1]}." for at, word in enumerate(WORDS)
    ]


@pytest.fixture
def nodes(texts):
    made = [
        TextNode(
            text=text,
            id_=f"node-{at}",
            metadata={"file_name": f"{at // 5}.txt", "page": at},
            excluded_embed_metadata_keys=["page", "file_name"],
            start_char_idx=at * 100,
            end_char_idx=at * 100 + len(text),
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"doc-{at // 5}")},
        )
        for at, text in enumerate(texts)
    ]
    for one, other in pairwise(made):
        one.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=other.node_id)
        other.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=one.node_id)
    return made


@pytest.fixture
def index(nodes):
    return VectorStoreIndex(nodes)


@pytest.fixture
def state():
    return attributes_of


@pytest.fixture
def always_pick():
    return AlwaysPick


@pytest.fixture
def ask_for():
    return AskFor
