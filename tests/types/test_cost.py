"""The cost of several indexes over the same chunks."""

from dataclasses import replace

from raglift.types.rankings import IndexCost

DENSE = IndexCost(chunks=10, distinct_texts=9, embedded_now=9, seconds=2.5, bytes=15_360)
BM25 = IndexCost(chunks=10, distinct_texts=9, embedded_now=0, seconds=0.5, bytes=400)


def test_parts_add_up_and_chunks_count_once():
    assert IndexCost.together([DENSE, BM25]) == IndexCost(10, 9, 9, 3.0, 15_760)
    assert IndexCost.together([DENSE]) == DENSE


def test_seconds_are_unknown_when_those_of_a_part_are():
    cached = IndexCost(chunks=10, distinct_texts=9, embedded_now=4, seconds=None, bytes=15_360)
    assert IndexCost.together([cached, BM25]).seconds is None
    assert IndexCost.together([cached, BM25]).embedded_now == 4


def test_of_the_texts_read_in_part_the_most_that_one_part_has_are_counted():
    assert IndexCost.together([DENSE, BM25]).read_in_part is None
    cut, cut_more = replace(DENSE, read_in_part=2), replace(DENSE, read_in_part=3)
    assert IndexCost.together([cut, cut_more, BM25]).read_in_part == 3
