"""A gate's result as GitHub's Markdown."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

import raglift as rl

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OWN_HTML = re.compile(r"<details><summary>[^<]*(<!-- -->[^<]*)*</summary>\n|</details>\n?|<!-- -->")


def tokens_of(markdown):
    return [inner for token in MARKDOWN.parse(markdown) for inner in (token, *(token.children or ()))]


def structure(markdown):
    return [token.type for token in tokens_of(markdown) if token.type not in ("text", "html_inline", "inline")]


def test_what_failed_comes_first_and_details_are_folded(ranked) -> None:
    result = rl.gate(
        ranked([3] * 9),
        baseline=ranked([1] * 9),
        no_regression=["rr@3"],
        minimum={"ndcg@3": 0.9},
        maximum={"failures": 0},
        name="new",
    )
    told = result.to_markdown()
    assert told.startswith("### ❌ new: FAILED (2 of 3 checks)\n")
    assert "| **❌ FAIL** | ndcg@3 | 0.500 | ≥ 0.9 | 9 |\n" in told
    assert "| ✅ pass | failures | 0 | ≤ 0 | 9 |\n" in told
    assert "| **❌ FAIL** | MRR@3 | 1.000 | 0.333 | −0.667 | 0.004 | 9 | 0 |\n" in told
    headings = re.findall(r"<summary>(.*)</summary>", told)
    assert headings[:2] == ["9 queries did worse in RR@3 than with the baseline", "q0000: RR@3 1.000 → 0.333"]
    assert headings[-1] == "What was measured"
    assert ("| 1 | ✓ | the stone with the number 0000 lies at the ford |  | nothing to the point, line 1 |\n") in told


def test_it_stays_small_enough_for_a_comment(ranked) -> None:
    many = {"ks": (1, 3, 6), "metrics": ("rr", "recall", "ndcg")}
    metrics = [f"{name}@{k}" for name in many["metrics"] for k in many["ks"]]
    result = rl.gate(ranked([6] * 60, **many), baseline=ranked([1] * 60, **many), no_regression=metrics)
    told = result.to_markdown()
    assert len(told) < 65_536
    assert told.count("60 queries did worse in Recall@1 than with the baseline; the 20 that lost most") == 1
    assert told.count("→ 0.000</summary>") == 10  # the rankings of ten queries, whatever the metrics


def test_hostile_texts_do_not_change_the_structure(hostile, hostile_text) -> None:
    def told(text):
        run, baseline = hostile(text, 2, fails=True), hostile(text, 1)
        options = {"no_regression": ["rr@3"], "maximum": {"failures": 0}, "name": text}
        return rl.gate(run, baseline=baseline, **options).to_markdown()

    markdown = told(hostile_text)
    for token in tokens_of(markdown):
        assert token.type not in ("link_open", "image", "code_inline", "fence", "code_block", "s_open", "hr")
        if token.type in ("html_block", "html_inline"):
            assert OWN_HTML.fullmatch(token.content), token.content
    assert structure(markdown) == structure(told("harmless"))
    assert not {"\x00", "\x1b", "\u202e", "\ud800", "\r"} & set(markdown)
