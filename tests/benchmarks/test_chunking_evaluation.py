from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LAMP = (
    "The lamp is lit at dusk. Its two wicks are trimmed every fourth hour. The keeper writes the times in the log.\n\n"
)
HORN = "In fog the horn is blown every ninety seconds. The compressor needs water. Nobody sleeps while it sounds.\n\n"


@pytest.fixture(scope="module")
def benchmark(script: Callable[[str], Any]) -> Any:
    return script("chunking_evaluation")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Two texts that repeat themselves, and three questions."""
    texts = {"lamp": LAMP * 6 + "The glass is wiped with chamois.", "horn": HORN * 5}
    questions = [
        ("How often are the wicks trimmed?", ["trimmed every fourth hour", "The keeper writes the times"], "lamp"),
        ("With what is the glass wiped?", ["wiped with chamois"], "lamp"),
        ("How often is the horn blown?", ["every ninety seconds. The compressor"], "horn"),
    ]
    (tmp_path / "corpora").mkdir()
    for name, text in texts.items():
        (tmp_path / "corpora" / f"{name}.md").write_text(text, encoding="utf-8")
    with (tmp_path / "questions_df.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "references", "corpus_id"])
        for question, quotes, name in questions:
            starts = [texts[name].index(quote) for quote in quotes]
            references = [
                {"content": quote, "start_index": start, "end_index": start + len(quote)}
                for quote, start in zip(quotes, starts, strict=True)
            ]
            writer.writerow([question, json.dumps(references), name])
    return tmp_path


@pytest.mark.full
def test_a_row_is_printed_for_each_way_of_splitting(benchmark, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.main([str(tiny)]) == 0
    out = capsys.readouterr().out
    assert "3 questions, 4 passages, 2 texts in one index; top 5" in out
    assert "all-MiniLM-L6-v2" in out
    assert "float32" in out
    rows = [line for line in out.splitlines() if "±" in line][1:]
    assert [row[:17].strip() for row in rows] == [
        f"{kind} {sizes}" for kind in ("recursive", "token") for sizes in ("250/125", "250/0", "200/0")
    ]
    # two short texts: every chunk is among the first five
    assert all(row[19:31].split() == ["100.0", "±", "0.0"] for row in rows)
