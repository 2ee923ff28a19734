from __future__ import annotations

from raglift.utilities.display import encodable, printable, short_repr


def test_what_a_terminal_would_act_on_comes_out_as_a_replacement_character() -> None:
    hostile = "a\x1b[31mred\x9b0m \u202eevil\u2066 \ud800 tab\t"
    shown = printable(hostile + "\nnext line é 漢 ←")
    assert shown == "a�[31mred�0m �evil� � tab�\nnext line é 漢 ←"


def test_a_text_that_utf8_cannot_write_is_made_one_that_it_can_of_the_same_length() -> None:
    text = "a\ud800b\udfff\x1b é 漢"
    assert encodable(text) == "a�b�\x1b é 漢"
    assert len(encodable(text)) == len(text)


def test_what_a_user_wrote_is_shown_as_python_writes_it_and_never_endless() -> None:
    assert short_repr("a\x1b\ud800") == r"'a\x1b\ud800'"
    assert short_repr("a" * 300) == "'" + "a" * 99 + "…" + "a" * 99 + "'"
    assert short_repr(10**5000) == "something of the type int that is too long to show"
