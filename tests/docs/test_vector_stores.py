"""The recipes of docs/how-to/vector_stores.md run on a small corpus: Qdrant in a folder, PostgreSQL where there is one.

`RAGLIFT_TEST_POSTGRES` names a database with the extension pgvector, as postgresql+psycopg://user@127.0.0.1/test; the
tables `mine_1000` and `data_nodes_1000` in it are replaced.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import raglift as rl
from raglift.adapters.embeddings import embedder_by_name
from raglift.datasets.jsonl import write_queries
from raglift.results.evaluation import Evaluation
from raglift.retrieval.embedding import build_index
from raglift.sweep.engine import load_sweep_result
from raglift.sweep.specification.record import load_sweep
from raglift.types.labels import Query

from .pages import ROOT, read_page

PAGE = read_page(ROOT / "docs" / "how-to" / "vector_stores.md")
PYTHON = "\n\n".join(block.text for block in PAGE.python)
SHELL = [block.text for block in PAGE.of("sh")]
(SWEEP,) = (block.text for block in PAGE.of("yaml"))
ONE_PYTHON = """
import shlex, sys
from raglift.cli import main
for line in sys.argv[1:]:
    program, *arguments = shlex.split(line)
    if program == "python":
        exec(arguments[1], {})
        continue
    sys.argv = [program, *arguments]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
"""
DOCUMENTS = ("lamp-and-lens.md", "visiting.md", "volunteers.md")


def installed(*modules: str) -> bool:
    """Whether modules can be imported, without importing them."""
    try:
        return all(importlib.util.find_spec(module) for module in modules)
    except ModuleNotFoundError:  # a package above the module is missing
        return False


needs_qdrant = pytest.mark.skipif(
    not installed("qdrant_client", "langchain_qdrant"),
    reason="the Qdrant recipes were not run: qdrant-client or langchain-qdrant is not installed",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `my_rag.py`, the sweep, and a corpus of three documents with their questions."""
    folder = tmp_path_factory.mktemp("stores")
    whole = rl.load_dataset(ROOT / "corpora" / "lighthouse")
    documents = [document for document in whole.documents if document.id in DOCUMENTS]
    queries = [query for query in whole if query.facts and is_about(query, documents)]
    assert len(queries) >= 5
    (folder / "mine" / "documents").mkdir(parents=True)
    for document in documents:
        (folder / "mine" / "documents" / document.id).write_text(document.text, encoding="utf-8")
    write_queries(queries, folder / "mine" / "queries.jsonl")
    (folder / "my_rag.py").write_text(PYTHON, encoding="utf-8")
    return folder


def is_about(query: Query, documents: list[rl.Document]) -> bool:
    """Whether the passages of a query's labels stand in some of the documents."""
    passages = [passage.text or "" for fact in query.facts for passage in fact.passages]
    return all(any(passage in document.text for document in documents) for passage in passages)


@pytest.fixture(scope="module")
def exact(folder: Path) -> Evaluation:
    """raglift's own dense retriever over the same chunks."""
    dataset = rl.load_dataset(folder / "mine")
    chunks = rl.RecursiveChunker(1000, 100).split(dataset.documents)
    index = build_index(chunks, embedder_by_name("bge-small"))
    return rl.evaluate(rl.DenseRetriever(index), dataset, depth="deep", candidates=10)


def commands(word: str) -> list[str]:
    """The command lines of the page's one block that has a word, without `pip install`."""
    (block,) = (block for block in SHELL if word in block and "pip install" not in block)
    return block.strip().splitlines()


def run(folder: Path, *lines: str) -> str:
    """Run command lines one after the other in one Python, which loads the model once; return what they print."""
    environment = os.environ | {"RAGLIFT_PROGRESS": "0", "PYTHONWARNINGS": "ignore"}
    if "RAGLIFT_TEST_POSTGRES" in os.environ:
        environment["POSTGRES_URL"] = os.environ["RAGLIFT_TEST_POSTGRES"]
    environment.pop("QDRANT_URL", None)
    command = [sys.executable, "-c", ONE_PYTHON, *lines]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ranking(system: str) -> str:
    """The command that keeps the first ten hits of a system."""
    return f"raglift evaluate mine --system my_rag:{system} --depth deep --candidates 10 --output runs/rank_{system}"


def assert_ranked_as(exact: Evaluation, folder: Path, system: str) -> None:
    """Assert that a system's rankings are those of exact search, but for the order of equal scores."""
    found = rl.load_evaluation(folder / "runs" / f"rank_{system}")
    for ours, theirs in zip(exact.run.traces, found.run.traces, strict=True):
        expected, hits = ours.stages[0].ranking, theirs.stages[0].ranking
        scores = {place(hit.chunk): hit.score for hit in expected}
        assert len(hits) == len(expected) == 10
        for ours_hit, theirs_hit in zip(expected, hits, strict=True):
            assert scores[place(theirs_hit.chunk)] == pytest.approx(ours_hit.score, abs=1e-5)


def place(chunk: rl.Chunk) -> tuple[str | None, int | None, int | None]:
    return chunk.doc_id, chunk.start, chunk.end


def test_the_blocks_are_one_module_and_the_sweep_names_its_functions(tmp_path: Path) -> None:
    defined = {node.name for node in ast.parse(PYTHON).body if isinstance(node, ast.FunctionDef)}
    (tmp_path / "stores.yaml").write_text(SWEEP.replace("mine", "lighthouse"), encoding="utf-8")
    sweep = load_sweep(tmp_path / "stores.yaml")
    assert {str(system.reference).removeprefix("my_rag:") for system in sweep.systems} <= defined
    assert set(re.findall(r"my_rag[:.](\w+)", "".join(SHELL))) <= defined


@pytest.mark.full
@needs_qdrant
def test_qdrant_through_langchain(folder: Path, exact: Evaluation) -> None:
    (folder / "stores.yaml").write_text(SWEEP.replace(", my_rag:pgvector_1000", ""), encoding="utf-8")
    count = 'python -c \'import my_rag; print(my_rag.qdrant_client().count("mine_1000").count, "chunks")\''
    fill = commands("fill_qdrant")
    printed = run(
        folder, *fill, count, fill[0], count, ranking("qdrant_1000"), ranking("qdrant_1000_exact"), *commands("sweep")
    )
    assert "mine: QdrantVectorStore + cross-encoder" in printed
    assert_ranked_as(exact, folder, "qdrant_1000")
    assert_ranked_as(exact, folder, "qdrant_1000_exact")
    once, twice = re.findall(r"^(\d+) chunks$", printed, re.MULTILINE)
    assert int(once) == int(twice) > 10  # filling again replaces
    cells = load_sweep_result(folder / "runs" / "stores").finished
    assert len(cells) == 4
