"""Coverage is one number, whichever way it is computed: the ways against each other, and against sets of characters."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from raglift.analysis import upper_bound as attainable
from raglift.analysis.upper_bound import Best, attainable_facts, best_facts, requirements_of
from raglift.matching.coverage import (
    Choices,
    Covered,
    characters_needed,
    covered_length,
    fewest_intervals,
    is_enough,
    trimmed,
)
from raglift.matching.match import inventory_of, match_rankings
from raglift.matching.overlap import match_passage
from raglift.matching.rule import MatchRule, Text
from raglift.text.normalization import normalize
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

Interval = tuple[int, int]
THRESHOLDS = st.sampled_from([0.01, 0.25, 1 / 3, 0.5, 0.51, 0.7, 0.9, 0.99, 1.0])
NORMALIZED = st.lists(st.text("xy", min_size=1, max_size=4), min_size=1, max_size=8).map(" ".join)


def by_sets(intervals: list[Interval], text: str) -> int:
    """Count characters one by one, then the blanks between two that are covered."""
    covered = {place for start, end in intervals for place in range(start, end)}
    blanks = {place for place, letter in enumerate(text) if letter == " "}
    return len(covered | {place for place in blanks if {place - 1, place + 1} <= covered})


@st.composite
def parts_of_texts(draw: st.DrawFn) -> tuple[str, list[Interval]]:
    """A normalized text, and parts of it as matching makes them."""
    text = draw(NORMALIZED)
    parts = []
    for _ in range(draw(st.integers(1, 7))):
        start = draw(st.integers(0, len(text) - 1))
        part = trimmed(start, draw(st.integers(start + 1, len(text))), text)
        if part[0] < part[1]:
            parts.append(part)
    return text, parts or [(0, 1)]


@pytest.mark.slow
@given(parts_of_texts())
def test_a_set_of_parts_covers_what_its_characters_do(case: tuple[str, list[Interval]]) -> None:
    text, parts = case
    assert covered_length(parts, text) == by_sets(parts, text)
    assert covered_length(parts) == by_sets(parts, "")


@pytest.mark.slow
@given(parts_of_texts())
@example(("x x", [(2, 3), (0, 1)]))  # a part that ends one blank before another that is there already
def test_a_growing_union_covers_what_its_parts_do_so_far(case: tuple[str, list[Interval]]) -> None:
    text, parts = case
    covered = Covered(text)
    for number, part in enumerate(parts, start=1):
        covered.add(*part)
        assert covered.characters == by_sets(parts[:number], text)


@given(parts_of_texts(), THRESHOLDS, st.integers(1, 4))
def test_many_choices_at_once_are_judged_as_each_alone(
    case: tuple[str, list[Interval]], threshold: float, k: int
) -> None:
    text, parts = case
    rule = MatchRule("coverage", threshold=threshold)
    choices = list(combinations(range(len(parts)), min(k, len(parts))))
    covers = [(row, start, end) for row, (start, end) in enumerate(parts)]
    found = Choices(covers, len(parts), characters_needed(text, rule), text).are_enough(np.array(choices))
    assert found.tolist() == [is_enough([parts[row] for row in chosen], text, rule) for chosen in choices]


@pytest.mark.slow
@given(parts_of_texts(), THRESHOLDS)
def test_the_fewest_parts_are_those_of_trying_them_all(case: tuple[str, list[Interval]], threshold: float) -> None:
    text, parts = case
    rule = MatchRule("coverage", threshold=threshold)
    counts = (
        count
        for count in range(1, len(parts) + 1)
        if any(is_enough(chosen, text, rule) for chosen in combinations(parts, count))
    )
    fewest = next(counts, 99)
    for at_most in range(1, 9):
        assert fewest_intervals(parts, characters_needed(text, rule), at_most, text) == min(fewest, at_most + 1)


@given(st.integers(1, 5000), st.integers(1, 100))
def test_the_threshold_is_exact_in_whole_percents(length: int, percent: int) -> None:
    needed = characters_needed("x" * length, MatchRule("coverage", threshold=percent / 100))
    assert needed == -(-length * percent // 100)


WORDS = st.text("abcdefgh", min_size=1, max_size=6)
SPACE = st.sampled_from([" ", " ", "  ", "\n", "\r\n\t", "\n \n", "\xa0", "\u2003 "])
DOCUMENTS = st.lists(st.tuples(WORDS, SPACE), min_size=12, max_size=30).map(lambda pairs: "".join(map("".join, pairs)))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Query, list[Chunk], Document]:
    """A document; facts with alternatives, as spans and as texts; chunks with and without locations."""
    document = Document("d", draw(DOCUMENTS))
    text = document.text

    def span(longest: int) -> Interval:
        start = draw(st.integers(0, len(text) - 2))
        return start, min(start + draw(st.integers(2, longest)), len(text))

    def passage() -> Passage:
        start, end = span(70)
        if not text[start:end].strip():
            start, end = 0, len(text)
        if draw(st.booleans()):
            return Passage(text[start:end], "d", start, end)
        return Passage(text[start:end], draw(st.sampled_from([None, "d"])))

    def chunk() -> Chunk:
        start, end = span(50)
        if draw(st.booleans()):
            return Chunk(text[start:end], doc_id="d", start=start, end=end)
        return Chunk(text[start:end].strip() or "x", doc_id=draw(st.sampled_from([None, "d"])))

    facts = [Fact(tuple(passage() for _ in range(draw(st.integers(1, 2))))) for _ in range(draw(st.integers(1, 3)))]
    chunks = [chunk() for _ in range(draw(st.integers(1, 5)))]
    return Query("q", "?", tuple(facts)), chunks, document


def satisfied(query: Query, chunks: list[Chunk], rule: MatchRule) -> set[int]:
    """The facts that a ranking of chunks satisfies."""
    (judged,) = match_rankings([query], [[Ranking.of((chunk, None) for chunk in chunks)]], rule)
    return set(judged.satisfied.fact.tolist())


def independent(query: Query, chunks: list[Chunk], rule: MatchRule) -> set[int]:
    """The facts whose passages' characters, counted one by one, are covered to the threshold."""
    text, found = Text(rule), set()
    for number, fact in enumerate(query.facts):
        for passage in fact.passages:
            wanted = normalize(passage.text or "")
            matches = [match_passage(chunk, passage, rule, text) for chunk in chunks]
            parts = [(match.normalized_start, match.normalized_end) for match in matches if match is not None]
            if by_sets(parts, wanted) >= max((rule.threshold or 0) * len(wanted) - 1e-9, 1):
                found.add(number)
    return found


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(cases(), THRESHOLDS)
def test_hits_attainable_facts_and_upper_bounds_agree(
    case: tuple[Query, list[Chunk], Document], threshold: float
) -> None:
    query, chunks, document = case
    rule = MatchRule("coverage", threshold=threshold)
    expected = independent(query, chunks, rule)
    assert satisfied(query, chunks, rule) == expected
    can_be = attainable_facts([query], inventory_of([query], chunks, (document,), rule), rule)
    assert can_be is not None
    assert set(np.flatnonzero(can_be).tolist()) == expected
    text = Text(rule)
    overlaps = {
        (number, alternative): [
            (index, match) for index, each in enumerate(chunks) if (match := match_passage(each, passage, rule, text))
        ]
        for number, fact in enumerate(query.facts)
        for alternative, passage in enumerate(fact.passages)
    }
    needs = requirements_of(query, overlaps, rule)
    for k in range(1, len(chunks) + 1):
        best = max(len(satisfied(query, list(chosen), rule)) for chosen in combinations(chunks, k))
        assert best_facts(needs, k) == Best(best, exact=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(attainable, "MOST_CHOICES", 0)
            bound = best_facts(needs, k)
        assert bound.facts >= best
        assert bound.facts == best or not bound.exact
