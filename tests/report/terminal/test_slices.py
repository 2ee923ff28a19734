"""Slices by tag as text."""

from raglift.results.comparison import compare

TAGS = [["hard"]] * 10 + [["easy"]] * 3 + [[]] * 2


def test_each_tag_has_a_block_of_its_systems(ranked):
    systems = {"base": ranked([2] * 15, tags=TAGS), "other": ranked([1] * 15, tags=TAGS)}
    lines = str(compare(systems, primary="rr@3").by_tag()).splitlines()
    assert lines[0] == "MRR@3 by tag, and the difference to base"
    assert lines[2].startswith("Exploratory: p-values are not adjusted")
    rows = [line.split() for line in lines[6:]]
    assert rows[0][:3] == ["hard", "base", "10"]
    assert rows[1][:2] == ["other", "10"]
    assert rows[3][:3] == ["easy", "base", "3‡"]
    assert rows[6][:4] == ["(no", "tag)", "base", "2‡"]
    assert lines[-1] == "- ‡ fewer than 10 questions: these figures are unreliable."
    assert max(map(len, lines)) <= 100


def test_one_evaluation_has_no_column_of_systems(ranked):
    text = str(ranked([2] * 15, reranked=[1] * 15, tags=TAGS).by_tag("rr@3"))
    assert "difference to retrieve" in text
    assert [line.split()[0] for line in text.splitlines()[6:9]] == ["hard", "easy", "(no"]
    assert "difference" not in str(ranked([2] * 15, tags=TAGS).by_tag("rr@3"))
