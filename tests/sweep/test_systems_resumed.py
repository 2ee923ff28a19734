"""A sweep that is gone on with asks users' systems for nothing that they have answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from raglift.errors import ConfigurationError
from raglift.sweep.engine import run_sweep
from raglift.sweep.specification.record import Sweep
from raglift.types.dataset import Dataset

pytestmark = pytest.mark.usefixtures("own_cache")
MAPPING = "json: {q: '{query}', n: '{k}'}\n"


class Search:
    """A system that is stopped by its n-th question, and counts them."""

    def __init__(self, stops_at: int | None = None) -> None:
        self.stops_at = stops_at
        self.asked: list[str] = []

    def __call__(self, query: str, k: int) -> list[str]:
        if len(self.asked) == self.stops_at:
            raise KeyboardInterrupt
        self.asked.append(query)
        return [f"{word} of {query}" for word in query.split()][:k]


def sweep_of(system: Any, island: Dataset, **settings: Any) -> Sweep:
    return Sweep(dataset=island, systems={"mine": {"system": system, **settings}}, rerankers=["none"], ks=[1, 3])


@pytest.mark.slow
def test_it_asks_for_the_rest_and_then_keeps_the_cell_alone(island: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    first, again = Search(stops_at=3), Search()
    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep_of(first, island), folder, progress=False)
    assert len(list((folder / "answers").iterdir())) == 1
    result = run_sweep(sweep_of(again, island), folder, resume=True, progress=False)
    assert [*first.asked, *again.asked] == [query.text for query in island.queries]
    assert not (folder / "answers").exists()
    evaluation = result.evaluation("mine · none")
    assert "3 of 5 answers came from an earlier attempt" in "\n".join(evaluation.notes)


@pytest.mark.parametrize(
    ("content", "is_same"),
    [
        (f"# a comment\n{MAPPING}", True),
        (f"{MAPPING}timeout: 3\n", True),
        (f"{MAPPING}headers: {{authorization: 'Bearer another'}}\n", True),
        ("json: {q: '{query}', n: 7}\n", False),
        (f"{MAPPING}response: {{hits: found}}\n", False),
        (f"{MAPPING}headers: {{x-index: archive}}\n", False),
        (f"{MAPPING}params: {{language: en}}\n", False),
    ],
)
def test_what_a_mapping_says_is_in_the_hash(island: Dataset, tmp_path: Path, content: str, is_same: bool) -> None:
    mapping = tmp_path / "map.yaml"
    hashes = []
    base = f"{MAPPING}headers: {{authorization: 'Bearer one'}}\n" if "authorization" in content else MAPPING
    for written in (base, content):
        mapping.write_text(written, encoding="utf-8")
        sweep = sweep_of("http://127.0.0.1:9/search", island, mapping=str(mapping))
        hashes.append(sweep.hash)
    assert (hashes[0] == hashes[1]) is is_same


@pytest.mark.slow
def test_an_edited_mapping_is_refused(island: Dataset, tmp_path: Path) -> None:
    mapping = tmp_path / "map.yaml"
    mapping.write_text(MAPPING, encoding="utf-8")
    sweep = sweep_of("http://127.0.0.1:9/search", island, mapping=str(mapping))
    run_sweep(sweep, tmp_path / "sweep", progress=False)
    mapping.write_text("json: {q: '{query}', n: 7}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"found another sweep there: .*a mapping file"):
        run_sweep(sweep, tmp_path / "sweep", resume=True, progress=False)
