from __future__ import annotations

from pathlib import Path

import pytest

from .catalogue import READERS
from .reader import Bench, Reader
from .running import check


@pytest.mark.parametrize("reader", READERS, ids=[reader.name for reader in READERS])
def test_damaged_input_is_read_or_refused(reader: Reader, tmp_path: Path):
    bench = Bench(reader, tmp_path)
    assert bench.attempt({}) == "returned"
    outcomes = check(bench)
    assert outcomes["returned"] > 0
    assert bool(outcomes["refused"]) == bool(reader.errors)  # some take anything: what is damaged counts as absent


def test_each_reader_has_a_name_of_its_own():
    names = [reader.name for reader in READERS]
    assert len(names) == len(set(names))
