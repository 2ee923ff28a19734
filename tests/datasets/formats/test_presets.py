"""Presets of rows: test sets of ragas, LangSmith, Langfuse and DeepEval; and datasets of ir_datasets by name.

The fixtures of ragas, LangSmith and Langfuse were written by these packages (ragas 0.3.1, langsmith 0.14.17, langfuse
5.0.4); those of DeepEval follow what its `save_as` writes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raglift.datasets.loading import load_dataset
from raglift.errors import LabelWarning, MissingDependency
from raglift.types.labels import Fact, Passage, Query

from .row_files import written

Faults = Callable[..., str]
GALE = "What does the harbour master do when a gale is forecast?"
CONE = "When a gale of force 8 or more is forecast, the harbour master hoists the black cone."
LAMP = "The lamp was first lit on 14 October 1861."


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (
            "a.json",
            [{"input": "Who?", "actual_output": None, "expected_output": "x", "context": ["The master.", "He."]}],
        ),
        ("a.csv", "input,actual_output,expected_output,context,source_file\nWho?,,x,The master.|He.,a.md\n"),
    ],
)
def test_deepeval_goldens(name: str, value: Any, tmp_path: Path) -> None:
    dataset = load_dataset(written(tmp_path, name, value))
    assert dataset.queries == (Query("q1", "Who?", (Fact((Passage("The master."),)), Fact((Passage("He."),)))),)


@pytest.mark.parametrize("file", ["testset.jsonl", "testset.csv", "evaluation.json", "evaluation.csv"])
def test_ragas_contexts_are_facts(file: str, fixtures: Path) -> None:
    first, second = load_dataset(fixtures / "ragas" / file)
    assert (first.id, first.text, first.facts[0]) == ("q1", GALE, Fact((Passage(CONE),)))
    assert first.facts[1].passages[0].text == (
        'Boats of under nine metres are then moved to the "inner" basin; owners\' boats first.\nThe quay is closed.'
    )
    assert second.facts == (Fact((Passage(LAMP),)),)
    assert first.tags == (("multi_hop_specific_query_synthesizer",) if "testset" in file else ())


def test_the_numbers_of_hops_in_ragas_are_no_part_of_contexts(tmp_path: Path) -> None:
    row = {"user_input": GALE, "reference_contexts": [f"<1-hop>\n\n{CONE}", f"<2-hop>\n\n{LAMP}"]}
    (query,) = load_dataset(written(tmp_path, "testset.jsonl", [row]))
    assert query.facts == (Fact((Passage(CONE),)), Fact((Passage(LAMP),)))


def test_langsmith_outputs_are_facts(fixtures: Path, tmp_path: Path) -> None:
    first, second = load_dataset(fixtures / "langsmith" / "examples.jsonl")
    assert (first.id, first.text) == ("0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1", GALE)
    assert first.facts[0] == Fact((Passage(CONE),))
    assert not second.is_labelled
    table = 'id,inputs,outputs\n7,"{""question"": ""Who?""}","{""contexts"": [""The master.""]}"\n'
    assert load_dataset(written(tmp_path, "examples.csv", table)).query("7").facts == (Fact((Passage("The master."),)),)


def test_langfuse_items_that_are_archived_are_left_out(fixtures: Path) -> None:
    with pytest.warns(LabelWarning, match=r"items\.json: 1 of 3 rows left out by the filter status!=ARCHIVED"):
        dataset = load_dataset(fixtures / "langfuse" / "items.json")
    assert [query.id for query in dataset] == ["cm3harbour01", "cm3harbour03"]
    assert dataset.query("cm3harbour03").facts == (Fact((Passage(LAMP),)),)  # from its metadata


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("a.jsonl", [{"user_input": "x", "reference_contexts": ["y", 3]}], "a.jsonl:1: reference_contexts[1]: found 3"),
        ("a.csv", "user_input,reference_contexts\nx,\"['y', open(1)]\"\n", "a.csv:2: reference_contexts: found"),
        ("a.csv", "user_input,reference_contexts\nx,\"['y', 'z\"\n", "a.csv:2: reference_contexts: found"),
        ("a.jsonl", [{"user_input": "x"}], "a.jsonl: found no field with texts in any row"),
        (
            "a.jsonl",
            [{"inputs": {"n": 1}, "outputs": {"context": "y"}}],
            'a.jsonl:1: found no question: an object with "inputs", "outputs"; expected inputs.question or',
        ),
        (
            "a.json",
            [{"id": "a", "input": "x", "expectedOutput": {"facts": "y"}}] * 2,
            '[1]: found the id "a" of a.json',
        ),
    ],
)
def test_every_fault_has_its_line_or_path(name: str, value: Any, expected: str, tmp_path: Path, faults: Faults) -> None:
    assert expected in faults(written(tmp_path, name, value))


@pytest.fixture
def marrow(fixtures: Path, tmp_path: Path) -> str:
    """A dataset that ir_datasets knows, of files on this machine."""
    ir_datasets = pytest.importorskip("ir_datasets")
    beir = load_dataset(fixtures / "beir")
    (tmp_path / "docs.tsv").write_text(
        "".join(f"{each.id}\t{each.text}\n" for each in beir.documents if each.text.strip())
    )
    (tmp_path / "queries.tsv").write_text("".join(f"{query.id}\t{query.text}\n" for query in beir))
    (tmp_path / "qrels").write_text("1 0 18670 2\n1 0 4983 1\n1 0 5836 -1\n")
    files = {f"{name}_tsv": str(tmp_path / f"{name}.tsv") for name in ("docs", "queries")}
    made = ir_datasets.create_dataset(**files, qrels_trec=str(tmp_path / "qrels"))
    name = f"marrow-{tmp_path.name}"
    ir_datasets.registry.register(name, made)
    return name


@pytest.mark.slow
def test_ir_datasets_by_name(marrow: str, fixtures: Path) -> None:
    dataset, beir = load_dataset(f"ir:{marrow}"), load_dataset(fixtures / "beir")
    assert dataset.name == marrow
    assert dataset.query("1").facts == beir.query("1").facts
    assert [passage.doc_id for passage in dataset.query("1").judged_irrelevant] == ["5836"]


@pytest.mark.slow
def test_what_ir_datasets_does_not_know_or_cannot_read(marrow: str, tmp_path: Path, faults: Faults) -> None:
    ir_datasets = pytest.importorskip("ir_datasets")
    assert f'found no dataset "{marrow}x" in ir_datasets' in faults(f"ir:{marrow}x")
    files = {f"{name}_tsv": str(tmp_path / f"{name}.tsv") for name in ("docs", "queries")}
    ir_datasets.registry.register(f"{marrow}-above", ir_datasets.create_dataset(**files))
    ir_datasets.registry.register(f"{marrow}-above/test", ir_datasets.load(marrow))
    said = faults(f"ir:{marrow}-above")
    assert "found a dataset without qrels; expected a dataset with docs, queries and qrels" in said
    assert f", as {marrow}-above/test" in said
    with (tmp_path / "docs.tsv").open("a") as file:
        file.write("5836\ta text of an id that is taken\n")
    (tmp_path / "qrels").write_text("1 0 18670 5000\n")
    said = faults(f"ir:{marrow}")
    assert 'found the id "5836" again; expected a unique id' in said
    assert 'qrels[0].relevance: found "5000"' in said
    (tmp_path / "qrels").write_text("1 0 18670\n")
    assert "found a dataset that ir_datasets cannot read (" in faults(f"ir:{marrow}")


def test_ir_datasets_are_only_read_and_need_their_package(
    fixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingDependency, match=r"raglift\[ir-datasets\]"):
        load_dataset("ir:beir/scifact/test")
