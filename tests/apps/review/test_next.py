"""A review in which raglift chooses what is judged next: in the browser, on disk, and when it is started again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raglift.apps.review.evidence import grade_chunk
from raglift.apps.review.server import Asked, open_next
from raglift.datasets import read_queries
from raglift.errors import ConfigurationError
from raglift.judging import pool
from raglift.judging.pooling import label_grades
from raglift.records import Chunk, Query
from raglift.results.evaluation import Evaluation

pytestmark = pytest.mark.slow

ARGUMENTS = ("--next", "--metric", "precision@5")


def drawn(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def said(page: Any) -> str:
    text: str = page.inner_text("#next p")
    return text


def changed(page: Any, before: str) -> None:
    """Wait until another interval is shown."""
    page.wait_for_function("(before) => document.querySelector('#next p').innerText !== before", arg=before)


def test_a_person_judges_what_is_asked_for_and_sees_the_interval(
    unlabelled: Path, runs: list[Path], evaluations: list[Evaluation], serve: Callable[..., Any], browser: Any
) -> None:
    served = serve(unlabelled, *runs, *ARGUMENTS)
    journal = unlabelled.with_name("labels.next.jsonl")
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    complaints: list[str] = []
    try:
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(served.url)
        page.wait_for_selector(".card[aria-current] .judge-next")
        assert "after 0 grades" in page.inner_text("#next")
        assert re.search(r"Precision@5, run-1/\w+ − run-0/\w+: .+ \[−.+, \+.+\]", page.inner_text("#next"))
        pairs = pool(dict(zip(("run-0", "run-1"), evaluations, strict=True)), depth=5)
        number = {query.query.id: place for place, query in enumerate(pairs.queries)}
        for turn in range(5):
            before = said(page)
            asked = drawn(journal)[-1]
            page.keyboard.press("2" if turn % 2 else "0")
            changed(page, before)
            query = number[asked["query"]]
            chunk = [one.chunk.id for one in pairs.queries[query].chunks].index(asked["chunk"])
            assert label_grades(pairs, read_queries(unlabelled))[query][chunk] == (2 if turn % 2 else 0)
            assert drawn(journal)[-1] != asked
            page.wait_for_selector(".card[aria-current] .judge-next")
        last = said(page)
        page.keyboard.press("u")
        changed(page, last)
        page.keyboard.press("g")
        page.wait_for_selector(".card[aria-current] .judge-next")
        undone = said(page)
        page.keyboard.press("0")
        changed(page, undone)
        assert said(page) == last
        page.set_viewport_size({"width": 380, "height": 700})
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert complaints == []
    finally:
        context.close()
    kept = drawn(journal)
    assert last in served.stop(15)
    again = serve(unlabelled, *runs, *ARGUMENTS)
    assert drawn(journal) == kept
    again.kill()


def graded(chunk: Chunk, grade: int, query: Query) -> Query:
    return grade_chunk(query, chunk, grade, {})


def test_everything_judged_is_said_and_the_figure_is_that_of_all_labels(
    unlabelled: Path, evaluations: list[Evaluation]
) -> None:
    runs = dict(zip("ab", evaluations, strict=True))
    asked = Asked(unlabelled.with_name("j.jsonl"), "precision@5")
    with open_next(unlabelled, runs, asked) as (desk, added):
        assert added == 0
        for turn in range(1000):
            said = desk.next()
            assert said is not None
            if said["pair"] is None:
                break
            query, chunk = said["pair"]
            passage = desk.chunk(query, chunk)
            desk.session.apply(
                query,
                desk.session.version(query),
                "t",
                lambda old, one=passage, n=turn: grade_chunk(old, one, n % 2, {}),
            )
        assert said["verdict"].startswith("Everything that matters is judged")
        assert said["decided"]


def test_what_does_not_go_together_is_refused(unlabelled: Path, runs: list[Path], run: Callable[..., Any]) -> None:
    for arguments, message in (
        (("--next", "--suspects"), "--suspects with --next"),
        (("--metric", "precision@5"), "--metric without --next"),
        (("--next", "-k", "5"), "-k with --next"),
        (("--next", "--metric", "recall@5"), "no sum over the first k hits"),
        (("--next", "--system", "nobody"), "system: found 'nobody'; expected one of run-0/"),
    ):
        code, out, err = run("labels", "review", unlabelled, *runs, *arguments, "--no-browser")
        assert (code, out) == (2, "")
        assert message in err


def test_scales_that_are_none_are_refused(unlabelled: Path, evaluations: list[Evaluation]) -> None:
    asked = Asked(unlabelled.with_name("j.jsonl"), "precision@5")
    with (
        pytest.raises(ConfigurationError, match="scale: found 4"),
        open_next(unlabelled, {"a": evaluations[0]}, asked, scale=4),
    ):
        pass
