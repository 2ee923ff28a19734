from __future__ import annotations

from raglift.printable import printable


def test_what_a_terminal_would_act_on_comes_out_as_a_replacement_character() -> None:
    hostile = "a\x1b[31mred\x9b0m \u202eevil\u2066 \ud800 tab\t"
    shown = printable(hostile + "\nnext line é 漢 ←")
    assert shown == "a�[31mred�0m �evil� � tab�\nnext line é 漢 ←"
