from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from raglift.text.reformatting import QUOTES, fold_format, numbers, straight_quotes

PIECES = (
    *("a", "B", "word", "30", "2024", "6.3.", "5.", "1)", "## ", "# 3 ", "- ", "* ", "> ", "| ", "```py", "~~~ {.sh}"),
    *(
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        " ",
        "\u00a0",
        "\u202f",
        "\u3000",
        "\f",
        "“",
        "”",
        "„",
        "« ",
        " »",
        "‘",
        "’",
        "'",
        '"',
    ),
    *("漢", "字", "かな", "。", "한", "ع", "é", "e\u0301", "\u0301", "\u1112\u1161", "🏠", "\ud800", "\u200b", "."),
)
TEXTS = st.lists(st.sampled_from(PIECES)).map("".join) | st.text(st.characters(codec=None))


@given(TEXTS)
@example("1.1.1. a\n\n## 2. b")
@example("漢\n\n字 \u3000 。")
@example("30‘")
def test_offsets_lead_back_to_the_source(text: str) -> None:
    folded = fold_format(text)
    assert len(folded.text) == len(folded.starts) == len(folded.ends)
    assert all(0 <= start < end <= len(text) for start, end in zip(folded.starts, folded.ends, strict=True))
    assert sorted(folded.starts) == folded.starts.tolist()
    for character, start, end in zip(folded.text, folded.starts, folded.ends, strict=True):
        source = straight_quotes(unicodedata.normalize("NFC", text[start:end]))
        after_digit = character == "'" and text[start:end] in QUOTES
        assert character in source or (character == " " and source.isspace()) or after_digit
    assert folded.text == " ".join(folded.text.split())


@given(TEXTS)
def test_what_is_left_is_in_the_source_in_this_order(text: str) -> None:
    source = iter(straight_quotes(unicodedata.normalize("NFC", text)))
    assert all(character in source for character in fold_format(text).text if character != " ")


@given(TEXTS, st.sampled_from(["\n", "\r\n", "  ", "\t\n "]))
def test_white_space_at_the_ends_makes_no_difference(text: str, white: str) -> None:
    assert fold_format(f"{text}a{white}").text == fold_format(f"{text}a").text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b\nc", "a\n b\r\nc\n"),  # wrapping and line ends
        ("4\u00a0km", "4 km"),
        ("5. Press.\n6. Hold.", "6. Press.\n7. Hold."),
        ("> 5) Press", "> 7) Press"),
        ("6.3. There is", "6.4. There is"),
        ("## 6. Returns", "## 12. Returns"),
        ("## Returns", "## 1.2 Returns"),
        ("Steps:\n1. Press\n2. Hold", "Steps:\n\n1. Press\n5. Hold"),
        ("```sh\nls\n```", "``` bash\nls\n```"),
        ("~~~ {.python}\nx\n~~~", "~~~\nx\n~~~"),
        ('say "yes", don\'t', "say “yes”, don’t"),
        ('say "ja"', "say „ja“"),
        ('say "ja"', "say »ja«"),
        ('say "oui"!', "say «oui»!"),
        ("‚a‘", "'a'"),
        ("'a'", '"a"'),
        ("the 1990’s", "the 1990's"),
        ("退货期限为三十天，自收到起。", "退货期限为\n三十天，\n自收到起。"),
        ("返品の期限", "返品の\u3000期限"),
        ("caf\u00e9", "cafe\u0301"),
    ],
)
def test_format_makes_no_difference(one: str, other: str) -> None:
    assert fold_format(one).text == fold_format(other).text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Press", "press"),
        ("- Press", "* Press"),
        ("# Returns", "## Returns"),
        ("it is 5' long", 'it is 5" long'),  # feet, and inches
        ("within 30 days", "within 14 days"),
        ("ends on\n30. Juni", "ends on\n14. Juni"),  # a day, where the line is wrapped
        ("# 2023 policy", "# 2024 policy"),
        ("2023. A year", "2024. A year"),
        ("firmware 3.1 fixes", "firmware 3.4 fixes"),
        ("3.1 fixes", "3.4 fixes"),  # no point at the end: a version
        ("cost 5. Then", "cost 6. Then"),
        ("**three**", "three"),
        ("a-b", "a b"),
        ("a, b", "a b"),
        ("word word", "wordword"),
        ("한국 어", "한국어"),
        ("`sh`", "`bash`"),
        ("1° 2′", '1° 2"'),
        ("»a« und »b«", '"a"und"b"'),
    ],
)
def test_words_make_a_difference(one: str, other: str) -> None:
    assert fold_format(one).text != fold_format(other).text


def test_numbers_that_are_left_out() -> None:
    text = "# 3 Rules\n\n6.3. No.\n6.4. Yes.\n\n```5\n```\n\nuntil\n30. Juni\n\n  7) Go"
    found = numbers(text)
    assert [(each.mark, each.number) for each in found] == [("#", "3"), ("", "6.3"), ("", "6.4"), ("", "7")]
    assert all(text.startswith(each.number, each.start) for each in found)
    first_at = {(each.mark, each.number): each.start for each in reversed(found)}
    assert [each.is_in(first_at) for each in found] == [False, False, True, False]
    assert numbers("1. May")[0].is_in({})


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u0301" * 100_000,
        "word " * 2_000_000,
        ">" * 1_000_000 + " 5. a",
        "5. a\n" * 100_000,
        "a\n5. b\n" * 100_000,
        "1." * 500_000 + " a",
        "#" + " 1." * 300_000,
        "#" + " " * 1_000_000 + "a",
        "```{" + "a" * 1_000_000 + " " * 1_000_000,
        "`" * 1_000_000,
        "漢" + "\u3000 " * 500_000 + "a",
        "« " + " " * 1_000_000 + "a",
        " " * 1_000_000 + "»a",
        (" " * 1000 + "\n") * 1000 + "7. a",
        (">" * 100 + "\n") * 20_000 + "7. a",
    ],
    ids=lambda text: re.sub(r"\W", "", ascii(text[:9])) + str(len(text)),
)
def test_hostile_texts_take_no_longer_than_others(text: str) -> None:
    """A time that is quadratic in such a length would be hours, and ends the test."""
    assert len(fold_format(text).text) <= len(text)
