"""What BM25 takes for terms, and how it finds the language."""

from __future__ import annotations

import pytest

from raglift.components.analyzers import LANGUAGES, NO_LANGUAGE, STEMMERS, Analyzer, language_of
from raglift.errors import ConfigurationError

SENTENCES = {
    "en": "The keeper of the lighthouse was in the tower when the ship came to the harbour with the mail.",
    "de": "Der Wärter des Leuchtturms war in dem Turm, als das Schiff in den Hafen kam, und er sah es nicht.",
    "fr": "Le gardien du phare était dans la tour quand le navire est arrivé au port avec le courrier et les vivres.",
    "es": "El guardián del faro estaba en la torre cuando el barco llegó al puerto con el correo de los demás.",
    "ru": "Смотритель маяка был в башне, когда корабль пришёл в гавань, и он не увидел его в тумане.",
    "ar": "كان حارس المنارة في البرج عندما وصلت السفينة إلى الميناء",
    "el": "Ο φύλακας του φάρου ήταν στον πύργο όταν το πλοίο έφτασε στο λιμάνι",
    "hi": "जब जहाज़ बंदरगाह में आया तो प्रकाशस्तंभ का रखवाला मीनार में था और उसने उसे नहीं देखा कि वह एक जहाज़ है",
    "zh": "灯塔的看守人在塔里。SOS",
    "ja": "灯台守は塔の中にいた。灯台日誌、霧信号所。",
    "ko": "등대지기는 탑 안에 있었다.",
    "th": "ผู้ดูแลประภาคารอยู่ในหอคอย",
    NO_LANGUAGE: "Majakanvartija oli tornissa, kun laiva saapui satamaan postin ja ruoan kanssa.",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_the_language_is_found_by_script_and_stop_words(language: str) -> None:
    assert language_of([SENTENCES[language]]) == language


@pytest.mark.parametrize(
    "text",
    [
        "A világítótorony őre a toronyban volt, amikor a hajó megérkezett a kikötőbe a postával és az élelemmel.",
        "El guardià del far era a la torre quan el vaixell va arribar amb el correu, i també així no el va veure.",
        "Пазачът на фара беше в кулата, когато корабът пристигна в пристанището с пощата, и той не го видя.",
        "Доглядач маяка був у вежі, коли корабель прийшов у гавань, і він його не бачив, бо на морі був туман.",
        "Hvor er det?",  # Danish and Norwegian
        "نگهبان فانوس دریایی در برج بود که کشتی پهلو گرفت چون",
        "",
        "42",
    ],
)
def test_where_it_is_not_known_words_are_left_as_they_are(text: str) -> None:
    assert language_of([text]) == NO_LANGUAGE


def test_a_few_foreign_texts_do_not_change_the_language_of_a_corpus() -> None:
    assert language_of([SENTENCES["en"]] * 5 + [SENTENCES["ru"]]) == "en"


def test_terms_are_stems_without_stop_words() -> None:
    assert Analyzer("en").terms("The keeper's lamps were burning") == ["keeper", "lamp", "were", "burn"]
    assert Analyzer("de").terms("Die Lampen der Wärter") == ["lamp", "wart"]
    assert Analyzer("en", "none").terms("The lamps") == ["lamps"]
    assert Analyzer("none", "porter").terms("the lamps") == ["the", "lamp"]
    assert Analyzer().terms("The keeper's lamps") == ["the", "keeper's", "lamps"]


def test_the_words_of_languages_without_spaces_are_the_same_under_every_analyzer() -> None:
    assert Analyzer("zh").terms("检索评价") == Analyzer("en").terms("检索评价") == ["检索", "索评", "评价"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_that_is_offered_can_be_used(language: str) -> None:
    assert Analyzer(language).terms("42 lamps")[0] == "42"
    assert str(Analyzer(language))


@pytest.mark.parametrize("stemmer", STEMMERS)
def test_every_stemmer_that_is_offered_can_be_used(stemmer: str) -> None:
    assert len(Analyzer("none", stemmer).terms("lamps")) == 1


def test_an_unknown_language_or_stemmer_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match=r"bm25 language: found 'xx'; expected one of ar, bo, "):
        Analyzer("xx")
    with pytest.raises(ConfigurationError, match=r"bm25 language: found 'English' \(did you mean 'en'\?\); expected"):
        Analyzer("English")
    with pytest.raises(ConfigurationError, match=r"bm25 stemmer: found 'englsh' \(did you mean 'english'\?\)"):
        Analyzer("en", "englsh")
