from __future__ import annotations

import gc
from pathlib import Path

import pytest

from .catalogue import READERS
from .reader import Bench, Reader
from .running import check


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS, ids=[reader.name for reader in READERS])
def test_damaged_input_is_read_or_refused(reader: Reader, tmp_path: Path):
    gc.freeze()  # what other tests have left in memory is not looked through each time
    try:
        bench = Bench(reader, tmp_path)
        assert bench.attempt({}) == "returned"
        outcomes = check(bench)
        assert outcomes["returned"] > 0
        assert bool(outcomes["refused"]) == bool(reader.errors)  # some take anything: what is damaged counts as absent
        assert not _left_open(tmp_path)
    finally:
        gc.unfreeze()


def _left_open(folder: Path) -> list[str]:
    """Return which files of a folder this process has open, also gone ones; none if that cannot be known."""
    gc.collect()
    files = Path("/proc/self/fd")
    links = [str(link.readlink()) for link in files.iterdir() if link.is_symlink()] if files.is_dir() else []
    return [link for link in links if link.startswith(f"{folder}/")]


def test_each_reader_has_a_name_of_its_own():
    names = [reader.name for reader in READERS]
    assert len(names) == len(set(names))
