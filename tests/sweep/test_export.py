"""The pipeline of a cell as scripts for LangChain and LlamaIndex: they find what the cell found."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.retrieval.retrievers import parse_retriever
from raglift.sweep.result import SweepResult
from raglift.sweep.scripts import SCRIPTS, Pipeline, literal, script_of
from raglift.sweep.specification.cells import Cell
from raglift.types.dataset import Dataset

ASK = {
    "langchain": "hits = [h.page_content for h in found.invoke(question)[: script.HITS]]",
    "llama_index": "hits = [h.node.text for h in script.search(*found, question)]",
}
CELLS = (
    {"chunker": "recursive:200/20", "embedding": "minilm", "reranker": "late-interaction"},
    {"chunker": "recursive:60/10:tokens", "embedding": "minilm-static"},
    {"chunker": "recursive:120/0", "retriever": "bm25(k1=0.9,stemmer=porter)"},
    {"chunker": "token:40/0", "embedding": "minilm", "retriever": "hybrid(dense=0.7,bm25=0.3,language=none)"},
)


@pytest.fixture(scope="module")
def measured(island: Dataset, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    """Four cells of all kinds, on a dataset whose folder has a name that must be escaped."""
    folder = tmp_path_factory.mktemp("data") / """an 'odd" name"""
    rl.write_dataset(island, folder)
    sweep = rl.Sweep(dataset=str(folder), include=list(CELLS), candidates=6, ks=(1, 3), primary="ndcg@3")
    return sweep.run(tmp_path_factory.mktemp("sweep") / "sweep", progress=False)


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["langchain", pytest.param("llama_index", marks=pytest.mark.full)])
def test_the_scripts_rank_as_the_cells_do(measured: SweepResult, tmp_path: Path, framework: str) -> None:
    folders = []
    for number, entry in enumerate(measured.results):
        measured.export_best(tmp_path / str(number), cell=entry.cell.name)
        folders.append(str(tmp_path / str(number) / f"{framework}_pipeline.py"))
    evaluation = measured.results[0].evaluation
    assert evaluation is not None
    questions = [query.text for query in evaluation.dataset]
    code = f"""
import importlib.util, json, sys, warnings
warnings.simplefilter("ignore")
told = []
for path in {folders!r}:
    spec = importlib.util.spec_from_file_location("script", path)
    script = importlib.util.module_from_spec(spec)
    sys.modules["script"] = script
    spec.loader.exec_module(script)
    found = script.build()
    of_cell = []
    for question in {questions!r}:
        {ASK[framework]}
        of_cell.append(hits)
    told.append(of_cell)
print(json.dumps(told))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    for entry, found in zip(measured.results, told, strict=True):
        assert entry.evaluation is not None
        traces = entry.evaluation.run.traces
        expected = [[hit.chunk.text for hit in trace.stages[-1].ranking.hits[:3]] for trace in traces]
        assert found == expected, entry.cell.name


@pytest.mark.slow
def test_the_recommended_cell_is_exported_and_nothing_is_replaced_unasked(
    measured: SweepResult, tmp_path: Path
) -> None:
    files = measured.export_best(tmp_path / "best")
    assert [file.name for file in files] == ["langchain_pipeline.py", "llama_index_pipeline.py"]
    best = measured.recommend().recommended
    assert all(f"CELL = {literal(best)}" in file.read_text(encoding="utf-8") for file in files)
    with pytest.raises(ConfigurationError, match="found something there; expected a free name, or overwrite=True"):
        measured.export_best(tmp_path / "best")
    assert measured.export_best(tmp_path / "best", overwrite=True) == files


@pytest.mark.slow
def test_what_cannot_be_exported_is_refused_with_the_reason(
    measured: SweepResult, island: Dataset, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="cell: found 'nobody'; expected one of"):
        measured.export_best(tmp_path / "out", cell="nobody")
    own = rl.Sweep(dataset=island, systems={"mine": lambda query: ["The lamp is lit at dusk"]}, ks=(1,))
    result = own.run(tmp_path / "own", progress=False)
    with pytest.raises(ConfigurationError, match="mine · none, a system of your own; expected a cell of raglift"):
        result.export_best(tmp_path / "out")
    objects = rl.Sweep(dataset=island, retrievers=["bm25"], ks=(1,)).run(tmp_path / "objects", progress=False)
    with pytest.raises(ConfigurationError, match="the dataset 'island' cannot be loaded"):
        objects.export_best(tmp_path / "out")
    first, *others = measured.results
    unmeasured = replace(measured, results=(replace(first, evaluation=None), *others))
    with pytest.raises(ConfigurationError, match="which was not measured"):
        unmeasured.export_best(tmp_path / "out", cell=first.cell.name)
    assert not (tmp_path / "out").exists()


HOSTILE = ['"""\nimport os #', "a\\", 'it\'s "so"', "new\nline", "\u202e", "{x}", "MADE"]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("script", SCRIPTS)
def test_texts_of_the_user_stand_in_scripts_as_constants_alone(text: str, script: str) -> None:
    cell = Cell("recursive:100/0", text, parse_retriever("hybrid"), text)
    written = script_of(Pipeline(cell, text, {"documents": text, "include": [text]}, 50, 10, "auto"), script)
    names: dict[str, object] = {}
    for line in written.splitlines():
        if line.startswith(("DATASET = ", "EMBEDDING = ", "RERANKER = ", "DOCUMENTS = ", "INCLUDE = ")):
            name, _, value = line.partition(" = ")
            names[name] = ast.literal_eval(value)
    assert names["DATASET"] == names["EMBEDDING"] == names["RERANKER"] == names["DOCUMENTS"] == text
    assert names["INCLUDE"] == [text]
    assert "\u202e" not in written
    compile(written, "script", "exec")


@pytest.mark.slow
def test_scripts_are_formatted_and_without_a_finding(tmp_path: Path) -> None:
    chunkers = ("recursive:100/0", "token:40/0", "my_rag:splitter")
    for number, chunker in enumerate(chunkers):
        for kind in ("dense", "bm25", "hybrid(dense=0.7,bm25=0.3,language=en)"):
            for reranker in ("none", "late-interaction", "some/cross-encoder"):
                embedding = None if kind == "bm25" else "minilm"
                pipeline = Pipeline(Cell(chunker, embedding, parse_retriever(kind), reranker), "x", {}, 50, 10, "auto")
                name = f"{number}_{kind[:4]}_{reranker[:4]}"
                for script in SCRIPTS:
                    (tmp_path / f"{name}_{script}").write_text(script_of(pipeline, script), encoding="utf-8")
    for command in (
        ["check", "--isolated", "--select", "E,F,I,B,UP", "--ignore", "E501"],
        ["format", "--isolated", "--check"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "."], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
