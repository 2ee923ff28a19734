"""What a page computes its measures from by other settings: hits, what they match, labels and tokens, as columns."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.analysis.shared_queries import shared_queries
from raglift.analysis.upper_bound import attainable_passages, match_tables_of, rule_of
from raglift.errors import ConfigurationError, MissingDependency
from raglift.matching.coverage import characters_needed
from raglift.matching.match import fact_table, passage_table
from raglift.matching.matches import FactTable
from raglift.matching.reading import positions_of_facts
from raglift.matching.rule import Text
from raglift.metrics.computing import mean_title
from raglift.metrics.graded_measures import GAIN
from raglift.metrics.prompt_measures import PromptRecall, RecallArea, scale_of
from raglift.metrics.registry import MEASURES
from raglift.report.page.query_browser import bytes_in_page
from raglift.text.tokens import EstimatedTokens, is_encoding_available
from raglift.types.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.analysis.paired_statistics import Method
    from raglift.analysis.shared_queries import SharedQueries
    from raglift.matching.matches import Matches, MatchTable
    from raglift.matching.rule import MatchRule
    from raglift.report.page.query_browser import DrillDown
    from raglift.results.evaluation import Evaluation
    from raglift.text.tokens import TokenCounts
    from raglift.types.documents import Chunk

    Side = tuple[str, str]
    """A system and one of its stages."""

MAX_BYTES = 1_500_000
"""How many bytes it may take in a page."""
_LEVEL = 6
_TABLE = ("ndcg", "recall", "rr", "hit_rate", "precision")
_READ = (RecallArea.name, PromptRecall.name)
_TOKENS = Metric("context_tokens")
_KNOWN = {*_TABLE, *_READ, "f1", "ap", _TOKENS.name}
"""The measures that `assets/measures.js` computes."""
_TWO = 2


def what_if(
    systems: Mapping[str, Evaluation],
    sides: Sequence[Side],
    primary: Metric,
    method: Method,
    queries: DrillDown,
    *,
    not_comparable: Collection[str] = (),
) -> bytes | None:
    """Return what a page computes its measures from by other settings, as JSON packed by gzip.

    Args:
        systems: by name.
        sides: what stands side by side, the baseline first.
        primary: the metric that decides.
        method: of the tests.
        queries: as the page has them.
        not_comparable: the systems whose hits, as measured, end where more could turn the verdict.

    Returns:
        None for agents and repeated runs, for the conventions of other tools, and where the metric that decides is one
        that the page cannot compute, looks deeper than a stage returned, or needs tokens that cannot be counted here;
        and where it would take more than `MAX_BYTES` of the page.
    """
    chosen = [systems[name] for name, _ in sides]
    if primary.name not in _KNOWN or primary.calls is not None or not all(map(_is_usual, chosen)):
        return None
    counter = _counter(chosen[0])
    if primary.name in _READ and counter is None:
        return None
    stages = [(one, stage) for one, (_, stage) in zip(chosen, sides, strict=True)]
    if any(one.is_truncated(stage, primary) for one, stage in stages):
        return None
    columns = _Columns(shared_queries(systems, sides[0][0]), rule_of(chosen[0]))
    metrics = _metrics(primary, stages, counts_tokens=counter is not None)
    names = list(dict.fromkeys(name for name, _ in sides))
    packed = [columns.system(name, systems[name], is_read=any(one.name in _READ for one in metrics)) for name in names]
    limits = [one.truncated.get(stage, _asked(one)) for one, (_, stage) in zip(chosen, sides, strict=True)]
    reranked = [_asked(one) for one in chosen if len(one.run.stages) > 1]
    at_k = primary.name not in _READ
    stage_titles = {view.stage: view.title for view in queries.views}
    right = queries.views[queries.right]
    focus = (right.system or names[0], right.stage)
    content = {
        "seed": _seed(method.seed),
        "confidence": method.confidence,
        "metrics": list(map(_metric, metrics)),
        "depth": {"k": primary.k if at_k else min(queries.k, *limits), "tokens": _budget(primary) if at_k else None},
        "limit": {"k": min(limits), "candidates": min(reranked, default=0)},
        "isEstimated": counter is None,
        "sides": [
            {
                "system": names.index(name),
                "stage": systems[name].scores.stages.index(at),
                "title": stage_titles[at] if len(names) == 1 else name,
                "isComparable": name not in not_comparable,
            }
            for name, at in sides
        ],
        "focus": list(sides).index(focus),
        "systems": packed,
        **columns.labels(),
        "chunks": (counter or EstimatedTokens()).of(columns.texts).tolist(),
        "matches": columns.matches(),
    }
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    packed_columns = gzip.compress(text.encode(), _LEVEL, mtime=0)
    return packed_columns if bytes_in_page(packed_columns) <= MAX_BYTES else None


def fair_sides(evaluation: Evaluation, primary: Metric) -> list[str]:
    """Return the first and the last stage of a system, or the last alone where its lift cannot be told fairly."""
    is_fair = evaluation.has_fair_lift(primary) and not evaluation.beyond_candidates
    return [evaluation.before, evaluation.after] if is_fair else [evaluation.after]


def _is_usual(evaluation: Evaluation) -> bool:
    """Whether each query was asked once, and scored by raglift's own conventions."""
    traces = evaluation.run.traces
    is_asked_once = not evaluation.run.has_sessions and not any(trace.repetitions for trace in traces)
    return is_asked_once and evaluation.profile == "default" and any(trace.error is None for trace in traces)


def _seed(seed: int) -> dict[str, str]:
    """Return where numpy's generator starts; as texts, because JSON in a browser has no whole numbers as large."""
    start = np.random.PCG64(seed).state["state"]
    return {"state": str(start["state"]), "increment": str(start["inc"])}


def _asked(evaluation: Evaluation) -> int:
    return int(evaluation.run.spec["candidates"])


def _counter(evaluation: Evaluation) -> TokenCounts | None:
    """Return what counts tokens; None where that needs a network, or the encoding's file is damaged."""
    counter = match_tables_of(evaluation)[0].counter
    try:
        return counter if is_encoding_available() and len(counter.of(["a"])) else None
    except (ConfigurationError, MissingDependency):
        return None


def _budget(metric: Metric) -> int | None:
    return None if metric.budget is None else metric.budget.most


def _metrics(primary: Metric, sides: Sequence[tuple[Evaluation, str]], *, counts_tokens: bool) -> list[Metric]:
    """Return the metrics that are shown, the one that decides first.

    A measure of what is read is among them if all sides scored it, and none is cut before its budget that another is
    compared with.
    """
    scored = [metric for metric in sides[0][0].scores.metrics if all(metric in one.scores.metrics for one, _ in sides)]
    read = [metric for metric in scored if metric.name in _READ and counts_tokens]
    read = [metric for metric in read if len(sides) == 1 or not any(one.is_truncated(at, metric) for one, at in sides)]
    has_k = primary.k is not None or primary.name in _READ
    as_scored = {metric.name: replace(metric, depth=None) for metric in scored[::-1]}  # with its gain
    table = [as_scored.get(name, Metric(name)) for name in _TABLE if has_k or not MEASURES[name].needs_k]
    found = {metric.name: metric for metric in (primary, *table, *read[:1], _TOKENS)[::-1]}
    return [
        metric for name in dict.fromkeys((primary.name, *_TABLE, *_READ, _TOKENS.name)) if (metric := found.get(name))
    ]


def _metric(metric: Metric) -> dict[str, Any]:
    named = MEASURES[metric.name].title if metric.name in _READ else mean_title(replace(metric, depth=None))
    return {"name": metric.name, "title": named, "gain": metric.parameter(*_GAIN), "tokens": _budget(metric)}


_GAIN = GAIN.name, GAIN.values[0]


def _why_not_fewer(evaluation: Evaluation, *, is_reranked: bool) -> str:
    """Return why the order of fewer candidates is not known; empty if it is."""
    last = evaluation.run.stages[-1]
    if not is_reranked:
        return "its stages do more than order the hits of one retriever"
    if last.name in evaluation.truncated:
        return f"the reranker returned no more than {evaluation.truncated[last.name]:,} hits"
    return "" if last.by_pair else "this reranker may score a hit by the others it gets"


@dataclass(eq=False)
class _Columns:
    """The columns of the shared queries, filled system by system: a chunk and what it matches are there once."""

    shared: SharedQueries
    rule: MatchRule
    texts: list[str] = field(default_factory=list)
    """Of the chunks, by number."""

    def __post_init__(self) -> None:
        self._facts, self._passages = fact_table(self.shared.queries), passage_table(self.shared.queries)
        self._fact_of = np.repeat(np.arange(len(self._facts.query)), self._facts.passages)
        self._normalized = Text(self.rule)
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._matches: dict[tuple[int, int], tuple[int, ...]] = {}

    def labels(self) -> dict[str, Any]:
        """Return the queries, their facts and the passages of these."""
        by_coverage, texts = self.rule.by_coverage, self._passages.texts
        needed = [characters_needed(self._normalized(one), self.rule) if one and by_coverage else 0 for one in texts]
        return {
            "coverage": by_coverage,
            "queries": len(self.shared.queries),
            "tagsOf": [list(query.tags) for query in self.shared.queries],
            "facts": self._facts.query.tolist(),
            "passages": {"fact": self._fact_of.tolist(), "grade": self._passages.grades.tolist(), "needed": needed},
        }

    def matches(self) -> dict[str, list[int]]:
        """Return which chunk covers which part of which passage."""
        rows = [(*pair, *found) for pair, found in self._matches.items()]
        names = ("chunk", "passage", "relevant", "start", "end", "blank")
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}

    def system(self, name: str, evaluation: Evaluation, *, is_read: bool) -> dict[str, Any]:
        """Return what the stages of a system returned."""
        places, tables = self.shared.places[name].tolist(), match_tables_of(evaluation)
        rows = self._rows_of(tables[0], places)
        attainable = attainable_passages(evaluation.dataset.queries, evaluation.run.inventory, self.rule)
        stages = []
        ids: set[tuple[str, int]] = set()
        for stage, table in zip(evaluation.scores.stages, tables, strict=True):
            found = [[self._number(hit.chunk) for hit in table.rankings[place]] for place in places]
            self._match(table, places, found, rows)
            ids |= {
                (hit.chunk.id, number)
                for place, numbers in zip(places, found, strict=True)
                for hit, number in zip(table.rankings[place], numbers, strict=True)
            }
            stages.append(
                {
                    "name": stage,
                    "hits": list(map(len, found)),
                    "chunks": [number for numbers in found for number in numbers],
                    "positions": _finite(_positions(table)[rows]) if is_read else [],
                }
            )
        traces = evaluation.run.traces
        has_own_ids = len({one for one, _ in ids}) == len({number for _, number in ids})
        run_stages = evaluation.run.stages
        reranks = len(run_stages) == _TWO and run_stages[1].changed_hits is None and has_own_ids
        return {
            "name": name,
            "stages": stages,
            "failed": [number for number, place in enumerate(places) if traces[place].error is not None],
            "attainable": None if attainable is None else attainable[rows].astype(int).tolist(),
            "scale": scale_of(tables[0]) if is_read else None,
            "isReranked": reranks,
            "whyNotFewer": _why_not_fewer(evaluation, is_reranked=reranks),
        }

    def _rows_of(self, table: MatchTable, places: Sequence[int]) -> NDArray[np.int64]:
        """Return where the passages of the shared queries stand in a system's own table."""
        counts = np.bincount(table.facts.query, weights=table.facts.passages, minlength=table.queries).astype(np.int64)
        first = np.cumsum(counts) - counts
        found = [np.arange(first[place], first[place] + counts[place]) for place in places]
        return np.concatenate([np.zeros(0, dtype=np.int64), *found])

    def _number(self, chunk: Chunk) -> int:
        key = (chunk.id, chunk.doc_id, chunk.start, chunk.end, chunk.text)
        if key not in self._numbers:
            self._numbers[key] = len(self.texts)
            self.texts.append(chunk.text)
        return self._numbers[key]

    def _match(
        self, table: MatchTable, places: Sequence[int], found: Sequence[Sequence[int]], rows: NDArray[np.int64]
    ) -> None:
        """Add what the hits of a stage match."""
        numbers = dict(zip(places, found, strict=True))
        own = {row: number for number, row in enumerate(rows.tolist())}
        covering = table.overlaps if self.rule.by_coverage else table.matches
        passages = table.passages.rows(covering.fact, covering.passage)
        names = ("query", "rank", "relevant", "normalized_start", "normalized_end")
        for passage, query, rank, relevant, start, end in zip(
            passages.tolist(), *(getattr(covering, name).tolist() for name in names), strict=True
        ):
            if query not in numbers:
                continue
            pair = numbers[query][rank - 1], own[passage]
            if pair not in self._matches:
                text = table.passages.texts[passage]
                blank = text is not None and self._normalized(text).startswith(" ", end)
                self._matches[pair] = int(relevant), start, end, int(blank)


def _positions(table: MatchTable) -> NDArray[np.float64]:
    """Return how many characters are read until each passage is found: as if each were a fact of its own."""
    facts, passages = table.facts, table.passages
    count = len(passages.texts)

    def alone(found: Matches) -> Matches:
        return replace(found, fact=passages.rows(found.fact, found.passage), passage=np.zeros_like(found.passage))

    single = FactTable(np.repeat(facts.query, facts.passages), passages.grades, np.ones(count, dtype=np.int64))
    by_passage = replace(
        table,
        facts=single,
        passages=replace(passages, first=np.arange(count)),
        matches=alone(table.matches),
        overlaps=alone(table.overlaps),
    )
    return positions_of_facts(by_passage)


def _finite(values: Iterable[float]) -> list[float | None]:
    return [None if np.isinf(value) else float(value) for value in values]
