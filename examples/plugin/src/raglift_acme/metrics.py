"""A metric of one's own."""

from raglift.metrics import QueryRanking, metric


@metric("early", title="Early", formula="1 / rank of the first relevant hit if it is in the first half, else 0")
def early(ranking: QueryRanking) -> float:
    """Return the reciprocal rank of the first relevant hit, if that is in the first half of the ranking."""
    first_half = ranking.relevant[: (len(ranking.relevant) + 1) // 2]
    return 1 / (first_half.index(True) + 1) if True in first_half else 0.0
