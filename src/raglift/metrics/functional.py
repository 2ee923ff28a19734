"""Metrics as plain functions of lists, as tutorials use them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError
from raglift.text.normalization import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence


def dcg(relevance: Sequence[float], k: int | None = None) -> float:
    """DCG@k = Σ relevance_i / log2(i + 1) over the first k; `dcg([3, 2, 3, 0, 1], k=5)` is 6.1487.

    Args:
        relevance: the grade of the hit at each rank, in rank order.
        k: how many hits count; None for all.

    Raises:
        ConfigurationError: `k` is not a positive integer.
    """
    first = relevance if k is None else relevance[: _positive(k)]
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(first, 1))


def idcg(relevance: Sequence[float], k: int | None = None, *, ideal: Sequence[float] | None = None) -> float:
    """IDCG@k = the DCG@k of the grades sorted, best first.

    Args:
        relevance: the grade of the hit at each rank.
        k: how many hits count; None for all.
        ideal: all judged grades of the query. Without it the ideal is the given list sorted, so that what was never
            retrieved costs nothing; with it, as in trec_eval, it costs.

    Raises:
        ConfigurationError: `k` is not a positive integer.
    """
    return dcg(sorted(relevance if ideal is None else ideal, reverse=True), k)


def ndcg(relevance: Sequence[float], k: int | None = None, *, ideal: Sequence[float] | None = None) -> float:
    """NDCG@k = DCG@k / IDCG@k; 0 when nothing is relevant. `ndcg([3, 2, 3, 0, 1], k=5)` is 0.9724.

    Args:
        relevance: the grade of the hit at each rank, in rank order.
        k: how many hits count; None for all.
        ideal: all judged grades of the query; see `idcg`.

    Raises:
        ConfigurationError: `k` is not a positive integer.
    """
    best = idcg(relevance, k, ideal=ideal)
    return dcg(relevance, k) / best if best > 0 else 0.0


def hit_rate_at_k(docs: Sequence[Any], ground_truth_texts: Sequence[str], k: int) -> float:
    """HitRate@k = 1 if one of the first k texts matches a ground-truth text, else 0.

    Texts match when, normalized, one contains the other; an empty text never matches.

    Args:
        docs: texts, LangChain documents, LlamaIndex nodes or raglift chunks and hits, in rank order.
        ground_truth_texts: what should be found.
        k: how many of them count.

    Raises:
        ConfigurationError: `k` is not a positive integer, or a document has no text.
    """
    return float(_matched(docs, ground_truth_texts, k)[0] > 0)


def precision_at_k(docs: Sequence[Any], ground_truth_texts: Sequence[str], k: int) -> float:
    """Precision@k = how many of the first k texts match a ground-truth text / k, also when fewer came back.

    Args and Raises: as `hit_rate_at_k`.
    """
    return _matched(docs, ground_truth_texts, k)[0] / k


def recall_at_k(docs: Sequence[Any], ground_truth_texts: Sequence[str], k: int) -> float:
    """Recall@k = how many ground-truth texts match one of the first k texts / ground-truth texts; 0 without any.

    Args and Raises: as `hit_rate_at_k`.
    """
    found = _matched(docs, ground_truth_texts, k)[1]
    return found / len(ground_truth_texts) if ground_truth_texts else 0.0


def f1_at_k(precision: float, recall: float) -> float:
    """F1 = 2PR / (P + R); 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _matched(docs: Sequence[Any], ground_truth_texts: Sequence[str], k: int) -> tuple[int, int]:
    """Return how many of the first k documents match, and how many ground-truth texts."""
    for name, texts in (("docs", docs), ("ground_truth_texts", ground_truth_texts)):
        if isinstance(texts, str):
            raise ConfigurationError(f"{name}: found one text; expected a list of them")
    passages = [normalize(_text_of(text, "ground_truth_texts")) for text in ground_truth_texts]
    found = [normalize(_text_of(doc, "docs")) for doc in docs[: _positive(k)]]
    matching = [[bool(text and truth) and (truth in text or text in truth) for truth in passages] for text in found]
    return sum(map(any, matching)), sum(map(any, zip(*matching, strict=True)))


def _text_of(doc: Any, where: str) -> str:
    """Return the text of a string, a LangChain document, a LlamaIndex node, or a raglift record."""
    for attribute in ("chunk", "node"):  # a Hit, a NodeWithScore
        doc = getattr(doc, attribute, doc)
    if isinstance(doc, str):
        return doc
    for attribute in ("page_content", "text"):
        text = getattr(doc, attribute, None)
        if isinstance(text, str):
            return text
    get_content = getattr(doc, "get_content", None)
    if callable(get_content):
        return str(get_content())
    raise ConfigurationError(f"{where}: found a {type(doc).__name__}; expected a text, or an object with one")


def _positive(k: object) -> int:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ConfigurationError(f"k: found {k!r}; expected an integer, 1 or more")
    return k
