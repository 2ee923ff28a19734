from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from raglift.datasets.corpora.catalogue import strip_gutenberg

if TYPE_CHECKING:
    pass

OPENING = "The Project Gutenberg eBook of Tides, by A. Nonymous\n\nThis ebook is for the use of anyone anywhere."
FIELDS = """Title: Tides
        and Winds


Author: A. Nonymous

Translator: N. O. Body
            And Another

Release date: April 1, 2001 [eBook #99]
                Most recently updated: June 2, 2023

Language: English

Credits: Somebody
        and somebody else

"""
START = "*** START OF THE PROJECT GUTENBERG EBOOK TIDES ***"
BOOK = (
    "   TIDES\n\nby A. Nonymous\n\n\nCHAPTER I: The Sea\n\nThe tide comes in.\n\n"
    "Title: a word.\n\n   The tide goes out."
)
CREDITS = "Produced by Somebody\nand others"
END = "*** END OF THE PROJECT GUTENBERG EBOOK TIDES ***"
LICENCE = "\n\nSection 1. Terms\n" + "You may copy it.\n" * 300

HEADERS = {
    "newer": f"{OPENING}\n\n{FIELDS}\n{START}\n\n\n",
    "older": f"\n\n{OPENING}\n\n{FIELDS}\n{START.replace('THE', 'THIS')}\n\n\n{CREDITS}\n\n\n",
    "a long title": f"{OPENING}\n\n{FIELDS}\n{START[:-4]} AND\nWINDS ***\n\n\n",
    "START and nothing above": f"{START}\n",
    "none": "",
}
FOOTERS = {
    "END": f"\n\n\n{END}\n{LICENCE}",
    "End of": f"\n\nEnd of the Project Gutenberg EBook of Tides, by A. Nonymous\n\n{END}\n{LICENCE}",
    "possessive": f"\n\nEnd of Project Gutenberg's Tides, by A. Nonymous\n\n{END}\n{LICENCE}",
    "licence only": f"\n\n*** START: FULL LICENSE ***\n{LICENCE}",
    "none": "",
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
@pytest.mark.parametrize("footer", FOOTERS.values(), ids=FOOTERS)
def test_only_the_book_is_left(header: str, footer: str) -> None:
    assert strip_gutenberg(header + BOOK + footer) == BOOK


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n  A plain text.\n\n",
        "Title: A plain text\n\nLanguage: English\n\nwith fields\n",
        "The Project Gutenberg eBook of Tides is free.\n\nSo are others.\n",
        "A story\n" * 300 + START + "\nand\n" + END + "\nso on" * 700,
    ],
)
def test_a_text_without_boilerplate_is_left_alone(text: str) -> None:
    assert strip_gutenberg(text) == text


@pytest.mark.parametrize("after", ["", "\n\n", f"\n{CREDITS}"])
def test_nothing_is_left_of_boilerplate_alone(after: str) -> None:
    assert strip_gutenberg(f"{OPENING}\n\n{FIELDS}\n{START}\n{after}") == ""
