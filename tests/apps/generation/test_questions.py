"""Styles, passages, quotes and the checks of a question's words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.apps.generation.questions import (
    DEFAULT_STYLES,
    STYLES,
    Passages,
    fault_of,
    gives_away,
    locate,
    parse_styles,
    repeated,
    shares,
)
from raglift.errors import ConfigurationError
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Passage


def test_weights_of_styles_and_their_shares() -> None:
    assert parse_styles("natural=2, keyword") == {"natural": 2.0, "keyword": 1.0}
    assert parse_styles({"keyword": 1, "multi": 0.5}) == {"keyword": 1.0, "multi": 0.5}
    assert parse_styles(DEFAULT_STYLES).keys() == STYLES.keys()
    assert shares(50, parse_styles(DEFAULT_STYLES)) == {"natural": 25, "keyword": 10, "multi": 10, "unanswerable": 5}


@pytest.mark.parametrize(
    ("styles", "message"),
    [
        ("naturel", "found 'naturel'; expected some of natural, keyword"),
        ("natural=0", "found natural=0; expected a positive number"),
        ("natural=nan", "found natural=nan"),
        ("natural=much", "found natural=much; expected a positive number"),
        (" , ", "found none"),
    ],
)
def test_styles_that_make_no_sense(styles: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_styles(styles)


@given(st.integers(1, 500), st.dictionaries(st.sampled_from(list(STYLES)), st.floats(0.01, 100), min_size=1))
def test_shares_add_up_and_are_near_their_weights(count: int, weights: dict[str, float]) -> None:
    found = shares(count, weights)
    assert sum(found.values()) == count
    for name, weight in weights.items():
        assert abs(found.get(name, 0) - count * weight / sum(weights.values())) < 1 + 1e-6


def sentence(thing: str, place: str) -> str:
    """Return a passage about a thing in words that no other passage has, with one in between that all have."""
    common = ["lamp", "tower", "stairs", "evening", "island", "keeper", "harbour", "voyage"]
    return f"The {thing} " + " ".join(f"{word} {word}of{place}{thing.replace(' ', '')}" for word in common) + "."


THINGS = [f"{metal}{thing}" for metal in ("brass", "iron", "copper", "silver") for thing in ("bell", "chain", "mirror")]


@pytest.mark.slow
def test_what_is_related_shares_rare_words_and_lies_elsewhere() -> None:
    documents = [
        Document("a.md", "\n\n".join(sentence(thing, "a") for thing in THINGS)),
        Document("b.md", "\n\n".join(sentence(f"small {thing}", "b") for thing in THINGS[:3])),
    ]
    passages = Passages(documents, 300)
    assert len(passages.chunks) == 15
    for number in range(3):
        first = next(passages.related(number))
        assert passages.chunks[first].doc_id == "b.md"
        assert THINGS[number] in passages.chunks[first].text
    assert list(passages.related(7)) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Nothing.", "short"),
        ("12 345; " * 40, "digits or markup"),
        ("A list of names without an end\n" * 8, "no sentences"),
    ],
)
def test_documents_of_which_nothing_can_be_asked(text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"no passage to ask about in 1 document \(left out: {reason} 1\)"):
        Passages([Document("a", text)], 800)


TEXT = (
    "“Don’t trouble,” said the keeper—and he trimmed\nthe wick twice before the fog came in. By midnight the horn "
    "sounded every ninety seconds. No boat left the harbour."
)
CHUNK = Chunk(TEXT, doc_id="a.md", start=100, end=100 + len(TEXT))


def label(quote: str) -> Passage | str:
    return locate(quote, CHUNK, longest=300)


def found(text: str) -> Passage:
    at = TEXT.index(text)
    return Passage(text, "a.md", 100 + at, 100 + at + len(text))


@pytest.mark.slow
def test_a_quote_is_found_as_it_is_or_with_other_white_space_quotes_and_dashes() -> None:
    text = "By midnight the horn sounded every ninety seconds."
    assert label(f"  {text}\n") == found(text)
    expected = found("“Don’t trouble,” said the keeper—and he trimmed\nthe wick twice before the fog came in.")
    assert label('"Don\'t trouble," said the KEEPER-and he trimmed the wick twice before the fog came in.') == expected


@pytest.mark.slow
def test_a_quote_that_is_not_there_or_says_nothing_or_too_much() -> None:
    assert label("The lamp was lit by the youngest of the boys.") == "quote not found"
    assert label("the horn") == "quote too short"
    assert locate(TEXT, CHUNK, longest=100) == "quote too long"


@settings(deadline=None)
@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)))
def test_every_part_of_the_passage_is_found_as_the_text_there(start: int, end: int) -> None:
    passage = label(TEXT[start:end])
    if isinstance(passage, Passage):
        assert passage.text == TEXT[(passage.start or 0) - 100 : (passage.end or 0) - 100]
        assert " ".join(TEXT[start:end].split()).lower() in " ".join((passage.text or "").split()).lower()
    else:
        assert passage == "quote too short"


PASSAGE = "The keeper wrote <b>Beware</b> on the door of the lamp room."


@pytest.mark.parametrize(
    ("question", "style", "fault"),
    [
        ("Who wrote a warning on the door of the lamp room?", "natural", None),
        ("What does the note on the text of the treaty say?", "natural", None),
        ("灯台はどこ？", "natural", None),
        ("Why?", "natural", "question too short"),
        ("Who " * 3000, "natural", "question too long"),
        ("a b c d e f g h i j k", "keyword", "question too long"),
        ("What does the passage say of the keeper?", "natural", "speaks of the passage"),
        ("According to the text, who is warned?", "natural", "speaks of the passage"),
        ("Who first sailed the Northwest Passage?", "natural", "speaks of the passage"),
    ],
)
def test_faults_of_words(question: str, style: str, fault: str | None) -> None:
    assert fault_of(question, style, [PASSAGE]) == fault


def test_a_passage_that_is_itself_about_passages() -> None:
    passage = "Amundsen sailed the Northwest Passage in 1906."
    assert fault_of("Who first sailed the Northwest Passage?", "natural", [passage]) is None


def test_questions_that_say_their_answer_or_are_repeated() -> None:
    answer = "The horn sounds every ninety seconds."
    assert gives_away("Is it so that “The horn sounds every  ninety seconds”?", answer)
    assert not gives_away("How often does the horn sound?", answer)
    first = "Who trimmed the wick of the lamp?"
    assert repeated("Who trimmed the wick of the lamps?", [first]) == first
    assert repeated("Who trimmed the hedge of the garden?", [first]) is None
