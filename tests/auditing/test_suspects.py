"""Labels that are probably wrong or incomplete."""

import pytest

import raglift as rl
from raglift.auditing import suspects
from raglift.errors import ConfigurationError
from raglift.records import Document, Fact, Passage, Query

TEXTS = {
    "lamp.md": "The lamp of the lighthouse burns whale oil, and the keeper lights it every evening at dusk.",
    "horn.md": "The fog horn is blown twice a minute by the assistant whenever the far shore cannot be seen.",
    "boat.md": "The supply boat brings flour, coal and letters on the first Monday of each month, if the sea allows.",
    "gulls.md": "Herring gulls nest on the northern rocks from April on and must not be disturbed by visitors.",
    "stairs.md": "There are two hundred and seven iron steps up to the gallery, and a rope to hold on to.",
}
QUESTIONS = {
    "lamp": ("What does the lamp burn, and when is it lit?", "lamp.md"),
    "horn": ("When is the fog horn blown?", "horn.md"),
    "boat": ("What does the supply boat bring, and on which day?", "boat.md"),
    "gulls": ("Where do the gulls nest?", "gulls.md"),
    "stairs": ("How many steps lead up to the gallery?", "stairs.md"),
}


def dataset(wrong: dict[str, str] | None = None, extra: dict[str, str] | None = None) -> rl.Dataset:
    texts = TEXTS | (extra or {})
    queries = []
    for name, (question, doc_id) in QUESTIONS.items():
        place = (wrong or {}).get(name, doc_id)
        queries.append(Query(name, question, (Fact((Passage(texts[place], place, 0, len(texts[place])),)),)))
    return rl.Dataset(tuple(queries), tuple(Document(name, text) for name, text in texts.items()), "d")


def test_the_passage_of_another_question_comes_first_with_the_one_that_answers() -> None:
    found = suspects(dataset(wrong={"horn": "stairs.md"}))
    first = found.suspects[0]
    assert (first.query_id, first.fact, first.kind, first.other_doc) == ("horn", 0, "document", "horn.md")
    assert min(first.ranks.values()) > 1
    assert first.evidence > max([one.evidence for one in found.suspects[1:]], default=0)


def test_right_labels_are_no_suspects() -> None:
    found = suspects(dataset())
    assert (found.facts, found.suspects, found.copies, found.most_wrong) == (5, (), 0, 0)


def test_a_copy_that_nobody_labelled_is_found_and_one_with_another_number_is_not() -> None:
    same = TEXTS["boat.md"].replace("if the sea allows", "when the sea allows")
    other = TEXTS["stairs.md"].replace("two hundred and seven iron", "ninety nine wooden narrow")
    found = suspects(dataset(extra={"a.md": f"Notes. {same}", "b.md": other}))
    copies = [one for one in found.suspects if one.kind == "copy"]
    assert [(one.query_id, one.other_doc) for one in copies] == [("boat", "a.md")]
    assert found.copies == 1
    assert copies[0].other_text.startswith("The supply boat brings flour")


def test_a_copy_that_is_labelled_or_judged_irrelevant_is_no_suspect() -> None:
    text = TEXTS["boat.md"]
    plain = dataset(extra={"a.md": text})
    copy = Passage(text, "a.md", 0, len(text))
    for facts, irrelevant in (
        ((Fact((*plain.query("boat").facts[0].passages, copy)),), ()),
        (plain.query("boat").facts, (Passage(text, "a.md", 0, len(text), grade=0),)),
    ):
        queries = [
            Query(one.id, one.text, facts, judged_irrelevant=irrelevant) if one.id == "boat" else one for one in plain
        ]
        found = suspects(rl.Dataset(tuple(queries), plain.documents, "d"))
        assert found.copies == 0


def test_as_text_and_as_a_frame() -> None:
    found = suspects(dataset(wrong={"horn": "stairs.md"}))
    assert "At most about" in str(found)
    assert "horn.md" in found.to_text()
    assert found.to_frame()["query_id"].iloc[0] == "horn"


def test_labels_without_places_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="no label of"):
        suspects(rl.Dataset.from_dict({"How?": ["The lamp is lit."]}))
