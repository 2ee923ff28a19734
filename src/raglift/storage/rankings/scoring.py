"""Files of rankings scored by a file of labels, and compared with each other."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.paired_statistics import bound_of, within_reach
from raglift.errors import ConfigurationError
from raglift.matching.numbered import NumberedLabels
from raglift.metrics.computing import RankingScores, mean_title, score_rankings, title
from raglift.metrics.parsing import parse
from raglift.stats.paired_tests import FEW_QUERIES, PairedDifference, holm, paired_differences
from raglift.storage.rankings.read import FileRankings, read_labels, read_run
from raglift.utilities.display import one_line
from raglift.utilities.limits import user_path
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from raglift.storage.rankings.columns import Labels
    from raglift.types.metric import Metric


# The names of trec_eval's measures, for those who know them by these.


_TREC_EVAL = {
    "map": "ap",
    "Rprec": "r_precision",
    "recip_rank": "rr",
    "set_recall": "recall",
}
_TREC_EVAL_AT = {
    "P": "precision@{}",
    "recall": "recall@{}",
    "ndcg_cut": "ndcg@{}",
    "map_cut": "ap@{}",
    "success": "hit_rate@{}",
}
_WITH_CUT = re.compile(r"(\w+?)[_.](\d{1,9})")


def metric_of(name: str) -> Metric:
    """Return the metric of one name, raglift's or trec_eval's: `ndcg_cut_10` is `ndcg@10`.

    A name that both have is raglift's.

    Raises:
        ConfigurationError: neither knows it.
    """
    found = _WITH_CUT.fullmatch(name)
    if name in _TREC_EVAL:
        return parse(_TREC_EVAL[name])
    if found and found[1] in _TREC_EVAL_AT:
        return parse(_TREC_EVAL_AT[found[1]].format(found[2]))
    return parse(name)


# Whether runs scored by the same labels differ: each compared with the first, per query.


@dataclass(frozen=True)
class RunDifference:
    """How one run differs from the first in one metric."""

    run: str
    """The run."""
    first: str
    """What it is compared with."""
    metric: Metric
    """What is compared."""
    paired: PairedDifference
    """The difference, run minus first, over the queries that count in both; its interval ends at what is possible."""
    p: float
    """The p-value of no difference, corrected by Holm for all that are shown together."""


def differences_from_first(
    runs: Mapping[str, Mapping[Metric, Mapping[str, float]]], metrics: Sequence[Metric], *, seed: int = 0
) -> tuple[RunDifference, ...]:
    """Compare each run with the first, in each metric; none if there is one run."""
    first, *others = runs
    if not others or not metrics:
        return ()
    queries = [query for query in runs[first][metrics[0]] if all(query in runs[run][metrics[0]] for run in others)]
    pairs = [(run, metric) for run in others for metric in metrics]
    columns = [_column(runs[run][metric], queries) - _column(runs[first][metric], queries) for run, metric in pairs]
    found = paired_differences(np.stack(columns, axis=1), seed=seed, bounds=[bound_of(metric) for _, metric in pairs])
    corrected = holm([paired.p for paired in found]).tolist()
    return tuple(
        RunDifference(run, first, metric, within_reach(metric, paired), p)
        for (run, metric), paired, p in zip(pairs, found, corrected, strict=True)
    )


def _column(values: Mapping[str, float], queries: Sequence[str]) -> NDArray[np.float64]:
    return np.array([values[query] for query in queries], dtype=np.float64)


# `score_files`: the rankings of one or more files, scored by the labels of another.


DEFAULT_METRICS = ("hit_rate@10", "precision@10", "recall@10", "rr@10", "ap@10", "ndcg@10")
"""What is computed unless something else is asked for."""


@dataclass(frozen=True, eq=False)
class RunScores:
    """The values of one file's rankings."""

    name: str
    """What the file is called in tables."""
    path: Path
    """The file."""
    hits: int
    """How many hits are in it."""
    scores: RankingScores
    """The values, one a query and metric."""
    left_out: int
    """Labelled queries without a ranking that are left out of the means, because that was asked for."""
    notes: tuple[str, ...] = ()
    """What a reader of the figures must know: ranks that contradict the scores, ids that are nowhere labelled."""

    def by_query(self) -> dict[Metric, dict[str, float]]:
        """Return each metric's value for each query; NaN if the query is left out."""
        scores = self.scores
        return {metric: dict(zip(scores.query_ids, scores.of(metric), strict=True)) for metric in scores.metrics}


@dataclass(frozen=True, eq=False)
class FileScores:
    """The values of one or more files' rankings by the same labels."""

    qrels: Path
    """Where the labels are from."""
    runs: tuple[RunScores, ...]
    """One for each file, in the order given."""
    metrics: tuple[Metric, ...]
    """What was computed, in the order asked for."""

    def __str__(self) -> str:
        rows = [["", *(run.name for run in self.runs)]]
        rows += [
            [mean_title(metric), *(f"{run.scores.mean(metric):.4f}" for run in self.runs)] for metric in self.metrics
        ]
        first = self.metrics[0]
        rows.append(["questions (n)", *(f"{run.scores.n(first):,}" for run in self.runs)])
        counts = {
            "without a ranking, count 0": [run.scores.empty for run in self.runs],
            "without a ranking, left out": [run.left_out for run in self.runs],
            "rankings without labels": [run.scores.unlabelled for run in self.runs],
        }
        rows += [[name, *(f"{count:,}" for count in found)] for name, found in counts.items() if any(found)]
        notes = [f"! {one_line(run.name)}: {one_line(note)}" for run in self.runs for note in run.notes]
        return "\n".join([*aligned(rows), *self._differences_in_words(), *notes])

    def _differences_in_words(self) -> list[str]:
        found = [each for each in self.differences() if each.paired.n]
        if not found:
            return []
        rows = [[f"minus {found[0].first}", "", "difference", "95% interval", "p (Holm)", "+", "=", "-"]]
        for each in found:
            paired = each.paired
            interval = "-" if isnan(paired.low) else f"{paired.low:+.4f} to {paired.high:+.4f}"
            counts = (f"{count:,}" for count in (paired.wins, paired.ties, paired.losses))
            rows.append([each.run, mean_title(each.metric), f"{paired.mean:+.4f}", interval, f"{each.p:.4f}", *counts])
        few = min(each.paired.n for each in found) < FEW_QUERIES
        return [
            "",
            *aligned(rows, texts=2),
            *([f"fewer than {FEW_QUERIES} questions: this says little"] if few else []),
        ]

    def differences(self, *, seed: int = 0) -> tuple[RunDifference, ...]:
        """Return how each run differs from the first in each metric, over the queries that count in both.

        The test is that of `raglift compare`: signs of paired differences are turned around.

        Args:
            seed: draws the signs.
        """
        return differences_from_first({run.name: run.by_query() for run in self.runs}, self.metrics, seed=seed)

    def per_query(self) -> str:
        """Return a table of one row per query and metric, and one column a file; `-` where a query is left out."""
        return per_query_table({run.name: run.by_query() for run in self.runs}, self.metrics)


def per_query_table(runs: Mapping[str, Mapping[Metric, Mapping[str, float]]], metrics: Sequence[Metric]) -> str:
    """Return a table of one row per query and metric, and one column a run; `-` where a query is left out."""
    rows = [["query", "", *runs]]
    for query in dict.fromkeys(query for run in runs.values() for query in run[metrics[0]]):
        for metric in metrics:
            values = [of_run[metric].get(query, nan) for of_run in runs.values()]
            if not all(map(isnan, values)):
                shown = ["-" if isnan(value) else f"{value:.4f}" for value in values]
                rows.append([query, title(metric), *shown])
    return "\n".join(aligned(rows, texts=2))


def aligned(rows: Sequence[Sequence[str]], *, texts: int = 1) -> list[str]:
    """Return rows as lines whose columns stand below each other: texts to the left, numbers to the right."""
    safe = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*safe, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in safe
    ]


def score_files(
    runs: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    qrels: str | os.PathLike[str],
    metrics: Sequence[Metric | str] = DEFAULT_METRICS,
    *,
    profile: str = "default",
    answered_only: bool = False,
    names: Sequence[str] | None = None,
    form: str | None = None,
) -> FileScores:
    """Score the rankings in files by the labels in a file.

        from raglift.storage.rankings import score_files

        print(score_files(["bm25.trec", "dense.parquet"], "qrels.txt", ["ndcg@10", "map"]))

    Every labelled query counts: one without a ranking counts 0, as with `trec_eval -c`.

    Args:
        runs: the files, as `read_run` reads them; or one.
        qrels: the labels, as `read_qrels` reads them.
        metrics: what to compute, as "ndcg@10" or `NDCG @ 10`.
        profile: whose metric conventions: "default", "tutorial", "autorag", "trec", "llamaindex" or "ragas".
        answered_only: leave labelled queries without a ranking out of the means, as trec_eval does without `-c`.
        names: what to call the files in tables; by default their names without what all of them end with.
        form: "trec", "jsonl" or "parquet" for all of the runs; by default what each file's ending says.

    Raises:
        DatasetError: a file cannot be read or is malformed; every fault of it is listed.
        ConfigurationError: no file, an unknown metric, profile or form, a metric that ids are not enough for, or a
            run and labels that have no query in common, or no relevant id.
    """
    paths, titles = names_of(runs, names)
    labels = read_labels(qrels)
    found = []
    for path, called in zip(paths, titles, strict=True):
        rankings = read_run(path, form=form)
        ranked_labels = answered(rankings, labels, qrels)
        missing = sum(
            any(grade > 0 for grade in labels[query].values()) for query in labels.keys() - ranked_labels.keys()
        )
        counted = ranked_labels if answered_only else labels
        _require_relevant(counted, qrels, f"that {path} answers" if answered_only else "")
        scores = score_rankings(rankings, counted, metrics, profile=profile)
        notes = (*rankings.notes, *scores.notes)
        found.append(RunScores(called, path, rankings.hits, scores, missing if answered_only else 0, notes))
    return FileScores(Path(qrels), tuple(found), found[0].scores.metrics)


def names_of(
    runs: Sequence[str | os.PathLike[str]] | str | os.PathLike[str], names: Sequence[str] | None
) -> tuple[list[Path], list[str]]:
    """Return the files and what they are called."""
    import os

    paths = [user_path(run) for run in ([runs] if isinstance(runs, (str, os.PathLike)) else runs)]
    if not paths:
        raise ConfigurationError("runs: found none; expected at least one file with rankings")
    if names is None:
        for titles in ([path.name.split(".")[0] for path in paths], [path.name for path in paths], map(str, paths)):
            chosen = list(titles)
            if len(set(chosen)) == len(paths) and all(chosen):
                return paths, chosen
        raise ConfigurationError("runs: found the same file twice; expected each once, or names of their own")
    if len(names) != len(paths) or len(set(names)) != len(paths):
        raise ConfigurationError(
            f"names: found {', '.join(map(quoted, names))}; expected {len(paths)} different ones, one for each run"
        )
    return paths, list(names)


def answered(rankings: FileRankings, labels: Labels, qrels: str | os.PathLike[str]) -> Labels:
    """Return the labels of the queries that have hits."""
    queries = [query for query in labels if rankings.length(query)]
    if not queries:
        theirs, ours = next(iter(labels), None), next(iter(rankings), None)
        raise ConfigurationError(
            f"{rankings.path}: found rankings of {'no question' if ours is None else f'questions as {quoted(ours)}'} "
            "and "
            f"labels in {qrels} of {'no question' if theirs is None else f'questions as {quoted(theirs)}'}; expected "
            "at least one question in both"
        )
    if isinstance(labels, NumberedLabels):
        return labels.only(queries)
    return {query: labels[query] for query in queries}


def _require_relevant(labels: Mapping[str, Mapping[str, int]], qrels: str | os.PathLike[str], which: str) -> None:
    """Refuse labels by which no query counts: every mean would be no number."""
    if not any(grade > 0 for of_query in labels.values() for grade in of_query.values()):
        queries = f"{len(labels):,} quer{'y' if len(labels) == 1 else 'ies'}" + (f" {which}" if which else "")
        raise ConfigurationError(
            f"{qrels}: found nothing relevant to any of {queries}; expected at least one label with a grade of 1 or "
            "more"
        )
