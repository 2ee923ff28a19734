"""Ties at the cut are counted: the order of equal scores decides which hit counts."""

from __future__ import annotations

import raglift as rl

DATA = rl.Dataset.from_dict({"first": ["the first passage"], "second": ["the second passage"]})


def evaluated(scores):
    def search(query):
        return [(f"the {query} passage" if rank == 1 else f"other {rank}", score) for rank, score in enumerate(scores)]

    evaluation = rl.evaluate(search, DATA, ks=(2,), metrics=["recall"], progress=False)
    return [note for note in evaluation.notes if "equal scores" in note]


def test_a_tie_at_the_cut_is_counted_and_one_elsewhere_is_not():
    assert evaluated([3.0, 2.0, 2.0]) == [
        "equal scores at ranks 2 and 3, where the order alone decides which counts: 2 of 2 questions (retrieve)"
    ]
    assert evaluated([3.0, 3.0, 2.0]) == []
    assert evaluated([3.0, 2.0]) == []


def test_hits_without_scores_have_no_ties():
    assert evaluated([None, None, None]) == []
