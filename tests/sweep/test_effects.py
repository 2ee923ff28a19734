"""What each part of the cells of a sweep does, as data, in words, on the terminal, in Markdown and on the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from raglift.analysis import FactorEffects
from raglift.errors import ConfigurationError
from raglift.metrics.parsing import parse
from raglift.report.factors import effect_sentence
from raglift.report.format import difference_text
from raglift.report.sentences import short_name
from raglift.results.evaluation import Evaluation
from raglift.retrieval.retrievers import RetrieverSpec
from raglift.sweep.records import CellResult
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.cells import Cell
from raglift.sweep.view import sweep_document
from raglift.sweep.view_sections import reranker_sentence

pytestmark = pytest.mark.slow

QUERIES = 60
BM25 = RetrieverSpec("bm25")
SMALL, LARGE = "recursive:200/0", "recursive:1000/0"
FOUND_FIRST: Mapping[tuple[str, str], float] = {
    (SMALL, "none"): 0.3,
    (SMALL, "late-interaction"): 0.9,
    (LARGE, "none"): 0.35,
    (LARGE, "late-interaction"): 0.4,
}
"""How many of the queries each cell finds first; the others it finds third."""


def swept(evaluations: Mapping[Cell, Evaluation], folder: Path) -> SweepResult:
    results = tuple(CellResult(cell, evaluation) for cell, evaluation in evaluations.items())
    return SweepResult("stones", parse("rr@3"), 0, results, folder)


@pytest.fixture
def result(ranked: Callable[..., Evaluation], tmp_path: Path) -> SweepResult:
    """Two chunk sizes with and without a reranker, which helps on small chunks alone."""
    ease = np.random.default_rng(0).permutation(QUERIES) / QUERIES
    ranks = {key: [1 if one < share else 3 for one in ease.tolist()] for key, share in FOUND_FIRST.items()}
    return swept(
        {Cell(chunker, None, BM25, reranker): ranked(found) for (chunker, reranker), found in ranks.items()}, tmp_path
    )


def test_each_part_is_compared_over_the_cells_that_differ_in_it_alone(result: SweepResult) -> None:
    effects = result.effects()
    assert isinstance(effects, FactorEffects)
    assert [one.factor for one in effects.factors] == ["chunker", "reranker"]
    assert (effects.n, effects.cells) == (QUERIES, 4)
    reranker = effects.factor("reranker")
    assert (reranker.reference, reranker.best) == ("none", "late-interaction")
    (difference,) = reranker.shown
    assert (difference.level, difference.other, difference.contexts) == ("late-interaction", "none", 2)
    assert difference.mean == pytest.approx((0.6 + 0.05) / 2 * (1 - 1 / 3))
    assert difference.verdict == "better"
    assert reranker.difference("none", "late-interaction").mean == -difference.mean
    assert reranker.candidates == ("late-interaction",)


def test_failed_cells_leave_the_matched_ones(result: SweepResult) -> None:
    first, *others = result.results
    effects = replace(result, results=(replace(first, evaluation=None, error="broken"), *others)).effects()
    (difference,) = effects.factor("reranker").shown
    assert difference.mean == pytest.approx(0.05 * 2 / 3)
    assert (difference.contexts, difference.unmatched) == (1, 1)
    assert any("1 configuration without a match" in note for note in effects.notes)


def test_too_little_to_compare_is_refused_and_left_out_of_what_is_shown(result: SweepResult) -> None:
    first, second, third, fourth = result.results
    none = replace(result, results=(first, fourth))  # they differ in two parts
    with pytest.raises(
        ConfigurationError, match="effects: found no two of 2 configurations that differ in one part alone"
    ):
        none.effects()
    with pytest.raises(
        ConfigurationError, match="effects: found 0 configurations with a value of rr@3; expected two or more"
    ):
        replace(result, results=()).effects()
    assert "Effect of each setting" not in str(none)
    assert "Effect of each setting" not in none.to_markdown()
    with pytest.raises(ConfigurationError, match="factor: found 'embedding'; expected one of chunker, reranker"):
        replace(result, results=(first, second, third)).effects().factor("embedding")


def test_terminal_page_and_markdown_say_the_same(result: SweepResult) -> None:
    effects = result.effects()
    (section,) = [one for one in sweep_document(result).sections if one.heading == "Effect of each setting"]
    row = next(row for row in section.tables[0].rows if row[0].text == "reranker")
    figure = row[2].text
    assert [cell.text for cell in row[1:2]] == ["late-interaction − none"]
    assert row[4].text == "better"
    for text in (str(result), result.to_markdown(), str(effects), effects.to_markdown()):
        assert "Effect of each setting" in text
        assert figure in text


def test_what_the_reranker_does_in_the_recommended_cell_is_said_beside_its_mean(
    result: SweepResult, ranked: Callable[..., Evaluation]
) -> None:
    effects = result.effects()
    place, best = next(
        (place, one)
        for place, one in enumerate(result.results)
        if one.cell.chunker == SMALL and one.cell.reranker != "none"
    )
    reranked = ranked([3] * QUERIES, reranked=[1] * 40 + [3] * 20)
    entries = [*result.results[:place], replace(best, evaluation=reranked), *result.results[place + 1 :]]
    result = replace(result, results=tuple(entries))
    found = reranked.reranker_lift(result.primary).row().difference
    told = reranker_sentence(result, effects, best.cell.name)
    assert found is not None
    assert told.startswith(f"In {short_name(best.cell.name)}, the reranker {best.cell.reranker} changes MRR@3 ")
    assert difference_text(found) in told
    plain = replace(best.cell, reranker="none")
    assert reranker_sentence(result, effects, plain.name).startswith(
        f"Added to {short_name(plain.name)}, the reranker "
    )
    assert reranker_sentence(result, effects, None) == ""


def test_a_difference_says_over_which_models_it_is_the_mean(result: SweepResult) -> None:
    first, second, *_ = result.results
    parts = [("dense", "bge-small"), ("dense", "minilm"), ("bm25", None)]
    cells = [Cell("recursive:200/0", model, RetrieverSpec(retriever)) for retriever, model in parts]
    evaluations = [first.evaluation, second.evaluation, result.results[2].evaluation]
    three = [CellResult(cell, evaluation) for cell, evaluation in zip(cells, evaluations, strict=True)]
    effects = replace(result, results=tuple(three)).effects()
    (difference,) = effects.factor("retriever").differences
    assert difference.averaged == (("embedding", 2),)
    assert "bm25 − dense (mean of 2 embedding models)" in " ".join(effects.to_markdown().split())
    assert effects.factor("embedding").differences[0].averaged == ()


def test_levels_without_a_none_are_compared_with_the_best(ranked: Callable[..., Evaluation], tmp_path: Path) -> None:
    ease = np.random.default_rng(0).permutation(QUERIES) / QUERIES
    shares = {"recursive:100/0": 0.2, "recursive:400/0": 0.8, "recursive:500/0": 0.75}
    cells = {
        Cell(chunker, None, BM25): ranked([1 if one < share else 3 for one in ease.tolist()])
        for chunker, share in shares.items()
    }
    effects = swept(cells, tmp_path).effects()
    (chunker,) = effects.factors
    assert chunker.reference == "recursive:400/0"
    assert [(one.level, one.verdict) for one in chunker.shown] == [
        ("recursive:100/0", "worse"),
        ("recursive:500/0", "not significant"),
    ]
    assert effect_sentence(effects, "chunker") == ("of 3 chunkers, recursive:400/0, recursive:500/0 may be the best")
    assert "No clear winner among: chunker: recursive:400/0, recursive:500/0" in str(effects)


def test_levels_that_were_not_compared_have_no_difference(result: SweepResult) -> None:
    effects = result.effects()
    reranker = effects.factor("reranker")
    forth = reranker.difference("late-interaction", "none")
    assert reranker.difference("none", "late-interaction").mean == pytest.approx(-forth.mean)
    with pytest.raises(
        ConfigurationError, match="reranker: found no configurations that differ in 'none' and 'other' alone"
    ):
        reranker.difference("none", "other")
    assert (
        repr(effects) == f"FactorEffects(chunker, reranker; {effects.primary}, 4 configurations, {QUERIES:,} questions)"
    )
