from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raglift as rl
from raglift.errors import SweepError
from raglift.retrieval.chunkers import RecursiveChunker
from raglift.retrieval.retrievers import RetrieverSpec
from raglift.sweep.specification.cells import Cell, SystemSpec
from raglift.sweep.specification.record import Sweep


def sweep(**fields: Any) -> Sweep:
    return rl.Sweep(**{"dataset": "lighthouse", **fields})


def names(**fields: Any) -> list[str]:
    return [cell.name for cell in sweep(**fields).cells()]


def faults(**fields: Any) -> dict[str, tuple[str, str]]:
    with pytest.raises(SweepError) as caught:
        sweep(**fields)
    return {fault.where: (fault.found, fault.expected) for fault in caught.value.faults}


def test_a_sweep_of_nothing_but_a_dataset_is_one_cell() -> None:
    assert names() == ["recursive:1000/100 · bge-small · dense · none"]


def test_the_grid_is_every_combination() -> None:
    both = sweep(
        chunkers=["recursive:1000/100", "recursive:200/0"],
        embeddings=["bge-small", "minilm"],
        retrievers=["dense", "bm25", "hybrid"],
        rerankers=["none", "late-interaction"],
    )
    # 2 chunkers × (2 models × 2 retrievers, and bm25) × 2 rerankers
    assert len(both.cells()) == 2 * 5 * 2
    assert len({cell.name for cell in both.cells()}) == len({cell.key for cell in both.cells()}) == 20


def test_what_is_excluded_is_left_out_and_what_is_included_is_added_once() -> None:
    assert names(
        rerankers=["none", "late-interaction"],
        retrievers=["dense", "bm25"],
        exclude=[{"retriever": "bm25", "reranker": "late-interaction"}, {"retriever": ["dense"], "reranker": None}],
        include=[
            {"retriever": "bm25"},
            {"chunker": "token:250/0", "embedding": "minilm", "reranker": "late-interaction"},
        ],
    ) == [
        "recursive:1000/100 · bge-small · dense · late-interaction",
        "recursive:1000/100 · bm25 · none",
        "token:250/0 · minilm · dense · late-interaction",
    ]


def test_without_parts_of_its_own_a_list_or_systems_have_no_grid_beside_them() -> None:
    assert names(include={"retriever": "bm25"}) == ["recursive:1000/100 · bm25 · none"]
    assert names(systems="my_rag:build", rerankers=["none"]) == ["my_rag:build · none"]
    assert names(systems="my_rag:build", retrievers="bm25") == [
        "recursive:1000/100 · bm25 · none",
        "my_rag:build · none",
    ]


def test_systems_are_references_or_objects_each_with_its_own_rerankers_or_the_sweeps() -> None:
    system = object()
    made = sweep(
        systems={
            "mine": system,
            "theirs": "their_rag:build",
            "with its own": {"system": system, "rerankers": ["late-interaction"]},
        },
        rerankers=[None, "late-interaction"],
    )
    assert [cell.name for cell in made.cells()] == [
        "mine · none",
        "mine · late-interaction",
        "theirs · none",
        "theirs · late-interaction",
        "with its own · late-interaction",
    ]
    assert made.system("mine").system is system
    assert made.system("mine").reference is None
    assert made.system("theirs").reference == "their_rag:build"
    listed = sweep(systems=["a:b", {"name": "n", "system": "a:c", "rerankers": "none"}, SystemSpec("m", system)])
    assert [cell.system for cell in listed.cells()] == ["a:b", "n", "m"]


def test_values_are_kept_in_their_shortest_form() -> None:
    made = sweep(
        chunkers=[
            "recursive:1000/100:characters",
            RecursiveChunker(1000, 100),
            {"splitter": "recursive", "size": 1000, "overlap": 100, "unit": "characters"},
            {"splitter": "token", "size": 9, "overlap": 1, "unit": "tokens"},
            {"splitter": "token", "size": 9, "overlap": 1, "encoding": "o200k_base"},
            {"splitter": "my_rag:splitter"},
        ],
        retrievers=["hybrid(dense=1.0, bm25=1)", {"hybrid": {"constant": 60}}, RetrieverSpec("hybrid"), "bm25"],
        rerankers=["None", None, "none"],
        metrics=["MRR", "ndcg@ 7"],
        ks=range(2, 4),
        primary="NDCG@7",
    )
    assert made.chunkers == (
        "recursive:1000/100",
        "token:9/1",
        "token:9/1:tokens:o200k_base",
        "my_rag:splitter",
    )
    assert made.retrievers == (RetrieverSpec("hybrid"), RetrieverSpec("bm25"))
    assert made.rerankers == ("none",)
    assert made.metrics == ("rr", "ndcg@7")
    assert made.ks == (2, 3)
    assert made.primary == "ndcg@7"
    assert sweep(chunkers="recursive:200/0", ks=10) == sweep(chunkers=["recursive:200/0"], ks=[10])
    assert sweep(encoding="windows-1252").hash == sweep(encoding="cp1252").hash


PARTS = st.fixed_dictionaries(
    {},
    optional={
        "chunkers": st.lists(st.sampled_from(["recursive:9/1", "token:9/1", "recursive:9/1:characters"]), min_size=1),
        "embeddings": st.lists(st.sampled_from(["bge-small", "minilm", "openai:x"]), min_size=1),
        "retrievers": st.lists(st.sampled_from(["dense", "bm25", "hybrid", "hybrid(dense=2,bm25=1)"]), min_size=1),
        "rerankers": st.lists(st.sampled_from(["none", None, "late-interaction"]), min_size=1),
        "include": st.lists(st.sampled_from([{}, {"retriever": "bm25"}, {"chunker": "token:7/0"}])),
        "systems": st.sampled_from([(), "a:b", {"m": "a:b", "n": {"system": "c:d", "rerankers": None}}]),
    },
)


@pytest.mark.slow
@given(PARTS)
def test_a_sweep_comes_back_from_json(parts: dict[str, Any]) -> None:
    made = sweep(**parts)
    again = rl.Sweep(**json.loads(json.dumps(made.to_dict())))
    assert again == made
    assert again.hash == made.hash
    assert again.cells() == made.cells()
    assert len({cell.key for cell in made.cells()}) == len(made.cells()) > 0


@pytest.mark.slow
def test_the_hash_changes_with_every_field() -> None:
    changed = {
        "dataset": "shop_support",
        "documents": ".",
        "include_files": "*.qmd",
        "encoding": "cp1252",
        "chunkers": "token:9/1",
        "embeddings": "minilm",
        "retrievers": "bm25",
        "rerankers": "late-interaction",
        "exclude": None,
        "include": {"retriever": "bm25"},
        "systems": "a:b",
        "candidates": 51,
        "budget": 500,
        "ks": [1, 10],
        "metrics": "ndcg",
        "primary": "recall@5",
        "match": "containment",
        "match_threshold": 0.4,
        "profile": "tutorial",
        "dtype": "float32",
        "device": "cuda:1",
        "batch_size": 4096,
        "doc_key": "source",
        "latency": 9,
        "effort": "40%",
        "seed": 1,
        "name": "a name",
    }
    how_called = {"concurrency": 4, "timeout": 2.5, "retries": 0, "margin": 0.1}
    assert {*changed, *how_called} == {field.name for field in dataclasses.fields(Sweep)}
    base: dict[str, Any] = {"retrievers": ["dense", "bm25"]}
    hashes = {sweep(**{**base, name: value}).hash for name, value in changed.items() if value is not None}
    hashes |= {sweep(**base).hash, sweep(**base, exclude={"retriever": "bm25"}).hash}
    assert len(hashes) == len(changed) + 1
    assert sweep(**base, **how_called).hash == sweep(**base).hash  # they change no figure of a cell


def test_a_dataset_object_is_told_by_its_name() -> None:
    data = rl.load_dataset("lighthouse")
    made = sweep(dataset=data)
    assert made.dataset is data
    assert made.title == made.to_dict()["dataset"] == "lighthouse"
    assert sweep(name="chunk sizes").title == "chunk sizes"
    for name, value in {"documents": ".", "include_files": "*.qmd", "encoding": "cp1252"}.items():
        assert faults(dataset=data, **{name: value})[name][1] == "none: a Dataset brings its own documents"


def test_a_dataset_that_is_a_path_is_called_as_evaluate_calls_it(tmp_path: Path) -> None:
    labels = tmp_path / "manuals" / "queries.jsonl"
    labels.parent.mkdir()
    labels.write_text('{"id": "q", "text": "When?", "relevant": [{"document": "a.md", "text": "at dusk"}]}\n')
    (labels.parent / "other.jsonl").write_bytes(labels.read_bytes())
    assert sweep(dataset=str(labels)).title == "manuals"
    assert sweep(dataset=str(labels.parent)).title == "manuals"
    assert sweep(dataset=str(labels.parent / "other.jsonl")).title == "other"
    assert sweep(dataset="corpora/lighthouse").title == "lighthouse"


WORDS = st.sampled_from(
    [
        "dense",
        "bm25",
        "hybrid",
        "bge-small",
        "none",
        "recursive:9/1",
        "a:b",
        "ndcg@10",
        "chunker",
        "retriever",
        "tokens(9)",
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | WORDS | st.builds(object)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            WORDS | st.sampled_from(["system", "name", "splitter", "size", "hybrid", "rerankers"]), inner, max_size=3
        )
        | st.tuples(inner)
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([field.name for field in dataclasses.fields(Sweep)]), VALUES)
def test_whatever_a_field_holds_is_a_sweep_or_a_fault(name: str, value: Any) -> None:
    try:
        made = sweep(**{name: value})
    except SweepError:
        return  # any other exception would be a defect
    assert len({cell.name for cell in made.cells()}) == len(made.cells()) > 0
    assert made.hash


def test_records_are_taken_where_they_belong_and_are_checked() -> None:
    made = sweep(
        retrievers="dense",
        rerankers=["none", "late-interaction"],
        exclude={"reranker": "none"},
        include={"retriever": "bm25"},
    )
    again = sweep(
        retrievers="dense",
        rerankers=made.rerankers,
        exclude=made.exclude,
        include=[*made.include, Cell("token:9/1:tokens", "bge-small", RetrieverSpec("dense"))],
        systems=SystemSpec("m", "a:b", ["none", None]),
    )
    assert [cell.name for cell in again.cells()] == [
        "recursive:1000/100 · bge-small · dense · late-interaction",
        "recursive:1000/100 · bm25 · none",
        "token:9/1 · bge-small · dense · none",
        "m · none",
    ]
    assert set(faults(include=made.exclude)) == {"include[0]"}
    assert "include[0]" in faults(include=[Cell(system="a:b")])
    assert faults(systems=[SystemSpec("m", "nothing")])["systems[0]"][0] == '"nothing"'
    assert faults(include=[Cell("recursiv:9/1", None, RetrieverSpec("bm25"))])["include[0]"][0] == "'recursiv:9/1'"
