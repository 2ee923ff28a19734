"""What one document shows on every surface: in a terminal, in Markdown, in a notebook and on a page."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import raglift as rl
from raglift.apps.tracking.tracking import evaluation_record
from raglift.metrics.parsing import parse
from raglift.rendering.document import Cell, Column, Detail, Document, Entry, Section, Table, row_of, table_across
from raglift.rendering.markdown import markdown_of
from raglift.rendering.notebook import html_of
from raglift.rendering.terminal import as_text, document_text, print_document
from raglift.report.cells import share_cell
from raglift.report.page.layout import laid_table
from raglift.report.page.rendering import Page, render
from raglift.sweep.engine import run_sweep
from raglift.sweep.result import SweepResult
from raglift.types import Document as SourceDocument
from raglift.types import Fact, Passage, Query

LIST = Section("Found", entries=(Entry("rank 1: <b>", (Entry("fact 1", (Entry("or 2"),)),)), Entry("rank 2")))
ROWS = (row_of((Cell("pass", "passed"), "rr")), row_of((Cell("FAIL", "failed"), "ap")))
CHECKS = Table("Checks", ("", "check"), ROWS)


def document(*sections: Section, **fields: object) -> Document:
    return Document("title", "", CHECKS, (), sections=sections, **fields)  # type: ignore[arg-type]


def on_a_page(shown: Document) -> str:
    return render(Page(shown.title, shown.lead, shown.headline, (), sections=shown.sections))


@pytest.mark.slow
def test_a_list_is_a_list_on_every_surface() -> None:
    shown = document(LIST)
    assert "Found\n  rank 1: <b>\n    fact 1\n      or 2\n  rank 2\n" in document_text(shown) + "\n"
    assert "- rank 1: &lt;b&gt;\n  - fact 1\n    - or 2\n- rank 2\n" in markdown_of(shown)
    for html in (html_of(shown), on_a_page(shown)):
        assert html.count("<ul") - html.count("</ul>") == 0
        inner = html.partition("rank 1: &lt;b&gt;")[2].partition("rank 2")[0]
        assert inner.count("<ul") == 2


@pytest.mark.parametrize(("passed", "mark"), [(True, "### ✅ title"), (False, "### ❌ title"), (None, "### title")])
def test_what_passed_and_what_failed_is_marked_in_markdown_alone(passed: bool | None, mark: str) -> None:
    shown = document(passed=passed)
    assert markdown_of(shown).startswith(f"{mark}\n")
    assert "| ✅ pass | rr |" in markdown_of(shown)
    assert "| **❌ FAIL** | ap |" in markdown_of(shown)
    assert document_text(shown).startswith("title\n")
    assert "✅" not in document_text(shown)


def test_a_document_says_how_much_of_it_is_printed() -> None:
    section = Section("Details", ("all of it",), detail=Detail.DETAILS)
    assert "all of it" not in document_text(document(section))
    assert "all of it" in document_text(document(section), Detail.DETAILS)
    assert "all of it" in document_text(document(section, printed=Detail.DETAILS))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_figures_of_many_things_go_on_below_where_they_are_too_wide(width: int) -> None:
    measures = (Column[int]("half", lambda n: f"{n / 2:.3f}"), None, Column[int]("square", lambda n: f"{n * n}"))
    table = table_across(measures, range(8), lambda number: f"recursive:{number}00/0", "Numbers")
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    print_document(Document("t", "", table, ()), console=console)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= width
    heads = [line.split() for line in lines if "recursive:" in line]
    assert [name for head in heads for name in head] == [f"recursive:{number}00/0" for number in range(8)]
    assert sum(line.startswith("square ") for line in lines) == len(heads)


def in_terminal(table: Table, width: int) -> list[str]:
    return as_text([table], width=width).splitlines()


INTERVALS = Table(
    "Means",
    ("system", "mean", "difference", "seen [3]"),
    (
        row_of(
            (
                "a system",
                Cell("0.500", interval="[0.400, 0.600]"),
                Cell("+0.100", interval="[+0.050, +0.150]"),
                "0.1 [3]",
            )
        ),
        row_of(("another one", Cell("0.600†", interval="[0.500, 0.700]"), "–", "0.2 [4]")),
    ),
    confidence="95%",
)


def test_titles_say_the_confidence_where_a_column_has_intervals() -> None:
    assert INTERVALS.titles == ("system", "mean [95%]", "difference [95%]", "seen [3]")
    alone = replace(INTERVALS, rows=INTERVALS.rows[1:])
    assert alone.titles == ("system", "mean [95%]", "difference", "seen [3]")
    assert replace(INTERVALS, confidence="").titles == INTERVALS.columns


@pytest.mark.slow
def test_intervals_are_on_every_surface() -> None:
    shown = Document("title", "", INTERVALS, ())
    assert "0.500 [0.400, 0.600]  +0.100 [+0.050, +0.150]" in document_text(shown)
    assert "| mean [95%] | difference [95%] |" in markdown_of(shown)
    assert "| 0.600† [0.500, 0.700] | – |" in markdown_of(shown)
    assert ">0.600† [0.500, 0.700]</td>" in html_of(shown)
    page = on_a_page(shown)
    assert "mean [95%]" in page
    assert '>0.600†</span> <span class="interval">[0.500, 0.700]</span>' in page


def test_a_narrow_terminal_leaves_out_intervals_but_the_last_and_no_other_brackets() -> None:
    narrow, wide = in_terminal(INTERVALS, 60), in_terminal(INTERVALS, 80)
    assert max(map(len, narrow)) <= 60 < max(map(len, wide))
    first, second = narrow[-2:]
    assert "[95%]" in "".join(narrow[:-2])
    assert first.split() == ["a", "system", "0.500", "+0.100", "[+0.050,", "+0.150]", "0.1", "[3]"]
    assert second.split() == ["another", "one", "0.600†", "–", "0.2", "[4]"]
    assert "0.500 [0.400, 0.600]" in wide[-2]


def test_the_scale_of_shares_is_in_percent() -> None:
    shares = Table("Shares", ("outcome", "share"), (row_of(("found", share_cell(0.25))),))
    figures = Table("Figures", ("outcome", "mean"), (row_of(("found", Cell("25%", "", 0.0, 0.25, 0.25))),))
    ends = [laid_table(table).columns[1].axis for table in (shares, figures)]
    assert [(axis.low, axis.high) for axis in ends if axis is not None] == [("0%", "25%"), ("0", "0.25")]


def test_where_nothing_more_can_be_left_out_names_stand_above_their_figures() -> None:
    columns = ("system", *(f"figure {number}" for number in range(8)))
    rows = tuple(row_of((name, *("0.123456" for _ in range(8)))) for name in ("bm25", "static", ""))
    lines = in_terminal(Table("Figures", columns, rows), 82)
    assert max(map(len, lines)) <= 82
    assert [line.strip() for line in lines[-5:]] == ["bm25", figures := "  ".join(["0.123456"] * 8), "static"] + 2 * [
        figures
    ]


# Metrics that were asked for by name: on every surface, also at depths other than that of the metric that decides.

NAMED = ("hit_rate@tokens(2000)", "recall@10", "ndcg@5")
TITLES = ("HitRate@tokens(2000)", "Recall@10", "NDCG@5")


def evaluated(order: int = 1, metrics: Sequence[str] = NAMED) -> rl.Evaluation:
    texts = [f"The keeper of tower {number} lights the lamp at dusk." for number in range(12)]
    dataset = rl.Dataset.from_dict({f"Who lights lamp {number}?": [texts[number]] for number in range(6)})
    return rl.evaluate(lambda _: texts[::order], dataset, metrics=list(metrics), progress=False)


def compared() -> rl.Comparison:
    return rl.compare({"one": evaluated(), "two": evaluated(-1)})


def page_of(result: rl.Evaluation | rl.Comparison, folder: Path) -> str:
    return result.report(folder / "page.html").read_text(encoding="utf-8")


def swept(folder: Path) -> SweepResult:
    text = "The keeper lights the lamp at dusk. In fog the horn gives two blasts, and the boat waits behind the rocks."
    passage = Passage("The keeper lights the lamp at dusk.", "log.md", 0, 35)
    dataset = rl.Dataset((Query("q", "Who lights the lamp?", (Fact((passage,)),)),), (SourceDocument("log.md", text),))
    sweep = rl.Sweep(dataset=dataset, chunkers=["recursive:60/0"], retrievers=["bm25", "bm25(k1=2)"], metrics=NAMED)
    return run_sweep(sweep, folder / "sweep", progress=False)


SURFACES: dict[str, Callable[[Path], str]] = {
    "print of an evaluation": lambda _: str(evaluated()),
    "Markdown of an evaluation": lambda _: evaluated().to_markdown(),
    "notebook of an evaluation": lambda _: evaluated()._repr_html_(),
    "page of an evaluation": lambda folder: page_of(evaluated(), folder),
    "print of a comparison": lambda _: str(compared()),
    "page of a comparison": lambda folder: page_of(compared(), folder),
    "print of a sweep": lambda folder: str(swept(folder)),
}


@pytest.mark.slow
@pytest.mark.parametrize("surface", SURFACES)
def test_metrics_that_were_named_are_on_every_surface(surface: str, tmp_path: Path) -> None:
    shown = " ".join(SURFACES[surface](tmp_path).split())
    assert [title for title in TITLES if title not in shown] == []


@pytest.mark.slow
def test_metrics_that_were_named_are_in_frames_json_and_trackers(
    run: Callable[..., tuple[int, str, str]], tmp_path
) -> None:
    for name, order in (("one", 1), ("two", -1)):
        evaluated(order).save(tmp_path / name)
    assert set(NAMED) <= set(evaluated().per_query()["metric"])
    _, out, _ = run("compare", tmp_path / "one", tmp_path / "two", "--json")
    assert set(NAMED) <= {row["metric"] for row in json.loads(out)["rows"]}
    figures = evaluation_record(evaluated()).figures
    assert len([name for name in figures if name.startswith("retrieve/")]) >= len(NAMED)


def test_a_measure_that_was_named_without_a_depth_is_shown_at_that_of_the_primary_metric() -> None:
    shown = str(evaluated(metrics=["recall", "ap", "ndcg@3", "ndcg@10"]))
    assert [name in shown for name in ("Recall@10", "MAP@10", "NDCG@10", "NDCG@3", "Recall@1 ")] == [True] * 4 + [False]


@pytest.mark.slow
def test_what_was_named_is_kept_with_a_run_and_forgotten_when_the_default_metrics_are_taken(tmp_path: Path) -> None:
    evaluated().save(tmp_path / "run")
    loaded = rl.load_evaluation(tmp_path / "run")
    assert "HitRate@tokens(2000)" in str(loaded)
    assert rl.rescore(loaded).named_metrics(parse("ndcg@10")) == []
    assert len([line for line in str(rl.rescore(loaded)).splitlines() if "@10" in line]) >= 5
