"""A run's values as trec_eval prints them, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.metrics import has_differences
from raglift.printable import printable
from raglift.run_files.reading import read_qrels, read_run
from raglift.run_files.scoring.files import answered
from raglift.run_files.scoring.trec_names import DEFAULT_VERSION, OFFICIAL, Column, Version, columns_of
from raglift.run_files.scoring.trec_values import COUNTS, TrecValues, values_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from raglift.records import Metric

__all__ = ["trec_eval_lines"]

_PROFILES = ("default", "trec")


def trec_eval_lines(
    run: str | os.PathLike[str],
    qrels: str | os.PathLike[str],
    metrics: Sequence[Metric | str] = (OFFICIAL,),
    *,
    profile: str = "default",
    answered_only: bool = False,
    per_query: bool = False,
    form: str | None = None,
    trec_eval: Version = DEFAULT_VERSION,
) -> Iterator[str]:
    r"""Return the lines that trec_eval prints: the name in 22 columns, a tab, the query or `all`, a tab, the value.

    They are those of `trec_eval -c`, or without `-c` where `answered_only` is set: other than in raglift's own means, a
    query counts for which nothing is relevant, and it counts 0.

    Args:
        run: the file with the rankings, as `read_run` reads it.
        qrels: the labels, as `read_qrels` reads them.
        metrics: by trec_eval's names or raglift's, as "ndcg_cut_10" or "ndcg@10"; by default those that trec_eval
            prints; `all_trec` is all that it has for qrels. What it does not have keeps raglift's name and comes last.
        profile: "default" or "trec", which have the same values here.
        answered_only: leave queries without a ranking out of the means.
        per_query: each query's own lines first, in the order of the ids' bytes, as with `-q`.
        form: "trec", "jsonl" or "parquet"; by default what the run's ending says.
        trec_eval: whose lines they are: those of version 9, which pytrec_eval runs, or of 10. Version 10 rounds
            `iprec_at_recall` and `11pt_avg` otherwise, has `rbp`, `rbp_resid` and `unj`, prints queries without a
            ranking too, leaves out comments and what follows the tag, and compares scores in 64 bits.

    Raises:
        DatasetError: a file cannot be read or is malformed.
        ConfigurationError: an unknown metric, form or version, another profile, or a run and labels without a common
            query. All is checked before the first line is asked for.
    """
    if profile not in _PROFILES:
        raise ConfigurationError(
            f"profile: found {profile!r} with trec_eval's format; expected one of {', '.join(_PROFILES)}: its names "
            "stand for its own conventions"
        )
    columns = columns_of(metrics, trec_eval)
    labels = read_qrels(qrels, trec_eval=trec_eval)
    rankings = read_run(Path(run), form=form, trec_eval=trec_eval)
    answered(rankings, labels, qrels)
    found = values_of(columns, rankings, labels, complete=not answered_only, version=trec_eval)
    return _lines(found, columns, printable(rankings.tag), per_query=per_query)


def _lines(found: TrecValues, columns: Sequence[Column], tag: str, *, per_query: bool) -> Iterator[str]:
    if per_query:
        shown = [column for column in columns if not _is_for_all_only(column)]
        for place in found.printed:
            query = printable(found.queries[place])
            yield from (_line(column, query, float(found.values[column][place])) for column in shown)
    for column in columns:
        if column.family == "runid":
            yield f"{'runid':22}\tall\t{tag}"
        else:
            yield _line(column, "all", found.summary(column))


def _is_for_all_only(column: Column) -> bool:
    """Whether no query has a line: for a geometric mean trec_eval prints none, as it keeps logarithms."""
    if column.metric is None:
        return column.family in ("runid", "num_q")
    return bool(column.family) and not has_differences(column.metric)


def _line(column: Column, query: str, value: float) -> str:
    shown = f"{value:.0f}" if column.family in COUNTS else f"{value:6.4f}"
    return f"{column.name:22}\t{query}\t{shown}"
