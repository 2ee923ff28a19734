"""What a person decides about a suspected label: the labels say it, and it can be decided otherwise."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from raglift.apps.review.server import open_suspects
from raglift.apps.review.suspected import Case, Verdict, cases_of, decide, verdict_of
from raglift.auditing import Suspect
from raglift.datasets import read_queries, write_queries
from raglift.errors import ConfigurationError
from raglift.records import Annotator, Dataset, Document, Fact, Passage, Query

TEXTS = {
    "lamp.md": "The lamp of the lighthouse burns whale oil, and the keeper lights it every evening at dusk.",
    "horn.md": "The fog horn is blown twice a minute by the assistant whenever the far shore cannot be seen.",
    "boat.md": "The supply boat brings flour, coal and letters on the first Monday of each month.",
}
DOCUMENTS = tuple(Document(name, text) for name, text in TEXTS.items())
MODEL = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")
EVERY = [Verdict(label, other) for label, other in itertools.product((True, False), repeat=2)]


def passage(doc_id: str, **options: Any) -> Passage:
    return Passage(TEXTS[doc_id], doc_id, 0, len(TEXTS[doc_id]), **options)


def query(*facts: tuple[Passage, ...], **options: Any) -> Query:
    return Query("horn", "When is the fog horn blown?", tuple(Fact(one) for one in facts), **options)


def case(asked: Query, fact: int = 0, other: str = "horn.md") -> Case:
    text = TEXTS[other]
    suspect = Suspect("horn", fact, "document", 0.5, "…", other, 0, len(text), text, {"bm25": 3})
    return cases_of([suspect], [asked])["horn"][0]


@pytest.mark.parametrize("verdict", EVERY)
@pytest.mark.parametrize("before", [None, *EVERY])
def test_each_decision_is_in_the_labels_whatever_was_decided_before(verdict: Verdict, before: Verdict | None) -> None:
    asked = query((passage("lamp.md", grade=2),), (passage("boat.md"),))
    suspected = case(asked)
    assert verdict_of(asked, suspected) is None
    started = asked if before is None else decide(asked, suspected, before)
    decided = decide(started, suspected, verdict)
    assert verdict_of(decided, suspected) == verdict
    proving = {one.doc_id for fact in decided.facts for one in fact.passages}
    irrelevant = {one.doc_id for one in decided.judged_irrelevant}
    for doc_id, is_evidence in (("lamp.md", verdict.label), ("horn.md", verdict.other)):
        assert (doc_id in proving, doc_id in irrelevant) == (is_evidence, not is_evidence)
    assert "boat.md" in proving
    assert all(one.grade == (2 if one.doc_id != "boat.md" else 1) for fact in decided.facts for one in fact.passages)


def test_both_are_alternatives_of_one_fact_and_the_fact_keeps_its_place() -> None:
    asked = query((passage("lamp.md"),), (passage("boat.md"),))
    decided = decide(asked, case(asked), Verdict(label=True, other=True))
    assert [[one.doc_id for one in fact.passages] for fact in decided.facts] == [["lamp.md", "horn.md"], ["boat.md"]]


def test_a_label_that_a_model_gave_is_a_persons_once_it_is_decided() -> None:
    asked = query((passage("lamp.md", annotator=MODEL),))
    decided = decide(asked, case(asked), Verdict(label=True, other=False))
    assert {one.annotator for one in decided.facts[0].passages} == {None}


def test_a_passage_that_proves_another_fact_is_not_judged_irrelevant() -> None:
    asked = query((passage("lamp.md"),), (passage("horn.md"),))
    with pytest.raises(ConfigurationError, match="among the evidence of fact 2"):
        decide(asked, case(asked), Verdict(label=True, other=False))
    unanswerable = replace(query(), answerable=False)
    with pytest.raises(ConfigurationError, match="without an answer"):
        decide(unanswerable, case(asked), Verdict(label=True, other=False))


def wrong_labels(folder: Path) -> Path:
    """A file in which the question about the horn has the label of another."""
    queries = (
        Query("boat", "What does the supply boat bring?", (Fact((passage("boat.md"),)),)),
        Query("horn", "When is the fog horn blown?", (Fact((passage("lamp.md"),)),)),
        Query("lamp", "What does the lamp burn?", (Fact((passage("lamp.md"),)),)),
    )
    return write_queries(queries, folder / "labels.jsonl")


@pytest.mark.slow
def test_the_review_has_the_suspected_labels_and_no_others(tmp_path: Path) -> None:
    with open_suspects(wrong_labels(tmp_path), documents=DOCUMENTS, progress=False) as desk:
        assert [desk.session.query(index).id for index in range(len(desk.session))] == ["horn"]
        summary = desk.summary(0)
        assert (summary["suspects"], summary["decided"], summary["done"]) == (1, 0, False)
        (shown,) = desk.detail(0)["cases"]
        assert (shown["fact"], shown["other"]["document"], shown["verdict"]) == (0, "horn.md", None)


@pytest.mark.slow
def test_files_without_suspects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such file"), open_suspects(tmp_path / "no.jsonl", documents=()):
        pass
    right = Query("lamp", "What does the lamp burn?", (Fact((passage("lamp.md"),)),))
    path = write_queries([right], tmp_path / "right.jsonl")
    with (
        pytest.raises(ConfigurationError, match="no suspected label"),
        open_suspects(path, documents=DOCUMENTS, progress=False),
    ):
        pass


@pytest.mark.slow
def test_a_person_decides_about_a_suspected_label_in_the_browser(
    tmp_path: Path, serve: Callable[..., Any], browser: Any
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    served = serve(wrong_labels(tmp_path), "--suspects", "--documents", folder)
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    complaints: list[str] = []
    try:
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(served.url)
        card = page.wait_for_selector(".suspect")
        assert page.inner_text(".side >> nth=0").splitlines()[0] == "The label"
        assert TEXTS["horn.md"] in page.inner_text(".side >> nth=1")
        assert "systems that differ agree on a passage of another document" in card.inner_text()
        assert "0 of 1 suspected label" in page.inner_text(".query-head")
        page.keyboard.press("3")
        page.wait_for_selector(".verdict[data-verdict='3'][aria-pressed='true']")
        page.wait_for_function("() => document.getElementById('saving').textContent.startsWith('Saved')")
        assert "1 of 1 suspected label" in page.inner_text("#progress-text")
        horn = next(one for one in read_queries(served.labels, DOCUMENTS) if one.id == "horn")
        assert [one.doc_id for fact in horn.facts for one in fact.passages] == ["horn.md"]
        assert [one.doc_id for one in horn.judged_irrelevant] == ["lamp.md"]
        page.keyboard.press("u")
        page.wait_for_selector(".verdicts:not(:has([aria-pressed='true']))")
        horn = next(one for one in read_queries(served.labels, DOCUMENTS) if one.id == "horn")
        assert [one.doc_id for fact in horn.facts for one in fact.passages] == ["lamp.md"]
        page.click(".verdict[data-verdict='2']")
        page.wait_for_selector(".verdict[data-verdict='2'][aria-pressed='true']")
        page.keyboard.press("?")
        assert "both answer" in page.inner_text("#help")
        page.keyboard.press("Escape")
        page.reload()
        page.wait_for_selector(".verdict[data-verdict='2'][aria-pressed='true']")
        page.set_viewport_size({"width": 380, "height": 700})
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert complaints == []
    finally:
        context.close()
    line = next(line for line in served.labels.read_text().splitlines() if json.loads(line)["id"] == "boat")
    assert json.loads(line)["relevant"]


def test_a_dataset_of_the_decided_labels_can_be_made() -> None:
    asked = query((passage("lamp.md"),))
    for verdict in EVERY:
        decided = decide(asked, case(asked), verdict)
        assert Dataset((decided,), DOCUMENTS).queries == (decided,)
