from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.datasets.formats.capabilities import without
from raglift.datasets.formats.catalogue import FORMATS, write_dataset
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, DatasetError
from raglift.records.checking import has_words
from raglift.records.dataset import Dataset
from raglift.records.documents import Document
from raglift.records.labels import Annotator, Fact, Passage, Query, distinct_facts

SOURCES: list[tuple[str, str, dict[str, Any]]] = [
    ("beir", "beir", {}),
    ("beir", "beir", {"split": "train"}),
    ("hub", "hf", {}),
    ("hub", "hf", {"split": "train"}),
    ("trec", "trec", {}),
    ("trec/qrels.txt", "trec", {"topics": "topics.301-303.txt"}),
    ("squad/dev-v2.0.json", "squad", {}),
    ("squad/dev-v2.0.json", "squad", {"evidence": "context"}),
    (
        "csv/labels.csv",
        "csv",
        {
            "columns": {
                "query": "Question",
                "passage": "Evidence",
                "doc": "Source",
                "fact": "Group",
                "ignore": ["No.", "Helps"],
            }
        },
    ),
    ("autorag", "autorag", {}),
    ("autorag", "autorag", {"labels": "ids"}),
    ("llama-index/rag_dataset.json", "llama-index", {}),
    ("llama-index/qa_dataset.json", "llama-index", {}),
    ("ragas/testset.csv", "ragas", {}),
    ("langsmith/examples.jsonl", "langsmith", {}),
    ("langfuse/items.json", "langfuse", {}),
    ("promptfoo/promptfooconfig.yaml", "promptfoo", {}),
    ("quepid/ratings.csv", "quepid", {}),
    ("rank_eval/request.json", "rank-eval", {}),
]

TOOLS = {
    "ragas": ".jsonl",
    "langsmith": ".jsonl",
    "langfuse": ".jsonl",
    "promptfoo": ".json",
    "quepid": ".json",
    "rank-eval": ".json",
}


def load(fixtures: Path, source: str, options: dict[str, Any]) -> Dataset:
    found = dict(options)
    if "topics" in found:
        found["topics"] = fixtures / "trec" / found["topics"]
    return load_dataset(fixtures / source, name="d", **found)


def read_again(path: Path, options: dict[str, Any], dataset: Dataset) -> Dataset:
    kept = {name: value for name, value in options.items() if name == "labels"}
    if path.suffix == ".csv":
        kept["documents"] = dataset.documents or None
    return load_dataset(path, name=dataset.name, **kept)


def target(folder: Path, name: str) -> Path:
    suffix = ({"csv": ".csv", "squad": ".json", "llama-index": ".json"} | TOOLS).get(name, "")
    return folder / f"written{suffix}"


@pytest.mark.parametrize(("source", "name", "options"), SOURCES)
def test_what_is_read_and_written_is_read_again(
    source: str, name: str, options: dict[str, Any], fixtures: Path, tmp_path: Path
) -> None:
    dataset = load(fixtures, source, options)
    path = write_dataset(dataset, target(tmp_path, name), format=name)  # type: ignore[arg-type]
    assert read_again(path, options, dataset) == dataset
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("source", "name", "options"), SOURCES)
def test_every_dataset_fits_raglifts_own_folder_and_csv(
    source: str, name: str, options: dict[str, Any], fixtures: Path, tmp_path: Path
) -> None:
    dataset = load(fixtures, source, options)
    assert load_dataset(write_dataset(dataset, tmp_path / "own"), name="d") == dataset
    table = write_dataset(dataset, tmp_path / "labels.csv", format="csv", drop=("annotators",))
    assert load_dataset(table, documents=dataset.documents or None, name="d") == without(dataset, ("annotators",))


def test_the_bundled_corpus_through_its_own_format_and_csv(tmp_path: Path) -> None:
    dataset = load_dataset("lighthouse")
    folder = write_dataset(dataset, tmp_path / "lighthouse")
    assert (folder / "documents" / "history.md").is_file()
    assert load_dataset(folder) == dataset
    table = write_dataset(dataset, tmp_path / "lighthouse.csv", format="csv")
    assert load_dataset(table, documents=dataset.documents) == dataset


DOCUMENT = Document("tides.md", "High water is at noon. Low water is at six.")
SPAN = Passage("High water", "tides.md", 0, 10)
WHOLE = Passage(DOCUMENT.text, "tides.md", 0, len(DOCUMENT.text))
LITERAL = Passage("water")
JUDGE = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")


def dataset_of(*facts: Fact, **fields: Any) -> Dataset:
    return Dataset((Query("q1", "When?", facts, **fields),), (DOCUMENT,), "tides")


MISFITS = [
    ("beir", dataset_of(Fact((SPAN,))), 'the text "High water" from 0 to 10 in "tides.md"; expected a whole document'),
    ("beir", dataset_of(Fact((WHOLE, LITERAL))), "a fact with 2 alternatives"),
    ("beir", dataset_of(Fact((WHOLE,)), Fact((WHOLE,))), "a passage of this query again"),
    ("csv", dataset_of(Fact((WHOLE,)), Fact((WHOLE,))), "a fact, or an alternative of one, again"),
    ("beir", dataset_of(Fact((WHOLE,)), Fact((replace(WHOLE, grade=2),))), "a passage of this query again"),
    ("beir", replace(dataset_of(), documents=()), "documents: found none"),
    ("beir", dataset_of(answerable=False), "answerable: found false"),
    ("trec", dataset_of(Fact((WHOLE,)), tags=("easy",)), "drop=('tags',), or --drop tags"),
    ("trec", Dataset((Query("q 1", "When?"),)), '" " in "q 1"'),
    ("trec", Dataset((Query("q", "When\nis it?"),)), "queries: [0] (q).query"),
    ("squad", dataset_of(Fact((SPAN,)), Fact((WHOLE,))), "2 facts; expected at most 1"),
    ("squad", dataset_of(Fact((LITERAL,))), "a span of a document"),
    ("squad", dataset_of(Fact((replace(SPAN, grade=3),))), "drop=('grades',)"),
    ("squad", dataset_of(judged_irrelevant=(replace(SPAN, grade=0),)), "drop=('judged_irrelevant',)"),
    ("trec", dataset_of(Fact((Passage(chunk_id="c7"),))), 'the chunk id "c7"; expected a whole document'),
    ("autorag", dataset_of(Fact((LITERAL,))), "a whole document, or a chunk id"),
    ("llama-index", dataset_of(Fact((SPAN,))), "drop=('places',)"),
    ("llama-index", Dataset((Query("tides", "When?"),)), "drop=('ids',)"),
    ("csv", dataset_of(Fact((replace(LITERAL, annotator=JUDGE),))), "drop=('annotators',), or --drop annotators"),
    (
        "trec",
        dataset_of(judged_irrelevant=(replace(WHOLE, grade=0, annotator=JUDGE),)),
        "judged_irrelevant[0].annotator",
    ),
    ("beir", dataset_of(Fact((WHOLE,)), annotator=JUDGE), "annotator: found openai:gpt-4o-mini (relevance@3f9a1c07"),
    ("csv", dataset_of(tags=("a;b",)), "a tag without ';'"),
    ("csv", Dataset((Query("q", "w" * 131_073),)), "at most 131,072"),
    *(
        ("csv", Dataset((query,)), "and no NUL")
        for query in (
            Query("q\0", "When?"),
            Query("q", "When?", tags=("a\0b",)),
            Query("q", "When?", (Fact((Passage(chunk_id="c\0"),)),)),
            Query("q", "When?", judged_irrelevant=(Passage("words", "d\0", grade=0),)),
        )
    ),
]


@pytest.mark.parametrize(("name", "dataset", "message"), MISFITS, ids=[f"{name} {m[:30]}" for name, _, m in MISFITS])
def test_what_a_format_cannot_hold_is_not_written(name: str, dataset: Dataset, message: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="nothing was written") as caught:
        write_dataset(dataset, tmp_path / "out", format=name)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_two_answers_in_two_documents_do_not_fit_squad(tmp_path: Path) -> None:
    other = Document("winds.md", "The wind is from the west.")
    fact = Fact((SPAN, Passage("The wind", "winds.md", 0, 8)))
    with pytest.raises(DatasetError, match="answers in 2 documents"):
        write_dataset(Dataset((Query("q", "What?", (fact,)),), (DOCUMENT, other)), tmp_path / "x.json", format="squad")


@pytest.mark.parametrize("metadata", [{"when": {1, 2}}, {"pair": (1, 2)}, {"rate": float("nan")}])
@pytest.mark.parametrize("name", ["jsonl", "beir", "trec"])
def test_metadata_that_json_would_not_give_back(name: str, metadata: dict[str, Any], tmp_path: Path) -> None:
    dataset = Dataset((Query("q", "When?"),), (replace(DOCUMENT, metadata=metadata),))
    with pytest.raises(DatasetError, match=r"documents: \[0\]\.metadata: .*drop=\('metadata',\)"):
        write_dataset(dataset, tmp_path / "out", format=name)  # type: ignore[arg-type]
    assert write_dataset(dataset, tmp_path / "out", format=name, drop=("metadata",)).is_dir()  # type: ignore[arg-type]


def test_all_that_does_not_fit_is_listed(tmp_path: Path) -> None:
    queries = tuple(Query(f"q{number}", "When?", tags=("easy",)) for number in (1, 2, 3))
    with pytest.raises(DatasetError) as caught:
        write_dataset(Dataset(queries), tmp_path / "out", format="trec")
    assert len(caught.value.faults) == 3
    assert "queries: [2] (q3).tags" in str(caught.value)


def test_what_may_be_dropped(tmp_path: Path) -> None:
    fact = Fact((replace(SPAN, grade=3),))
    query = Query("tides", "When?", (fact,), ("easy",), judged_irrelevant=(replace(WHOLE, grade=0),))
    dataset = Dataset((query,), (Document("tides.md", DOCUMENT.text, {"by": "us"}),), "d")
    drop = ("annotators", "grades", "ids", "judged_irrelevant", "metadata", "places", "tags")
    path = write_dataset(dataset, tmp_path / "rag.json", format="llama-index", drop=drop)
    assert load_dataset(path).queries == (Query("q1", "When?", (Fact((Passage("High water"),)),)),)
    squad = write_dataset(
        dataset, tmp_path / "squad.json", format="squad", drop=("grades", "judged_irrelevant", "metadata", "tags")
    )
    assert load_dataset(squad, name="d") == Dataset((Query("tides", "When?", (Fact((SPAN,)),)),), (DOCUMENT,), "d")
    with pytest.raises(ConfigurationError, match="alternatives"):
        write_dataset(dataset, tmp_path / "x", drop=("alternatives",))


@pytest.mark.parametrize("name", ["csv", "trec", "beir"])
def test_annotators_are_dropped_only_when_asked(name: str, tmp_path: Path) -> None:
    fact = Fact((replace(LITERAL if name == "csv" else WHOLE, grade=2),))
    judged = Fact(tuple(replace(one, annotator=JUDGE) for one in fact.passages))
    plain = Dataset((Query("tides", "When?", (fact,)),), (DOCUMENT,), "d")
    signed = Dataset((Query("tides", "When?", (judged,), annotator=JUDGE),), (DOCUMENT,), "d")
    with pytest.raises(DatasetError, match="annotator"):
        write_dataset(signed, target(tmp_path, name), format=name)  # type: ignore[arg-type]
    path = write_dataset(signed, target(tmp_path, name), format=name, drop=("annotators",))  # type: ignore[arg-type]
    assert read_again(path, {}, plain) == plain


def test_annotators_survive_in_the_own_format(tmp_path: Path) -> None:
    facts = (Fact((replace(SPAN, annotator=JUDGE), LITERAL)),)
    irrelevant = (Passage("noon", grade=0, annotator=JUDGE),)
    dataset = dataset_of(*facts, judged_irrelevant=irrelevant, annotator=JUDGE)
    path = write_dataset(dataset, tmp_path / "tides")
    assert load_dataset(path) == dataset


def test_nothing_that_is_there_is_replaced(tmp_path: Path) -> None:
    dataset = dataset_of(Fact((SPAN,)))
    for known, name in (("jsonl", "own"), ("squad", "squad.json")):
        path = write_dataset(dataset, tmp_path / "new" / name, format=known)  # type: ignore[arg-type]
        with pytest.raises(DatasetError, match="something there already"):
            write_dataset(dataset, path, format=known)  # type: ignore[arg-type]
    (tmp_path / "empty").mkdir()
    assert load_dataset(write_dataset(dataset, tmp_path / "empty"), name="tides") == dataset
    (tmp_path / "folder").mkdir()
    with pytest.raises(DatasetError, match="expected the path of a new file"):
        write_dataset(dataset, tmp_path / "folder", format="csv")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DatasetError, match="cannot be written"):
        write_dataset(dataset_of(), tmp_path / "file" / "folder")


def test_an_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match='nearest: "squad"'):
        write_dataset(dataset_of(), tmp_path / "x", format="squat")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name, known in FORMATS.items() if known.write is not None])
def test_a_dataset_that_is_no_good_is_written_nowhere(name: str, tmp_path: Path) -> None:
    broken = Dataset((Query("q", "When \ud800?", (Fact((SPAN,)),)),), (DOCUMENT,))
    with pytest.raises(DatasetError, match="half a character"):
        write_dataset(broken, tmp_path / "x", format=name)  # type: ignore[arg-type]


# Everything that separates, quotes or encodes something in one of the formats
SPECIAL = "aB9 é;,|\t\n\r\"'\\\\{}<>[]&#=\u2028\ufeff\U0001f40b"


def words(without: str = "") -> st.SearchStrategy[str]:
    special = st.sampled_from([letter for letter in SPECIAL if letter not in without])
    others = st.characters(
        exclude_categories=["Cs", "Cc", "Z"] if without else ["Cs"], exclude_characters="\0" + without
    )
    return st.text(special | others, min_size=1, max_size=12).filter(has_words)


@dataclass(frozen=True)
class Shape:
    """What the datasets of a format look like."""

    passages: str
    ids: st.SearchStrategy[str] = field(default_factory=words)
    questions: st.SearchStrategy[str] = field(default_factory=words)
    most_facts: int = 2
    alternatives: int = 1


SHAPES = {
    "jsonl": Shape("any", alternatives=3),
    "csv": Shape("any", alternatives=3),
    "beir": Shape("whole", ids=words("\t\r\n")),
    "trec": Shape("whole", ids=words(" \t\r\n\u2028\ufeff"), questions=words("\r\n")),
    "autorag": Shape("whole", alternatives=2),
    "squad": Shape("whole", most_facts=1),
    "llama-index": Shape("whole"),
    "llama-index's contexts": Shape("text"),
}


@st.composite
def datasets(draw: st.DrawFn, shape: Shape) -> Dataset:
    """Datasets that a format has room for."""
    ids = draw(st.lists(shape.ids, min_size=1, max_size=3, unique=True))
    documents = tuple(Document(doc_id, draw(words())) for doc_id in ids)

    def passage() -> Passage:
        document = draw(st.sampled_from(documents))
        whole = Passage(document.text, document.id, 0, len(document.text))
        text = Passage(draw(words()))
        if shape.passages != "any":
            return whole if shape.passages == "whole" else text
        others = [whole, text, replace(text, doc_id=document.id), Passage(chunk_id=draw(words()))]
        return replace(draw(st.sampled_from(others)), grade=draw(st.integers(1, 3)))

    def fact() -> Fact:
        return Fact(tuple(dict.fromkeys(passage() for _ in range(draw(st.integers(1, shape.alternatives))))))

    queries = []
    for number, query_id in enumerate(draw(st.lists(shape.ids, min_size=1, max_size=3, unique=True)), start=1):
        facts = distinct_facts(fact().passages for _ in range(draw(st.integers(0, shape.most_facts))))
        name = f"q{number}" if shape.passages == "text" else query_id
        queries.append(Query(name, draw(shape.questions), facts))
    return Dataset(tuple(queries), () if shape.passages == "text" else documents, "d")


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHAPES)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_dataset_that_fits_is_read_back(kind: str, data: st.DataObject) -> None:
    dataset = data.draw(datasets(SHAPES[kind]))
    name = kind.partition("'")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = write_dataset(dataset, target(Path(folder), name), format=name)  # type: ignore[arg-type]
        read = read_again(path, {}, dataset)
    if name == "squad":  # its questions come in the order of their contexts
        assert set(read.queries) == set(dataset.queries)
        read = replace(read, queries=dataset.queries)
    assert read == dataset
