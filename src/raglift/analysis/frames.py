"""Results as pandas frames, CSV and Parquet."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.paired_statistics import interval_of
from raglift.errors import ConfigurationError, RunError
from raglift.metrics.registry import MEASURES
from raglift.stats.intervals import CONFIDENCE
from raglift.utilities.display import encodable
from raglift.utilities.limits import is_there, user_path
from raglift.utilities.replacing import staging_folder

if TYPE_CHECKING:
    import pandas as pd

    from raglift.analysis.records import ComparisonRow, LiftRow, TagSlice
    from raglift.results.evaluation import Evaluation
    from raglift.stats.paired_tests import PairedDifference
    from raglift.types.labels import LabelSources
    from raglift.types.metric import Metric


# Evaluations as pandas frames.


def evaluation_frame(evaluation: Evaluation, tested: Iterable[LiftRow] = ()) -> pd.DataFrame:
    """Return one row per metric: see `Evaluation.to_frame`.

    Args:
        evaluation: the evaluation.
        tested: the lift of each metric; without them, there are no columns of its interval, p-value and verdict.
    """
    import pandas as pd

    scores, stages = evaluation.scores, evaluation.scores.stages
    row_of = {row.metric: row for row in tested}
    rows = []
    for metric in scores.metrics:
        row = {"metric": str(metric)} | _mean_columns(evaluation, "mean", stages[-1], metric)
        row["n"] = scores.n(stages[-1], metric)
        if len(stages) > 1:
            row |= _mean_columns(evaluation, "before", stages[0], metric)
            row["lift"] = _or_nan(evaluation.mean_lift(metric))
            if row_of:
                found = row_columns(row_of[metric], metric)
                difference = row_of[metric].difference
                is_known = difference is not None and difference.n > 0
                row |= {"lift_low": found["low"], "lift_high": found["high"], "p": found["p"] if is_known else math.nan}
                row["verdict"] = verdict_of(row_of[metric])
            row["beyond_candidates"] = evaluation.beyond_candidates.get(str(metric), 0)
            row |= {f"stage:{stage}": scores.mean(stage, metric) for stage in stages[1:-1]}
        if evaluation.candidates is not None:
            over_candidates = evaluation.mean_lift(metric, over=evaluation.candidates)
            row[f"lift:{evaluation.candidates}"] = _or_nan(over_candidates)
        row["truncated"] = any(evaluation.is_truncated(stage, metric) for stage in stages)
        rows.append(row)
    return pd.DataFrame(rows)


def _mean_columns(evaluation: Evaluation, name: str, stage: str, metric: Metric) -> dict[str, Any]:
    interval = interval_of(metric, evaluation.scores.of(stage, metric), CONFIDENCE)
    low, high = (math.nan, math.nan) if interval is None else interval
    return {name: evaluation.scores.mean(stage, metric), f"{name}_low": low, f"{name}_high": high}


def verdict_of(row: LiftRow | ComparisonRow) -> str | None:
    """Return what is decided of a row, `exploratory` if its metric does not decide; None if nothing can be."""
    return "exploratory" if row.exploratory else row.verdict


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def per_query_frame(evaluation: Evaluation) -> pd.DataFrame:
    """Return one row per query, metric and stage.

    Columns: `query_id`, `query`, `tags`, `metric` (as `ndcg@10`), `stage`, `value` (NaN for a query that is left out),
    `hits` (how many the stage returned), `seconds`, `retries` (how often it was asked again after a failure), `error`.
    """
    import pandas as pd

    scores, traces = evaluation.scores, evaluation.run.traces
    stages, metrics, _ = scores.values.shape
    queries = evaluation.dataset.queries
    finished = [{done.stage: done for done in trace.stages} for trace in traces]
    done = [[by_name.get(stage) for stage in scores.stages] for by_name in finished]

    def a_query(texts: list[str | None]) -> NDArray[np.object_]:
        written = [None if text is None else encodable(text) for text in texts]  # pandas keeps texts as UTF-8
        return np.repeat(np.array([*written, None], dtype=object)[:-1], stages * metrics)

    return pd.DataFrame(
        {
            "query_id": a_query([query.id for query in queries]),
            "query": a_query([query.text for query in queries]),
            "tags": a_query([",".join(query.tags) for query in queries]),
            "metric": np.tile(
                np.array([str(metric) for metric in scores.metrics], dtype=object), len(queries) * stages
            ),
            "stage": np.tile(np.repeat(np.array(scores.stages, dtype=object), metrics), len(queries)),
            "value": scores.values.transpose(2, 0, 1).ravel(),
            "hits": np.repeat([len(trace.ranking) if trace else 0 for row in done for trace in row], metrics),
            "seconds": np.repeat([trace.seconds if trace else np.nan for row in done for trace in row], metrics),
            "retries": np.repeat(
                [
                    trace.retries if stage is None else stage.retries
                    for trace, row in zip(traces, done, strict=True)
                    for stage in row
                ],
                metrics,
            ),
            "error": a_query([trace.error for trace in traces]),
        }
    )


def per_query_frames(evaluations: Mapping[str, Evaluation], named: str) -> pd.DataFrame:
    """Return the rows of `per_query_frame` of several systems, one system after the other."""
    import pandas as pd

    frames = [per_query_frame(evaluation) for evaluation in evaluations.values()]
    for name, frame in zip(evaluations, frames, strict=True):
        frame.insert(0, named, pd.Series([name] * len(frame), dtype=object))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame({named: []})


# Rows of results as pandas frames: the fields of a dataclass are the columns.


def row_columns(row: ComparisonRow | LiftRow | TagSlice, metric: Metric) -> dict[str, Any]:
    """Return the fields of a row by name: intervals as two bounds, and the difference with its statistics.

    The bounds of `interval` are `mean_low` and `mean_high`, those of `before_interval` are `before_low` and
    `before_high`. A difference is `difference`, `low`, `high`, `p`, `wins`, `ties`, `losses` and `effect_size`. What
    the row does not have is missing.
    """
    columns: dict[str, Any] = {}
    for field in fields(row):
        value = getattr(row, field.name)
        if field.name.endswith("interval"):
            prefix = field.name.removesuffix("interval") or "mean_"
            low, high = (math.nan, math.nan) if value is None else value
            columns |= {f"{prefix}low": low, f"{prefix}high": high}
        elif field.name == "difference":
            columns |= _difference_columns(value, metric)
        elif field.name == "metric":
            columns["metric"] = str(metric)
        else:
            columns[field.name] = math.nan if value is None and "float" in str(field.type) else value
    return columns


def _difference_columns(found: PairedDifference | None, metric: Metric) -> dict[str, Any]:
    """Return the columns of a difference; no wins and losses where more is not a win, for example of tokens."""
    counted = None if MEASURES[metric.name].is_neutral else found
    return {
        "difference": math.nan if found is None else found.mean,
        "low": math.nan if found is None else found.low,
        "high": math.nan if found is None else found.high,
        "p": math.nan if found is None else found.p,
        "wins": None if counted is None else counted.wins,
        "ties": None if counted is None else counted.ties,
        "losses": None if counted is None else counted.losses,
        "effect_size": math.nan if found is None else found.effect_size,
    }


def frame_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as a frame in which wins, ties and losses are integers that may be missing."""
    import pandas as pd

    return pd.DataFrame(rows).astype(dict.fromkeys(("wins", "ties", "losses"), "Int64") if rows else {})


# Results as CSV and Parquet, for other programs.


_SUFFIXES = (".csv", ".parquet")
_QUERIES = ".queries"


class Tabular(Protocol):
    """What can be exported: an evaluation, a comparison, or the result of a sweep."""

    @property
    def label_sources(self) -> LabelSources:
        """Label provenance: who made the labels."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric."""

    def per_query(self) -> pd.DataFrame:
        """Return one row per query and metric."""


def export(found: Tabular, path: str | Path, *, overwrite: bool = False) -> tuple[Path, Path]:
    """Write the table to `path`, and one row per query and metric next to it: `results.csv`, `results.queries.csv`.

    Numbers are written in full, and what is missing is empty. Texts are written as they are, lone surrogates as �: a
    question that begins with `=` is a formula to a spreadsheet, so open what strangers wrote with something else. Where
    models had a part in the labels, a last column `labels` says whose they are, in every row.

    Args:
        found: an evaluation, a comparison, or the result of a sweep.
        path: where; the ending says what is written, `.csv` or `.parquet`. Its parents are made when missing.
        overwrite: replace files that are already there.

    Returns:
        The two files.

    Raises:
        ConfigurationError: another ending.
        RunError: a file is there already, or cannot be written; then nothing was changed.
    """
    target = user_path(path)
    suffix = target.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ConfigurationError(f"{target}: found the ending {target.suffix!r}; expected {' or '.join(_SUFFIXES)}")
    targets = (target, target.with_name(f"{target.stem}{_QUERIES}{target.suffix}"))
    taken = [str(file) for file in targets if is_there(file) or file.is_symlink()]
    if taken and not overwrite:
        raise RunError(f"{taken[0]}: found a file; expected a free name, or overwrite=True (--overwrite) to replace it")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with staging_folder(target) as temporary:
            written = [temporary / str(number) for number in range(len(targets))]
            for file, frame in zip(written, (found.to_frame(), found.per_query()), strict=True):
                _write(_clean(_signed(frame, found.label_sources)), file, suffix)
            for file, place in zip(written, targets, strict=True):
                file.replace(place)
    except OSError as error:
        raise RunError(
            f"{target}: cannot be written: {error.strerror or error}; expected a place to write to"
        ) from error
    return targets


def _signed(frame: pd.DataFrame, sources: LabelSources) -> pd.DataFrame:
    """Return a frame with the label provenance in each row if models made some of the labels."""
    return frame.assign(labels=str(sources)) if sources.by_model else frame


def _write(frame: pd.DataFrame, file: Path, suffix: str) -> None:
    if suffix == ".csv":
        # Every text in quotes: without them a carriage return in one would end its row
        frame.to_csv(file, index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC, encoding="utf-8")
    else:
        frame.to_parquet(file, index=False)


def _clean(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts UTF-8 can write, and whose columns of texts are such also where they are empty."""
    texts = frame.select_dtypes(include=["object", "string"])
    return frame.assign(
        **{str(name): column.map(encodable, na_action="ignore").astype("string") for name, column in texts.items()}
    )
