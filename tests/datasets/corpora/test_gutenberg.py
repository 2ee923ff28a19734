from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from raglift.datasets.corpora.descriptor import strip_gutenberg
from raglift.text.normalization import normalize
from raglift.types.anchors import Sources
from raglift.types.documents import Document
from raglift.utilities.validation import Location

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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


# The evidence for “Who is Anna Pávlovna?” in a well-known tutorial.
ANCHORS = (
    (
        "It was in July, 1805, and the speaker was the well-known Anna Pávlovna Schérer",
        "tonight between 7 and 10—Annette Schérer.”",
    ),
    ("Anna Pávlovna’s “At Home” was like the former one", "The large group, in which were"),
    ("drawing room with her habitual skill.", "touched his sleeve with her finger, saying:"),
)


@pytest.fixture(scope="module")
def raw(book_path: Path) -> str:
    return book_path.read_text(encoding="utf-8-sig")


def labels(text: str) -> list[str]:
    sources = Sources([Document("book", text)])
    spans = [sources.find_quote("book", *anchor, Location("labels", [])) for anchor in ANCHORS]
    return [normalize(text[slice(*span)]) for span in spans if span]


def matching_chunks(text: str, found: Sequence[str]) -> list[int]:
    """Count the chunks that contain each label, or lie inside it and are not too short to tell."""
    splitters = pytest.importorskip("langchain_text_splitters")
    splitter = splitters.RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=100)
    chunks = [normalize(chunk) for chunk in splitter.split_text(text)]
    return [sum(label in chunk or (len(chunk) >= 20 and chunk in label) for chunk in chunks) for label in found]


@pytest.mark.slow
def test_each_label_matches_one_chunk_of_the_book(raw: str) -> None:
    book = strip_gutenberg(raw)
    assert book.startswith("An Anonymous Volunteer")
    assert book.endswith("to recognize a dependence of which we are not\nconscious.")
    assert matching_chunks(book, labels(book)) == [1, 1, 1]


@pytest.mark.slow
def test_the_header_would_cut_the_first_label_in_two(raw: str) -> None:
    assert matching_chunks(raw, labels(raw))[0] == 0
