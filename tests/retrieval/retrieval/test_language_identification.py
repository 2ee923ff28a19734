"""The language of a corpus, for all languages with an analyzer and for those that could be taken for one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from raglift.retrieval.analyzers import LANGUAGES, NO_LANGUAGE, language_of

# Article 1 of the Universal Declaration of Human Rights, which is in the public domain
_FOLDER = Path(__file__).parents[2] / "languages"
ARTICLE_1 = json.loads((_FOLDER / "article_1.json").read_text(encoding="utf-8"))
NEIGHBOURS = json.loads((_FOLDER / "article_1_of_neighbours.json").read_text(encoding="utf-8"))


def paragraphs(text: str) -> list[str]:
    return [f"{number}. {text}" for number in range(50)]


@pytest.mark.slow
def test_every_language_with_an_analyzer_is_recognized() -> None:
    for language in set(LANGUAGES) - {NO_LANGUAGE, "yi"}:  # Yiddish must be named
        assert language_of(paragraphs(ARTICLE_1[language])) == language_of([ARTICLE_1[language]]) == language


@pytest.mark.slow
def test_a_language_without_an_analyzer_is_not_taken_for_one_with_it() -> None:
    for text in NEIGHBOURS.values():
        assert language_of(paragraphs(text)) == NO_LANGUAGE


@pytest.mark.parametrize("texts", [[], [""], ["42"], ["Lamp"], ["🙂 …"], ["12.5 | 1,013 | 47 %"] * 50])
def test_texts_that_say_too_little_are_in_no_known_language(texts: list[str]) -> None:
    assert language_of(texts) == NO_LANGUAGE


def test_a_corpus_half_in_one_language_and_half_in_others_is_in_none() -> None:
    others = [ARTICLE_1[language] * 4 for language in ("de", "fr", "es")]
    assert language_of([*others, ARTICLE_1["en"] * 4]) == NO_LANGUAGE
