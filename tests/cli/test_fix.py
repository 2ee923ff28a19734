"""`raglift fix`: documents by their place, what is kept with a run, and what a run may not name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import raglift as rl

pytestmark = pytest.mark.slow


@pytest.fixture
def saved(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of BM25 without stems, which loses a fact, and whose documents are beside its dataset."""
    monkeypatch.chdir(tmp_path)
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in {"a": "The lamp is kept in the shed.", "b": "The ferry leaves at noon.", "c": "Hens."}.items():
        (docs / f"{name}.txt").write_text(text)
    labels = {"question": "keeping lamps", "passages": ["The lamp is kept in the shed."]}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "queries.jsonl").write_text(json.dumps(labels) + "\n")
    asked = ("--retriever", "bm25(language=none)", "-k", "1", "-o", "saved")
    assert run("evaluate", "mine/queries.jsonl", "--documents", "docs", *asked)[0] == 0
    return tmp_path / "saved"


def test_documents_are_found_where_they_are_said_to_be_and_others_are_noted(run, saved: Path) -> None:
    code, out, _ = run("fix", saved, "--documents", "docs", "--causes", "--json")
    found = json.loads(out)
    assert (code, [one["cause"] for one in found["lost"]], found["notes"]) == (0, ["language"], [])
    (saved.parent / "docs" / "d.txt").write_text("A peat fire.")
    _, out, _ = run("fix", saved, "--documents", "docs", "--causes", "--json")
    assert len(json.loads(out)["notes"]) == 1


def test_a_dataset_that_is_not_found_by_its_name_is_asked_for(run, saved: Path) -> None:
    (saved.parent / "mine").rename(saved.parent / "moved")
    code, _, err = run("fix", saved)
    assert code != 0
    assert "--documents" in err


def test_a_damaged_file_of_causes_is_replaced(run, saved: Path) -> None:
    (saved / "repairs.json").write_text("{")
    assert run("fix", saved, "--documents", "docs", "--causes")[0] == 0
    assert rl.load_evaluation(saved).failure_analysis().causes == (("language", 1),)
