"""Which characters of a chunk are the covered part of a passage."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from raglift.matching.matches import Direction
from raglift.matching.overlap import PassageMatch, cover_passage, covering_characters
from raglift.matching.rule import MatchRule, Text
from raglift.text.normalization import normalize
from raglift.types.checking import has_words
from raglift.types.documents import Chunk
from raglift.types.labels import Passage

WORDS = "the lamp is lit at dusk and the wick is trimmed"
RULES = [MatchRule(), MatchRule("coverage"), MatchRule("fuzzy"), MatchRule(unicode_folding=True)]
every_rule = pytest.mark.parametrize("rule", RULES, ids=str)


def covering(chunk: Chunk, passage: Passage, rule: MatchRule) -> tuple[PassageMatch, tuple[int, int]]:
    text = Text(rule)
    match = cover_passage(chunk, passage, rule, text)
    assert match is not None
    return match, covering_characters(chunk, passage, match, rule, text)


def shown(chunk: str | Chunk, passage: str | Passage, rule: MatchRule) -> str:
    chunk = Chunk(chunk) if isinstance(chunk, str) else chunk
    _, (start, end) = covering(chunk, Passage(passage) if isinstance(passage, str) else passage, rule)
    return chunk.text[start:end]


@every_rule
def test_a_passage_inside_a_chunk_is_found_as_it_is_written_there(rule: MatchRule) -> None:
    assert shown(f"So: THE  LAMP\nis {WORDS[12:]}, he said.", WORDS, rule) == f"THE  LAMP\nis {WORDS[12:]}"


@every_rule
def test_a_chunk_inside_a_passage_is_covering_from_its_first_letter_to_its_last(rule: MatchRule) -> None:
    assert shown(f"  {WORDS[:23].upper()} \n", WORDS, rule) == WORDS[:23].upper()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.mode != "fuzzy"], ids=str)
def test_of_an_overlap_it_is_the_end_or_the_beginning(rule: MatchRule) -> None:
    assert shown(f"So it was: {WORDS[:30]}", f"{WORDS} at six", rule) == WORDS[:30]
    assert shown(f"{WORDS[-30:]} by the keeper himself", f"At six {WORDS}", rule) == WORDS[-30:]


@every_rule
def test_a_place_tells_which_of_the_same_words_it_is(rule: MatchRule) -> None:
    """By its text the first would do: the passage is the second."""
    twice = f"{WORDS}. {WORDS}."
    second = twice.rindex(WORDS)
    passage = Passage(WORDS, "log", 100 + second, 100 + second + len(WORDS))
    _, span = covering(Chunk(twice, doc_id="log", start=100, end=100 + len(twice)), passage, rule)
    assert span == (second, second + len(WORDS))
    _, span = covering(Chunk(twice, doc_id="log"), passage, rule)
    assert span == (0, len(WORDS))


@every_rule
def test_a_place_tells_it_of_a_chunk_whose_words_stand_twice_in_the_passage(rule: MatchRule) -> None:
    passage = Passage(f"{WORDS}. {WORDS}.", "log", 7, 7 + 2 * len(WORDS) + 3)
    start = 7 + len(WORDS) + 2
    match, span = covering(Chunk(WORDS, doc_id="log", start=start, end=start + len(WORDS)), passage, rule)
    assert match.start == len(WORDS) + 2
    assert span == (0, len(WORDS))


def test_where_a_place_is_wrong_the_text_tells() -> None:
    chunk = Chunk(f"He wrote: {WORDS}", doc_id="log", start=0, end=len(WORDS) + 10)
    assert shown(chunk, Passage(WORDS, "log", 0, len(WORDS)), MatchRule("coverage")) == WORDS


def test_nearly_the_same_words_are_found_where_they_are() -> None:
    scanned = WORDS.replace("lamp", "1amp").replace("dusk", "dnsk")
    assert shown(f"So: {scanned}, he said and went out of the room.", WORDS, MatchRule("fuzzy")) == scanned
    assert shown(scanned[:39], WORDS, MatchRule("fuzzy")) == scanned[:39]


words = st.lists(st.sampled_from([WORDS, WORDS[:24], "Été", "the", "İ ﬁ", "—", "\n\n"]), min_size=1, max_size=6)
sources = words.map(" ".join).filter(str.strip)
written = st.sampled_from([str, str.upper, lambda text: text.replace(" ", "\n  ")])


@pytest.mark.slow
@given(st.data())
def test_the_covering_characters_say_what_the_covered_ones_say(data: st.DataObject) -> None:
    """Whatever told the match: locations, one or none of them, right or wrong; words that stand there once or often."""
    rule = data.draw(st.sampled_from([rule for rule in RULES if rule.mode != "fuzzy"]))
    source = data.draw(sources)
    start = data.draw(st.integers(0, len(source) - 1))
    end = data.draw(st.integers(start + 1, len(source)))
    first = data.draw(st.integers(0, end - 1))
    last = data.draw(st.integers(max(start, first) + 1, len(source)))
    moved = data.draw(st.sampled_from([0, 0, 3]))
    place = (start + moved, end + moved) if data.draw(st.booleans()) else (None, None)
    chunk = Chunk(data.draw(written)(source[start:end]), "c", "log", *place)
    assume(has_words(source[first:last]))
    passage = Passage(source[first:last], "log", first, last)
    text = Text(rule)
    match = cover_passage(chunk, passage, rule, text)
    assume(match is not None)
    assert match is not None
    begin, to = covering_characters(chunk, passage, match, rule, text)
    assert 0 <= begin < to <= len(chunk.text)
    covered = source[first:last][match.start : match.end]
    said, wanted = (normalize(part, unicode_folding=rule.unicode_folding) for part in (chunk.text[begin:to], covered))
    assert said == wanted
    if match.direction == Direction.CHUNK_CONTAINS_PASSAGE:
        assert said == normalize(source[first:last], unicode_folding=rule.unicode_folding)
