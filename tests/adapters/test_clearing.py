"""What a system returned is cleared of secrets, and of metadata that cannot be saved."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from raglift.adapters.clearing import Clearing
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking
from raglift.utilities.secrets import KnownSecrets

SECRET = "sk-4f9a1c07b2d84e66a5c3"  # noqa: S105 — a key that nobody has


class Textless:
    def __str__(self) -> str:
        raise ValueError


@pytest.fixture
def clearing() -> Clearing:
    return Clearing(SimpleNamespace(secrets=KnownSecrets([SECRET])))


def cleared(clearing: Clearing, chunk: Chunk) -> Chunk:
    return clearing.ranking(Ranking.of([(chunk, 0.5)])).chunks[0]


def test_a_place_is_kept_unless_the_text_is_another(clearing: Clearing) -> None:
    chunk = cleared(clearing, Chunk("The lamp.", id=f"c?key={SECRET}", start=3, end=12))
    assert (chunk.text, chunk.id, chunk.start, chunk.end) == ("The lamp.", "c?key=***", 3, 12)
    chunk = cleared(clearing, Chunk(f"The lamp {SECRET}.", id="c", start=3, end=40))
    assert (chunk.text, chunk.id, chunk.start, chunk.end) == ("The lamp ***.", "c", None, None)
    assert clearing.changed == 2


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (np.array(["lamp", SECRET]), False),
        (np.array([1.0, 2.0]), True),
        (SimpleNamespace(key=SECRET), False),
        ([{"deep": SECRET}], False),
        ([{"deep": "lamp"}], True),
    ],
    ids=["array of texts", "array of numbers", "object", "list", "list without"],
)
def test_metadata_of_any_kind_is_cleared(clearing: Clearing, value: Any, kept: bool) -> None:
    found = cleared(clearing, Chunk("The lamp.", metadata={"value": value})).metadata["value"]
    assert SECRET not in str(found)
    assert (found is value) == kept


def test_metadata_without_a_text_is_replaced_before_it_is_looked_through(clearing: Clearing) -> None:
    chunk = Chunk("The lamp.", metadata={"page": 3, "value": Textless()})
    found = cleared(clearing, chunk)
    assert found.metadata["page"] == 3
    assert isinstance(found.metadata["value"], str)
    assert found.text == chunk.text
