"""Systems whose chunks have numbers for ids and locations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import raglift as rl
from raglift.errors import RunError
from raglift.types.documents import Chunk
from raglift.types.rankings import Hit, Ranking

TEXT = "The lamp is lit at dusk, every day."


class Numbers:
    """A system whose chunks are not quite as they should be."""

    def retrieve(self, queries: tuple[rl.Query, ...], k: int) -> list[Ranking]:
        chunk: Any = Chunk(TEXT, 5, 7, 0.0, np.float64(35))  # type: ignore[arg-type]
        return [Ranking((Hit(chunk, 1, 1.0),)) for _ in queries]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = rl.Dataset.from_dict({"When is the lamp lit?": [TEXT]})
    return rl.evaluate(Numbers(), data, ks=(1,)).save(tmp_path / "run")


def only_chunk(folder: Path) -> Chunk:
    evaluation = rl.load_evaluation(folder)
    return evaluation.run.traces[0].stages[0].ranking[0].chunk


def test_numbers_of_a_system_are_saved_as_texts_and_places(folder: Path) -> None:
    assert only_chunk(folder) == Chunk(TEXT, "5", "7", 0, 35)


@pytest.mark.parametrize("changed", [{"id": True}, {"end": 10**30}])
def test_what_was_never_written_is_damage(folder: Path, changed: dict[str, Any]) -> None:
    line = {"text": TEXT, "id": "5", "doc_id": None, "start": 0, "end": 35, "metadata": {}}
    (folder / "chunks.jsonl").write_text(json.dumps(line | changed) + "\n", encoding="utf-8")
    with pytest.raises(RunError, match=r"chunks\.jsonl:1: damaged"):
        rl.load_evaluation(folder)
