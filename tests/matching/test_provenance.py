from __future__ import annotations

import uuid

import pytest

from raglift.matching.provenance import Provenance
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

TEXT = "It was in July, 1805, and the speaker was Anna Pávlovna."


def dataset(*doc_ids: str, text: str = TEXT) -> Dataset:
    return Dataset((), tuple(Document(doc_id, text) for doc_id in doc_ids))


def checked(provenance: Provenance, *chunks: Chunk) -> tuple[Chunk, ...]:
    return provenance.check(Ranking.of((chunk, 1.0) for chunk in chunks)).chunks


def document_of(chunk: Chunk, *doc_ids: str) -> str | None:
    """The document that a chunk is found to come from, among some."""
    return checked(Provenance(dataset(*doc_ids)), chunk)[0].doc_id


class TestDocument:
    """Which document a hit comes from."""

    @pytest.mark.parametrize(
        ("named", "doc_id"),
        [
            ("wp", "wp"),
            ("wp.txt", "wp"),
            ("/data/books/wp.txt", "wp"),
            ("books/wp", "wp"),
            ("wp", "wp.txt"),
            ("/elsewhere/wp.txt", "data/wp.txt"),
            ("wp.md", "wp.txt"),
        ],
    )
    def test_is_found_by_id_or_file_name(self, named: str, doc_id: str) -> None:
        assert document_of(Chunk("x", doc_id=named), doc_id, "other") == doc_id

    @pytest.mark.parametrize("named", ["moby-dick.txt", "wp2", "", "/", "books/wp/chapter1.txt"])
    def test_is_unknown_when_nothing_leads_to_it(self, named: str) -> None:
        provenance = Provenance(dataset("wp", "ak"))
        assert checked(provenance, Chunk("x", doc_id=named))[0].doc_id is None
        assert provenance.unknown_document == 1

    def test_is_unknown_without_any_name(self) -> None:
        assert document_of(Chunk("x"), "wp") is None

    @pytest.mark.parametrize("key", ["document_id", "source", "file_name", "file_path", "path", "title"])
    def test_random_ids_of_llama_index_give_way_to_metadata(self, key: str) -> None:
        chunk = Chunk("x", doc_id=str(uuid.uuid4()), metadata={key: "/data/wp.txt", "page": 3})
        assert document_of(chunk, "wp", "ak") == "wp"

    def test_an_id_counts_before_any_file_name(self) -> None:
        chunk = Chunk("x", doc_id="books/ak.txt", metadata={"title": "wp"})
        assert document_of(chunk, "wp", "ak") == "wp"

    def test_a_file_name_that_fits_two_documents_says_nothing(self) -> None:
        assert document_of(Chunk("x", doc_id="1.txt"), "wp/1.txt", "ak/1.txt") is None
        assert document_of(Chunk("x", doc_id="ak/1.txt"), "wp/1.txt", "ak/1.txt") == "ak/1.txt"
        assert document_of(Chunk("x", doc_id="/data/wp.md"), "wp.txt", "wp.md") == "wp.md"
        assert document_of(Chunk("x", doc_id="/data/wp.html"), "wp.txt", "wp.md") is None

    def test_a_doc_key_is_taken_at_its_word(self) -> None:
        # the adapter has already read the key; nothing else may overrule it
        chunk = Chunk("x", doc_id="wp.txt", metadata={"title": "wp"})
        assert checked(Provenance(dataset("wp"), doc_key="book"), chunk)[0].doc_id == "wp.txt"

    def test_the_same_words_in_two_documents_are_distinguished_by_metadata(self) -> None:
        chunks = [Chunk("THE END", metadata={"file_name": name}) for name in ("wp.txt", "ak.txt", "x.txt")]
        assert len({chunk.id for chunk in chunks}) == 1
        found = checked(Provenance(dataset("wp", "ak")), *chunks)
        assert [chunk.doc_id for chunk in found] == ["wp", "ak", None]


class TestOffsets:
    """Whether the document's text there is the hit's text."""

    def test_true_ones_are_kept(self) -> None:
        provenance = Provenance(dataset("wp"))
        chunk = Chunk(TEXT[10:20], doc_id="wp", start=10, end=20)
        assert checked(provenance, chunk) == (chunk,)
        assert provenance.false_offsets == 0

    @pytest.mark.parametrize(
        ("start", "end"),
        [(9, 19), (11, 20), (-46, -36), (9, None), (None, 20), (10, 19), (10, 21), (900, 910)],
    )
    def test_false_ones_are_dropped(self, start: int | None, end: int | None) -> None:
        provenance = Provenance(dataset("wp"))
        (found,) = checked(provenance, Chunk(TEXT[10:20], doc_id="wp", start=start, end=end))
        assert (found.doc_id, found.start, found.end) == ("wp", None, None)
        assert provenance.false_offsets == 1

    @pytest.mark.parametrize("doc_ids", [("wp",), ()])
    def test_a_start_without_an_end_is_enough(self, doc_ids: tuple[str, ...]) -> None:
        provenance = Provenance(dataset(*doc_ids))
        (found,) = checked(provenance, Chunk(TEXT[10:20], doc_id="wp", start=10))
        assert (found.start, found.end) == (10, 20)
        assert provenance.false_offsets == 0

    def test_that_count_from_the_beginning_of_a_page_are_moved_to_the_document(self) -> None:
        paged = dataset("wp", text="A first page.\n\f\n  A second page.\f")
        provenance = Provenance(paged)
        (found,) = checked(provenance, Chunk("second page", doc_id="wp", start=2, end=13))
        assert paged.documents[0].text[found.start : found.end] == "second page"
        assert provenance.false_offsets == 0

    @pytest.mark.parametrize("text", ["Page one. HEADER\fHEADER a\fHEADER b", "one\fHEAD\fER", "one HEADER"])
    def test_that_fit_several_pages_or_none_are_false(self, text: str) -> None:
        provenance = Provenance(dataset("wp", text=text))
        (found,) = checked(provenance, Chunk("HEADER", doc_id="wp", start=0))
        assert (found.start, found.end, provenance.false_offsets) == (None, None, 1)

    def test_an_end_beyond_the_document_is_false(self) -> None:
        provenance = Provenance(dataset("wp"))
        (found,) = checked(provenance, Chunk(TEXT[40:], doc_id="wp", start=40, end=len(TEXT) + 5))
        assert (found.start, found.end) == (None, None)
        assert provenance.false_offsets == 1

    def test_of_an_unknown_document_are_dropped_but_not_called_false(self) -> None:
        provenance = Provenance(dataset("wp"))
        (found,) = checked(provenance, Chunk(TEXT[10:20], start=10, end=20))
        assert (found.start, found.end) == (None, None)
        assert (provenance.false_offsets, provenance.unknown_document) == (0, 1)

    def test_are_checked_in_the_document_that_metadata_names(self) -> None:
        chunk = Chunk(TEXT[10:20], doc_id="a1b2", start=10, end=20, metadata={"file_name": "wp.txt"})
        (found,) = checked(Provenance(dataset("wp")), chunk)
        assert (found.doc_id, found.start, found.end) == ("wp", 10, 20)


def test_a_distinct_chunk_is_counted_once() -> None:
    provenance = Provenance(dataset("wp"))
    false = Chunk("x", doc_id="books/wp.txt", start=1, end=2)
    unknown = Chunk("y", doc_id="a1b2")
    first = checked(provenance, false, unknown, false)
    again = checked(provenance, *first, false, unknown)  # as after a reranker, and for another query
    assert again == (*first, first[0], first[1])
    assert (provenance.false_offsets, provenance.unknown_document) == (1, 1)


def test_what_a_reranker_noted_on_a_chunk_stays_with_its_query() -> None:
    provenance = Provenance(dataset("wp"))
    noted = [
        Chunk("x", id="c1", doc_id="wp.txt", metadata={"relevance_score": score}, origin=object())
        for score in (0.9, 0.1)
    ]
    found = checked(provenance, *noted)
    assert [chunk.metadata["relevance_score"] for chunk in found] == [0.9, 0.1]
    assert [chunk.origin for chunk in found] == [chunk.origin for chunk in noted]


class TestEvidence:
    """Whether a hit has what only other documents than the one that it names have."""

    LAMP, HORN = "The lamp was lit at six o'clock sharp.", "The horn was blown at nine in the evening."

    def provenance(self, **texts: str) -> Provenance:
        passages = (Passage(self.LAMP, "one"), Passage(self.HORN, "two"))
        query = Query("q", "when?", tuple(Fact((passage,)) for passage in passages))
        return Provenance(Dataset((query,), tuple(Document(name, text) for name, text in texts.items())))

    def test_a_merged_hit_is_of_no_document(self) -> None:
        provenance = self.provenance(one=self.LAMP, two=self.HORN)
        (found,) = checked(provenance, Chunk(f"{self.LAMP} {self.HORN}", doc_id="one", start=0))
        assert (found.doc_id, found.start) == (None, None)
        assert (provenance.other_text, provenance.false_offsets, provenance.unknown_document) == (1, 0, 0)

    @pytest.mark.parametrize("header", ["", "From the log: ", "Title\n\n"])
    def test_a_hit_with_a_header_is_of_the_document_that_it_names(self, header: str) -> None:
        both = f"{self.LAMP} {self.HORN}"
        provenance = self.provenance(one=both, two=self.HORN)
        assert checked(provenance, Chunk(header + both, doc_id="one"))[0].doc_id == "one"
        assert provenance.other_text == 0
