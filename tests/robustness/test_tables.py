"""Tables and files of labels as users have them: what is unknown is refused, and what is repeated counts once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from raglift.cli.app import app
from raglift.datasets import load_dataset, load_documents
from raglift.errors import DatasetError
from raglift.records import Passage
from raglift.running.evaluation import evaluate

ROWS = "id,query,{},note\n1,When is high water?,at noon,x\n"


def table(folder: Path, text: str) -> Path:
    path = folder / "labels.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def faults_of(path: Path, **options: Any) -> str:
    with pytest.raises(DatasetError) as raised:
        load_dataset(path, **options)
    return str(raised.value)


# CSV: a column that is not recognised may be the labels.


@pytest.mark.parametrize(
    ("column", "nearest"),
    [
        ("passages", 'nearest: "passage"'),
        ("Passage", 'nearest: "passage"'),
        ("answer", 'nearest: "answerable"'),
        ("Grade", 'nearest: "grade"'),
        ("evidence", 'one of "answerable"'),
        ("\u200bpassage", 'nearest: "passage"'),
    ],
)
def test_an_unknown_column_is_refused_with_the_nearest_known_name(column: str, nearest: str, tmp_path: Path) -> None:
    message = faults_of(table(tmp_path, ROWS.format(column)), columns={"ignore": "note"})
    assert "labels.csv:1: found an unknown column" in message
    assert nearest in message
    assert "columns={'ignore': " in message
    assert "raglift labels convert --column " in message


def test_each_unknown_column_is_named_with_a_way_to_leave_it_unread(tmp_path: Path) -> None:
    message = faults_of(table(tmp_path, ROWS.format("evidence")))
    assert message.count("found an unknown column") == 2
    assert "columns={'ignore': 'note'}" in message


def test_a_column_is_ignored_when_it_is_said(tmp_path: Path) -> None:
    path = table(tmp_path, "author,id,query,Evidence,note\nA,1,When is high water?,at noon,x\n")
    assert '"author"' in faults_of(path, columns={"passage": "Evidence"})
    (query,) = load_dataset(path, columns={"passage": "Evidence", "ignore": ["author", "note"]})
    assert query.id == "1"
    assert [fact.passages for fact in query.facts] == [(Passage("at noon"),)]


def test_columns_that_have_the_known_names_need_not_be_named(tmp_path: Path) -> None:
    path = table(tmp_path, "Frage,passage,grade\nWann?,at noon,0\nWann?,at six,2\n")
    (query,) = load_dataset(path, columns={"question": "Frage"})
    assert query.judged_irrelevant == (Passage("at noon", grade=0),)
    assert [fact.passages for fact in query.facts] == [(Passage("at six", grade=2),)]


def test_columns_are_ignored_on_the_command_line(tmp_path: Path) -> None:
    path = table(tmp_path, "author,query,passage,note\nA,When?,at noon,x\n")
    ignored = ["--column", "ignore=author", "--column", "ignore=note"]
    done = CliRunner().invoke(app, ["labels", "convert", str(path), "-o", str(tmp_path / "own"), *ignored])
    assert done.exit_code == 0, done.output
    assert load_dataset(tmp_path / "own").queries[0].facts[0].passages == (Passage("at noon"),)


def test_a_grade_of_0_is_judged_irrelevant_and_another_grade_of_the_same_row_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path, "id,query,passage,grade\n1,When?,at noon,0\n1,When?,at noon,1\n")
    assert "labels.csv:3: passage: found the grade 1, for a passage that has 0 in line 2" in faults_of(path)


# What is repeated is one fact: else finding one of two facts would be a recall of 2/3.

LAMP, FOG = "the lamp is lit at dusk", "the horn gives two blasts"


def as_csv(folder: Path) -> Path:
    return table(folder, "id,query,passage\n" + f"1,When?,{LAMP}\n" * 2 + f"1,When?,{FOG}\n")


def as_llama_index(folder: Path) -> Path:
    path = folder / "rag.json"
    path.write_text(json.dumps({"examples": [{"query": "When?", "reference_contexts": [LAMP, LAMP, FOG]}]}))
    return path


def as_pairs(folder: Path) -> Path:
    value = {"queries": {"1": "When?"}, "corpus": {"a": LAMP, "b": FOG}, "relevant_docs": {"1": ["a", "a", "b"]}}
    path = folder / "pairs.json"
    path.write_text(json.dumps(value))
    return path


def autorag(folder: Path, groups: Any) -> Path:
    pq.write_table(pa.table({"qid": ["1"], "query": ["When?"], "retrieval_gt": [groups]}), folder / "qa.parquet")
    pq.write_table(pa.table({"doc_id": ["a", "b"], "contents": [LAMP, FOG]}), folder / "corpus.parquet")
    return folder


def as_autorag(folder: Path) -> Path:
    return autorag(folder, [["a"], ["a", "a"], ["b"]])


FORMS = [as_csv, as_llama_index, as_pairs, as_autorag]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__.removeprefix("as_"))
def test_repeated_labels_are_one_fact(form: Callable[[Path], Path], tmp_path: Path) -> None:
    dataset = load_dataset(form(tmp_path))
    evaluation = evaluate(lambda query: [LAMP], dataset, metrics=["recall@5"], progress=False)
    assert evaluation.scores.mean("retrieve", "recall@5") == 0.5


# AutoRAG: what its own tests have for "no ground truth".


@pytest.mark.parametrize("groups", [[[""]], [["", ""]], [[]], [[], [""]]], ids=str)
def test_a_question_without_ground_truth_is_unlabelled(groups: list[list[str]], tmp_path: Path) -> None:
    path = autorag(tmp_path, pa.array([groups], pa.list_(pa.list_(pa.string())))[0])
    (query,) = load_dataset(path)
    assert not query.is_labelled


# LlamaIndex: who wrote a question, and who is not a person.


def examples(folder: Path, **fields: Any) -> Path:
    path = folder / "rag.json"
    path.write_text(json.dumps({"examples": [{"query": "When?", "reference_contexts": [LAMP], **fields}]}))
    return path


def test_a_question_that_a_model_wrote_names_the_model(tmp_path: Path) -> None:
    path = examples(tmp_path, query_by={"model_name": "gpt-4o-mini", "type": "ai"})
    dataset = load_dataset(path)
    assert dataset.queries[0].annotator is not None
    assert dataset.queries[0].annotator.model == "gpt-4o-mini"
    assert "gpt-4o-mini" in str(dataset.label_sources)


@pytest.mark.parametrize("by", ["gpt-4o", {"model_name": 3, "type": "ai"}, {"type": "robot"}, [1]])
def test_a_writer_that_is_none_is_a_fault(by: Any, tmp_path: Path) -> None:
    assert "examples[0].query_by" in faults_of(examples(tmp_path, query_by=by))


# TREC: documents as its collections have them.

TREC = """<DOC>
<DOCNO> FT911-1 </DOCNO>
<DATE>1991</DATE>
<HEADLINE>Tides &amp; lamps</HEADLINE>
<TEXT>
The lamp is lit at dusk.
</TEXT>
</DOC>

<doc><docno>FT911-2</docno><text>The horn gives two blasts.</text></doc>
"""


def test_documents_of_trec_are_read(tmp_path: Path) -> None:
    (tmp_path / "ft911.txt").write_text(TREC)
    first, second = load_documents(tmp_path / "ft911.txt")
    assert (first.id, second.id) == ("FT911-1", "FT911-2")
    assert first.text.split() == ["Tides", "&", "lamps", "The", "lamp", "is", "lit", "at", "dusk."]
    assert second.text == "The horn gives two blasts."


def test_labels_of_trec_name_the_documents_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "collection").mkdir()
    (tmp_path / "collection" / "ft911").write_text(TREC)
    (tmp_path / "collection" / "more.trec").write_text("<DOC><DOCNO>X-1</DOCNO><TEXT>More.</TEXT></DOC>")
    (tmp_path / "qrels.txt").write_text("1 0 FT911-1 1\n1 0 FT911-2 0\n1 0 X-1 2\n")
    (tmp_path / "topics.tsv").write_text("1\tWhen is the lamp lit?\n")
    dataset = load_dataset(
        tmp_path / "qrels.txt", topics=tmp_path / "topics.tsv", documents=tmp_path / "collection", format="trec"
    )
    assert [document.id for document in dataset.documents] == ["FT911-1", "FT911-2", "X-1"]
    assert [fact.passages[0].doc_id for fact in dataset.queries[0].facts] == ["FT911-1", "X-1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<DOC><DOCNO>a</DOCNO></DOC>\n<DOC><TEXT>words</TEXT></DOC>", "d.txt:2: found no <DOCNO>"),
        ("<DOC><DOCNO>a</DOCNO>\n</DOC>\n<DOC><DOCNO>a</DOCNO></DOC>", 'd.txt:3: found the id "a" of d.txt:1'),
        ("<DOC><DOCNO>a</DOCNO><TEXT>cut off", "found a <DOC> without a </DOC>"),
    ],
)
def test_documents_of_trec_that_are_damaged(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text(text)
    with pytest.raises(DatasetError, match=message):
        load_documents(tmp_path / "d.txt")


# A label that nobody can see is none.


@pytest.mark.parametrize("blank", ["\u200b", "\ufeff\u2060", "\u00ad", " \u200d ", "\u3164", "\u0301"], ids=ascii)
def test_a_label_without_a_visible_character_is_refused(blank: str, tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(json.dumps({"id": "1", "query": "When?", "relevant": [blank]}) + "\n")
    assert "queries.jsonl:1: relevant[0]: found a text without a visible character" in faults_of(path)


def test_a_judgment_of_no_document_is_a_fault_of_its_line(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\t\t1\n")
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "When?"}\n')
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "At noon."}\n')
    assert "qrels/test.tsv:2: corpus-id: found an empty text" in faults_of(tmp_path)
