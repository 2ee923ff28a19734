"""Two halves of the queries, each with its share of every tag."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from raglift.analysis.comparison import halves
from raglift.types.labels import Query


def queries(tags):
    return [Query(f"q{number}", "?", tags=tuple(each)) for number, each in enumerate(tags)]


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=3), max_size=40), st.integers(0, 5))
def test_each_query_is_in_one_half_and_each_group_is_split_to_within_one(tags, seed):
    asked = queries(tags)
    first, second = halves(asked, seed)
    assert sorted([*first, *second]) == list(range(len(asked)))
    assert 0 <= len(first) - len(second) <= 1
    assert first == sorted(first)
    assert second == sorted(second)
    frequency = Counter(tag for each in tags for tag in set(each))
    groups = [min(set(each), key=lambda tag: (frequency[tag], tag), default=None) for each in tags]
    for group in set(groups):
        assert (
            abs(sum(groups[place] == group for place in first) - sum(groups[place] == group for place in second)) <= 1
        )


def test_a_query_belongs_to_the_rarest_of_its_tags():
    tags = [["hard"]] * 10 + [["hard", "table"]] * 2 + [["easy"]] * 4
    first, second = halves(queries(tags), 0)
    for tag, count in (("table", 1), ("easy", 2), ("hard", 6)):
        assert [sum(tag in tags[place] for place in half) for half in (first, second)] == [count, count]


def test_the_halves_follow_from_ids_tags_and_seed_alone():
    asked = queries([["a"], ["b"], [], ["a", "b"]] * 8)
    first, second = halves(asked, 4)
    turned = asked[::-1]
    assert {asked[place].id for place in first} == {turned[place].id for place in halves(turned, 4)[0]}
    assert halves(asked, 4) == (first, second)
    assert halves(asked, 5) != (first, second)
