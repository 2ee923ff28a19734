"""What a Parquet file says of itself is not believed where Arrow would end the process over it."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raglift.base.limits import fits
from raglift.base.validation import Location

TABLE = pa.table({"id": ["a", "b"], "n": pa.array([1, 2], pa.int64()), "lists": [[["a"]], [["b", "c"], []]]})


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A file whose footer counts the missing values of a column that may have none."""
    path = tmp_path / "damaged.parquet"
    pq.write_table(pa.table({"id": ["a", "b"]}), path)
    data = path.read_bytes()
    # of the column in the schema: from optional (2) to required (0), which has one definition level less
    before, after = b"\x15\x0c\x25\x02\x18\x02id", b"\x15\x0c\x25\x00\x18\x02id"
    assert data.count(before) == 1
    path.write_bytes(data.replace(before, after))
    return path


def test_a_damaged_footer_is_an_error_and_not_the_end_of_the_process(damaged: Path) -> None:
    with pytest.raises(OSError, match="histogram size mismatch"):
        fits(damaged, pq.ParquetFile(damaged), ["id"], Location("damaged.parquet", []))


@pytest.mark.slow
def test_arrow_itself_still_ends_the_process(damaged: Path) -> None:
    """Where it does not any more, `_check_footer` can go."""
    code = "import sys, pyarrow.parquet as pq; pq.read_metadata(sys.argv[1]).row_group(0).column(0)"
    assert subprocess.run([sys.executable, "-c", code, str(damaged)], capture_output=True).returncode < 0


@pytest.mark.slow
def test_whoever_asks_is_not_kept_in_memory(tmp_path: Path) -> None:
    """Arrow never lets go of an exception that a file of Python's raised, and so of the frames below it."""
    path = tmp_path / "whole.parquet"
    pq.write_table(TABLE, path)

    def ask() -> weakref.ref[set[str]]:
        held = set(TABLE.column_names)
        assert fits(path, pq.ParquetFile(path), held, Location("whole.parquet", []))
        return weakref.ref(held)

    held = ask()
    gc.collect()
    assert held() is None


def test_whole_files_fit_by_what_is_read_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "whole.parquet"
    pq.write_table(TABLE, path, row_group_size=1)
    location = Location("whole.parquet", [])
    file = pq.ParquetFile(path)
    assert fits(path, file, ["id", "lists"], location)
    monkeypatch.setenv("RAGLIFT_MAX_BYTES", "300")
    assert fits(path, file, ["id"], location)
    assert not fits(path, file, TABLE.column_names, location, as_objects=True)
    assert "2 rows, which unpack to" in str(location.faults[0])
