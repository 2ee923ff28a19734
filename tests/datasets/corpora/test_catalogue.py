from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from raglift.datasets.corpora.catalogue import Corpus, find_corpus, known_corpora
from raglift.errors import CorpusError, CorpusMissing
from raglift.types.documents import Document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_the_bundled_corpora() -> None:
    assert [corpus.name for corpus in known_corpora()] == ["lighthouse", "shop_support", "war_and_peace"]
    for corpus in known_corpora():
        assert corpus.query_count > 40
        assert corpus.descriptor.licence


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(
        CorpusError, match=r'"war_and_pace".*"lighthouse", "shop_support", "war_and_peace"; nearest: "war_and_peace"'
    ):
        find_corpus("war_and_pace")


def test_where_a_text_is_looked_for(
    make_corpus: Callable[..., Corpus], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = make_corpus()
    own = corpus.folder / "tides.txt"
    cached = cache / "corpora" / "tides" / "tides.txt"
    named = tmp_path / "named" / "tides" / "tides.txt"
    assert corpus.path is None
    assert corpus.status == "missing: raglift corpus fetch tides"
    with pytest.raises(CorpusMissing, match="raglift corpus fetch tides") as caught:
        corpus.documents()
    assert str(own) in str(caught.value)
    assert str(cached) in str(caught.value)
    assert "RAGLIFT_CORPORA" in str(caught.value)
    monkeypatch.setenv("RAGLIFT_CORPORA", str(tmp_path / "named"))
    for path in (own, cached, named):  # each goes before the one written before it
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"the text in\r\n{path}\n")
        assert corpus.path == path
        assert corpus.documents() == (Document("tides", path.read_text()),)
        assert corpus.status == f"present: {path}"


def test_a_corpus_without_its_queries_has_none(make_corpus: Callable[..., Corpus]) -> None:
    corpus = make_corpus()
    corpus.queries_path.unlink()
    assert corpus.query_count == 0
