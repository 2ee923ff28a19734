"""Updated labels as a file: each in its form, with the history of all of them beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.updating.by_hand import LAMP, NEW, NEW_OIL, OIL, OLD, decision, moved, place, span, undecided, updated

import raglift as rl
from raglift.errors import ConfigurationError, DatasetError
from raglift.types import Annotator, Dataset, Document, Fact, Passage, Query
from raglift.updating import LabelUpdate


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def history_of(path: Path) -> list[dict[str, Any]]:
    updates: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["updates"]
    return updates


def test_what_is_certain_is_written_and_read_back_equal(lights: LabelUpdate, tmp_path: Path) -> None:
    path = lights.write(tmp_path / "new.jsonl")
    assert [line["id"] for line in lines_of(path)] == ["lamp"]
    decided = lights.decide([decision(lights.passages[1]), decision(lights.passages[2], None)])
    decided.write(path, overwrite=True)
    assert rl.load_dataset(path, documents=[NEW]).queries == decided.updated.queries
    lamp, oil = lines_of(path)
    assert lamp["relevant"][0] == {
        "doc": "tower.md",
        "from": "The keeper lights the",
        "to": "trims it at midnight.",
    }
    assert (oil["relevant"][0]["doc"], oil["relevant"][0]["grade"]) == ("tower.md", 2)


def test_literal_texts_stay_literal_and_keep_what_else_is_said_of_them(tmp_path: Path) -> None:
    judge = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")
    at = place(span(NEW, LAMP))
    plain, named = Passage(LAMP, annotator=judge), Passage(LAMP, "lamp.md", grade=3)
    update = updated(
        {"plain": [plain], "named": [named]},
        [moved("plain", plain, plain, at=at), moved("named", named, Passage(LAMP, "tower.md", grade=3), at=at)],
    )
    first, second = lines_of(update.write(tmp_path / "new.jsonl"))
    assert (first["relevant"][0]["text"], first["relevant"][0]["annotator"]["date"]) == (LAMP, "2026-11-21")
    assert "doc" not in first["relevant"][0]
    assert second["relevant"] == [{"text": LAMP, "doc": "tower.md", "grade": 3}]


def carried(old: Document, old_text: str, new: Document, new_text: str, folder: Path) -> Any:
    """Return the label that is written for a passage of one document that is one of another now."""
    before, after = span(old, old_text), span(new, new_text)
    dataset = Dataset((Query("q1", "What?", (Fact((before,)),)),), (old,))
    update = LabelUpdate(dataset, (new,), (moved("q1", before, after),))
    path = update.write(folder / "new.jsonl", overwrite=True)
    assert rl.load_dataset(path, documents=[new]).queries == update.updated.queries
    return lines_of(path)[0]["relevant"][0]


def test_whole_documents_and_pages_stay_what_they_are(tmp_path: Path) -> None:
    rules, others = Document("rules.md", "Boats wait. " * 9), Document("rota.md", "The boats wait. " * 9)
    assert carried(rules, rules.text, others, others.text, tmp_path) == {"doc": "rota.md"}
    part = carried(rules, rules.text, Document("all.md", f"Rules.\n{rules.text}"), rules.text, tmp_path)
    assert part.keys() == {"doc", "start", "end", "text"}  # the words at its ends occur nine times
    whole = Document("lamp.md", LAMP)
    assert carried(OLD, LAMP, whole, LAMP, tmp_path).keys() == {"doc", "from", "to"}  # it was no whole document
    manual = Document("manual.pdf", f"One.\f{LAMP}\f{OIL}")
    longer = Document("manual.pdf", f"New.\fOne.\f{LAMP}\fThree.")
    assert carried(manual, LAMP, longer, LAMP, tmp_path) == {"doc": "manual.pdf", "page": 3}
    assert carried(manual, LAMP, whole, LAMP, tmp_path).keys() == {"doc", "from", "to"}
    assert carried(OLD, LAMP, longer, LAMP, tmp_path).keys() == {"doc", "from", "to"}  # it was no page


def test_a_manual_that_was_typeset_again_is_still_all_of_it(tmp_path: Path) -> None:
    """Pages of a PDF have no empty lines between their paragraphs."""
    old, new = Document("manual.pdf", f"{LAMP}\n\f{OIL}"), Document("manual.pdf", f"Preface.\n\f{LAMP}\n{NEW_OIL}")
    labels = Dataset((Query("q1", "All of it?", (Fact((span(old, old.text),)),)),), (old,))
    path = rl.update_labels(labels, [new]).write(tmp_path / "new.jsonl")
    assert lines_of(path)[0]["relevant"] == [{"doc": "manual.pdf"}]


def test_the_history_says_how_each_label_came_to_its_place(lights: LabelUpdate, tmp_path: Path) -> None:
    lights.decide([decision(lights.passages[1])]).write(tmp_path / "new.jsonl")
    (update,) = history_of(tmp_path / "new.history.json")
    assert update["counts"] == {"unchanged": 0, "moved": 1, "edited": 1, "elsewhere": 0, "ambiguous": 0, "gone": 1}
    assert update["from"]["labels"] != update["to"]["labels"]
    assert update["from"]["documents"] != update["to"]["documents"]
    assert update["raglift"] == rl.__version__
    lamp, oil, gulls = update["passages"]
    assert (lamp["query"], lamp["where"], lamp["kind"], lamp["decided"]) == ("lamp", "relevant[0]", "moved", False)
    start = OLD.text.index(LAMP)
    assert lamp["old"] == {"text": LAMP, "doc": "lamp.md", "start": start, "end": start + len(LAMP)}
    assert (oil["new"]["text"], oil["new"]["doc"], oil["decided"]) == (NEW_OIL, "tower.md", True)
    assert gulls["new"] is None


def test_histories_are_a_chain(lights: LabelUpdate, tmp_path: Path) -> None:
    first = lights.write(tmp_path / "second.jsonl")
    lights.write(tmp_path / "third.jsonl", labels=first)
    lights.write(tmp_path / "other.jsonl", labels=tmp_path / "first.jsonl")
    assert [len(history_of(tmp_path / f"{name}.history.json")) for name in ("second", "third", "other")] == [1, 2, 1]
    assert history_of(tmp_path / "third.history.json")[0] == history_of(tmp_path / "second.history.json")[0]
    for damaged in ("{", "[]", '{"updates": {}}'):
        (tmp_path / "second.history.json").write_text(damaged, encoding="utf-8")
        with pytest.raises(DatasetError, match="nothing was written"):
            lights.write(tmp_path / "fourth.jsonl", labels=first)
    assert not (tmp_path / "fourth.jsonl").exists()


def test_no_file_is_replaced_unasked_and_that_of_the_old_labels_never(lights: LabelUpdate, tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    old.write_text("the labels", encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to(old)
    for target in (old, tmp_path / "link.jsonl"):
        with pytest.raises(ConfigurationError, match="old labels"):
            lights.write(target, labels=old, overwrite=True)
    with pytest.raises(ConfigurationError, match="already there"):
        lights.write(old)
    (tmp_path / "new.history.json").write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="already there"):
        lights.write(tmp_path / "new.jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.jsonl", "new.history.json", "old.jsonl"]
    assert old.read_text(encoding="utf-8") == "the labels"


def test_nothing_is_written_where_every_question_waits(tmp_path: Path) -> None:
    oil = span(OLD, OIL)
    update = updated({"oil": [oil]}, [undecided("oil", oil, span(NEW, NEW_OIL))])
    with pytest.raises(DatasetError, match="no queries"):
        update.write(tmp_path / "new.jsonl")
    assert list(tmp_path.iterdir()) == []
