"""What trec_eval prints of a run: the measures, their aggregates, and the lines."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from raglift.base.display import printable
from raglift.errors import ConfigurationError, RankingWarning
from raglift.matching.by_id import match_ids
from raglift.metrics.computing import compute, has_differences, no_labelled_id
from raglift.metrics.measure import LEAST, count_by_query, irrelevant_hits
from raglift.metrics.parsing import parse
from raglift.metrics.registry import MEASURES
from raglift.storage.rankings.read import read_labels, read_run
from raglift.storage.rankings.scoring import answered

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.records.metric import Metric
    from raglift.storage.rankings.read import FileRankings

    Values = NDArray[np.float64]


# The names of trec_eval's measures, their order in its output, and the corresponding raglift metrics.


Version = Literal[9, 10]
VERSIONS: tuple[Version, ...] = (9, 10)
"""The versions of trec_eval whose values can be printed."""
DEFAULT_VERSION: Version = 9
"""The one that pytrec_eval runs, and most published figures come from."""

_CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_RECALLS = tuple(tenth / 10 for tenth in range(11))
_MULTIPLES = tuple(fifth / 5 for fifth in range(1, 11))


@dataclass(frozen=True)
class _Family:
    """A measure of trec_eval's, with what differs between its columns."""

    name: str
    """As trec_eval calls it; a cut follows after an underscore."""
    metric: str = ""
    """raglift's metric, with `{cut}` where the cut goes; empty for what is counted, and not measured."""
    cuts: tuple[float, ...] = ()
    """At which cuts it is printed unless others are asked for; none if it has no cut."""
    least: Version = 9
    """The first version that has it."""
    in_10: str = ""
    """raglift's metric as version 10 defines it, where that is another one."""

    def metric_in(self, version: Version) -> str:
        return self.in_10 if self.in_10 and version >= 10 else self.metric


_FAMILIES = (
    _Family("runid"),
    _Family("num_q"),
    _Family("num_ret"),
    _Family("num_rel"),
    _Family("num_rel_ret"),
    _Family("map", "ap"),
    _Family("gm_map", "gm_map"),
    _Family("Rprec", "r_precision"),
    _Family("bpref", "bpref"),
    _Family("recip_rank", "rr"),
    _Family("iprec_at_recall", "iprec(recall={cut})", _RECALLS, in_10="iprec(recall={cut},rounding=nearest)"),
    _Family("P", "precision@{cut}", _CUTS),
    _Family("recall", "recall@{cut}", _CUTS),
    _Family("infAP", "inf_ap"),
    _Family("gm_bpref", "gm_bpref"),
    _Family("Rprec_mult", "r_precision_mult(multiple={cut})", _MULTIPLES),
    _Family("utility", "utility"),
    _Family("11pt_avg", "eleven_point_avg", in_10="eleven_point_avg(rounding=nearest)"),
    _Family("binG", "bin_g"),
    _Family("G", "g"),
    _Family("dcg", "dcg", least=10),
    _Family("ideal_dcg", "idcg", least=10),
    _Family("ndcg", "ndcg"),
    _Family("ndcg_rel", "ndcg_rel"),
    _Family("Rndcg", "rndcg"),
    _Family("ndcg_cut", "ndcg@{cut}", _CUTS),
    _Family("map_cut", "ap@{cut}", _CUTS),
    _Family("relative_P", "relative_precision@{cut}", _CUTS),
    _Family("success", "hit_rate@{cut}", (1, 5, 10)),
    _Family("set_P", "set_precision"),
    _Family("set_relative_P", "set_relative_precision"),
    _Family("set_recall", "recall"),
    _Family("set_map", "set_ap"),
    _Family("set_F", "set_f"),
    _Family("num_nonrel_judged_ret"),
    _Family("yaap", "yaap"),
    _Family("rbp", "rbp(gain=graded,p=0.9)", least=10),
    _Family("rbp_resid", "rbp_residual", least=10),
    _Family("unj", "unjudged@{cut}", (5, 10, 20), least=10),
)
"""In the order in which trec_eval prints them."""
_BY_NAME = {family.name: family for family in _FAMILIES}
_PLACES = {family.name: place for place, family in enumerate(_FAMILIES)}
_COUNTED_IN_RANKS = {family.name for family in _FAMILIES if family.metric.endswith("@{cut}")}
_WITH_CUT = re.compile(r"(?P<family>[A-Za-z]\w*?)[_.](?P<cut>\d{1,9}|\d?\.\d{1,2})")

OFFICIAL = "official"
"""The name of the set that trec_eval prints unless it is asked for something else."""
_OFFICIAL = tuple(family.name for family in _FAMILIES[: _PLACES["P"] + 1])
_COUNTS = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")
_SET = (*_COUNTS, "utility", "set_P", "set_relative_P", "set_recall", "set_map", "set_F")
_NOT_IN_ALL = {"dcg", "ideal_dcg", "yaap"}
_SETS = {
    OFFICIAL: _OFFICIAL,
    "set": _SET,
    "all_trec": tuple(family.name for family in _FAMILIES if family.name not in _NOT_IN_ALL),
}
"""trec_eval's names of several measures; `all_trec` without `relstring`, which is not a number."""
_NOT_IN_QRELS = re.compile(r"prefs_\w+|all_prefs|prefs|qrels_jg|(?:map|P|Rprec_mult)_avgjg(?:[_.][\d.]+)?")
"""Measures of other labels than qrels hold."""
_NO_NUMBER = ("relstring",)
_OURS = "a metric of raglift's, as 'ndcg@10'"


@dataclass(frozen=True)
class Column:
    """One line of trec_eval's output for each query, or one for all of them."""

    name: str
    """As it is printed."""
    family: str
    """trec_eval's measure; empty for a metric that it does not have."""
    cut: float | None = None
    """Up to which rank, at which recall, or at which multiple of R."""
    metric: Metric | None = None
    """What computes it; None for what is counted."""

    def sort_key(self) -> tuple[int, float]:
        """Return where it is printed; a metric that trec_eval does not have comes last."""
        return _PLACES[self.family] if self.family else len(_PLACES), self.cut or 0.0


def columns_of(metrics: Sequence[str | Metric] = (OFFICIAL,), version: Version = DEFAULT_VERSION) -> tuple[Column, ...]:
    """Return what is printed for metrics, in trec_eval's order, then raglift's own as they were asked for.

    A name that trec_eval has stands for its measure as that version defines it, and for no other: `rbp` is that of
    version 10 there, and refused for version 9, which has none; raglift's own is `rbp(p=0.8)`.

    Args:
        metrics: as trec_eval prints or asks for them (`ndcg_cut_10`, `P.5`, `bpref`, `official`, `all_trec`) or as
            raglift does (`ndcg@10`, `map`). `recall` without a depth is of the whole ranking: trec_eval's set_recall.
        version: trec_eval's, 9 or 10.

    Raises:
        ConfigurationError: no metric, one that neither knows, one of another version, or no such version.
    """
    if version not in VERSIONS:
        raise ConfigurationError(f"trec_eval: found the version {version!r}; expected 9 or 10")
    found = [column for given in metrics for column in _columns(str(given).strip(), version)]
    if not found:
        raise ConfigurationError("metrics: found none; expected at least one, as ['ndcg_cut_10']")
    return tuple(sorted(dict.fromkeys(found), key=Column.sort_key))


def metric_of(name: str) -> Metric:
    """Return the metric of one name, trec_eval's or raglift's: `ndcg_cut_10` is `ndcg@10`.

    A name that both have is raglift's.

    Raises:
        ConfigurationError: neither knows it, or raglift has no such metric.
    """
    try:
        return parse(name)
    except ConfigurationError:
        columns = _columns(name, max(VERSIONS) if _family_of(name) in _since_10() else DEFAULT_VERSION)
    metric = columns[0].metric
    if metric is None or len(columns) > 1:
        raise ConfigurationError(f"metric: found {name!r}, which is printed with --format trec alone; expected {_OURS}")
    return metric


def _since_10() -> set[str]:
    return {family.name for family in _FAMILIES if family.least >= 10}


def _family_of(given: str) -> str:
    """Return the name of trec_eval's measure that a text begins with; empty if it is none."""
    if given in _BY_NAME:
        return given
    found = _WITH_CUT.fullmatch(given)
    return found["family"] if found and _BY_NAME.get(found["family"], _BY_NAME["map"]).cuts else ""


def _columns(given: str, version: Version) -> list[Column]:
    if given in _SETS:
        known = [_BY_NAME[name] for name in _SETS[given]]
        return [column for family in known if family.least <= version for column in _all(family, version)]
    name = _family_of(given)
    if name and given != "recall":  # which raglift has without a depth, and trec_eval calls set_recall
        family = _BY_NAME[name]
        if family.least > version:
            others = f", or raglift's own with its settings, as '{name}(p=0.8)'" if name == "rbp" else ""
            if name not in ("dcg", "ideal_dcg"):
                raise ConfigurationError(
                    f"metric: found {given!r}, which trec_eval {version} does not have; expected "
                    f"trec_eval {family.least}, as --trec-eval {family.least}{others}"
                )
        else:
            return _all(family, version) if given == name else [_at(family, given, version)]
    try:
        return [_of_metric(parse(given), version)]
    except ConfigurationError:  # asked first: a user's own metric may have such a name
        if not _NOT_IN_QRELS.fullmatch(given) and given not in _NO_NUMBER:
            raise
    if given in _NO_NUMBER:
        raise ConfigurationError(f"metric: found {given!r}, which is a text and no number; expected {_OURS}")
    raise ConfigurationError(
        f"metric: found {given!r}, a measure of trec_eval's for preferences or several judges; expected one for qrels, "
        f"which hold one grade a document, as 'ndcg_cut_10', or {_OURS}"
    )


def _all(family: _Family, version: Version) -> list[Column]:
    """Return all columns of a family, at trec_eval's own cuts."""
    if family.cuts:
        return [_column(family, cut, version) for cut in family.cuts]
    text = family.metric_in(version)
    return [Column(family.name, family.name, metric=parse(text) if text else None)]


def _at(family: _Family, given: str, version: Version) -> Column:
    """Return the column of a family at the cut that a text ends with."""
    found = _WITH_CUT.fullmatch(given)
    cut = float(found["cut"]) if found else 0.0
    if family.name in _COUNTED_IN_RANKS and (cut < 1 or not cut.is_integer()):
        raise ConfigurationError(f"metric: found {given!r}; expected a depth of 1 or more")
    if family.name == "iprec_at_recall" and cut > 1:
        raise ConfigurationError(f"metric: found {given!r}; expected a recall of at most 1")
    if family.name == "Rprec_mult" and not 0 < cut < 100:
        raise ConfigurationError(f"metric: found {given!r}; expected a multiple of R above 0")
    return _column(family, cut, version)


def _column(family: _Family, cut: float, version: Version) -> Column:
    in_ranks = family.name in _COUNTED_IN_RANKS
    text = family.metric_in(version).format(cut=int(cut) if in_ranks else cut)
    return Column(f"{family.name}_{int(cut) if in_ranks else f'{cut:.2f}'}", family.name, cut, parse(text))


def _of_metric(metric: Metric, version: Version) -> Column:
    """Return a metric's column, under trec_eval's name where this version has the same measure."""
    if metric.parameters == (("gain", "linear"),):
        metric = replace(metric, parameters=())
    for family in _FAMILIES:
        if not family.metric or family.least > version:
            continue
        cuts: Sequence[float] = family.cuts
        if family.name in _COUNTED_IN_RANKS:
            cuts = () if metric.k is None else (metric.k,)
        if not family.cuts and metric == parse(family.metric_in(version)):
            return _all(family, version)[0]
        for cut in cuts:
            if (column := _column(family, cut, version)).metric == metric:
                return column
    return Column(str(metric), "", metric=metric)


# trec_eval's aggregates: raglift's metrics and counts, aggregated as trec_eval aggregates them.


COUNTS = ("num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
"""What is counted, and printed as a whole number."""


@dataclass(frozen=True, eq=False)
class TrecValues:
    """The value of each column for each query, and which queries are printed and counted."""

    queries: tuple[str, ...]
    """All queries of the qrels, in their order."""
    printed: tuple[int, ...]
    """The numbers of those that are evaluated, in the order in which trec_eval prints them and sums them up."""
    counted: int
    """How many queries the means are over: those that are not evaluated count 0."""
    values: Mapping[Column, Values]
    """For each column, one value a query."""
    relevant: int
    """How many documents are relevant to the queries that count."""

    def summary(self, column: Column) -> float:
        """Return a column's value for all queries: a count, a mean or a geometric mean.

        Values are added one after the other in trec_eval's order, whose sums have the same last bits then.
        """
        if column.family == "num_q":
            return float(self.counted)
        if column.family == "num_rel":
            return float(self.relevant)
        values = self.values[column][list(self.printed)]
        if column.metric is None:
            return float(values.sum())
        if MEASURES[column.metric.name].mean == "geometric":
            logs = np.cumsum(np.log(np.maximum(values, LEAST)))
            return float(np.exp((logs[-1] + (self.counted - len(values)) * np.log(LEAST)) / self.counted))
        return float(np.cumsum(values)[-1] / self.counted)


def values_of(
    columns: Sequence[Column],
    rankings: FileRankings,
    labels: Mapping[str, Mapping[str, int]],
    *,
    complete: bool,
    version: Version,
) -> TrecValues:
    """Return what trec_eval computes of a run and qrels.

    Args:
        columns: what is asked for.
        rankings: the run.
        labels: the qrels.
        complete: whether queries without a ranking count, as with `-c`. Version 10 then evaluates and prints them too.
        version: trec_eval's.
    """
    match_table = match_ids(rankings, labels)
    queries = tuple(labels)
    answered = match_table.hits > 0
    counted = np.ones_like(answered) if complete else answered
    evaluated = counted if version >= 10 else answered
    wanted = count_by_query(match_table.facts.query, match_table)
    return TrecValues(
        queries=queries,
        printed=tuple(sorted(np.flatnonzero(evaluated).tolist(), key=queries.__getitem__)),
        counted=int(np.count_nonzero(counted)),
        values={column: _values(column, match_table) for column in columns if column.family != "runid"},
        relevant=int(wanted[counted].sum()),
    )


def _values(column: Column, match_table: MatchTable) -> Values:
    if column.metric is not None:
        return compute(match_table, column.metric)
    match column.family:
        case "num_ret":
            return match_table.hits.astype(np.float64)
        case "num_rel":
            return count_by_query(match_table.facts.query, match_table)
        case "num_rel_ret":
            return count_by_query(match_table.matches.query, match_table)
        case "num_nonrel_judged_ret":
            return count_by_query(irrelevant_hits(match_table, None).query, match_table)
    return np.ones(match_table.queries)


# A run's values as trec_eval prints them, byte for byte.


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

    A `RankingWarning` says where the run has none of the labelled ids, or ranks that contradict its scores.

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
    labels = read_labels(qrels, trec_eval=trec_eval)
    rankings = read_run(Path(run), form=form, trec_eval=trec_eval)
    for note in (*rankings.notes, *no_labelled_id(rankings, answered(rankings, labels, qrels))):
        warnings.warn(f"{rankings.path}: {note}", RankingWarning, stacklevel=2)
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
