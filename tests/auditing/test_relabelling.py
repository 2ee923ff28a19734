"""Literal texts become the places their locations, and nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.auditing.relabelling import Relabelling, relabel
from raglift.datasets.jsonl import read_queries
from raglift.errors import ConfigurationError, DatasetError
from raglift.text.normalization import normalize
from raglift.types.checking import has_words
from raglift.types.documents import Document

TEXT = (
    "The keeper climbed the tower at dusk, trimmed the wick, and wrote the day into\nhis book. “It blows,” he wrote. "
    "The keeper climbed the tower at dawn, and wrote nothing.\n"
)
DOCUMENT = Document("tower", TEXT)
COPY = Document("copy", "Elsewhere: and wrote nothing at all.")


def written(folder: Path, *relevant: Any, **fields: Any) -> Path:
    path = folder / "queries.jsonl"
    entry = {"id": 7, "query": "Who wrote?", "relevant": list(relevant), **fields}
    path.write_text("\n" + json.dumps(entry) + "\n\n", encoding="utf-8")
    return path


def labels(relabelling: Relabelling) -> list[Any]:
    relevant: list[Any] = json.loads(relabelling.lines[0])["relevant"]
    return relevant


def test_a_text_that_occurs_once_becomes_an_anchor_of_few_words(tmp_path: Path) -> None:
    path = written(tmp_path, "trimmed the  wick, and wrote the day into his BOOK. “it blows,”")
    found = relabel(path, [DOCUMENT])
    assert labels(found) == [{"doc": "tower", "from": "trimmed the wick, and", "to": "his book. “It blows,”"}]
    assert (found.moved, found.left) == (1, ())


def test_the_beginning_is_as_long_as_it_takes_to_be_unique(tmp_path: Path) -> None:
    path = written(tmp_path, "The keeper climbed the tower at dawn, and wrote nothing")
    first = labels(relabel(path, [DOCUMENT]))[0]["from"]
    assert first == "The keeper climbed the tower at dawn,"


def test_what_occurs_several_times_or_nowhere_is_left_and_listed(tmp_path: Path) -> None:
    given = ["and wrote nothing", "he said nothing", ["the keeper climbed", "trimmed the wick, and wrote"]]
    found = relabel(written(tmp_path, *given), [DOCUMENT, COPY])
    moved = {"doc": "tower", "from": "trimmed the wick, and", "to": "the wick, and wrote"}
    assert labels(found) == ["and wrote nothing", "he said nothing", ["the keeper climbed", moved]]
    assert [(each.query_id, each.where) for each in found.left] == [
        ("7", "relevant[0]"),
        ("7", "relevant[1]"),
        ("7", "relevant[2][0]"),
    ]
    assert found.left[0].reason.startswith('it occurs 2 times in 2 documents: "tower" at')
    assert found.left[1].reason == "it occurs nowhere"


def test_grades_and_annotators_stay_with_a_text_that_is_replaced(tmp_path: Path) -> None:
    annotator = {"model": "gpt", "prompt": "p", "date": "2026-11-21"}
    given = {"text": "trimmed the wick, and wrote the day", "grade": 2, "annotator": annotator}
    found = relabel(written(tmp_path, given, [{"chunk": "c1"}, "trimmed the wick"]), [DOCUMENT], "offsets")
    start = TEXT.index("trimmed")
    place = {"doc": "tower", "start": start, "end": start + len(given["text"])}
    shorter = {"doc": "tower", "start": start, "end": start + len("trimmed the wick")}
    assert labels(found) == [{**place, "grade": 2, "annotator": annotator}, [{"chunk": "c1"}, shorter]]


def test_a_text_that_ends_within_a_character_is_left_with_the_reason(tmp_path: Path) -> None:
    document = Document("d", "They waited at the Kad\u0130, and the boat came late in the evening.")
    found = relabel(written(tmp_path, "waited at the kadi", "and the boat came late"), [document])
    assert found.left[0].reason == "it begins or ends within a character of d: é may be written as e and an accent"
    assert labels(found)[1] == {"doc": "d", "from": "and the boat came", "to": "the boat came late"}


def test_everything_else_is_kept(tmp_path: Path) -> None:
    given = [
        {"doc": "tower", "from": "trimmed the wick", "to": "book", "grade": 2},
        {"doc": "tower", "start": 4, "end": 10},
        {"chunk": "c1"},
        "trimmed the wick, and wrote the day",
    ]
    path = written(tmp_path, *given, tags=["easy"], judged_irrelevant=["“It blows,” he wrote."])
    entry = json.loads(relabel(path, [DOCUMENT], "offsets").lines[0])
    assert list(entry) == ["id", "query", "relevant", "tags", "judged_irrelevant"]
    assert (entry["id"], entry["tags"], entry["relevant"][:3]) == (7, ["easy"], given[:3])
    assert entry["judged_irrelevant"] == [{"doc": "tower", "start": 89, "end": 110}]


def test_documents_and_a_known_form_are_needed(tmp_path: Path) -> None:
    path = written(tmp_path, "trimmed the wick")
    with pytest.raises(ConfigurationError, match="found no documents"):
        relabel(path, [])
    with pytest.raises(ConfigurationError, match="found 'spans'; expected one of 'anchors', 'offsets'"):
        relabel(path, [DOCUMENT], "spans")  # type: ignore[arg-type]


def test_a_file_that_cannot_be_read_is_told_with_every_fault(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"id": "1", "query": "q", "relevant": [{"doc": "sea", "start": 1, "end": 2}]}\n[]\nnot JSON\n')
    with pytest.raises(DatasetError) as caught:
        relabel(path, [DOCUMENT])
    assert len(caught.value.faults) == 3
    line = '{"id": "1", "query": "q", "relevant": []}\n'
    for text, message in ((line * 2, 'found the id "1" of line 1; expected a unique id'), ("\n", "found no queries")):
        path.write_text(text)
        with pytest.raises(DatasetError, match=message):
            relabel(path, [DOCUMENT])


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from(["anchors", "offsets"]))
def test_every_label_leads_back_to_where_it_was_cut(
    tmp_path_factory: pytest.TempPathFactory, data: Any, to: Any
) -> None:
    words = st.sampled_from(["wrote", "the", "keeper,", "“it", "É\u0301", "İ", "\n", "a"])
    text = " ".join(data.draw(st.lists(words, min_size=3, max_size=40)))
    start = data.draw(st.integers(0, len(text) - 2))
    label = text[start : data.draw(st.integers(start + 1, len(text)))]
    if not has_words(label):
        return
    document = Document("d", text)
    folder = tmp_path_factory.mktemp("labels")
    path = written(folder, label)
    before = read_queries(path, [document])[0].facts[0].passages[0]
    found = relabel(path, [document], to)
    found.write(folder / "new.jsonl")
    after = read_queries(folder / "new.jsonl", [document])[0].facts[0].passages[0]
    if found.moved:
        assert (after.doc_id, normalize(after.text or "")) == ("d", normalize(before.text or ""))
    else:
        assert after == before
