"""A corpus, labels and systems that try to be more than text."""

from __future__ import annotations

from collections.abc import Callable

from raglift.rendering.document import Cell, Section, Table
from raglift.report.page.query_browser import DrillDown, QueryDetail, ShownChunk, ShownHit, ShownMatch, View, ViewDetail
from raglift.report.page.rendering import Page
from raglift.types.labels import Passage

MARKUP = (
    "</script><script>document.title='owned'</script></style><style>*{display:none}</style>"
    "<img src=x onerror=\"document.title='owned'\"><iframe src='https://example.org'></iframe><!--"
)
REORDERED = "\u202egnp.exe\u202c \u2066x\u2069 \u200f\u05d0\u05d1 \u061c"
STRANGE = (
    "NUL \x00 ESC \x1b[31m U+2028 \u2028 U+2029 \u2029 "
    "lone \ud800 end \ufffe 'single' \"double\" `tick` ${x} {{ 7*7 }} &amp; \\u003c"
)
EVERYTHING = MARKUP + REORDERED + STRANGE


def hostile(text: str) -> Page:
    """A page in which every text that comes from outside is the same."""
    match = ShownMatch(0, 0, 0, True, True, 1.0, 3, len(text))
    drill_down = DrillDown(
        (View(text, text, text), View(text, "b", text)), (text,), 0, 1, ("NDCG@10",), 0, 10, text,
        (ShownChunk(text, 0, len(text), text, 0), ShownChunk("", None, None, text, 10)),
        (
            QueryDetail(
                text, text, (text, "t"), True, ((Passage(text, text, 0, len(text)), Passage(chunk_id=text)),),
                (ViewDetail((ShownHit(1, 0, 1.0, (match,)),), 1, (1.0,), (1,)),
                 ViewDetail((ShownHit(1, 1, -1e300, ()),), 1, (0.0,), (None,), text)),
                (("found",),),
            ),
            QueryDetail("second", text[::-1], (), True, (), (ViewDetail((), 0, (0.5,), ()),) * 2, ((),)),
        ),
        (text,),
    )  # fmt: skip
    table = Table(text, (text, text), ((Cell(text), Cell(text, "better", 0.1, 0.2, 0.3)),))
    section = Section(text, (text,), (table,))
    return Page(text, text, table, ((text, text),), (text,), (text,), (section,), queries=drill_down)


def test_markup_stays_text_runs_nothing_and_reorders_nothing(open_page: Callable) -> None:
    page = open_page(hostile(EVERYTHING)).page
    assert page.title().startswith("</script><script>document.title='owned'")
    assert page.locator("iframe, img").count() == 0
    assert page.locator("h1").is_visible()
    assert page.locator(".detail h3").text_content().startswith(MARKUP)
    assert page.locator(".detail mark").text_content().startswith("cript><script>document.title")
    assert page.locator(".query-head .id").count() == 1
    shown = page.evaluate("document.body.innerText + document.title + document.getElementById('tag').textContent")
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x00\x1b")
    assert "NUL \ufffd ESC \ufffd[31m" in shown
    outside = page.evaluate(
        "() => [...document.querySelectorAll('h1, .lead, h3, .hit-text, .passage, .tag, .id, .asked, td span, dd')]"
        ".filter(node => !getComputedStyle(node).unicodeBidi.includes('isolate') && !node.closest('bdi, [dir]')).length"
    )
    assert outside == 0


def test_lines_of_a_megabyte_do_not_break_the_page(open_page: Callable) -> None:
    page = open_page(hostile("ab \U0001f30a" * 250_000)).page
    page.evaluate(
        "() => { document.querySelectorAll('.rows a')[0].click();"
        " const toggle = document.querySelector('.column.left .hit-body button'); toggle.click(); toggle.click(); }"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert page.evaluate("document.body.innerText.length") < 100_000
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
