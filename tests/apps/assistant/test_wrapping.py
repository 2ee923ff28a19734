from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from raglift.apps.assistant.conversation import Wrapping


def wrapped(pieces: list[str], width: int) -> list[str]:
    wrapping = Wrapping(width)
    return [*(wrapping.add(piece) for piece in pieces), wrapping.rest()]


def test_lines_break_before_words_however_the_pieces_fall() -> None:
    assert (
        "".join(wrapped(["The ke", "eper tri", "ms the lamp at d", "usk."], 12))
        == "The keeper \ntrims the \nlamp at \ndusk."
    )


def test_a_word_is_shown_as_soon_as_it_is_whole() -> None:
    assert wrapped(["The", " keep", "er "], 80) == ["", "The ", "keeper ", ""]


def test_a_text_without_spaces_does_not_wait_for_one() -> None:
    assert wrapped(["灯" * 30], 80) == ["灯" * 30, ""]


def test_line_ends_of_the_text_count() -> None:
    assert "".join(wrapped(["one two\nthree four"], 10)) == "one two\nthree four"


words = st.text(alphabet="ab", min_size=1, max_size=10)


@given(
    st.lists(st.tuples(words, st.sampled_from([" ", "  ", "\n", " \n\n"]))),
    st.integers(min_value=1, max_value=30),
    st.integers(min_value=1, max_value=9),
)
def test_words_stay_whole_and_lines_within_the_width(parts: list[tuple[str, str]], width: int, size: int) -> None:
    text = "".join(word + space for word, space in parts)
    shown = "".join(wrapped([text[start : start + size] for start in range(0, len(text), size)], width))
    assert shown.split() == text.split()
    assert shown.replace("\n", "") == text.replace("\n", "")
    assert shown.count("\n") >= text.count("\n")
    longest = max((len(word) for word, _ in parts), default=0)
    assert all(len(line.rstrip()) <= max(width, longest) for line in shown.split("\n"))


def test_a_chinese_character_takes_two_columns() -> None:
    assert "".join(wrapped(["灯塔建于 一八七一年 由花岗岩砌成"], 20)) == "灯塔建于 一八七一年 \n由花岗岩砌成"
