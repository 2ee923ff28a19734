"""Users' functions as metrics: what they are given, and the decorator `metric`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, TypedDict, Unpack

import numpy as np

from raglift.errors import ConfigurationError, MetricFailed, order_to_stop
from raglift.metrics.measure import Choice, Measure, Number, count_by_query, depth, relevant_hits
from raglift.metrics.registry import register
from raglift.types.metric import Metric
from raglift.utilities.display import printable
from raglift.utilities.limits import LARGEST_SCORE
from raglift.utilities.settings import declare_keywords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.metrics.profiles.hits import Function
    from raglift.types.rankings import Hit


# The input of a user's metric for one query: plain values, one ranking.


@dataclass(frozen=True)
class QueryRanking:
    """One query's ranking, cut at the depth at which the metric is taken, and what matched of it."""

    query_id: str
    """The id of the query."""
    k: int | None
    """The depth at which the metric is taken; None for the whole ranking, and for what fits into a token budget."""
    grades: tuple[int, ...]
    """For each hit, best first, the highest grade among the passages that it matches; 0 where it matches none."""
    ranks: tuple[int | None, ...]
    """For each fact, the rank at which it is first satisfied, from 1; None if these hits do not satisfy it."""
    ideal_grades: tuple[int, ...]
    """For each fact, the highest grade among its passages."""
    hits: tuple[Hit, ...] = field(default=(), repr=False)
    """The hits with their texts and scores; empty if ids alone were scored, which `needs_text` refuses."""

    @property
    def relevant(self) -> tuple[bool, ...]:
        """For each hit, whether it matches some passage of a fact."""
        return tuple(grade > 0 for grade in self.grades)

    @property
    def facts(self) -> int:
        """How many facts the query needs."""
        return len(self.ranks)

    @property
    def found(self) -> int:
        """How many of these are satisfied."""
        return sum(rank is not None for rank in self.ranks)


def query_rankings(match_table: MatchTable, k: int | None) -> Iterator[tuple[int, QueryRanking]]:
    """Yield the number of each query that has facts and hits, with its ranking."""
    queries = np.arange(match_table.queries + 1)
    query, rank, grade = relevant_hits(match_table, k)
    rows = np.searchsorted(query, queries).tolist()
    facts = np.searchsorted(match_table.facts.query, queries).tolist()
    first = match_table.first
    satisfied = np.zeros(len(match_table.facts.query), dtype=np.int64)
    satisfied[first.fact] = np.where(first.rank <= depth(k), first.rank, 0)
    ranks, ideal = satisfied.tolist(), match_table.facts.ideal_grade.tolist()
    lengths = np.minimum(match_table.hits, depth(k)).tolist()
    for number, length in enumerate(lengths):
        of_query = slice(facts[number], facts[number + 1])
        if not length or of_query.start == of_query.stop:
            continue
        grades = [0] * length
        for row in range(rows[number], rows[number + 1]):
            grades[rank[row] - 1] = int(grade[row])
        yield (
            number,
            QueryRanking(
                query_id=match_table.query_ids[number] if match_table.query_ids else str(number),
                k=k,
                grades=tuple(grades),
                ranks=tuple(place or None for place in ranks[of_query]),
                ideal_grades=tuple(ideal[of_query]),
                hits=tuple(match_table.rankings[number].hits[:length]) if match_table.rankings else (),
            ),
        )


# The decorator `metric` turns a function into a measure; built-in measures and users' are defined with it.


_NAME = re.compile(r"[a-z_][a-z0-9_]*")
TITLE = re.compile(r"[\w .+/%-]{1,40}")
"""What a title may be: it is in tables, Markdown and charts."""
_MORE = 1e-9
"""What rounding may add to a metric that ends at 1."""


class Kind(TypedDict, total=False):
    """What else may be said of a metric; a flag is False unless its line says that it is True."""

    needs_k: bool
    """Whether it divides by k: then it is refused without one, and at a token budget."""
    takes_k: bool
    """Whether it can be taken at a depth; True unless given."""
    needs_budget: bool
    """Whether it is taken at a budget of tokens alone, which it reads itself instead of being cut at it."""
    needs_text: bool
    """Whether it looks at the texts of the hits: then `score_rankings`, which has ids alone, refuses it."""
    is_neutral: bool
    """Whether more of it is neither better nor worse: then it has no wins, and cannot be the primary metric."""
    is_bounded: bool
    """Whether it lies between 0 and 1, which is checked and which intervals use; True unless given."""
    is_earned: bool
    """Whether it grows from 0 with the hits, else it belongs to the labels or the index; True unless given."""
    is_cost: bool
    """Whether it is what a prompt costs, in tokens."""
    is_by_call: bool
    """Whether it is of sessions: its k counts the hits of each call, and it looks at all calls."""
    is_conditional: bool
    """Whether some queries have no value, which raglift's own measures give as NaN; a user's may not."""
    needs_chunks: bool
    """Whether all chunks of the index must be known."""
    needs_irrelevant: bool
    """Whether the labels must say of something that it is irrelevant; it is refused where they do not."""
    aliases: tuple[str, ...]
    """Other names by which it is read, in lower case."""
    mean_title: str
    """What the mean over queries is called, where that has a name of its own."""


def metric(
    name: str,
    *,
    title: str = "",
    formula: str = "",
    source: str = "",
    settings: Sequence[Choice | Number] = (),
    vectorized: bool = False,
    **kind: Unpack[Kind],
) -> Callable[[Callable[..., Any]], Metric]:
    """Make a metric of a function; the decorated name is the metric as a value.

        @metric("lead", formula="1 if the first hit is relevant")
        def lead(ranking):
            return ranking.relevant[0]

        rl.evaluate(system, dataset, metrics=[lead, "ndcg"])

    The function is asked for each query that has labels and hits, with a `QueryRanking` that is cut at the depth at
    which the metric is taken, and with each setting as a keyword; it returns a number. A query without hits counts 0.
    More must be better, unless `is_neutral` says otherwise.

    Args:
        name: in metric texts, as `lead@5`: lower case letters, digits and underscores.
        title: in tables; by default the name.
        formula: the definition in one line; by default the first line of the function's docstring.
        source: a paper or a tool.
        settings: what it can be given, as `lead(p=0.5)@5`: each a `Number` or a `Choice`.
        vectorized: whether the function is asked once for all queries, as `function(match_table, metric)`, and returns
            an array with a value for each of them, as raglift's own are. It cuts at `metric.k` itself.
        **kind: see `Kind`.

    Raises:
        ConfigurationError: the name is taken or no name, or the title cannot be in a table.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"metric: found the name {name!r}; expected lower case letters, digits and underscores, as 'first_half'"
        )
    if not TITLE.fullmatch(title or name):
        raise ConfigurationError(f"metric {name}: found the title {title!r}; expected up to 40 letters and digits")
    for alias in kind.get("aliases", ()):
        if not _NAME.fullmatch(alias.lstrip("0123456789")) or alias != alias.lower():
            raise ConfigurationError(
                f"metric {name}: found the alias {alias!r}; expected lower case letters, digits and underscores"
            )

    def register_it(function: Callable[..., Any]) -> Metric:
        if not callable(function):
            raise ConfigurationError(f"metric {name}: found a {type(function).__name__}; expected a function")
        parameters = _checked(name, settings)
        called = getattr(function, "__qualname__", type(function).__qualname__)
        summary = (function.__doc__ or "").strip().partition("\n")[0]
        is_ours = function.__module__.startswith("raglift.metrics.")
        if not vectorized:
            compute = _one_by_one(function, parameters)
        else:  # what raglift's own return is not checked at every call, but by the tests
            compute = function if is_ours else _all_at_once(function)
        register(
            Measure(
                name,
                title or name,
                printable(formula or summary),
                compute,
                source=printable(source),
                parameters=parameters,
                origin="" if is_ours else f"{function.__module__}:{called}",
                **kind,
            )
        )
        return Metric(name)

    return register_it


declare_keywords(metric, Kind)


def _checked(name: str, settings: Sequence[Choice | Number]) -> tuple[Choice | Number, ...]:
    """Return the settings; texts of metrics are read in lower case, so they must be."""
    for setting in settings:
        words = [setting.name, *(setting.values if isinstance(setting, Choice) else ())]
        for word in words:
            if not re.fullmatch(r"[a-z0-9_.-]+", word):
                raise ConfigurationError(
                    f"metric {name}: found {word!r} in a setting; expected lower case letters, digits and underscores"
                )
    return tuple(settings)


def _one_by_one(function: Callable[..., Any], settings: tuple[Choice | Number, ...]) -> Function:
    """Return a function of all queries that asks one of a single query."""

    @wraps(function)
    def values(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
        settings_of_metric = {setting.name: setting.of(metric) for setting in settings}
        found = np.zeros(match_table.queries)
        for number, ranking in query_rankings(match_table, metric.k):
            try:
                value = function(ranking, **settings_of_metric)
            except BaseException as error:
                if order_to_stop(error) is not None:
                    raise
                raise _failed(metric, f"question {ranking.query_id!r}", error) from error
            if not isinstance(value, (bool, int, float, np.number, np.bool_)):
                _refuse(metric, ranking.query_id, value)
            found[number] = value
        return _within_range(found, match_table, metric)

    return values


def _all_at_once(function: Callable[..., Any]) -> Function:
    """Return a function of all queries that checks what another one returns."""

    @wraps(function)
    def values(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
        try:
            found = np.array(function(match_table, metric), dtype=np.float64)
        except BaseException as error:
            if order_to_stop(error) is not None:
                raise
            raise _failed(metric, f"{match_table.queries} questions at once", error) from error
        if found.shape != (match_table.queries,):
            raise MetricFailed(
                metric, f": found values of the shape {found.shape}; expected one a question, {(match_table.queries,)}"
            )
        counts = (match_table.hits > 0) & (count_by_query(match_table.facts.query, match_table) > 0)
        return _within_range(np.where(counts, found, 0.0), match_table, metric)

    return values


def _within_range(values: NDArray[np.float64], match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    from raglift.metrics.registry import MEASURES

    bad = ~(np.abs(values) <= LARGEST_SCORE)
    if MEASURES[metric.name].is_bounded:
        bad |= (values < -_MORE) | (values > 1 + _MORE)
    if bad.any():
        number = int(np.flatnonzero(bad)[0])
        _refuse(metric, match_table.query_ids[number] if match_table.query_ids else str(number), float(values[number]))
    return values


def _refuse(metric: Metric, query_id: str, value: object) -> NoReturn:
    from raglift.metrics.registry import MEASURES

    expected, hint = f"a number that is finite and no larger than {LARGEST_SCORE:g}", ""
    if MEASURES[metric.name].is_bounded:
        expected = "a number from 0 to 1"
        hint = " (is_bounded=False says that it has another range)" if _is_finite(value) else ""
    raise MetricFailed(metric, f", question {printable(query_id)!r}: found {value!r}; expected {expected}{hint}")


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _failed(metric: Metric, where: str, error: BaseException) -> MetricFailed:
    message = printable(f"{type(error).__name__}: {error}")
    return MetricFailed(metric, f", {printable(where)}: the metric's own function failed: {message}")
