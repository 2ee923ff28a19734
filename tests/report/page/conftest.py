"""Pages made by hand, and a real browser that looks at them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from raglift.rendering.document import Cell, Detail, Section, Table
from raglift.report.page.query_browser import DrillDown, QueryDetail, ShownChunk, ShownHit, ShownMatch, View, ViewDetail
from raglift.report.page.rendering import Page, write_page
from raglift.types.labels import Passage


@dataclass
class Opened:
    """A page in the browser, and what it asked for and complained of."""

    page: Any
    url: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def check_quiet(self) -> None:
        """Nothing but the file itself was asked for, and nothing was said on the console."""
        of_its_own = (self.url, "blob:")  # a blob is text that the page made itself
        beyond = [url for url in self.requests if not url.startswith(of_its_own)]
        assert beyond == []
        assert self.complaints == []


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Open a document as the file that it becomes, at its queries; at the end, every page must have stayed quiet."""
    contexts, opened = [], []

    def opens(document: Page, fragment: str | None = None, **options: Any) -> Opened:
        fragment = ("" if document.queries is None else "#queries") if fragment is None else fragment
        path = tmp_path / f"page-{len(opened)}.html"
        write_page(document, path)
        context = browser.new_context(viewport=options.pop("viewport", {"width": 1280, "height": 900}), **options)
        page = context.new_page()
        page.set_default_timeout(10_000)
        shown = Opened(page, path.as_uri())
        page.on("request", lambda request: shown.requests.append(request.url))
        page.on("console", lambda message: shown.complaints.append(message.text))
        page.on("pageerror", lambda error: shown.complaints.append(str(error)))
        contexts.append(context)
        opened.append(shown)
        page.goto(shown.url + fragment)
        if document.queries is not None and options.get("java_script_enabled", True):
            page.wait_for_selector("#explorer:not([hidden])", state="attached")
        return shown

    yield opens
    for shown in opened:
        shown.check_quiet()
    for context in contexts:
        context.close()


LAMP = "The keeper lit the lamp at nightfall, and it burned until the tide had turned."
HORN = "In fog the horn is sounded twice a minute; the boat answers once."
FILLER = "Gulls rest on the rocks below the tower, and the sea is grey. "


def match(
    fact: int, start: int, end: int, *, covered: float = 1.0, counts: bool = True, direction: int = 0
) -> ShownMatch:
    return ShownMatch(fact, 0, direction, counts, counts, covered, start, end)


def view(ranks: tuple[int | None, ...], hits: list[ShownHit], value: float, returned: int = 12) -> ViewDetail:
    return ViewDetail(tuple(hits), returned, (value, 1.0 if value else 0.0), ranks)


def query_detail(
    name: str, text: str, tags: tuple[str, ...], before: ViewDetail, after: ViewDetail, all_outcomes: tuple[str, ...]
) -> QueryDetail:
    facts = ((Passage(LAMP, "logbook", 120, 198),), (Passage(HORN, grade=2), Passage("sounds the horn")))
    return QueryDetail(name, text, tags, True, facts, (before, after), (all_outcomes,))


def chunks() -> tuple[ShownChunk, ...]:
    filler = [
        ShownChunk(f"notes-{number}", number * 60, number * 60 + 62, f"{number}. {FILLER}", 0) for number in range(12)
    ]
    long_text = FILLER * 12 + LAMP + " " + FILLER * 12
    return (
        ShownChunk("logbook", 100, 260, f"🌊🌊 {LAMP} {FILLER}", 0),
        ShownChunk("rules", 0, 66, HORN, 0),
        ShownChunk("logbook", 100, 1600, long_text, 400),
        *filler,
    )


def filler_hits(first: int, ranks: range) -> list[ShownHit]:
    return [ShownHit(rank, first + number, 0.5 - rank / 100, ()) for number, rank in enumerate(ranks)]


def small_drill_down() -> DrillDown:
    """Four queries: one that reranking fixed, one that it broke, one lost at chunking, one without labels."""
    lamp, horn = match(0, 3, 3 + len(LAMP)), match(1, 0, len(HORN))
    fixed = query_detail(
        "fixed", "When was the lamp lit, and how often does the horn sound?", ("lamp", "fog"),
        view((12, 1),
             [ShownHit(1, 1, 0.9, (horn,)), *filler_hits(3, range(2, 12)), ShownHit(12, 0, 0.1, (lamp,))], 0.4),
        view((1, 2), [ShownHit(1, 0, 7.5, (lamp,)), ShownHit(2, 1, 6.25, (horn,)), *filler_hits(3, range(3, 13))], 1.0),
        ("found", "found"),
    )  # fmt: skip
    broken = query_detail(
        "broken", "Who answers the horn?", ("fog",),
        view((None, 1), [ShownHit(1, 1, 0.8, (horn,)), *filler_hits(3, range(2, 12))], 0.6, 11),
        view((None, None), filler_hits(3, range(1, 11)), 0.0, 10),
        ("not_attainable", "dropped"),
    )  # fmt: skip
    half = match(0, len(FILLER) * 12, len(FILLER) * 12 + 40, covered=0.63, counts=False, direction=3)
    lost = query_detail(
        "lost", "What did the keeper do?", ("lamp",),
        view((None, None), [ShownHit(1, 2, 0.7, (half,)), *filler_hits(4, range(2, 12))], 0.0, 11),
        view((None, None), [*filler_hits(4, range(1, 5)), ShownHit(5, 2, -0.7, (half,))], 0.0, 40),
        ("not_attainable", "not_retrieved"),
    )  # fmt: skip
    nothing = ViewDetail((), 0, (math.nan, math.nan), (), "the system gave up")
    unlabelled = QueryDetail("plain", "Is there a lighthouse?", (), False, (), (nothing, nothing), ((),))
    views = (View("", "retrieve", "before (retrieve)"), View("", "rerank", "after (rerank)"))
    queries = (fixed, broken, lost, unlabelled)
    return DrillDown(views, ("",), 0, 1, ("NDCG@10", "Recall@10"), 0, 10, "containment", chunks(), queries, ("Cut.",))


def figures() -> Table:
    def row(name: str, *cells: Cell) -> tuple[Cell, ...]:
        return (Cell(name), *cells)

    return Table(
        "Means over 471 queries, with 95 % intervals.",
        ("Metric", "Before", "After", "Lift", "p (Holm)", ""),
        (
            row("NDCG@10", Cell("0.592", "", 0.55, 0.592, 0.63), Cell("0.731", "", 0.69, 0.731, 0.77),
                Cell("+0.139", "better", 0.1, 0.139, 0.18), Cell("<0.001"), Cell("471")),
            row("Recall@10", Cell("0.803", "", 0.76, 0.803, 0.84), Cell("0.862", "", 0.83, 0.862, 0.89),
                Cell("+0.059", "better", 0.03, 0.059, 0.09), Cell("0.002"), Cell("471")),
            row("Precision@10", Cell("0.113", "", 0.1, 0.113, 0.12), Cell("0.109", "", 0.1, 0.109, 0.12),
                Cell("−0.004", "worse", -0.012, -0.004, 0.003), Cell("0.41", "muted"), Cell("471")),
        ),
    )  # fmt: skip


def small_document(queries: DrillDown | None = None, **changes: Any) -> Page:
    content: dict[str, Any] = {
        "title": "What a late-interaction reranker does to dense retrieval on the lighthouse questions",
        "lead": "Reranking raised NDCG@10 from 0.592 to 0.731 (+0.139, 95 % interval +0.10 to +0.18): more than noise. "
        "Of the facts that are still missing at 10, most were never retrieved.",
        "headline": figures(),
        "measured": (
            ("Queries", "471, 3 without labels, 1 failed"),
            ("Embedding model", "sentence-transformers/all-MiniLM-L6-v2"),
            ("Versions", "raglift 0.1.0, Python 3.12, sentence-transformers 6.0.1, faiss 1.12, numpy 2.3"),
        ),
        "warnings": ("3 of 800 chunks are longer than the model reads: their ends are not searched.",),
        "notes": ("Intervals are bootstrap intervals over queries, 10,000 resamples, seed 0.",),
        "sections": (
            Section(
                "Where facts were lost",
                ("Of 620 facts, 505 were found within rank 10.",),
                (figures(),),
                detail=Detail.DETAILS,
            ),
            Section("Every metric", ("All of them.",), (figures(),), detail=Detail.DETAILS),
        ),
        "queries": queries,
    }
    return Page(**(content | changes))


@pytest.fixture
def document() -> Page:
    return small_document(small_drill_down())


@pytest.fixture
def make_document() -> Callable[..., Page]:
    """A document of which some fields are other."""
    return small_document


@pytest.fixture
def drill_down() -> DrillDown:
    return small_drill_down()
