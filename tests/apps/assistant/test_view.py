from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from raglift.apps.assistant.conversation import View, shortened
from raglift.apps.assistant.engine import Assistant, Turn, answer_of
from raglift.records.dataset import Dataset
from raglift.records.documents import Chunk
from raglift.records.labels import Annotator, Fact, Query
from raglift.testing.fakes import FakeRetriever

Make = Callable[..., Assistant]


def shown(turn: Turn, *, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    view = View(console, "test:model")
    view.found(turn)
    if turn.answer is not None:
        view.piece(turn.answer.text)
    view.answered(turn)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def answered(turn: Turn, text: str, **ending: object) -> Turn:
    return replace(turn, answer=answer_of("test:model", text, turn.context, **ending))


def test_a_labelled_question_shows_hits_labels_and_metrics_before_and_after(make: Make) -> None:
    lines = shown(make().ask("horn")).splitlines()
    assert "labelled question horn" in lines
    assert "  label 1: The horn sounds twice every forty-five seconds in fog." in lines
    assert any(line.startswith("  2  score") and line.endswith("← label 1") for line in lines)
    assert any(line.startswith("  1 (was  2)  score   2.0000  light.md 47–101") for line in lines)
    assert "Metrics at k = 2, before → after reranking" in lines
    assert "  RR@2          0.50 → 1.00" in lines
    assert "  HitRate@2     1 → 1" in lines


def test_citations_stand_below_the_answer_with_document_and_characters(make: Make) -> None:
    text = shown(answered(make().ask("horn"), "Twice [1]."))
    assert "\nTwice [1].\n\n[1] light.md 47–101 “The horn sounds twice every forty-five seconds in fog.”\n" in text
    assert "!" not in text


@pytest.mark.parametrize(
    ("text", "ending", "says"),
    [
        ("Twice [1][9].", {}, "! it cites [9], which it was not shown"),
        ("Twice.", {}, "! it cites no passage"),
        ("Twice", {"stopped": True}, "! stopped: this is what came"),
        ("Twice", {"error": "HTTP 500"}, "! HTTP 500 (what came stays)"),
        ("", {"error": "HTTP 500"}, "! HTTP 500\n"),
    ],
)
def test_what_is_wrong_with_an_answer_is_told(make: Make, text: str, ending: dict[str, object], says: str) -> None:
    assert says in shown(answered(make().ask("horn"), text, **ending))


@pytest.mark.parametrize(("text", "ending"), [("I do not know.", {}), ("Twice", {"stopped": True})])
def test_only_a_whole_answer_that_claims_to_know_must_cite(make: Make, text: str, ending: dict[str, object]) -> None:
    assert "cites no passage" not in shown(answered(make().ask("horn"), text, **ending))


def test_lines_are_not_cut_where_the_output_is_no_terminal(make: Make) -> None:
    text = shown(answered(make().ask("horn"), "word " * 100 + "[1]."))
    assert "word " * 100 + "[1].\n" in text
    assert max(map(len, text.splitlines())) > 400


def test_texts_are_shown_and_never_obeyed() -> None:
    hostile = "\x1b[31m[bold]red[/bold]\x07 \u202etxet"
    chunk = Chunk(hostile, doc_id="[/x]\x1b.md", start=0, end=5)
    turn = Assistant(FakeRetriever({hostile: [chunk]}), Dataset((Query("a", "b"),))).ask(hostile)
    text = shown(answered(turn, f"{hostile} [1]"))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert text.count("[bold]red[/bold]") == 4  # the question, the hit, the answer and the citation


def test_an_unanswerable_and_an_unlabelled_question_say_so(make: Make) -> None:
    assert "labelled question moon: the corpus does not answer it" in shown(make().ask("moon"))
    assert "labelled question pier, without labels" in shown(make().ask("pier"))
    assert "did you mean horn: How often does the horn sound?" in shown(make().ask("How often does a horn sound"))


def test_a_turn_reads_as_it_is_shown(make: Make) -> None:
    text = str(answered(make().ask("horn"), "Twice [1]."))
    assert text.startswith("How often does the horn sound?\nlabelled question horn\n")
    assert "test:model, from the first 2 hits:\nTwice [1].\n\n[1] light.md 47–101" in text
    assert "\x1b" not in text


def test_no_hits_are_said_to_be_none(make: Make) -> None:
    assert "Retrieved: fake (4 queries)\n  nothing\n" in shown(make().ask("Nobody knows this one"))


def test_figures_that_rest_on_a_models_labels_say_so(make: Make, dataset: Dataset) -> None:
    assert "labels:" not in shown(make().ask("horn"))
    horn = dataset.query("horn")
    graded = replace(horn.facts[0].passages[0], annotator=Annotator("openai:gpt-4o-mini", "relevance@1", "2026-11-21"))
    judged = Dataset((replace(horn, facts=(Fact((graded,)),)),), dataset.documents)
    text = shown(Assistant(FakeRetriever({horn.text: [graded.text or ""]}), judged).ask("horn"))
    assert "labels: 1 passage judged by openai:gpt-4o-mini (relevance@1)" in text.partition("Metrics")[2]


def test_on_a_narrow_terminal_a_hit_has_its_words_below_and_the_answer_breaks_between_words(make: Make) -> None:
    console = Console(file=io.StringIO(), width=40, force_terminal=True, color_system=None)
    view = View(console, "test:model")
    turn = answered(make().ask("horn"), "The horn sounds twice every forty-five seconds [1].")
    view.found(turn)
    view.piece(turn.answer.text)  # type: ignore[union-attr]
    view.answered(turn)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "  2  score        –  light.md 47–101 ← label 1\n      The horn sounds twice every forty…\n" in text
    assert "The horn sounds twice every forty-five \nseconds [1].\n\n[1] light.md 47–101" in text


def test_an_excerpt_takes_no_more_columns_than_it_may() -> None:
    assert shortened("灯塔建于一八七一年", 18) == "灯塔建于一八七一年"
    assert shortened("灯塔建于一八七一年", 17) == "灯塔建于一八七一…"
    assert shortened("灯塔建于一八七一年", 16) == "灯塔建于一八七…"
    assert shortened("one\n two\x1b three", 9) == "one two�…"
