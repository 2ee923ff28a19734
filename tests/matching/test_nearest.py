"""The nearest passage to a text that was changed on its way into a label is where it came from."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.matching.nearest import nearest_passages
from raglift.types.documents import Document

WORDS = ("keeper", "tower", "lamp", "wick", "dusk", "harbour", "ship", "swell", "book", "night", "storm", "glass")


def story(seed: int, length: int = 400) -> str:
    state, words = seed, []
    for _ in range(length):
        state = (state * 1103515245 + 12345) % 2**31
        words.append(WORDS[state // 65536 % len(WORDS)])
    return " ".join(words)


DOCUMENTS = [Document(str(seed), story(seed)) for seed in range(4)]


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 3), st.integers(0, 300), st.integers(12, 60), st.data())
def test_a_label_with_slips_leads_back_to_its_source(number: int, start: int, length: int, data: st.DataObject) -> None:
    words = DOCUMENTS[number].text.split()[start : start + length]
    slips = data.draw(st.sets(st.integers(0, len(words) - 1), max_size=len(words) // 6))
    label = " ".join("xyzzy" if place in slips else word for place, word in enumerate(words))
    (nearest,) = nearest_passages([label], DOCUMENTS)
    assert nearest is not None
    begin = len(" ".join(DOCUMENTS[number].text.split()[:start]))
    assert nearest.doc_id == str(number)
    assert abs(nearest.start - begin) <= 40
    assert nearest.likeness > 0.6
