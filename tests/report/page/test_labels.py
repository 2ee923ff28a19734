"""The page of `raglift labels check`: each fault with the text around it, and what to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import raglift as rl
from raglift.auditing import audit
from raglift.auditing.view import audit_view
from raglift.rendering.terminal import document_text
from raglift.report.page.rendering import Page
from raglift.types import Document, Fact, Passage, Query

pytestmark = pytest.mark.slow

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u202egnp"
TEXT = "The keeper climbed the tower.\nAt dusk he trimmed the wick, and wrote the day into his book.\nIt blew. It blew."


def test_each_fault_has_its_place_the_text_around_it_and_its_mend(open_page: Callable) -> None:
    from axe_playwright_python.sync_playwright import Axe

    facts = [Fact((Passage(text),)) for text in ("he trimmed the wicks, and wrote", HOSTILE, "It blew")]
    data = rl.Dataset((Query("q1", "Who?", tuple(facts)), Query("q2", "When?")), (Document("tower", TEXT),), "lights")
    found = audit(data, embedding=None)
    (near,) = (one for one in found.findings if one.nearest)
    (around,) = near.around
    assert around.startswith(f'"tower", line 2, characters {near.nearest.place.start} to {near.nearest.place.end}: ')
    assert "tower.↵At dusk [he trimmed the wick, and wrote] the day into" in around
    assert [len(one.around) for one in found.findings if one.kind == "several places"] == [2]
    view = audit_view(found)
    assert view.lead.startswith("1 of 2 questions has a label that no chunk can match")
    opened = open_page(Page(**vars(view)), "#summary", viewport={"width": 390, "height": 900}, bypass_csp=True)
    page = opened.page
    assert page.title().startswith("lights: 2 questions")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert "\u202e" not in page.evaluate("document.body.innerText")
    listed = page.locator("#summary .section").first.inner_text()
    for shown in (around, '"he trimmed the wick, and wrote"', "</script><script>"):
        assert shown in listed
        assert shown in " ".join(document_text(view).split())  # the terminal says the same
    results = Axe().run(page)
    assert results.response["violations"] == [], results.generate_report()
