"""Matching in ten scripts: what is told from texts alone is what the locations tell, and folding leads back exactly."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from raglift.matching.matches import Direction
from raglift.matching.overlap import SHORTEST_OVERLAP, cover_passage
from raglift.matching.rule import MatchRule, Text
from raglift.text.normalization import normalize, normalize_with_offsets
from raglift.text.words import beginning_of, is_as_long_as, length_in_letters
from raglift.types.documents import Chunk
from raglift.types.labels import Passage

TEXTS = {
    "Latin": "Every evening the keeper trims the lamp. At dawn he draws the curtains, lest the sun light the oil.",
    "Greek": "Κάθε βράδυ ο φύλακας καθαρίζει τη λάμπα. Την αυγή κλείνει τις κουρτίνες, μήπως ο ήλιος ανάψει το λάδι.",
    "Cyrillic": "Каждый вечер смотритель чистит лампу. На рассвете он задёргивает шторы, чтобы солнце не зажгло масло.",
    "Arabic": "كل مساء ينظف الحارس المصباح. وعند الفجر يسدل الستائر حتى لا تشعل الشمس الزيت في المخزن القديم.",
    "Hebrew": "בכל ערב מנקה השומר את המנורה. עם שחר הוא מסיט את הווילונות, פן תצית השמש את השמן שבמחסן.",
    "Devanagari": "हर शाम रखवाला दीपक साफ़ करता है। भोर में वह परदे खींच देता है ताकि सूरज तेल में आग न लगा दे।",
    "Thai": "ทุกเย็นผู้ดูแลจะเล็มไส้ตะเกียง พอรุ่งเช้าเขาก็รูดม่านปิดเพื่อไม่ให้แสงอาทิตย์จุดไฟใส่น้ำมันในห้องเก็บของ",
    "Han": "每天傍晚看守人修剪灯芯。黎明时他拉上窗帘，免得太阳点燃仓库里的油。塔楼建于十九世纪初，从海上二十里外可见。",
    "Japanese": "毎晩、灯台守はランプの芯を切る。夜明けにはカーテンを引き、日の光が倉庫の油に火をつけないようにする。",
    "Hangul": "저녁마다 등대지기는 등불의 심지를 자른다. 새벽에는 햇빛이 창고의 기름에 불을 붙이지 않도록 커튼을 친다.",
}
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e"
in_each_script = pytest.mark.parametrize("source", TEXTS.values(), ids=list(TEXTS))


@st.composite
def parts(draw: st.DrawFn, source: str) -> tuple[int, int]:
    """Where a part of a text begins and ends, at whole characters as readers see them; it begins with no blank."""
    cuts = [cluster.start() for cluster in regex.finditer(r"\X", source) if not cluster[0].isspace()]
    start, end = sorted(draw(st.lists(st.sampled_from([*cuts, len(source)]), min_size=2, max_size=2, unique=True)))
    return start, end


def occurs_once(text: str, source: str) -> bool:
    return source.count(text) == 1


@pytest.mark.slow
@in_each_script
@given(data=st.data())
def test_overlapping_chunks_cover_by_text_what_they_cover_by_location(source: str, data: st.DataObject) -> None:
    begin, end = data.draw(parts(source))
    passage = Passage(source[begin:end])
    size, step = data.draw(st.integers(8, 60)), data.draw(st.integers(3, 40))
    rule = MatchRule("coverage")
    for start in range(0, len(source), step):
        stop = min(start + size, len(source))
        first, last = max(start, begin), min(stop, end)
        shared = normalize(source[first:last]) if first < last else ""
        if not is_as_long_as(shared, SHORTEST_OVERLAP) or not occurs_once(beginning_of(shared, 20), normalize(source)):
            continue
        found = cover_passage(Chunk(source[start:stop]), passage, rule, Text(rule))
        assert found is not None
        assert normalize(source[begin + found.start : begin + found.end]) == shared
        assert found.relevant


@in_each_script
@given(data=st.data())
def test_a_chunk_inside_a_passage_matches_if_it_is_as_long_as_twenty_letters(source: str, data: st.DataObject) -> None:
    start, end = data.draw(parts(source))
    rule = MatchRule()
    words = normalize(source[start:end])
    if words == normalize(source) or not words:
        return
    found = cover_passage(Chunk(source[start:end]), Passage(source), rule, Text(rule))
    inside = found is not None and found.direction == Direction.PASSAGE_CONTAINS_CHUNK and found.relevant
    assert inside == (length_in_letters(words) >= 20)


@pytest.mark.slow
@in_each_script
@given(data=st.data())
def test_invisible_characters_are_no_difference_when_folded_and_lead_back(source: str, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(source)), max_size=8))
    written = source
    for place in sorted(places, reverse=True):
        written = written[:place] + data.draw(st.sampled_from(INVISIBLE)) + written[place:]
    start, end = data.draw(parts(source))
    wanted, found = (normalize_with_offsets(text, unicode_folding=True) for text in (source[start:end], written))
    assert found.text == normalize(source, unicode_folding=True)
    at = found.text.find(wanted.text)
    if wanted.text and occurs_once(wanted.text, found.text):
        begin, stop = found.source_span(at, at + len(wanted.text))
        assert normalize(written[begin:stop], unicode_folding=True) == wanted.text
    rule = MatchRule(unicode_folding=True)
    if is_as_long_as(wanted.text, 20):
        match = cover_passage(Chunk(source[start:end]), Passage(written), rule, Text(rule))
        assert match is not None
        assert match.relevant


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("", 0),
        ("the lamp", 8),
        ("看守人", 9),
        ("등대 지기", 9),
        ("灯台守はランプ", 13),
        ("𠮷野家", 9),
        ("ไส้ตะเกียง", 10),
        ("ἀρχή", 4),
    ],
)
def test_how_long_a_text_is_in_letters_of_an_alphabet(text: str, letters: int) -> None:
    assert length_in_letters(text) == letters
    assert is_as_long_as(text, letters)
    assert not is_as_long_as(text, letters + 1)


def test_the_beginning_of_a_text_is_as_short_as_it_can_be() -> None:
    assert beginning_of("the keeper trims the lamp", 10) == "the keeper"
    assert beginning_of("看守人修剪灯芯", 10) == "看守人修"
    assert beginning_of("ab看守人", 4) == "ab看"
    assert beginning_of("lamp", 10) == "lamp"
