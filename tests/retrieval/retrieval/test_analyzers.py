"""What BM25 takes for terms, by language."""

from __future__ import annotations

import sys

import pytest

from raglift.errors import MissingDependency
from raglift.retrieval.analyzers import LANGUAGES, Analyzer, _stop_words


@pytest.mark.slow
def test_terms_are_stems_without_stop_words() -> None:
    assert Analyzer("en").terms("The keeper's lamps were burning") == ["keeper", "lamp", "were", "burn"]
    assert Analyzer("de").terms("Die Lampen der Wärter") == ["lamp", "wart"]
    assert Analyzer("en", "none").terms("The lamps") == ["lamps"]
    assert Analyzer("none", "porter").terms("the lamps") == ["the", "lamp"]
    assert Analyzer().terms("The keeper's lamps") == ["the", "keeper's", "lamps"]


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("fr", "L'école d’Avignon, jusqu'à aujourd'hui", ["école", "avignon", "aujourd'hui"]),
        ("it", "dell'acqua dall’isola un'idea com'è", ["acqua", "isola", "idea", "com'è"]),
        ("ca", "l'home d’Olot s'aixeca col·legi", ["home", "olot", "aixeca", "col·legi"]),
        ("ga", "d'fhág b’fhéidir an n-athair nAthair h-aois", ["fhág", "fhéidir", "an", "athair", "athair", "aois"]),
        ("tr", "İstanbul'un IŞIĞI Türkiye’de", ["istanbul", "ışığı", "türkiye"]),
        ("ro", "știința şi țările", ["ştiinţa", "şi", "ţările"]),
        ("en", "the keeper's lamp", ["keeper", "lamp"]),
        ("none", "L'école", ["l'école"]),
    ],
)
def test_words_are_without_what_a_language_joins_to_them(language: str, text: str, words: list[str]) -> None:
    assert Analyzer(language, "none").terms(text) == words


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_that_is_offered_can_be_used(language: str) -> None:
    assert Analyzer(language).terms("42 lamps")[0] == "42"
    assert str(Analyzer(language))


def test_stop_words_without_their_package_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _stop_words.cache_clear()
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingDependency, match="bm25s"):
        Analyzer("en", "none").terms("the lamp")
