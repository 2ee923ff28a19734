from __future__ import annotations

from functools import cache

import pytest

import raglift as rl
from raglift.datasets.corpora.catalogue import find_corpus
from raglift.types.dataset import Dataset
from raglift.types.labels import Passage

LEVELS = {"easy", "hard", "ambiguous"}


@cache
def shop() -> Dataset:
    return rl.load_dataset("shop_support")


def passages() -> list[Passage]:
    labelled = [passage for query in shop() for fact in query.facts for passage in fact.passages]
    return labelled + [passage for query in shop() for passage in query.judged_irrelevant]


@pytest.mark.slow
def test_it_is_large_enough_to_rank_retrievers() -> None:
    assert len(shop().documents) >= 60
    assert sum(len(document.text.encode()) for document in shop().documents) >= 200_000
    assert len(shop()) >= 120
    assert find_corpus("shop_support").query_count == len(shop())


@pytest.mark.slow
def test_every_label_is_a_place_of_readable_length() -> None:
    texts = {document.id: document.text for document in shop().documents}
    for passage in passages():
        assert passage.doc_id is not None
        assert passage.start is not None
        assert passage.end is not None
        assert passage.text == texts[passage.doc_id][passage.start : passage.end]
        assert 55 <= passage.end - passage.start <= 650, passage.text


@pytest.mark.slow
def test_the_tags_say_what_a_query_is() -> None:
    for query in shop():
        assert len(LEVELS & set(query.tags)) == 1, query.id
        assert ("multi-fact" in query.tags) == (len(query.facts) >= 2), query.id
        assert ("unanswerable" in query.tags) == (not query.answerable), query.id
        assert query.is_labelled == query.answerable, query.id
