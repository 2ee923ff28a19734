from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from raglift.datasets.corpora.catalogue import find_corpus
from raglift.datasets.documents import read_documents
from raglift.datasets.loading import load_dataset, load_documents
from raglift.errors import ConfigurationError, CorpusMissing, DatasetError
from raglift.types.documents import Document
from raglift.types.labels import Passage

LINE = '{"id": "a", "query": "What?", "relevant": [{"doc": "a.md", "from": "one", "to": "two"}]}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    (folder / "documents").mkdir(parents=True)
    (folder / "queries.jsonl").write_text(LINE)
    (folder / "documents" / "a.md").write_text("zero one two")
    return folder


@pytest.fixture
def no_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has the text of no corpus, and a working directory without corpora."""
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RAGLIFT_CORPORA", raising=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")


@pytest.mark.parametrize("documents", [{"a.md": "one two"}, [Document("a.md", "one two")]], ids=["mapping", "records"])
def test_documents_that_are_given(folder: Path, documents: object) -> None:
    dataset = load_dataset(str(folder / "queries.jsonl"), documents=documents, name="mine")  # type: ignore[arg-type]
    assert dataset.name == "mine"
    assert dataset.query("a").facts[0].passages == (Passage("one two", "a.md", 0, 7),)


@pytest.mark.slow
def test_documents_by_the_name_of_a_corpus(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    lighthouse = find_corpus("lighthouse").documents()
    for name in ("lighthouse", Path("lighthouse"), "corpora/lighthouse"):
        assert load_documents(name) == lighthouse
    (folder / "unlabelled.jsonl").write_text('{"id": "a", "query": "What?", "relevant": []}\n')
    assert load_dataset("unlabelled.jsonl", documents="lighthouse").documents == lighthouse
    assert load_dataset("lighthouse", documents="lighthouse").documents == lighthouse
    (folder / "lighthouse").mkdir()
    (folder / "lighthouse" / "a.md").write_text("a path comes before a name")
    assert [document.id for document in load_documents("lighthouse")] == ["a.md"]


def test_documents_of_a_dataset(folder: Path) -> None:
    assert load_documents(folder) == load_documents(folder / "documents") == (Document("a.md", "zero one two"),)
    assert load_dataset(folder / "queries.jsonl", documents=folder).documents == (Document("a.md", "zero one two"),)
    fixtures = Path(__file__).parent / "fixtures"
    assert load_documents(fixtures / "beir") == load_dataset(fixtures / "beir").documents
    (folder / "queries.jsonl").unlink()
    assert [document.id for document in load_documents(folder)] == ["documents/a.md"]


def test_a_folder(folder: Path, tmp_path: Path) -> None:
    dataset = load_dataset(folder)
    assert (dataset.name, len(dataset), len(dataset.documents)) == ("mine", 1, 1)
    assert load_dataset(folder, documents={"a.md": "one, two"}).documents[0].text == "one, two"
    shutil.rmtree(folder / "documents")
    with pytest.raises(DatasetError, match=r"queries\.jsonl:1: relevant\[0\]: found no documents for 1 label"):
        load_dataset(folder)


def test_a_folder_with_a_descriptor(folder: Path) -> None:
    (folder / "corpus.toml").write_text(
        'title="t"\ndescription="d"\nlanguage="en"\nlicence="l"\nsources=["s"]\ndocuments="texts"\n'
    )
    with pytest.raises(CorpusMissing, match="texts"):
        load_dataset(folder)
    (folder / "documents").rename(folder / "texts")
    assert len(load_dataset(folder).documents) == 1
    assert load_dataset(folder, documents={"a.md": "one, two"}).documents[0].text == "one, two"


@pytest.mark.parametrize("name", ["lighthouse", "corpora/lighthouse"])
def test_a_bundled_corpus(no_texts: None, name: str) -> None:
    dataset = load_dataset(name)
    assert dataset.name == "lighthouse"
    assert len(dataset) == find_corpus("lighthouse").query_count
    assert all(passage.start is not None for query in dataset for fact in query.facts for passage in fact.passages)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["war_and_peace", "corpora/war_and_peace"])
def test_war_and_peace(
    no_texts: None, book_path: Path, corpora_folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("RAGLIFT_CORPORA", str(corpora_folder.resolve()))
    dataset = load_dataset(name)
    assert len(dataset) == find_corpus("war_and_peace").query_count
    assert [document.id for document in dataset.documents] == ["war_and_peace"]
    monkeypatch.delenv("RAGLIFT_CORPORA")
    assert load_dataset(name, documents=book_path) == dataset


def test_what_is_no_dataset_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match=r"found a dict; expected a path .*Dataset\.from_dict"):
        load_dataset({"What?": []})  # type: ignore[arg-type]
    (folder / "labels.xyz").touch()
    with pytest.raises(DatasetError, match=r"found a file of type \.xyz"):
        load_dataset(folder / "labels.xyz")
    with pytest.raises(ConfigurationError, match="found encoding= with format 'trec'"):
        load_dataset(Path(__file__).parent / "fixtures" / "trec", encoding="latin-1")
    for documents in ({"a.md": "x"}, None):
        with pytest.raises(ConfigurationError, match="include: found it with documents that are no folder"):
            read_documents(documents, include="*.rst")  # type: ignore[arg-type]
    monkeypatch.chdir(folder.parent)
    assert load_dataset("mine").documents == load_dataset(folder).documents  # a folder with the name of no corpus


def test_a_corpus_of_the_users_own_whose_labels_are_wrong(folder: Path) -> None:
    (folder / "corpus.toml").write_text(
        'title="t"\ndescription="d"\nlanguage="en"\nlicence="l"\nsources=["s"]\ndocuments="documents"\n'
    )
    assert load_documents(folder) == (Document("a.md", "zero one two"),)
    (folder / "documents" / "a.md").write_text("nothing of the kind")
    with pytest.raises(DatasetError, match=r"queries\.jsonl:1: relevant\[0\]\.from: "):
        load_dataset(folder)
