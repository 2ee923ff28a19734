"""What is said of labels: where their texts are, how long they are, how they repeat each other."""

from __future__ import annotations

import re
from pathlib import Path

from raglift.auditing.dataset_audit import audit
from raglift.auditing.records import KINDS, Audit, Finding, Place
from raglift.errors import Fault
from raglift.types.anchors import InexactQuote, Resolution, UnresolvedLabel
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query

TOWER = Document(
    "tower",
    "The keeper climbed the tower at dusk, trimmed the wick, and wrote the day into his book.\n"
    "A ship passed far out, and its lamp went up and down in the swell.\n",
)
HARBOUR = Document(
    "harbour",
    "A ship passed far out, and its lamp went up and down in the swell.\nNobody in the harbour saw it, as it was late.",
)


def audited(*facts: Passage | tuple[Passage, ...], answerable: bool = True, **settings: object) -> Audit:
    """Audit one query with these facts, over two documents."""
    alternatives = [fact if isinstance(fact, tuple) else (fact,) for fact in facts]
    query = Query("q", "?", tuple(Fact(passages) for passages in alternatives), answerable=answerable)
    return audit(Dataset((query,), (TOWER, HARBOUR)), **settings)  # type: ignore[arg-type]


def kinds(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(finding.kind, finding.where) for finding in findings]


def only(findings: tuple[Finding, ...]) -> Finding:
    assert len(findings) == 1
    return findings[0]


def test_a_label_that_is_found_once_is_fine() -> None:
    assert audited(Passage("the  Keeper climbed\nthe tower")).findings == ()


def test_a_text_that_occurs_nowhere_is_broken_and_the_nearest_passage_is_suggested() -> None:
    finding = only(audited(Passage("wrote the day in his own book and trimmed teh wick")).broken)
    assert finding.kind == "nowhere"
    assert finding.nearest is not None
    assert finding.nearest.place.doc_id == "tower"
    place = finding.nearest.place
    assert finding.nearest.text == TOWER.text[place.start : place.end]
    assert "the day into his book" in finding.nearest.text


def test_a_text_in_another_document_than_it_names_is_broken_and_the_other_is_told() -> None:
    finding = only(audited(Passage("Nobody in the harbour saw it", "tower")).broken)
    assert finding.kind == "nowhere"
    assert finding.places == (Place("harbour", 67, 95),)
    assert 'not in "tower", which it names, but once in 1 document: "harbour" at 67' in finding.detail


def test_a_literal_text_in_several_places_is_a_warning() -> None:
    text = "its lamp went up and down in the swell"
    finding = only(audited(Passage(text)).warnings)
    assert finding.kind == "several places"
    assert [place.doc_id for place in finding.places] == ["tower", "harbour"]
    assert audited(Passage(text, "harbour")).findings == ()


def test_a_span_is_in_one_place_however_often_its_text_occurs() -> None:
    start = TOWER.text.index("A ship")
    assert audited(Passage(TOWER.text[start : start + 40], "tower", start, start + 40)).findings == ()


def test_a_text_of_under_20_characters_is_a_warning() -> None:
    assert kinds(audited(Passage("wrote the day into")).warnings) == [("short", "relevant[0]")]  # 18
    assert kinds(audited(Passage("wrote the day  into")).warnings) == [("short", "relevant[0]")]  # still 18
    assert audited(Passage("wrote the day into h")).findings == ()  # 20


def test_two_facts_that_are_the_same_are_broken() -> None:
    same = audited(Passage("trimmed the wick, and wrote"), Passage("Trimmed the wick,  and wrote"))
    assert kinds(same.broken) == [("duplicate fact", "relevant[1]")]


def test_facts_that_overlap_are_a_warning_also_without_documents() -> None:
    facts = Passage("The keeper climbed the tower at dusk"), Passage("climbed the tower at dusk, trimmed")
    assert kinds(audited(*facts).findings) == [("overlap", "relevant[1]")]
    inside = Passage("The keeper climbed the tower at dusk"), Passage("keeper climbed the tower")
    query = Query("q", "?", tuple(Fact((passage,)) for passage in inside))
    assert kinds(audit(Dataset((query,))).findings) == [("overlap", "relevant[1]")]


def test_a_fact_of_an_unanswerable_query_is_a_warning() -> None:
    found = audited(Passage("trimmed the wick, and wrote"), answerable=False)
    assert kinds(found.findings) == [("unanswerable", "relevant[0]")]
    assert (found.labelled, found.facts) == (0, 0)


def test_a_chunk_id_that_no_chunk_has_is_broken_where_the_chunks_are_known() -> None:
    labels = Passage(chunk_id="a"), Passage(chunk_id="b")
    assert audited(*labels).findings == ()
    assert kinds(audited(*labels, chunks=[Chunk("text", id="a")]).broken) == [("missing chunk", "relevant[1]")]


def test_what_loading_left_out_or_found_in_other_words_is_told() -> None:
    fault = Fault("queries.jsonl:1: relevant[0]", "no such words", "words of the document")
    left = UnresolvedLabel("relevant[0]", "the keepr", fault, "q")
    inexact = InexactQuote("relevant[1].from", "the kepper", "the keeper", 0.9, "tower", 4, 14, "q")
    query = Query("q", "?", (Fact((Passage("trimmed the wick, and wrote"),)),))
    found = audit(Dataset((query,), (TOWER,), resolution=Resolution((inexact,), (left,), labels=3)))
    unresolved, other = found.findings
    assert (unresolved.kind, unresolved.query_id, unresolved.where) == ("unresolved", "q", "relevant[0]")
    assert "found no such words; expected words of the document (queries.jsonl:1" in unresolved.detail
    assert (other.kind, other.places) == ("inexact", (Place("tower", 4, 14),))
    assert "90% alike" in other.detail


def test_alternatives_that_come_again_are_one_finding() -> None:
    passages = (Passage("The keeper climbed the tower"), Passage("trimmed the wick, and wrote"))
    assert kinds(audited(passages, passages).broken) == [("duplicate fact", "relevant[1][0]")]


def test_without_documents_nothing_is_said_of_where_texts_are() -> None:
    query = Query("q", "?", (Fact((Passage("zebras fluctuate quixotically"),)),))
    found = audit(Dataset((query,)))
    assert found.findings == ()
    assert "no documents" in found.notes[0]


def test_the_page_on_labels_explains_every_kind_with_its_severity() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "labels.md").read_text(encoding="utf-8")
    explained = dict(re.findall(r"^\| `([a-z ]+)` \| (broken|warning) \|", page, re.MULTILINE))
    assert explained == {kind: severity for kind, (severity, _) in KINDS.items()}
