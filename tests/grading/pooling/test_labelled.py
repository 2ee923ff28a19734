"""What labels say of pooled chunks: a grade, 0, or nothing."""

from raglift.grading.pooling import label_grades, pool
from raglift.matching.rule import MatchRule
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query

KEEPER = "Old Ambrose keeps the lamp of the northern light"
HORN = "the fog horn sounds twice a minute in bad weather"
BOAT = "the boat goes to the island on Tuesdays only"
OTHER = "nobody has looked at this sentence before"


def grades(query, *chunks, rule=None, labels=None):
    """Return the grades of chunks that come back for a query, by their texts."""
    pooled = pool(evaluate(FakeRetriever({query.text: chunks}), Dataset((query,)), ks=(1,)))
    (found,) = label_grades(pooled, [query] if labels is None else labels, rule)
    return {each.chunk.text: grade for each, grade in zip(pooled.queries[0].chunks, found, strict=True)}


def query(*passages, irrelevant=(), **settings):
    return Query(
        "q", "Who?", tuple(Fact((each,)) for each in passages), judged_irrelevant=tuple(irrelevant), **settings
    )


def test_a_chunk_has_the_highest_grade_of_what_it_matches():
    labelled = query(Passage(KEEPER, grade=1), Passage(HORN, grade=3), irrelevant=[Passage(BOAT)])
    assert grades(labelled, KEEPER, f"{KEEPER}. {HORN}.", BOAT, f"{BOAT}; {KEEPER}", OTHER) == {
        KEEPER: 1,
        f"{KEEPER}. {HORN}.": 3,
        BOAT: 0,
        f"{BOAT}; {KEEPER}": 1,  # matches more than what is irrelevant
        OTHER: None,
    }


def test_a_chunk_that_contains_what_was_judged_irrelevant_is_not_judged_by_that():
    labelled = query(Passage(KEEPER), irrelevant=[Passage(BOAT)])
    assert grades(labelled, f"{BOAT}. {OTHER}.", BOAT[:30]) == {f"{BOAT}. {OTHER}.": None, BOAT[:30]: 0}


def test_labels_are_those_given_and_not_those_of_the_pool():
    assert grades(query(Passage(KEEPER)), KEEPER, HORN, labels=[query(Passage(HORN, grade=2))]) == {
        KEEPER: None,
        HORN: 2,
    }


def test_the_rule_says_what_matches():
    half = query(Passage(f"{KEEPER}. {HORN}."))
    overlap = f"{HORN}. {BOAT}."
    assert grades(half, overlap) == {overlap: None}
    assert grades(half, overlap, rule=MatchRule("coverage")) == {overlap: 1}


def test_a_chunk_id_and_a_span_of_another_document_are_distinguished():
    labelled = query(Passage(chunk_id="c7", grade=2), irrelevant=[Passage(BOAT, doc_id="island", start=0, end=44)])
    chunks = [Chunk(OTHER, id="c7"), Chunk(BOAT, doc_id="island", start=0, end=44), Chunk(BOAT, doc_id="coast")]
    pooled = pool(evaluate(FakeRetriever({"Who?": chunks}), Dataset((labelled,)), ks=(1,)))
    found = dict(
        zip([each.chunk.doc_id for each in pooled.queries[0].chunks], *label_grades(pooled, [labelled]), strict=True)
    )
    assert found == {None: 2, "island": 0, "coast": None}
