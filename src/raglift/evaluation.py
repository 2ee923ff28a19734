"""`evaluate()`: one system over one dataset, every metric at every stage."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from raglift.chunking.encodings import DEFAULT_ENCODING, load_encoding
from raglift.chunking.token_counts import TokenCounts
from raglift.environment import environment
from raglift.errors import ConfigurationError
from raglift.execution import Policy, run_stages
from raglift.execution.traces import is_batched
from raglift.integrations.adapt import adapt_reranker, adapt_system, named_stages
from raglift.integrations.inventory import all_chunks
from raglift.latency import CostMeter, OneAtATime
from raglift.matching import MatchRule, Provenance, inventory_of, judge, reach_of
from raglift.metrics import MEASURES, PROFILES, counts_tokens
from raglift.metrics.choosing import DEFAULT_METRICS, choose_metrics
from raglift.records import Dataset, Evaluation, Run, StageInfo
from raglift.report.notes import cut_stages, evaluation_notes, fewest_tokens, run_notes
from raglift.scoring import rankings_by_stage, score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.execution import Stage
    from raglift.models import Dtype
    from raglift.records import Inventory, Metric, Tokens

__all__ = ["DEFAULT_KS", "DEFAULT_METRICS", "Options", "dataset_hash", "evaluate", "evaluation_of", "rescore"]

DEFAULT_KS = (1, 3, 5, 10)
"""The depths at which metrics are taken unless others are asked for."""


class Options(TypedDict, total=False):
    """The less common settings of `evaluate`, all optional."""

    metrics: Sequence[Metric | str]
    """Measures to take, at each of `ks` where they name no depth of their own; a measure that divides by k is
    taken at a token budget in none of them."""
    chunks: Sequence[Any] | None
    """All chunks of the index, as Chunks, LangChain documents, LlamaIndex nodes or texts, for a system that does not
    tell them: then the evaluation knows which facts the chunks allow at all."""
    as_deployed: bool
    """Keep the rerankers' own top_n instead of raising it to the number of candidates."""
    doc_key: str | None
    """The metadata key of the hits that holds the ids of the dataset's documents."""
    dtype: Dtype
    """What a reranker given by name computes in."""
    concurrency: int
    """How many queries may be under way at once, for systems that take one query at a time. Default 1."""
    timeout: float | None
    """The most seconds for one query. Default: no limit."""
    retries: int
    """How often a call that failed for a passing reason is made again. Default 2."""
    on_error: Literal["keep", "raise"]
    """`keep` (default) counts a failed query as 0; `raise` stops at the first."""
    progress: bool | None
    """Show progress: True, False, or None (default) for when standard error is a terminal."""
    latency: int | None
    """Over how many queries to measure latency, each alone and without the cache, after the run; 50 is usual. Every
    model is asked (and a provider paid) again. 0 or None (default) for none."""


@dataclass(frozen=True)
class _Config:
    """`Options` with their defaults."""

    metrics: Sequence[Metric | str] = DEFAULT_METRICS
    chunks: Sequence[Any] | None = None
    as_deployed: bool = False
    doc_key: str | None = None
    dtype: Dtype = "auto"
    concurrency: int = 1
    timeout: float | None = None
    retries: int = 2
    on_error: Literal["keep", "raise"] = "keep"
    progress: bool | None = None
    latency: int | None = None

    @classmethod
    def of(cls, options: Options) -> _Config:
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise ConfigurationError(f"evaluate: found the option {unknown[0]!r}; expected one of {', '.join(known)}")
        return cls(**options)

    @property
    def policy(self) -> Policy:
        return Policy(self.concurrency, self.timeout, self.retries, self.on_error, self.progress)


def evaluate(
    system: Any,
    dataset: Dataset,
    *,
    reranker: Any = None,
    ks: Sequence[int | Tokens | str] = DEFAULT_KS,
    candidates: int = 50,
    match: str | MatchRule = "containment",
    profile: str = "default",
    **options: Unpack[Options],
) -> Evaluation:
    """Measure a retrieval system, before and after reranking.

    Every query runs once; each stage's ranking is kept, matched to the labels, and scored.

    Args:
        system: a LangChain retriever, vector store or Runnable; a LlamaIndex retriever, query engine or index; a
            function from a query's text to results; or an object with `retrieve(queries, k)`. A composite (a
            `ContextualCompressionRetriever`, a query engine with postprocessors) is opened into its stages. It is
            never changed: depths are set on copies.
        dataset: labelled queries, from `load_dataset` or `Dataset.from_dict`.
        reranker: "late-interaction" (embedded, needs no network), a cross-encoder's name or path, a `CrossEncoder`, a
            LangChain compressor, a LlamaIndex postprocessor, a function, or a list of these.
        ks: the depths at which metrics are taken: numbers of hits, and budgets of context tokens as `tokens(2000)`
            (from `raglift.metrics`, or as a text), which make the prompts of different chunk sizes comparable.
        candidates: how many hits to retrieve for the rerankers; raised to the largest k.
        match: "containment" (one hit proves a fact), "coverage" (the hits together cover at least half of a passage:
            fair across chunk sizes), "fuzzy" (texts that were scanned or cleaned), or a `MatchRule` with a threshold.
        profile: whose metric conventions: "default", "tutorial" or "autorag".
        **options: see `Options`.

    Raises:
        ConfigurationError: an argument that cannot be used, or a system that no adapter knows.
        MissingDependency: tokens are to be counted, and tiktoken is not installed.
        ModelError: a model cannot be loaded.
        QueryFailed: a query failed and `on_error="raise"`.
    """
    config = _Config.of(options)
    metrics = choose_metrics(config.metrics, ks)
    _require_encoding(metrics)
    rule = _rule(match, profile)
    depth = max(_positive("candidates", candidates), *(metric.k or 0 for metric in metrics))
    timed = _positive("latency", config.latency) if config.latency else 0
    if not isinstance(dataset, Dataset):
        raise ConfigurationError(
            f"dataset: found a {type(dataset).__name__}; expected a Dataset, from load_dataset() or Dataset.from_dict()"
        )
    if not dataset.queries:
        raise ConfigurationError(f"dataset: found no queries in {dataset.name!r}; expected at least one")
    policy = config.policy
    stages = named_stages(
        [
            *adapt_system(system, as_deployed=config.as_deployed, doc_key=config.doc_key),
            *adapt_reranker(reranker, as_deployed=config.as_deployed, dtype=config.dtype, progress=config.progress),
        ]
    )
    inventory = _inventory(stages, dataset, config, rule)
    _require_chunks(metrics, inventory)
    provenance = Provenance(dataset, config.doc_key)
    alone = OneAtATime(stages, depth, policy, Provenance(dataset, config.doc_key))
    meter = CostMeter(alone, dataset.queries, timed)
    meter.warm_up()
    traces = run_stages(stages, dataset.queries, depth, policy, provenance, watch=meter.watch)
    infos = tuple(StageInfo(s.name, s.system, s.depth_fixed, is_batched(s)) for s in stages)
    notes = run_notes(stages, provenance)
    batched = [info.name for info in infos if info.batched]
    if config.timeout is not None and batched:
        notes.append(f"{', '.join(batched)}: takes all queries at once, so the timeout of one query does not apply")
    run = Run(infos, traces, _spec(dataset, config, depth), tuple(notes), inventory, meter.cost(traces))
    return evaluation_of(run, dataset, metrics, rule, profile, TokenCounts(progress=config.progress))


def rescore(
    evaluation: Evaluation,
    *,
    metrics: Sequence[Metric | str] = DEFAULT_METRICS,
    ks: Sequence[int | Tokens | str] = DEFAULT_KS,
    match: str | MatchRule | None = None,
    profile: str | None = None,
) -> Evaluation:
    """Score a run again with other metrics, depths, match rule or profile, without asking the system again.

    Args:
        evaluation: from `evaluate` or `load_evaluation`.
        metrics: measures to take.
        ks: the depths at which they are taken, as in `evaluate`; no number of hits may be more than the run's
            candidates.
        match: "containment", "coverage", "fuzzy", or a `MatchRule`; by default as the evaluation was matched.
        profile: whose metric conventions; by default the evaluation's own.

    Raises:
        ConfigurationError: an argument that cannot be used.
        MissingDependency: tokens are to be counted, and tiktoken is not installed.
    """
    chosen = choose_metrics(metrics, ks)
    asked = int(evaluation.run.spec["candidates"])
    too_deep = [metric for metric in chosen if metric.k is not None and metric.k > asked]
    if too_deep:
        raise ConfigurationError(
            f"rescore: found {too_deep[0]}; expected a depth of at most {asked}, the number of candidates that the run "
            "asked for: evaluate again with more candidates"
        )
    _require_chunks(chosen, evaluation.run.inventory)
    _require_encoding(chosen)
    profile = evaluation.profile if profile is None else profile
    rule = _rule(MatchRule(**evaluation.run.spec["match"]) if match is None else match, profile)
    counter = evaluation.judgements[0].counter if evaluation.judgements else TokenCounts()
    return evaluation_of(evaluation.run, evaluation.dataset, chosen, rule, profile, counter)


def evaluation_of(
    run: Run, dataset: Dataset, metrics: tuple[Metric, ...], rule: MatchRule, profile: str, counter: TokenCounts
) -> Evaluation:
    """Match and score a run.

    Args:
        run: what a system returned.
        dataset: what it was asked, with the labels.
        metrics: what to compute.
        rule: what counts as a match.
        profile: whose metric conventions.
        counter: counts tokens, each distinct text once.
    """
    rankings = rankings_by_stage(run)
    wants_reach = any(MEASURES[metric.name].needs_chunks for metric in metrics)
    reach = reach_of(dataset.queries, run.inventory, rule) if run.inventory is not None and wants_reach else None
    judgements = judge(dataset.queries, rankings, rule, reach=reach, counter=counter)
    budgets = sorted({metric.budget for metric in metrics if metric.budget is not None})
    scored = {
        "ks": sorted({metric.k for metric in metrics if metric.k is not None}),
        "budgets": [budget.most for budget in budgets],
        "match": asdict(rule),
        "profile": profile,
    }
    run = replace(run, spec={**run.spec, **scored})
    truncated = cut_stages(run, rankings)
    return Evaluation(
        run=run,
        dataset=dataset,
        scores=score(run, dataset, judgements, metrics, profile),
        profile=profile,
        truncated=truncated,
        notes=tuple(evaluation_notes(run, dataset, judgements, truncated, budgets)),
        judgements=tuple(judgements),
        truncated_tokens=fewest_tokens(truncated, judgements, run) if budgets else {},
    )


def _inventory(stages: Sequence[Stage], dataset: Dataset, config: _Config, rule: MatchRule) -> Inventory | None:
    """Return what is known of all chunks of the index; None when they are not known."""
    chunks = all_chunks(stages, config.chunks, doc_key=config.doc_key)
    if chunks is None:
        return None
    provenance = Provenance(dataset, config.doc_key)
    checked = [provenance.check_chunk(chunk) for chunk in chunks]
    return inventory_of(dataset.queries, checked, dataset.documents, rule, progress=config.progress)


def _require_chunks(metrics: tuple[Metric, ...], inventory: Inventory | None) -> None:
    """Raise when a metric needs all chunks of the index and they are not known."""
    wanted = [str(metric) for metric in metrics if MEASURES[metric.name].needs_chunks]
    if wanted and inventory is None:
        raise ConfigurationError(
            f"{wanted[0]}: found a system that does not tell its chunks; expected them, as evaluate(..., chunks=chunks)"
        )


def _require_encoding(metrics: tuple[Metric, ...]) -> None:
    """Raise when a metric needs tokens counted and they cannot be, before the system is asked anything."""
    if any(counts_tokens(metric) for metric in metrics):
        load_encoding(DEFAULT_ENCODING)


def _spec(dataset: Dataset, config: _Config, depth: int) -> dict[str, Any]:
    """Return what was asked of the system, and where; never what could be secret."""
    return {
        "candidates": depth,
        "as_deployed": config.as_deployed,
        "doc_key": config.doc_key,
        "dtype": config.dtype,
        "dataset": {"name": dataset.name, "queries": len(dataset), "hash": dataset_hash(dataset)},
        "concurrency": config.concurrency,
        "timeout": config.timeout,
        "retries": config.retries,
        "latency": config.latency or 0,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": environment(),
    }


def _rule(match: str | MatchRule, profile: str) -> MatchRule:
    if profile not in PROFILES:
        raise ConfigurationError(f"profile: found {profile!r}; expected one of {', '.join(map(repr, PROFILES))}")
    return match if isinstance(match, MatchRule) else MatchRule.for_profile(profile, match)


def _positive(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ConfigurationError(f"{name}: found {value!r}; expected an integer, 1 or more")
    return int(value)


def dataset_hash(dataset: Dataset) -> str:
    """Return a hash of the queries, the labels and the documents."""
    digest = hashlib.sha256()
    for document in dataset.documents:
        digest.update(f"{document.id}\x00{document.text}\x00".encode("utf-8", "surrogatepass"))
    # What repr(dataset.queries) is, in pieces: the whole is as large as the labels
    for number, query in enumerate(dataset.queries):
        digest.update(f"{', ' if number else '('}{query!r}".encode("utf-8", "surrogatepass"))
    digest.update(b",)" if len(dataset) == 1 else b")")
    return digest.hexdigest()[:16]
