"""How a label is written makes no difference: its white space, its Unicode form, its case."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from raglift.matching.match import match_rankings
from raglift.matching.rule import MatchRule
from raglift.text.normalization import normalize
from raglift.types.checking import has_words
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

SPACES = st.text(" \t\n\r\x0b\x0c\x1c\x85\xa0\u2003\u2028\u3000", max_size=3)
WORDS = st.text(
    "abzABZ éÉßẞİıΣσςΪϊΐ\u0308\u0301\u0331ẖHH\u1100\u1161\u11a8가ﬁ’—-“–", min_size=2, max_size=9
) | st.sampled_from(["ΟΔΥΣΣΕΥΣ", "Ὀδυσσεύς", "H\u0331aus", "\u03aa\u0301", "İstanbul", "Schérer", "Sche\u0301rer"])
RULES = st.builds(
    MatchRule,
    st.sampled_from(["containment", "coverage", "fuzzy"]),
    st.sampled_from([0, 5, 20]),
    st.booleans(),
) | st.builds(
    MatchRule,
    st.sampled_from(["coverage", "fuzzy"]),
    st.sampled_from([0, 20]),
    st.booleans(),
    st.sampled_from([0.05, 0.25, 1 / 3, 0.5, 0.6, 0.75, 0.9, 1.0]),
)
Verdicts = tuple[object, ...]


def verdicts(passage: Passage, chunks: list[Chunk], rule: MatchRule) -> Verdicts:
    """Everything that matching decides: what each hit covers and is relevant for, satisfactions, irrelevant hits."""
    query = Query("q", "?", (Fact((passage,)),))
    unwanted = Query("u", "?", (Fact((Passage("something else altogether"),)),), judged_irrelevant=(passage,))
    ranking = Ranking.of((chunk, None) for chunk in chunks)
    (judged,) = match_rankings([query, unwanted], [[ranking, ranking]], rule)
    matches, overlaps = judged.matches, judged.overlaps
    of_query = overlaps.query == 0
    return (
        matches.rank[matches.query == 0].tolist(),
        overlaps.rank[of_query].tolist(),
        overlaps.direction[of_query].tolist(),
        overlaps.normalized_start[of_query].tolist(),
        overlaps.normalized_end[of_query].tolist(),
        judged.satisfied.rank.tolist(),
        judged.irrelevant.rank.tolist(),
    )


@st.composite
def texts_and_cuts(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    """A source text, and the spans of chunks of it."""
    text = "".join(word + (draw(SPACES) or " ") for word in draw(st.lists(WORDS, min_size=3, max_size=14)))
    ends = st.integers(0, len(text))
    cuts = [tuple(sorted((draw(ends), draw(ends)))) for _ in range(draw(st.integers(1, 5)))]
    return text, [(start, end) for start, end in cuts if start < end]


@st.composite
def rewritten(draw: st.DrawFn, text: str) -> str:
    """The same label with other white space, in another Unicode form, in another case or with another sigma."""
    words = text.split() or [""]
    gaps = [draw(SPACES) or " " for _ in words[1:]] + [draw(SPACES)]
    text = draw(SPACES) + "".join(word + gap for word, gap in zip(words, gaps, strict=True))
    for change in draw(st.lists(st.sampled_from(["NFC", "NFD", "lower", "upper", "sigma", "composed"]), max_size=3)):
        if change == "lower":
            text = text.lower()
        elif change == "upper":
            # Some letters have no capital that leads back to them: ß becomes SS
            text = "".join(letter.upper() if letter.upper().lower() == letter.lower() else letter for letter in text)
        elif change == "sigma":
            text = text.replace("ς", "σ") if draw(st.booleans()) else text.replace("σ", "ς")
        elif change == "composed":
            text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())
        else:
            text = unicodedata.normalize("NFC" if change == "NFC" else "NFD", text)
    return text


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(st.data(), texts_and_cuts(), RULES)
def test_a_label_that_is_a_text_may_be_written_in_any_way(
    data: st.DataObject, source: tuple[str, list[tuple[int, int]]], rule: MatchRule
) -> None:
    text, cuts = source
    start, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    label, other = text[start:end], data.draw(rewritten(text[start:end]))
    assert normalize(other, unicode_folding=rule.unicode_folding) == normalize(
        label, unicode_folding=rule.unicode_folding
    )
    chunks = [Chunk(text[first:last], doc_id="d", start=first, end=last) for first, last in cuts]
    chunks += [Chunk(text[first:last]) for first, last in cuts]
    doc_id = data.draw(st.sampled_from([None, "d"]))
    assume(has_words(label) and has_words(other))
    assert verdicts(Passage(other, doc_id), chunks, rule) == verdicts(Passage(label, doc_id), chunks, rule)
