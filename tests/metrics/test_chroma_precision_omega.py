"""SpanPrecisionOmega against what Chroma's chunking evaluation computes, written anew from its definition.

`BaseEvaluation._full_precision_score` in <https://github.com/brandonstarxel/chunking_evaluation>: for each question,
every chunk of its text whose range meets a reference's, in a range that may be empty, is taken.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.matching.match import inventory_of, match_rankings, span_upper_bound_of
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

Range = tuple[int, int]


def intersection(first: Range, second: Range) -> Range | None:
    start, end = max(first[0], second[0]), min(first[1], second[1])
    return (start, end) if start <= end else None


def union(ranges: list[Range]) -> list[Range]:
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def without(ranges: list[Range], taken: Range) -> list[Range]:
    """The ranges without the part that was taken; one that only meets it stays as it is."""
    left: list[Range] = []
    for start, end in ranges:
        if end < taken[0] or start > taken[1]:
            left.append((start, end))
            continue
        if start < taken[0]:
            left.append((start, taken[0]))
        if end > taken[1]:
            left.append((taken[1], end))
    return left


def length(ranges: list[Range]) -> int:
    return sum(end - start for start, end in ranges)


def precision_omega(references: list[Range], chunks: list[Range]) -> float:
    """Chroma's precision omega of one question, from the ranges of its references and of the chunks of its text."""
    covered: list[Range] = []
    taken: list[Range] = []
    unused = list(references)
    for chunk in chunks:
        for reference in references:
            shared = intersection(chunk, reference)
            if shared is not None:
                unused = without(unused, shared)
                covered = union([shared, *covered])
                taken = union([chunk, *taken])
    return length(covered) / length(union(taken + unused)) if covered else 0.0


def omegas(queries: tuple[Query, ...], chunks: list[Chunk], documents: tuple[Document, ...]) -> list[float]:
    rule = MatchRule("coverage")
    reach = span_upper_bound_of(queries, inventory_of(queries, chunks, documents, rule), rule)
    (judged,) = match_rankings(queries, [[Ranking() for _ in queries]], rule, reach=reach)
    values: list[float] = compute(judged, parse("span_precision_omega")).tolist()
    return values


def test_a_chunk_that_only_abuts_a_passage_counts() -> None:
    assert precision_omega([(10, 20)], [(0, 10), (10, 16), (16, 25), (30, 40)]) == 10 / 25
    assert precision_omega([(10, 20)], [(0, 10)]) == 0
    document = Document("d", "abcdefghijklmnopqrstuvwxyz0123456789ABCD")
    query = Query("q", "?", (Fact((Passage(document.text[10:20], "d", 10, 20),)),))
    cuts = [(0, 10), (10, 16), (16, 25), (30, 40)]
    chunks = [Chunk(document.text[start:end], doc_id="d", start=start, end=end) for start, end in cuts]
    other = Document("a", "no chunk of another document abuts it")
    assert omegas((query,), chunks, (other, document)) == [10 / 25]


ranges = st.tuples(st.integers(0, 38), st.integers(1, 15)).map(lambda at: (at[0], min(at[0] + at[1], 40)))


@pytest.mark.slow
@given(st.lists(ranges, min_size=1, max_size=3), st.lists(ranges, max_size=6))
def test_any_ranges_give_what_chroma_computes(references: list[Range], cuts: list[Range]) -> None:
    text = "ab c\n\nde  fg hi jk lm\tno pq rs tu vw xy z"[:40]
    references = [(start, end) for start, end in references if text[start:end].strip()] or [(0, 4)]  # no label is blank
    passages = [Passage(text[start:end], "d", start, end) for start, end in references]
    query = Query("q", "?", tuple(Fact((passage,)) for passage in passages))
    chunks = [Chunk(text[start:end], doc_id="d", start=start, end=end) for start, end in cuts]
    assert omegas((query,), chunks, (Document("d", text),)) == pytest.approx([precision_omega(references, cuts)])
