"""`read_run`: the rankings in a file, of any of the forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from raglift.errors import DatasetError
from raglift.faults import Place
from raglift.paths import user_path
from raglift.run_files.forms import form_of
from raglift.run_files.reading.columns import Hits, ranked
from raglift.run_files.reading.json_lines import read_json_run
from raglift.run_files.reading.parquet import read_parquet_run
from raglift.run_files.reading.trec import read_trec_run

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from raglift.errors import Fault

__all__ = ["FileRankings", "read_run"]


class FileRankings(Mapping[str, list[str]]):
    """The rankings of a file: for each query id the ids that came back, best first.

    It holds a number for each hit, and makes the list of a query when that is asked for: of 1,000,000 hits only those
    of one query are texts at a time.

    Attributes:
        path: the file.
        tag: what a TREC run calls itself on its last line; for other forms the file's name without its ending.
        hits: how many hits there are in all.
    """

    def __init__(self, path: Path, tag: str, hits: Hits) -> None:
        self.path = path
        self.tag = tag
        self.hits = len(hits.id)
        self._names = hits.names
        self._ids, bounds = ranked(hits)
        ends = bounds.tolist()
        self._place: dict[str, tuple[int, int]] = dict(zip(hits.queries, pairwise(ends), strict=True))

    def __getitem__(self, query_id: str) -> list[str]:
        """Return the ids of a query, best first.

        Raises:
            KeyError: the file says nothing of the query.
        """
        begin, end = self._place[query_id]
        ids: list[str] = self._names[self._ids[begin:end]].tolist()
        return ids

    def length(self, query_id: str) -> int:
        """Return how many hits a query has; 0 where the file says nothing of it."""
        begin, end = self._place.get(query_id, (0, 0))
        return end - begin

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._place

    def __repr__(self) -> str:
        return f"FileRankings({self.path.name!r}: {len(self):,} queries, {self.hits:,} hits)"


def read_run(path: str | os.PathLike[str], *, form: str | None = None, trec_eval: int = 9) -> FileRankings:
    """Read the rankings in a file, to be scored by `rl.score_rankings`.

    In a TREC run the order of a query's hits is that of their scores, and where these are equal in 32 bits that of the
    ids, descending, as trec_eval has it; the rank column is not looked at. In JSON Lines a list of hits is in its own
    order, and objects of one hit each in that of their scores. In Parquet it is that of the column `rank`, else of
    `score`, else of the rows.

    Args:
        path: the file; it may be compressed with gzip, except for Parquet.
        form: "trec", "jsonl" or "parquet"; by default what the file's ending says, and "trec" for any other ending.
        trec_eval: as which version reads a TREC run: 10 compares scores in 64 bits, and leaves out lines that begin
            with `#` and what follows the tag.

    Raises:
        DatasetError: the file cannot be read or is malformed; every fault is listed, up to 1,000.
        ConfigurationError: there is no such form.
    """
    path = user_path(path)
    faults: list[Fault] = []
    place = Place(path.name or str(path), faults)
    tag = path.name.split(".")[0] or path.name
    hits: Hits | None = None
    match form_of(path, form):
        case "trec":
            found = read_trec_run(path, place, trec_eval)
            if found is not None:
                hits, tag = found
        case "jsonl":
            hits = read_json_run(path, place)
        case "parquet":
            hits = read_parquet_run(path, place)
    if hits is None:
        raise DatasetError(str(path), faults)
    return FileRankings(path, tag, hits)
