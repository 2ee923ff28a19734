"""A small LlamaIndex system that needs no network, no model hub and no key; imported where it is used."""

from __future__ import annotations

from itertools import pairwise

import pytest

WORDS = ["lighthouse", "harbour", "keeper", "storm", "lantern", "island", "ferry", "winter", "letter", "bread"]


def attributes_of(obj, seen=frozenset()):
    """Every attribute of a LlamaIndex object and of what it holds, to compare before and after."""
    if isinstance(obj, list | tuple):
        return [attributes_of(item, seen) for item in obj]
    if isinstance(obj, dict):
        return {key: attributes_of(item, seen) for key, item in obj.items()}
    if type(obj).__name__ == "CallbackManager":  # it notes every call, which is its work
        return id(obj)
    ours = type(obj).__module__.startswith(("llama_index", __name__.removesuffix("conftest")))
    if ours and id(obj) not in seen:
        held = {name: attributes_of(value, seen | {id(obj)}) for name, value in vars(obj).items()}
        return type(obj).__name__, id(obj), held
    return obj if isinstance(obj, int | float | str | bool | None) else id(obj)


@pytest.fixture
def offline_llama_index():
    """What LlamaIndex uses where nothing is given: never OpenAI."""
    from llama_index.core import Settings

    from .llama_index_objects import CountingLLM, WordEmbedding

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
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

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
    from llama_index.core import VectorStoreIndex

    return VectorStoreIndex(nodes)


@pytest.fixture
def state():
    return attributes_of


@pytest.fixture
def always_pick():
    from .llama_index_objects import AlwaysPick

    return AlwaysPick


@pytest.fixture
def ask_for():
    from .llama_index_objects import AskFor

    return AskFor
