"""A run's values as trec_eval prints them, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.printable import printable
from raglift.run_files.reading import read_qrels, read_run
from raglift.run_files.scoring.files import answered
from raglift.run_files.scoring.trec_names import OFFICIAL, Column, columns_of
from raglift.run_files.scoring.trec_values import Judged, summary, values_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from raglift.records import Metric

__all__ = ["trec_eval_lines"]

_PROFILES = ("default", "trec")
_INTEGERS = ("num_q", "num_ret", "num_rel", "num_rel_ret")
_FOR_ALL_ONLY = ("runid", "num_q", "gm_map")


def trec_eval_lines(
    run: str | os.PathLike[str],
    qrels: str | os.PathLike[str],
    metrics: Sequence[Metric | str] = (OFFICIAL,),
    *,
    profile: str = "default",
    answered_only: bool = False,
    per_query: bool = False,
    form: str | None = None,
) -> Iterator[str]:
    r"""Yield the lines that trec_eval prints: the name in 22 columns, a tab, the query or `all`, a tab, the value.

    They are those of `trec_eval -c`, or without `-c` where `answered_only` is set: other than in raglift's own means, a
    query counts for which nothing is relevant, and it counts 0.

    Args:
        run: the file with the rankings, as `read_run` reads it.
        qrels: the labels, as `read_qrels` reads them.
        metrics: by trec_eval's names or raglift's, as "ndcg_cut_10" or "ndcg@10"; by default those that trec_eval
            prints. What it does not have keeps raglift's name and comes last.
        profile: "default" or "trec", which have the same values here.
        answered_only: leave queries without a ranking out of the means.
        per_query: each query's own lines first, in the order of the ids' bytes, as with `-q`.
        form: "trec", "jsonl" or "parquet"; by default what the run's ending says.

    Raises:
        DatasetError: a file cannot be read or is malformed.
        ConfigurationError: an unknown metric or form, another profile, or a run and labels without a common query.
    """
    if profile not in _PROFILES:
        raise ConfigurationError(
            f"profile: found {profile!r} with trec_eval's format; expected one of {', '.join(_PROFILES)}: its names "
            "stand for its own conventions"
        )
    columns = columns_of(metrics)
    labels = read_qrels(qrels)
    rankings = read_run(Path(run), form=form)
    answered(rankings, labels, qrels)
    judged = Judged.of(rankings, labels)
    values = {column: values_of(column, judged) for column in columns if column.family != "runid"}
    if per_query:
        shown = [column for column in columns if column.family not in _FOR_ALL_ONLY]
        for place in sorted(np.flatnonzero(judged.answered).tolist(), key=judged.queries.__getitem__):
            query = printable(judged.queries[place])
            yield from (_line(column, query, float(values[column][place])) for column in shown)
    for column in columns:
        if column.family == "runid":
            yield f"{'runid':22}\tall\t{printable(rankings.tag)}"
        else:
            yield _line(column, "all", summary(column, values[column], judged, complete=not answered_only))


def _line(column: Column, query: str, value: float) -> str:
    shown = f"{value:.0f}" if column.family in _INTEGERS else f"{value:6.4f}"
    return f"{column.name:22}\t{query}\t{shown}"
