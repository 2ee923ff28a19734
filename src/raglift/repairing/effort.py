"""What trying changes takes, said before: texts to embed, pairs to score, and minutes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from raglift.repairing.systems import GIVEN, NO_RERANKER, System, Trials
from raglift.retrieval.embedding import missing_texts
from raglift.retrieval.models import seconds_loading
from raglift.utilities.cache import bypassed, default_cache
from raglift.utilities.progress import notice

if TYPE_CHECKING:
    from raglift.repairing.changes import Variant

_SAMPLE = 16
_WORTH_SAYING = 20.0
"""Seconds."""


def say_effort(system: System, variants: Sequence[Variant], trials: Trials, lost: int, tried: int) -> None:
    """Say how many texts are to be embedded and pairs to be scored at most, and for how long, by timing a few.

    Args:
        system: as it was run.
        variants: of it, tried on lost facts.
        trials: the systems over its dataset.
        lost: how many facts are lost.
        tried: how many changes are tried on all questions.
    """
    texts, seconds = _to_embed(variants, trials)
    parts = [f"{texts:,} texts to embed"] * bool(texts)
    if system.reranker not in (NO_RERANKER, GIVEN):
        depths = [one.system.candidates for one in variants if one.system.reranker != NO_RERANKER]
        pairs = lost * sum(depths) + tried * len(trials.queries) * system.candidates
        first = [hit.chunk.text for ranking in trials.retrieved(system.source) for hit in ranking.hits[:1]]
        sample = [(trials.queries[0].text, text) for text in first[:_SAMPLE]]
        seconds += _seconds(partial(trials.reranker(system.reranker).score, sample)) / max(len(sample), 1) * pairs
        parts.append(f"{pairs:,} pairs to rerank")
    if seconds > _WORTH_SAYING:
        text = f"at most {' and '.join(parts)}, about {max(1, round(seconds / 60)):,} min"
        notice(text, show=trials.progress, is_slow=True)


def _to_embed(variants: Sequence[Variant], trials: Trials) -> tuple[int, float]:
    """Return how many texts the cache lacks, and how long it takes to embed them."""
    systems = [one for variant in variants for one in (variant.system, *variant.neighbours)]
    missing: dict[str, dict[str, None]] = {}
    for chunker, model in dict.fromkeys((one.chunker, one.embedding) for one in systems if one.embedding is not None):
        texts = [chunk.indexed_text for chunk in trials.chunks(chunker)]
        new = missing_texts(trials.embedder(model), texts, "document", default_cache())
        missing.setdefault(model, {}).update(dict.fromkeys(new))
    seconds = 0.0
    for model, new_texts in missing.items():
        sample = list(new_texts)[:_SAMPLE]
        if sample:
            spent = _seconds(partial(trials.embedder(model).embed, sample, "document"))
            seconds += spent / len(sample) * len(new_texts)
    return sum(map(len, missing.values())), seconds


def _seconds(compute: Callable[[], Any]) -> float:
    """Return how long a model takes, without loading it."""
    with bypassed():
        started = time.perf_counter() - seconds_loading()
        compute()
        return time.perf_counter() - seconds_loading() - started
