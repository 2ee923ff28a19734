"""Single values, through the sweep that holds them: what is refused, and in what words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from raglift.errors import SweepError
from raglift.metrics.budgets import tokens
from raglift.retrieval.chunkers import RecursiveChunker
from raglift.sweep.specification.record import Sweep


def fault(name: str, value: Any) -> str:
    """Return the one fault of a sweep with one value."""
    with pytest.raises(SweepError) as caught:
        Sweep(**{"dataset": "lighthouse", name: value})
    [only] = caught.value.faults
    return str(only)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("dataset", "lighthose", 'dataset: found "lighthose"; expected a file or a folder, of which there is none at'),
        ("dataset", "9" * 5000, "expected a file or a folder, of which there is none at"),
        ("documents", "nowhere.md", 'documents: found "nowhere.md"; expected a file or a folder; there is none at'),
        ("encoding", "cp1251x", 'encoding: found "cp1251x"; expected a text encoding that Python knows, as cp1252'),
        ("chunkers", [], "chunkers: found an empty list; expected at least one"),
        ("chunkers", [7], "chunkers[0]: found 7; expected a text"),
        ("chunkers", ["  "], 'chunkers[0]: found "  "; expected a text that is not empty'),
        (
            "chunkers",
            {
                "splitter": "recursive",
                "size": {"from": 101, "to": 1000, "step": 1},
                "overlap": {"from": 0, "to": 40, "step": 1},
            },
            "chunkers: found more than 20,000 values; expected fewer, for example by larger steps",
        ),
        ("chunkers", "recursive:9/9", "found chunk overlap 9; expected 0 or more and less than the chunk size"),
        ("chunkers", "recursiv:9/1", "chunkers: found 'recursiv:9/1'; expected recursive or token"),
        ("chunkers", RecursiveChunker(9, 1, separators=(".",)), "expected"),
        ("chunkers", {"splitter": "recursive", "size": 9}, "found a size without an overlap"),
        ("chunkers", {"size": 9, "overlap": 1}, "chunkers.splitter: found nothing; expected a splitter, as recursive"),
        ("chunkers", {"splitter": "recursive", "size": 9, "overlap": 1.5}, "overlap: found 1.5; expected an integer"),
        ("embeddings", "mini_lm", "expected 'minilm', a path, a hub id, or provider:model"),
        ("embeddings", "./no/model", 'found "./no/model"; expected the folder of a model; there is none at no/model'),
        ("rerankers", [False], "rerankers[0]: found false; expected a text: in YAML a name such as 2024 or no stands"),
        ("rerankers", "late_interacton", "expected 'cross-encoder', 'late-interaction', 'none', or the path or hub id"),
        ("retrievers", "dens", 'found \'dens\'; expected one of "bm25", "dense", "hybrid"; nearest: "dense"'),
        ("retrievers", {"hybrid": {"dense": 0}}, "found fusion weights (0, 1.0); expected 2 numbers above 0"),
        ("retrievers", {"hybrid": {"sparse": 1}}, 'retrievers.hybrid.sparse: found an unknown field "sparse"'),
        ("retrievers", "bm25(language=german)", "retrievers: found bm25 language 'german' (did you mean 'de'?)"),
        ("include", ["dense"], 'include[0]: found "dense"; expected a mapping'),
        (
            "include",
            {"retriever": "bm25", "embedding": "bge-small"},
            "found the embedding 'bge-small' with bm25",
        ),
        ("systems", "my_rag", 'systems: found "my_rag"; expected module:name of a retriever or of a function'),
        ("systems", [object()], "systems[0]: found a object without a name; expected a name: systems={'mine'"),
        ("systems", {"mine": 7}, "systems.mine: found 7; expected module:name, as my_rag:retriever, or in Python an"),
        ("systems", {"mine": {"system": "a:b", "rerankers": []}}, "rerankers: found an empty list; expected at least"),
        ("ks", [True], "ks[0]: found true; expected an integer of 1 or more"),
        ("candidates", "50", 'candidates: found "50"; expected an integer without quotation marks'),
        ("ks", [1, 0], "ks[1]: found 0; expected an integer of 1 or more, or a budget of tokens, as tokens(2000)"),
        ("metrics", "ndgc", "metrics: found 'ndgc' (did you mean 'ndcg'?); expected one of hit_rate"),
        ("match", "cover", 'match: found "cover"; expected one of "containment", "coverage", "fuzzy"'),
        ("seed", -1, "seed: found -1; expected an integer, 0 or more"),
    ],
)
def test_what_cannot_be_used_is_one_fault_in_plain_words(name: str, value: Any, message: str) -> None:
    assert message in fault(name, value)


def test_a_misspelt_field_that_is_needed_is_also_missing() -> None:
    with pytest.raises(SweepError) as caught:
        Sweep(dataset="lighthouse", systems={"mine": {"sistem": "a:b"}}, retrievers={"dense": 1})
    assert {str(each).partition(";")[0] for each in caught.value.faults} == {
        'retrievers.dense: found an unknown field "dense"',
        "retrievers.hybrid: found nothing",
        'systems.mine.sistem: found an unknown field "sistem"',
        "systems.mine.system: found nothing",
    }


def test_numbers_of_numpy_are_numbers() -> None:
    made = Sweep(dataset="lighthouse", candidates=np.int64(20), ks=np.arange(5, 11, 5).tolist(), seed=np.int32(3))  # type: ignore[arg-type]
    assert (made.candidates, made.ks, made.seed) == (20, (5, 10), 3)
    assert [type(number) for number in (made.candidates, made.seed)] == [int, int]


def test_a_depth_is_a_number_of_hits_or_a_budget_of_tokens() -> None:
    made = Sweep(dataset="lighthouse", ks=["10", " tokens( 2000 )", tokens(2000), 5], primary="recall@tokens(2000)")  # type: ignore[list-item]
    assert made.ks == (10, "tokens(2000)", 5)
    assert Sweep(**made.to_dict()) == made


def test_hub_ids_and_providers_are_taken_as_they_are() -> None:
    names = ["intfloat/e5-small", "openai:text-embedding-3-small", "all-MiniLM"]
    assert Sweep(dataset="lighthouse", embeddings=names).embeddings == tuple(names)
    reranker = "cross-encoder/ms-marco-TinyBERT-L-2-v2"
    assert Sweep(dataset="lighthouse", rerankers=reranker).rerankers == (reranker,)


@pytest.mark.slow
def test_a_mapping_file_is_that_of_a_service_and_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("hitz: results\n", encoding="utf-8")
    address = "http://127.0.0.1:8000/search"
    told = fault("systems", {"shop": {"system": address, "mapping": str(tmp_path / "wrong.yaml")}})
    assert told.startswith("systems.shop.mapping: found ")
    assert 'wrong.yaml", of which ' in told
    assert told.endswith("expected a mapping, as docs/how-to/http.md (for MCP servers docs/how-to/mcp.md) describes it")
    (tmp_path / "shop.yaml").write_text('params: {q: "{query}"}\n', encoding="utf-8")
    told = fault("systems", {"shop": {"system": "my_rag:retriever", "mapping": str(tmp_path / "shop.yaml")}})
    assert "expected one with an HTTP service or an MCP server alone" in told
    made = Sweep(dataset="lighthouse", systems={"shop": {"system": address, "mapping": None}})
    assert made.system("shop").mapping is None


def test_a_name_of_a_hub_dataset_is_taken_as_it_is() -> None:
    assert Sweep(dataset="hf:mteb/scifact").dataset == "hf:mteb/scifact"


def test_systems_are_a_mapping_of_names_or_a_list_with_names() -> None:
    listed = Sweep(dataset="lighthouse", systems=[{"name": "mine", "system": "my_rag:retriever"}])
    assert listed.systems == Sweep(dataset="lighthouse", systems={"mine": "my_rag:retriever"}).systems
