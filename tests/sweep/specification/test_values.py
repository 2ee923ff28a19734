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


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("dataset", "lighthose", 'dataset: found "lighthose"; expected a file or a folder, of which there is none at'),
        ("dataset", 3, "dataset: found 3; expected a text"),
        ("dataset", None, "dataset: found null; expected a text"),
        ("documents", "nowhere.md", 'documents: found "nowhere.md"; expected a file or a folder; there is none at'),
        ("include_files", [3], "include_files[0]: found 3; expected a text"),
        ("include", "*.qmd", "reranker: none}; files of the documents are include_files: ['*.qmd']"),
        ("encoding", "cp1251x", 'encoding: found "cp1251x"; expected a text encoding that Python knows, as cp1252'),
        ("chunkers", [], "chunkers: found an empty list; expected at least one"),
        ("chunkers", {"recursive:9/1"}, "chunkers: found a set; expected a list"),
        ("chunkers", [7], "chunkers[0]: found 7; expected a text; put a name that looks like a number"),
        ("chunkers", "recursive:9", "chunkers: found 'recursive:9'; expected KIND:SIZE/OVERLAP"),
        (
            "chunkers",
            "recursive:9/9",
            "chunkers: found chunk overlap 9; expected 0 or more and less than the chunk size",
        ),
        ("chunkers", "recursive:9/1:words", "chunkers: found chunk unit 'words'; expected one of characters, tokens"),
        ("chunkers", "recursiv:9/1", "chunkers: found 'recursiv:9/1'; expected recursive or token"),
        ("chunkers", RecursiveChunker(9, 1, separators=(".",)), "expected"),
        ("chunkers", {"splitter": "recursive", "size": 9}, "found a size without an overlap"),
        ("chunkers", {"size": 9, "overlap": 1}, "chunkers.splitter: found nothing; expected a splitter, as recursive"),
        ("chunkers", {"splitter": "recursive", "size": 9, "overlap": 1.5}, "overlap: found 1.5; expected an integer"),
        ("chunkers", {"splitter": "recursive", "size": True, "overlap": 1}, "size: found true; expected an integer"),
        ("chunkers", {"splitter": "recursive", "size": 9, "overlap": 1, "unit": "token"}, 'nearest: "tokens"'),
        ("chunkers", {"splitter": "lines", "size": 9, "overlap": 1}, "found 'lines:9/1'; expected"),
        ("embeddings", "", 'embeddings: found ""; expected a text that is not empty'),
        ("embeddings", "minilm_static2", "expected 'minilm-static', a path, a hub id, or provider:model"),
        ("embeddings", "./no/model", 'found "./no/model"; expected the folder of a model; there is none at no/model'),
        ("rerankers", [False], "rerankers[0]: found false; expected a text; YAML reads yes, no, on and off as"),
        ("rerankers", "late_interacton", "expected 'late-interaction', 'none', or the name or path of a cross-encoder"),
        ("rerankers", "/no/model", "expected the folder of a model; there is none at /no/model"),
        ("retrievers", "dens", "found 'dens' (did you mean 'dense'?); expected one of dense, bm25, hybrid"),
        ("retrievers", {"hybrid": {"dense": 0}}, "found fusion weights (0, 1.0); expected 2 numbers above 0"),
        ("retrievers", {"hybrid": {"sparse": 1}}, 'retrievers.hybrid.sparse: found an unknown field "sparse"'),
        ("retrievers", "bm25(language=german)", "retrievers: found bm25 language 'german' (did you mean 'de'?)"),
        ("retrievers", {"hybrid": {"b": 2}}, "retrievers: found bm25 b 2; expected a number from 0 to 1"),
        ("retrievers", {"hybrid": None}, "retrievers.hybrid: found null; expected a mapping"),
        ("include", ["dense"], 'include[0]: found "dense"; expected a mapping, as {embedding: minilm'),
        (
            "include",
            {"retriever": "bm25", "embedding": "minilm"},
            "found the embedding 'minilm' with bm25; expected none",
        ),
        ("include", {"retrievers": "bm25"}, 'include.retrievers: found an unknown field "retrievers"'),
        ("systems", "my_rag", 'systems: found "my_rag"; expected module:name of a retriever or of a function'),
        ("systems", "my-rag:build", "expected module:name"),
        ("systems", "localhost:8000/find", "http:// or https:// before it, as http://localhost:8000/search"),
        ("systems", [7], "systems[0]: found 7; expected module:name"),
        ("systems", [object()], "systems[0]: found a object without a name; expected a name: systems={'mine'"),
        ("systems", {"mine": {"system": "a:b", "rerankers": []}}, "systems.mine.rerankers: found an empty list"),
        ("candidates", 0, "candidates: found 0; expected an integer, 1 or more"),
        ("candidates", "50", 'candidates: found "50"; expected an integer without quotation marks'),
        ("candidates", 50.0, "candidates: found 50.0; expected an integer"),
        ("ks", [], "ks: found an empty list; expected at least one"),
        ("ks", [1, 0], "ks[1]: found 0; expected an integer of 1 or more, or a budget of tokens, as tokens(2000)"),
        ("ks", [10, "tokens(0)"], 'ks[1]: found "tokens(0)"; expected an integer of 1 or more, or a budget'),
        ("ks", [1.5], "ks[0]: found 1.5; expected an integer of 1 or more"),
        ("ks", "1,5,10", 'ks: found "1,5,10"; expected an integer of 1 or more, or'),
        ("metrics", "ndgc", "metrics: found 'ndgc' (did you mean 'ndcg'?); expected one of hit_rate"),
        ("primary", "ndcg @", "primary: found 'ndcg @'; expected a name and a depth"),
        ("match", "cover", 'match: found "cover"; expected one of "containment", "coverage", "fuzzy"'),
        ("match_threshold", "0.5", 'match_threshold: found "0.5"; expected a number without quotation marks'),
        ("profile", "Tutorial", 'nearest: "tutorial"'),
        ("dtype", "bf16", 'dtype: found "bf16"; expected one of "auto"'),
        ("latency", -1, "latency: found -1; expected an integer, 0 or more"),
        ("seed", -1, "seed: found -1; expected an integer, 0 or more"),
        ("name", 2024, "name: found 2024; expected a text; put a name that looks like a number in quotation marks"),
        ("dataset", "9" * 5000, "expected a file or a folder, of which there is none at"),
        ("dataset", "a\0", "none at a�, or a corpus"),
        ("embeddings", "./" + "9" * 5000, "expected the folder of a model; there is none at"),
        ("doc_key", " ", 'doc_key: found " "; expected a text that is not empty'),
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


def test_folders_of_models_are_names_of_models(tmp_path: Path) -> None:
    made = Sweep(dataset="lighthouse", embeddings=str(tmp_path), rerankers=str(tmp_path))
    assert made.cells()[0].embedding == made.cells()[0].reranker == str(tmp_path)


def test_hub_ids_and_providers_are_taken_as_they_are() -> None:
    names = ["intfloat/e5-small", "openai:text-embedding-3-small", "all-minilm"]
    assert Sweep(dataset="lighthouse", embeddings=names).embeddings == tuple(names)
    reranker = "cross-encoder/ms-marco-TinyBERT-L-2-v2"
    assert Sweep(dataset="lighthouse", rerankers=reranker).rerankers == (reranker,)
