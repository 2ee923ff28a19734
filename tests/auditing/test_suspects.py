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


def run(data: rl.Dataset, first: dict[str, str], fails: str = "") -> rl.Evaluation:
    """A system that returns a document for each question, then the others."""
    asked = {one.text: one.id for one in data}

    def find(question: str, k: int) -> list[rl.Chunk]:
        if asked[question] == fails:
            raise RuntimeError("no answer")
        best = first[asked[question]]
        order = [best, *(one.id for one in data.documents if one.id != best)]
        texts = data.document_by_id
        return [rl.Chunk(texts[name].text, doc_id=name, start=0, end=len(texts[name].text)) for name in order[:k]]

    return rl.evaluate(find, data, metrics=["hit_rate@2"], ks=(2,), progress=False)


RIGHT = {name: doc_id for name, (_, doc_id) in QUESTIONS.items()}


def test_the_runs_of_the_user_are_the_systems_that_agree() -> None:
    data = dataset(wrong={"horn": "stairs.md"})
    runs = {"a": run(data, RIGHT), "b": run(data, RIGHT | {"lamp": "gulls.md"})}
    found = suspects(data, runs=runs)
    first = found.suspects[0]
    assert (first.query_id, first.other_doc) == ("horn", "horn.md")
    assert first.ranks.keys() == {"a", "b"}
    assert first.evidence > max([one.evidence for one in found.suspects[1:]], default=0)
    assert suspects(data, runs=list(runs.values())).suspects[0].query_id == "horn"


def test_a_run_that_failed_says_nothing_of_that_question() -> None:
    data = dataset(wrong={"horn": "stairs.md"})
    found = suspects(data, runs={"a": run(data, RIGHT), "b": run(data, RIGHT, fails="horn")})
    assert [one.ranks.keys() for one in found.suspects if one.query_id == "horn"] == [{"a"}]
    none = suspects(data, runs={name: run(data, RIGHT, fails="horn") for name in ("a", "b")})
    assert [one for one in none.suspects if one.query_id == "horn"] == []


def test_runs_that_cannot_be_used_are_refused() -> None:
    data = dataset()
    with pytest.raises(ConfigurationError, match="found 1; expected two or more"):
        suspects(data, runs=[run(data, RIGHT)])
    other = rl.evaluate(lambda _: ["x"], rl.Dataset.from_dict({"Why?": ["x"]}), ks=(1,), progress=False)
    with pytest.raises(ConfigurationError, match="none of the dataset's labelled queries in 'b'"):
        suspects(data, runs={"a": run(data, RIGHT), "b": other})
    nowhere = rl.evaluate(lambda _: ["words of no document"], data, ks=(1,), progress=False)
    with pytest.raises(ConfigurationError, match="no hit of 'b' that is a place"):
        suspects(data, runs={"a": run(data, RIGHT), "b": nowhere})
    with pytest.raises(ConfigurationError, match="found a str; expected evaluations"):
        suspects(data, runs=["runs/a", "runs/b"])  # type: ignore[list-item]
