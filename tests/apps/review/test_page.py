"""A person at the page, in a real browser, with the file on disk looked at after each kind of decision."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from raglift.datasets.jsonl import read_queries
from raglift.metrics import Recall
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Query

HOSTILE = (
    "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">\r\n"
    "🌊🌊 The keeper \u202elit\u202c the lamp 🏮 at nightfall,\r\nand it \x07burned until the tide had turned. "
    "</p><style>*{display:none}</style> ${1+1} e\u0301clair"
)


@dataclass
class Tab:
    page: Any
    complaints: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a review's address in a browser of its own, or as another tab of one; every tab must stay quiet."""
    tabs: list[Tab] = []
    contexts: list[Any] = []

    def open_tab(url: str, beside: Any = None, **options: Any) -> Any:
        if beside is None:
            context = browser.new_context(**({"viewport": {"width": 1400, "height": 900}} | options))
            contexts.append(context)
        else:
            context = beside.context
        tab = Tab(context.new_page())
        tabs.append(tab)
        base = url.partition("?")[0].rstrip("/")
        tab.page.set_default_timeout(10_000)
        tab.page.on("console", lambda message: tab.complaints.append(message.text))
        tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.page.on("request", lambda request: request.url.startswith(f"{base}/") or tab.beyond.append(request.url))
        tab.page.goto(url)
        tab.page.wait_for_selector(".card, .none:not([hidden])")
        tab.page.bring_to_front()
        return tab.page

    yield open_tab
    for tab in tabs:
        told = [text for text in tab.complaints if "Failed to load resource" not in text]  # refused, gone: on purpose
        assert told == []
        assert [url for url in tab.beyond if not url.startswith("data:")] == []
    for context in contexts:
        context.close()


@pytest.fixture
def arguments(plain_run: Path, lighthouse: Dataset, tmp_path: Path) -> tuple[object, ...]:
    """Those of a review of a run over the lighthouse, with its documents at hand."""
    folder = tmp_path / "documents"
    folder.mkdir()
    for document in lighthouse.documents:
        (folder / document.id).write_text(document.text, encoding="utf-8")
    return plain_run, "--documents", folder, "-k", 5


@pytest.fixture
def start(serve_here: Callable[..., Any], arguments: tuple[object, ...]) -> Callable[..., Any]:
    """Start such a review."""
    return lambda labels, *more: serve_here(labels, *arguments, *more)


@pytest.fixture
def start_apart(serve: Callable[..., Any], arguments: tuple[object, ...]) -> Callable[..., Any]:
    """Start such a review in a process of its own, which can be killed."""
    return lambda labels, *more: serve(labels, *arguments, *more)


def saved(page: Any) -> None:
    """Wait until the page says that all is saved."""
    page.wait_for_function("() => /^Saved \\d\\d:\\d\\d:\\d\\d$/.test(document.getElementById('saving').textContent)")


def read(path: Path, lighthouse: Dataset) -> tuple[Query, ...]:
    return read_queries(path, lighthouse.documents)


def press(page: Any, keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
    saved(page)


def drag(page: Any, card: int, start: int, end: int) -> None:
    """Mark characters of a card's text with the mouse; locations are in UTF-16 units."""
    find = """([card, start, end]) => {
      const root = document.querySelectorAll('.card .chunk-text')[card];
      root.scrollIntoView({ block: 'center' });
      const at = (unit) => {
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          if (unit <= node.length) return [node, unit];
          unit -= node.length;
        }
      };
      const box = (from, to) => {
        const range = document.createRange();
        range.setStart(...at(from));
        range.setEnd(...at(to));
        return [...range.getClientRects()].at(-1);
      };
      const first = box(start, start + 1), last = box(end - 1, end);
      return [first.left + 1, first.top + first.height / 2, last.right - 1, last.top + last.height / 2];
    }"""
    left, top, right, bottom = page.evaluate(find, [card, start, end])
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(right, bottom, steps=4)
    page.mouse.up()


def chunk_of(page: Any, index: int, card: int) -> dict[str, Any]:
    return page.evaluate(f"async () => (await (await fetch('/api/query/{index}')).json()).query.pool[{card}]")


def test_grades_by_keyboard_go_to_the_file_and_to_the_next_chunk(
    start: Callable, visit: Callable, unlabelled: Path, lighthouse: Dataset
) -> None:
    page = visit(start(unlabelled).url)
    assert "token" not in page.url
    assert page.locator("h2").first.inner_text() == lighthouse.queries[0].text
    press(page, "203")
    assert page.locator(".card[aria-current]").get_attribute("data-chunk") == "3"
    query = read(unlabelled, lighthouse)[0]
    graded = {passage.text: passage.grade for fact in query.facts for passage in fact.passages}
    graded |= {passage.text: 0 for passage in query.judged_irrelevant}
    chunks = [chunk_of(page, 0, card) for card in range(3)]
    assert graded == {chunks[0]["text"]: 2, chunks[1]["text"]: 0, chunks[2]["text"]: 3}
    assert next((p.doc_id, p.start) for f in query.facts for p in f.passages) == (
        chunks[0]["document"],
        chunks[0]["start"],
    )
    assert page.locator("#progress-text").inner_text().startswith("3 of ")
    page.keyboard.press("k")
    press(page, "x")
    assert len([p for f in read(unlabelled, lighthouse)[0].facts for p in f.passages]) == 1


@pytest.fixture
def paraphrased(tmp_path: Path) -> Path:
    """A run that found one statement in three wordings, something else that is needed, and something of no use."""
    queries = Dataset((Query("fog", HORN_QUESTION),), name="fog")
    retriever = FakeRetriever({HORN_QUESTION: [*PARAPHRASES, BOAT, "The door is green."]})
    return evaluate(retriever, queries, ks=(1,), depth="deep", candidates=5).save(tmp_path / "run")


HORN_QUESTION = "how often does the horn sound, and when does the boat come"
PARAPHRASES = (
    "In fog the horn gives two blasts every forty-five seconds.",
    "Two signals at intervals of 45 seconds: that is what ships hear when sight is poor.",
    "Every three quarters of a minute it sounds twice while the mist lasts.",
)
BOAT = "The boat comes on Tuesdays."


def card_with(page: Any, text: str) -> Any:
    return page.locator(".card").filter(has_text=text)


def grade(page: Any, text: str, key: str) -> None:
    """Click on a chunk's words, and press a key."""
    card_with(page, text).locator(".chunk-text").click(position={"x": 3, "y": 3})
    press(page, key)


def facts_of(labels: Path) -> list[set[str | None]]:
    return [{passage.text for passage in fact.passages} for fact in read_queries(labels)[0].facts]


def recall_of(labels: Path, *found: str) -> float:
    """Recall at 3 of a system that returns these chunks, by the labels in a file."""
    queries = Dataset(read_queries(labels), name="fog")
    measured = evaluate(FakeRetriever({HORN_QUESTION: list(found)}), queries, ks=(3,), depth="deep", candidates=3)
    return measured.scores.mean(measured.before, Recall @ 3)


def test_three_wordings_of_one_fact_are_graded_by_number_and_credited_once(
    serve_here: Callable, visit: Callable, paraphrased: Path, tmp_path: Path
) -> None:
    labels = tmp_path / "labels.jsonl"
    page = visit(serve_here(labels, paraphrased).url)
    for text in PARAPHRASES:
        grade(page, text, "3")
    assert facts_of(labels) == [set(PARAPHRASES)]
    assert recall_of(labels, PARAPHRASES[1]) == 1
    assert recall_of(labels, *PARAPHRASES) == 1
    grade(page, BOAT, "s")
    assert card_with(page, BOAT).get_by_role("button", name="Another fact").get_attribute("aria-pressed") == "true"
    press(page, "3")
    assert facts_of(labels) == [set(PARAPHRASES), {BOAT}]
    assert recall_of(labels, *PARAPHRASES) == 0.5
    assert recall_of(labels, PARAPHRASES[2], BOAT) == 1


def test_words_marked_with_the_mouse_become_facts_and_alternatives(
    start: Callable, visit: Callable, unlabelled: Path, lighthouse: Dataset
) -> None:
    page = visit(start(unlabelled).url)
    first, second = chunk_of(page, 0, 0), chunk_of(page, 0, 1)
    drag(page, 0, 4, 31)
    bar = page.get_by_role("region", name="Selected words")
    words = first["text"][4:31]
    assert " ".join(words.split()) in " ".join(bar.inner_text().split())
    press(page, "f")
    assert bar.is_hidden()
    drag(page, 1, 10, 52)
    press(page, "a")
    passages = read(unlabelled, lighthouse)[0].facts[0].passages
    assert [passage.text for passage in passages] == [words.strip(), second["text"][10:52].strip()]
    at = second["text"].index(passages[1].text)
    assert (passages[1].doc_id, passages[1].start) == (second["document"], second["start"] + at)
    assert "".join(page.locator(".card").first.locator("mark").all_text_contents()) == words.strip()
    # where a mark splits the text into several nodes
    drag(page, 0, 0, 60)
    assert " ".join(first["text"][:60].split()) in " ".join(bar.inner_text().split())
    page.locator(".selection").get_by_role("button", name="New fact").click()
    saved(page)
    assert [len(fact.passages) for fact in read(unlabelled, lighthouse)[0].facts] == [2, 1]


def test_facts_are_graded_and_removed_and_all_of_it_undone(
    start: Callable, visit: Callable, unlabelled: Path, lighthouse: Dataset
) -> None:
    page = visit(start(unlabelled).url)
    drag(page, 0, 4, 31)
    press(page, "f")
    drag(page, 1, 10, 52)
    press(page, "a")
    page.get_by_label("Grade of alternative 2 of fact 1").select_option("3")
    saved(page)
    assert [p.grade for p in read(unlabelled, lighthouse)[0].facts[0].passages] == [1, 3]
    page.get_by_role("button", name="Remove alternative 1 of fact 1").click()
    saved(page)
    page.wait_for_function("() => document.querySelectorAll('.alternative').length === 1")
    assert [p.grade for p in read(unlabelled, lighthouse)[0].facts[0].passages] == [3]
    page.get_by_role("button", name="Remove fact 1").click()
    page.get_by_text("None yet.").wait_for()
    assert read(unlabelled, lighthouse)[0].facts == ()
    page.get_by_label("Not answerable from these documents").check()
    page.get_by_text("no answer").first.wait_for()
    assert not read(unlabelled, lighthouse)[0].answerable
    for _ in range(6):
        page.get_by_role("button", name="Undo").click()
        saved(page)
    assert read(unlabelled, lighthouse)[0] == Query(lighthouse.queries[0].id, lighthouse.queries[0].text)
    page.keyboard.press("u")
    page.get_by_text("Nothing to undo").wait_for()


def test_a_models_grade_is_hidden_until_a_person_graded_and_then_disagreements_are_settled(
    start: Callable, visit: Callable, unlabelled: Path, judged: Path, lighthouse: Dataset
) -> None:
    page = visit(start(unlabelled, "--judged", judged).url)
    assert page.get_by_text("openai:gpt-4o-mini").count() == 0
    press(page, "011")  # the model says 0, 1, 2, …
    models = [text.split("\n")[0] for text in page.locator(".model:not(.muted)").all_inner_texts()]
    assert [re.sub(r"\s+", " ", text) for text in models] == ["= model 0", "= model 1", "≠ model 2"]
    assert page.locator(".card.disagrees").count() == 1
    page.keyboard.press("g")  # means nothing
    page.keyboard.press("d")
    assert page.locator(".card[aria-current]").get_attribute("data-chunk") == "2"
    press(page, "m")
    page.wait_for_function("() => document.querySelectorAll('.card.disagrees').length === 0")
    third = chunk_of(page, 0, 2)
    (passage,) = [p for f in read(unlabelled, lighthouse)[0].facts for p in f.passages if p.text == third["text"]]
    assert (passage.grade, passage.annotator) == (2, None)
    press(page, "u")
    page.wait_for_function("() => document.querySelectorAll('.card.disagrees').length === 1")  # open again
    press(page, "m")
    page.keyboard.press("j")
    press(page, "1")  # the model says 3
    page.keyboard.press("d")
    page.keyboard.press("o")
    page.get_by_text("decided").wait_for()
    assert page.locator(".card.disagrees").count() == 0
    page.keyboard.press("b")
    assert page.get_by_text("openai:gpt-4o-mini").count() > 4
    page.keyboard.press("d")
    page.get_by_text("There is no disagreement left.").wait_for()


def test_two_tabs_never_write_over_each_other(
    start: Callable, visit: Callable, unlabelled: Path, lighthouse: Dataset
) -> None:
    served = start(unlabelled)
    one = visit(served.url)
    two = visit(served.url, beside=one)
    one.bring_to_front()
    press(one, "2")
    two.bring_to_front()
    two.keyboard.press("0")
    two.get_by_text("changed elsewhere meanwhile").wait_for()
    assert two.locator(".card").first.locator(".grade[aria-pressed='true']").get_attribute("data-grade") == "2"
    assert [p.grade for f in read(unlabelled, lighthouse)[0].facts for p in f.passages] == [2]
    two.keyboard.press("k")
    press(two, "3")
    one.bring_to_front()
    press(one, "k0")
    one.get_by_text("changed elsewhere meanwhile").wait_for()
    assert one.locator(".card").first.locator(".grade[aria-pressed='true']").get_attribute("data-grade") == "3"
    press(one, "u")
    assert [p.grade for f in read(unlabelled, lighthouse)[0].facts for p in f.passages] == [2]


@pytest.mark.full
def test_a_killed_server_is_missed_and_the_next_one_continues(
    start_apart: Callable, visit: Callable, unlabelled: Path, lighthouse: Dataset
) -> None:
    served = start_apart(unlabelled)
    page = visit(served.url)
    press(page, "21")
    served.kill()
    page.keyboard.press("3")
    page.get_by_text("The server does not answer.").wait_for()
    assert page.locator(".card").nth(2).locator(".grade[aria-pressed='true']").count() == 0  # nothing is pretended
    on_disk = read(unlabelled, lighthouse)
    again = visit(start_apart(unlabelled).url)
    assert again.locator("#progress-text").inner_text().startswith("2 of ")
    press(again, "0")
    assert read(unlabelled, lighthouse)[0].facts == on_disk[0].facts


IN_SIGHT = """(place) => {
  const box = place.getBoundingClientRect(), { innerWidth: width, innerHeight: height } = window;
  const seen = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
  return box.top >= 0 && box.bottom <= height && box.left >= 0 && box.right <= width && place.contains(seen);
}"""


def test_on_a_phone_what_one_needs_is_within_reach(
    start: Callable, visit: Callable, unlabelled: Path, lighthouse: Dataset
) -> None:
    page = visit(start(unlabelled).url, viewport={"width": 360, "height": 640}, has_touch=True)

    def in_sight(place: Any) -> None:
        place.wait_for()
        for _ in range(100):
            if place.evaluate(IN_SIGHT):
                return
            time.sleep(0.05)
        pytest.fail("out of sight, or below something")

    for number in range(3):
        current = page.locator(".card[aria-current]")
        in_sight(current.locator(".source"))
        in_sight(current.locator("[data-grade='2']"))
        current.locator("[data-grade='2']").tap()
        saved(page)
        assert page.locator(".card[aria-current]").get_attribute("data-chunk") == str(number + 1)
    assert len([p for f in read(unlabelled, lighthouse)[0].facts for p in f.passages]) == 3
    page.get_by_role("button", name=re.compile("^Facts")).tap()
    in_sight(page.get_by_role("heading", name="Facts"))
    page.get_by_role("button", name=re.compile("Chunks")).tap()
    in_sight(page.locator(".card[aria-current] [data-grade='2']"))
    for _ in range(4):
        page.get_by_role("button", name="Undo").tap()
        saved(page)
    in_sight(page.get_by_text("Nothing to undo"))
    page.get_by_role("button", name="Next query").tap()
    page.wait_for_function(
        "(text) => document.querySelector('.query-head h2').textContent === text", arg=lighthouse.queries[1].text
    )


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A run whose chunk is markup, directions, control characters, pairs of surrogates and two kinds of line ends."""
    question = "<b>who</b> lit \u202ethe lamp"
    retriever = FakeRetriever({question: [Chunk(HOSTILE, doc_id="<i>x</i>.md"), Chunk("plain words of another chunk")]})
    queries = Dataset((Query("</script><script>", question),), name="<script>alert(1)</script>")
    return evaluate(retriever, queries, ks=(1,), depth="deep", candidates=2).save(tmp_path / "hostile")


def test_hostile_words_stay_words_and_places_stay_exact(
    serve_here: Callable, visit: Callable, hostile: Path, tmp_path: Path
) -> None:
    labels = tmp_path / "labels.jsonl"
    page = visit(serve_here(labels, hostile).url)
    assert page.title() == "Review: <script>alert(1)</script>"
    assert page.locator(".card img, .card style, .card script").count() == 0
    card = page.locator(".card").filter(has_text="nightfall")
    number = int(card.get_attribute("data-chunk"))
    assert card.locator(".chunk-text").text_content() == re.sub("[\u202e\u202c\x07]", "\ufffd", HOSTILE)
    units = HOSTILE.encode("utf-16-le")
    from_unit = len(units.partition("🌊 The".encode("utf-16-le"))[0]) // 2
    to_unit = len(units.partition(" until".encode("utf-16-le"))[0]) // 2
    drag(page, number, from_unit, to_unit)
    press(page, "f")
    words = HOSTILE[HOSTILE.index("🌊 The") : HOSTILE.index(" until")]
    assert read_queries(labels)[0].facts[0].passages[0].text == words
    assert card.locator("mark").text_content() == re.sub("[\u202e\u202c\x07]", "\ufffd", words)
    at = len(HOSTILE[: HOSTILE.index("lamp 🏮")].encode("utf-16-le")) // 2
    drag(page, number, at, at + 7)  # inside the mark, up to a pair
    press(page, "f")
    assert read_queries(labels)[0].facts[1].passages[0].text == "lamp 🏮"


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1400, "light"),
        pytest.param(360, "dark", marks=pytest.mark.full),
        pytest.param(1400, "dark", marks=pytest.mark.full),
        pytest.param(360, "light", marks=pytest.mark.full),
    ],
)
def test_everyone_can_read_and_use_it(
    start: Callable, visit: Callable, unlabelled: Path, judged: Path, scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = visit(
        start(unlabelled, "--judged", judged).url, color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    press(page, "0313")
    drag(page, 3, 0, 20)
    for _ in range(2):
        # what the style says of content that is not laid out yet is not what is seen
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.keyboard.press("?")
