"""What trec_eval calls its measures, and in what order it prints them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.metrics import parse
from raglift.records import Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OFFICIAL", "Column", "columns_of", "metric_of"]

_CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_RECALLS = tuple(tenth / 10 for tenth in range(11))

_ORDER = (
    "runid",
    "num_q",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "map",
    "gm_map",
    "Rprec",
    "bpref",
    "recip_rank",
    "iprec_at_recall",
    "P",
    "recall",
    "ndcg",
    "ndcg_cut",
    "map_cut",
    "success",
    "set_P",
    "set_recall",
    "set_F",
)
"""The families, in the order in which trec_eval prints them."""

_AT_ALL = {"rr": "recip_rank", "ap": "map", "r_precision": "Rprec", "ndcg": "ndcg", "recall": "set_recall"}
_AT_K = {"hit_rate": "success", "precision": "P", "recall": "recall", "ap": "map_cut", "ndcg": "ndcg_cut"}
"""raglift's measures and trec_eval's families, without a depth and with one."""
_WITH_CUT = re.compile(r"(P|recall|ndcg_cut|map_cut|success)[_.](\d{1,9})")
_WITH_SHARE = re.compile(r"iprec_at_recall[_.](0?\.\d{1,2}|[01](?:\.0{1,2})?)")
_OFFICIAL_FAMILIES = _ORDER[: _ORDER.index("P") + 1]
_DEFAULT_CUTS = {"P": _CUTS, "ndcg_cut": _CUTS, "map_cut": _CUTS, "success": (1, 5, 10)}
_NOT_HERE = re.compile(
    r"(?:relstring|infAP|gm_bpref|Rprec_mult|utility|11pt_avg|binG|G|ndcg_rel|Rndcg|relative_P|set_relative_P|set_map"
    r"|num_nonrel_judged_ret|prefs_\w+)(?:[_.][\d.]+)?"
)
"""What trec_eval has and raglift does not, with or without a depth."""
_OURS = "a metric of raglift's, as 'ndcg@10'"
OFFICIAL = "official"
"""The name of the set that trec_eval prints unless it is asked for something else."""


@dataclass(frozen=True)
class Column:
    """One line of trec_eval's output for each query, or one for all of them."""

    name: str
    """As it is printed."""
    family: str
    """What computes it; empty for a metric that trec_eval does not have."""
    cut: float | None = None
    """Up to which rank, or at which recall."""
    metric: Metric | None = None
    """What raglift calls it, where it does."""

    def sort_key(self) -> tuple[int, float]:
        """Return where it is printed; a metric that trec_eval does not have comes last."""
        return _ORDER.index(self.family) if self.family else len(_ORDER), self.cut or 0.0


def columns_of(metrics: Sequence[str | Metric] = (OFFICIAL,)) -> tuple[Column, ...]:
    """Return what is printed for metrics, in trec_eval's order, then raglift's own as they were asked for.

    Args:
        metrics: as trec_eval prints or asks for them (`ndcg_cut_10`, `P.5`, `bpref`, `official`) or as raglift does
            (`ndcg@10`, `map`). `recall` without a depth is of the whole ranking: trec_eval's set_recall.

    Raises:
        ConfigurationError: no metric, or one that neither knows.
    """
    found = [column for given in metrics for column in _columns(str(given).strip())]
    if not found:
        raise ConfigurationError("metrics: found none; expected at least one, as ['ndcg_cut_10']")
    return tuple(sorted(dict.fromkeys(found), key=Column.sort_key))


def metric_of(name: str) -> Metric:
    """Return the metric of one name, trec_eval's or raglift's: `ndcg_cut_10` is `ndcg@10`.

    Raises:
        ConfigurationError: neither knows it, or raglift has no such metric.
    """
    columns = _columns(name)
    metric = columns[0].metric
    if metric is None or len(columns) > 1:
        raise ConfigurationError(f"metric: found {name!r}, which is printed with --format trec alone; expected {_OURS}")
    return metric


def _columns(given: str) -> list[Column]:
    if given == OFFICIAL:
        return [column for family in _OFFICIAL_FAMILIES for column in _family(family)]
    if given in _DEFAULT_CUTS or given == "iprec_at_recall":
        return _family(given)
    if given in _ORDER and given != "recall":
        return _family(given)
    if found := _WITH_CUT.fullmatch(given):
        return [_at_cut(found[1], int(found[2]))]
    if found := _WITH_SHARE.fullmatch(given):
        return [_at_recall(float(found[1]))]
    try:
        return [_of_metric(parse(given))]
    except ConfigurationError:
        if not _NOT_HERE.fullmatch(given):  # asked last: a user's own metric may have such a name
            raise
    raise ConfigurationError(
        f"metric: found {given!r}, a measure of trec_eval that raglift does not have; expected another of "
        f"trec_eval's, as 'ndcg_cut_10', or {_OURS}"
    )


def _family(family: str) -> list[Column]:
    """Return all columns of a family, at trec_eval's own depths."""
    if family == "iprec_at_recall":
        return [_at_recall(share) for share in _RECALLS]
    if family in _DEFAULT_CUTS:
        return [_at_cut(family, cut) for cut in _DEFAULT_CUTS[family]]
    ours = {theirs: Metric(name) for name, theirs in _AT_ALL.items()}
    return [Column(family, family, metric=ours.get(family))]


def _at_cut(family: str, cut: int) -> Column:
    if cut < 1:
        raise ConfigurationError(f"metric: found '{family}_{cut}'; expected a depth of 1 or more")
    name = next(ours for ours, theirs in _AT_K.items() if theirs == family)
    return Column(f"{family}_{cut}", family, cut, Metric(name, cut))


def _at_recall(share: float) -> Column:
    if share > 1:
        raise ConfigurationError(f"metric: found 'iprec_at_recall_{share:.2f}'; expected a recall of at most 1")
    return Column(f"iprec_at_recall_{share:.2f}", "iprec_at_recall", share)


def _of_metric(metric: Metric) -> Column:
    """Return a metric's column, under trec_eval's name where it has the same measure."""
    if metric.parameters in ((), (("gain", "linear"),)) and metric.budget is None:
        if metric.k is None and metric.name in _AT_ALL:
            return _family(_AT_ALL[metric.name])[0]
        if metric.k is not None and metric.name in _AT_K:
            return _at_cut(_AT_K[metric.name], metric.k)
    return Column(str(metric), "", metric=metric)
