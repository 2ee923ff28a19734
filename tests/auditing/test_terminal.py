from __future__ import annotations

import io

import pytest
from rich.console import Console

import raglift as rl
from raglift.rendering.presenting import view_of
from raglift.rendering.terminal import document_parts, write
from raglift.retrieval.chunkers import TokenChunker
from raglift.types.labels import Query

DATA = rl.Dataset.from_dict(
    {"Who keeps the lamp?": ["The keeper trims the lamp at dusk."]},
    documents=[rl.Document("log.md", "At six he rose. The keeper trims the lamp at dusk. He slept.")],
)


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 200])
def test_chunkers_that_do_not_fit_side_by_side_stand_below_each_other(width: int) -> None:
    chunkers = [TokenChunker(size, 0) for size in (5, 10, 50, 100, 1000)]
    console = Console(file=io.StringIO(), width=width, color_system=None)
    write(console, document_parts(view_of(rl.audit(DATA, chunkers=chunkers))))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    heads = [line.split() for line in lines if "token:" in line]
    assert [name for head in heads for name in head] == [str(chunker) for chunker in chunkers]
    assert all(len(line) <= width for line in lines if line.startswith("recall ceiling@") or "token:" in line)
    assert (len(heads) == 1) == (width == 200)


def test_a_dataset_without_labels_is_not_called_faultless() -> None:
    unlabelled = rl.Dataset((Query("q", "Who keeps the lamp?"),))
    assert "no query has one" in str(rl.audit(unlabelled))
    assert "0 broken" not in str(rl.audit(unlabelled))
