from __future__ import annotations

import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.datasets.documents import read_documents, write_document_lines
from raglift.types.documents import Document


def test_a_jsonl_file_holds_one_document_on_each_line(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text(
        '{"_id": 7, "title": "Tides", "text": "High water.", "metadata": {"by": "us"}, "other": 1}\n'
        '\n{"id": "a", "text": "x\\r\\ny"}\n{"_id": "b", "id": "c", "title": null, "text": ""}\n'
        '{"_id": "d", "title": "Alone", "text": ""}',
        encoding="utf-8",
    )
    assert read_documents(path) == (
        Document("7", "Tides High water.", {"by": "us", "title": "Tides"}),
        Document("a", "x\r\ny"),
        Document("b", ""),
        Document("d", "Alone", {"title": "Alone"}),
    )


texts = st.text(st.sampled_from("a \n\r\u2028\ufeff") | st.characters(exclude_categories=["Cs"]), max_size=8)
titles = st.builds(lambda title, rest: (title, f"{title} {rest}"), texts, texts) | st.tuples(texts, texts)


@pytest.mark.slow
@given(st.lists(st.tuples(titles, st.booleans()), min_size=1))
def test_what_is_written_is_read(given_texts: list[tuple[tuple[str, str], bool]]) -> None:
    documents = tuple(
        Document(str(number), text, {"n": number, "title": title} if titled else {})
        for number, ((title, text), titled) in enumerate(given_texts)
    )
    file = io.StringIO()
    write_document_lines(documents, file)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.jsonl"
        path.write_text(file.getvalue(), encoding="utf-8", newline="\n")
        assert read_documents(path) == documents
