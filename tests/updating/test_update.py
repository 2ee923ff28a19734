from __future__ import annotations

import random
import re
import textwrap
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import raglift as rl
from raglift.text.reformatting import fold_format
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Annotator, Fact, Passage, Query
from raglift.updating import CERTAIN, KINDS, LabelUpdate, successors, update_labels

MODEL = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")
LAMP = "The lamp of the tower on Skarholm is lit half an hour before sunset, in summer and in winter."
HORN = "The fog horn on the northern pier sounds every forty seconds as long as the fog bank is near."
BOAT = "The boat of the keepers lies in the cove, and is tarred by the younger of them in May."
OIL = "Oil for the lamp is carried up the tower every Monday, in four cans of ten litres each."
OLD = {"lamp.md": f"# Lamp\n\n{LAMP}\n\n{OIL}\n", "horn.md": f"# Horn\n\n{HORN}\n", "boat.md": f"# Boat\n\n{BOAT}\n"}
NEW = {"fog.md": f"# Horn\n\n{HORN}\n", "lamp.md": f"# Lamp\n\n{OIL}\n\n{LAMP.replace('winter', 'spring')}\n"}


def span(document: str, text: str, **options: object) -> Passage:
    start = OLD[document].index(text)
    return Passage(text, document, start, start + len(text), **options)


def fact(*passages: Passage) -> Fact:
    return Fact(passages)


TOWER = Dataset(
    (
        Query("moved", "When does it sound?", (fact(Passage(HORN, grade=3, annotator=MODEL)),), ("fog",)),
        Query("edited", "When is it lit?", (fact(span("lamp.md", LAMP)),)),
        Query("gone", "Where is the boat?", (fact(span("boat.md", BOAT)), fact(span("lamp.md", OIL)))),
        Query("one of two", "What is there?", (fact(span("boat.md", BOAT), span("horn.md", HORN, grade=2)),)),
        Query(
            "irrelevant", "What is oily?", (fact(span("lamp.md", OIL)),), judged_irrelevant=(Passage(LAMP, "lamp.md"),)
        ),
        Query("unlabelled", "Why?"),
    ),
    tuple(Document(key, text) for key, text in OLD.items()),
    "tower",
)


@cache
def shop() -> Dataset:
    return rl.load_dataset("shop_support")


@pytest.fixture(scope="module")
def update() -> LabelUpdate:
    return update_labels(TOWER, NEW)


def test_passages_are_in_the_order_of_the_questions(update: LabelUpdate) -> None:
    assert [(each.query_id, each.where, each.kind) for each in update.passages] == [
        ("moved", "relevant[0]", "moved"),
        ("edited", "relevant[0]", "edited"),
        ("gone", "relevant[0]", "gone"),
        ("gone", "relevant[1]", "moved"),
        ("one of two", "relevant[0][0]", "gone"),
        ("one of two", "relevant[0][1]", "moved"),
        ("irrelevant", "relevant[0]", "moved"),
        ("irrelevant", "judged_irrelevant[0]", "edited"),
    ]
    assert update.counts == {"unchanged": 0, "moved": 4, "edited": 2, "elsewhere": 0, "ambiguous": 0, "gone": 2}
    assert list(update.counts) == list(KINDS)


def test_a_question_waits_for_its_facts_and_lives_by_one_alternative(update: LabelUpdate) -> None:
    assert update.waiting == ("edited", "gone")
    assert [each.query_id for each in update.undecided] == ["edited", "gone", "one of two"]
    updated = update.updated
    assert (updated.name, updated.documents) == ("tower", update.documents)
    assert [query.id for query in updated] == ["moved", "one of two", "irrelevant", "unlabelled"]
    start = NEW["fog.md"].index(HORN)
    there = Passage(HORN, "fog.md", start, start + len(HORN), grade=2)
    assert updated.query_by_id["one of two"].facts == (fact(there),)
    assert updated.query_by_id["irrelevant"].judged_irrelevant == ()
    # A literal stays one, with grade, annotator and tags
    assert updated.query_by_id["moved"] == TOWER.query_by_id["moved"]


def test_a_decision_of_a_person_is_no_longer_undecided(update: LabelUpdate) -> None:
    decided = tuple(replace(each, decided=True) for each in update.passages)
    assert replace(update, passages=decided).undecided == ()


def test_the_frame_has_one_row_a_passage(update: LabelUpdate) -> None:
    frame = update.to_frame()
    assert len(frame) == len(update.passages)
    moved, edited, gone = (frame.iloc[number] for number in (0, 1, 2))
    assert (moved.new_doc, moved.new_text, moved.old_doc) == ("fog.md", HORN, "horn.md")
    assert NEW["fog.md"][moved.new_start : moved.new_end] == HORN
    assert edited.new_text == NEW["lamp.md"][edited.new_start : edited.new_end]
    assert 0.9 < edited.likeness < 1
    assert gone[["new_doc", "new_start", "likeness"]].isna().all()
    assert update_labels(Dataset((Query("q", "Why?"),), TOWER.documents), NEW).to_frame().empty


def test_a_label_by_the_id_of_a_document_lives_with_it() -> None:
    query = Query("q", "Which?", (fact(Passage(chunk_id="lamp.md")), fact(Passage(chunk_id="boat.md"))))
    update = update_labels(Dataset((query,), TOWER.documents), NEW)
    assert [(each.kind, each.new) for each in update.passages] == [
        ("unchanged", Passage(chunk_id="lamp.md")),
        ("gone", None),
    ]


@pytest.mark.parametrize(("documents", "kinds"), [(OLD, {"unchanged"}), ({"x.md": "Nothing."}, {"gone"})])
def test_the_same_documents_and_others(documents: dict[str, str], kinds: set[str]) -> None:
    update = update_labels(TOWER, documents)
    assert {each.kind for each in update.passages} == kinds


def test_a_label_within_words_and_with_other_spelling_of_a_letter() -> None:
    text = "Rückgabefristverlängerung: Anträge stellt man spätestens am Tag vor Ablauf der Frist im Büro."
    part = text[5:-6]
    label = Passage(part, "a.md", 5, len(text) - 6)
    dataset = Dataset((Query("q", "Wann?", (fact(label),)),), (Document("a.md", text),))
    found = update_labels(dataset, {"b.md": "Neu.\n\n" + text}).passages[0]
    assert (found.kind, found.new) == ("moved", Passage(part, "b.md", 11, len(text)))


def test_a_text_that_never_was_in_the_documents_is_proposed_where_they_say_much_the_same() -> None:
    old = [Document("rules.md", f"# Rules\n\n{BOAT}\n\nA note, “keep the wick dry”, hangs on the door.\n\n{OIL}")]
    data = Dataset.from_dict({"What hangs there?": ['A note, "keep the wick dry", hangs on the door.']}, documents=old)
    (passage,) = update_labels(data, [replace(old[0], id="house.md")]).passages
    (candidate,) = passage.candidates
    assert (passage.kind, candidate.text) == ("elsewhere", "A note, “keep the wick dry”, hangs on the door.")
    assert candidate.likeness > 0.9


def test_no_more_than_is_compared_is_proposed_as_the_whole_of_a_long_text() -> None:
    lines = [f"Keeper {number} wrote “all well” into the log of day {number * 7}." for number in range(60)]
    old = [Document("log.md", "\n".join(lines))]
    label = "\n".join(lines).replace("“", '"').replace("”", '"')
    (passage,) = update_labels(Dataset.from_dict({"Was all well?": [label]}, documents=old), old).passages
    assert passage.candidates
    assert all(len(candidate.text) > 0.9 * len(label) or candidate.likeness < 0.9 for candidate in passage.candidates)


def test_a_long_passage_is_not_laid_along_each_place_that_has_some_of_its_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That would take seconds a label."""
    chance, compared = random.Random(1), list[int]()  # noqa: S311
    lines = [f"The keeper of tower {n} counts {chance.random()} sheep, {chance.random()} gulls." for n in range(200)]
    old = [Document(f"{name}.md", "\n\n".join(chance.sample(lines, 150))) for name in "abcdefgh"]
    data = Dataset.from_dict({"What does he count?": [old[0].text[1000:8000]]}, documents=old)
    new = [replace(one, text=one.text.replace("4", "5")) for one in old]
    align = successors.partial_ratio_alignment
    monkeypatch.setattr(
        successors,
        "partial_ratio_alignment",
        lambda one, other: compared.append(len(one) * len(other)) or align(one, other),
    )
    (passage,) = update_labels(data, new).passages
    assert passage.candidates[0].place.doc_id == "a.md"
    assert sum(compared) <= 4000 * 8000


def test_what_else_is_different_is_said() -> None:
    old = "Le «bouton» du café s'éteint après quatre minutes, dès que l'eau est chaude.\n"
    new = "Le \"bouton\" du cafe\u0301 s'éteint après quatre\nminutes, dès que l'eau est chaude.\n"
    dataset = Dataset((Query("q", "Quand ?", (fact(Passage(old[:-1])),)),), (Document("a.md", old),))
    found = update_labels(dataset, {"a.md": new}).passages[0]
    assert (found.kind, set(found.changes)) == ("unchanged", {"composed characters", "white space", "quotation marks"})


# Properties, over the bundled corpus

SHORT = settings(max_examples=10, phases=(Phase.generate,))
"""A smaller example says no more."""


def wrap(text: str, width: int) -> str:
    """Wrap the paragraphs of a text, its tables and headings apart."""

    def block(lines: str) -> str:
        if re.match(r"[ >]*[|#\-*>]|\d+\.", lines) or "\n" in lines:
            return lines
        return textwrap.fill(lines, width, break_long_words=False, break_on_hyphens=False)

    return "\n\n".join(map(block, text.split("\n\n")))


@pytest.mark.slow
@SHORT
@given(st.randoms(use_true_random=True))
def test_shuffled_renamed_and_wrapped_documents_leave_labels_certain(chance: random.Random) -> None:
    now = {}
    for document in shop().documents:
        blocks = document.text.strip().split("\n\n")
        chance.shuffle(blocks)
        name = document.id if chance.random() < 0.5 else f"new/{chance.random()}.md"
        now[name] = wrap("\n\n".join(blocks), chance.randrange(40, 100))
    for each in update_labels(shop(), now).passages:
        # Short texts, and items that lose their headings, may be others
        if not re.search(r"^- |\n\n", each.old.text) and sum(map(str.isalnum, each.old.text)) >= 60:
            assert each.kind in CERTAIN, (each.query_id, each.where, each.rule)
            assert fold_format(each.new.text).text == fold_format(each.old.text).text
            assert now[each.new_place.doc_id][each.new_place.start : each.new_place.end] == each.new.text


@pytest.mark.slow
@SHORT
@given(st.randoms(use_true_random=True))
def test_edits_of_other_paragraphs_leave_labels_unchanged(chance: random.Random) -> None:
    labels = [each.old_place for each in update_labels(shop(), shop().documents).passages]
    now = {}
    for document in shop().documents:
        spans = [(place.start, place.end) for place in labels if place.doc_id == document.id]
        pieces = []
        for found in re.finditer(r"(?s).+?(?:\n\n+|$)", document.text):
            is_label = any(found.start() < end and start < found.end() for start, end in spans)
            words = found[0].split(" ")
            if not is_label and len(words) > 1 and chance.random() < 0.3:
                words[chance.randrange(len(words) - 1)] += "Sieb"
            pieces.append(" ".join(words))
        now[document.id] = "".join(pieces)
    for each in update_labels(shop(), now).passages:
        assert each.kind in CERTAIN, (each.query_id, each.where, each.rule)
        assert each.new_place.doc_id == each.old_place.doc_id
        assert each.new.text == each.old.text


@pytest.mark.slow
@SHORT
@given(st.randoms(use_true_random=True))
def test_a_changed_word_is_never_certain(chance: random.Random) -> None:
    edits: dict[str, dict[int, tuple[int, str]]] = {}
    labels = update_labels(shop(), shop().documents).passages
    for each in labels:
        place = each.old_place
        words = list(re.finditer(r"(?m)\w+(?<!^\d)(?<!^\d\d)(?<!^\d\.\d)", each.old.text))  # not the numbers of lists
        word = chance.choice(words)
        other = str(int(word[0]) + 1) if word[0].isdecimal() else chance.choice(["Sieb", word[0] + "s"])
        edits.setdefault(place.doc_id, {})[place.start + word.start()] = place.start + word.end(), other
    now = {document.id: document.text for document in shop().documents}
    for name, of in edits.items():
        for start, (end, other) in sorted(of.items(), reverse=True):
            now[name] = now[name][:start] + other + now[name][end:]
    update = update_labels(shop(), now)
    certain = [(each.query_id, each.where, each.rule) for each in update.passages if each.kind in CERTAIN]
    assert not certain, certain
    assert not update.updated.queries or all(not query.facts for query in update.updated)
    for each in update.passages:
        for candidate in each.candidates:
            place = candidate.place
            assert now[place.doc_id][place.start : place.end] == candidate.text
            assert 0 <= candidate.likeness <= 1


@pytest.mark.slow
@SHORT
@given(st.randoms(use_true_random=True))
def test_two_updates_are_as_one(chance: random.Random) -> None:
    names = (
        "policies-terms-of-sale.md",
        "plus-terms-2025.md",
        "policies-returns-de.md",
        "norrvik-washer-error-codes.md",
    )
    documents = tuple(document for document in shop().documents if document.id in names)
    facts = [each.old for each in update_labels(shop(), shop().documents).passages if each.old.doc_id in names]
    queries = [Query(f"q{number}", "What?", (fact(replace(each, grade=1)),)) for number, each in enumerate(facts)]
    dataset = Dataset(tuple(queries), documents)

    def moved(texts: dict[str, str]) -> dict[str, str]:
        blocks = {name: text.split("\n\n") for name, text in texts.items()}
        for _ in range(12):
            source, target = chance.choice(names), chance.choice(names)
            if len(blocks[source]) > 1:
                block = blocks[source].pop(chance.randrange(len(blocks[source])))
                blocks[target].insert(chance.randrange(len(blocks[target]) + 1), block)
        return {name: "\n\n".join(of) for name, of in blocks.items()}

    second = moved({document.id: document.text for document in documents})
    third = moved(second)
    first = update_labels(dataset, second)
    rest = {(each.query_id, each.where): each for each in update_labels(first.updated, third).passages}
    direct = {(each.query_id, each.where): each for each in update_labels(dataset, third).passages}
    for each in first.passages:
        key = each.query_id, each.where
        both = (rest[key].kind, direct[key].kind) if key in rest else ()
        if each.kind in CERTAIN and all(kind in CERTAIN for kind in both) and both and rest[key].old == each.new:
            assert (rest[key].new_place, rest[key].new) == (direct[key].new_place, direct[key].new)
