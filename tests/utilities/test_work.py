from __future__ import annotations

import pytest

from raglift.retrieval.batches import HERE


def test_the_calling_process_computes_one_item_after_the_other() -> None:
    seen: list[int] = []
    for item, result in HERE.map(lambda number: number * number, [3, 1, 2]):
        seen.append(item)
        assert result == item * item
    assert seen == [3, 1, 2]


def test_what_was_computed_before_a_failure_is_handed_over() -> None:
    results = HERE.map(lambda number: 6 / number, [2, 3, 0, 1])
    assert next(results) == (2, 3.0)
    assert next(results) == (3, 2.0)
    with pytest.raises(ZeroDivisionError):
        next(results)
