from __future__ import annotations

import pytest

from raglift.apps.generation.passages import Passages
from raglift.errors import ConfigurationError
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage


def sentence(thing: str, place: str) -> str:
    """Return a passage about a thing in words that no other passage has, with one in between that all have."""
    common = ["lamp", "tower", "stairs", "evening", "island", "keeper", "harbour", "voyage"]
    return f"The {thing} " + " ".join(f"{word} {word}of{place}{thing.replace(' ', '')}" for word in common) + "."


THINGS = [f"{metal}{thing}" for metal in ("brass", "iron", "copper", "silver") for thing in ("bell", "chain", "mirror")]
DOCUMENTS = [
    Document("a.md", "\n\n".join(sentence(thing, "a") for thing in THINGS)),
    Document("b.md", "\n\n".join(sentence(f"small {thing}", "b") for thing in THINGS[:3])),
]


@pytest.fixture(scope="module")
def passages() -> Passages:
    return Passages(DOCUMENTS, 300)


def test_what_is_related_shares_rare_words_and_lies_elsewhere(passages: Passages) -> None:
    assert len(passages.chunks) == 15
    for number in range(3):
        first = next(passages.related(number))
        assert passages.chunks[first].doc_id == "b.md"
        assert THINGS[number] in passages.chunks[first].text
    assert list(passages.related(7)) == []


def test_another_passage_is_from_another_place_and_always_the_same(passages: Passages) -> None:
    for number in range(15):
        other = passages.other(number, seed=1)
        assert other is not None
        assert other == passages.other(number, seed=1)
        same = passages.chunks[other].doc_id == passages.chunks[number].doc_id
        assert not same or abs(other - number) > 2
    assert len({passages.other(0, seed) for seed in range(50)}) > 5
    assert Passages(DOCUMENTS[1:], 300).other(1, 0) is None


def label(passages: Passages, number: int, length: int | None = None) -> Fact:
    chunk = passages.chunks[number]
    start, end = chunk.start or 0, chunk.end or 0
    end = end if length is None else start + length
    return Fact((Passage(chunk.text[: end - start], chunk.doc_id, start, end),))


def test_difficulty_is_the_rank_at_which_all_facts_are_found(passages: Passages) -> None:
    assert passages.difficulty("ironbell", [label(passages, 3)]) == "easy"
    assert passages.difficulty("brassbell small", [label(passages, 0)]) == "medium"
    assert passages.difficulty("ironbell", [label(passages, 4)]) == "hard"
    # of two facts both within the first two ranks
    assert passages.difficulty("brassbell", [label(passages, 0), label(passages, 12)]) == "easy"
    assert passages.difficulty("ironbell", [label(passages, 3), label(passages, 4)]) == "hard"


def test_half_of_a_label_in_a_passage_is_enough(passages: Passages) -> None:
    chunk = passages.chunks[3]
    middle = (chunk.end or 0) - 40
    text = DOCUMENTS[0].text
    most = Fact((Passage(text[middle : middle + 79], "a.md", middle, middle + 79),))
    least = Fact((Passage(text[middle : middle + 81], "a.md", middle, middle + 81),))
    assert passages.difficulty("ironbell", [most]) == "easy"
    assert passages.difficulty("ironbell", [least]) == "hard"


def test_documents_of_which_nothing_can_be_asked() -> None:
    with pytest.raises(ConfigurationError, match=r"no passage to ask about in 1 document \(left out: short 1\)"):
        Passages([Document("a", "Nothing.")], 800)
