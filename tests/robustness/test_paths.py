"""Names that become paths: whatever is in them, nothing is read or written outside the folder that was named."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.datasets.corpora.catalogue import read_corpus
from raglift.datasets.formats.writing import write_dataset
from raglift.datasets.loading import load_dataset
from raglift.errors import DatasetError, RagliftError
from raglift.results.evaluation import Evaluation
from raglift.storage.rankings.exporting import export
from raglift.sweep.engine import load_sweep_result
from raglift.sweep.folder import SweepFolder
from raglift.sweep.specification.cells import Cell
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query

from .conftest import content, make_evaluation

HOSTILE = [
    "../../outside",
    "/etc/passwd",
    "..",
    ".",
    "a/../../b",
    "..\\..\\outside",
    "C:\\outside",
    "nul",
    "-rf",
    "a\x00b",
    "line\nbreak",
    "x" * 5000,
    "\ud800",
    "~/outside",
    "$HOME",
]
NAMES = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=80))
SAFE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@pytest.mark.slow
@given(NAMES)
def test_a_cell_of_any_name_is_kept_under_a_plain_one(name: str) -> None:
    assert SAFE.fullmatch(Cell(system=name, reranker=name).key)
    assert len(Cell(system=name).key) < 100


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_cell_that_a_strangers_sweep_names_is_looked_for_in_the_sweep_alone(
    name: str, evaluation: Evaluation, tmp_path: Path
) -> None:
    evaluation.save(tmp_path / "outside")
    cells = [{"system": name, "reranker": "none"}]
    head = {"format": 1, "title": "t", "primary": "ndcg@5", "primary_named": True, "seed": 0, "hash": "h"}
    head |= {"sweep": {"budget": 2000, "margin": 0.03}, "cells": cells}
    (tmp_path / "sweeps" / "one" / "cells").mkdir(parents=True)
    (tmp_path / "sweeps" / "one" / "sweep.json").write_text(json.dumps(head), "utf-8")
    before = content(tmp_path)
    with suppress(RagliftError):
        assert not load_sweep_result(tmp_path / "sweeps" / "one").finished
    place = SweepFolder(tmp_path / "sweeps" / "one").place(Cell(system=name).key, is_cell=True)
    assert place.parent == tmp_path / "sweeps" / "one" / "cells"
    assert content(tmp_path) == before


@pytest.mark.parametrize("name", HOSTILE)
def test_documents_of_any_id_are_written_in_the_folder_of_their_dataset(name: str, tmp_path: Path) -> None:
    texts = [Document(f"{name}.md", "The lamp is lit at dusk."), Document("fog.txt", "The horn gives two blasts.")]
    dataset = Dataset((Query("q1", "when?", (Fact((Passage("The lamp"),)),)),), tuple(texts))
    (tmp_path / "inner").mkdir()
    try:
        write_dataset(dataset, tmp_path / "inner" / "set")
    except DatasetError:  # half a surrogate pair has no place in any file
        assert name == "\ud800"
    assert {path.partition("/")[0] for path in content(tmp_path)} <= {"inner"}
    assert {path.name for path in (tmp_path / "inner").iterdir()} <= {"set"}
    if name != "\ud800":
        assert {document.text for document in load_dataset(tmp_path / "inner" / "set").documents} == {
            document.text for document in texts
        }


@pytest.mark.parametrize("name", HOSTILE)
def test_rankings_of_any_ids_are_exported_to_the_folder_alone(name: str, tmp_path: Path) -> None:
    evaluation = make_evaluation()
    queries = (replace(evaluation.dataset.queries[0], id=name), *evaluation.dataset.queries[1:])
    traces = (replace(evaluation.run.traces[0], query_id=name), *evaluation.run.traces[1:])
    dataset = replace(evaluation.dataset, queries=queries, name=name)
    named = replace(evaluation, dataset=dataset, run=replace(evaluation.run, traces=traces))
    (tmp_path / "inner").mkdir()
    export(named, tmp_path / "inner" / "out")
    assert {path.name for path in (tmp_path / "inner").iterdir()} == {"out"}
    assert {path.partition("/")[0] for path in content(tmp_path)} == {"inner"}


@pytest.mark.parametrize("field", ["documents", "file"])
@pytest.mark.parametrize("name", ["../outside", "/etc", "a/b", "c:outside"])
def test_a_corpus_names_nothing_outside_its_folder(field: str, name: str, tmp_path: Path) -> None:
    head = 'title = "t"\ndescription = "d"\nlanguage = "en"\nlicence = "CC0-1.0"\nsources = ["s"]\n'
    text = f'[text]\ndoc = "d"\nfile = "{name}"\nformat = "plain"\nurls = ["https://example.org/x"]\nmax_bytes = 9\n'
    (tmp_path / "corpus.toml").write_text(head + (f'documents = "{name}"\n' if field == "documents" else text), "utf-8")
    with pytest.raises(DatasetError, match="a name in the folder of the corpus, without any path"):
        read_corpus(tmp_path)
