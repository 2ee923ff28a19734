"""The page of `raglift labels update`: what changed in each text, and the decisions that it saves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.updating.by_hand import NEW, NEW_OIL, OIL, OLD, decision, place, span, three_labels, undecided, updated

from raglift.report.page.decisions import Piece, compared
from raglift.types import Document, Passage
from raglift.updating import LabelUpdate, UpdatedPassage
from raglift.updating.page import update_page

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u202egnp"


def marked(pieces: tuple[Piece, ...]) -> str:
    return " ".join({"ins": "+[{}]", "del": "-[{}]"}.get(each.change, "{}").format(each.text) for each in pieces)


def test_two_texts_are_compared_word_by_word() -> None:
    assert marked(compared("lit at  dusk\nby hand", "lit at dawn by hand")) == "lit at -[dusk] +[dawn] by hand"
    assert marked(compared("the lamp", "the old lamp")) == "the +[old] lamp"
    assert marked(compared("the old lamp", "the lamp")) == "the -[old] lamp"
    assert marked(compared("the lamp", "the lamp")) == "the lamp"
    assert marked(compared("a b the c d", "e f the g h")) == "-[a b the c d] +[e f the g h]"
    assert marked(compared("", "new")) == "+[new]"
    words = [f"w{number}" for number in range(100)]
    long = marked(compared(" ".join([*words, "old", *words]), " ".join([*words, "new", *words])))
    assert long == f"… {' '.join(words[-12:])} -[old] +[new] {' '.join(words[:12])} …"
    assert len(compared("a " * 100_000, "b " * 100_000)) == 2


def saved(page: Any, folder: Path) -> list[dict[str, Any]]:
    with page.expect_download() as download:
        page.get_by_role("button", name="Save decisions.jsonl").click()
    assert download.value.suggested_filename == "decisions.jsonl"
    path = folder / "saved.jsonl"
    download.value.save_as(path)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n")]


def test_decisions_are_chosen_saved_and_applied(open_page: Callable, tmp_path: Path) -> None:
    update = three_labels()
    page = open_page(update_page(update, next_step="Then: --decisions"), "").page
    assert page.locator("#decisions input:checked").count() == 0
    assert page.get_by_role("button", name="Save decisions.jsonl").is_disabled()
    oil, gulls = page.locator("fieldset").all()
    assert (oil.locator("del").inner_text(), oil.locator("ins").inner_text()) == ("two", "three")
    assert [label.inner_text()[:8] for label in oil.locator("label").all()] == ["This one", "None: dr", "Decide l"]
    oil.get_by_label("This one").check()
    gulls.get_by_label("None").check()
    assert page.locator("#decided").inner_text() == "2 of 2 decided"
    page.reload()
    assert page.locator("#decisions input:checked").count() == 2
    page.get_by_role("link", name="Details").click()
    page.reload()
    page.get_by_role("link", name="Summary").click()
    page.get_by_text("2 of 2 decided").wait_for()
    decided = update.decide(saved(page, tmp_path))
    assert decided.passages[1].new == span(NEW, NEW_OIL, grade=2)
    assert (decided.passages[2].new, decided.passages[2].decided, decided.waiting) == (None, True, ())
    page.get_by_label("Decide later").first.check()
    assert [line["query"] for line in saved(page, tmp_path)] == ["gulls"]


def test_a_page_made_after_decisions_saves_them_too(open_page: Callable, tmp_path: Path) -> None:
    oil, gulls = three_labels().undecided
    update = three_labels().decide([decision(oil)])
    page = open_page(update_page(update), "").page
    assert page.locator("#decided").inner_text() == "0 of 1 decided"
    page.get_by_label("None").check()
    assert saved(page, tmp_path) == [decision(oil), decision(gulls, None)]


def test_the_keyboard_is_enough_and_another_page_remembers_nothing(open_page: Callable) -> None:
    opened = open_page(update_page(three_labels()), "")
    page = opened.page
    page.locator("fieldset input").first.focus()
    page.keyboard.press("Space")
    assert page.locator("#decided").inner_text() == "1 of 2 decided"
    page.keyboard.press("ArrowDown")
    assert page.locator("fieldset").first.get_by_label("None").is_checked()
    other = updated({"oil": [span(OLD, OIL)]}, [undecided("oil", span(OLD, OIL), span(NEW, NEW_OIL))])
    Path(opened.url.removeprefix("file://")).write_text(
        open_page(update_page(other), "").page.content(), encoding="utf-8"
    )
    page.reload()
    assert page.locator("#decided").inner_text() == "0 of 1 decided"


def hostile_update() -> tuple[LabelUpdate, UpdatedPassage]:
    new = Document(f"new {HOSTILE}", f"{HOSTILE} & now\x00\u2028\u202e 'lit' \"here\"")
    old = Passage(f"{HOSTILE} & was")
    update = updated({HOSTILE: [old]}, [undecided(HOSTILE, old, span(new, new.text))], name=HOSTILE)
    return LabelUpdate(update.dataset, (new,), update.passages), update.passages[0]


def test_markup_in_labels_and_documents_stays_text(open_page: Callable, tmp_path: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    update, passage = hostile_update()
    options = {"viewport": {"width": 390, "height": 900}, "bypass_csp": True}
    page = open_page(update_page(update, next_step=HOSTILE), "", **options).page
    assert page.locator("img").count() == 0
    assert "owned" not in page.title()[:5]
    assert "\u202e" not in page.evaluate("document.body.innerText")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_label("This one").check()
    (line,) = saved(page, tmp_path)
    assert line["choose"]["text"] == passage.candidates[0].text
    assert update.decide([line]).passages[0].new_place == place(span(update.documents[0], update.documents[0].text))
    results = Axe().run(page)
    assert results.response["violations"] == [], results.generate_report()


def test_without_a_decision_to_make_the_page_has_no_form(open_page: Callable) -> None:
    lamp = three_labels()
    settled = LabelUpdate(lamp.dataset, lamp.documents, lamp.passages[:1])
    page = open_page(update_page(settled, next_step="Save"), "").page
    assert page.locator("#decisions").count() == 0
    assert "Save" not in page.inner_text("main")
    page.get_by_role("link", name="Details").click()
    page.locator("#details").get_by_text("Moved (1)").wait_for()
