from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.apps.generation.passages import LEFT_OUT, Passages, split_into_passages
from raglift.types.documents import Document

PROSE = (
    "The keeper climbed the stairs at dusk to light the great lamp. He trimmed the wick twice before the fog came in. "
    "By midnight the horn sounded every ninety seconds, and no boat left the harbour until the next morning."
)


def spans(text: str, size: int) -> list[str]:
    return [chunk.text for chunk in split_into_passages([Document("a.md", text)], size)]


def test_paragraphs_stay_together_as_far_as_they_fit() -> None:
    assert spans("One is here.\n\nTwo is here.\n\nThree is here.", 30) == [
        "One is here.\n\nTwo is here.",
        "Three is here.",
    ]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = "The first one. “Is this the second?” The third one… And the fourth."
    assert spans(text, 40) == ["The first one. “Is this the second?”", "The third one… And the fourth."]


def test_a_sentence_that_is_too_long_is_cut_at_words() -> None:
    pieces = spans("word " * 30 + "end.", 40)
    assert all(len(piece) <= 40 for piece in pieces)
    assert " ".join(pieces).split() == [*["word"] * 30, "end."]


def test_sentences_without_spaces_between_them() -> None:
    assert spans("灯台は島にある。灯りは夜に見える。", 8) == ["灯台は島にある。", "灯りは夜に見える", "。"]


@settings(deadline=None)
@given(st.text(alphabet="ab .!?…”\n。é\u3000", max_size=300), st.integers(1, 60))
def test_passages_leave_nothing_out_and_overlap_nowhere(text: str, size: int) -> None:
    document = Document("a", text)
    chunks = split_into_passages([document], size)
    end = 0
    for chunk in chunks:
        assert chunk.start is not None
        assert chunk.end is not None
        assert text[chunk.start : chunk.end] == chunk.text == chunk.text.strip()
        assert 0 < len(chunk.text) <= size
        assert not text[end : chunk.start].strip()
        end = chunk.end
    assert not text[end:].strip()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The keeper left.", "short"),
        ("1805 | 17.4 | 20 || 33 % (2) " * 10, "digits or markup"),
        ("\n".join(f"CHAPTER {number} The keeper goes out to sea" for number in "ABCDEFGH"), "no sentences"),
    ],
)
def test_what_carries_nothing_is_left_out(text: str, reason: str) -> None:
    usable = Passages([Document("a", text), Document("b", PROSE)], 800)
    assert usable.usable == [1]
    assert usable.left_out == {reason: 1}
    assert reason in LEFT_OUT


def test_what_is_repeated_is_left_out_after_the_first() -> None:
    footer = PROSE.replace("midnight", "morning")
    usable = Passages([Document("a", PROSE), Document("b", PROSE.upper()), Document("c", footer)], 800)
    assert usable.usable == [0]
    assert usable.left_out == {"repeated": 2}


@pytest.mark.parametrize(
    "sentence",
    [
        "यह प्रकाशस्तंभ सन अठारह सौ इकहत्तर में ग्रेनाइट से बनाया गया था।",
        "یہ مینار اٹھارہ سو اکہتر میں گرینائٹ سے بنایا گیا تھا۔",
        "هل يصدر بوق الضباب صوتا مرتين كل تسعين ثانية؟",
        "灯塔建于一八七一年，由花岗岩砌成，高三十一米。",
    ],
)
def test_prose_in_other_scripts_is_prose(sentence: str) -> None:
    assert Passages([Document("a.md", " ".join([sentence] * 4))], 800).left_out == {}
