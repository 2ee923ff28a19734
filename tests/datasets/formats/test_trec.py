from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError
from raglift.types.labels import Fact, Passage, Query


@pytest.fixture
def qrels(fixtures: Path) -> Path:
    return fixtures / "trec" / "qrels.txt"


@pytest.mark.parametrize("topics", ["topics.301-303.txt", "topics.tsv"])
def test_without_documents_the_labels_are_the_ids_of_hits(qrels: Path, topics: str) -> None:
    dataset = load_dataset(qrels, topics=qrels.parent / topics)
    assert dataset.documents == ()
    assert dataset.queries == (
        Query(
            "301",
            "Ferry Crime & Smuggling",
            (Fact((Passage(chunk_id="FT934-5418"),)), Fact((Passage(chunk_id="FBIS3-10937", grade=2),))),
            judged_irrelevant=(Passage(chunk_id="LA122190-0057", grade=0),),
        ),
        Query(
            "302",
            "Harbour silting and dredging",
            (Fact((Passage(chunk_id="LA122190-0057"),)),),
            judged_irrelevant=(Passage(chunk_id="FT934-5418", grade=0),),  # -1 counts as 0
        ),
        Query("303", "Lighthouse keepers' wages"),  # not judged
    )


def test_with_documents_the_labels_are_whole_documents(qrels: Path) -> None:
    dataset = load_dataset(qrels, topics=qrels.parent / "topics.tsv", documents=qrels.parent / "documents.jsonl")
    text = dataset.document_by_id["LA122190-0057"].text
    assert dataset.query("302").facts == (Fact((Passage(text, "LA122190-0057", 0, len(text)),)),)


def test_every_fault_is_located(qrels: Path, tmp_path: Path, faults: Callable[..., str]) -> None:
    path = tmp_path / "my.qrels"
    path.write_text("301 0 A 1\n301 0 A 1\n301 0 A 2\n301 A 1\n301 0 B x\n999 0 A 1\n301 0 C 1001\n", encoding="utf-8")
    message = faults(path, topics=qrels.parent / "topics.tsv")
    assert "my.qrels (read as TREC): 5 faults" in message
    assert 'my.qrels:3: found the grade 2 for "A", which has 1 on line 1' in message
    assert "my.qrels:4: found 3 columns; expected 4 columns: topic, iteration, document and relevance" in message
    assert 'my.qrels:5: relevance: found "x"; expected an integer of at most 1000' in message
    assert 'my.qrels:6: found the unknown query id "999"; expected an id of topics.tsv, as "301"' in message
    assert 'my.qrels:7: relevance: found "1001"' in message


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "t.tsv",
            "301 no tab\n\n302\t \n",
            ["t.tsv:1: found", "without a tab", "t.tsv:3: question: found an empty text"],
        ),
        ("t.txt", "<top>\n<num> Number: 1\n</top>\n\n<top>\n<title> x </top>", ["t.txt:1: title", "t.txt:5: num"]),
        ("t.txt", "<topics>\n", ["t.txt: found no <top> … </top>"]),
        ("t.tsv", "1\ta\n1\tb\n", ['t.tsv:2: found the id "1" of t.tsv:1']),
    ],
)
def test_topics_that_are_malformed(
    name: str, text: str, expected: list[str], tmp_path: Path, faults: Callable[..., str]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "qrels").write_text("", encoding="utf-8")
    message = faults(tmp_path / "qrels", topics=tmp_path / name)
    assert all(part in message for part in expected), message


def test_qrels_alone_have_no_questions(qrels: Path) -> None:
    with pytest.raises(ConfigurationError, match="found TREC qrels without topics; expected topics="):
        load_dataset(qrels, format="trec")
