"""Anchors in other editions of the text that they were written for: resolved to the same passage, or left out."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

import raglift as rl
from raglift.datasets.corpora.catalogue import Corpus, find_corpus
from raglift.errors import ConfigurationError, CorpusError, DatasetError
from raglift.text.near_text import letters_in
from raglift.text.normalization import normalize
from raglift.types.dataset import Dataset

Run = Callable[..., tuple[int, str, str]]


def without_accents(text: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter))


def ascii_only(text: str) -> str:
    plain = {"“": '"', "”": '"', "‘": "'", "’": "'", "—": "--", "–": "-", "æ": "ae", "œ": "oe"}
    return without_accents(text).translate(str.maketrans(plain))


def unwrapped(text: str) -> str:
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def without_hyphens(text: str) -> str:
    return re.sub(r"(?<=\w)-(?=\w)", " ", text)


EDITIONS: dict[str, tuple[Callable[[str], bytes], dict[str, str]]] = {
    "cp1252 with CRLF": (lambda text: text.replace("\n", "\r\n").encode("cp1252"), {"encoding": "cp1252"}),
    "unwrapped, in UTF-16 with a mark": (lambda text: unwrapped(text).encode("utf-16"), {}),
    "ASCII": (lambda text: ascii_only(text).encode("ascii", "replace"), {}),
    "without hyphens and accents": (lambda text: without_hyphens(without_accents(text)).encode(), {}),
}


@pytest.fixture(scope="module")
def book(book_path: Path) -> str:
    return book_path.read_text(encoding="utf-8-sig")


@pytest.fixture(scope="module")
def passages(book_path: Path) -> list[str]:
    return passages_of(rl.load_dataset("war_and_peace", documents=book_path))


def passages_of(dataset: Dataset) -> list[str]:
    """The letters of all passages, by which editions agree."""
    return [
        letters_in(normalize(passage.text or ""))
        for query in dataset
        for fact in query.facts
        for passage in fact.passages
    ]


@pytest.mark.full
@pytest.mark.parametrize("edition", EDITIONS)
def test_every_label_of_the_book_resolves_to_the_same_passage(
    book: str, passages: list[str], tmp_path: Path, edition: str
) -> None:
    write, options = EDITIONS[edition]
    path = tmp_path / "book.txt"
    path.write_bytes(write(book))
    dataset = rl.load_dataset("war_and_peace", documents=path, **options)  # type: ignore[arg-type]
    assert passages_of(dataset) == passages
    assert dataset.resolution.left_out == ()
    assert dataset.resolution.labels == len(passages)
    has_other_letters = edition in ("ASCII", "without hyphens and accents")
    assert bool(dataset.resolution.inexact) == has_other_letters
    assert all(quote.similarity > 0.8 for quote in dataset.resolution.inexact)


@pytest.mark.slow
def test_the_beginning_of_the_book_has_its_labels_alone(book: str, passages: list[str], tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text(book[: len(book) // 3], encoding="utf-8")
    dataset = rl.load_dataset("war_and_peace", documents=path)
    found, resolution = passages_of(dataset), dataset.resolution
    assert found == [passage for passage in passages if passage in found]
    assert len(found) + len(resolution.left_out) == len(passages)
    assert len(dataset) + len(resolution.queries_left_out) == find_corpus("war_and_peace").query_count
    assert all(query.facts for query in dataset)


# A small text


def tides(make_corpus: Callable[..., Corpus], text: str) -> Corpus:
    corpus = make_corpus()
    (corpus.folder / "tides.txt").write_text(text, encoding="utf-8")
    return corpus


@pytest.fixture
def make_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Corpus]:
    """A corpus of two questions about a text; its text is written by the test."""
    from raglift.datasets.corpora.catalogue import read_corpus

    monkeypatch.delenv("RAGLIFT_CORPORA", raising=False)

    def make() -> Corpus:
        folder = tmp_path / "tides"
        folder.mkdir()
        (folder / "corpus.toml").write_text(
            'title = "T"\ndescription = "T"\nlanguage = "en"\nlicence = "CC0-1.0"\nsources = ["x"]\n[text]\n'
            'doc = "tides"\nfile = "tides.txt"\nformat = "plain"\nurls = ["https://example.org/t"]\nmax_bytes = 1000\n'
        )
        labels = [
            ("when", [("The tide of the harbour-master’s", "in at noon."), ("And the moon looks", "on the sea.")]),
            ("why", [("Nobody has ever said", "why that is so.")]),
        ]
        lines = []
        for name, facts in labels:
            relevant = [{"doc": "tides", "from": head, "to": tail} for head, tail in facts]
            lines.append({"id": name, "query": name, "relevant": relevant})
        (folder / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return read_corpus(folder)

    return make


TIDES = "The tide of the harbour-master’s bay comes in at noon.\nAnd the moon looks down on the sea.\n"


def test_what_does_not_resolve_is_left_out_and_named(make_corpus: Callable[..., Corpus]) -> None:
    corpus = tides(make_corpus, TIDES.replace("And the moon looks", "The moon, and only it, looks"))
    dataset = rl.load_dataset(corpus.folder)
    assert [(query.id, len(query.facts)) for query in dataset] == [("when", 1)]
    resolution = dataset.resolution
    assert [(label.query_id, label.where, label.text) for label in resolution.left_out] == [
        ("when", "relevant[1]", "And the moon looks"),
        ("why", "relevant[0]", "Nobody has ever said"),
    ]
    assert (resolution.queries_left_out, resolution.labels) == (("why",), 3)
    assert "2 of 3 labels left out, and with them 1 query without another" in resolution.notes[0]
    evaluation = rl.evaluate(lambda query: ["The tide"], dataset, ks=(1,))
    assert resolution.notes[0] in evaluation.notes


def test_two_places_that_are_as_near_are_left_out(make_corpus: Callable[..., Corpus]) -> None:
    again = TIDES.replace("-", " ") + TIDES.replace("-", "").replace("And", "But")
    dataset = rl.load_dataset(tides(make_corpus, again).folder)
    left_out = dataset.resolution.left_out
    assert (left_out[0].query_id, left_out[0].where) == ("when", "relevant[0]")
    assert "in other words 2 times in tides, at lines 1, 3" in left_out[0].fault.found


@pytest.mark.parametrize(
    ("ends", "found"),
    [
        (["comes, in at noon."], None),
        (["comes, in at noon.", "It comes; in at noon."], '"in at noon." in other words 2 times in tides'),
    ],
)
def test_an_end_in_other_words_is_found_where_there_is_one(
    make_corpus: Callable[..., Corpus], ends: list[str], found: str | None
) -> None:
    text = TIDES.replace("comes in at noon.", " ".join(ends).replace("in at noon", "in, at noon"))
    dataset = rl.load_dataset(tides(make_corpus, text).folder)
    resolution = dataset.resolution
    if found is None:
        assert [(quote.where, quote.found) for quote in resolution.inexact] == [("relevant[0].to", "in, at noon.")]
        assert resolution.notes[0].startswith("1 quote of labels found in another form, at least 9")
    else:
        assert found in resolution.left_out[0].fault.found


def test_labels_of_ones_own_that_do_not_resolve_are_faults(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "a.txt").write_text("The lamp of the light-house is lit at dusk.")
    label = {"doc": "a.txt", "from": "the lamp of the lighthouse", "to": "at dusk."}
    path = tmp_path / "queries.jsonl"
    path.write_text(json.dumps({"id": "q", "query": "When?", "relevant": [label]}))
    dataset = rl.load_dataset(tmp_path)
    assert dataset.queries[0].facts[0].passages[0].text == "The lamp of the light-house is lit at dusk."
    assert [quote.where for quote in dataset.resolution.inexact] == ["relevant[0].from"]
    path.write_text(json.dumps({"id": "q", "query": "When?", "relevant": [label | {"from": "A lamp is"}]}))
    with pytest.raises(DatasetError, match=r'relevant\[0\]\.from: found "A lamp is" not in a\.txt'):
        rl.load_dataset(tmp_path)


def test_a_text_in_no_known_encoding_names_the_option_that_reads_it(make_corpus: Callable[..., Corpus]) -> None:
    corpus = make_corpus()
    (corpus.folder / "tides.txt").write_bytes(TIDES.encode("cp1252"))
    with pytest.raises(DatasetError, match=r"byte 0x92 at byte 30 .*--encoding cp1252 or, in Python, encoding="):
        rl.load_dataset(corpus.folder)
    assert rl.load_dataset(corpus.folder, encoding="cp1252").documents[0].text == TIDES
    with pytest.raises(ConfigurationError, match='encoding: found "cp12525"; expected a text encoding'):
        rl.load_dataset(corpus.folder, encoding="cp12525")
    with pytest.raises(CorpusError, match="3 labels of corpus 'tides' do not resolve"):
        rl.load_dataset(corpus.folder, documents={"tides": "Nothing of it."})
